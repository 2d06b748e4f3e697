// One message over an open end, in each delivery.

import { now } from "./clocks.mjs";
import { fail, inPhase } from "./failure.mjs";
import { STATE, asBytes, input } from "./state.mjs";

export const DELIVERIES = ["whole", "buffered", "streaming", "framed", "wrapped"];
export const KEEPS = ["framed", "wrapped"];

const FRAME = 0xe0; // frame v1, docs/specs/messages.md: tag, length of 32 bits little endian
const FRAME_MOST = 2 ** 31 - 1;
const TOGETHER = 1 << 16; // header and message go together where copying costs less than a call
const ACK = Buffer.from([0x06]);

function framesOf(bytes) {
  const parts = [];
  let at = 0;
  do {
    const piece = bytes.subarray(at, at + FRAME_MOST);
    at += piece.length;
    const head = Buffer.alloc(5);
    head[0] = at < bytes.length ? FRAME | 1 : FRAME;
    head.writeUInt32LE(piece.length, 1);
    parts.push(head, piece);
  } while (at < bytes.length);
  return parts;
}

function binOf(bytes) {
  const n = bytes.length;
  if (n < 256) return [Buffer.from([0xc4, n]), bytes];
  const head = Buffer.alloc(n < 65536 ? 3 : 5);
  head[0] = n < 65536 ? 0xc5 : 0xc6;
  head.writeUIntBE(n, 1, head.length - 1);
  return [head, bytes];
}

async function put(line, parts) {
  const small = parts.length === 2 && parts[1].length < TOGETHER;
  for (const part of small ? [Buffer.concat(parts)] : parts) await line.write(part);
  return parts.reduce((sum, part) => sum + part.length, 0);
}

export async function sendOne(ready, end, delivery, ack) {
  const { calls } = ready;
  const value = input(ready.codec);
  const start = now();
  let first = 0;
  let count = 0;
  if (delivery === "streaming") {
    for (const one of Array.isArray(value) ? value : [value]) {
      const data = inPhase("encode", () => calls.parts.one(one));
      first ||= now();
      count += await put(end.line, [data]);
    }
    first ||= now();
  } else {
    const bytes = asBytes(inPhase("encode", () => calls.encode(value)));
    first = now();
    count = await put(end.line, delivery === "framed" ? framesOf(bytes) : delivery === "wrapped" ? binOf(bytes) : [bytes]);
  }
  const lastByte = now();
  if (!KEEPS.includes(delivery)) await end.line.finish();
  if (ack) await end.inbox.exactly(1);
  return { count, stamps: [start, first, lastByte, now()] };
}

async function frames(inbox, stamp) {
  const parts = [];
  let count = 0;
  for (;;) {
    const head = Buffer.from(await inbox.exactly(5));
    stamp();
    const tag = head[0];
    const length = head.readUInt32LE(1);
    if (tag >> 4 !== 14 || length > FRAME_MOST) fail("Malformed", `no frame begins with the byte ${tag}`, "io");
    if (tag & 2) fail("Unsupported", "a compressed frame: this worker reads plain ones", "io");
    const payload = length ? await inbox.exactly(length) : Buffer.alloc(0);
    if (tag & 4) await inbox.exactly(4); // a checksum
    count += 5 + length;
    if (tag & 8) continue; // a control frame is no part of a message
    parts.push(payload);
    if (!(tag & 1)) return { bytes: parts.length === 1 ? parts[0] : Buffer.concat(parts), count };
  }
}

async function bin(inbox, stamp) {
  const tag = (await inbox.exactly(1))[0];
  stamp();
  const size = { 0xc4: 1, 0xc5: 2, 0xc6: 4 }[tag] ?? fail("Malformed", `no bin begins with the byte ${tag}`, "io");
  const length = Buffer.from(await inbox.exactly(size)).readUIntBE(0, size);
  return { bytes: await inbox.exactly(length), count: 1 + size + length };
}

async function rest(inbox, stamp) {
  const parts = [];
  for (let data = await inbox.some(); data !== null; data = await inbox.some()) {
    stamp();
    parts.push(data);
  }
  const bytes = Buffer.concat(parts);
  return { bytes, count: bytes.length };
}

async function inParts(ready, inbox, stamps) {
  const reader = ready.calls.parts.reader();
  const found = [];
  let count = 0;
  for (let data = await inbox.some(); data !== null; data = await inbox.some()) {
    stamps[0] ||= now();
    stamps[2] = now();
    count += data.length;
    for (const one of inPhase("decode", () => reader.push(data))) found.push(one);
    if (found.length) stamps[1] ||= now();
  }
  inPhase("decode", () => reader.end());
  stamps[3] = now();
  const single = found.length === 1 && STATE.loaded && !Array.isArray(input(ready.codec));
  return { value: single ? found[0] : found, count };
}

export async function receiveOne(ready, end, delivery, ack) {
  const stamps = [0, 0, 0, 0];
  const stamp = () => { stamps[0] ||= now(); };
  let made;
  if (delivery === "streaming") {
    made = await inParts(ready, end.inbox, stamps);
  } else {
    made = await (delivery === "framed" ? frames : delivery === "wrapped" ? bin : rest)(end.inbox, stamp);
    stamps[2] = now();
    made.value = await inPhase("decode", () => ready.calls.decode(made.bytes));
    stamps[1] = stamps[3] = now();
  }
  if (ack) await end.line.write(ACK);
  return { value: made.value, count: made.count, stamps };
}

