//! `RObject`: an arena and an id, and what can be asked of them.

use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3::IntoPyObjectExt;
use tare::robject::{Body, Encoding, Finding, Kind, Losses, RObject, Recoder, WriteOptions};

use super::buffer::Buffer;
use super::options::option;
use super::report::{entries, Entry};
use crate::error::to_py;

/// A node of an arena, which all handles on it share.
#[pyclass(frozen, name = "RObject", module = "tare._tare", weakref)]
pub struct Handle(pub RObject);

#[pymethods]
impl Handle {
    /// R's `typeof`.
    #[getter(r#type)]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    #[getter]
    fn r_class(&self) -> Vec<String> {
        self.0.class()
    }

    #[getter]
    fn attributes(&self) -> Vec<(String, Handle)> {
        handles(self.0.attribute_list())
    }

    /// The value of an attribute; None where there is none.
    fn attribute(&self, name: &str) -> Option<Handle> {
        let id = self.0.arena().attribute(self.0.id(), name)?;
        Some(Handle(self.0.at(id)))
    }

    #[getter]
    fn names(&self) -> Option<Vec<Option<String>>> {
        self.0.names()
    }

    #[getter]
    fn dim(&self) -> Option<Vec<u64>> {
        self.0.dim()
    }

    #[getter]
    fn slots(&self) -> Option<Vec<(String, Handle)>> {
        self.0.slots().map(handles)
    }

    /// Rows of a data frame; None for other objects.
    #[getter]
    fn rows(&self) -> Option<usize> {
        let (arena, id) = (self.0.arena(), self.0.id());
        arena
            .inherits(id, "data.frame")
            .then(|| arena.rows(id))
            .flatten()
    }

    /// A number for each arena, and the id: the same for the same node, as long as it lives.
    #[getter]
    fn place(&self) -> (usize, usize) {
        (
            std::sync::Arc::as_ptr(self.0.arena()).addr(),
            self.0.id().index(),
        )
    }

    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let header = self.0.arena().header();
        let version =
            |packed: i32| format!("{}.{}.{}", packed >> 16, packed >> 8 & 0xff, packed & 0xff);
        let native = header.native_encoding.as_deref();
        let said = PyDict::new(py);
        said.set_item("encoding", encoding_name(header.encoding))?;
        said.set_item("version", header.version)?;
        said.set_item("r_version", version(header.r_version))?;
        said.set_item("min_reader", version(header.min_reader))?;
        said.set_item("native_encoding", native.map(String::from_utf8_lossy))?;
        Ok(said)
    }

    fn __len__(&self) -> usize {
        self.0.length()
    }

    /// Element `index` of a list, expression, pairlist or call.
    fn child(&self, index: usize) -> PyResult<Handle> {
        let child = self.0.child(index).map(Handle);
        child.ok_or_else(|| {
            let text = format!("no element {index} of {}", self.0.length());
            PyIndexError::new_err(text)
        })
    }

    /// The value of a name.
    fn get(&self, name: &str) -> PyResult<Handle> {
        self.0
            .get(name)
            .map(Handle)
            .ok_or_else(|| PyKeyError::new_err(name.to_string()))
    }

    /// The names of bindings, slots or elements.
    fn keys(&self) -> Vec<String> {
        match &self.0.node().body {
            Body::Environment { .. } => firsts(self.0.bindings()),
            Body::S4 => self.0.slots().map(firsts).unwrap_or_default(),
            _ => {
                let names = self.0.names().unwrap_or_default();
                names.into_iter().map(Option::unwrap_or_default).collect()
            }
        }
    }

    /// Names and values of what `keys` names, in one go.
    fn items(&self) -> Vec<(String, Handle)> {
        self.0.items().map(handles).unwrap_or_default()
    }

    /// The values of a vector of numbers or bytes, as a buffer.
    fn data(&self, py: Python<'_>) -> PyResult<Buffer> {
        Buffer::new(py, &self.0)
    }

    /// The values of a character vector: `str`, `bytes` for what is no text, None for NA.
    ///
    /// A single string and a symbol have one.
    fn strings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        strings(py, &self.0)
    }

    /// The bits of the vector's flags in a file, and whether R dispatches on it.
    #[getter]
    fn marks(&self) -> (u16, bool) {
        (self.0.node().levels, self.0.node().is_object)
    }

    /// As Arrow, and what was lost.
    fn to_arrow(
        &self,
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<(super::arrow::Made, Vec<Entry>)> {
        super::arrow::made(py, self, options)
    }

    /// As plain Python, and what was lost.
    #[pyo3(signature = (scalars, leaf, options=None))]
    fn to_python<'py>(
        &self,
        py: Python<'py>,
        scalars: bool,
        leaf: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<Entry>)> {
        let strict = options
            .map(|options| option(options, "strict"))
            .transpose()?
            .flatten();
        let mut losses = Losses::new(strict.unwrap_or(false));
        let value = super::plain::converted(py, &self.0, scalars, leaf, &mut losses)?;
        Ok((value, entries(losses)))
    }

    /// R's `identical`.
    fn identical(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        py.detach(|| self.0.identical(&other.0))
            .map_err(|error| to_py(py, error))
    }

    /// What should be known before R loads it.
    #[getter]
    fn flags(&self, py: Python<'_>) -> Vec<&'static str> {
        flags(&py.detach(|| tare::robject::findings(&self.0)))
    }

    /// Whether both are written as the same bytes.
    fn equal(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        let options = WriteOptions {
            version: Some(3),
            encoding: Some(Encoding::Native),
            r_version: Some(0),
            ..WriteOptions::default()
        };
        let ours = super::sources::serialized(py, &self.0, &options)?;
        Ok(ours == super::sources::serialized(py, &other.0, &options)?)
    }

    /// The plain bytes of R's serialization.
    #[pyo3(signature = (version=None, encoding=None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        version: Option<i32>,
        encoding: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = WriteOptions {
            version,
            encoding: super::sources::encoding_of(py, encoding)?,
            ..WriteOptions::default()
        };
        crate::buffers::copied(py, &super::sources::serialized(py, &self.0, &options)?)
    }

    fn __repr__(&self) -> String {
        let class = self.0.class().join("/");
        match self.0.kind() {
            Kind::Null => "<RObject NULL>".to_string(),
            kind => format!(
                "<RObject {}: {class}, {} elements>",
                kind.name(),
                self.0.length()
            ),
        }
    }
}

