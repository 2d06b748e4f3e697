// needs: jackson-databind jackson-core jackson-annotations
package tare.worker.codecs;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.io.OutputStream;
import tare.worker.Codec;

/** Jackson's untyped trees; the other formats of Jackson give another mapper. */
public class Jackson extends Codec {
    private ObjectMapper mapper;
    private ObjectMapper streams;

    public Jackson() {
        this("json:java-jackson");
        option("floats", "double", "decimal");
    }

    protected Jackson(String id) {
        super(id);
    }

    protected ObjectMapper mapper() {
        return new ObjectMapper();
    }

    protected Class<?> from() {
        return ObjectMapper.class;
    }

    @Override public final String version() {
        return versionOf(from());
    }

    @Override public final void setUp() {
        mapper = mapper();
        // Streams end where their messages do, and are closed by whoever opened them. Bytes are read as the library does
        // by itself: MessagePack's parser, told not to close its source, goes on at the end of bytes that it has seen.
        streams = mapper();
        streams.getFactory().disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET).disable(JsonParser.Feature.AUTO_CLOSE_SOURCE);
        for (ObjectMapper one : new ObjectMapper[] {mapper, streams}) {
            if (chosen("floats", "decimal")) one.enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
        }
    }

    @Override public final byte[] encode(Object value) throws Exception {
        return mapper.writeValueAsBytes(value);
    }

    @Override public final Object decode(byte[] bytes) throws Exception {
        return mapper.readValue(bytes, Object.class);
    }

    @Override public final void write(Object value, OutputStream out) throws Exception {
        streams.writeValue(out, value);
    }

    @Override public final Object read(InputStream in) throws Exception {
        return streams.readValue(in, Object.class);
    }
}
