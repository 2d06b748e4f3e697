// Samples and peaks of memory.

import fs from "node:fs";

import { COLUMNS, TARGET_NS, calibrate, collect, now, sample, warm } from "./clocks.mjs";
import { DELIVERIES, KEEPS, receiveOne, sendOne } from "./delivery.mjs";
import { accepted, endOf } from "./ends.mjs";
import { fail, inPhase } from "./failure.mjs";
import { STATE, countItems, encodedOf, input, preparedOf } from "./state.mjs";
import { subsetOf, touch } from "./subset.mjs";

const STAMPS = {
  send: ["start_ns", "first_byte_ns", "last_byte_ns", "closed_ns"],
  receive: ["first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns"],
};

function textOf(request, name) {
  if (typeof request[name] !== "string") fail("usage", `run needs '${name}', a text`);
  return request[name];
}

// A new file for each call of a batch; one is left.
function writing(ready, request) {
  const path = textOf(request, "path");
  const value = input(ready.codec);
  const made = new Set();
  const call = (n) => {
    const name = n ? `${path}.${n}` : path;
    const data = ready.calls.encode(value);
    const file = fs.openSync(name, "w");
    made.add(name);
    for (let at = 0; at < data.length;) at += fs.writeSync(file, data, at);
    if (request.sync === "fsync") fs.fsyncSync(file);
    fs.closeSync(file);
    return data.length;
  };
  const clear = (all) => {
    for (const name of made) if (all || name !== path) fs.rmSync(name, { force: true });
    made.clear();
    if (!all) made.add(path);
  };
  return { call, clear, size: (bytes) => bytes, phase: "io" };
}

function decoding(ready, request) {
  const { calls } = ready;
  const own = { phase: "decode", items: true, waits: ready.codec.waits };
  const lazy = request.materialise === "open" || request.materialise === "touch";
  if (lazy && !calls.open) fail("Unsupported", `${ready.codec.id} has no lazy view`, "decode");
  const take = request.what === "subset" ? subsetOf(ready, textOf(request, "subset"))
    : !lazy ? (bytes) => calls.decode(bytes)
      : request.materialise === "touch" ? (bytes) => touch(calls.open(bytes)) : (bytes) => calls.open(bytes);
  const fromFile = request.what === "read" || ((request.path ?? null) !== null && request.what !== "decode");
  if (fromFile) {
    const path = textOf(request, "path");
    return { ...own, phase: "io", call: () => take(fs.readFileSync(path)) };
  }
  const bytes = encodedOf(ready);
  return { ...own, call: () => take(bytes) };
}

// The call of one operation, with what it makes looked at.
function jobOf(what, request) {
  if (what === "null") return { call: () => undefined, phase: "decode" };
  const ready = preparedOf(request);
  if ((request.medium ?? "none") !== "none") fail("Unsupported", `Node has no medium ${String(request.medium).slice(0, 40)} of its own`, "io");
  if (request.cache === "cold") fail("Unsupported", "cold not possible: Node cannot evict a file from memory", "io");
  if (what === "encode") {
    const value = input(ready.codec);
    return { call: () => ready.calls.encode(value), phase: "encode", size: (made) => made.length };
  }
  if (what === "copy") {
    const bytes = encodedOf(ready);
    return { call: () => Buffer.from(bytes), phase: "encode", size: (made) => made.length };
  }
  if (what === "write") return writing(ready, request);
  if (what === "open") return decoding(ready, { ...request, materialise: request.materialise === "touch" ? "touch" : ready.calls.open ? "open" : "full" });
  if (["decode", "read", "subset"].includes(what)) return decoding(ready, request);
  return fail("usage", `run has no '${String(what).slice(0, 40)}'`);
}

export async function run(request) {
  const { what } = request;
  if (what === "send" || what === "receive") return stream(request);
  const job = jobOf(what, request);
  const ready = what === "null" ? { batches: new Map() } : preparedOf(request);
  ready.last = undefined;
  return inPhase(job.phase, () => samples(job, ready, request));
}

