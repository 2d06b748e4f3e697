//! The core's options of documents from Python's keywords.

use pyo3::prelude::*;
use tare::blit::{
    Checksum, Duplicates, JsonOptions, KeyOrder, Layout, NonFinite, Numbers, Options, Surrogates,
    View,
};
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// How a document is written, as keywords say it.
#[derive(Default)]
pub struct Writing<'a> {
    pub canonical: bool,
    pub layout: Option<&'a str>,
    pub numbers: Option<&'a str>,
    pub duplicates: Option<&'a str>,
    pub surrogates: Option<&'a str>,
    pub checksum: Option<bool>,
    pub aligned: bool,
    pub pool: bool,
    pub compress_strings: Option<usize>,
}

impl Writing<'_> {
    pub fn options(&self, py: Python<'_>) -> PyResult<Options> {
        let layouts = [("columns", Layout::Columns), ("rows", Layout::Rows)];
        let numbers = [("value", Numbers::Value), ("text", Numbers::Text)];
        let duplicates = [
            ("last", Duplicates::Last),
            ("error", Duplicates::Error),
            ("keep", Duplicates::Keep),
        ];
        let surrogates = [("error", Surrogates::Error), ("keep", Surrogates::Keep)];
        Ok(Options {
            layout: one_of(py, "layout", self.layout, &layouts)?,
            numbers: one_of(py, "numbers", self.numbers, &numbers)?,
            duplicates: one_of(py, "duplicates", self.duplicates, &duplicates)?,
            surrogates: one_of(py, "surrogates", self.surrogates, &surrogates)?,
            checksum: match self.checksum {
                None => Checksum::Auto,
                Some(true) => Checksum::On,
                Some(false) => Checksum::Off,
            },
            aligned: self.aligned,
            pool: self.pool,
            compress_strings: self.compress_strings,
            canonical: self.canonical,
        })
    }
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
