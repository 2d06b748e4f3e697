using System;
using System.Collections.Generic;

namespace Tare {
    /// <summary>Samples: batches of calls between the clocks, each result dropped before the next call.</summary>
    sealed class Timing {
        private const long TargetNs = 2000000;
        private const int MostCalls = 1000000;
        private const int WarmCalls = 20;
        /// <summary>Takes each result, so that the compiler cannot leave out a call.</summary>
        private static volatile object sink;
        private static readonly long CpuCost = CostOfCpuClock();

        private static long CostOfCpuClock() {
            long least = long.MaxValue;
            for (int n = 0; n < 400; n++) {
                long before = Clocks.Cpu();
                least = Math.Min(least, Math.Max(0, Clocks.Cpu() - before));
            }
            return least;
        }

        /// <summary>Takes samples; `batches` remembers what was calibrated.</summary>
        internal Map Take(Job job, Request request, Dictionary<string, int> batches, string key) {
            int batch = (int) Math.Min(MostCalls, request.Number("batch", 0));
            if (batch <= 0 && !batches.TryGetValue(key, out batch)) {
                batch = Calibrate(job, Math.Max(1, request.Number("target_ns", TargetNs)));
                batches[key] = batch;
                job.Clear(false);
            }
            int wanted = (int) Math.Max(1, Math.Min(int.MaxValue, request.Number("samples", 1)));
            double until = Clocks.Now() + 1e6 * request.Number("budget_ms", 1e12);
            var reply = new Map();
            var rows = new List<long[]>();
            do {
                job.Clear(true);
                rows.Add(Sample(job, batch, reply));
                job.Clear(false);
            } while (rows.Count < wanted && Clocks.Now() < until);
            return reply.Put("cols", Clocks.Columns).Put("samples", rows).Put("batch", batch);
        }

        /// <summary>One sample. The heap is collected before it, never stopped from being collected in it.</summary>
        internal long[] Sample(Job job, int batch, Map reply) {
            long[] before = new long[6], after = new long[6];
            GC.Collect();
            Clocks.Counters(before);
            long cpu = Clocks.Cpu();
            long wall = Clocks.Now();
            Repeat(job, batch - 1);
            object last = job.Call();
            wall = Math.Max(1, Clocks.Now() - wall);
            cpu = Math.Max(0, Clocks.Cpu() - cpu - CpuCost);
            Clocks.Counters(after);
            for (int n = 0; n < after.Length; n++) after[n] -= before[n];
            long system = Math.Max(0, Math.Min(cpu, after[5]));
            job.Look(last, reply);
            return new[] { wall, cpu - system, system, after[0], after[1], after[2], after[3], after[4] };
        }

        /// <summary>Each result is garbage before the next call begins.</summary>
        private static void Repeat(Job job, int calls) {
            for (int n = 0; n < calls; n++) {
                sink = job.Call();
                sink = null;
            }
        }

        /// <summary>How many calls take about `target` ns. The first ones compile what they call: they are not counted.</summary>
        private static int Calibrate(Job job, double target) {
            long warm = Clocks.Now();
            for (int n = 0; n < WarmCalls && Clocks.Now() - warm < 4 * target; n++) job.Call();
            for (int calls = 1;;) {
                long wall = Clocks.Now();
                Repeat(job, calls);
                wall = Math.Max(1, Clocks.Now() - wall);
                if (wall * 4 >= target || calls >= MostCalls) return (int) Math.Max(1, Math.Min(MostCalls, Math.Round(target * calls / wall)));
                calls = (int) Math.Min(MostCalls, Math.Max(2.0 * calls, Math.Min(16.0 * calls, target / 4 * calls / wall)));
            }
        }
    }
}
