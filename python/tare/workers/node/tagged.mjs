// Tagged values, dialect values/1, of what JavaScript has; what it has not is told by NotHere.

import { isMoved, noteOrder } from "./exact.mjs";

export class NotHere extends Error {}

const absent = (what) => { throw new NotHere(`JavaScript has no ${what}`); };
const MISSING = {
  $f32: "single precision", $dec: "decimals", $date: "dates without a time", $time: "times of day",
  $dur: "durations", $uuid: "UUIDs", $tuple: "tuples", $na: "typed NA", $factor: "factors", $attr: "attributes",
};
const SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function own(target, key, value) {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

// --- reading --------------------------------------------------------------------------

// The value of a tagged tree. `orders` collects where an object's keys are in another order than the tree's.
export function fromTagged(tree, orders = new Map()) {
  return read(tree, "", { shared: new Map(), orders });
}

function read(node, path, state) {
  if (node === null || typeof node !== "object") return node;
  if (Array.isArray(node)) return listOf(node, path, state);
  const tag = Object.keys(node).find((key) => key.startsWith("$"));
  if (tag === undefined) return objectOf(Object.keys(node).map((key) => [key, node[key]]), path, state);
  const value = node[tag];
  switch (tag) {
    case "$int": {
      const whole = BigInt(value);
      return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
    }
    case "$f64": return Buffer.from(value, "hex").readDoubleBE(0);
    case "$bytes": return Buffer.from(value, "base64");
    case "$text16": return Buffer.from(value, "hex").swap16().toString("utf16le");
    case "$ts": return moment(value, node.tz);
    case "$set": return new Set(listOf(value, path, state));
    case "$map": return mapOf(value, path, state);
    case "$nest": return nested(value, read(node.of, `${path}${"[*]".repeat(Math.min(value, 20))}`, state));
    case "$missing": return undefined;
    case "$def": return defined(node, path, state);
    case "$ref": return state.shared.get(value);
    default: return absent(MISSING[tag] ?? `type for ${tag}`);
  }
}

function moment(text, tz) {
  if (tz === null) absent("times without a zone");
  if (tz !== "+00:00") absent("times with an offset or a zone");
  if (!/\.\d{3}0*\+/.test(text) && text.includes(".")) absent("times finer than milliseconds");
  const found = new Date(text);
  return Number.isNaN(found.getTime()) ? absent("such a moment") : found;
}

const listOf = (nodes, path, state) => nodes.map((one) => read(one, `${path}[*]`, state));

function objectOf(pairs, path, state) {
  const out = {};
  for (const [key, value] of pairs) own(out, key, read(value, path ? `${path}.${key}` : key, state));
  return out;
}

// Names that are all texts are those of an object, whatever made them need a tag; others are keys of a Map.
function mapOf(pairs, path, state) {
  const named = pairs.map(([key, value]) => [read(key, path, state), value]);
  const keys = named.map(([key]) => key);
  if (new Set(keys).size !== keys.length) absent("maps with the same key twice");
  if (!keys.every((key) => typeof key === "string")) return new Map(named.map(([key, value]) => [key, read(value, `${path}{*}`, state)]));
  const found = objectOf(named, path, state);
  if (isMoved(keys, found)) noteOrder(state.orders, path, keys, found);
  return found;
}

function nested(depth, value) {
  for (let n = 0; n < depth; n++) value = [value];
  return value;
}

function defined(node, path, state) {
  if (!Array.isArray(node.of)) return absent("such a shared value");
  const made = [];
  state.shared.set(node.$def, made);
  for (const one of node.of) made.push(read(one, `${path}[*]`, state));
  return made;
}

// --- writing --------------------------------------------------------------------------

export function hexOf(number) {
  const bits = Buffer.alloc(8);
  bits.writeDoubleBE(number);
  return bits.toString("hex");
}

// What a library has of its own for bytes and 64-bit integers, as what JavaScript has. Its name for them is the prototype's:
// a document may say it of itself.
export function own64(value) {
  if (value === null || typeof value !== "object" || Object.hasOwn(value, "_bsontype")) return value;
  if (value._bsontype === "Long") return value.toBigInt();
  if (value._bsontype === "Binary") return value.buffer.subarray(0, value.position);
  return value;
}

export function toTagged(value) {
  const times = new Map();
  count(value, times);
  return write(value, { times, numbers: new Map() });
}

const holds = (value) => value !== null && typeof value === "object" && !(value instanceof Date) && !ArrayBuffer.isView(value);

function count(value, times) {
  if (!holds(value)) return;
  const known = times.get(value) ?? 0;
  times.set(value, known + 1);
  if (known) return;
  if (value instanceof Map) for (const [key, one] of value) { count(key, times); count(one, times); }
  else if (value instanceof Set) for (const one of value) count(one, times);
  else for (const key of Object.keys(value)) count(value[key], times);
}

function write(given, state) {
  const value = own64(given);
  if (value === undefined) return { $missing: 1 };
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : { $f64: hexOf(value) };
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : { $int: String(value) };
  if (typeof value === "string") return SURROGATE.test(value) ? { $text16: Buffer.from(value, "utf16le").swap16().toString("hex") } : value;
  if (value instanceof Date) return { $ts: value.toISOString().replace("Z", "000+00:00"), unit: "us", tz: "+00:00" };
  if (value instanceof ArrayBuffer) return { $bytes: Buffer.from(value).toString("base64") };
  if (ArrayBuffer.isView(value)) {
    return value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString("base64") } : Array.from(value, (one) => write(one, state));
  }
  if (typeof value !== "object") return absent(`tag for a ${typeof value}`);
  if (state.times.get(value) > 1) {
    if (state.numbers.has(value)) return { $ref: state.numbers.get(value) };
    state.numbers.set(value, state.numbers.size + 1);
    return { $def: state.numbers.get(value), of: container(value, state) };
  }
  return container(value, state);
}

function container(value, state) {
  if (Array.isArray(value)) return Array.from(value, (one) => write(one, state));
  if (value instanceof Set) return { $set: Array.from(value, (one) => write(one, state)) };
  if (value instanceof Map) return { $map: Array.from(value, ([key, one]) => [write(key, state), write(one, state)]) };
  const keys = Object.keys(value);
  if (keys.some((key) => key.startsWith("$") || SURROGATE.test(key))) return { $map: keys.map((key) => [write(key, state), write(value[key], state)]) };
  const out = {};
  for (const key of keys) own(out, key, write(value[key], state));
  return out;
}
