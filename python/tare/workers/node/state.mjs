// What is loaded and prepared, and the forms of it that codecs take.

import crypto from "node:crypto";

import { Columns, plainColumns, rowsOf } from "./cells.mjs";
import { plain } from "./exact.mjs";
import { fail, inPhase } from "./failure.mjs";
import { refuseUnheld } from "./held.mjs";

const empty = () => ({
  loaded: false, kind: "", value: null, table: null, items: 0, resident: 0, orders: [], mixed: new Set(), forms: new Map(), prepared: new Map(), current: "",
});

export const STATE = empty();

export function forget() {
  Object.assign(STATE, empty());
}

// The whole value: of a table, its rows.
export function whole() {
  if (STATE.table && STATE.value === null) {
    refuseUnheld(STATE.table);
    STATE.value = rowsOf(STATE.table, STATE.mixed);
  }
  return STATE.value;
}

function namedColumns() {
  refuseUnheld(STATE.table);
  return plainColumns(STATE.table, STATE.mixed).map((one) => ({ ...one, nullable: one.data.includes(null) }));
}

// The loaded value in the form that a codec takes; made once, outside every clock.
export function input(codec) {
  if (!STATE.loaded) fail("usage", "nothing to encode: load first, or give 'encoded'", "load");
  if (!STATE.forms.has(codec.form)) {
    const made = codec.form === "arrow" ? STATE.table
      : codec.form === "columns" ? namedColumns()
        : codec.form === "plain" ? plain(whole()) : whole();
    STATE.forms.set(codec.form, made);
  }
  return STATE.forms.get(codec.form);
}

export function countItems(found) {
  if (found === undefined) return 0;
  if (found === null) return STATE.loaded && STATE.value === null && !STATE.table ? 1 : 0;
  if (Array.isArray(found)) return found.length;
  if (found instanceof Columns) return found.rows;
  return STATE.table ? found.numRows ?? 1 : 1;
}

export function preparedOf(request) {
  const name = request.codec ?? STATE.current;
  const ready = STATE.prepared.get(name);
  if (!ready) fail("usage", `${name || "no codec"} is not prepared`);
  return ready;
}

export function asBytes(made) {
  if (!Buffer.isBuffer(made)) fail("refused", "encoding gave no bytes", "encode");
  return made;
}

// The encoded bytes; made now, outside every clock, if nobody has made them.
export function encodedOf(ready) {
  ready.bytes ??= asBytes(inPhase("encode", () => ready.calls.encode(input(ready.codec))));
  return ready.bytes;
}

export const sha256 = (bytes) => crypto.createHash("sha256").update(bytes).digest("hex");
