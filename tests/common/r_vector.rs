//! Compares one vector with what R printed of it: length, digest, elements, marks of strings.

use md5::{Digest, Md5};
use serde_json::{Map, Value};
use tare::robject::{is_na, Arena, Body, Strings, Text, TextEncoding, NA_INT};

use super::{hex, list, lossy, number, same, texts, Checked, Rules};

/// Length, digest and elements of a vector.
pub fn vector(rules: Rules, arena: &Arena, map: &Map<String, Value>, body: &Body) -> Checked {
    let (length, canonical) = canonical(body);
    same("length", number(map, "length")?, length)?;
    match map.get("md5") {
        Some(digest) => same(
            "md5",
            digest.as_str(),
            Some(hex(&Md5::digest(canonical)).as_str()),
        )?,
        None if rules.digests => return Err("the tree has no digest".to_string()),
        None => {}
    }
    if let Body::Raw(bytes) = body {
        return raw(map, bytes);
    }
    let mut places: Vec<(usize, &Value)> = Vec::new();
    if let (true, Body::Double(doubles)) = (map.contains_key("first"), body) {
        let bytes = doubles
            .iter()
            .flat_map(|one| one.to_bits().swap_bytes().to_le_bytes());
        let digest = hex(&Md5::digest(bytes.collect::<Vec<u8>>()));
        same(
            "xdr_md5",
            map.get("xdr_md5").and_then(Value::as_str),
            Some(digest.as_str()),
        )?;
        places.extend(list(map, "first")?.iter().enumerate());
        same("first values", 100, places.len())?;
    } else if map.contains_key("values") {
        let values = list(map, "values")?;
        same("number of values", values.len(), length)?;
        if rules.digests && length > 40 {
            return Err("more than 40 values".to_string());
        }
        places.extend(values.iter().enumerate());
    } else {
        let (head, tail) = (list(map, "head")?, list(map, "tail")?);
        same("head and tail", (10, 5), (head.len(), tail.len()))?;
        same("values left out of 41 or more", true, length > 40)?;
        places.extend(head.iter().enumerate());
        places.extend(
            tail.iter()
                .enumerate()
                .map(|(at, one)| (length - 5 + at, one)),
        );
    }
    for (at, expected) in places {
        element(arena, body, at, expected).map_err(|fault| format!("element {at}: {fault}"))?;
    }
    marks(map, body, rules.digests && length <= 40)?;
    if let (Some(bits), Body::Double(values)) = (map.get("bits_be"), body) {
        let found = values
            .iter()
            .map(|value| format!("{:016x}", value.to_bits()));
        let found: Vec<String> = found.collect();
        same(
            "bits",
            texts(bits)?,
            found.iter().map(String::as_str).collect(),
        )?;
    } else if map.contains_key("bits_be") {
        return Err("bits of what is no double".to_string());
    }
    Ok(())
}

/// Bytes that the digest is of: little-endian, strings ended by 0, NA as 1.
fn canonical(body: &Body) -> (usize, Vec<u8>) {
    match body {
        Body::Logical(values) | Body::Integer(values) => {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes());
            (values.len(), bytes.collect())
        }
        Body::Double(values) => {
            let bytes = values
                .iter()
                .flat_map(|value| value.to_bits().to_le_bytes());
            (values.len(), bytes.collect())
        }
        Body::Complex(values) => {
            let parts = values.iter().flatten();
            let bytes = parts.flat_map(|value| value.to_bits().to_le_bytes());
            (values.len(), bytes.collect())
        }
        Body::Character(strings) => (strings.len(), canonical_text(strings)),
        Body::Raw(bytes) => (bytes.len(), bytes.clone()),
        other => panic!("no vector: {other:.60?}"),
    }
}

fn canonical_text(strings: &Strings) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in strings.iter() {
        bytes.extend_from_slice(text.bytes.unwrap_or(b"\x01"));
        bytes.push(0);
    }
    bytes
}

/// Bytes are one hexadecimal text in a list of one.
fn raw(map: &Map<String, Value>, bytes: &[u8]) -> Checked {
    let whole = |key: &str, bytes: &[u8]| {
        let expected = texts(&map[key])?.concat();
        same(key, expected, hex(bytes))
    };
    if map.contains_key("values") {
        return whole("values", bytes);
    }
    same("values left out of 41 or more", true, bytes.len() > 40)?;
    list(map, "head").and(list(map, "tail"))?;
    whole("head", &bytes[..10])?;
    whole("tail", &bytes[bytes.len() - 5..])
}

