//! `tare.blit.View`: a value that is read where it lies, and what all values have.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use tare::blit::{Options, Value};
use tare::{Error, ErrorKind};

use super::held::Held;
use super::lists::ListView;
use super::made::Numbers;
use super::maps::ObjectView;
use super::options::Count;
use super::{encode, find, objects, options, support};
use crate::buffers::copied;
use crate::error::to_py;

/// From this many bytes on the GIL is released.
const LONG: usize = 64 << 10;

/// A value of a blit document that is read where it lies: `tare.blit.View`.
#[pyclass(frozen, subclass, weakref, module = "tare.blit")]
pub struct View {
    pub held: Arc<Held>,
    /// Of the document that `held` keeps; dropped with it, lent for no longer.
    value: Value<'static>,
    is_root: bool,
}

/// Open a document; its object as `ObjectView`, its array as `ListView`, else a `View`.
///
/// Args:
///     buffer: `bytes`, a `memoryview` of them or a read-only `mmap`, which the view keeps and does not copy.
///         Others are copied.
///
/// Raises:
///     Truncated, Malformed, Unsupported: The frame is not one of a document. The rest is not looked at.
///
/// >>> from tare import blit
/// >>> blit.view(blit.encode({"delays": [5, 90]}))["delays"][-1]
/// 90
#[pyfunction]
pub fn view<'py>(buffer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    whole(buffer.py(), Held::open(buffer)?)
}

/// The whole value of a document as Python objects; numbers with a fraction that are kept as text as `Decimal`.
pub fn value_of<'py>(py: Python<'py>, document: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    const MOST: u64 = 1 << 28;
    let view = tare::blit::View::open(document).map_err(|error| to_py(py, error))?;
    let root = view.root().map_err(|error| to_py(py, error))?;
    if !matches!(root, Value::NumText(_)) {
        if let Some(scalar) = objects::scalar(py, &root)? {
            return Ok(scalar);
        }
    }
    let held = Held::copy(py, document)?;
    let value = held.root().map_err(|error| to_py(py, error))?;
    super::made::made(py, (&held, &value), true, Numbers::Decimal, MOST)
}

/// The whole value of a document.
pub fn whole(py: Python<'_>, held: Arc<Held>) -> PyResult<Bound<'_, PyAny>> {
    let value = held.root().map_err(|error| to_py(py, error))?;
    placed(py, held, value, true)
}

/// A container as a view, a scalar as a Python value.
#[inline]
pub fn given<'py>(
    py: Python<'py>,
    held: &Arc<Held>,
    value: Value<'static>,
) -> PyResult<Bound<'py, PyAny>> {
    match objects::scalar(py, &value)? {
        Some(scalar) => Ok(scalar),
        None => placed(py, Arc::clone(held), value, false),
    }
}

/// A view of a value.
pub fn placed<'py>(
    py: Python<'py>,
    held: Arc<Held>,
    value: Value<'static>,
    is_root: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let is_object = matches!(value, Value::Object(_));
    let is_array = matches!(value, Value::Array(_));
    let base = PyClassInitializer::from(View {
        held,
        value,
        is_root,
    });
    if is_object {
        return Ok(Bound::new(py, base.add_subclass(ObjectView))?.into_any());
    }
    if is_array {
        return Ok(Bound::new(py, base.add_subclass(ListView))?.into_any());
    }
    Ok(Bound::new(py, base)?.into_any())
}

impl View {
    /// The value, to be kept no longer than this.
    #[inline]
    pub fn lasting(&self) -> &Value<'static> {
        &self.value
    }

    pub fn is_root(&self) -> bool {
        self.is_root
    }

    /// Whether the bytes are a document, and this its whole value.
    fn is_alone(&self) -> bool {
        self.is_root && !self.held.is_in_collection()
    }

    pub fn value(&self) -> &Value<'_> {
        &self.value
    }

    /// The whole value as Python objects, to be compared.
    fn compared<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        const MOST: u64 = 1 << 28;
        let value = (&*self.held, &self.value);
        super::made::made(py, value, self.is_alone(), Numbers::Compared, MOST)
    }

    /// Does what may take long, without the GIL where the document is large.
    fn long<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> tare::Result<T> + Send,
    ) -> PyResult<T> {
        let done = if self.held.view().data().len() < LONG {
            work()
        } else {
            py.detach(work)
        };
        done.map_err(|error| to_py(py, error))
    }

    /// The document of this value alone.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if self.is_alone() {
            return match self.held.owner(py) {
                Some(owner) => Ok(owner),
                None => copied(py, self.held.view().data()),
            };
        }
        let alone = encode::alone(py, self.held.view(), &self.value)?;
        copied(py, &alone)
    }
}

