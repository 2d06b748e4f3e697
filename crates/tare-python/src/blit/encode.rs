//! Documents from Python objects and from JSON text.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use tare::blit::{ArrayView, Options, Surrogates, Value, View, Writer};
use tare::{Error, ErrorKind};

use super::fault::Fault;
use super::objects::wtf8_of;
use super::options::{like, Writing};
use super::raw::Seen;
use super::room;
use super::walk::Walk;
use crate::buffers::{copied, with_bytes};
use crate::error::to_py;

/// From this many bytes on the GIL is released.
const LONG: usize = 64 << 10;
/// Elements that a value of a document is written again with.
const MAX_ELEMENTS: usize = 1 << 28;
/// With so many of them, the others are counted first: the writer takes 16 bytes for each.
const MANY: usize = 1 << 20;
/// Signals are looked for after so many of them.
const PATIENCE: usize = 1 << 16;

/// A document of Python objects.
///
/// Args:
///     obj: None, bool, int, float, str, list, tuple, dict with names of str, bytes, Decimal, a view.
///     default: Called with any other object; what it gives is encoded in its place.
///     options: As `Writing` says.
///
/// Raises:
///     Unsupported: An object that has no place in a document; a `TypeError` too, with its path.
///     EncodeError: Text with halves of surrogate pairs, a signaling NaN.
///     Limit: More than 1,024 levels, as of an object that holds itself.
///     UsageError: An option that does not exist, or options that exclude each other.
///
/// >>> from tare import blit
/// >>> len(blit.encode({"a": [1, 2.5, None]}))
/// 33
#[pyfunction]
#[pyo3(signature = (obj, *, default = None, **options))]
pub fn encode<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = obj.py();
    let options = Writing::read(options)?.options;
    let (mut writer, met) = room::writer(py, options).map_err(|error| to_py(py, error))?;
    let keep = matches!(options.surrogates, Surrogates::Keep);
    let mut walk = Walk::new(py, &mut writer, default, keep).with(met);
    walk.value(Seen::of(obj)).map_err(|fault| fault.raise(py))?;
    let met = walk.met();
    room::finished(py, writer, met)
}

/// Puts a document of Python objects behind what is there, if all of them come back as they are; halves of
/// surrogate pairs are kept.
pub fn document(obj: &Bound<'_, PyAny>, into: &mut Vec<u8>) -> PyResult<()> {
    let py = obj.py();
    let options = Options {
        surrogates: Surrogates::Keep,
        ..Options::default()
    };
    let (mut writer, met) = room::writer(py, options).map_err(|error| to_py(py, error))?;
    let mut walk = Walk::new(py, &mut writer, None, true).exact().with(met);
    walk.value(Seen::of(obj)).map_err(|fault| fault.raise(py))?;
    let met = walk.met();
    room::finished_as(py, writer, met, |document| {
        into.extend_from_slice(document);
        Ok(())
    })
}

/// A document of JSON text; the options are those of `Writing`.
///
/// Raises:
///     Malformed, Truncated: Not JSON, with the byte offset in the text.
///     Limit: More than 1,024 levels, or 4 GiB.
///
/// >>> from tare import blit
/// >>> len(blit.from_json(b'{"a": [1, 2.5, null]}'))
/// 33
#[pyfunction]
#[pyo3(signature = (data, **options))]
pub fn from_json<'py>(
    data: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    of_text(
        data,
        &Writing::read(options)?.options,
        tare::blit::from_json,
    )
}

/// A document of lines of JSON text: their array; the options are those of `Writing`.
///
/// Raises:
///     Malformed, Truncated: A line is not JSON, with the byte offset in the text.
///     Limit: More than 1,024 levels, or 4 GiB.
///
/// >>> from tare import blit
/// >>> blit.view(blit.from_ndjson('{"a": 1}\n{"a": 2}')).to_python()
/// [{'a': 1}, {'a': 2}]
#[pyfunction]
#[pyo3(signature = (data, **options))]
pub fn from_ndjson<'py>(
    data: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    of_text(
        data,
        &Writing::read(options)?.options,
        tare::blit::from_ndjson,
    )
}

