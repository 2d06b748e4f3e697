// The Node worker: speaks tare-worker/2 (docs/specs/worker-protocol.md). It needs nothing but Node, 18 or later.
//
// Descriptors 3 and 4 carry the protocol (tare-worker-node.sh); what a package prints goes to standard error.

import fs from "node:fs";

import { releaseAll } from "./ends.mjs";
import { fail, told } from "./failure.mjs";
import { OPS } from "./ops.mjs";

const LINE_BYTES = 16 * 1024 * 1024;
const LF = 0x0a;

function readSome(piece) {
  for (;;) {
    try {
      return fs.readSync(3, piece);
    } catch (error) {
      if (error.code === "EOF") return 0;
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

// Requests: the bytes of a line, or null for one that is too long. Half a line at the end is nothing.
function* lines() {
  const piece = Buffer.alloc(1 << 16);
  let parts = [];
  let held = 0;
  for (;;) {
    const got = readSome(piece);
    if (!got) return;
    let from = 0;
    for (let end = piece.indexOf(LF); end >= 0 && end < got; end = piece.indexOf(LF, from)) {
      held += end - from;
      const line = held > LINE_BYTES ? null : Buffer.concat([...parts, piece.subarray(from, end)]);
      parts = [];
      held = 0;
      from = end + 1;
      if (line === null || line.toString("latin1").trim()) yield line;
    }
    held += got - from;
    if (held > LINE_BYTES) parts = [];
    else if (from < got) parts.push(Buffer.from(piece.subarray(from, got)));
  }
}

function requestOf(line) {
  if (line === null) fail("protocol", `a line is longer than ${LINE_BYTES} bytes`);
  let request;
  try {
    request = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
  } catch (error) {
    fail("protocol", `not JSON: ${error.message}`);
  }
  if (request === null || typeof request !== "object" || Array.isArray(request)) fail("protocol", "a request is an object");
  return request;
}

async function answer(line) {
  let id = null;
  let op = "";
  let reply;
  try {
    const request = requestOf(line);
    id = request.id ?? null;
    op = request.op;
    if (typeof op !== "string" || !Object.hasOwn(OPS, op)) {
      fail("unknown_op", `no operation '${String(op).slice(0, 80)}' (there are ${Object.keys(OPS).sort().join(", ")})`);
    }
    reply = { id, ok: await OPS[op](request) };
  } catch (error) {
    reply = { id, error: told(error) };
  }
  let text = Buffer.from(`${JSON.stringify(reply)}\n`);
  if (text.length > LINE_BYTES + 1) {
    text = Buffer.from(`${JSON.stringify({ id, error: { type: "protocol", message: "the reply would be too long", phase: "protocol" } })}\n`);
  }
  return { text, quit: op === "quit" };
}

function writeAll(data) {
  for (let at = 0; at < data.length;) {
    try {
      at += fs.writeSync(4, data, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

for (const line of lines()) {
  const said = await answer(line);
  writeAll(said.text);
  if (said.quit) break;
}
releaseAll();
process.exit(0);
