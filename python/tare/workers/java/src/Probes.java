package tare.worker;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Probes: single values, each put through a codec; the parent judges what came back. */
final class Probes {
    private static final int SHOWN_BYTES = 256;

    private Probes() {}

    static Object run(Request request, State state) {
        Codec codec = Codec.parse(request.text("codec", state.current));
        if (!request.text("set", "values/1").equals("values/1")) throw OpError.unsupported("this worker has the probes values/1, not " + request.get("set"), "load");
        Path path = Path.of(System.getProperty("tare.folder", "."), "..", "probes-values-1.json");
        Object all = OpError.in("load", () -> Json.read(Files.readAllBytes(path)));
        List<Object> cells = new ArrayList<>();
        for (Object one : (List<?>) all) {
            Map<?, ?> probe = (Map<?, ?>) one;
            if (request.has("only") && !((List<?>) request.get("only")).contains(probe.get("probe"))) continue;
            cells.add(cell(codec, (String) probe.get("probe"), probe.get("tagged")));
        }
        return Map.of("cells", cells);
    }

    private static Object cell(Codec codec, String name, Object tagged) {
        Map<String, Object> cell = new LinkedHashMap<>();
        cell.put("probe", name);
        String failing = "n/a";
        try {
            Object value = Tagged.read(tagged);
            failing = "refused";
            byte[] bytes = codec.encode(value);
            StringBuilder hex = new StringBuilder();
            for (int n = 0; n < Math.min(SHOWN_BYTES, bytes.length); n++) hex.append(String.format("%02x", bytes[n]));
            cell.put("bytes_hex", hex.toString());
            failing = "error";
            cell.put("out", Tagged.write(codec.decode(bytes)));
            cell.put("status", "decoded");
        } catch (Throwable error) {
            cell.put("status", failing);
            cell.put("error", OpError.of(error, "verify").cut());
        }
        return cell;
    }
}