async function samples(job, ready, request) {
  const key = [request.what, request.path, request.sync, request.materialise, request.subset].join("|");
  const proof = {};
  if (request.what !== "null" && !ready.batches.has(`warm|${key}`)) {
    proof.warm_calls = await warm(job.call);
    job.clear?.(true);
    ready.batches.set(`warm|${key}`, true);
  }
  let batch = request.batch ?? 0;
  if (batch <= 0) {
    if (!ready.batches.has(key)) ready.batches.set(key, await calibrate(job.call, request.target_ns ?? TARGET_NS, job.waits));
    job.clear?.(true);
    batch = ready.batches.get(key);
  }
  const until = now() + 1e6 * (request.budget_ms ?? Infinity);
  const rows = [];
  do {
    job.clear?.(true);
    ready.last = undefined;
    rows.push(await sample(job.call, batch, job.waits, (result) => {
      if (job.items) {
        proof.items = countItems(result);
        ready.last = { value: result };
      }
      if (job.size) proof.bytes = job.size(result);
    }));
    job.clear?.(false);
  } while (rows.length < (request.samples ?? 1) && now() < until);
  if (request.what === "subset" || request.what === "open") ready.last = undefined;
  return { cols: COLUMNS, samples: rows, batch, ...proof };
}

async function stream(request) {
  const { what } = request;
  const ready = preparedOf(request);
  const end = endOf(request.handle);
  const delivery = request.delivery ?? ready.delivery;
  if (!DELIVERIES.includes(delivery)) fail("usage", `delivery is one of ${DELIVERIES.join(", ")}`, "open");
  if (delivery === "streaming" && !ready.calls.parts) fail("Unsupported", `${ready.codec.id} cannot be written and read in parts`, "open");
  if (request.ack && end.kind === "fifo") fail("Unsupported", "a fifo has one direction and carries no answer", "open");
  const again = KEEPS.includes(delivery);
  const batch = again ? Math.max(1, request.batch ?? 1) : 1;
  const wanted = again ? Math.max(1, request.samples ?? 1) : 1;
  if (what === "send") input(ready.codec);
  ready.last = undefined;
  if (what === "receive") await inPhase("open", () => accepted(end, request.timeout_s));
  if (!end.line) fail("usage", "that end was not opened to write", "open");
  const one = what === "send" ? sendOne : receiveOne;
  const rows = [];
  const proof = {};
  for (let n = 0; n < wanted; n++) {
    let stamps;
    let last;
    const row = await inPhase("io", () => sample(async () => {
      last = undefined;
      last = await one(ready, end, delivery, request.ack);
      stamps = stamps ? [...stamps.slice(0, 2), ...last.stamps.slice(2)] : last.stamps;
    }, batch, true));
    rows.push([...row, ...stamps]);
    proof.bytes = last.count;
    if (what === "receive") {
      proof.items = countItems(last.value);
      ready.last = { value: last.value };
    }
  }
  return { cols: [...COLUMNS, ...STAMPS[what]], samples: rows, batch, ...proof };
}

// Peak of one call above what was resident: the kernel's high water, set to the present before it.
export async function mem(request) {
  const job = jobOf(textOf(request, "what"), request);
  for (const ready of STATE.prepared.values()) ready.last = undefined;
  if (!fs.existsSync("/proc/self/clear_refs")) fail("Unsupported", "the peak of memory is told by Linux only", "io");
  const field = (name) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(fs.readFileSync("/proc/self/status", "utf8"))[1]);
  collect();
  inPhase("io", () => fs.writeFileSync("/proc/self/clear_refs", "5\n"));
  const before = field("VmRSS");
  await inPhase(job.phase, () => job.call(0));
  const peak = field("VmHWM");
  job.clear?.(false);
  return { before_bytes: before, peak_bytes: Math.max(0, peak - before), method: "hwm" };
}

