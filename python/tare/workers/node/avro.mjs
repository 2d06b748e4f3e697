// Avro object container files, one block, uncompressed, with the schema that avsc infers from the value. The
// entries of a list are the items of the file; anything else is its one item, which the metadata say.

const MAGIC = Buffer.from("Obj\x01", "latin1");
const WHOLE = "tare.whole";

// avsc infers single precision for every number that is not whole; JavaScript's are double.
function widened(schema) {
  if (schema === "float") return "double";
  if (Array.isArray(schema)) return schema.map(widened);
  if (schema === null || typeof schema !== "object") return schema;
  const inner = ["type", "items", "values"].filter((key) => schema[key] !== undefined).map((key) => [key, widened(schema[key])]);
  const fields = schema.fields && { fields: schema.fields.map((field) => ({ ...field, type: widened(field.type) })) };
  return { ...schema, ...Object.fromEntries(inner), ...fields };
}

export function avroCodec(avsc) {
  const header = avsc.Type.forSchema({ type: "map", values: "bytes" });
  const long = avsc.Type.forSchema("long");
  const marker = Buffer.alloc(16, 0x74);
  let last; // the value whose schema is known: inferring is no part of later calls
  let schema;
  let item;

  const typeOf = (value) => {
    if (value === last) return item;
    const several = Array.isArray(value) && value.length > 0;
    const inferred = several ? avsc.Type.forTypes(value.map((one) => avsc.Type.forValue(one))) : avsc.Type.forValue(value);
    item = avsc.Type.forSchema(widened(inferred.schema({ exportAttrs: true })));
    schema = Buffer.from(JSON.stringify(item.schema()));
    last = value;
    return item;
  };

  return {
    encode(value) {
      const type = typeOf(value);
      const several = Array.isArray(value) && value.length > 0;
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
      const found = [];
      for (let at = offset + 16; at < bytes.length;) {
        const count = long.decode(bytes, at);
        const size = long.decode(bytes, count.offset);
        at = size.offset;
        for (let n = 0; n < count.value; n++) {
          const one = type.decode(bytes, at);
          if (one.offset < 0) throw new Error("the file is cut");
          found.push(one.value);
          at = one.offset;
        }
        at += 16;
      }
      return about[WHOLE] ? found[0] : found;
    },
  };
}
