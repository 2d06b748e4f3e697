//! `NumPy`'s arrays as R's vectors, by their buffers.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tare::robject::{Body, Builder, Id, LossKind, Losses, NA_INT, NA_REAL};

use crate::buffers::with_bytes;
use crate::error::to_py;

/// `NumPy`'s missing time.
const NAT: i64 = i64::MIN;

/// The vector of an array, with its dimensions; None for arrays of objects and text.
pub fn vector(
    build: &mut Builder,
    losses: &mut Losses,
    array: &Bound<'_, PyAny>,
) -> PyResult<Option<Id>> {
    let py = array.py();
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let size: usize = dtype.getattr("itemsize")?.extract()?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let mut pairs: Vec<(&str, Id)> = Vec::new();
    let raised = |error| to_py(py, error);
    let body = match (kind.as_str(), size) {
        ("b", _) => Body::Logical(bytes(array, "u1")?.into_iter().map(i32::from).collect()),
        ("i", 1..=4) | ("u", 1..=2) => integers(array, losses)?,
        ("i", _) | ("u", 4) => long(array, losses)?,
        ("u", 8) => unsigned(array, losses)?,
        ("f", 2..=8) => {
            let values = eights(array, "<f8")?;
            Body::Double(values.into_iter().map(f64::from_le_bytes).collect())
        }
        ("c", 8 | 16) => {
            let values = eights(array, "<c16")?;
            let all: Vec<f64> = values.into_iter().map(f64::from_le_bytes).collect();
            let pairs = all.chunks_exact(2);
            let pair = |pair: &[f64]| match pair {
                [re, im] => [*re, *im],
                _ => [0.0, 0.0],
            };
            Body::Complex(pairs.map(pair).collect())
        }
        ("M" | "m", _) => {
            let made = times(array, &kind, losses)?;
            for (name, texts) in made.1 {
                let value = build
                    .strings(texts.iter().map(String::as_str))
                    .map_err(raised)?;
                pairs.push((name, value));
            }
            made.0
        }
        _ => return Ok(None),
    };
    let id = build.push(body).map_err(raised)?;
    if shape.len() > 1 {
        let sizes: Result<Vec<i32>, _> = shape.iter().map(|&n| i32::try_from(n)).collect();
        let dim = build.push(Body::Integer(sizes?)).map_err(raised)?;
        pairs.push(("dim", dim));
    }
    if !pairs.is_empty() {
        build.set_attributes(id, &pairs).map_err(raised)?;
    }
    Ok(Some(id))
}

/// The items in R's order, as a type that is the same on every machine.
fn ordered<'py>(array: &Bound<'py, PyAny>, wanted: &str) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(array.py());
    named.set_item("order", "F")?;
    let flat = array.call_method("ravel", (), Some(&named))?;
    let named = PyDict::new(array.py());
    named.set_item("copy", false)?;
    let flat = flat.call_method("astype", (wanted,), Some(&named))?;
    flat.call_method1("view", ("u1",))
}

fn bytes(array: &Bound<'_, PyAny>, wanted: &str) -> PyResult<Vec<u8>> {
    with_bytes(&ordered(array, wanted)?, |bytes| Ok(bytes.to_vec()))
}

fn eights(array: &Bound<'_, PyAny>, wanted: &str) -> PyResult<Vec<[u8; 8]>> {
    with_bytes(&ordered(array, wanted)?, |bytes| {
        let each = bytes.chunks_exact(8).map(<[u8; 8]>::try_from);
        Ok(each.filter_map(Result::ok).collect())
    })
}

fn integers(array: &Bound<'_, PyAny>, losses: &mut Losses) -> PyResult<Body> {
    let values = with_bytes(&ordered(array, "<i4")?, |bytes| {
        let each = bytes.chunks_exact(4).map(<[u8; 4]>::try_from);
        Ok(each
            .filter_map(Result::ok)
            .map(i32::from_le_bytes)
            .collect::<Vec<_>>())
    })?;
    if values.contains(&NA_INT) {
        return long(array, losses);
    }
    Ok(Body::Integer(values))
}

