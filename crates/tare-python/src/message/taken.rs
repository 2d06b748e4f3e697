//! Messages of a batch as Python's `bytes`, and where they lay in the stream.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tare::message::Message;

use crate::buffers::copied;

/// A batch: payloads, whether each is compressed (None if none is), where they lay.
pub type Taken<'py> = (Bound<'py, PyList>, Option<Bound<'py, PyBytes>>, Marks);

/// Where the messages of a batch begin; read by `tell` and by errors.
#[pyclass(frozen, name = "MessageMarks")]
#[derive(Default)]
pub struct Marks {
    /// Where the message before the first ended, then where each did.
    ends: Vec<u64>,
    /// The messages that do not begin where the one before ended, and where they do.
    apart: Vec<(usize, u64)>,
    first: u64,
}

#[pymethods]
impl Marks {
    fn offset(&self, index: usize) -> Option<u64> {
        match self.apart.binary_search_by_key(&index, |(at, _)| *at) {
            Ok(place) => self.apart.get(place).map(|(_, offset)| *offset),
            Err(_) if index.saturating_add(1) < self.ends.len() => self.ends.get(index).copied(),
            Err(_) => None,
        }
    }

    fn end(&self, index: usize) -> Option<u64> {
        self.ends.get(index).copied()
    }

    fn number(&self, index: u64) -> u64 {
        self.first.saturating_add(index)
    }
}

/// A batch that grows.
pub struct Batch<'py> {
    payloads: Vec<Bound<'py, PyBytes>>,
    /// Empty as long as no message is compressed.
    flags: Vec<u8>,
    marks: Marks,
    bytes: usize,
}

impl<'py> Batch<'py> {
    /// An empty one, of about so many messages; the one before it ended at `end`.
    pub fn new(end: u64, usual: usize) -> Self {
        let mut ends = Vec::with_capacity(usual.saturating_add(1));
        ends.push(end);
        Self {
            payloads: Vec::with_capacity(usual),
            flags: Vec::new(),
            marks: Marks {
                ends,
                ..Marks::default()
            },
            bytes: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.payloads.len()
    }

    /// Payload bytes of it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a message in.
    #[inline]
    pub fn push(&mut self, py: Python<'py>, message: &Message<'_>) -> PyResult<()> {
        if self.payloads.is_empty() {
            self.marks.first = message.number;
        }
        if message.compressed && self.flags.is_empty() {
            self.flags = vec![0; self.payloads.len()];
        }
        if message.compressed || !self.flags.is_empty() {
            self.flags.push(u8::from(message.compressed));
        }
        if self.marks.ends.last() != Some(&message.offset) {
            self.marks.apart.push((self.payloads.len(), message.offset));
        }
        self.bytes = self.bytes.saturating_add(message.bytes.len());
        self.payloads.push(copied(py, message.bytes)?);
        Ok(())
    }

    /// Says where the message that was taken in last ended.
    #[inline]
    pub fn ended(&mut self, at: u64) {
        self.marks.ends.push(at);
    }

    /// What Python gets.
    pub fn taken(self, py: Python<'py>) -> PyResult<Taken<'py>> {
        let flags = (!self.flags.is_empty()).then(|| PyBytes::new(py, &self.flags));
        Ok((PyList::new(py, self.payloads)?, flags, self.marks))
    }
}
