// A table of Arrow as its columns, and as the rows that JavaScript's libraries take.

import { fail } from "./failure.mjs";
import { levelsOf } from "./levels.mjs";

export const LIST = 12, STRUCT = 13, FIXED_LIST = 16, MAP = 17, LARGE_LIST = 21, DICTIONARY = -1;

export const isDate = (type) => type.typeId === 8;
export const isTimestamp = (type) => type.typeId === 10;
export const isDecimal = (type) => type.typeId === 7;
export const isList = (type) => [LIST, FIXED_LIST, LARGE_LIST].includes(type.typeId);

// The text of a decimal: Arrow hands out the words of its unscaled integer, the lowest first. Its own text of them
// leaves out the scale, and, of 256 bits, the digits that the lower half holds.
function decimalText(words, scale) {
  let bits = 0n;
  for (let n = words.length - 1; n >= 0; n--) bits = (bits << 32n) | BigInt(words[n]);
  const unscaled = BigInt.asIntN(32 * words.length, bits);
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

// A cell as JavaScript's own: moments of whole milliseconds become Date, decimals text, lists and structs plain. What
// becomes of a map is the caller's choice: only its pairs are all of it.
function cellOf(type, mapped) {
  if (isDate(type) || isTimestamp(type)) {
    return (cell) => (typeof cell === "number" && Number.isInteger(cell) ? new Date(cell) : cell);
  }
  if (isDecimal(type)) return (cell) => (cell === null ? null : decimalText(cell, type.scale));
  if (type.typeId === DICTIONARY) return cellOf(type.dictionary, mapped);
  if (isList(type)) {
    const own = cellOf(type.children[0].type, mapped);
    return (cell) => (cell === null ? null : Array.from(cell, own));
  }
  if (type.typeId === STRUCT) {
    const own = type.children.map((field) => cellOf(field.type, mapped));
    return (cell) => (cell === null ? null : Object.fromEntries(Array.from(cell, ([name, value], n) => [name, own[n](value)])));
  }
  if (type.typeId === MAP) {
    const [key, value] = type.children[0].type.children.map((field) => cellOf(field.type, mapped));
    return (cell) => (cell === null ? null : mapped(Array.from(cell, (pair) => [key(pair[0]), value(pair[1])])));
  }
  return (cell) => cell?.toJSON?.() ?? cell;
}

const pairs = (cell) => cell;

// The name that a key of a map has in an object: a moment's is the one that JSON gives it.
const nameOf = (key) => (key instanceof Date ? key.toISOString() : String(key));

// Keys as texts; where those are as many, none was lost.
function objectOf(name, mixed) {
  return (cell) => {
    const found = Object.fromEntries(cell.map(([key, value]) => [nameOf(key), value]));
    const keys = Object.keys(found);
    if (keys.length !== cell.length) fail("refused", `column ${JSON.stringify(name)} holds a map with one key twice, which no object holds`, "load");
    if (keys.some((key, n) => key !== nameOf(cell[n][0]))) mixed.add(name);
    return found;
  };
}

// A table as its columns. A class of its own: a document may have a name "columns" too, and is no table for that.
export class Columns {
  constructor(table) {
    this.columns = columnsOf(table);
    this.rows = table.numRows;
  }
}

// Every value of every column: what is decoded lazily is decoded here. Maps are lists of pairs. Levels are looked for when
// columns are compared, outside of every clock.
export function columnsOf(table, mapped = () => pairs) {
  return table.schema.fields.map((field, at) => {
    const own = cellOf(field.type, mapped(field.name));
    const cells = table.getChildAt(at);
    const column = { name: field.name, type: field.type, data: Array.from(cells, own) };
    return field.type.typeId === DICTIONARY ? { ...column, levels: () => levelsOf(cells) } : column;
  });
}

// The same with maps as objects; those whose keys JavaScript puts into another order are added to `mixed`.
export const plainColumns = (table, mixed) => columnsOf(table, (name) => objectOf(name, mixed));

// A column may be called "__proto__": setting that would name another prototype, and hold no cell.
function rowOf(columns, n) {
  const row = {};
  for (const { name, data } of columns) {
    if (name === "__proto__") Object.defineProperty(row, name, { value: data[n], writable: true, enumerable: true, configurable: true });
    else row[name] = data[n];
  }
  return row;
}

export function rowsOf(table, mixed) {
  const columns = plainColumns(table, mixed);
  return Array.from({ length: table.numRows }, (_, n) => rowOf(columns, n));
}
