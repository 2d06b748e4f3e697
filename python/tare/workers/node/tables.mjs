// Codecs of tables, and a table of Arrow as the rows that JavaScript's libraries take.

const isDate = (type) => type.typeId === 8;
const isTimestamp = (type) => type.typeId === 10;

// A cell as JavaScript's own: moments of whole milliseconds become Date, lists and structs plain.
function cellOf(type) {
  if (isDate(type) || isTimestamp(type)) {
    return (cell) => (typeof cell === "number" && Number.isInteger(cell) ? new Date(cell) : cell);
  }
  if (type.typeId === 7) return (cell) => (cell === null ? null : String(cell)); // decimal
  return (cell) => cell?.toJSON?.() ?? cell;
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
