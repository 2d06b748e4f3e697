// needs: avro jackson-databind jackson-core jackson-annotations slf4j-api
package tare.worker.codecs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import tare.worker.Codec;

/**
 * Avro's binary encoding of any document: one record "Value" whose field is the union of null, boolean, long,
 * double, string, bytes, array of Value and map of Value. Walked by the library's encoder and decoder, so that maps
 * keep their order; the schema itself is not in the bytes.
 */
public final class AvroCodec extends Codec {
    private BinaryEncoder encoder;
    private BinaryDecoder decoder;

    public AvroCodec() {
        super("avro:java-avro");
    }

    @Override public String version() {
        return versionOf(BinaryEncoder.class);
    }

    @Override public byte[] encode(Object value) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        write(value, out);
        return out.toByteArray();
    }

    @Override public Object decode(byte[] bytes) throws Exception {
        decoder = DecoderFactory.get().binaryDecoder(bytes, decoder);
        return get(decoder);
    }

    @Override public void write(Object value, OutputStream out) throws Exception {
        encoder = EncoderFactory.get().binaryEncoder(out, encoder);
        put(value, encoder);
        encoder.flush();
    }

    @Override public Object read(InputStream in) throws Exception {
        return get(DecoderFactory.get().binaryDecoder(in, null));
    }

    private static void put(Object value, BinaryEncoder out) throws IOException {
        if (value == null) {
            out.writeIndex(0);
        } else if (value instanceof Boolean) {
            out.writeIndex(1);
            out.writeBoolean((Boolean) value);
        } else if (value instanceof Integer || value instanceof Long) {
            out.writeIndex(2);
            out.writeLong(((Number) value).longValue());
        } else if (value instanceof Double) {
            out.writeIndex(3);
            out.writeDouble((Double) value);
        } else if (value instanceof String) {
            out.writeIndex(4);
            out.writeString((String) value);
        } else if (value instanceof byte[]) {
            out.writeIndex(5);
            out.writeBytes((byte[]) value);
        } else if (value instanceof List) {
            List<?> all = (List<?>) value;
            out.writeIndex(6);
            out.writeArrayStart();
            out.setItemCount(all.size());
            for (Object one : all) {
                out.startItem();
                put(one, out);
            }
            out.writeArrayEnd();
        } else if (value instanceof Map) {
            Map<?, ?> all = (Map<?, ?>) value;
            out.writeIndex(7);
            out.writeMapStart();
            out.setItemCount(all.size());
            for (Map.Entry<?, ?> one : all.entrySet()) {
                out.startItem();
                out.writeString((String) one.getKey());
                put(one.getValue(), out);
            }
            out.writeMapEnd();
        } else {
            throw new IllegalArgumentException("the schema has no type for " + value.getClass().getName());
        }
    }

    private static Object get(BinaryDecoder in) throws IOException {
        switch (in.readIndex()) {
            case 0: return null;
            case 1: return in.readBoolean();
            case 2: {
                long value = in.readLong();
                if (value == (int) value) return (int) value;
                return value;
            }
            case 3: return in.readDouble();
            case 4: return in.readString();
            case 5: {
                ByteBuffer found = in.readBytes(null);
                byte[] bytes = new byte[found.remaining()];
                found.get(bytes);
                return bytes;
            }
            case 6: {
                List<Object> all = new ArrayList<>();
                for (long n = in.readArrayStart(); n > 0; n = in.arrayNext()) while (n-- > 0) all.add(get(in));
                return all;
            }
            case 7: {
                Map<String, Object> all = new LinkedHashMap<>();
                for (long n = in.readMapStart(); n > 0; n = in.mapNext()) {
                    while (n-- > 0) {
                        String name = in.readString();
                        all.put(name, get(in));
                    }
                }
                return all;
            }
            default: throw new IOException("the union has no such branch");
        }
    }
}
