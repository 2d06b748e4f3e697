// needs: kryo minlog objenesis reflectasm
package tare.worker.codecs;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import tare.worker.Codec;

/** Kryo, which makes registered classes only. */
public final class KryoCodec extends Codec {
    private static final int MOST_DEEP = 5000;
    private static final Class<?>[] PLAIN = {
        LinkedHashMap.class, ArrayList.class, LinkedHashSet.class, BigInteger.class, BigDecimal.class, byte[].class,
        LocalDate.class, LocalTime.class, LocalDateTime.class, OffsetDateTime.class, ZonedDateTime.class, Duration.class,
    };
    private Kryo kryo;
    private Output output;

    public KryoCodec() {
        super("kryo:java-kryo");
        option("references", "0", "1");
    }

    @Override public String version() {
        return versionOf(Kryo.class);
    }

    @Override public boolean executesCode() {
        return true;
    }

    @Override public void setUp() {
        kryo = new Kryo();
        kryo.setRegistrationRequired(true);
        kryo.setReferences(chosen("references", "1"));
        kryo.setMaxDepth(MOST_DEEP);
        for (Class<?> one : PLAIN) kryo.register(one);
        output = new Output(1 << 12, -1);
    }

    @Override public byte[] encode(Object value) {
        output.reset();
        kryo.writeClassAndObject(output, value);
        return output.toBytes();
    }

    @Override public Object decode(byte[] bytes) {
        return kryo.readClassAndObject(new Input(bytes));
    }

    @Override public void write(Object value, OutputStream out) {
        Output end = new Output(out);
        kryo.writeClassAndObject(end, value);
        end.flush();
    }

    @Override public Object read(InputStream in) {
        return kryo.readClassAndObject(new Input(in));
    }
}
