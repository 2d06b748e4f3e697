package tare.worker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The open ends, and sampling over them. */
final class Streams {
    private static final List<String> SENT = List.of("start_ns", "first_byte_ns", "last_byte_ns", "closed_ns");
    private static final List<String> RECEIVED = List.of("first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns");
    private final Map<Integer, End> ends = new HashMap<>();
    private final State state;
    private final Timing timing;
    private int handles;

    Streams(State state, Timing timing) {
        this.state = state;
        this.timing = timing;
    }

    @SuppressWarnings("unchecked")
    Object open(Request request) {
        if (!(request.get("medium") instanceof Map)) throw OpError.usage("open needs medium: {kind, role, address, token}");
        End end = OpError.in("open", () -> new End(new Request((Map<String, Object>) request.get("medium"))));
        ends.put(++handles, end);
        return Map.of("handle", handles, "address", end.address);
    }

    Object close(Request request) {
        End end = end(request);
        ends.remove((int) request.number("handle", 0));
        OpError.in("io", () -> {
            end.close();
            return null;
        });
        return Map.of();
    }

    private End end(Request request) {
        End found = ends.get((int) request.number("handle", -1));
        if (found == null) throw new OpError("usage", "no open end has the handle " + request.get("handle"), "open");
        return found;
    }

    Object run(String what, Request request) {
        Ready ready = state.ready(request);
        Codec codec = ready.codec;
        End end = end(request);
        String delivery = request.text("delivery", ready.delivery);
        if (!Wire.DELIVERIES.contains(delivery)) throw new OpError("usage", "delivery is one of " + String.join(", ", Wire.DELIVERIES), "open");
        if (delivery.equals("streaming") && !codec.parts()) throw OpError.unsupported(codec.id + " cannot be written and read in parts", "open");
        boolean sending = what.equals("send");
        boolean ack = Boolean.TRUE.equals(request.get("ack"));
        if (ack && end.kind.equals("fifo")) throw OpError.unsupported("a fifo has no way back for an answer", "open");
        Object value = sending ? state.needValue() : null;
        boolean again = Wire.again(delivery);
        int batch = again ? (int) Math.max(1, request.number("batch", 1)) : 1;
        int samples = again ? (int) Math.max(1, request.number("samples", 1)) : 1;
        ready.forget();
        if (!sending) {
            OpError.in("open", () -> {
                end.accept(request.number("timeout_s", 3600));
                return null;
            });
        } else if (end.out == null) {
            throw new OpError("usage", "this end reads", "open");
        }
        Map<String, Object> reply = new LinkedHashMap<>();
        List<Object> rows = new ArrayList<>();
        for (int n = 0; n < samples; n++) {
            rows.add(OpError.in(sending ? "encode" : "decode", () -> row(sending, codec, value, end, delivery, ack, batch, ready, reply)));
        }
        List<String> cols = new ArrayList<>(Clocks.columns());
        cols.addAll(sending ? SENT : RECEIVED);
        reply.put("cols", cols);
        reply.put("samples", rows);
        reply.put("batch", batch);
        return reply;
    }

    private long[] row(boolean sending, Codec codec, Object value, End end, String delivery, boolean ack, int batch, Ready ready,
            Map<String, Object> reply) throws Exception {
        long[] stamps = new long[4];
        long[] count = new long[1];
        Job job = new Job(sending ? "encode" : "decode") {
            @Override Object call() throws Exception {
                ready.forget();
                if (sending) count[0] += Wire.send(codec, value, end, delivery, ack, stamps);
                else ready.keep(Wire.receive(codec, end, delivery, ack, stamps, count));
                return null;
            }
        };
        long[] cells = timing.sample(job, batch, reply);
        reply.put("bytes", count[0] / batch);
        if (!sending) reply.put("items", state.items(ready.last));
        long[] all = java.util.Arrays.copyOf(cells, cells.length + 4);
        System.arraycopy(stamps, 0, all, cells.length, 4);
        return all;
    }
}