#[pymethods]
impl View {
    /// The whole value as Python objects: what `json.loads` gives of its JSON.
    ///
    /// Args:
    ///     decimal: Numbers with a fraction that are kept as text become `decimal.Decimal`, not `float`.
    ///     max_elements: Most values that are made.
    ///
    /// Raises:
    ///     Limit: More values than ``max_elements``, or an integer of more digits than Python converts.
    ///     Malformed, Unsupported: The document is not what it says.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode({"a": [1, 2.5, None]})).to_python()
    /// {'a': [1, 2.5, None]}
    #[pyo3(signature = (*, decimal = false, max_elements = Count(1 << 28)))]
    fn to_python<'py>(
        &self,
        py: Python<'py>,
        decimal: bool,
        max_elements: Count,
    ) -> PyResult<Bound<'py, PyAny>> {
        let most = self.is_alone();
        let numbers = if decimal {
            Numbers::Decimal
        } else {
            Numbers::Plain
        };
        super::made::made(py, (&self.held, &self.value), most, numbers, max_elements.0)
    }

    /// JSON text without spaces.
    ///
    /// Args:
    ///     order: Names as they were written, ``insertion``, or sorted by their UTF-8 bytes, ``lexical``.
    ///     nan: NaN and infinities are an ``error``, ``null``, or a ``literal`` that JSON does not have.
    ///     bytes: Bytes are an ``error``, or text in ``base64``.
    ///     max_output: Most bytes of text.
    ///
    /// Raises:
    ///     Unsupported: NaN, infinities or bytes without a form.
    ///     Limit: More text than ``max_output``.
    ///     Malformed: The document is not what it says, where that is seen. Strings of one that was not
    ///         validated may hold anything, so what others made is to be validated first.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode({"b": 1, "a": None})).to_json("lexical")
    /// b'{"a":null,"b":1}'
    #[pyo3(signature = (order = "insertion", *, nan = "error", bytes = "error", max_output = Count(1 << 32)))]
    fn to_json<'py>(
        &self,
        py: Python<'py>,
        order: &str,
        nan: &str,
        bytes: &str,
        max_output: Count,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = options::json(py, order, nan, bytes, max_output.0)?;
        let text = self.long(py, || match &self.value {
            Value::Array(array) => array.to_json(&options),
            Value::Object(object) => object.to_json(&options),
            _ => self.held.view().to_json(&options),
        })?;
        copied(py, &text)
    }

    /// Look at every byte of the document; what was seen.
    ///
    /// Of a document of a collection these are its chunk, and the names and shapes of its commit.
    ///
    /// Args:
    ///     canonical: Also whether encoding the value again gives the same bytes.
    ///
    /// Raises:
    ///     Truncated, Malformed, ChecksumMismatch, Unsupported, Limit: With the rule and the byte.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode({"a": [1, 2]})).validate().depth
    /// 2
    #[pyo3(signature = (*, canonical = false))]
    fn validate<'py>(&self, py: Python<'py>, canonical: bool) -> PyResult<Bound<'py, PyAny>> {
        let view = self.held.view();
        let found = self.long(py, || view.validate())?;
        if canonical && self.held.is_in_collection() {
            let text = "not canonical: it shares its names with others (rule V30); raw() is alone";
            let error = Error::new(ErrorKind::Malformed, text).with_format("blit");
            return Err(to_py(py, error.with_offset(0)));
        }
        if canonical {
            check_canonical(py, view)?;
        }
        let counts = (
            found.bytes,
            found.depth,
            found.keys,
            found.shapes,
            found.kinds,
        );
        support::get(py, "Summary")?.call1(counts)
    }

    /// All values that a `JSONPath` query finds: RFC 9535, but for `match`, `search` and `value`.
    ///
    /// In a part of a document `$` is that part.
    ///
    /// Args:
    ///     query: The query.
    ///     `max_elements`: Most values that are looked at.
    ///
    /// Raises:
    ///     `UsageError`, Unsupported: The text is no such query.
    ///     Limit: More values than `max_elements`.
    ///     Malformed: The document is not what it says.
    ///
    /// Example:
    ///     >>> from tare import blit
    ///     >>> flights = blit.view(blit.encode([{"delay": 5}, {"delay": 90}]))
    ///     >>> flights.find("$[?@.delay > 60].delay")
    ///     [90]
    #[pyo3(signature = (query, *, max_elements = Count(1 << 28)))]
    fn find<'py>(
        &self,
        query: &Bound<'py, PyString>,
        max_elements: Count,
    ) -> PyResult<Bound<'py, PyList>> {
        find::all(&self.held, &self.value, query, max_elements.0)
    }

    /// As `find`, but an iterator: each value is looked for when it is asked for.
    ///
    /// Example:
    ///     >>> from tare import blit
    ///     >>> flights = blit.view(blit.encode([{"delay": 5}, {"delay": 90}]))
    ///     >>> next(flights.finditer("$[?@.delay > 60].delay"))
    ///     90
    #[pyo3(signature = (query, *, max_elements = Count(1 << 28)))]
    fn finditer(&self, query: &Bound<'_, PyString>, max_elements: Count) -> PyResult<find::Found> {
        find::Found::new(&self.held, &self.value, query, max_elements.0)
    }

    /// How many values are in this one, at any depth: a few bytes can say many.
    ///
    /// Raises:
    ///     Limit: More than `most`.
    ///
    /// Example:
    ///     >>> from tare import blit
    ///     >>> blit.view(blit.encode([1, [2, 3], {"a": 4}])).elements()
    ///     6
    #[pyo3(signature = (most = Count(1 << 28)))]
    fn elements(&self, py: Python<'_>, most: Count) -> PyResult<u64> {
        self.long(py, || self.value.count(most.0))
    }

    /// The kind of list that an array's elements or an object's values lie in; ``VALUE`` of others.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode([300, 2])).kind
    /// 'INT'
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.value {
            Value::Array(array) => array.kind(),
            Value::Object(object) => object.kind(),
            _ => "VALUE",
        }
    }

    /// Bytes of `raw`.
    ///
    /// >>> from tare import blit
    /// >>> blit.view(blit.encode({})).nbytes
    /// 14
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        if self.is_alone() {
            return Ok(self.held.view().data().len());
        }
        Ok(self.document(py)?.as_bytes().len())
    }

    /// The value as a document of its own: that of a whole document is the document.
    ///
    /// >>> from tare import blit
    /// >>> part = blit.view(blit.encode({"a": [1, 2]}))["a"].raw()
    /// >>> blit.view(part).to_python()
    /// [1, 2]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.document(py)
    }

    fn __eq__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let theirs = match other.cast::<View>() {
            Ok(other) => other.get().compared(py)?,
            Err(_) if self.may_equal(other)? => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        let equal = self.compared(py)?.eq(theirs)?;
        Ok(pyo3::types::PyBool::new(py, equal).to_owned().into_any())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let view = py.import("tare.blit")?.getattr("view")?;
        let arguments = (self.document(py)?,);
        PyTuple::new(py, [view, arguments.into_pyobject(py)?.into_any()])
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        let _ = memo;
        slf
    }

    fn __sizeof__(&self) -> usize {
        size_of::<Self>().saturating_add(self.held.size())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        super::shown::shown(py, &self.value)
    }
}

