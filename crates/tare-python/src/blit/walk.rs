//! A walk over Python objects into a writer.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use tare::blit::{Number, Writer};
use tare::{Error, ErrorKind};

use super::encode::again;
use super::fault::Fault;
use super::met::{Met, LONGEST};
use super::objects::wtf8_of;
use super::raw::{Exact, Seen};
use super::view::View;

type Done<T = ()> = Result<T, Box<Fault>>;

/// How often `default` may give what needs `default` itself.
const DEFAULTS: usize = 254;
/// Signals are looked for after so many containers.
const PATIENCE: usize = 1 << 16;

pub struct Walk<'w, 'py> {
    py: Python<'py>,
    writer: &'w mut Writer<'static>,
    default: Option<Bound<'py, PyAny>>,
    /// Halves of surrogate pairs are kept.
    keeps_surrogates: bool,
    met: Met,
    /// What would come back as another type is refused.
    exact: bool,
    /// Calls of `default` inside each other.
    defaults: usize,
    wait: usize,
}

impl<'w, 'py> Walk<'w, 'py> {
    pub fn new(
        py: Python<'py>,
        writer: &'w mut Writer<'static>,
        default: Option<Bound<'py, PyAny>>,
        keeps_surrogates: bool,
    ) -> Self {
        Self {
            py,
            writer,
            default: default.filter(|default| !default.is_none()),
            keeps_surrogates,
            met: Met::default(),
            exact: false,
            defaults: 0,
            wait: PATIENCE,
        }
    }

    /// Refuses tuples, Decimals and objects of subclasses.
    pub fn exact(self) -> Self {
        Self {
            exact: true,
            ..self
        }
    }

    /// With names that the writer knows.
    pub fn with(self, met: Met) -> Self {
        Self { met, ..self }
    }

    /// The names that the writer knows now.
    pub fn met(self) -> Met {
        self.met
    }

    /// Writes an object, which the caller keeps until this returns.
    pub fn value(&mut self, object: Seen<'_>) -> Done {
        self.value_of(object, object.exact())
    }

