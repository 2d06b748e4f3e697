package tare.worker;

/** What a request is answered with instead of a result: type, message and phase of the protocol. */
public final class OpError extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final int MESSAGE_BYTES = 2000;
    final String type;
    final String phase;

    public OpError(String type, String message, String phase) {
        super(message, null, false, false);
        this.type = type;
        this.phase = phase;
    }

    static OpError usage(String message) {
        return new OpError("usage", message, "protocol");
    }

    static OpError unsupported(String message, String phase) {
        return new OpError("Unsupported", message, phase);
    }

    /** A piece of work whose failures belong to one phase. */
    public interface Work<T> {
        T run() throws Throwable;
    }

    static <T> T in(String phase, Work<T> work) {
        try {
            return work.run();
        } catch (OpError error) {
            throw error;
        } catch (Throwable error) {
            throw of(error, phase);
        }
    }

    static OpError of(Throwable error, String phase) {
        if (error instanceof OpError) return (OpError) error;
        String name = error.getClass().getSimpleName();
        String type = error instanceof OutOfMemoryError ? "memory" : phase.equals("encode") ? "refused" : name;
        String said = error.getMessage();
        return new OpError(type, said == null ? name : type.equals(name) ? said : name + ": " + said, phase);
    }

    /** The message, at most 2 KiB of UTF-8. */
    String cut() {
        String text = String.valueOf(getMessage());
        int bytes = 0;
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
            if (bytes > MESSAGE_BYTES) {
                int end = Character.isHighSurrogate(text.charAt(at - 1)) ? at - 1 : at;
                return text.substring(0, end) + "...";
            }
        }
        return text;
    }
}
