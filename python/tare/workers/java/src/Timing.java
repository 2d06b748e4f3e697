package tare.worker;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Samples: batches of calls between the clocks, each result dropped before the next call. */
final class Timing {
    private static final long TARGET_NS = 5_000_000L; // the clocks cost tens of microseconds, which are taken off
    private static final int MOST_CALLS = 1_000_000;
    // `warm_ms` says how long at most. Jackson's calls on twitter.json, on one CPU with the compiler: 14.5 ms the first, 2.0 ms for a second, then 1.03 ms.
    private static final long WARM_NS = 1_000_000_000L;
    private static final long BLOCK_NS = 250_000_000L;
    private static final double BETTER = 0.98;
    private static final int SAME = 3;
    private static final int CLEARED = 64;

    /** Takes each result, so that the compiler cannot leave out a call. */
    private volatile Object sink;
    private long warmed;
    private final Clocks clocks = new Clocks();

    /** Takes samples; `batches` remembers what was calibrated. */
    Map<String, Object> take(Job job, Request request, Map<String, Integer> batches, String key) throws Exception {
        double until = System.nanoTime() + 1e6 * request.number("budget_ms", 1e12);
        long longest = (long) (1e6 * request.number("warm_ms", 0));
        warmed = 0;
        if (longest > 0 && !request.is("what", "null") && !batches.containsKey("warm " + key) && warm(job, longest, until)) {
            batches.put("warm " + key, 1);
        }
        int batch = (int) Math.min(MOST_CALLS, request.number("batch", 0));
        if (batch <= 0) {
            Integer known = batches.get(key);
            long asked = (long) request.number("target_ns", TARGET_NS);
            if (known == null) {
                known = calibrate(job, request.is("what", "null") ? asked : Math.max(TARGET_NS, asked));
                batches.put(key, known);
                job.clear(false);
            }
            batch = known;
        }
        int wanted = (int) Math.max(1, request.number("samples", 1));
        Map<String, Object> reply = new LinkedHashMap<>();
        List<Object> rows = new ArrayList<>();
        do {
            job.clear(true);
            rows.add(sample(job, batch, reply));
            job.clear(false);
        } while (rows.size() < wanted && System.nanoTime() < until);
        reply.put("cols", Clocks.columns());
        reply.put("samples", rows);
        reply.put("batch", batch);
        if (warmed > 0) reply.put("warm_calls", warmed);
        return reply;
    }

    /** One sample. The heap is collected before it, never stopped from being collected in it: gc_ns is its part. */
    long[] sample(Job job, int batch, Map<String, Object> reply) throws Exception {
        System.gc();
        clocks.refresh();
        long[] before = clocks.counters();
        long cpu = clocks.cpu();
        long wall = System.nanoTime();
        repeat(job, batch - 1);
        Object last = job.call();
        wall = Math.max(1, System.nanoTime() - wall);
        cpu = Math.max(0, clocks.cpu() - cpu - clocks.cost());
        long[] after = clocks.counters();
        for (int n = 0; n < after.length; n++) after[n] -= before[n];
        long system = Math.max(0, Math.min(cpu, after[6]));
        job.look(last, reply);
        long[] all = {wall, cpu - system, system, after[0], after[1], after[2], after[3], Math.min(wall, after[4]), after[5]};
        if (Clocks.columns().size() == all.length) return all;
        return new long[] {all[0], all[1], all[2], all[7], all[8]};
    }

    /** Each result is garbage before the next call begins. */
    private void repeat(Job job, int calls) throws Exception {
        for (int n = 0; n < calls; n++) {
            sink = job.call();
            sink = null;
        }
    }

    /**
     * Calls until blocks of them get no faster, in each process anew: the compiler works in two steps with a second between.
     * False if the time of the request ended before.
     */
    private boolean warm(Job job, long longest, double until) throws Exception {
        long began = System.nanoTime();
        double best = Double.POSITIVE_INFINITY;
        int same = 0;
        while (System.nanoTime() - began < Math.min(WARM_NS, longest) || (same < SAME && System.nanoTime() - began < longest)) {
            if (System.nanoTime() >= until) return false;
            double one = block(job, Math.min(until, System.nanoTime() + (double) BLOCK_NS));
            same = one < BETTER * best ? 0 : same + 1;
            best = Math.min(best, one);
        }
        return true;
    }

    /** Calls until then, one at least; what one took. */
    private double block(Job job, double until) throws Exception {
        long began = System.nanoTime();
        int calls = 0;
        do {
            job.call();
            if (++calls % CLEARED == 0) job.clear(false);
        } while (System.nanoTime() < until);
        job.clear(false);
        warmed += calls;
        return (double) (System.nanoTime() - began) / calls;
    }

    /** How many calls take about `target` ns. */
    private int calibrate(Job job, long target) throws Exception {
        int calls = 1;
        while (true) {
            long wall = System.nanoTime();
            repeat(job, calls);
            wall = Math.max(1, System.nanoTime() - wall);
            if (wall * 4 >= target || calls >= MOST_CALLS) return (int) Math.max(1, Math.min(MOST_CALLS, Math.round((double) target * calls / wall)));
            calls = (int) Math.min(MOST_CALLS, Math.max(2L * calls, Math.min(16L * calls, target / 4 * calls / wall)));
        }
    }
}