    #[inline]
    fn value_of(&mut self, object: Seen<'_>, exact: Exact) -> Done {
        match exact {
            Exact::Str => self.text(object)?,
            Exact::Int => match object.int() {
                Some(value) => self.writer.int(value)?,
                None => self.long(&object.bound(self.py))?,
            },
            Exact::Float => self.writer.float(object.float())?,
            Exact::Bool(value) => self.writer.bool(value)?,
            Exact::None => self.writer.null()?,
            Exact::Dict => self.dict(object)?,
            Exact::List => self.items(object, Seen::items_of_list, Seen::item_of_list)?,
            Exact::Tuple if self.exact => {
                return Err(Fault::refused(&object.bound(self.py), "value"));
            }
            Exact::Tuple => self.items(object, Seen::items_of_tuple, Seen::item_of_tuple)?,
            Exact::Bytes => {
                let bytes = object.bound(self.py);
                let bytes = bytes.cast::<PyBytes>().map_err(PyErr::from)?;
                self.writer.bytes(bytes.as_bytes())?;
            }
            Exact::Other => self.other(&object.bound(self.py))?,
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: Seen<'_>) -> Done {
        if let Some(text) = text.text() {
            self.writer.str(text)?;
        } else {
            let bytes = self.surrogates(text)?;
            self.writer.wtf8(&bytes)?;
        }
        Ok(())
    }

    /// The bytes of text with halves of surrogate pairs, where they are kept.
    #[cold]
    fn surrogates(&self, text: Seen<'_>) -> Done<Vec<u8>> {
        let raised = PyErr::take(self.py);
        let bytes = match wtf8_of(&text.bound(self.py)) {
            Ok(bytes) => bytes,
            Err(error) => return Err(raised.unwrap_or(error).into()),
        };
        // Two halves one after the other are not what their character is, and a document has no
        // bytes for them beside it: `'\ud83d\ude00'` would not come back.
        if has_pair(&bytes) {
            let text = "the two halves of a surrogate pair one after the other, which a document \
                cannot keep apart: text.encode(\"utf-16\", \"surrogatepass\").decode(\"utf-16\") \
                makes them the one character they stand for";
            return Err(Fault::value(text));
        }
        if !self.keeps_surrogates {
            let text = "half of a surrogate pair, which is no text; surrogates=\"keep\" keeps it";
            return Err(Fault::value(text));
        }
        Ok(bytes)
    }

    /// Writes what no code of others is needed for; false, and nothing is written, if it is.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: it is most of what is done")]
    fn plain(&mut self, object: Seen<'_>, exact: Exact) -> Done<bool> {
        match exact {
            Exact::Str => {
                let Some(text) = object.text() else {
                    drop(PyErr::take(self.py));
                    return Ok(false);
                };
                self.writer.str(text)?;
            }
            Exact::Int => {
                let Some(value) = object.int() else {
                    return Ok(false);
                };
                self.writer.int(value)?;
            }
            Exact::Float => self.writer.float(object.float())?,
            Exact::Bool(value) => self.writer.bool(value)?,
            Exact::None => self.writer.null()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An array, whose items are kept each while it is written.
    #[inline]
    fn items<'a>(
        &mut self,
        array: Seen<'a>,
        size: impl Fn(Seen<'a>) -> isize,
        item: impl Fn(Seen<'a>, isize) -> Option<Seen<'a>>,
    ) -> Done {
        self.wait()?;
        let mut n = size(array);
        let first = if n > 0 { item(array, 0) } else { None };
        if let Some(Exact::Float | Exact::Int) = first.map(Seen::exact) {
            let number = |i| item(array, i).and_then(number);
            if self.writer.numbers((0..n).map(number))? {
                return Ok(());
            }
        }
        let _kept = array.kept();
        self.writer.begin_array()?;
        let mut i = 0;
        while i < n {
            let Some(item) = item(array, i) else {
                drop(PyErr::take(self.py));
                break;
            };
            let exact = item.exact();
            let done = self.plain(item, exact);
            if !done.map_err(|fault| fault.at(i))? {
                self.value_of(item, exact).map_err(|fault| fault.at(i))?;
                // Code of others may have changed it.
                n = size(array);
            }
            i += 1;
        }
        self.writer.end()?;
        Ok(())
    }

    fn dict(&mut self, dict: Seen<'_>) -> Done {
        let _kept = dict.kept();
        self.wait()?;
        self.writer.begin_object()?;
        let (mut at, mut i, n) = (0, 0, dict.entries());
        while let Some((key, value)) = dict.next_entry(&mut at) {
            let (met, exact) = (self.is_met(key)?, value.exact());
            if !met
                || !self
                    .plain(value, exact)
                    .map_err(|fault| under(fault, key))?
            {
                self.entry(key, met, value, exact)?;
            }
            i += 1;
        }
        if dict.entries() != n || usize::try_from(n) != Ok(i) {
            let text = "a dict that changed while it was encoded";
            return Err(pyo3::exceptions::PyRuntimeError::new_err(text).into());
        }
        self.writer.end()?;
        Ok(())
    }

    /// An entry of a dict, of which the name is written if it is a `met` one.
    fn entry(&mut self, key: Seen<'_>, met: bool, value: Seen<'_>, exact: Exact) -> Done {
        // The code of others may take the entry out of the dict while either is written: that
        // of a name which is no plain `str`, of a codec's error handler, of the value.
        let _key = key.kept();
        let _value = (!met).then(|| value.kept());
        if !met {
            self.other_key(key)?;
        }
        self.value_of(value, exact)
            .map_err(|fault| under(fault, key))
    }

    /// A name of an object.
    fn key(&mut self, key: Seen<'_>) -> Done {
        if self.is_met(key)? {
            return Ok(());
        }
        self.other_key(key)
    }

    /// Whether a name is the one that came here the last time, and is written.
    #[inline]
    fn is_met(&mut self, key: Seen<'_>) -> Done<bool> {
        let met = &self.met;
        Ok(self.writer.key_if(|step| met.is(step, key))?)
    }

    fn other_key(&mut self, key: Seen<'_>) -> Done {
        if let Some(name) = self.met.elsewhere(key) {
            let step = self.writer.key_again(name)?;
            self.met.note(step, key);
            return Ok(());
        }
        let is_exact = key.is_str();
        if !is_exact && !key.bound(self.py).is_instance_of::<PyString>() {
            return Err(Fault::refused(&key.bound(self.py), "name"));
        }
        let Some(text) = key.text() else {
            let bytes = self.surrogates(key)?;
            self.writer.key_wtf8(&bytes)?;
            return Ok(());
        };
        let (name, step) = self.writer.intern(text)?;
        // One of a subclass may run code of its own when it is let go.
        if is_exact && text.len() <= LONGEST {
            self.met.note(step, key);
            self.met.known(key, name);
        }
        Ok(())
    }

    /// An integer beyond i64: u64, else its digits.
    #[cold]
    fn long(&mut self, object: &Bound<'_, PyAny>) -> Done {
        if let Ok(value) = object.extract::<u64>() {
            self.writer.uint(value)?;
            return Ok(());
        }
        let text = self
            .py
            .get_type::<PyInt>()
            .call_method1("__repr__", (object,));
        let Ok(text) = text else {
            let text =
                "an integer of more digits than sys.set_int_max_str_digits() allows to write";
            return Err(Error::new(ErrorKind::Limit, text).into());
        };
        self.writer.number_text(text.extract()?)?;
        Ok(())
    }

    /// Objects of other types and of subclasses, whose own code may run.
    fn other(&mut self, object: &Bound<'_, PyAny>) -> Done {
        if self.exact && !object.is_instance_of::<View>() {
            return Err(Fault::refused(object, "value"));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return self.text(Seen::of(text));
        }
        if object.is_instance_of::<PyBool>() || object.is_instance_of::<PyInt>() {
            return match Seen::of(object).int() {
                Some(value) => Ok(self.writer.int(value)?),
                None => self.long(object),
            };
        }
        if object.is_instance_of::<PyFloat>() {
            self.writer.float(Seen::of(object).float())?;
        } else if object.is_instance_of::<PyDict>() {
            self.mapping(object)?;
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            self.iterable(object)?;
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            self.writer.bytes(bytes.as_bytes())?;
        } else if let Ok(view) = object.cast::<View>() {
            let view = view.get();
            again(self.writer, view.held.view(), view.value())?;
        } else if object.is_instance(&self.py.import("decimal")?.getattr("Decimal")?)? {
            self.decimal(object)?;
        } else {
            self.by_default(object)?;
        }
        Ok(())
    }

    /// A dict that may say what its entries are.
    fn mapping(&mut self, object: &Bound<'_, PyAny>) -> Done {
        self.wait()?;
        self.writer.begin_object()?;
        let entries = object.call_method0("items")?;
        for entry in entries.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry?.extract()?;
            self.key(Seen::of(&key))?;
            self.value(Seen::of(&value))
                .map_err(|fault| fault.under(Seen::of(&key).text().unwrap_or("?")))?;
        }
        self.writer.end()?;
        Ok(())
    }

    /// A list or tuple that may say what its items are.
    fn iterable(&mut self, object: &Bound<'_, PyAny>) -> Done {
        self.wait()?;
        self.writer.begin_array()?;
        for (i, item) in (0..).zip(object.try_iter()?) {
            self.value(Seen::of(&item?)).map_err(|fault| fault.at(i))?;
        }
        self.writer.end()?;
        Ok(())
    }

    fn decimal(&mut self, object: &Bound<'_, PyAny>) -> Done {
        if object.call_method0("is_finite")?.is_truthy()? {
            let text = object.str()?;
            self.writer.number_text(text.to_str()?)?;
        } else if object.call_method0("is_snan")?.is_truthy()? {
            let text = "a signaling NaN, which no float is; a quiet one, Decimal(\"NaN\"), is kept";
            return Err(Fault::value(text));
        } else {
            let value: f64 = object.extract()?;
            self.writer.float(value)?;
        }
        Ok(())
    }

    fn by_default(&mut self, object: &Bound<'_, PyAny>) -> Done {
        let Some(default) = self.default.clone() else {
            return Err(Fault::refused(object, "value"));
        };
        if self.defaults >= DEFAULTS {
            let text = format!("default gave what needs default {DEFAULTS} times");
            return Err(Error::new(ErrorKind::Limit, text).into());
        }
        self.writer.check_stack(self.defaults)?;
        self.defaults += 1;
        let made = default.call1((object,))?;
        self.value(Seen::of(&made))?;
        self.defaults -= 1;
        Ok(())
    }

    /// Lets handlers of signals run from time to time.
    #[inline]
    fn wait(&mut self) -> Done {
        self.wait = self.wait.wrapping_sub(1);
        if self.wait == 0 {
            self.wait = PATIENCE;
            self.py.check_signals()?;
        }
        Ok(())
    }
}

/// A number of an array; None of what is none, or too large.
#[inline]
fn number(item: Seen<'_>) -> Option<Number> {
    match item.exact() {
        Exact::Float => Some(Number::Float(item.float())),
        Exact::Int => item.int().map(Number::Int),
        _ => None,
    }
}

/// A fault of the value that has this name.
#[cold]
#[allow(
    clippy::unnecessary_box_returns,
    reason = "a result of one word, as everywhere here"
)]
fn under(fault: Box<Fault>, key: Seen<'_>) -> Box<Fault> {
    fault.under(key.text().unwrap_or("?"))
}

/// Whether a first half is followed by a second one, as three bytes each.
fn has_pair(text: &[u8]) -> bool {
    let pair = |bytes: &[u8]| matches!(bytes, [0xED, 0xA0..=0xAF, _, 0xED, 0xB0..=0xBF, _]);
    text.windows(6).any(pair)
}