/// A document of text: bytes or str.
fn of_text<'py>(
    data: &Bound<'py, PyAny>,
    options: &Options,
    parse: fn(&[u8], &Options) -> tare::Result<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let work = |text: &[u8]| {
        let document = if text.len() < LONG {
            parse(text, options)
        } else {
            py.detach(|| parse(text, options))
        };
        copied(py, &document.map_err(|error| to_py(py, error))?)
    };
    match data.cast::<PyString>() {
        Ok(text) => match text.to_str() {
            Ok(text) => work(text.as_bytes()),
            // Not UTF-8, as the parser says, and where.
            Err(_) => work(&wtf8_of(text)?),
        },
        Err(_) => with_bytes(data, work),
    }
}

/// A value of a document as one of its own, which keeps what its document keeps.
pub fn alone(py: Python<'_>, view: &View<'_>, value: &Value<'_>) -> PyResult<Vec<u8>> {
    written(py, view, value, like(view))
}

/// A value of a document as one of its own.
pub fn written(
    py: Python<'_>,
    view: &View<'_>,
    value: &Value<'_>,
    options: Options,
) -> PyResult<Vec<u8>> {
    let work = || -> Result<Vec<u8>, Box<Fault>> {
        let mut writer = Writer::new(options)?;
        again(&mut writer, view, value)?;
        Ok(writer.finish()?)
    };
    let document = if view.data().len() < LONG {
        work()
    } else {
        py.detach(work)
    };
    document.map_err(|fault| fault.raise(py))
}

/// Writes a value of a document.
pub fn again(
    writer: &mut Writer<'_>,
    view: &View<'_>,
    value: &Value<'_>,
) -> Result<(), Box<Fault>> {
    let mut copy = Again {
        writer,
        view,
        root: value,
        left: Left(MAX_ELEMENTS),
    };
    copy.value(value)
}

/// Elements that there may still be: few bytes can say many.
struct Left(usize);

impl Left {
    /// Counts an element, and lets handlers of signals run from time to time.
    #[inline]
    fn one(&mut self) -> Result<(), Box<Fault>> {
        self.0 = self.0.checked_sub(1).ok_or_else(too_many)?;
        if self.0 % PATIENCE == 0 {
            signals()?;
        }
        Ok(())
    }

    /// An error if there are fewer than those of an array.
    fn array(&self, array: &ArrayView<'_>) -> Result<(), Box<Fault>> {
        if array.len() > self.0 {
            return Err(too_many().into());
        }
        Ok(())
    }
}

#[cold]
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, and a closure of any"
)]
fn signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Limit, "more than 2^28 elements")
}

/// A value that is written again.
struct Again<'a, 'w, 'v> {
    writer: &'a mut Writer<'w>,
    view: &'a View<'v>,
    root: &'a Value<'a>,
    left: Left,
}

impl Again<'_, '_, '_> {
    fn value(&mut self, value: &Value<'_>) -> Result<(), Box<Fault>> {
        let writer = &mut *self.writer;
        match value {
            Value::Null => writer.null()?,
            Value::Bool(value) => writer.bool(*value)?,
            Value::Int(value) => writer.int(*value)?,
            Value::Uint(value) => writer.uint(*value)?,
            Value::Float(value) => writer.float(*value)?,
            Value::NumText(text) => writer.number_text(text)?,
            Value::Str(text) => writer.str(text)?,
            Value::Wtf8(bytes) => writer.wtf8(bytes)?,
            Value::Bytes(bytes) => writer.bytes(bytes)?,
            Value::Array(array) => {
                self.left.array(array)?;
                writer.begin_array()?;
                for item in array.iter() {
                    self.one()?;
                    self.value(&item?)?;
                }
                self.writer.end()?;
            }
            Value::Object(object) => {
                writer.begin_object()?;
                for entry in object.entries() {
                    self.one()?;
                    let (id, value) = entry?;
                    self.writer.key_wtf8(self.view.name(id)?)?;
                    self.value(&value)?;
                }
                self.writer.end()?;
            }
        }
        Ok(())
    }

    /// Counts an element. All are counted before many of them are in memory.
    #[inline]
    fn one(&mut self) -> Result<(), Box<Fault>> {
        self.left.one()?;
        if self.left.0 == MAX_ELEMENTS - MANY {
            self.root.count(MAX_ELEMENTS as u64)?;
        }
        Ok(())
    }
}
