package tare.worker;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The clocks. CPU is that of all threads of the process, so that compiling and collecting are in it: the measuring
 * thread's own clock, exact, and what the kernel counts for each other thread, exact while it does not run. Their
 * files stay open, so that a reading costs microseconds. The split into user and system steps by a tick.
 */
final class Clocks {
    static final List<String> COLUMNS = List.of("wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns", "gc_n");
    static final String SOURCE = "ThreadMXBean of the measuring thread plus /proc/self/task/*/schedstat of the others, split by /proc/self/stat";
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final boolean LINUX = Files.isDirectory(TASKS);
    private static final long TICK_NS = 10_000_000L;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private final Map<String, RandomAccessFile> others = new LinkedHashMap<>();
    private final byte[] buffer = new byte[4096];
    private String own = "";
    private long cost = -1;

    static List<String> columns() {
        if (LINUX) return COLUMNS;
        List<String> some = new ArrayList<>(COLUMNS);
        some.removeAll(List.of("nivcsw", "nvcsw", "minflt", "majflt"));
        return some;
    }

    /** Looks which threads there are; not part of any sample. */
    void refresh() {
        if (!LINUX) return;
        try {
            own = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
            List<String> here = new ArrayList<>();
            try (var some = Files.list(TASKS)) {
                some.forEach(one -> here.add(one.getFileName().toString()));
            }
            here.remove(own);
            for (String gone : new ArrayList<>(others.keySet())) {
                if (!here.contains(gone)) others.remove(gone).close();
            }
            for (String task : here) {
                if (!others.containsKey(task)) {
                    others.put(task, new RandomAccessFile(TASKS.resolve(task).resolve("schedstat").toFile(), "r"));
                }
            }
        } catch (IOException gone) {
            // a thread ended between being listed and being opened; the next sample looks again
        }
        if (cost < 0) {
            cost = Long.MAX_VALUE;
            for (int n = 0; n < 400; n++) {
                long before = cpu();
                cost = Math.min(cost, Math.max(0, cpu() - before));
            }
        }
    }

    /** What one reading of the CPU clock costs; in no figure. */
    long cost() {
        return cost;
    }

    long cpu() {
        long sum = threads.getCurrentThreadCpuTime();
        for (RandomAccessFile file : others.values()) {
            try {
                file.seek(0);
                int got = file.read(buffer);
                long value = 0;
                for (int n = 0; n < got && buffer[n] >= '0'; n++) value = value * 10 + buffer[n] - '0';
                sum += value;
            } catch (IOException ended) {
                // it ended with what it had used
            }
        }
        return sum;
    }

    /** Context switches of this thread, forced and not; faults and system time of the process; collections. */
    long[] counters() {
        long[] found = new long[7];
        if (LINUX) {
            String status = text("/proc/thread-self/status");
            found[0] = field(status, "nonvoluntary_ctxt_switches:");
            found[1] = field(status, "\nvoluntary_ctxt_switches:");
            String stat = text("/proc/self/stat");
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            found[2] = Long.parseLong(fields[7]);
            found[3] = Long.parseLong(fields[9]);
            found[6] = Long.parseLong(fields[12]) * TICK_NS;
        }
        for (GarbageCollectorMXBean one : collectors) {
            found[4] += one.getCollectionTime() * 1_000_000L;
            found[5] += one.getCollectionCount();
        }
        return found;
    }

    static String text(String path) {
        try {
            return Files.readString(Path.of(path), StandardCharsets.ISO_8859_1);
        } catch (IOException error) {
            throw OpError.of(error, "io");
        }
    }

    /** The first number after a name. */
    static long field(String text, String name) {
        int at = text.indexOf(name);
        if (at < 0) return 0;
        java.util.regex.Matcher found = java.util.regex.Pattern.compile("\\d+").matcher(text);
        return found.find(at + name.length()) ? Long.parseLong(found.group()) : 0;
    }
}
