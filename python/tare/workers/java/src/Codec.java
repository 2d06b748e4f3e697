package tare.worker;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A codec of trees of Map, List, text, numbers, booleans, bytes and null. */
public abstract class Codec {
    /** The id without options, as the parent names it. */
    public final String id;
    /** Choices of each option, the default first. */
    public final Map<String, List<String>> choices = new LinkedHashMap<>();
    /** Chosen values. */
    protected final Map<String, String> options = new LinkedHashMap<>();

    protected Codec(String id) {
        this.id = id;
    }

    protected final void option(String name, String... values) {
        choices.put(name, List.of(values));
        options.put(name, values[0]);
    }

    protected final boolean chosen(String name, String value) {
        return value.equals(options.get(name));
    }

    final String library() {
        return id.substring(id.indexOf(':') + 1);
    }

    /** Version of the library. */
    public abstract String version();

    /** Whether the format can name classes and run code of them; ours are held to a list of classes all the same. */
    public boolean executesCode() {
        return false;
    }

    /** Whether the library itself writes and reads parts. */
    public boolean parts() {
        return true;
    }

    /** Called once, when the options are known. */
    public void setUp() throws Exception {}

    public abstract byte[] encode(Object value) throws Exception;

    public abstract Object decode(byte[] bytes) throws Exception;

    public void write(Object value, OutputStream out) throws Exception {
        out.write(encode(value));
    }

    public Object read(InputStream in) throws Exception {
        return decode(in.readAllBytes());
    }

    /** Version of the jar that a class came from, by its name; its package may know it. */
    protected static String versionOf(Class<?> some) {
        String path = some.getProtectionDomain().getCodeSource().getLocation().getPath();
        java.util.regex.Matcher found = java.util.regex.Pattern.compile("-([0-9][^/]*)\\.jar$").matcher(path);
        if (found.find()) return found.group(1);
        String told = some.getPackage().getImplementationVersion();
        return told == null ? "unknown" : told;
    }

    // --- which there are ---------------------------------------------------------------------

    private static final String[][] KNOWN = {
        {"java:java", "Serial"}, {"none:java", "Nothing"}, {"json:java-jackson", "Jackson"}, {"cbor:java-jackson", "JacksonCbor"},
        {"smile:java-jackson", "JacksonSmile"}, {"msgpack:java-jackson", "JacksonMsgpack"}, {"json:java-gson", "GsonCodec"},
        {"kryo:java-kryo", "KryoCodec"}, {"fory:java-fory", "ForyCodec"}, {"avro:java-avro", "AvroCodec"},
    };

    static List<String> ids() {
        List<String> found = new ArrayList<>();
        for (String[] one : KNOWN) found.add(one[0]);
        return found;
    }

    /** A new codec of that id; null if its library is not there. */
    static Codec of(String id) {
        for (String[] one : KNOWN) {
            if (!one[0].equals(id)) continue;
            try {
                Codec made = (Codec) Class.forName("tare.worker.codecs." + one[1]).getDeclaredConstructor().newInstance();
                made.version();
                return made;
            } catch (ReflectiveOperationException | LinkageError missing) {
                return null;
            }
        }
        throw new OpError("usage", "this worker has no codec '" + cut(id) + "'; it has " + String.join(" ", ids()), "encode");
    }

    /** An id with its options: json:java-gson,nulls=keep. */
    static Codec parse(String text) {
        String[] parts = text.split(",", -1);
        Codec one = of(parts[0]);
        if (one == null) {
            throw new OpError("MissingLibrary", "Java finds no library for " + parts[0] + ": " + installLine(), "encode");
        }
        for (int n = 1; n < parts.length; n++) {
            int equals = parts[n].indexOf('=');
            String name = equals < 0 ? parts[n] : parts[n].substring(0, equals);
            String value = equals < 0 ? "" : parts[n].substring(equals + 1);
            List<String> some = one.choices.get(name);
            if (some == null) {
                throw new OpError("usage", one.id + " has no option '" + cut(name) + "'; it has " + String.join(", ", one.choices.keySet()), "encode");
            }
            if (!some.contains(value)) {
                throw new OpError("usage", one.id + ": " + name + " is one of " + String.join(", ", some), "encode");
            }
            one.options.put(name, value);
        }
        OpError.in("encode", () -> {
            one.setUp();
            return null;
        });
        return one;
    }

    static String installLine() {
        return "mvn -q -f " + System.getProperty("tare.folder", ".") + "/pom.xml package";
    }

    private static String cut(String text) {
        return text.length() > 80 ? text.substring(0, 80) : text;
    }
}
