package tare.worker;

import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The Java worker: speaks tare-worker/2 (docs/specs/worker-protocol.md) over descriptors 3 and 4, where
 * tare-worker-java.sh puts it, so that nothing that a library prints gets into a reply.
 */
public final class Worker {
    static final int LINE_BYTES = 16 << 20;
    private static final long STACK_BYTES = 64L << 20; // trees are walked by recursion
    private static final Object TOO_LONG = new Object();

    private final InputStream source;
    private final ArrayDeque<Object> lines = new ArrayDeque<>();
    private ByteArrayOutputStream pending = new ByteArrayOutputStream();
    private boolean skipping;

    private Worker(InputStream source) {
        this.source = source;
    }

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        int[] code = {1};
        Thread serving = new Thread(null, () -> {
            try (InputStream source = new FileInputStream("/dev/fd/3"); OutputStream sink = new FileOutputStream("/dev/fd/4", true)) {
                new Worker(source).serve(sink);
                code[0] = 0;
            } catch (IOException error) {
                System.err.println(error);
            }
        }, "tare", STACK_BYTES);
        serving.start();
        serving.join();
        System.exit(code[0]);
    }

    private void serve(OutputStream sink) throws IOException {
        Ops ops = new Ops();
        while (true) {
            Object line = next();
            if (line == null) return;
            Map<String, Object> reply = new LinkedHashMap<>();
            reply.put("id", null);
            boolean quit = answer(ops, line, reply);
            String text = Json.write(reply);
            if (text.length() > LINE_BYTES) {
                reply.remove("ok");
                fail(reply, new OpError("protocol", "the reply would be too long", "protocol"));
                text = Json.write(reply);
            }
            sink.write((text + "\n").getBytes(StandardCharsets.UTF_8));
            sink.flush();
            if (quit) return;
        }
    }

    private boolean answer(Ops ops, Object line, Map<String, Object> reply) {
        try {
            Request request = parse(line);
            reply.put("id", request.get("id"));
            reply.put("ok", ops.answer(request));
            return "quit".equals(request.get("op"));
        } catch (Throwable error) {
            fail(reply, OpError.of(error, "protocol"));
            return false;
        }
    }

    @SuppressWarnings("unchecked")
    private static Request parse(Object line) {
        if (line == TOO_LONG) throw new OpError("protocol", "a line is longer than " + LINE_BYTES + " bytes", "protocol");
        Object found;
        try {
            found = Json.read((byte[]) line);
        } catch (RuntimeException error) {
            throw new OpError("protocol", "not JSON: " + error.getMessage(), "protocol");
        }
        if (!(found instanceof Map)) throw new OpError("protocol", "a request is an object", "protocol");
        return new Request((Map<String, Object>) found);
    }

    private static void fail(Map<String, Object> reply, OpError error) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("type", error.type);
        told.put("message", error.cut());
        told.put("phase", error.phase);
        reply.put("error", told);
    }

    /** A line without its end, TOO_LONG, or null at the end of the input; half a line there is nothing. */
    private Object next() throws IOException {
        byte[] data = new byte[1 << 16];
        while (lines.isEmpty()) {
            int got = source.read(data);
            if (got < 0) return null;
            int from = 0;
            for (int at = 0; at < got; at++) {
                if (data[at] != '\n') continue;
                pending.write(data, from, at - from);
                from = at + 1;
                finish();
            }
            pending.write(data, from, got - from);
            if (pending.size() > LINE_BYTES) {
                skipping = true;
                pending = new ByteArrayOutputStream();
            }
        }
        return lines.poll();
    }

    private void finish() {
        byte[] line = pending.toByteArray();
        if (pending.size() > 1 << 20) pending = new ByteArrayOutputStream();
        pending.reset();
        if (skipping || line.length > LINE_BYTES) lines.add(TOO_LONG);
        else if (!new String(line, StandardCharsets.ISO_8859_1).isBlank()) lines.add(line);
        skipping = false;
    }
}
