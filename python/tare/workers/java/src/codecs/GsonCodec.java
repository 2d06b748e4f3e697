// needs: gson
package tare.worker.codecs;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import tare.worker.Codec;

/** Gson's untyped trees. By default it leaves out names whose value is null, and every number is a double. */
public final class GsonCodec extends Codec {
    private Gson gson;

    public GsonCodec() {
        super("json:java-gson");
        option("nulls", "drop", "keep");
        option("numbers", "double", "long", "decimal");
    }

    @Override public String version() {
        return versionOf(Gson.class);
    }

    @Override public void setUp() {
        GsonBuilder made = new GsonBuilder();
        if (chosen("nulls", "keep")) made.serializeNulls();
        if (chosen("numbers", "long")) made.setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE);
        if (chosen("numbers", "decimal")) made.setObjectToNumberStrategy(ToNumberPolicy.BIG_DECIMAL);
        gson = made.create();
    }

    @Override public byte[] encode(Object value) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        write(value, out);
        return out.toByteArray();
    }

    @Override public Object decode(byte[] bytes) {
        return read(new ByteArrayInputStream(bytes));
    }

    @Override public void write(Object value, OutputStream out) throws Exception {
        Writer text = new OutputStreamWriter(out, StandardCharsets.UTF_8);
        gson.toJson(value, text);
        text.flush();
    }

    @Override public Object read(InputStream in) {
        return gson.fromJson(new InputStreamReader(in, StandardCharsets.UTF_8), Object.class);
    }
}
