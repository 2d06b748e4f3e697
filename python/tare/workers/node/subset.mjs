// Parts of the data: a column or some rows of a lazy table, or what is picked after decoding the whole.

import { Columns } from "./cells.mjs";
import { fail } from "./failure.mjs";

export function subsetOf(ready, text) {
  const { calls, codec } = ready;
  const at = text.indexOf(":");
  const [kind, rest] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  if (codec.subset && kind === "column") {
    return (bytes) => new Columns(calls.open(bytes).select([rest]));
  }
  if (codec.subset && kind === "rows" && /^\d+(\.\d+)?%$/.test(rest)) {
    return (bytes) => {
      const table = calls.open(bytes);
      const count = Math.max(1, Math.round((table.numRows * parseFloat(rest)) / 100));
      const from = Math.floor((table.numRows - count) / 2);
      return new Columns(table.slice(from, from + count));
    };
  }
  if (codec.kinds.includes("document") && !codec.waits && kind === "path") {
    const keys = rest.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    return (bytes) => keys.reduce((value, key) => {
      if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) fail("usage", `there is nothing at ${rest}`, "decode");
      return value[key];
    }, calls.decode(bytes));
  }
  return fail("Unsupported", `${codec.id} reads no subset ${text.slice(0, 60)}`, "decode");
}

// Every value of a lazy table, read once.
export function touch(table) {
  for (let n = 0; n < table.numCols; n++) for (const cell of table.getChildAt(n)) touched = cell;
  return table;
}

export let touched; // so that no compiler takes the reading away
