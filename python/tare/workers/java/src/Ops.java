package tare.worker;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the worker can be asked. */
final class Ops {
    private static final String KNOWN = "close, decode_from, encode_to, hello, load, mem, open, prepare, probe, quit, run, verify";
    private static final List<String> MEDIA = List.of("memory", "file", "fifo", "unix", "tcp");
    private final State state = new State();
    private final Timing timing = new Timing();
    private final Streams streams = new Streams(state, timing);

    Object answer(Request request) throws Exception {
        String op = request.get("op") instanceof String ? (String) request.get("op") : "";
        switch (op) {
            case "hello": return hello(request);
            case "load": return load(request);
            case "prepare": return prepare(request);
            case "verify": return verify(request);
            case "run": return run(request);
            case "mem": return memory(request);
            case "probe": return Probes.run(request, state);
            case "encode_to": return encodeTo(request);
            case "decode_from": return decodeFrom(request);
            case "open": return streams.open(request);
            case "close": return streams.close(request);
            case "quit": return Map.of();
            default: throw new OpError("unknown_op", "no operation '" + op.substring(0, Math.min(80, op.length())) + "' (there are " + KNOWN + ")", "protocol");
        }
    }

    private Object hello(Request request) {
        if (request.has("proto") && request.number("proto", 2) != 2) {
            throw OpError.usage("this worker speaks protocol 2, not " + request.get("proto"));
        }
        List<Object> codecs = new ArrayList<>();
        List<Object> missing = new ArrayList<>();
        if (!Boolean.FALSE.equals(request.get("list"))) {
            for (String id : Codec.ids()) {
                Codec one = Codec.of(id);
                if (one == null) missing.add(Map.of("id", id, "kinds", List.of("document"), "install", Codec.installLine()));
                else codecs.add(described(one));
            }
        }
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("proto", 2);
        reply.put("worker", "java");
        reply.put("runtime", System.getProperty("java.vm.name"));
        reply.put("version", Runtime.version().toString());
        reply.put("pid", ProcessHandle.current().pid());
        reply.put("codecs", codecs);
        reply.put("missing", missing);
        reply.put("clocks", Clocks.columns());
        reply.put("cpu_source", Clocks.SOURCE);
        reply.put("gc", List.of("on"));
        return reply;
    }

    private static Object described(Codec one) {
        Map<String, Object> made = new LinkedHashMap<>();
        made.put("id", one.id);
        made.put("library", one.library());
        made.put("version", one.version());
        made.put("options", one.options);
        made.put("choices", one.choices);
        made.put("kinds", List.of("document"));
        made.put("media", MEDIA);
        made.put("delivery", one.parts() ? Wire.DELIVERIES : List.of("whole", "buffered", "framed", "wrapped"));
        made.put("subset", List.of());
        made.put("threads", List.of(1));
        made.put("executes_code", one.executesCode());
        return made;
    }

    private Object load(Request request) {
        String path = request.text("path");
        String as = request.text("as");
        state.forget();
        System.gc();
        long before = used();
        state.value = OpError.in("load", () -> {
            if (request.is("kind", "table")) throw OpError.unsupported("this worker measures documents, not tables", "load");
            byte[] bytes = Files.readAllBytes(Path.of(path));
            switch (as) {
                case "json": return Json.read(bytes);
                case "values": return Tagged.read(Json.read(bytes));
                case "bytes": return bytes;
                default: throw OpError.unsupported("this worker loads json, values and bytes, not '" + as.substring(0, Math.min(40, as.length())) + "'", "load");
            }
        });
        state.loaded = true;
        state.items = state.items(state.value);
        System.gc();
        state.resident = Math.max(1, used() - before);
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("kind", "document");
        reply.put("items", state.items);
        reply.put("rows", null);
        reply.put("resident_bytes", state.resident);
        return reply;
    }

