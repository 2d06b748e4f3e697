// Probes: single values, each put through a codec; the parent judges what came back.

import fs from "node:fs";

import { fail, cut, inPhase } from "./failure.mjs";
import { NotHere, fromTagged, toTagged } from "./tagged.mjs";

const FILE = new URL("../probes-values-1.json", import.meta.url);

export async function probeCells(codec, calls, request) {
  const set = request.set ?? "values/1";
  if (set !== "values/1") fail("Unsupported", `this worker has the probes values/1, not ${String(set).slice(0, 40)}`, "load");
  if (!codec.kinds.includes("document")) fail("Unsupported", `${codec.id} holds tables, not documents`, "load");
  const all = inPhase("load", () => JSON.parse(fs.readFileSync(FILE, "utf8")));
  const wanted = request.only ? all.filter((one) => request.only.includes(one.probe)) : all;
  return wanted.map((one) => cell(one, calls));
}

const said = (error) => cut(`${error?.constructor?.name ?? "Error"}: ${error?.message ?? error}`);

function cell({ probe, tagged }, calls) {
  let value;
  try {
    value = fromTagged(tagged);
  } catch (error) {
    return { probe, status: error instanceof NotHere ? "n/a" : "error", error: error instanceof NotHere ? error.message : said(error) };
  }
  let bytes;
  try {
    bytes = calls.encode(value);
    if (!Buffer.isBuffer(bytes)) throw new TypeError("encoding gave no bytes");
  } catch (error) {
    return { probe, status: "refused", error: said(error) };
  }
  const bytes_hex = bytes.subarray(0, 256).toString("hex");
  try {
    return { probe, status: "decoded", bytes_hex, out: toTagged(calls.decode(bytes)) };
  } catch (error) {
    return { probe, status: "error", bytes_hex, error: said(error) };
  }
}

