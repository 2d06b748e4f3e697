// JSON as JavaScript cannot hold it: integers beyond 2^53 become BigInt, and objects whose keys JavaScript
// puts into another order are told. Documents without either are read by JSON.parse.

const SUSPECT = /\d{16}|"\d+"\s*:/;
const WHOLE_NAMES = /"\d+"\s*:/;
const BETWEEN = /[ \t\n\r,:]*/y;
const BARE = /[^ \t\n\r,:\]}]+/y; // numbers, true, false and null
const WORDS = new Map([["true", true], ["false", false], ["null", null]]);
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
  return suspect.test(text) ? walk(text, moved) : plain;
}

// The value of a text that JSON.parse has taken, so that nothing of it is proved again. Open lists and objects are a chain of
// our own: JavaScript's stack is full at some two thousand of them, where JSON.parse goes on.
function walk(text, moved) {
  let at = 0;
  let open = { path: null, found: [], keys: null, around: null };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)[0];
    at = pattern.lastIndex;
    return found;
  };
  const scalar = (first) => {
    if (first !== '"') return scalarOf(match(BARE));
    const from = at;
    at = endOfText(text, from);
    return JSON.parse(text.slice(from, at));
  };
  for (;;) {
    match(BETWEEN);
    if (at === text.length) return open.found[0];
    const first = text[at];
    if (first === "[" || first === "{") {
      open = { path: pathIn(open), found: first === "[" ? [] : {}, keys: first === "[" ? null : [], around: open };
      at += 1;
    } else if (first === "]" || first === "}") {
      put(open.around, closed(open, moved));
      open = open.around;
      at += 1;
    } else put(open, scalar(first));
  }
}

// Behind the next quote with an even number of backslashes before it. No pattern looks for it: one for texts keeps every
// place that it could go back to, and has no room for those of 8 MiB.
function endOfText(text, from) {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === "\\") first -= 1;
    if ((end - first) % 2 === 0) return end + 1;
  }
}

function scalarOf(word) {
  if (WORDS.has(word)) return WORDS.get(word);
  const value = Number(word);
  return /^-?\d+$/.test(word) && !Number.isSafeInteger(value) ? BigInt(word) : value;
}

// A value that is read, where it belongs. Of an object, the first text and every one after a value is a name.
function put(open, value) {
  if (open.keys === null) open.found.push(value);
  else if (open.key === undefined) open.key = value;
  else {
    if (!Object.hasOwn(open.found, open.key)) open.keys.push(open.key);
    Object.defineProperty(open.found, open.key, { value, writable: true, enumerable: true, configurable: true });
    open.key = undefined;
  }
}

function pathIn({ path, key, keys }) {
  if (keys === null) return path === null ? "" : `${path}[*]`;
  return path ? `${path}.${key}` : key;
}

function closed({ path, found, keys }, moved) {
  return keys?.some((key) => INDEX.test(key)) && isMoved(keys, found) ? moved(path, keys, found) : found;
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
