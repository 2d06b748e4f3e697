// The clocks of the worker, and one sample.
//
// V8's collector cannot be switched off. It is asked to collect before each sample; what it does in one is
// part of it, and told by gc_ns and gc_n.

import { PerformanceObserver } from "node:perf_hooks";

export const COLUMNS = ["wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns", "gc_n"];
export const CPU_SOURCE = "process.cpuUsage (getrusage, all threads)";
export const TARGET_NS = 2e6;

const WARM_NS = 150e6;
const WARM_CALLS = 3000;
const MOST_CALLS = 1e6;
const QUICK_NS = 20e6;
const GROWN_BYTES = 32 << 20;

export const now = () => Number(process.hrtime.bigint());

const observer = new PerformanceObserver(() => {});
observer.observe({ entryTypes: ["gc"] });

const full = { cost: 0, used: 0 };

// A whole collection walks all that was loaded: where that takes long, only what is young is collected until
// enough has grown old.
export function collect() {
  const used = process.memoryUsage().heapUsed;
  if (full.cost > QUICK_NS && used - full.used < GROWN_BYTES) return void globalThis.gc({ type: "minor" });
  const began = now();
  globalThis.gc();
  full.cost = now() - began;
  full.used = process.memoryUsage().heapUsed;
}

async function collections() {
  // What the observer hears comes with the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  return observer.takeRecords();
}

// Takes each result, so that the compiler has a use for every call, and lets go of it before the next one.
const sink = { made: undefined };

function repeat(call, count) {
  for (let n = 0; n < count; n++) {
    sink.made = call(n);
    sink.made = undefined;
  }
}

async function repeatWaiting(call, count) {
  for (let n = 0; n < count; n++) {
    sink.made = await call(n);
    sink.made = undefined;
  }
}

// `batch` calls between the clocks, each result dropped before the next call; then `look` is shown the last.
export async function sample(call, batch, waits, look = () => {}) {
  collect();
  await collections();
  const counted = process.resourceUsage();
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  if (waits) await repeatWaiting(call, batch - 1);
  else repeat(call, batch - 1);
  const last = waits ? await call(batch - 1) : call(batch - 1);
  const wall = process.hrtime.bigint() - start;
  const spent = process.cpuUsage(cpu);
  const after = process.resourceUsage();
  const gc = await collections();
  look(last);
  const wallNs = Math.max(1, Number(wall));
  const gcNs = Math.round(1e6 * gc.reduce((sum, one) => sum + one.duration, 0));
  return [
    wallNs, spent.user * 1000, spent.system * 1000,
    after.involuntaryContextSwitches - counted.involuntaryContextSwitches,
    after.voluntaryContextSwitches - counted.voluntaryContextSwitches,
    after.minorPageFault - counted.minorPageFault, after.majorPageFault - counted.majorPageFault,
    Math.min(gcNs, wallNs), gc.length,
  ];
}

// The compiler makes code faster in several steps: calls before the first sample, until they have been taken.
export async function warm(call) {
  const until = now() + WARM_NS;
  let calls = 0;
  for (; calls < WARM_CALLS && now() < until; calls++) await call(0);
  return calls;
}

// Calls in a batch that takes about `target` ns.
export async function calibrate(call, target, waits) {
  let calls = 1;
  for (;;) {
    const began = now();
    if (waits) await repeatWaiting(call, calls);
    else repeat(call, calls);
    const one = Math.max(1, now() - began) / calls;
    if (one * calls * 4 >= target || calls >= MOST_CALLS) return Math.max(1, Math.min(MOST_CALLS, Math.round(target / one)));
    calls = Math.min(MOST_CALLS, Math.ceil(calls * Math.max(2, Math.min(16, target / 4 / one / calls))));
  }
}
