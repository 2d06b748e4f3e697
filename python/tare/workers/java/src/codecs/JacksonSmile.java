// needs: jackson-databind jackson-core jackson-annotations jackson-dataformat-smile
package tare.worker.codecs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.smile.SmileFactory;

/** Smile through Jackson. */
public final class JacksonSmile extends Jackson {
    public JacksonSmile() {
        super("smile:java-jackson");
    }

    @Override protected ObjectMapper mapper() {
        return new ObjectMapper(new SmileFactory());
    }

    @Override protected Class<?> from() {
        return SmileFactory.class;
    }
}