/// 64-bit integers: 32-bit ones where all fit, else doubles.
fn long(array: &Bound<'_, PyAny>, losses: &mut Losses) -> PyResult<Body> {
    let values = eights(array, "<i8")?;
    let values: Vec<i64> = values.into_iter().map(i64::from_le_bytes).collect();
    let raised = |error| to_py(array.py(), error);
    let narrow = |&value: &i64| i32::try_from(value).ok().filter(|value| *value != NA_INT);
    if let Some(narrow) = values.iter().map(narrow).collect() {
        losses
            .add(LossKind::TypeChanged, "int64", "integer", 1)
            .map_err(raised)?;
        return Ok(Body::Integer(narrow));
    }
    #[allow(clippy::cast_precision_loss, reason = "what is cut is counted")]
    let doubles: Vec<f64> = values.iter().map(|&value| value as f64).collect();
    #[allow(clippy::cast_possible_truncation, reason = "the way back")]
    let same = |(value, double): (&i64, &f64)| *double as i128 == i128::from(*value);
    let cut = values
        .iter()
        .zip(&doubles)
        .filter(|pair| !same(*pair))
        .count();
    losses
        .add(LossKind::Precision, "int64", "double", cut as u64)
        .map_err(raised)?;
    losses
        .add(LossKind::TypeChanged, "int64", "double", 1)
        .map_err(raised)?;
    Ok(Body::Double(doubles))
}

/// Unsigned 64-bit integers: doubles.
fn unsigned(array: &Bound<'_, PyAny>, losses: &mut Losses) -> PyResult<Body> {
    let values = eights(array, "<u8")?;
    let values: Vec<u64> = values.into_iter().map(u64::from_le_bytes).collect();
    #[allow(clippy::cast_precision_loss, reason = "what is cut is counted")]
    let doubles: Vec<f64> = values.iter().map(|&value| value as f64).collect();
    #[allow(clippy::cast_possible_truncation, reason = "the way back")]
    let same = |(value, double): (&u64, &f64)| *double as i128 == i128::from(*value);
    let cut = values
        .iter()
        .zip(&doubles)
        .filter(|pair| !same(*pair))
        .count();
    let raised = |error| to_py(array.py(), error);
    losses
        .add(LossKind::Precision, "uint64", "double", cut as u64)
        .map_err(raised)?;
    losses
        .add(LossKind::TypeChanged, "uint64", "double", 1)
        .map_err(raised)?;
    Ok(Body::Double(doubles))
}

type Attributes = Vec<(&'static str, Vec<String>)>;

/// Dates, times and lengths of time.
fn times(
    array: &Bound<'_, PyAny>,
    kind: &str,
    losses: &mut Losses,
) -> PyResult<(Body, Attributes)> {
    let numpy = array.py().import("numpy")?;
    let (unit, _): (String, i64) = numpy
        .call_method1("datetime_data", (array.getattr("dtype")?,))?
        .extract()?;
    let (unit, parts) = match unit.as_str() {
        "D" if kind == "M" => ("D", 1.0),
        "ms" => ("ms", 1e3),
        "us" => ("us", 1e6),
        "ns" | "ps" | "fs" | "as" => ("ns", 1e9),
        _ => ("s", 1.0),
    };
    let counts = eights(array, &format!("<{kind}8[{unit}]"))?;
    let mut cut = 0_u64;
    let values: Vec<f64> = counts
        .into_iter()
        .map(i64::from_le_bytes)
        .map(|count| {
            if count == NAT {
                return f64::from_bits(NA_REAL);
            }
            #[allow(clippy::cast_precision_loss, reason = "what is cut is counted")]
            let value = count as f64 / parts;
            #[allow(clippy::cast_possible_truncation, reason = "the way back")]
            let again = (value * parts).round_ties_even() as i128;
            cut += u64::from(again != i128::from(count));
            value
        })
        .collect();
    let added = losses.add(LossKind::Precision, "parts of a second", "double", cut);
    added.map_err(|error| to_py(array.py(), error))?;
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_string()).collect();
    let attributes = match (kind, unit) {
        ("M", "D") => vec![("class", texts(&["Date"]))],
        ("M", _) => vec![
            ("class", texts(&["POSIXct", "POSIXt"])),
            ("tzone", texts(&["UTC"])),
        ],
        _ => vec![("class", texts(&["difftime"])), ("units", texts(&["secs"]))],
    };
    Ok((Body::Double(values), attributes))
}
