using System;
using System.IO;
using System.Text.RegularExpressions;

namespace Tare {
    /// <summary>
    /// The clocks. CPU is the kernel's own clock of the process: all its threads, those that collect too, to the
    /// nanosecond. The split into user and system is getrusage's. Mono tells how often it collected and not how long.
    /// </summary>
    static class Clocks {
        internal static readonly string[] Columns = { "wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_n" };
        internal const string Source = "clock_gettime(CLOCK_PROCESS_CPUTIME_ID), split by getrusage";
        private const int Monotonic = 1, Process = 2;
        private static readonly long[] usage = new long[18];

        private static long Read(int clock) {
            Libc.TimeSpec time;
            Libc.ClockGetTime(clock, out time);
            return time.Seconds * 1000000000 + time.Nanoseconds;
        }

        internal static long Now() {
            return Read(Monotonic);
        }

        internal static long Cpu() {
            return Read(Process);
        }

        /// <summary>Context switches, forced and not; faults; collections; system time.</summary>
        internal static void Counters(long[] found) {
            Libc.GetUsage(0, usage);
            found[0] = usage[17];
            found[1] = usage[16];
            found[2] = usage[8];
            found[3] = usage[9];
            found[4] = GC.CollectionCount(0) + GC.CollectionCount(1);
            found[5] = usage[2] * 1000000000 + usage[3] * 1000;
        }

        /// <summary>A figure of /proc/self/status in bytes.</summary>
        internal static long Status(string name) {
            Match found = Regex.Match(File.ReadAllText("/proc/self/status"), "^" + name + ":\\s*(\\d+) kB", RegexOptions.Multiline);
            return found.Success ? long.Parse(found.Groups[1].Value) * 1024 : 0;
        }
    }
}
