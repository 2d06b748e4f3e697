package tare.worker;

import java.util.HashMap;
import java.util.Map;

/** A codec that was prepared, and what is kept of it between requests. */
final class Ready {
    final Codec codec;
    final String delivery;
    final Map<String, Integer> batches = new HashMap<>();
    byte[] bytes;
    Object last;
    boolean came; // whether `last` is a value: null is one too
    OpError.Work<Object> lastCall;

    Ready(Codec codec, String delivery) {
        this.codec = codec;
        this.delivery = delivery;
    }

    void keep(Object value) {
        last = value;
        came = true;
    }

    void forget() {
        last = null;
        came = false;
    }
}
