//! Records of object stores and the names that their objects have: text in, text out.
//!
//! A listing comes in the order of names. So that keys come in the order of their bytes, a byte that is no
//! digit and no letter is written as a sign and two hex digits, and the sign lies where the byte would:
//! `-` for those below `0`, `=` for those between `9` and `A`, `_` between `Z` and `a`, `~` above `z`. No name
//! holds a slash or a dot.

use serde_json::{json, Value};

use crate::compress::Kind;
use crate::store::{Hash, ObjectMeta};

/// What the record of a key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyText {
    /// Hash and codec; None for a key that was deleted under a condition.
    pub to: Option<(Hash, String)>,
    /// The last part of its object's name.
    pub name: String,
    /// Which call wrote it.
    pub token: String,
}

impl KeyText {
    /// Its JSON.
    #[must_use]
    pub fn text(&self) -> String {
        let value = match &self.to {
            Some((hash, codec)) => json!({
                "hash": hash.hex(),
                "name": self.name,
                "codec": codec,
                "token": self.token,
            }),
            None => json!({"deleted": true, "token": self.token}),
        };
        value.to_string()
    }

    /// Reads it; None of what is no key's record.
    ///
    /// # Example
    /// ```
    /// use tare::store::drivers::records::KeyText;
    ///
    /// let found = KeyText::parse(br#"{"hash": "d4", "codec": "raw", "name": "1.raw.none", "token": "t"}"#).unwrap();
    /// assert_eq!(Some("raw"), found.to.as_ref().map(|(_, codec)| codec.as_str()));
    /// assert_eq!(Some(found.clone()), KeyText::parse(found.text().as_bytes()));
    /// assert!(KeyText::parse(b"{}").is_none());
    /// ```
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let given = |name: &str| text(name).unwrap_or_default().to_string();
        let deleted = value.get("deleted").and_then(Value::as_bool) == Some(true);
        let token = given("token");
        if deleted {
            let name = String::new();
            let to = None;
            return Some(Self { to, name, token });
        }
        let to = Some((Hash::parse(text("hash")?)?, text("codec")?.to_string()));
        let name = given("name");
        Some(Self { to, name, token })
    }
}

/// The name of a text.
#[must_use]
pub fn escape(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| char::from(DIGITS.get(usize::from(value)).copied().unwrap_or(b'?'));
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            name.push(char::from(byte));
            continue;
        }
        name.push(match byte {
            0..=b'0' => '-',
            b'9'..=b'A' => '=',
            b'Z'..=b'a' => '_',
            _ => '~',
        });
        name.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    name
}

/// The text of a name; None if none has this name.
#[must_use]
pub fn unescape(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte.is_ascii_alphanumeric() {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|it| u8::try_from(it).ok())
        };
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(high << 4 | low);
    }
    let text = String::from_utf8(bytes).ok()?;
    (escape(&text) == name).then_some(text)
}

/// The last part of an object's name: `plain-bytes.codec.compressor`.
#[must_use]
pub fn tail(meta: &ObjectMeta) -> String {
    let plain = meta
        .plain_len
        .map_or_else(|| "-".into(), |plain| plain.to_string());
    let codec = match escape(&meta.codec) {
        codec if codec.is_empty() => "-".to_string(),
        codec => codec,
    };
    format!("{plain}.{codec}.{}", meta.compressor.name())
}

/// What the last part of an object's name says; None if it is no such name.
#[must_use]
pub fn parse_tail(tail: &str, stored_len: u64) -> Option<ObjectMeta> {
    let mut parts = tail.split('.');
    let (plain, codec, kind) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let mut kinds = Kind::ALL.iter().chain(&[Kind::Zlib]);
    Some(ObjectMeta {
        plain_len: match plain {
            "-" => None,
            number => Some(number.parse().ok()?),
        },
        stored_len,
        compressor: *kinds.find(|known| known.name() == kind)?,
        codec: match codec {
            "-" => String::new(),
            codec => unescape(codec)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_texts_and_read_back() {
        let mut texts: Vec<String> = (1..128_u8)
            .map(|byte| char::from(byte).to_string())
            .collect();
        texts.extend(
            [
                "",
                "a/b",
                "..",
                ".",
                "//",
                "caf\u{e9}",
                "\u{10ffff}",
                "a-",
                "a0",
                "aa",
            ]
            .map(String::from),
        );
        texts.sort_unstable();
        let names: Vec<String> = texts.iter().map(|text| escape(text)).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, names);
        for (text, name) in texts.iter().zip(&names) {
            assert_eq!(Some(text), unescape(name).as_ref());
            assert!(!name.contains(['/', '.', '%']), "{name}");
        }
        assert_eq!(None, unescape("-41"), "a letter is written as it is");
    }
}
