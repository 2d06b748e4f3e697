// What a codec is, and those that hold documents. Encoded is always bytes: of text, its UTF-8.
//
//   setup(packages, options) -> {encode(value), decode(bytes), parts?}     what is called and timed
//   form      exact: integers beyond 2^53 as BigInt; plain: numbers only; arrow: its Table
//   parts     entries of a list one after another: {one(value) -> bytes, reader() -> {push(bytes), end()}}

import v8 from "node:v8";

import { avroCodec } from "./avro.mjs";
import { fail } from "./failure.mjs";
import { TABLES } from "./tables.mjs";

const BOTH = ["document", "table"];

const text = (write, read) => ({
  encode: (value) => {
    const made = write(value);
    if (typeof made !== "string") throw new TypeError("no text came of the value");
    return Buffer.from(made, "utf8");
  },
  decode: (bytes) => read(bytes.toString("utf8")),
});

// Lines of JSON as they arrive.
const jsonLines = {
  one: (value) => Buffer.from(`${JSON.stringify(value)}\n`),
  reader: () => {
    let rest = Buffer.alloc(0);
    return {
      push: (bytes) => {
        const data = rest.length ? Buffer.concat([rest, bytes]) : bytes;
        const end = data.lastIndexOf(0x0a) + 1;
        rest = Buffer.from(data.subarray(end));
        return end ? data.toString("utf8", 0, end - 1).split("\n").map((line) => JSON.parse(line)) : [];
      },
      end: () => {
        if (rest.length) throw new Error("the last line has no end");
      },
    };
  },
};

// Values one after another, by the library's own reader of several; one that is cut is told by `lastPosition`.
const valuesOf = (coder) => ({
  one: (value) => coder.encode(value),
  reader: () => {
    let rest = Buffer.alloc(0);
    return {
      push: (bytes) => {
        const data = rest.length ? Buffer.concat([rest, bytes]) : bytes;
        let values;
        let at = data.length;
        try {
          values = coder.decodeMultiple(data) ?? [];
        } catch (error) {
          if (!error.incomplete) throw error;
          values = error.values ?? [];
          at = error.lastPosition ?? 0;
        }
        rest = Buffer.from(data.subarray(at));
        return values;
      },
      end: () => {
        if (rest.length) throw new Error("the last value is cut");
      },
    };
  },
});

const ONE = Buffer.from([0]);

const DOCUMENTS = [
  { id: "json:node", kinds: BOTH, form: "plain", setup: () => ({ ...text(JSON.stringify, JSON.parse), parts: jsonLines }), parts: true },
  { id: "v8:node", kinds: BOTH, setup: () => ({ encode: (value) => v8.serialize(value), decode: (bytes) => v8.deserialize(bytes) }) },
  {
    id: "json:node-simdjson", packages: ["simdjson"], form: "plain", file: "build/Release/simdjson.node",
    setup: ([simdjson]) => text(JSON.stringify, simdjson.parse),
  },
  {
    id: "msgpack:node-msgpackr", packages: ["msgpackr"], kinds: BOTH, options: { records: ["no", "yes"] }, parts: true,
    setup: ([{ Packr }], { records }) => {
      const packr = new Packr({ useRecords: records === "yes" });
      const coder = { encode: (value) => packr.pack(value), decodeMultiple: (data) => packr.unpackMultiple(data) };
      return { encode: coder.encode, decode: (bytes) => packr.unpack(bytes), parts: valuesOf(coder) };
    },
  },
  {
    id: "msgpack:node-msgpack", packages: ["@msgpack/msgpack"], kinds: BOTH, form: "plain", options: { bigint: ["no", "yes"] },
    setup: ([{ Encoder, Decoder }], { bigint }) => {
      const useBigInt64 = bigint === "yes";
      const encoder = new Encoder({ useBigInt64 });
      const decoder = new Decoder({ useBigInt64 });
      return { encode: (value) => Buffer.from(encoder.encode(value)), decode: (bytes) => decoder.decode(bytes) };
    },
    formOf: ({ bigint }) => (bigint === "yes" ? "exact" : "plain"),
  },
  {
    id: "cbor:node-cborx", packages: ["cbor-x"], kinds: BOTH, options: { records: ["no", "yes"] }, parts: true,
    setup: ([{ Encoder }], { records }) => {
      const coder = new Encoder({ useRecords: records === "yes" });
      return { encode: (value) => coder.encode(value), decode: (bytes) => coder.decode(bytes), parts: valuesOf(coder) };
    },
  },
  {
    id: "bson:node-bson", packages: ["bson"],
    setup: ([bson]) => ({
      encode: (value) => {
        if (value === null || typeof value !== "object" || Array.isArray(value)) throw new TypeError("BSON holds an object at the top");
        return Buffer.from(bson.serialize(value, { ignoreUndefined: false }));
      },
      decode: (bytes) => bson.deserialize(bytes, { promoteBuffers: true }),
    }),
  },
  { id: "avro:node-avsc", packages: ["avsc"], form: "plain", kinds: BOTH, setup: ([avsc]) => avroCodec(avsc) },
  {
    id: "yaml:node-jsyaml", packages: ["js-yaml"], form: "plain",
    setup: ([yaml]) => text((value) => yaml.dump(value, { lineWidth: -1 }), (data) => yaml.load(data)),
  },
  // Does nothing: what its calls cost is what the worker adds to every other codec. Nothing comes back.
  { id: "none:node", kinds: BOTH, setup: () => ({ encode: () => ONE, decode: () => undefined }) },
];

export const CODECS = [...DOCUMENTS, ...TABLES].map((one) => ({
  packages: [], kinds: ["document"], form: "exact", options: {}, ...one,
}));

// The codec of an id with its options; those that are not given are the first of their choices.
export function parseCodec(id) {
  if (typeof id !== "string") fail("usage", "prepare needs 'codec', a text");
  const [name, ...given] = id.split(",");
  const one = CODECS.find((codec) => codec.id === name);
  if (!one) fail("usage", `no codec '${name.slice(0, 80)}' (there are ${CODECS.map((codec) => codec.id).join(", ")})`);
  const options = Object.fromEntries(Object.entries(one.options).map(([key, choices]) => [key, choices[0]]));
  for (const part of given) {
    const [key, value] = part.split("=");
    if (!one.options[key]?.includes(value)) fail("usage", `${name} has no option ${part.slice(0, 80)}`);
    options[key] = value;
  }
  return { ...one, given: options, form: one.formOf ? one.formOf(options) : one.form };
}
