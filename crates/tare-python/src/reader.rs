//! `tare._tare.Reader` and `SeekableReader`: the core's readers over a file or a Python object.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::compress::{ReadOptions, Reader as CoreReader, SeekableReader as CoreSeekable};
use tare::Error;

use crate::buffers::{fill, filled, writable};
use crate::facts;
use crate::options::Reading;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::stored::Stored;

#[pyclass(frozen, module = "tare._tare")]
pub struct Reader {
    state: Shared<CoreReader<Stored>>,
    signals: Signals,
    descriptor: Option<i32>,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(file: &Bound<'_, PyAny>, options: Reading) -> PyResult<Self> {
        let py = file.py();
        let signals = Signals::default();
        let options = options.options(py, &signals)?;
        let source = Stored::reading(file, 0, &signals)?;
        let descriptor = source.descriptor();
        let reader = py.detach(|| CoreReader::new(source, options));
        Ok(Self {
            state: Shared::new(reader.map_err(|error| signals.raise(py, error))?),
            signals,
            descriptor,
        })
    }

    /// Decodes with the GIL released, and copies with the GIL held: the buffer is the caller's.
    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let target = writable(buffer)?;
        if target.len_bytes() == 0 {
            return Ok(0);
        }
        loop {
            let copied = self.state.at_once(py, |reader| {
                let size = fill(py, &target, reader.buffer());
                reader.consume(size);
                size
            })?;
            if let Some(size @ 1..) = copied {
                return Ok(size);
            }
            if self.more(py)? == 0 {
                return Ok(0);
            }
        }
    }

    /// Plain bytes, at most `size`; none at the end.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        loop {
            let taken = self.state.at_once(py, |reader| {
                let ready = reader.buffer();
                let ready = ready.get(..size).unwrap_or(ready);
                let taken = PyBytes::new(py, ready);
                let taken_bytes = ready.len();
                reader.consume(taken_bytes);
                taken
            })?;
            match taken {
                Some(taken) if size == 0 || !taken.as_bytes().is_empty() => return Ok(taken),
                _ if self.more(py)? == 0 => return Ok(PyBytes::new(py, b"")),
                _ => {}
            }
        }
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = self.state.detached(py, |reader| reader.info())?;
        facts::info(py, &info)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let reader = self.state.take(py)?;
        py.detach(|| drop(reader));
        Ok(())
    }

    #[getter]
    fn descriptor(&self) -> Option<i32> {
        self.descriptor
    }

    fn __sizeof__(&self, py: Python<'_>) -> usize {
        let held = self.state.detached(py, |reader| reader.buffer_bytes());
        size_of::<Self>().saturating_add(held.unwrap_or(0))
    }
}

impl Reader {
    /// Makes plain bytes ready and says how many; 0 at the end.
    fn more(&self, py: Python<'_>) -> PyResult<usize> {
        let more = self
            .state
            .detached(py, |reader| reader.fill().map(<[u8]>::len))?;
        more.map_err(|error| self.signals.raise(py, error))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.state.forget_if_forked();
    }
}

/// Plain bytes that a read in order decodes at once before it copies them.
const STEP_BYTES: usize = 1 << 20;

#[pyclass(frozen, module = "tare._tare")]
pub struct SeekableReader {
    reader: RwLock<CoreSeekable<Stored>>,
    signals: Signals,
    descriptor: Option<i32>,
    process: u32,
}

#[pymethods]
impl SeekableReader {
    #[new]
    fn new(file: &Bound<'_, PyAny>, base: u64, options: Reading) -> PyResult<Self> {
        let py = file.py();
        let signals = Signals::default();
        let options = options.options(py, &signals)?;
        let source = Stored::reading(file, base, &signals)?;
        let descriptor = source.descriptor();
        let reader = py.detach(|| CoreSeekable::new(source, options));
        Ok(Self {
            reader: RwLock::new(reader.map_err(|error| signals.raise(py, error))?),
            signals,
            descriptor,
            process: std::process::id(),
        })
    }

    /// Plain bytes from an offset on, exactly `size` unless they end; several threads may.
    fn pread<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.check(py)?;
        let left = py
            .detach(|| self.read_lock(CoreSeekable::len))
            .saturating_sub(offset);
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(size);
        filled(py, size, |place| {
            let read = py.detach(|| self.read_lock(|reader| reader.read_at(offset, place)));
            read.map(|_| ())
                .map_err(|error| self.signals.raise(py, error))
        })
    }

    /// Reads in order from `position` on; decodes ahead once it is.
    fn readinto(
        &self,
        py: Python<'_>,
        position: u64,
        buffer: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        self.check(py)?;
        let target = writable(buffer)?;
        let mut place = vec![0; target.len_bytes().min(STEP_BYTES)];
        let read = py.detach(|| {
            let mut reader = self.reader.write().unwrap_or_else(PoisonError::into_inner);
            reader.seek(SeekFrom::Start(position))?;
            reader.read(&mut place)
        });
        match read {
            Ok(size) => Ok(fill(py, &target, place.get(..size).unwrap_or_default())),
            Err(error) => Err(match error.downcast::<Error>() {
                Ok(error) => self.signals.raise(py, error),
                Err(error) => PyErr::from(error),
            }),
        }
    }

    /// Plain bytes in all, chunks, whether the end is proven, the name of the kind, and whether
    /// the end looks cut.
    fn facts(&self, py: Python<'_>) -> (u64, usize, bool, &'static str, bool) {
        py.detach(|| self.read_lock(facts::of_seekable))
    }

    #[getter]
    fn descriptor(&self) -> Option<i32> {
        self.descriptor
    }

    fn __sizeof__(&self, py: Python<'_>) -> usize {
        let held = py.detach(|| self.read_lock(CoreSeekable::buffer_bytes));
        size_of::<Self>().saturating_add(held)
    }
}

/// What a file's headers say, without decoding.
#[pyfunction]
pub fn survey<'py>(file: &Bound<'py, PyAny>, base: u64) -> PyResult<Bound<'py, PyAny>> {
    let py = file.py();
    let signals = Signals::default();
    let source = Stored::reading(file, base, &signals)?;
    let options = ReadOptions {
        cancel: Some(signals.token()),
        ..ReadOptions::default()
    };
    let found = py.detach(|| tare::compress::survey(&source, &options));
    match found {
        Ok(found) => facts::survey(py, &found),
        Err(error) => Err(signals.raise(py, error)),
    }
}

impl SeekableReader {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        let text = "opened before a fork and used in the child: open it in the child";
        let error = Error::new(tare::ErrorKind::Usage, text);
        Err(crate::error::to_py(py, error))
    }

    /// The lock is only waited for with the GIL released.
    fn read_lock<T>(&self, work: impl FnOnce(&CoreSeekable<Stored>) -> T) -> T {
        work(&self.reader.read().unwrap_or_else(PoisonError::into_inner))
    }
}
