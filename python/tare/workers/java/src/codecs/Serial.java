package tare.worker.codecs;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import tare.worker.Codec;

/** Java's own serialization. Whatever is no tree of plain values is refused before it is made. */
public final class Serial extends Codec {
    private static final ObjectInputFilter PLAIN = ObjectInputFilter.Config.createFilter(
        "maxdepth=20000;java.util.LinkedHashMap;java.util.HashMap;java.util.ArrayList;java.util.Map$Entry;java.lang.Object;java.lang.Number;"
            + "java.lang.String;java.lang.Integer;java.lang.Long;java.lang.Double;java.lang.Float;java.lang.Boolean;"
            + "java.math.BigInteger;java.math.BigDecimal;java.util.LinkedHashSet;java.util.HashSet;java.util.UUID;java.time.Ser;!*");

    public Serial() {
        super("java:java");
    }

    @Override public String version() {
        return Runtime.version().toString();
    }

    @Override public boolean executesCode() {
        return true;
    }

    @Override public byte[] encode(Object value) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        write(value, out);
        return out.toByteArray();
    }

    @Override public Object decode(byte[] bytes) throws Exception {
        return read(new ByteArrayInputStream(bytes));
    }

    @Override public void write(Object value, OutputStream out) throws Exception {
        ObjectOutputStream objects = new ObjectOutputStream(out);
        objects.writeObject(value);
        objects.flush();
    }

    @Override public Object read(InputStream in) throws Exception {
        ObjectInputStream objects = new ObjectInputStream(in);
        objects.setObjectInputFilter(PLAIN);
        return objects.readObject();
    }
}
