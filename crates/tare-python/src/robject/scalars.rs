//! Python's scalars as vectors: each kind of scalar is a type of R.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyComplex, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt, PyString,
};
use tare::robject::{Body, LossKind, Losses, Strings, NA_INT, NA_REAL};

use crate::error::to_py;

/// The ordinal of 1970-01-01, as `date.toordinal` counts.
const EPOCH: f64 = 719_163.0;

/// A vector, and the attributes that say what it is.
pub struct Scalars {
    pub body: Body,
    pub attributes: Vec<(&'static str, Vec<String>)>,
}

/// What a scalar is for R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Nothing,
    Logical,
    Integer,
    Double,
    Complex,
    Text,
    Date,
    Time,
    Length,
}

fn sort(value: &Bound<'_, PyAny>) -> PyResult<Option<Sort>> {
    Ok(Some(if value.is_none() {
        Sort::Nothing
    } else if value.is_instance_of::<PyBool>() {
        Sort::Logical
    } else if value.is_instance_of::<PyInt>() {
        Sort::Integer
    } else if value.is_instance_of::<PyFloat>() {
        Sort::Double
    } else if value.is_instance_of::<PyString>() {
        Sort::Text
    } else if value.is_instance_of::<PyComplex>() {
        Sort::Complex
    } else if value.is_instance_of::<PyDateTime>() {
        Sort::Time
    } else if value.is_instance_of::<PyDate>() {
        Sort::Date
    } else if value.is_instance_of::<PyDelta>() {
        Sort::Length
    } else {
        return Ok(None);
    }))
}

/// Whether a value is a date, time or length of time.
pub fn is_time(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(matches!(
        sort(value)?,
        Some(Sort::Date | Sort::Time | Sort::Length)
    ))
}