impl View {
    /// Whether another object can equal this one: a dict an object, a list an array.
    fn may_equal(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(match &self.value {
            Value::Array(array) => {
                other.is_instance_of::<pyo3::types::PyList>() && other.len()? == array.len()
            }
            Value::Object(_) => other.is_instance_of::<pyo3::types::PyDict>(),
            _ => true,
        })
    }
}

/// The flags of a document are so many bytes before its end.
const FLAGS: usize = 5;

/// Whether a document is the one that canonical encoding gives of its value.
fn check_canonical(py: Python<'_>, view: &tare::blit::View<'_>) -> PyResult<()> {
    let wrong = |text: &str, offset: usize| {
        let error = Error::new(ErrorKind::Malformed, text).with_format("blit");
        to_py(py, error.with_offset(offset as u64))
    };
    if view.keeps_duplicates() || view.has_surrogates() {
        let text = "not canonical: names twice or halves of surrogate pairs are kept (rule V30)";
        return Err(wrong(text, view.data().len().saturating_sub(FLAGS)));
    }
    let options = Options {
        canonical: true,
        ..Options::default()
    };
    let root = view.root().map_err(|error| to_py(py, error))?;
    let again = encode::written(py, view, &root, options)?;
    if again == view.data() {
        return Ok(());
    }
    let text = "not canonical: encoding the value again gives other bytes (rule V30)";
    let bytes = again.iter().zip(view.data());
    Err(wrong(text, bytes.take_while(|(a, b)| a == b).count()))
}
