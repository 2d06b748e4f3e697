package tare.worker;

/** What one `run` times: its call, and what is made of its last result. */
class Job {
    final String phase;
    /** About how many bytes one result holds. */
    final long resultBytes;

    Job(String phase, long resultBytes) {
        this.phase = phase;
        this.resultBytes = Math.max(1, resultBytes);
    }

    Object call() throws Exception {
        return null;
    }

    /** What the reply says of the last result. */
    void look(Object result, java.util.Map<String, Object> reply) {}

    /** Before and after a sample: files of a batch. */
    void clear(boolean first) {}
}
