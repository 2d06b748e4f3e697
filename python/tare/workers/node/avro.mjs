// Avro object container files, one block, uncompressed, with the schema that avsc infers from the value. The
// entries of a list are the items of the file; anything else is its one item, which the metadata say.

import { inflateRawSync } from "node:zlib";

const MAGIC = Buffer.from("Obj\x01", "latin1");
const WHOLE = "tare.whole";
const UNPACKED = { null: (block) => block, deflate: inflateRawSync };

// The inferred schema as other libraries can read it. avsc infers single precision for every number that is not whole,
// and JavaScript's are double; and it leaves its records without the names that the specification asks for.
function complete(schema, made = { records: 0 }) {
  if (schema === "float") return "double";
  if (Array.isArray(schema)) return schema.map((one) => complete(one, made));
  if (schema === null || typeof schema !== "object") return schema;
  const named = schema.type === "record" ? { name: `Record${++made.records}` } : {};
  const inner = ["type", "items", "values"].filter((key) => schema[key] !== undefined).map((key) => [key, complete(schema[key], made)]);
  const fields = schema.fields && { fields: schema.fields.map((field) => ({ ...field, type: complete(field.type, made) })) };
  return { ...named, ...schema, ...Object.fromEntries(inner), ...fields };
}

// Whether values of the type have branches: unions that avsc cannot tell apart by the value, such as of long and double.
function branches(type, seen = new Set()) {
  if (!type || seen.has(type)) return false;
  seen.add(type);
  if (type.typeName === "union:wrapped") return true;
  const inner = type.types ?? type.fields?.map((field) => field.type) ?? [type.itemsType ?? type.valuesType];
  return inner.some((one) => branches(one, seen));
}

// The value with what its branches hold, changed in place: decoding made it.
function bare(value) {
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (typeof Object.getPrototypeOf(value)?.unwrap === "function") return bare(value.unwrap());
  for (const key of Object.keys(value)) value[key] = bare(value[key]);
  return value;
}

export function avroCodec(avsc) {
  const header = avsc.Type.forSchema({ type: "map", values: "bytes" });
  const long = avsc.Type.forSchema("long");
  const marker = Buffer.alloc(16, 0x74);
  let last; // the value whose schema is known: inferring is no part of later calls
  let schema;
  let item;

  const inferred = (value) => {
    if (!Array.isArray(value)) return avsc.Type.forValue(value);
    return value.length ? avsc.Type.forTypes(value.map((one) => avsc.Type.forValue(one))) : avsc.Type.forSchema("null");
  };
  const typeOf = (value) => {
    if (item && value === last) return item;
    item = avsc.Type.forSchema(complete(inferred(value).schema({ exportAttrs: true })));
    schema = Buffer.from(JSON.stringify(item.schema()));
    last = value;
    return item;
  };
  const length = (bytes, at) => {
    const found = long.decode(bytes, at);
    if (found.offset < 0 || found.value < 0) throw new Error("the file is cut");
    return found;
  };

  return {
    encode(value) {
      const type = typeOf(value);
      const several = Array.isArray(value);
      const items = several ? value : [value];
      const about = { "avro.schema": schema, "avro.codec": Buffer.from("null") };
      if (!several) about[WHOLE] = Buffer.from("1");
      const body = items.map((one) => type.toBuffer(one));
      const size = body.reduce((sum, one) => sum + one.length, 0);
      return Buffer.concat([MAGIC, header.toBuffer(about), marker, long.toBuffer(items.length), long.toBuffer(size), ...body, marker]);
    },
    decode(bytes) {
      if (bytes.compare(MAGIC, 0, 4, 0, 4) !== 0) throw new Error("no Avro object container file");
      const { value: about, offset } = header.decode(bytes, 4);
      const type = avsc.Type.forSchema(JSON.parse(about["avro.schema"].toString()));
      const codec = String(about["avro.codec"] ?? "null");
      if (!Object.hasOwn(UNPACKED, codec)) throw new Error(`this worker cannot unpack blocks of ${codec.slice(0, 40)}`);
      const unpacked = UNPACKED[codec];
      const plain = branches(type) ? bare : (value) => value;
      const found = [];
      for (let at = offset + 16; at < bytes.length;) {
        const count = length(bytes, at);
        const size = length(bytes, count.offset);
        const block = unpacked(bytes.subarray(size.offset, size.offset + size.value));
        for (let n = 0, next = 0; n < count.value; n++) {
          const one = type.decode(block, next);
          if (one.offset < 0) throw new Error("the file is cut");
          found.push(plain(one.value));
          next = one.offset;
        }
        at = size.offset + size.value + 16;
      }
      return about[WHOLE] ? found[0] : found;
    },
  };
}
