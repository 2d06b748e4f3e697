package tare.worker;

/** What one `run` times: its call, and what is made of its last result. */
class Job {
    final String phase;

    Job(String phase) {
        this.phase = phase;
    }

    Object call() throws Exception {
        return null;
    }

    /** What the reply says of the last result. */
    void look(Object result, java.util.Map<String, Object> reply) {}

    /** Before and after a sample: files of a batch. */
    void clear(boolean first) {}
}
