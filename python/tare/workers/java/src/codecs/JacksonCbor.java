// needs: jackson-databind jackson-core jackson-annotations jackson-dataformat-cbor
package tare.worker.codecs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;

/** CBOR through Jackson. */
public final class JacksonCbor extends Jackson {
    public JacksonCbor() {
        super("cbor:java-jackson");
    }

    @Override protected ObjectMapper mapper() {
        return new ObjectMapper(new CBORFactory());
    }

    @Override protected Class<?> from() {
        return CBORFactory.class;
    }
}
