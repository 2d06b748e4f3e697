//! Documents from Python objects and from JSON text.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use tare::blit::{Options, Value, Writer};
use tare::{Error, ErrorKind};

use super::options::Writing;
use super::view::View;
use crate::buffers::{copied, with_bytes};
use crate::error::to_py;

/// From this many bytes on the GIL is released.
const LONG: usize = 64 << 10;

#[pyfunction]
#[pyo3(signature = (obj, *, default = None, canonical = false, layout = None, numbers = None,
    duplicates = None, surrogates = None, checksum = None, aligned = false))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn encode<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<Bound<'py, PyAny>>,
    canonical: bool,
    layout: Option<&str>,
    numbers: Option<&str>,
    duplicates: Option<&str>,
    surrogates: Option<&str>,
    checksum: Option<bool>,
    aligned: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = obj.py();
    let options = Writing {
        canonical,
        layout,
        numbers,
        duplicates,
        surrogates,
        checksum,
        aligned,
    };
    let writer = Writer::new(options.options(py)?).map_err(|error| to_py(py, error))?;
    let mut walk = Walk {
        writer,
        default,
        within: 0,
    };
    walk.value(obj).map_err(|fault| fault.raise(py))?;
    let document = walk.writer.finish().map_err(|error| to_py(py, error))?;
    copied(py, &document)
}

#[pyfunction]
#[pyo3(signature = (data, *, canonical = false, layout = None, numbers = None,
    duplicates = None, surrogates = None, checksum = None, aligned = false))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn from_json<'py>(
    data: &Bound<'py, PyAny>,
    canonical: bool,
    layout: Option<&str>,
    numbers: Option<&str>,
    duplicates: Option<&str>,
    surrogates: Option<&str>,
    checksum: Option<bool>,
    aligned: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let options = Writing {
        canonical,
        layout,
        numbers,
        duplicates,
        surrogates,
        checksum,
        aligned,
    };
    let options = options.options(py)?;
    let work = |text: &[u8]| {
        let document = if text.len() < LONG {
            tare::blit::from_json(text, &options)
        } else {
            py.detach(|| tare::blit::from_json(text, &options))
        };
        copied(py, &document.map_err(|error| to_py(py, error))?)
    };
    match data.cast::<PyString>() {
        Ok(text) => work(text.to_str()?.as_bytes()),
        Err(_) => with_bytes(data, work),
    }
}

/// A value as a document of its own.
pub fn alone(value: &Value<'_>) -> tare::Result<Vec<u8>> {
    let mut writer = Writer::new(Options::default())?;
    again(&mut writer, value)?;
    writer.finish()
}

/// Writes a value of a document.
fn again(writer: &mut Writer<'_>, value: &Value<'_>) -> tare::Result<()> {
    match value {
        Value::Null => writer.null(),
        Value::Bool(value) => writer.bool(*value),
        Value::Int(value) => writer.int(*value),
        Value::Uint(value) => writer.uint(*value),
        Value::Float(value) => writer.float(*value),
        Value::NumText(text) => writer.number_text(text),
        Value::Str(text) => writer.str(text),
        Value::Wtf8(bytes) => writer.wtf8(bytes),
        Value::Bytes(bytes) => writer.bytes(bytes),
        Value::Array(array) => {
            writer.begin_array()?;
            for item in array.iter() {
                again(writer, &item?)?;
            }
            writer.end()
        }
        Value::Object(object) => {
            writer.begin_object()?;
            for entry in object.iter() {
                let (name, value) = entry?;
                writer.key(&name)?;
                again(writer, &value)?;
            }
            writer.end()
        }
    }
}

/// An error, and where in the object it is, from the inside out.
struct Fault {
    error: FaultOf,
    path: Vec<String>,
}

enum FaultOf {
    Core(Error),
    Raised(PyErr),
}

impl From<Error> for Box<Fault> {
    fn from(error: Error) -> Self {
        Self::new(Fault {
            error: FaultOf::Core(error),
            path: Vec::new(),
        })
    }
}

impl From<PyErr> for Box<Fault> {
    fn from(error: PyErr) -> Self {
        Self::new(Fault {
            error: FaultOf::Raised(error),
            path: Vec::new(),
        })
    }
}