fn element(arena: &Arena, body: &Body, at: usize, expected: &Value) -> Checked {
    match body {
        Body::Logical(values) => {
            let found = match values[at] {
                NA_INT => Value::Null,
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => Value::from(other),
            };
            same("logical", expected, &found)
        }
        Body::Integer(values) => {
            let found = match values[at] {
                NA_INT => Value::Null,
                other => Value::from(other),
            };
            same("integer", expected, &found)
        }
        Body::Double(values) => double(expected, values[at]),
        Body::Complex(values) => {
            let parts = expected.as_array().ok_or("no pair")?;
            same("parts", 2, parts.len())?;
            double(&parts[0], values[at][0]).and(double(&parts[1], values[at][1]))
        }
        Body::Character(strings) => {
            let text = strings.get(at).ok_or("no such string")?;
            same("string", expected, &shown(arena, text)?)
        }
        _ => Err("no element of it is compared".to_string()),
    }
}

/// A double against its text: exactly, NA and NaN told apart.
fn double(expected: &Value, found: f64) -> Checked {
    let token = expected.as_str().ok_or("no text of a double")?;
    let right = match token {
        "NA" => is_na(found),
        "NaN" => found.is_nan() && !is_na(found),
        "Inf" => found == f64::INFINITY,
        "-Inf" => found == f64::NEG_INFINITY,
        _ => parsed(token)?.to_bits() == found.to_bits(),
    };
    if right {
        return Ok(());
    }
    Err(format!(
        "double: expected {token}, found {found:e} ({:016x})",
        found.to_bits()
    ))
}

/// A finite double from decimal text, or from hexadecimal text as C99 prints it.
fn parsed(token: &str) -> Result<f64, String> {
    let wrong = || format!("{token:?} is no double");
    let (sign, rest) = match token.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, token),
    };
    let Some(rest) = rest.strip_prefix("0x") else {
        return token.parse().map_err(|_| wrong());
    };
    let (digits, exponent) = rest.split_once('p').ok_or_else(wrong)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let significand =
        u64::from_str_radix(&format!("{whole}{fraction}"), 16).map_err(|_| wrong())?;
    let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
    let shift = exponent - 4 * i32::try_from(fraction.len()).map_err(|_| wrong())?;
    // Both steps are exact: 53 bits, and halves of the shift keep subnormals whole.
    let half = shift / 2;
    Ok(sign * significand as f64 * 2_f64.powi(half) * 2_f64.powi(shift - half))
}

/// A string as the tree shows it: null, bytes, or text recoded to UTF-8.
fn shown(arena: &Arena, text: Text<'_>) -> Result<Value, String> {
    let Some(bytes) = text.bytes else {
        return Ok(Value::Null);
    };
    let latin = || {
        bytes
            .iter()
            .map(|byte| char::from(*byte))
            .collect::<String>()
    };
    let utf8 = || {
        let text = std::str::from_utf8(bytes);
        text.map(str::to_string)
            .map_err(|_| format!("{bytes:02x?} is no UTF-8"))
    };
    Ok(match text.encoding() {
        TextEncoding::Bytes => serde_json::json!({ "bytes": hex(bytes) }),
        TextEncoding::Latin1 => Value::String(latin()),
        TextEncoding::Native => match arena.header().native_encoding.as_deref() {
            None | Some(b"UTF-8") => Value::String(utf8()?),
            Some(b"CP1252" | b"latin1" | b"ISO-8859-1") => Value::String(latin()),
            Some(other) => return Err(format!("the encoding {}", lossy(other))),
        },
        TextEncoding::Ascii if !bytes.is_ascii() => return Err("not ASCII".to_string()),
        TextEncoding::Ascii | TextEncoding::Utf8 => Value::String(utf8()?),
    })
}

/// The marks of all strings where any has one; without a word of them none has (`all_known`).
fn marks(map: &Map<String, Value>, body: &Body, all_known: bool) -> Checked {
    let Body::Character(strings) = body else {
        let extra = map.contains_key("encoding") || map.contains_key("bytes_hex");
        return same("marks of what is no text", false, extra);
    };
    let found = strings.iter().map(|text| match text.encoding() {
        TextEncoding::Ascii | TextEncoding::Native => "unknown",
        TextEncoding::Utf8 => "UTF-8",
        TextEncoding::Latin1 => "latin1",
        TextEncoding::Bytes => "bytes",
    });
    let found: Vec<&str> = found.collect();
    match map.get("encoding") {
        Some(expected) => same("encoding", texts(expected)?, found)?,
        None if all_known => same("encoding", vec!["unknown"; found.len()], found)?,
        None => {}
    }
    if let Some(expected) = map.get("bytes_hex") {
        let found = strings
            .iter()
            .map(|text| text.bytes.map_or(Value::Null, |one| hex(one).into()));
        same("bytes_hex", expected, &Value::Array(found.collect()))?;
    }
    Ok(())
}