/// The word for how numbers are written.
pub fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Xdr => "xdr",
        Encoding::Ascii => "ascii",
        Encoding::AsciiHex => "asciihex",
        Encoding::Native => "native",
    }
}

/// The kinds of findings, each once.
pub fn flags(findings: &[Finding]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for finding in findings {
        if !names.contains(&finding.kind.name()) {
            names.push(finding.kind.name());
        }
    }
    names
}

fn handles(named: Vec<(String, RObject)>) -> Vec<(String, Handle)> {
    named
        .into_iter()
        .map(|(name, value)| (name, Handle(value)))
        .collect()
}

fn firsts(named: Vec<(String, RObject)>) -> Vec<String> {
    named.into_iter().map(|(name, _)| name).collect()
}

/// The strings of a character vector, symbol or single string.
pub fn strings<'py>(py: Python<'py>, object: &RObject) -> PyResult<Bound<'py, PyList>> {
    let arena = object.arena();
    if let Some(name) = arena.symbol(object.id()) {
        return PyList::new(py, [String::from_utf8_lossy(name)]);
    }
    let Some(strings) = arena.strings_of(object.id()) else {
        // A deferred vector that cannot be made says why.
        object.data().map_err(|error| to_py(py, error))?;
        let text = format!("a value of type {} has no strings", object.kind().name());
        return Err(PyTypeError::new_err(text));
    };
    let recoder = Recoder::of(arena);
    let list = PyList::empty(py);
    for text in strings.iter() {
        list.append(string(py, recoder.decode(text))?)?;
    }
    Ok(list)
}

fn string<'py>(
    py: Python<'py>,
    decoded: Option<tare::robject::Decoded<'_>>,
) -> PyResult<Bound<'py, PyAny>> {
    use tare::robject::Decoded;
    match decoded {
        None => Ok(py.None().into_bound(py)),
        Some(Decoded::Same(text)) => text.into_bound_py_any(py),
        Some(Decoded::Recoded(text)) => text.into_bound_py_any(py),
        Some(Decoded::Bytes(bytes)) => Ok(PyBytes::new(py, bytes).into_any()),
    }
}