/// The sort that holds all items; None where they differ.
fn common(items: &[Bound<'_, PyAny>]) -> PyResult<Option<Sort>> {
    let mut all = Sort::Nothing;
    for item in items {
        let Some(one) = sort(item)? else {
            return Ok(None);
        };
        all = match (all, one) {
            (all, Sort::Nothing) => all,
            (Sort::Nothing, one) => one,
            (all, one) if all == one => all,
            (Sort::Integer, Sort::Double) | (Sort::Double, Sort::Integer) => Sort::Double,
            _ => return Ok(None),
        };
    }
    // Times of several zones are no vector: it has one zone.
    if all == Sort::Time && zones(items)?.len() > 1 {
        return Ok(None);
    }
    Ok(Some(all))
}

/// Whether items are scalars of one kind, None among them.
pub fn alike(items: &[Bound<'_, PyAny>]) -> PyResult<bool> {
    Ok(common(items)?.is_some())
}

/// The vector of scalars of one kind; None is NA.
pub fn vector(items: &[Bound<'_, PyAny>], losses: &mut Losses) -> PyResult<Scalars> {
    let plain = |body| Scalars {
        body,
        attributes: Vec::new(),
    };
    let class = |body, class: &[&str]| Scalars {
        body,
        attributes: vec![(
            "class",
            class.iter().map(|text| (*text).to_string()).collect(),
        )],
    };
    Ok(match common(items)?.unwrap_or(Sort::Nothing) {
        Sort::Nothing => plain(Body::Logical(vec![NA_INT; items.len()])),
        Sort::Logical => plain(Body::Logical(integers(items).unwrap_or_default())),
        Sort::Integer => match integers(items) {
            Some(values) => plain(Body::Integer(values)),
            None => plain(Body::Double(long(items, losses)?)),
        },
        Sort::Double => plain(Body::Double(long(items, losses)?)),
        Sort::Complex => {
            let na = f64::from_bits(NA_REAL);
            let pair = |item: &Bound<'_, PyAny>| match item.cast::<PyComplex>() {
                Ok(value) => [value.real(), value.imag()],
                Err(_) => [na, na],
            };
            plain(Body::Complex(items.iter().map(pair).collect()))
        }
        Sort::Text => {
            let mut strings = Strings::default();
            for item in items {
                match item.cast::<PyString>() {
                    Ok(text) => strings.push_str(text.to_str()?),
                    Err(_) => strings.push_na(),
                }
            }
            plain(Body::Character(Box::new(strings)))
        }
        Sort::Date => {
            let days = each(items, |item| {
                let ordinal: f64 = item.call_method0("toordinal")?.extract()?;
                Ok(ordinal - EPOCH)
            })?;
            class(Body::Double(days), &["Date"])
        }
        Sort::Length => {
            let seconds = each(items, |item| Ok(length(item.cast::<PyDelta>()?)))?;
            let mut made = class(Body::Double(seconds), &["difftime"]);
            made.attributes.push(("units", vec!["secs".to_string()]));
            made
        }
        Sort::Time => times(items, losses)?,
    })
}

fn times(items: &[Bound<'_, PyAny>], losses: &mut Losses) -> PyResult<Scalars> {
    let Some(py) = items.first().map(Bound::py) else {
        return Ok(Scalars {
            body: Body::Double(Vec::new()),
            attributes: Vec::new(),
        });
    };
    let zones = zones(items)?;
    let zone = zones.into_iter().next().flatten();
    if zone.is_none() {
        let (r, kept) = ("datetime without zone", "the same time in UTC");
        let added = losses.add(LossKind::TypeChanged, r, kept, 1);
        added.map_err(|error| to_py(py, error))?;
    }
    let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
    let start = py.import("datetime")?.getattr("datetime")?;
    let start = start.call1((1970, 1, 1, 0, 0, 0, 0, &utc))?;
    let seconds = each(items, |item| {
        let aware = if item.getattr("tzinfo")?.is_none() {
            let named = pyo3::types::PyDict::new(py);
            named.set_item("tzinfo", &utc)?;
            item.call_method("replace", (), Some(&named))?
        } else {
            item.clone()
        };
        let delta = aware.call_method1("__sub__", (&start,))?;
        Ok(length(delta.cast::<PyDelta>()?))
    })?;
    let classes = ["POSIXct", "POSIXt"].map(str::to_string).to_vec();
    let zone = zone.unwrap_or_else(|| "UTC".to_string());
    Ok(Scalars {
        body: Body::Double(seconds),
        attributes: vec![("class", classes), ("tzone", vec![zone])],
    })
}

/// The zones of times: a name each, None for none.
fn zones(items: &[Bound<'_, PyAny>]) -> PyResult<Vec<Option<String>>> {
    let mut found: Vec<Option<String>> = Vec::new();
    for item in items.iter().filter(|item| !item.is_none()) {
        let zone = item.getattr("tzinfo")?;
        let name = if zone.is_none() {
            None
        } else if zone.hasattr("key")? {
            zone.getattr("key")?.extract()? // a zoneinfo.ZoneInfo
        } else {
            Some(zone.str()?.to_str()?.to_string())
        };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    Ok(found)
}

/// Seconds of a `timedelta`.
fn length(delta: &Bound<'_, PyDelta>) -> f64 {
    let micros = i64::from(delta.get_microseconds());
    let seconds = i64::from(delta.get_seconds()) + i64::from(delta.get_days()) * 86_400;
    #[allow(
        clippy::cast_precision_loss,
        reason = "a timedelta has fewer than 2^53 seconds"
    )]
    let whole = seconds as f64;
    if micros == 0 {
        return whole;
    }
    #[allow(clippy::cast_precision_loss, reason = "the nearest double is meant")]
    let exact = (i128::from(seconds) * 1_000_000 + i128::from(micros)) as f64;
    exact / 1e6
}

fn each<'py>(
    items: &[Bound<'py, PyAny>],
    one: impl Fn(&Bound<'py, PyAny>) -> PyResult<f64>,
) -> PyResult<Vec<f64>> {
    let value = |item: &Bound<'py, PyAny>| {
        if item.is_none() {
            Ok(f64::from_bits(NA_REAL))
        } else {
            one(item)
        }
    };
    items.iter().map(value).collect()
}

/// Integers and bools of 32 bits; None where one has more.
fn integers(items: &[Bound<'_, PyAny>]) -> Option<Vec<i32>> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        if item.is_none() {
            values.push(NA_INT);
            continue;
        }
        match item.extract::<i32>() {
            Ok(value) if value != NA_INT => values.push(value),
            _ => return None,
        }
    }
    Some(values)
}

/// Numbers as doubles; integers that no double holds are counted.
fn long(items: &[Bound<'_, PyAny>], losses: &mut Losses) -> PyResult<Vec<f64>> {
    let (mut cut, mut integers) = (0_u64, 0_u64);
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        if item.is_none() {
            values.push(f64::from_bits(NA_REAL));
            continue;
        }
        if !item.is_instance_of::<PyInt>() {
            values.push(item.extract()?);
            continue;
        }
        integers += 1;
        // Beyond the doubles: as R has it for a number that is too large.
        let value = item.extract::<f64>().unwrap_or_else(|_| {
            let negative = item.lt(0).unwrap_or(false);
            if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        });
        let same = value.is_finite() && item.eq(value)?;
        cut += u64::from(!same);
        values.push(value);
    }
    if let Some(py) = items.first().map(Bound::py) {
        let raised = |error| to_py(py, error);
        losses
            .add(LossKind::Precision, "int", "double", cut)
            .map_err(raised)?;
        losses
            .add(LossKind::TypeChanged, "int", "double", integers)
            .map_err(raised)?;
    }
    Ok(values)
}
