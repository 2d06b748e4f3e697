// needs: avro jackson-databind jackson-core jackson-annotations slf4j-api
package tare.worker.codecs;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.generic.GenericDatumReader;
import tare.worker.Codec;

/**
 * Avro's object container files, uncompressed, with a schema inferred from the value. The entries of a list are the
 * items of the file; anything else is its one item, which the metadata say as avro.mjs of the Node worker says it.
 */
public final class AvroCodec extends Codec {
    private static final String WHOLE = "tare.whole";
    private static final byte[] MARK = new byte[16]; // one for all files: the library's own is made at random

    static {
        Arrays.fill(MARK, (byte) 't');
    }

    private final AvroTrees trees = new AvroTrees();
    private Object last; // the value whose schema is known: inferring is no part of later calls
    private Schema schema;

    public AvroCodec() {
        super("avro:java-avro");
    }

    @Override public String version() {
        return versionOf(GenericDatumReader.class);
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
        boolean several = value instanceof List;
        List<?> items = several ? (List<?>) value : Collections.singletonList(value);
        if (schema == null || value != last) {
            schema = AvroShape.of(items);
            last = value;
        }
        DataFileWriter<Object> file = new DataFileWriter<>(trees.writer(schema));
        if (!several) file.setMeta(WHOLE, "1");
        file.create(schema, out, MARK);
        for (Object one : items) file.append(one);
        file.flush(); // and no close, which would close the stream of the caller
    }

    @Override public Object read(InputStream in) throws Exception {
        DataFileStream<Object> file = new DataFileStream<>(in, trees.reader());
        List<Object> items = new ArrayList<>();
        while (file.hasNext()) items.add(file.next());
        if (file.getMeta(WHOLE) == null) return items;
        if (items.size() != 1) throw new IOException("a file of one item has " + items.size());
        return items.get(0);
    }
}
