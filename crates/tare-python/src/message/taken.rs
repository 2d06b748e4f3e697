//! Messages of a batch as Python's `bytes`, and where they lay in the stream.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tare::message::Message;

/// A batch: payloads, whether each is compressed (None if none is), where they lay.
pub type Taken<'py> = (Bound<'py, PyList>, Option<Bound<'py, PyBytes>>, Marks);

/// Messages one behind the other that take up the same number of bytes: most are of one kind.
struct Run {
    /// Index of the first.
    first: usize,
    /// Where it begins, or would if nothing else stood in front of it.
    start: u64,
    size: u64,
}

/// Where the messages of a batch begin and end; read by `tell` and by errors.
#[pyclass(frozen, name = "MessageMarks")]
#[derive(Default)]
pub struct Marks {
    runs: Vec<Run>,
    /// Where the message before the first ended.
    before: u64,
    /// Where the last one ended, and how many there are.
    end: u64,
    count: usize,
    number: u64,
}

impl Marks {
    /// Adds a message.
    #[inline]
    fn push(&mut self, offset: u64, end: u64) {
        let size = end.saturating_sub(offset);
        let goes_on = offset == self.end && self.runs.last().is_some_and(|run| run.size == size);
        if !goes_on {
            self.runs.push(Run {
                first: self.count,
                start: offset,
                size,
            });
        }
        self.end = end;
        self.count = self.count.saturating_add(1);
    }

    fn run(&self, index: usize) -> Option<&Run> {
        if index >= self.count {
            return None;
        }
        let behind = self.runs.partition_point(|run| run.first <= index);
        self.runs.get(behind.checked_sub(1)?)
    }
}

#[pymethods]
impl Marks {
    fn offset(&self, index: usize) -> Option<u64> {
        let run = self.run(index)?;
        let before = index.saturating_sub(run.first) as u64;
        Some(run.start.saturating_add(before.saturating_mul(run.size)))
    }

    /// Where so many messages ended.
    fn end(&self, count: usize) -> Option<u64> {
        let Some(last) = count.checked_sub(1) else {
            return Some(self.before);
        };
        Some(self.offset(last)?.saturating_add(self.run(last)?.size))
    }

    fn number(&self, index: u64) -> u64 {
        self.number.saturating_add(index)
    }
}

/// What is told of a message beside its bytes.
#[derive(Clone, Copy)]
pub struct Head {
    pub offset: u64,
    pub number: u64,
    pub compressed: bool,
}

impl Head {
    #[inline]
    pub fn of(message: &Message<'_>) -> Self {
        Self {
            offset: message.offset,
            number: message.number,
            compressed: message.compressed,
        }
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
        Self {
            payloads: Vec::with_capacity(usual),
            flags: Vec::new(),
            marks: Marks {
                before: end,
                end,
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

    /// Takes a message in, of which bytes were made, and which ends at `end`.
    #[inline]
    pub fn push(&mut self, payload: Bound<'py, PyBytes>, size: usize, head: Head, end: u64) {
        if self.payloads.is_empty() {
            self.marks.number = head.number;
        }
        if head.compressed && self.flags.is_empty() {
            self.flags = vec![0; self.payloads.len()];
        }
        if head.compressed || !self.flags.is_empty() {
            self.flags.push(u8::from(head.compressed));
        }
        self.marks.push(head.offset, end);
        self.bytes = self.bytes.saturating_add(size);
        self.payloads.push(payload);
    }

    /// What Python gets.
    pub fn taken(self, py: Python<'py>) -> PyResult<Taken<'py>> {
        let flags = (!self.flags.is_empty()).then(|| PyBytes::new(py, &self.flags));
        Ok((PyList::new(py, self.payloads)?, flags, self.marks))
    }
}
