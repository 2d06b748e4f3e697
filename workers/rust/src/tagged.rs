//! Tagged values, dialect `values/1`: what of it a document here can hold.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::doc::Doc;

const PLAIN: i64 = 1 << 53;
const NEST: usize = 50;

/// The document of a tagged value, or why there is none.
pub fn from_tagged(value: &Value) -> Result<Doc, String> {
    match value {
        Value::Null => Ok(Doc::Null),
        Value::Bool(one) => Ok(Doc::Bool(*one)),
        Value::Number(one) => one
            .as_i64()
            .map(Doc::Int)
            .or_else(|| one.as_u64().map(Doc::UInt))
            .or_else(|| one.as_f64().map(Doc::Float))
            .ok_or_else(|| format!("no number of Rust: {one}")),
        Value::String(one) => Ok(Doc::Text(one.clone())),
        Value::Array(items) => items.iter().map(from_tagged).collect::<Result<_, _>>().map(Doc::List),
        Value::Object(map) => {
            if let Some(tag) = map.keys().find(|key| key.starts_with('$')) {
                return of_tag(tag, map);
            }
            let entry = |(key, value): (&String, &Value)| Ok((Doc::Text(key.clone()), from_tagged(value)?));
            map.iter().map(entry).collect::<Result<_, String>>().map(Doc::Map)
        }
    }
}

fn of_tag(tag: &str, map: &Map<String, Value>) -> Result<Doc, String> {
    let text = map.get(tag).and_then(Value::as_str);
    let held = match (tag, text) {
        ("$int", Some(one)) => one.parse().map(Doc::Int).or_else(|_| one.parse().map(Doc::UInt)).ok(),
        ("$f64", Some(one)) => u64::from_str_radix(one, 16).map(|bits| Doc::Float(f64::from_bits(bits))).ok(),
        ("$f32", Some(one)) => u32::from_str_radix(one, 16).map(|bits| Doc::Single(f32::from_bits(bits))).ok(),
        ("$bytes", Some(one)) => STANDARD.decode(one).map(Doc::Bytes).ok(),
        ("$map", None) => return entries(map.get(tag)),
        ("$nest", None) => {
            let depth = map.get(tag).and_then(Value::as_u64).filter(|n| *n < 100_000);
            let mut value = from_tagged(map.get("of").unwrap_or(&Value::Null))?;
            for _ in 0..depth.ok_or("$nest is no depth")? {
                value = Doc::List(vec![value]);
            }
            Some(value)
        }
        _ => None,
    };
    held.ok_or_else(|| format!("the document of this worker has no such value: {tag}"))
}

fn entries(value: Option<&Value>) -> Result<Doc, String> {
    let pairs = value.and_then(Value::as_array).ok_or("$map is a list of pairs")?;
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([key, value]) => Ok((from_tagged(key)?, from_tagged(value)?)),
        _ => Err("$map is a list of pairs".to_owned()),
    };
    pairs.iter().map(pair).collect::<Result<_, _>>().map(Doc::Map)
}

/// The tagged value of a document.
pub fn to_tagged(doc: &Doc) -> Value {
    match doc {
        Doc::Null => Value::Null,
        Doc::Bool(one) => json!(one),
        Doc::Int(one) if (-PLAIN..=PLAIN).contains(one) => json!(one),
        Doc::Int(one) => json!({"$int": one.to_string()}),
        Doc::UInt(one) => i64::try_from(*one).map_or_else(|_| json!({"$int": one.to_string()}), |one| to_tagged(&Doc::Int(one))),
        Doc::Float(one) => json!({"$f64": format!("{:016x}", one.to_bits())}),
        Doc::Single(one) => json!({"$f32": format!("{:08x}", one.to_bits())}),
        Doc::Text(one) => json!(one),
        Doc::Bytes(one) => json!({"$bytes": STANDARD.encode(one)}),
        Doc::List(items) => of_list(doc, items),
        Doc::Map(entries) => of_map(entries),
    }
}

fn of_list(doc: &Doc, items: &[Doc]) -> Value {
    let (mut depth, mut inner) = (0, doc);
    while let Doc::List(one) = inner
        && let [only] = one.as_slice()
    {
        (depth, inner) = (depth + 1, only);
    }
    if depth > NEST {
        return json!({"$nest": depth, "of": to_tagged(inner)});
    }
    items.iter().map(to_tagged).collect()
}

fn of_map(entries: &[(Doc, Doc)]) -> Value {
    let mut plain = Map::new();
    for (key, value) in entries {
        match key {
            Doc::Text(key) if !key.starts_with('$') && !plain.contains_key(key) => plain.insert(key.clone(), to_tagged(value)),
            _ => return json!({"$map": entries.iter().map(|(key, value)| json!([to_tagged(key), to_tagged(value)])).collect::<Vec<_>>()}),
        };
    }
    Value::Object(plain)
}
