package tare.worker;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** What each `run` calls. */
final class Jobs {
    private Jobs() {}

    static Job of(String what, Request request, Ready ready, State state) {
        if (what.equals("null")) return new Job("decode");
        request.only("materialise", "full");
        request.only("subset", "all");
        if (request.has("medium")) throw OpError.unsupported("this worker has no medium " + request.get("medium") + " of one end", "io");
        switch (what) {
            case "encode": return encode(ready, state);
            case "decode": return decode(ready, state);
            case "copy": return copy(ready, state);
            case "write": return write(request, ready, state);
            case "read": return read(request, ready, state);
            case "subset": case "open": throw OpError.unsupported("this worker measures whole values, not " + what, "decode");
            default: throw OpError.usage("run cannot do '" + what.substring(0, Math.min(40, what.length())) + "'");
        }
    }

    private static Job encode(Ready ready, State state) {
        Object value = state.needValue();
        Codec codec = ready.codec;
        return new Job("encode") {
            @Override Object call() throws Exception {
                return codec.encode(value);
            }

            @Override void look(Object result, Map<String, Object> reply) {
                reply.put("bytes", ((byte[]) result).length);
            }
        };
    }

    private static Job decode(Ready ready, State state) {
        byte[] bytes = state.needEncoded(ready);
        Codec codec = ready.codec;
        return new Job("decode") {
            @Override Object call() throws Exception {
                return codec.decode(bytes);
            }

            @Override void look(Object result, Map<String, Object> reply) {
                reply.put("items", state.items(result));
            }
        };
    }

    private static Job copy(Ready ready, State state) {
        byte[] bytes = state.needEncoded(ready);
        return new Job("decode") {
            @Override Object call() {
                return bytes.clone();
            }

            @Override void look(Object result, Map<String, Object> reply) {
                reply.put("bytes", ((byte[]) result).length);
            }
        };
    }

    private static Job write(Request request, Ready ready, State state) {
        Object value = state.needValue();
        Codec codec = ready.codec;
        Path path = Path.of(request.text("path"));
        boolean sync = request.is("sync", "fsync");
        return new Job("encode") {
            private int made;

            @Override Object call() throws Exception {
                Path here = made++ == 0 ? path : Path.of(path + "." + (made - 1));
                try (FileOutputStream file = new FileOutputStream(here.toFile())) {
                    if (codec.parts()) {
                        BufferedOutputStream out = new BufferedOutputStream(file, 1 << 16);
                        codec.write(value, out);
                        out.flush();
                    } else {
                        file.write(codec.encode(value));
                    }
                    if (sync) file.getChannel().force(true);
                }
                return null;
            }

            @Override void look(Object result, Map<String, Object> reply) {
                reply.put("bytes", path.toFile().length());
            }

            @Override void clear(boolean first) {
                OpError.in("io", () -> {
                    for (int n = 1; n < made; n++) Files.deleteIfExists(Path.of(path + "." + n));
                    return first && Files.deleteIfExists(path);
                });
                made = 0;
            }
        };
    }

    private static Job read(Request request, Ready ready, State state) {
        if (request.is("cache", "cold")) throw OpError.unsupported("cold not possible in Java: it cannot drop a file's pages", "io");
        Path path = Path.of(request.text("path"));
        Codec codec = ready.codec;
        if (!Files.exists(path)) OpError.in("io", () -> Files.write(path, state.needEncoded(ready)));
        return new Job("decode") {
            @Override Object call() throws Exception {
                if (!codec.parts()) return codec.decode(Files.readAllBytes(path));
                try (InputStream in = new BufferedInputStream(new FileInputStream(path.toFile()), 1 << 16)) {
                    return codec.read(in);
                }
            }

            @Override void look(Object result, Map<String, Object> reply) {
                reply.put("items", state.items(result));
            }
        };
    }
}
