// What JavaScript holds of a table: what it does not is refused, what becomes another type is told.

import { DICTIONARY, MAP, STRUCT, isDate, isList, isTimestamp } from "./cells.mjs";
import { fail } from "./failure.mjs";
import { changedLevels, levelsOf } from "./levels.mjs";

const MILLISECOND = 1;
const NANOSECOND = 3;
const PER_SECOND = [1n, 1000n, 1000000n, 1000000000n];
const MOST_DAYS = 100000000; // what a Date reaches, before and after 1970
const MOST_SECONDS = 86400n * BigInt(MOST_DAYS);

// Whether any value that is not null is one of those asked for, also inside lists, structs and dictionaries.
function holds(data, asked) {
  const odd = asked(data.type);
  if (odd) for (let n = 0; n < data.length; n++) if (odd(data.values[n]) && data.getValid(n)) return true;
  return data.children.some((one) => holds(one, asked)) || (data.dictionary?.data.some((one) => holds(one, asked)) ?? false);
}

const nanoseconds = (type) => isTimestamp(type) && type.unit === NANOSECOND && ((value) => value % 1000n !== 0n);

// What a Date has no room for: parts of a millisecond, and moments that are too far away.
function noDate(type) {
  if (isDate(type)) return type.unit === 0 ? (days) => Math.abs(days) > MOST_DAYS : (ms) => beyond(ms, 1000n);
  if (!isTimestamp(type)) return null;
  const second = PER_SECOND[type.unit];
  const least = second / 1000n;
  return (value) => (least > 1n && value % least !== 0n) || beyond(value, second);
}

const beyond = (value, second) => value > MOST_SECONDS * second || value < -MOST_SECONDS * second;

const repeated = (names) => names.find((name, at) => names.indexOf(name) !== at);

const innerOf = (type) => (type.typeId === DICTIONARY ? [type.dictionary] : (type.children ?? []).map((field) => field.type));

function twiceWithin(type) {
  const own = type.typeId === STRUCT ? repeated(type.children.map(({ name }) => name)) : undefined;
  return own ?? innerOf(type).map(twiceWithin).find((name) => name !== undefined);
}

// What is lost with every codec, before it sees anything: Arrow gives moments as numbers of milliseconds here, and
// structs as objects.
export function refuseRounded(table) {
  for (const [at, { name, type }] of table.schema.fields.entries()) {
    if (table.getChildAt(at).data.some((data) => holds(data, nanoseconds))) {
      fail("refused", `column ${JSON.stringify(name)} holds nanoseconds, which a JavaScript number of milliseconds does not`, "load");
    }
    const twice = twiceWithin(type);
    if (twice !== undefined) {
      fail("refused", `column ${JSON.stringify(name)} holds two fields named ${JSON.stringify(twice)}, and an object holds one of them`, "load");
    }
  }
}

// What only Arrow's own table holds, and neither rows nor columns of JavaScript's values.
export function refuseUnheld(table) {
  const { fields } = table.schema;
  const twice = repeated(fields.map(({ name }) => name));
  if (twice !== undefined) fail("refused", `two columns are named ${JSON.stringify(twice)}, and a row holds one of them`, "load");
  for (const [at, { name }] of fields.entries()) {
    if (table.getChildAt(at).data.some((data) => holds(data, noDate))) {
      fail("refused", `column ${JSON.stringify(name)} holds moments that a Date does not: parts of a millisecond, or 100,000,000 days from 1970`, "load");
    }
  }
}

// --- what is told -----------------------------------------------------------------------

const NAMES = { 1: "null", 3: "number", 4: "Uint8Array", 5: "string", 6: "boolean", 7: "string", 8: "Date", 10: "Date", 15: "Uint8Array",
  18: "BigInt", 19: "Uint8Array", 20: "string", 23: "Uint8Array", 24: "string", [STRUCT]: "object", [MAP]: "object" };
const isWhole = (type) => type.typeId === 2 || type.typeId === 9;

function nameIn(type) {
  if (isWhole(type)) return type.bitWidth === 64 ? "BigInt" : "number";
  if (isList(type)) return `Array of ${nameIn(type.children[0].type)}`;
  return type.typeId === DICTIONARY ? nameIn(type.dictionary) : NAMES[type.typeId] ?? "a value of JavaScript's";
}

// The types that are JavaScript's own, so that a value of them is nothing else there.
const OWN = {
  1: () => true, 4: () => true, 5: () => true, 6: () => true,
  2: (type) => type.bitWidth === 64 && type.isSigned,
  3: (type) => type.precision === 2,
  10: (type) => type.unit === MILLISECOND && ["UTC", "Etc/UTC", "+00:00", "Z"].includes(type.timezone),
  12: (type) => isOwn(type.children[0].type),
  [STRUCT]: (type) => type.children.every((field) => isOwn(field.type)),
};
const isOwn = (type) => OWN[type.typeId]?.(type) ?? false;

const ordered = (names) => Object.keys(Object.fromEntries(names.map((name) => [name, 0])));
const otherOrder = (names) => ordered(names).some((name, n) => name !== names[n]);

function fieldsMoved(type) {
  return (type.typeId === STRUCT && otherOrder(type.children.map(({ name }) => name))) || innerOf(type).some(fieldsMoved);
}

const change = (path, verdict, before, after) => ({ path, verdict, count: 1, in: before.slice(0, 120), out: after.slice(0, 120) });

// What rows are not told by comparing them with rows: types of columns, their order, and all of them if there is no row.
export function changedByRows(table, mixed) {
  const { fields } = table.schema;
  const names = fields.map(({ name }) => name);
  if (table.numRows === 0) return fields.length ? [change("(columns)", "lossy", names.join(", "), "(none): there is no row to name them")] : [];
  const found = fields.filter(({ type }) => !isOwn(type)).map(({ name, type }) => change(`${name} (type)`, "type", String(type), nameIn(type)));
  for (const [at, { name, type }] of fields.entries()) {
    if (type.typeId === DICTIONARY) found.push(...changedLevels(name, levelsOf(table.getChildAt(at)), null));
    if (mixed.has(name)) found.push(change(`${name} (key order)`, "lossy", "the map's", "whole numbers first"));
    if (fieldsMoved(type)) found.push(change(`${name} (field order)`, "type", "the struct's", "whole numbers first"));
  }
  if (otherOrder(names)) found.push(change("(column order)", "type", names.join(", "), ordered(names).join(", ")));
  return found;
}
