// Whether what came back is what was loaded. Verdicts: same; type, when the value can be rebuilt knowing only
// its type; lossy. Every value is looked at; what differs alike in every entry of a list is told once.

import { changedLevels } from "./levels.mjs";
import { own64 } from "./tagged.mjs";

const RANK = { lossy: 0, type: 1 };

const cut = (text) => text.slice(0, 120);

function shown(value) {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "string") return cut(JSON.stringify(value));
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? "-0" : String(value);
  if (value instanceof Date) return `Date ${Number.isNaN(value.getTime()) ? "invalid" : value.toISOString()}`;
  // Of the prototype, and the rest by its kind: a document has names of its own, `constructor`, `length` and `size` too.
  const name = Object.getPrototypeOf(value)?.constructor?.name ?? "object";
  return `${name} of ${sizeOf(value)}`;
}

function sizeOf(value) {
  const kind = kindOf(value);
  if (kind === "list" || kind === "bytes") return value.length;
  return kind === "map" || kind === "set" ? value.size : Object.keys(value).length;
}

export function compare(a, b, { limit = 20, more = [] } = {}) {
  return told((note) => walk(a, b, "", note), limit, more);
}

// Columns of one table with those of another, by place: names may be there twice.
export function compareColumns(a, b, { limit = 20 } = {}) {
  const levels = a.flatMap(({ name, levels }, n) => (levels && b[n] ? changedLevels(name, levels(), b[n].levels?.() ?? null) : []));
  return told((note) => {
    const names = (columns) => JSON.stringify(columns.map(({ name }) => name));
    if (names(a) !== names(b)) note("(column names)", "lossy", names(a), names(b), cut);
    for (let n = 0; n < Math.min(a.length, b.length); n++) {
      const [one, other] = [a[n], b[n]];
      if (String(one.type) !== String(other.type)) note(`${one.name} (type)`, "type", String(one.type), String(other.type), cut);
      if (one.data.length !== other.data.length) note("(rows)", "lossy", one.data, other.data);
      for (let at = 0; at < Math.min(one.data.length, other.data.length); at++) walk(one.data[at], other.data[at], `[*].${one.name}`, note);
    }
  }, limit, levels);
}

function told(look, limit, more = []) {
  const found = new Map();
  const note = (path, verdict, one, other, said = shown) => {
    const key = `${path || "(whole)"}|${verdict}`;
    const known = found.get(key);
    if (known) known.count += 1;
    else found.set(key, { path: path || "(whole)", verdict, count: 1, in: said(one), out: said(other) });
  };
  look(note);
  const changes = [...found.values(), ...more].sort((one, other) => RANK[one.verdict] - RANK[other.verdict]);
  return { verdict: changes.length ? changes[0].verdict : "same", changes: changes.slice(0, Math.max(1, limit)) };
}

function kindOf(value) {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  if (Array.isArray(value)) return "list";
  if (value instanceof Date) return "date";
  if (value instanceof Map) return "map";
  if (value instanceof Set) return "set";
  if (ArrayBuffer.isView(value)) return value instanceof Uint8Array ? "bytes" : "list";
  return "object";
}

function walk(a, given, path, note) {
  const b = own64(given);
  if (Object.is(a, b)) {
    if (!Object.is(b, given)) note(path, "type", a, given);
    return;
  }
  const kind = kindOf(a);
  const other = kindOf(b);
  if (kind === "list" && other === "list") return lists(a, b, path, note);
  if (kind === "object" && other === "object") return objects(a, b, path, note);
  if (kind === "object" && other === "map" && named(b)) {
    note(path, "type", a, b);
    return objects(a, Object.fromEntries(b), path, note);
  }
  if (kind === "map" && other === "object" && named(a)) {
    note(path, "type", a, b);
    return objects(Object.fromEntries(a), b, path, note);
  }
  if (kind === "map" && other === "map") return lists([...a], [...b], path, note);
  if (kind === "set" && other === "set") return lists([...a], [...b], path, note);
  if (kind === "set" && other === "list") {
    note(path, "type", a, b);
    return lists([...a], b, path, note);
  }
  if (kind === "bytes" && other === "bytes") {
    if (Buffer.compare(Buffer.from(a), Buffer.from(b))) note(path, "lossy", a, b);
    return;
  }
  if (kind === "date" && other === "date") {
    if (!Object.is(a.getTime(), b.getTime())) note(path, "lossy", a, b);
    return;
  }
  note(path, rebuilt(a, kind, b, other) ? "type" : "lossy", a, given);
}

// Whether a Map holds what an object can: texts as keys, in an order that objects keep.
function named(map) {
  const keys = [...map.keys()];
  return keys.every((key) => typeof key === "string") && Object.keys(Object.fromEntries(map)).every((key, n) => key === keys[n]);
}

// How a number is written in base ten; Number() takes spaces and other bases too.
const DECIMAL = /^(?:-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-?Infinity|NaN)$/;

// The milliseconds of a moment that became a number or its text.
function millisOf(b) {
  if (typeof b === "string") return /^[+-]?\d{4,6}-\d\d-\d\d/.test(b) ? Date.parse(b) : NaN;
  return typeof b === "number" || typeof b === "bigint" ? Number(b) : NaN;
}

function rebuilt(a, kind, b, other) {
  if (kind === "number" && other === "bigint") return Object.is(Number(b), a);
  // Above 2^53 a number stands for many whole ones.
  if (kind === "bigint" && other === "number") return Number.isInteger(b) && Math.abs(b) <= 2 ** 53 && a === BigInt(b);
  if (kind === "date") return a.getTime() === millisOf(b);
  if (kind === "undefined") return other === "null";
  if (other === "string") {
    if (kind === "number") return DECIMAL.test(b) && Object.is(Number(b), a);
    if (kind === "bigint" || kind === "boolean") return String(a) === b;
  }
  return false;
}

function lists(a, b, path, note) {
  if (a.length !== b.length) note(`${path}[*] (length)`, "lossy", a, b);
  for (let n = 0; n < Math.min(a.length, b.length); n++) walk(a[n], b[n], `${path}[*]`, note);
}

function objects(a, b, path, note) {
  const keys = Object.keys(a);
  const others = Object.keys(b);
  const inner = (key) => (path ? `${path}.${key}` : key);
  if (keys.length !== others.length || keys.some((key, n) => key !== others[n])) {
    for (const key of others) if (!Object.hasOwn(a, key)) note(inner(key), "lossy", undefined, b[key]);
    if (keys.every((key) => Object.hasOwn(b, key)) && keys.length === others.length) note(`${path || "(whole)"} (key order)`, "lossy", keys.join(), others.join());
  }
  for (const key of keys) {
    if (Object.hasOwn(b, key)) walk(a[key], b[key], inner(key), note);
    else note(inner(key), a[key] === undefined ? "type" : "lossy", a[key], undefined);
  }
}
