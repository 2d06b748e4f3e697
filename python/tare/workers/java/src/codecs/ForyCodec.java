// needs: fory-core slf4j-api
package tare.worker.codecs;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import org.apache.fory.Fory;
import org.apache.fory.config.Language;
import tare.worker.Codec;

/** Apache Fory in its Java form, which makes registered classes only. */
public final class ForyCodec extends Codec {
    private Fory fory;

    public ForyCodec() {
        super("fory:java-fory");
        option("references", "0", "1");
    }

    @Override public String version() {
        return versionOf(Fory.class);
    }

    @Override public boolean executesCode() {
        return true;
    }

    @Override public boolean parts() {
        return false;
    }

    @Override public void setUp() {
        fory = Fory.builder().withLanguage(Language.JAVA).withRefTracking(chosen("references", "1")).requireClassRegistration(true).build();
        for (Class<?> one : new Class<?>[] {LinkedHashMap.class, ArrayList.class, BigInteger.class, BigDecimal.class}) {
            fory.register(one);
        }
    }

    @Override public byte[] encode(Object value) {
        return fory.serialize(value);
    }

    @Override public Object decode(byte[] bytes) {
        return fory.deserialize(bytes);
    }
}
