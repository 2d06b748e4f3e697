// What the worker can be asked: one function for each operation.

import fs from "node:fs";

import { Columns, columnsOf } from "./cells.mjs";
import { CPU_SOURCE, COLUMNS, collect, now } from "./clocks.mjs";
import { CODECS, parseCodec } from "./codecs.mjs";
import { compare, compareColumns } from "./compare.mjs";
import { closeEnd, openEnd } from "./ends.mjs";
import { exactJson, taggedJson } from "./exact.mjs";
import { Failure, fail, inPhase } from "./failure.mjs";
import { handedBack } from "./handed.mjs";
import { changedByRows, refuseRounded } from "./held.mjs";
import { installLine, installed, load, versionOf } from "./packages.mjs";
import { probeCells } from "./probe.mjs";
import { STATE, asBytes, countItems, encodedOf, forget, input, preparedOf, sha256, whole } from "./state.mjs";
import { fromTagged } from "./tagged.mjs";
import { mem, run } from "./timing.mjs";

const here = (one) => one.packages.every((name, n) => installed(name, n ? undefined : one.file));

function textOf(request, name) {
  if (typeof request[name] !== "string") fail("usage", `${request.op} needs '${name}', a text`);
  return request[name];
}

function described(one) {
  const [format, library] = one.id.split(":");
  return {
    id: one.id, library, format, version: one.packages.length ? versionOf(one.packages[0]) : process.versions.node,
    options: Object.fromEntries(Object.entries(one.options).map(([key, choices]) => [key, choices[0]])), choices: one.options,
    kinds: one.kinds, media: ["memory", "file", "fifo", "unix", "tcp"],
    delivery: ["whole", "buffered", ...(one.parts ? ["streaming"] : []), "framed", "wrapped"],
    subset: one.subset ? ["column", "rows"] : [], threads: [1], executes_code: false,
  };
}

function hello(request) {
  if (request.proto !== undefined && request.proto !== 2) fail("usage", `this worker speaks protocol 2, not ${JSON.stringify(request.proto)}`);
  const listed = request.list === false ? [] : CODECS;
  return {
    proto: 2, worker: "node", runtime: "Node", version: process.versions.node, pid: process.pid,
    codecs: listed.filter(here).map(described),
    missing: listed.filter((one) => !here(one)).map((one) => ({ id: one.id, kinds: one.kinds, install: installLine(one.packages) })),
    clocks: COLUMNS, cpu_source: CPU_SOURCE, gc: ["on"],
  };
}

const jsonOf = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

const LOADERS = {
  json: (bytes) => {
    const { value, orders } = exactJson(jsonOf(bytes));
    STATE.orders = orders;
    return value;
  },
  values: (bytes) => {
    const orders = new Map();
    const value = fromTagged(taggedJson(jsonOf(bytes)), orders);
    STATE.orders = [...orders.values()];
    return value;
  },
  bytes: (bytes) => bytes,
  arrow: async (bytes) => {
    const arrow = installed("apache-arrow") ? await load("apache-arrow")
      : fail("Unsupported", `reading tables needs the package apache-arrow: ${installLine(["apache-arrow"])}`, "load");
    const table = arrow.tableFromIPC(bytes);
    refuseRounded(table);
    STATE.table = table;
    return null;
  },
};

async function loadData(request) {
  const path = textOf(request, "path");
  const as = textOf(request, "as");
  forget();
  if (as === "arrow" && installed("apache-arrow")) await load("apache-arrow");
  collect();
  const before = process.memoryUsage.rss();
  if (!Object.hasOwn(LOADERS, as)) fail("Unsupported", `this worker loads ${Object.keys(LOADERS).join(", ")}, not '${as.slice(0, 40)}'`, "load");
  STATE.value = await inPhase("load", () => LOADERS[as](fs.readFileSync(path)));
  STATE.loaded = true;
  STATE.kind = STATE.table ? "table" : "document";
  STATE.items = STATE.table ? STATE.table.numRows : Array.isArray(STATE.value) ? STATE.value.length : 1;
  collect();
  STATE.resident = Math.max(0, process.memoryUsage.rss() - before);
  return { kind: STATE.kind, items: STATE.items, rows: STATE.table ? STATE.items : null, resident_bytes: STATE.resident };
}

