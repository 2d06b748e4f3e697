//! A value as the tests know it.

use tare::blit::{Options, Value, Writer};

/// A value, as exactly as the format keeps it: floats by their bits, order of names included.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Null,
    Bool(bool),
    Int(i64),
    /// Above 2^63 - 1.
    Uint(u64),
    Float(u64),
    /// Text that is no value of the others.
    NumText(String),
    Str(String),
    Bytes(Vec<u8>),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    pub fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Float(value) => Self::Float(value.to_bits()),
            Value::NumText(text) => Self::NumText((*text).to_string()),
            Value::Str(text) => Self::Str(text.to_string()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Array(array) => {
                Self::Array(array.iter().map(|item| Self::of(&item.unwrap())).collect())
            }
            Value::Object(object) => {
                let all = object.iter().map(Result::unwrap);
                Self::Object(
                    all.map(|(name, value)| (name.into_owned(), Self::of(&value)))
                        .collect(),
                )
            }
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Null => writer.null(),
            Self::Bool(value) => writer.bool(*value),
            Self::Int(value) => writer.int(*value),
            Self::Uint(value) => writer.uint(*value),
            Self::Float(bits) => writer.float(f64::from_bits(*bits)),
            Self::NumText(text) => writer.number_text(text),
            Self::Str(text) => writer.str(text),
            Self::Bytes(bytes) => writer.bytes(bytes),
            Self::Array(items) => {
                writer.begin_array().unwrap();
                for item in items {
                    item.write(writer);
                }
                writer.end()
            }
            Self::Object(members) => {
                writer.begin_object().unwrap();
                for (name, value) in members {
                    writer.key(name).unwrap();
                    value.write(writer);
                }
                writer.end()
            }
        }
        .unwrap();
    }

    pub fn encode(&self, options: &Options) -> Vec<u8> {
        let mut writer = Writer::new(*options).unwrap();
        self.write(&mut writer);
        writer.finish().unwrap()
    }

    /// Its JSON text, by rules of its own; None if it has none.
    pub fn text(&self) -> Option<String> {
        let all = |items: Vec<Option<String>>| items.into_iter().collect::<Option<Vec<_>>>();
        Some(match self {
            Self::Null => "null".to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Uint(value) => value.to_string(),
            Self::Float(bits) => {
                let value = f64::from_bits(*bits);
                if !value.is_finite() {
                    return None;
                }
                // With all digits of an exponent, which is another text of the same value.
                format!("{value:e}")
            }
            Self::NumText(text) => text.clone(),
            Self::Str(text) => serde_json::to_string(text).unwrap(),
            Self::Bytes(_) => return None,
            Self::Array(items) => {
                let items = all(items.iter().map(Self::text).collect())?;
                format!("[{}]", items.join(" , "))
            }
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    Some(format!(
                        "{}\n: {}",
                        serde_json::to_string(name).unwrap(),
                        value.text()?
                    ))
                });
                format!("{{{}}}", all(members.collect())?.join(","))
            }
        })
    }

    /// With the names of all objects in the order of their bytes.
    pub fn sorted(&self) -> Self {
        match self {
            Self::Array(items) => Self::Array(items.iter().map(Self::sorted).collect()),
            Self::Object(members) => {
                let mut members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| (name.clone(), value.sorted()))
                    .collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Self::Object(members)
            }
            other => other.clone(),
        }
    }

    /// Pointers to everything in it.
    pub fn pointers(&self, at: &str, out: &mut Vec<(String, Node)>) {
        out.push((at.to_string(), self.clone()));
        match self {
            Self::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    item.pointers(&format!("{at}/{i}"), out);
                }
            }
            Self::Object(members) => {
                for (name, value) in members {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    value.pointers(&format!("{at}/{name}"), out);
                }
            }
            _ => {}
        }
    }
}
