// needs: jackson-databind jackson-core jackson-annotations jackson-dataformat-msgpack msgpack-core
package tare.worker.codecs;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.msgpack.jackson.dataformat.MessagePackFactory;

/** MessagePack through Jackson. */
public final class JacksonMsgpack extends Jackson {
    public JacksonMsgpack() {
        super("msgpack:java-jackson");
    }

    @Override protected ObjectMapper mapper() {
        return new ObjectMapper(new MessagePackFactory());
    }

    @Override protected Class<?> from() {
        return MessagePackFactory.class;
    }
}
