// What a reader is asked to hand back, as tagged values. Of a table of Arrow that is its columns, by their types: these
// say what a number or a Date stands for, and neither rows nor objects keep the order of names that are whole numbers.

import { Columns, DICTIONARY, MAP, STRUCT, isDate, isDecimal, isList, isTimestamp } from "./cells.mjs";
import { fail } from "./failure.mjs";
import { hexOf, toTagged } from "./tagged.mjs";

const FLOAT = 3, TIME = 9, DURATION = 18;
const NANOSECOND = 3;
const NANOSECONDS = [1000000000n, 1000000n, 1000n, 1n]; // of a second, a millisecond, ...

export function handedBack(found) {
  if (!(found instanceof Columns)) return toTagged(found);
  const names = found.columns.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) fail("Unsupported", `two columns are named ${JSON.stringify(twice)}: a map holds one of them`, "decode");
  return { $map: found.columns.map(({ name, type, data }) => [toTagged(name), data.map(cellOf(type, keysOf(type).every(isText)))]) };
}

const TEXTS = new Set([5, 20, 24]); // Utf8, LargeUtf8, Utf8View
const isText = (type) => TEXTS.has(type.typeId);
const keysOf = (type) => [
  ...(type.typeId === MAP ? [type.children[0].type.children[0].type] : []),
  ...(type.children ?? []).flatMap((field) => keysOf(field.type)),
];

const given = (tag) => (cell) => (cell === null || cell === undefined ? null : tag(cell));

// How a cell of a column is written; cells are those that cells.mjs makes. Maps are objects where the keys of all maps of
// the column are texts, as Python has them, else lists of pairs.
function cellOf(type, asObjects) {
  if (type.typeId === FLOAT) return given((cell) => ({ $f64: hexOf(cell) }));
  if (isDate(type)) return given(dateOf);
  if (isTimestamp(type)) return given((cell) => momentOf(cell, type));
  if (type.typeId === TIME) return given((cell) => timeOf(cell, type));
  if (type.typeId === DURATION) return given((cell) => durationOf(cell, type));
  if (isDecimal(type)) return given((cell) => decimalOf(cell, type.scale));
  if (type.typeId === DICTIONARY) return cellOf(type.dictionary, asObjects);
  if (isList(type)) {
    const one = cellOf(type.children[0].type, asObjects);
    return given((cell) => cell.map(one));
  }
  if (type.typeId === STRUCT) {
    const fields = type.children.map((field) => [field.name, cellOf(field.type, asObjects)]);
    return given((cell) => ({ $map: fields.map(([name, one]) => [toTagged(name), one(cell[name])]) }));
  }
  if (type.typeId === MAP) {
    const [key, value] = type.children[0].type.children.map((field) => cellOf(field.type, asObjects));
    if (asObjects) return given((cell) => ({ $map: cell.map((pair) => [key(pair[0]), value(pair[1])]) }));
    return given((cell) => cell.map((pair) => ({ $tuple: [key(pair[0]), value(pair[1])] })));
  }
  return toTagged;
}

function dateOf(cell) {
  const text = new Date(Number(cell)).toISOString();
  return text.endsWith("T00:00:00.000Z") ? { $date: text.slice(0, -14) } : toTagged(cell);
}

// Arrow gives a moment as milliseconds, with its microseconds as their fraction.
function momentOf(cell, type) {
  const digits = type.unit === NANOSECOND ? 6 : 3;
  const part = 10 ** digits;
  let whole = Math.floor(Number(cell));
  let rest = Math.round((Number(cell) - whole) * part);
  if (rest === part) [whole, rest] = [whole + 1, 0];
  const zone = type.timezone ? "+00:00" : "";
  const text = new Date(whole).toISOString().replace("Z", String(rest).padStart(digits, "0") + zone);
  return { $ts: text, unit: digits === 6 ? "ns" : "us", tz: zone || null };
}

function timeOf(cell, type) {
  const nanoseconds = BigInt(cell) * NANOSECONDS[type.unit];
  if (nanoseconds % 1000n) return toTagged(cell);
  const micros = Number(nanoseconds / 1000n);
  return { $time: new Date(Math.floor(micros / 1000)).toISOString().slice(11, -1) + String(micros % 1000).padStart(3, "0") };
}

function durationOf(cell, type) {
  if (type.unit === NANOSECOND) return { $dur: toTagged(BigInt(cell)), unit: "ns" };
  return { $dur: toTagged((BigInt(cell) * NANOSECONDS[type.unit]) / 1000n), unit: "us" };
}

// The text of a decimal as Python writes it, which has an exponent where more than five zeros would follow the point, and
// for every negative scale: the zeros that the cell has for it are no digits of its own.
function decimalOf(text, scale) {
  const all = text.replace(/[-.]/g, "").replace(/^0+(?=\d)/, "");
  const digits = scale < 0 ? all.slice(0, scale) || "0" : all;
  const exponent = digits.length - 1 - scale;
  if (scale >= 0 && exponent >= -6) return { $dec: text };
  const unsigned = `${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ""}E${exponent < 0 ? "" : "+"}${exponent}`;
  return { $dec: text.startsWith("-") ? `-${unsigned}` : unsigned };
}
