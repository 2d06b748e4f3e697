package tare.worker;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What was loaded and prepared. */
final class State {
    final Map<String, Ready> prepared = new LinkedHashMap<>();
    boolean loaded;
    Object value;
    long items;
    long resident = 1;
    String current = "";

    void forget() {
        prepared.clear();
        loaded = false;
        value = null;
        items = 0;
        resident = 1;
        current = "";
    }

    /** Entries of a list, or 1; nothing came back where null was not what was sent. */
    long items(Object found) {
        if (found == null) return loaded && value == null ? 1 : 0;
        return found instanceof List ? ((List<?>) found).size() : 1;
    }

    Object needValue() {
        if (!loaded) throw new OpError("usage", "nothing to encode: load first, or give 'encoded'", "load");
        return value;
    }

    byte[] needEncoded(Ready ready) {
        if (ready.bytes == null) {
            Object from = needValue();
            ready.bytes = OpError.in("encode", () -> ready.codec.encode(from));
        }
        return ready.bytes;
    }

    Ready ready(Request request) {
        String name = request.text("codec", current);
        Ready found = prepared.get(name);
        if (found == null) throw OpError.usage((name.isEmpty() ? "no codec" : name) + " is not prepared");
        return found;
    }
}