function refuseWhatIsNotDone(request, codec) {
  if (!["", "own", "table", "document", undefined, null].includes(request.kind)) fail("Unsupported", `in Node the data have JavaScript's own kind, not ${request.kind}`, "load");
  if (request.grain === "each") fail("Unsupported", "this worker makes one call for all documents", "load");
  if (request.order === "lexical") fail("Unsupported", "this worker writes names in the order they come", "load");
  if (STATE.loaded && !codec.kinds.includes(STATE.kind)) fail("Unsupported", `${codec.id} holds ${codec.kinds.join("s and ")}s, not ${STATE.kind}s`, "encode");
}

async function callsOf(codec) {
  const missing = codec.packages.filter((name) => !installed(name));
  if (missing.length) fail("MissingPackage", `Node has no package ${missing.join(", ")}: ${installLine(codec.packages)}`, "load");
  const packages = await inPhase("load", () => Promise.all(codec.packages.map(load)));
  return codec.setup(packages, codec.given);
}

async function prepare(request) {
  const codec = parseCodec(request.codec);
  refuseWhatIsNotDone(request, codec);
  const began = now();
  const calls = await callsOf(codec);
  const ready = { codec, calls, delivery: request.delivery ?? "whole", batches: new Map(), bytes: null, last: undefined };
  const reply = { import_ns: Math.round(now() - began) };
  if (request.encoded !== undefined) ready.bytes = inPhase("io", () => fs.readFileSync(request.encoded));
  else input(codec);
  if (request.cold !== false) {
    if (ready.bytes === null) {
      const value = input(codec);
      const start = now();
      ready.bytes = asBytes(inPhase("encode", () => calls.encode(value)));
      reply.cold_encode_ns = Math.max(1, now() - start);
    }
    const start = now();
    ready.last = { value: await inPhase("decode", () => calls.decode(ready.bytes)) };
    reply.cold_decode_ns = Math.max(1, now() - start);
    reply.items = countItems(ready.last.value);
  }
  if (ready.bytes !== null) Object.assign(reply, { bytes: ready.bytes.length, sha256: sha256(ready.bytes) });
  STATE.prepared.set(request.codec, ready);
  STATE.current = request.codec;
  return reply;
}

// A table that came back as one is compared by place; of rows, what they do not hold is told beside.
function compared(value, limit) {
  if (!STATE.table) return compare(STATE.value, value, { limit, more: STATE.orders });
  if (value instanceof Columns) return compareColumns(columnsOf(STATE.table), value.columns, { limit });
  return compare(whole(), value, { limit, more: changedByRows(STATE.table, STATE.mixed) });
}

async function verify(request) {
  const ready = preparedOf(request);
  if (!STATE.loaded) fail("usage", "nothing to compare with: load first", "load");
  ready.last ??= { value: await inPhase("decode", () => ready.calls.decode(encodedOf(ready))) };
  const { value } = ready.last;
  ready.last = undefined;
  const limit = request.full === false ? 1 : request.limit ?? 20;
  const found = inPhase("verify", () => compared(value, limit));
  return { verdict: found.verdict, items_in: STATE.items, items_out: countItems(value), changes: found.changes };
}

async function decodeFrom(request) {
  const ready = preparedOf(request);
  const bytes = inPhase("io", () => fs.readFileSync(textOf(request, "path")));
  ready.last = { value: await inPhase("decode", () => ready.calls.decode(bytes)) };
  if (request.out !== undefined) inPhase("io", () => fs.writeFileSync(request.out, JSON.stringify(handedBack(ready.last.value))));
  return { items: countItems(ready.last.value) };
}

export const OPS = {
  hello, load: loadData, prepare, verify, run, mem,
  probe: async (request) => {
    const codec = parseCodec(request.codec ?? STATE.current);
    return { cells: await probeCells(codec, await callsOf(codec), request) };
  },
  encode_to: (request) => {
    const bytes = encodedOf(preparedOf(request));
    inPhase("io", () => fs.writeFileSync(textOf(request, "path"), bytes));
    return { bytes: bytes.length };
  },
  decode_from: decodeFrom,
  open: (request) => {
    if (request.medium === null || typeof request.medium !== "object") throw new Failure("usage", "open needs medium: {kind, role, address, token}");
    return inPhase("open", () => openEnd(request.medium));
  },
  close: (request) => {
    inPhase("io", () => closeEnd(request.handle));
    return {};
  },
  quit: () => ({}),
};
