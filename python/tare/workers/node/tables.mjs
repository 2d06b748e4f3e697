// Codecs of tables.

import { Columns, DICTIONARY, MAP, STRUCT, isDate, isDecimal, isList, isTimestamp } from "./cells.mjs";

const INT = 2, FLOAT = 3, TEXT = 5, BOOL = 6, LARGE_TEXT = 20, DURATION = 18;
const BINARY = [4, 15, 19];
const TIME = 9;

// The type of a column of Parquet that holds its cells; nothing where only a guess is left. The writer's own guess looks at the
// first thousand values, takes doubles among whole numbers for whole, and -0 with them.
function parquetType(type) {
  if (type.typeId === DICTIONARY) return parquetType(type.dictionary);
  if (type.typeId === FLOAT) return type.precision === 2 ? "DOUBLE" : "FLOAT";
  if (type.typeId === INT) return type.bitWidth === 64 ? "INT64" : "INT32";
  if (type.typeId === TIME) return type.bitWidth === 64 ? "INT64" : "INT32";
  if (type.typeId === DURATION) return "INT64";
  if (type.typeId === BOOL) return "BOOLEAN";
  if ([TEXT, LARGE_TEXT].includes(type.typeId) || isDecimal(type)) return "STRING";
  if (BINARY.includes(type.typeId)) return "BYTE_ARRAY";
  if (isDate(type) || isTimestamp(type)) return "TIMESTAMP";
  return isList(type) || type.typeId === STRUCT || type.typeId === MAP ? "JSON" : undefined;
}

// The element of Parquet's schema for numbers without a sign, for which the writer's types have no name: as signed ones they
// would not fit. Of 8 and 16 bits they do.
function unsigned({ name, type, nullable }) {
  const { typeId, bitWidth, isSigned } = type.typeId === DICTIONARY ? type.dictionary : type;
  if (typeId !== INT || isSigned || bitWidth < 32) return undefined;
  return { name, type: `INT${bitWidth}`, converted_type: `UINT_${bitWidth}`, repetition_type: nullable ? "OPTIONAL" : "REQUIRED" };
}

// What the writer is given: the columns, and the schema that says their types.
function typed(columns, writer) {
  const schemaOverrides = Object.create(null); // names may be those of what every object has
  for (const column of columns) {
    const element = unsigned(column);
    if (element) schemaOverrides[column.name] = element;
  }
  const columnData = columns.map((column) => {
    const { name, data } = column;
    return name in schemaOverrides ? { name, data } : { name, data, type: parquetType(column.type), nullable: column.nullable };
  });
  return { columnData: columns.map(({ name, data }) => ({ name, data })), schema: writer.schemaFromColumnData({ columnData, schemaOverrides }) };
}

// Whether a header names one column: then a blank line is a row whose value is missing.
function hasOneColumn(text) {
  const [, header] = /^[\r\n]*((?:"[^"]*"|[^"\r\n])*)/.exec(text);
  return !/[,;|\t\x1e\x1f]/.test(header.replace(/"[^"]*"/g, ""));
}

export const TABLES = [
  {
    id: "arrow:node-arrow", packages: ["apache-arrow"], kinds: ["table"], form: "arrow", options: { form: ["file", "stream"] },
    subset: true,
    setup: ([arrow], { form }) => ({
      encode: (table) => Buffer.from(arrow.tableToIPC(table, form)),
      decode: (bytes) => new Columns(arrow.tableFromIPC(bytes)),
      open: (bytes) => arrow.tableFromIPC(bytes),
    }),
  },
  {
    id: "csv:node-papaparse", packages: ["papaparse"], kinds: ["table"], form: "plain", options: { types: ["guess", "text"] },
    setup: ([papa], { types }) => ({
      encode: (rows) => {
        const text = papa.unparse(rows);
        // The last line has no end: a missing value by itself would be no line.
        return Buffer.from(rows.length && Object.keys(rows[0]).length === 1 ? `${text}\r\n` : text);
      },
      decode: (bytes) => {
        const text = bytes.toString("utf8"), one = hasOneColumn(text);
        const lines = one ? text.replace(/^[\r\n]+/, "").replace(/(\r\n|\r|\n)$/, "") : text;
        const found = papa.parse(lines, { header: true, dynamicTyping: types === "guess", skipEmptyLines: !one });
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
      encode: (columns) => Buffer.from(writer.parquetWriteBuffer({ ...typed(columns, writer), codec: compression.toUpperCase() })),
      decode: (bytes) => reader.parquetReadObjects({
        file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
      }),
    }),
  },
];
