// Codecs of tables.

import { columnsOf } from "./cells.mjs";

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
