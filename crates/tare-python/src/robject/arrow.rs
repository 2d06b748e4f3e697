//! R's values across the Arrow C data interface.

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{from_ffi_and_data_type, FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{make_array, Array, ArrayRef};
use arrow_schema::{ArrowError, Field};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use tare::robject::arrow::{from_arrow, to_arrow, Arrowed, FromArrow, Int64, ToArrow};
use tare::{Error, ErrorKind};

use super::handle::Handle;
use super::options::{choice, option};
use super::report::{entries, Entry};
use crate::error::to_py;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A value that was made Arrow, to be taken by any library that knows the interface.
#[pyclass(frozen, name = "RArrow", module = "tare._tare")]
pub struct Made(Arrowed);

#[pymethods]
impl Made {
    #[getter]
    fn is_table(&self) -> bool {
        self.0.is_table
    }

    fn __len__(&self) -> usize {
        self.0.array.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.field)
    }

    /// The arrays are lent: what takes them keeps the object alive.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema); // a wish, which producers may leave
        array_capsules(py, &self.0.field, &self.0.array)
    }
}

/// A field as the interface has it.
pub fn schema_capsule<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(field).map_err(|error| arrow(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A field and its array as the interface has them; their memory is shared.
pub fn array_capsules<'py>(
    py: Python<'py>,
    field: &Field,
    array: &ArrayRef,
) -> PyResult<Bound<'py, PyTuple>> {
    let array = FFI_ArrowArray::new(&array.to_data());
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema_capsule(py, field)?, array])
}

/// The field of anything that gives a schema.
pub fn schema_of(value: &Bound<'_, PyAny>) -> PyResult<Field> {
    let capsule = value.call_method0("__arrow_c_schema__")?;
    field_of(&taken_schema(capsule.cast::<PyCapsule>()?)?)
}

/// A value as Arrow, and what was lost.
pub fn made(
    py: Python<'_>,
    handle: &Handle,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Made, Vec<Entry>)> {
    let options = ToArrow {
        strict: option(options, "strict")?.unwrap_or(false),
        metadata: option(options, "metadata")?.unwrap_or(true),
        columns: option(options, "columns")?,
        nan: choice(options, "na", &["null", "nan"])? == Some(1),
    };
    let done = py.detach(|| to_arrow(&handle.0, &options));
    let (made, losses) = done.map_err(|error| to_py(py, error))?;
    Ok((Made(made), entries(losses)))
}

/// An R value of anything that gives Arrow arrays.
#[pyfunction]
pub fn r_from_arrow(
    value: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Handle, Vec<Entry>)> {
    let py = value.py();
    let int64 = choice(options, "int64", &["auto", "integer64", "double"])?;
    let options = FromArrow {
        strict: option(options, "strict")?.unwrap_or(false),
        metadata: option(options, "metadata")?.unwrap_or(true),
        int64: match int64 {
            Some(1) => Int64::Integer64,
            Some(2) => Int64::Double,
            _ => Int64::Auto,
        },
    };
    let (field, chunks) = imported(value)?;
    let done = py.detach(|| {
        for chunk in &chunks {
            // Strings and offsets of another library are not believed.
            chunk.to_data().validate_full().map_err(|error| {
                Error::new(
                    ErrorKind::Malformed,
                    format!("the Arrow array is not valid: {error}"),
                )
            })?;
        }
        from_arrow(&field, &chunks, &options)
    });
    let (object, losses) = done.map_err(|error| to_py(py, error))?;
    Ok((Handle(object), entries(losses)))
}

/// The field and arrays of an object: one array, or the chunks of a stream.
pub fn imported(value: &Bound<'_, PyAny>) -> PyResult<(Field, Vec<ArrayRef>)> {
    if value.hasattr("__arrow_c_array__")? {
        let pair = value.call_method0("__arrow_c_array__")?;
        let pair: (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        let field = field_of(&taken_schema(&pair.0)?)?;
        let array = taken_array(&pair.1)?;
        let array = import(array, &field)?;
        return Ok((field, vec![array]));
    }
    if value.hasattr("__arrow_c_stream__")? {
        let capsule = value.call_method0("__arrow_c_stream__")?;
        return streamed(capsule.cast::<PyCapsule>()?);
    }
    let text = format!("{} gives no Arrow array", value.get_type().name()?);
    Err(PyTypeError::new_err(text))
}

fn field_of(schema: &FFI_ArrowSchema) -> PyResult<Field> {
    let field = Field::try_from(schema).map_err(|error| arrow(&error))?;
    // The metadata of a schema stands on the field of the struct.
    Ok(field)
}

fn pointer<T>(capsule: &Bound<'_, PyCapsule>, name: &'static CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

#[allow(unsafe_code, reason = "the interface is structs behind pointers")]
fn taken_schema(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowSchema> {
    let place = pointer::<FFI_ArrowSchema>(capsule, SCHEMA)?;
    // SAFETY: a capsule of this name points to an ArrowSchema, as the interface says; it is moved
    // out, with what the interface has for a released one left in its place. The GIL is held.
    Ok(unsafe { FFI_ArrowSchema::from_raw(place.as_ptr()) })
}

#[allow(unsafe_code, reason = "the interface is structs behind pointers")]
fn taken_array(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArray> {
    let place = pointer::<FFI_ArrowArray>(capsule, ARRAY)?;
    // SAFETY: as for the schema.
    Ok(unsafe { FFI_ArrowArray::from_raw(place.as_ptr()) })
}

#[allow(unsafe_code, reason = "the interface is structs behind pointers")]
fn import(array: FFI_ArrowArray, field: &Field) -> PyResult<ArrayRef> {
    // SAFETY: the producer says that the array has this type; buffers are as long as the
    // interface says for it. What they hold is checked before it is read.
    let data = unsafe { from_ffi_and_data_type(array, field.data_type().clone()) };
    Ok(make_array(data.map_err(|error| arrow(&error))?))
}

/// All chunks of a stream, whatever their type.
#[allow(unsafe_code, reason = "the interface is functions behind pointers")]
fn streamed(capsule: &Bound<'_, PyCapsule>) -> PyResult<(Field, Vec<ArrayRef>)> {
    let place = pointer::<FFI_ArrowArrayStream>(capsule, STREAM)?;
    // SAFETY: as for the schema; the moved stream is released when it is dropped.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(place.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(PyValueError::new_err("the Arrow stream was taken before"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, and the place is for one schema.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    failed(&mut stream, code)?;
    let field = field_of(&schema)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above; the place is for one array.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        failed(&mut stream, code)?;
        if array.is_released() {
            return Ok((field, chunks));
        }
        chunks.push(import(array, &field)?);
    }
}

#[allow(unsafe_code, reason = "the interface is functions behind pointers")]
fn failed(stream: &mut FFI_ArrowArrayStream, code: i32) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    let text = stream.get_last_error.and_then(|last| {
        // SAFETY: the stream is not released; its text lives until it is called again, and is
        // copied before.
        unsafe {
            let text = last(&raw mut *stream);
            let text = (!text.is_null()).then(|| CStr::from_ptr(text));
            text.map(|text| text.to_string_lossy().into_owned())
        }
    });
    let text = text.unwrap_or_else(|| format!("error {code}"));
    Err(PyValueError::new_err(format!(
        "the Arrow stream failed: {text}"
    )))
}

fn arrow(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("Arrow says: {error}"))
}
