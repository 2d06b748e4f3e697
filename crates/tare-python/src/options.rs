//! The core's options from Python's arguments.

use pyo3::prelude::*;
use tare::compress::{Compressor, Kind, Layout, ReadOptions, WriteOptions};
use tare::{Error, ErrorKind};

use crate::error::to_py;
use crate::signals::Signals;

/// What `Writer` takes beside its sink.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Writing {
    threads: Option<usize>,
    chunk_size: Option<usize>,
    layout: Option<String>,
    checksum: bool,
    index: bool,
    content_size: Option<u64>,
    memory_limit: Option<u64>,
}

/// What readers take beside their source.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    compressor: Option<String>,
    threads: Option<usize>,
    strict: bool,
    max_output: Option<u64>,
    max_window: u64,
    build_index: bool,
    read_ahead: bool,
}

impl Writing {
    pub fn options(self, py: Python<'_>, signals: &Signals) -> PyResult<WriteOptions> {
        Ok(WriteOptions {
            threads: self.threads,
            chunk_size: self.chunk_size,
            layout: layout(py, self.layout.as_deref())?,
            checksum: self.checksum,
            index: self.index,
            content_size: self.content_size,
            memory_limit: self.memory_limit,
            cancel: Some(signals.token()),
        })
    }
}

impl Reading {
    pub fn options(self, py: Python<'_>, signals: &Signals) -> PyResult<ReadOptions> {
        Ok(ReadOptions {
            kind: kind(py, self.compressor.as_deref())?,
            threads: self.threads,
            strict: self.strict,
            max_output: self.max_output,
            max_window: self.max_window,
            build_index: self.build_index,
            read_ahead: self.read_ahead,
            cancel: Some(signals.token()),
            ..ReadOptions::default()
        })
    }
}

/// The layout of that name, `Auto` for none.
pub fn layout(py: Python<'_>, name: Option<&str>) -> PyResult<Layout> {
    let Some(name) = name else {
        return Ok(Layout::Auto);
    };
    let known = [Layout::Seekable, Layout::Single, Layout::Members];
    let found = known.into_iter().find(|layout| layout.name() == name);
    found.ok_or_else(|| {
        let shown: String = name.escape_default().take(80).collect();
        let text = format!("no layout {shown:?}; there are seekable, single and members");
        to_py(py, Error::new(ErrorKind::Usage, text))
    })
}

/// The kind that an id names; its level is checked and ignored.
pub fn kind(py: Python<'_>, id: Option<&str>) -> PyResult<Option<Kind>> {
    let Some(id) = id else {
        return Ok(None);
    };
    let compressor = Compressor::parse(id).map_err(|error| to_py(py, error))?;
    Ok(Some(compressor.kind()))
}
