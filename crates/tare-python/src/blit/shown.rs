//! A view in a line: the first values, and no more than fits.

use pyo3::prelude::*;
use pyo3::types::PyString;
use tare::blit::Value;

use super::objects;
use crate::error::to_py;

/// Values that are shown of a container.
const SHOWN: usize = 6;
/// Characters of one value.
const LONGEST: usize = 40;

/// What `repr` gives.
pub fn shown(py: Python<'_>, value: &Value<'_>) -> PyResult<String> {
    let raise = |error| to_py(py, error);
    match value {
        Value::Array(array) => {
            let mut parts = Vec::new();
            for item in array.iter().take(SHOWN) {
                parts.push(short(py, &item.map_err(raise)?)?);
            }
            more(&mut parts, array.len());
            Ok(format!("ListView([{}])", parts.join(", ")))
        }
        Value::Object(object) => {
            let mut parts = Vec::new();
            for entry in object.iter().take(SHOWN) {
                let (name, value) = entry.map_err(raise)?;
                let name = PyString::new(py, &name).repr()?;
                let name = cut(&name.to_string_lossy());
                parts.push(format!("{name}: {}", short(py, &value)?));
            }
            more(&mut parts, object.count().map_err(raise)?);
            Ok(format!("ObjectView({{{}}})", parts.join(", ")))
        }
        _ => Ok(format!("View({})", short(py, value)?)),
    }
}

fn more(parts: &mut Vec<String>, n: usize) {
    if n > parts.len() {
        parts.push(format!("... {n} in all"));
    }
}

fn short(py: Python<'_>, value: &Value<'_>) -> PyResult<String> {
    Ok(match value {
        Value::Array(array) if array.is_empty() => "[]".to_owned(),
        Value::Array(_) => "[...]".to_owned(),
        Value::Object(_) => "{...}".to_owned(),
        Value::Str(text) if text.len() > LONGEST * 4 => {
            let text: String = text.chars().take(LONGEST).collect();
            let text = PyString::new(py, &text)
                .repr()?
                .to_string_lossy()
                .into_owned();
            cut(&text)
        }
        Value::Bytes(bytes) => format!("<{} bytes>", bytes.len()),
        Value::NumText(text) => cut(text),
        _ => match objects::scalar(py, value)? {
            Some(scalar) => cut(&scalar.repr()?.to_string_lossy()),
            None => String::new(),
        },
    })
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(LONGEST).collect();
    cut.push_str("...");
    cut
}
