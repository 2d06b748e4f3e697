//! The core's options of documents from Python's keywords.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tare::blit::{
    Checksum, Duplicates, JsonOptions, KeyOrder, Layout, NonFinite, Numbers, Options, Surrogates,
    View,
};
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// The names of all options of [`Writing`], as `tare.blit.Writing` has them.
const WRITING: [&str; 9] = [
    "canonical",
    "layout",
    "numbers",
    "duplicates",
    "surrogates",
    "checksum",
    "aligned",
    "pool",
    "compress_strings",
];

/// How a document is written, as keywords say it.
#[derive(Default)]
pub struct Writing {
    pub options: Options,
    /// Whether anything was said of names that are there twice, and of halves of surrogate pairs.
    pub says_duplicates: bool,
    pub says_surrogates: bool,
}

impl Writing {
    pub fn read(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut writing = Self::default();
        for (name, value) in keywords.into_iter().flatten() {
            writing.take(name.extract()?, &value)?;
        }
        Ok(writing)
    }

    fn take(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let options = &mut self.options;
        match name {
            "canonical" => options.canonical = flag(name, value)?,
            "aligned" => options.aligned = flag(name, value)?,
            "pool" => options.pool = flag(name, value)?,
            "layout" => {
                let known = [("columns", Layout::Columns), ("rows", Layout::Rows)];
                options.layout = named(name, value, &known)?;
            }
            "numbers" => {
                let known = [("value", Numbers::Value), ("text", Numbers::Text)];
                options.numbers = named(name, value, &known)?;
            }
            "duplicates" => {
                let known = [
                    ("last", Duplicates::Last),
                    ("error", Duplicates::Error),
                    ("keep", Duplicates::Keep),
                ];
                options.duplicates = named(name, value, &known)?;
                self.says_duplicates = !value.is_none();
            }
            "surrogates" => {
                let known = [("error", Surrogates::Error), ("keep", Surrogates::Keep)];
                options.surrogates = named(name, value, &known)?;
                self.says_surrogates = !value.is_none();
            }
            "checksum" if value.is_none() => options.checksum = Checksum::Auto,
            "checksum" if flag(name, value)? => options.checksum = Checksum::On,
            "checksum" => options.checksum = Checksum::Off,
            "compress_strings" => {
                let bytes = value.extract::<Option<usize>>();
                options.compress_strings =
                    bytes.map_err(|_| wrong(name, value, "no number of bytes, nor None"))?;
            }
            _ => return Err(unknown(value.py(), name)),
        }
        Ok(())
    }
}

fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value
        .extract()
        .map_err(|_| wrong(name, value, "neither True nor False"))
}

/// What a name stands for; the first for None.
fn named<T: Copy>(what: &str, value: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    if !value.is_none() && !value.is_instance_of::<PyString>() {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let text = format!("none of {}", names.join(", "));
        return Err(wrong(what, value, &text));
    }
    let name: Option<String> = value.extract()?;
    one_of(value.py(), what, name.as_deref(), known)
}

/// A number from 0 on, as an argument.
#[derive(Clone, Copy)]
pub struct Count(pub u64);

impl Count {
    /// As a size; the largest for what none can be.
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                let shown: String = value.to_string().chars().take(80).collect();
                let text = format!("{shown} is too small or too large: 0 to 2^64 - 1");
                return usage(value.py(), text);
            }
            error
        })
    }
}

#[cold]
fn wrong(name: &str, value: &Bound<'_, PyAny>, text: &str) -> PyErr {
    let shown = value
        .repr()
        .map(|shown| shown.to_string_lossy().into_owned());
    let shown: String = shown.unwrap_or_default().chars().take(80).collect();
    usage(value.py(), format!("{name}={shown} is {text}"))
}

/// The error of an option that there is not, which tells near ones.
#[cold]
fn unknown(py: Python<'_>, name: &str) -> PyErr {
    let near = py
        .import("difflib")
        .and_then(|difflib| difflib.call_method1("get_close_matches", (name, WRITING)))
        .and_then(|near| near.extract::<Vec<String>>());
    let near = near.unwrap_or_default();
    let shown: String = name.escape_default().take(80).collect();
    usage(
        py,
        if near.is_empty() {
            format!("no option {shown:?}: there are {}", WRITING.join(", "))
        } else {
            format!("no option {shown:?}; near: {}", near.join(", "))
        },
    )
}

pub fn usage(py: Python<'_>, text: String) -> PyErr {
    to_py(py, Error::new(ErrorKind::Usage, text).with_format("blit"))
}

/// What a value of a document needs to be written as it is.
pub fn like(view: &View<'_>) -> Options {
    Options {
        duplicates: if view.keeps_duplicates() {
            Duplicates::Keep
        } else {
            Duplicates::Last
        },
        surrogates: if view.has_surrogates() {
            Surrogates::Keep
        } else {
            Surrogates::Error
        },
        ..Options::default()
    }
}

/// How JSON text is written, as keywords say it.
pub fn json(
    py: Python<'_>,
    order: &str,
    nan: &str,
    bytes: &str,
    max_output: u64,
) -> PyResult<JsonOptions> {
    let orders = [
        ("insertion", KeyOrder::Insertion),
        ("lexical", KeyOrder::Lexical),
    ];
    let nans = [
        ("error", NonFinite::Error),
        ("null", NonFinite::Null),
        ("literal", NonFinite::Literal),
    ];
    Ok(JsonOptions {
        order: one_of(py, "order", Some(order), &orders)?,
        nan: one_of(py, "nan", Some(nan), &nans)?,
        bytes_as_base64: one_of(
            py,
            "bytes",
            Some(bytes),
            &[("error", false), ("base64", true)],
        )?,
        max_output,
    })
}

/// What a name stands for; the first for none.
fn one_of<T: Copy>(
    py: Python<'_>,
    what: &str,
    name: Option<&str>,
    known: &[(&str, T)],
) -> PyResult<T> {
    let found = match name {
        None => known.first(),
        Some(name) => known.iter().find(|(known, _)| *known == name),
    };
    found.map(|(_, value)| *value).ok_or_else(|| {
        let shown: String = name.unwrap_or_default().escape_default().take(80).collect();
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let text = format!("{what}={shown:?} is none of {}", names.join(", "));
        to_py(py, Error::new(ErrorKind::Usage, text).with_format("blit"))
    })
}
