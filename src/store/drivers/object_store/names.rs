//! Names of objects and keys, in the order of what they stand for.
//!
//! A listing comes in the order of names. So that keys come in the order of their bytes, a byte that is no
//! digit and no letter is written as a sign and two hex digits, and the sign lies where the byte would:
//! `-` for those below `0`, `=` for those between `9` and `A`, `_` between `Z` and `a`, `~` above `z`. No name
//! holds a slash or a dot.

use object_store::path::Path;

use crate::compress::Kind;
use crate::store::{Hash, ObjectMeta};

/// The name of a text.
pub(super) fn escape(text: &str) -> String {
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
pub(super) fn unescape(name: &str) -> Option<String> {
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
pub(super) fn tail(meta: &ObjectMeta) -> String {
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
pub(super) fn parse_tail(tail: &str, stored_len: u64) -> Option<ObjectMeta> {
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

/// The folder of an object: `objects/ab/cdef...`.
pub(super) fn object_folder(hash: &Hash) -> String {
    let hex = hash.hex();
    let (first, rest) = hex.split_at(hex.len().min(2));
    format!("objects/{first}/{rest}")
}

/// Hash and last part of the name of a path below the prefix.
pub(super) fn parse_object(path: &Path, prefix: &str) -> Option<(Hash, String)> {
    let text = path.as_ref().strip_prefix(prefix)?;
    let mut parts = text.strip_prefix("objects/")?.split('/');
    let (first, rest, tail) = (parts.next()?, parts.next()?, parts.next()?);
    let hash = Hash::parse(&[first, rest].concat())?;
    parts.next().is_none().then(|| (hash, tail.to_string()))
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
