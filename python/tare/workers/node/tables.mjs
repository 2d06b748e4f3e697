// Codecs of tables, and a table of Arrow as the rows that JavaScript's libraries take.

import { fail } from "./failure.mjs";

const LIST = 12, STRUCT = 13, FIXED_LIST = 16, DICTIONARY = -1;
const NANOSECOND = 3;

const isDate = (type) => type.typeId === 8;
const isTimestamp = (type) => type.typeId === 10;
const isDecimal = (type) => type.typeId === 7;

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

// A cell as JavaScript's own: moments of whole milliseconds become Date, decimals text, lists and structs plain.
function cellOf(type) {
  if (isDate(type) || isTimestamp(type)) {
    return (cell) => (typeof cell === "number" && Number.isInteger(cell) ? new Date(cell) : cell);
  }
  if (isDecimal(type)) return (cell) => (cell === null ? null : decimalText(cell, type.scale));
  if (type.typeId === DICTIONARY) return cellOf(type.dictionary);
  if (type.typeId === LIST || type.typeId === FIXED_LIST) {
    const own = cellOf(type.children[0].type);
    return (cell) => (cell === null ? null : Array.from(cell, own));
  }
  if (type.typeId === STRUCT) {
    const own = type.children.map((field) => cellOf(field.type));
    return (cell) => (cell === null ? null : Object.fromEntries(Array.from(cell, ([name, value], n) => [name, own[n](value)])));
  }
  return (cell) => cell?.toJSON?.() ?? cell;
}

// Whether a moment is one that a number of milliseconds cannot tell from its neighbours.
function holdsNanoseconds(data) {
  const { type, values } = data;
  if (isTimestamp(type) && type.unit === NANOSECOND) {
    for (let n = 0; n < data.length; n++) if (values[n] % 1000n !== 0n && data.getValid(n)) return true;
  }
  return data.children.some(holdsNanoseconds) || (data.dictionary?.data.some(holdsNanoseconds) ?? false);
}

// Arrow gives moments as numbers of milliseconds: what those cannot hold would be rounded before any codec sees it.
export function refuseRounded(table) {
  for (const [at, { name }] of table.schema.fields.entries()) {
    if (table.getChildAt(at).data.some(holdsNanoseconds)) {
      fail("refused", `column ${JSON.stringify(name)} holds nanoseconds, which a JavaScript number of milliseconds does not`, "load");
    }
  }
}

// Every value of every column: what is decoded lazily is decoded here.
export function columnsOf(table) {
  return table.schema.fields.map((field, at) => {
    const own = cellOf(field.type);
    return { name: field.name, type: field.type, data: Array.from(table.getChildAt(at), own) };
  });
}

export function rowsOf(table) {
  const columns = columnsOf(table);
  const rows = new Array(table.numRows);
  for (let n = 0; n < rows.length; n++) {
    const row = {};
    for (const { name, data } of columns) row[name] = data[n];
    rows[n] = row;
  }
  return rows;
}

// Rows of what a codec gave: a Table, columns, or rows.
export function asRows(found) {
  if (Array.isArray(found)) return found;
  if (found?.columns) {
    const { columns, rows } = found;
    return Array.from({ length: rows }, (_, n) => Object.fromEntries(columns.map(({ name, data }) => [name, data[n]])));
  }
  return typeof found?.getChildAt === "function" ? rowsOf(found) : found;
}

export const TABLES = [
  {
    id: "arrow:node-arrow", packages: ["apache-arrow"], kinds: ["table"], form: "arrow", options: { form: ["file", "stream"] },
    subset: true,
    setup: ([arrow], { form }) => ({
      encode: (table) => Buffer.from(arrow.tableToIPC(table, form)),
      decode: (bytes) => {
        const table = arrow.tableFromIPC(bytes);
        return { columns: columnsOf(table), rows: table.numRows };
      },
      open: (bytes) => arrow.tableFromIPC(bytes),
    }),
  },
  {
    id: "csv:node-papaparse", packages: ["papaparse"], kinds: ["table"], form: "plain", options: { types: ["guess", "text"] },
    setup: ([papa], { types }) => ({
      encode: (rows) => Buffer.from(papa.unparse(rows)),
      decode: (bytes) => {
        const found = papa.parse(bytes.toString("utf8"), { header: true, dynamicTyping: types === "guess", skipEmptyLines: true });
        // One column has no delimiter to be found: Papa Parse takes the comma, and lists that among its errors.
        const error = found.errors.find(({ code }) => code !== "UndetectableDelimiter");
        if (error) throw new Error(`row ${error.row}: ${error.message}`);
        return found.data;
      },
    }),
  },
  {
    id: "parquet:node-hyparquet", packages: ["hyparquet", "hyparquet-writer"], kinds: ["table"], form: "columns", waits: true,
    options: { compression: ["snappy", "uncompressed"] },
    setup: ([reader, writer], { compression }) => ({
      encode: (columns) => Buffer.from(writer.parquetWriteBuffer({ columnData: columns, codec: compression.toUpperCase() })),
      decode: (bytes) => reader.parquetReadObjects({
        file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
      }),
    }),
  },
];