    private Object prepare(Request request) {
        String kind = request.text("kind", "own");
        if (!List.of("", "own", "document").contains(kind)) throw OpError.unsupported("in Java the data are trees of Map and List, not " + kind, "load");
        if (request.is("grain", "each")) throw OpError.unsupported("this worker makes one call for all documents", "load");
        if (request.is("order", "lexical")) throw OpError.unsupported("this worker writes names in the order they come", "load");
        String name = request.text("codec");
        long began = System.nanoTime();
        Ready ready = new Ready(Codec.parse(name), request.text("delivery", "whole"));
        Codec codec = ready.codec;
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("import_ns", System.nanoTime() - began);
        if (request.has("encoded")) ready.bytes = OpError.in("io", () -> Files.readAllBytes(Path.of(request.text("encoded"))));
        else state.needValue();
        if (!Boolean.FALSE.equals(request.get("cold"))) {
            if (ready.bytes == null) {
                long from = System.nanoTime();
                ready.bytes = OpError.in("encode", () -> codec.encode(state.value));
                reply.put("cold_encode_ns", Math.max(1, System.nanoTime() - from));
            }
            long from = System.nanoTime();
            ready.keep(OpError.in("decode", () -> codec.decode(ready.bytes)));
            reply.put("cold_decode_ns", Math.max(1, System.nanoTime() - from));
            reply.put("items", state.items(ready.last));
        }
        ready.lastCall = () -> codec.decode(state.needEncoded(ready));
        if (ready.bytes != null) {
            reply.put("bytes", ready.bytes.length);
            reply.put("sha256", sha256(ready.bytes));
        }
        state.prepared.put(name, ready);
        state.current = name;
        return reply;
    }

    private Object verify(Request request) {
        Ready ready = state.ready(request);
        if (!state.loaded) throw new OpError("usage", "nothing to compare with: load first", "load");
        if (!ready.came) ready.keep(OpError.in("decode", ready.lastCall));
        int limit = Boolean.FALSE.equals(request.get("full")) ? 1 : (int) Math.max(1, request.number("limit", 20));
        Object out = ready.last;
        ready.forget();
        Map<String, Object> reply = OpError.in("verify", () -> Compare.of(state.value, out, limit));
        reply.put("items_in", state.items);
        reply.put("items_out", state.items(out));
        return reply;
    }

    private Object run(Request request) {
        String what = request.text("what");
        if (what.equals("send") || what.equals("receive")) return streams.run(what, request);
        Ready ready = what.equals("null") ? null : state.ready(request);
        Job job = Jobs.of(what, request, ready, state);
        if (ready != null) {
            ready.forget();
            if (what.equals("decode") || what.equals("read")) ready.lastCall = job::call;
        }
        return OpError.in(job.phase, () -> timing.take(job, request, ready == null ? new LinkedHashMap<>() : ready.batches,
            what + " " + request.get("path") + " " + request.get("sync")));
    }

    /** Peak of one call above what was used before it, told by the pools of the heap: what is resident does not shrink. */
    private Object memory(Request request) {
        Ready ready = state.ready(request);
        Job job = Jobs.of(request.text("what"), request, ready, state);
        for (Ready one : state.prepared.values()) one.forget();
        System.gc();
        long resident = resident();
        long before = used();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) pool.resetPeakUsage();
        OpError.in(job.phase, job::call);
        long peak = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP) peak += pool.getPeakUsage().getUsed();
        }
        job.clear(false);
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("before_bytes", resident);
        reply.put("peak_bytes", Math.max(0, peak - before));
        reply.put("method", "heap pools");
        return reply;
    }

    private static long used() {
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private static long resident() {
        if (!Files.exists(Path.of("/proc/self/status"))) return used();
        return Clocks.field(Clocks.text("/proc/self/status"), "VmRSS:") * 1024;
    }

    private Object encodeTo(Request request) {
        byte[] bytes = state.needEncoded(state.ready(request));
        OpError.in("io", () -> Files.write(Path.of(request.text("path")), bytes));
        return Map.of("bytes", bytes.length);
    }

    private Object decodeFrom(Request request) {
        Ready ready = state.ready(request);
        byte[] bytes = OpError.in("io", () -> Files.readAllBytes(Path.of(request.text("path"))));
        ready.keep(OpError.in("decode", () -> ready.codec.decode(bytes)));
        if (request.has("out")) {
            String text = OpError.in("decode", () -> Json.write(Tagged.write(ready.last)));
            OpError.in("io", () -> Files.writeString(Path.of(request.text("out")), text));
        }
        return Map.of("items", state.items(ready.last));
    }

    private static String sha256(byte[] bytes) {
        byte[] sum = OpError.in("encode", () -> MessageDigest.getInstance("SHA-256").digest(bytes));
        return String.format("%064x", new BigInteger(1, sum));
    }
}
