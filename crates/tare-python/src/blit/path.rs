//! JSON pointers: ways to a value, and `tare.blit.Path`, one that is parsed once.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;
use tare::blit::Value;
use tare::{Error, ErrorKind};

use super::objects::wtf8_of;
use crate::error::to_py;

/// A JSON pointer (RFC 6901) that is parsed once: `tare.blit.Path`.
///
/// Raises:
///     UsageError: The text is no pointer.
///
/// >>> from tare import blit
/// >>> late = blit.Path("/delays/-1")
/// >>> late
/// Path('/delays/-1')
#[pyclass(frozen, eq, hash, module = "tare.blit")]
#[derive(PartialEq, Eq, Hash)]
pub struct Path {
    steps: Vec<Step>,
}

#[derive(PartialEq, Eq, Hash)]
struct Step {
    name: Name,
    /// The element that it is of an array.
    index: Option<usize>,
}

#[derive(PartialEq, Eq, Hash)]
enum Name {
    Text(String),
    /// With halves of surrogate pairs.
    Odd(Vec<u8>),
}

#[pymethods]
impl Path {
    #[new]
    fn new(pointer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = pointer_of(pointer)?;
        Self::parse(&text).ok_or_else(|| to_py(pointer.py(), no_pointer(&text)))
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        super::objects::wtf8(py, &self.pointer())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.__str__(py)?.repr()?;
        Ok(format!("Path({})", text.to_str()?))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let text = slf.get().__str__(slf.py())?;
        Ok((slf.get_type().into_any(), (text,)))
    }
}

impl Path {
    /// None of what is no pointer.
    fn parse(pointer: &[u8]) -> Option<Self> {
        let mut steps = pointer.split(|&byte| byte == b'/');
        let mut escapes = pointer.split(|&byte| byte == b'~').skip(1);
        let are_escapes = escapes.all(|rest| matches!(rest.first(), Some(b'0' | b'1')));
        if steps.next() != Some(&[]) || !are_escapes {
            return None;
        }
        Some(Self {
            steps: steps.map(Step::of).collect(),
        })
    }

    /// Its text, as UTF-8 that may have halves of surrogate pairs.
    fn pointer(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for step in &self.steps {
            match &step.name {
                Name::Text(name) => push_step(&mut text, name.as_bytes()),
                Name::Odd(name) => push_step(&mut text, name),
            }
        }
        text
    }

    /// The value at the path from another one on; None if there is none.
    pub fn find<'v>(&self, from: &Value<'v>) -> tare::Result<Option<Value<'v>>> {
        let mut value = from.clone();
        for step in &self.steps {
            let next = match (&value, &step.name) {
                (Value::Array(array), _) => match step.index {
                    Some(i) if i < array.len() => Some(array.get(i)?),
                    _ => None,
                },
                (Value::Object(object), Name::Text(name)) => object.get(name)?,
                (Value::Object(object), Name::Odd(name)) => object.get_wtf8(name)?,
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

impl Step {
    fn of(step: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(step.len());
        let mut rest = step.iter();
        while let Some(&byte) = rest.next() {
            let escaped = byte == b'~' && rest.next() == Some(&b'1');
            bytes.push(if escaped { b'/' } else { byte });
        }
        let digits = bytes.iter().all(u8::is_ascii_digit);
        let leading = bytes.len() > 1 && bytes.first() == Some(&b'0');
        let name = match String::from_utf8(bytes) {
            Ok(text) => Name::Text(text),
            Err(odd) => Name::Odd(odd.into_bytes()),
        };
        let index = match &name {
            Name::Text(text) if digits && !leading => text.parse().ok(),
            _ => None,
        };
        Self { name, index }
    }
}

/// Appends a step to a pointer.
pub fn push_step(pointer: &mut Vec<u8>, name: &[u8]) {
    pointer.push(b'/');
    for &byte in name {
        match byte {
            b'~' => pointer.extend(b"~0"),
            b'/' => pointer.extend(b"~1"),
            _ => pointer.push(byte),
        }
    }
}

fn no_pointer(pointer: &[u8]) -> Error {
    let pointer = String::from_utf8_lossy(pointer);
    let shown: String = pointer.escape_default().take(80).collect();
    let text = format!(
        "\"{shown}\" is no JSON pointer: it is empty or begins with /, and ~ is written ~0, / ~1"
    );
    Error::new(ErrorKind::Usage, text).with_format("blit")
}

/// The bytes of text, which may have halves of surrogate pairs.
pub fn bytes_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    match text.to_str() {
        Ok(utf8) => Ok(Cow::Borrowed(utf8.as_bytes())),
        Err(_) => wtf8_of(text.as_any()).map(Cow::Owned),
    }
}

/// The bytes of a pointer: of text, or of a `Path`.
pub fn pointer_of<'a>(pointer: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(path) = pointer.cast::<Path>() {
        return Ok(Cow::Owned(path.get().pointer()));
    }
    if let Ok(text) = pointer.cast::<PyString>() {
        return bytes_of(text);
    }
    let kind = pointer.get_type().name()?;
    let text = format!("a place is a JSON pointer, as text or a Path, not {kind}");
    let error = Error::new(ErrorKind::Usage, text).with_format("blit");
    Err(to_py(pointer.py(), error))
}

/// The value at a `Path`, or at text that is a pointer; None for all else.
pub fn find<'v>(from: &Value<'v>, path: &Bound<'_, PyAny>) -> PyResult<Option<Value<'v>>> {
    let raise = |error| to_py(path.py(), error);
    if let Ok(path) = path.cast::<Path>() {
        return path.get().find(from).map_err(raise);
    }
    let Ok(text) = path.cast::<PyString>() else {
        return Ok(None);
    };
    let text = bytes_of(text)?;
    if !text.is_empty() && !text.starts_with(b"/") {
        return Ok(None);
    }
    let path = Path::parse(&text).ok_or_else(|| raise(no_pointer(&text)))?;
    path.find(from).map_err(raise)
}
