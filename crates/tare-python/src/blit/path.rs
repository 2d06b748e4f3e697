//! JSON pointers: ways to a value, and `tare.blit.Path`, one that is parsed once.

use pyo3::prelude::*;
use pyo3::types::PyString;
use tare::blit::Value;
use tare::{Error, ErrorKind};

use super::held::Held;
use super::objects::wtf8_of;
use crate::error::to_py;

/// A JSON pointer, parsed.
#[pyclass(frozen, eq, hash, module = "tare.blit")]
#[derive(PartialEq, Eq, Hash)]
pub struct Path {
    steps: Vec<Step>,
}

#[derive(PartialEq, Eq, Hash)]
struct Step {
    name: String,
    /// The element that it is of an array.
    index: Option<usize>,
}

#[pymethods]
impl Path {
    #[new]
    fn new(py: Python<'_>, pointer: &str) -> PyResult<Self> {
        let wrong = || {
            let shown: String = pointer.escape_default().take(80).collect();
            let text = format!(
                "\"{shown}\" is no JSON pointer: it is empty or begins with /, and ~ is written ~0, / ~1"
            );
            to_py(py, Error::new(ErrorKind::Usage, text).with_format("blit"))
        };
        let mut parts = pointer.split('/');
        let escapes = pointer.split('~').skip(1);
        if parts.next() != Some("") || !escapes.into_iter().all(|part| part.starts_with(['0', '1']))
        {
            return Err(wrong());
        }
        let steps = parts.map(|part| {
            let name = part.replace("~1", "/").replace("~0", "~");
            let digits = name.bytes().all(|byte| byte.is_ascii_digit());
            let leading = name.len() > 1 && name.starts_with('0');
            let index = if digits && !leading {
                name.parse().ok()
            } else {
                None
            };
            Step { name, index }
        });
        Ok(Self {
            steps: steps.collect(),
        })
    }

    fn __str__(&self) -> String {
        let step = |step: &Step| format!("/{}", step.name.replace('~', "~0").replace('/', "~1"));
        self.steps.iter().map(step).collect()
    }

    fn __repr__(&self) -> String {
        format!("Path({:?})", self.__str__())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyAny>, (String,)) {
        let class = slf.get_type().into_any().unbind();
        (class, (slf.get().__str__(),))
    }
}

impl Path {
    /// The value at the path from another one on; None if there is none.
    pub fn find<'v>(&self, from: &Value<'v>) -> tare::Result<Option<Value<'v>>> {
        let mut value = from.clone();
        for step in &self.steps {
            let next = match &value {
                Value::Array(array) => match step.index {
                    Some(i) if i < array.len() => Some(array.get(i)?),
                    _ => None,
                },
                Value::Object(object) => object.get(&step.name)?,
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }
}

/// The value at a `Path`, or at text that is a pointer; None for all else.
pub fn find<'v>(
    held: &Held,
    from: &Value<'v>,
    path: &Bound<'_, PyAny>,
) -> PyResult<Option<Value<'v>>> {
    let py = path.py();
    let raise = |error| to_py(py, error);
    if let Ok(path) = path.cast::<Path>() {
        return path.get().find(from).map_err(raise);
    }
    let Ok(text) = path.cast::<PyString>() else {
        return Ok(None);
    };
    let Ok(utf8) = text.to_str() else {
        return odd(held, from, &wtf8_of(text)?).map_err(raise);
    };
    if !utf8.is_empty() && !utf8.starts_with('/') {
        return Ok(None);
    }
    Path::new(py, utf8)?.find(from).map_err(raise)
}

/// The value at a pointer with halves of surrogate pairs, which only names have.
#[cold]
fn odd<'v>(held: &Held, from: &Value<'v>, pointer: &[u8]) -> tare::Result<Option<Value<'v>>> {
    let mut value = from.clone();
    let mut steps = pointer.split(|&byte| byte == b'/');
    if steps.next() != Some(&[]) {
        return Ok(None);
    }
    for step in steps {
        let next = match &value {
            Value::Array(array) => match index(step) {
                Some(i) if i < array.len() => Some(array.get(i)?),
                _ => None,
            },
            Value::Object(object) => {
                let name = unescaped(step);
                let mut last = None;
                for entry in object.entries() {
                    let (id, value) = entry?;
                    if held.view().name(id)? == name {
                        last = Some(value);
                    }
                }
                last
            }
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn index(step: &[u8]) -> Option<usize> {
    let leading = step.len() > 1 && step.starts_with(b"0");
    let digits = step.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(step).ok();
    text.filter(|_| digits && !leading)?.parse().ok()
}

fn unescaped(step: &[u8]) -> Vec<u8> {
    let mut parts = step.split(|&byte| byte == b'~');
    let mut name = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        match part.split_first() {
            Some((b'0', rest)) => {
                name.push(b'~');
                name.extend_from_slice(rest);
            }
            Some((b'1', rest)) => {
                name.push(b'/');
                name.extend_from_slice(rest);
            }
            _ => name.extend_from_slice(part),
        }
    }
    name
}
