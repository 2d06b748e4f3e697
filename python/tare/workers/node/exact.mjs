// JSON as JavaScript cannot hold it: integers beyond 2^53 become BigInt, and objects whose keys JavaScript
// puts into another order are told. Documents without either are read by JSON.parse.

const SUSPECT = /\d{16}|"\d+"\s*:/;
const WHOLE_NAMES = /"\d+"\s*:/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
const SPACE = /[ \t\n\r]*/y;
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

// The value, and the paths at which the order of keys is not that of the text.
export function exactJson(text) {
  const orders = new Map();
  const noted = (path, keys, found) => {
    noteOrder(orders, path, keys, found);
    return found;
  };
  return { value: readJson(text, SUSPECT, noted), orders: [...orders.values()] };
}

// Tagged values as JSON: an object whose order JavaScript does not keep becomes its pairs.
export function taggedJson(text) {
  return readJson(text, WHOLE_NAMES, (_, keys, found) => ({ $map: keys.map((key) => [key, found[key]]) }));
}

function readJson(text, suspect, moved) {
  const plain = JSON.parse(text);
  if (!suspect.test(text)) return plain;
  let at = 0;
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)[0];
    at = pattern.lastIndex;
    return found;
  };
  const read = (path) => {
    match(SPACE);
    const first = text[at];
    if (first === '"') return JSON.parse(match(STRING));
    if (first === "[") return list(path);
    if (first === "{") return map(path);
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return value;
      }
    }
    const number = match(NUMBER);
    const value = Number(number);
    return /^-?\d+$/.test(number) && !Number.isSafeInteger(value) ? BigInt(number) : value;
  };
  const ended = (close) => {
    match(SPACE);
    const done = text[at] === close;
    if (done || text[at] === ",") at += 1;
    return done;
  };
  const list = (path) => {
    const found = [];
    at += 1;
    if (ended("]")) return found;
    do found.push(read(`${path}[*]`)); while (!ended("]"));
    return found;
  };
  const map = (path) => {
    const found = {};
    const keys = [];
    at += 1;
    if (ended("}")) return found;
    do {
      match(SPACE);
      const key = JSON.parse(match(STRING));
      match(SPACE);
      at += 1; // the colon
      const value = read(path ? `${path}.${key}` : key);
      if (!Object.hasOwn(found, key)) keys.push(key);
      Object.defineProperty(found, key, { value, writable: true, enumerable: true, configurable: true });
    } while (!ended("}"));
    return keys.some((key) => INDEX.test(key)) && isMoved(keys, found) ? moved(path, keys, found) : found;
  };
  return read("");
}

export const isMoved = (keys, found) => Object.keys(found).some((key, n) => key !== keys[n]);

export function noteOrder(orders, path, keys, found) {
  const where = path || "(whole)";
  const known = orders.get(where);
  if (known) known.count += 1;
  else orders.set(where, { path: `${where} (key order)`, verdict: "lossy", count: 1, in: keys.join(", ").slice(0, 120), out: Object.keys(found).join(", ").slice(0, 120) });
}

// The same with the nearest number for each BigInt, as a program that calls JSON.parse has it.
export function plain(value) {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object" || ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value;
  const out = {};
  for (const key of Object.keys(value)) {
    Object.defineProperty(out, key, { value: plain(value[key]), writable: true, enumerable: true, configurable: true });
  }
  return out;
}