impl Fault {
    fn at(mut self: Box<Self>, step: String) -> Box<Self> {
        self.path.push(step);
        self
    }

    fn raise(self, py: Python<'_>) -> PyErr {
        let error = match self.error {
            FaultOf::Raised(error) => return error,
            FaultOf::Core(error) => error,
        };
        let path: String = self.path.iter().rev().map(String::as_str).collect();
        to_py(py, error.with_path(format!("${path}")))
    }
}

/// A walk over Python objects.
struct Walk<'py> {
    writer: Writer<'static>,
    default: Option<Bound<'py, PyAny>>,
    within: usize,
}

impl<'py> Walk<'py> {
    fn value(&mut self, obj: &Bound<'py, PyAny>) -> Result<(), Box<Fault>> {
        let py = obj.py();
        if obj.is_none() {
            self.writer.null()?;
        } else if let Ok(text) = obj.cast::<PyString>() {
            self.text(text)?;
        } else if let Ok(value) = obj.cast::<pyo3::types::PyBool>() {
            self.writer.bool(value.is_true())?;
        } else if obj.is_instance_of::<PyInt>() {
            self.int(obj)?;
        } else if let Ok(value) = obj.cast::<PyFloat>() {
            self.writer.float(value.value())?;
        } else if let Ok(list) = obj.cast::<PyList>() {
            self.writer.begin_array()?;
            for (i, item) in list.iter().enumerate() {
                self.value(&item)
                    .map_err(|fault| fault.at(format!("[{i}]")))?;
            }
            self.writer.end()?;
        } else if let Ok(tuple) = obj.cast::<PyTuple>() {
            self.writer.begin_array()?;
            for (i, item) in tuple.iter().enumerate() {
                self.value(&item)
                    .map_err(|fault| fault.at(format!("[{i}]")))?;
            }
            self.writer.end()?;
        } else if let Ok(dict) = obj.cast::<PyDict>() {
            self.writer.begin_object()?;
            for (key, item) in dict.iter() {
                let Ok(name) = key.cast::<PyString>() else {
                    return Err(refused(&key, "as a key").into());
                };
                self.writer.key(name.to_str()?)?;
                self.value(&item)
                    .map_err(|fault| fault.at(format!(".{name}")))?;
            }
            self.writer.end()?;
        } else if let Ok(bytes) = obj.cast::<PyBytes>() {
            self.writer.bytes(bytes.as_bytes())?;
        } else if let Ok(view) = obj.cast::<View>() {
            again(&mut self.writer, view.get().value())?;
        } else if obj.is_instance(&py.import("decimal")?.getattr("Decimal")?)? {
            self.writer
                .number_text(&obj.str()?.to_str()?.to_lowercase())?;
        } else if let Some(default) = self.default.clone() {
            self.within += 1;
            if self.within > 254 {
                let text = "default gives what needs default, again and again";
                return Err(Error::new(ErrorKind::Limit, text)
                    .with_format("blit")
                    .into());
            }
            let made = default.call1((obj,))?;
            self.value(&made)?;
            self.within -= 1;
        } else {
            return Err(refused(obj, "").into());
        }
        Ok(())
    }

    fn text(&mut self, text: &Bound<'py, PyString>) -> Result<(), Box<Fault>> {
        self.writer.str(text.to_str()?)?;
        Ok(())
    }

    fn int(&mut self, obj: &Bound<'py, PyAny>) -> Result<(), Box<Fault>> {
        if let Ok(value) = obj.extract::<i64>() {
            self.writer.int(value)?;
        } else if let Ok(value) = obj.extract::<u64>() {
            self.writer.uint(value)?;
        } else {
            self.writer.number_text(obj.str()?.to_str()?)?;
        }
        Ok(())
    }
}

fn refused(obj: &Bound<'_, PyAny>, how: &str) -> Error {
    let name = obj
        .get_type()
        .fully_qualified_name()
        .map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let text = format!("a {name}, which has no place in a document {how}");
    Error::new(ErrorKind::Unsupported, text).with_format("blit")
}
