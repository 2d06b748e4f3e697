//! Where stored bytes come from and go to: a file of the system, or a Python file object.

use std::fs::File;
use std::io::{self, ErrorKind as IoKind, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyBlockingIOError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::compress::ReadAt;

use crate::buffers::filled;
use crate::error::os_error;
use crate::signals::Signals;

/// An open file. Without the GIL when it is the system's; with it for each call otherwise.
pub enum Stored {
    System(Arc<File>, Signals),
    Python(Object),
}

/// A file of the system that is opened once, for every reader of it: whatever becomes of its name.
#[pyclass(frozen, module = "tare._tare")]
pub struct StoredFile(Arc<File>);

#[pymethods]
impl StoredFile {
    #[new]
    fn new(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        // A FIFO opens when somebody writes to it: whoever that is may need the GIL.
        let opened = py.detach(|| File::open(path));
        Ok(Self(Arc::new(opened.map_err(|error| os_error(py, error))?)))
    }

    /// Bytes in it.
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        ReadAt::size(&*self.0).map_err(|error| os_error(py, error))
    }

    /// Bytes from an offset on, at most `size`; its position stays.
    fn pread<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut read = 0;
        let place = filled(py, size, |place| {
            let done = py.detach(|| ReadAt::read_at(&*self.0, offset, place));
            read = done.map_err(|error| os_error(py, error))?;
            Ok(())
        })?;
        Ok(PyBytes::new(
            py,
            place.as_bytes().get(..read).unwrap_or_default(),
        ))
    }
}

/// A Python file object, where its stored stream begins, and a lock for its position.
pub struct Object {
    file: Py<PyAny>,
    base: u64,
    position: Mutex<()>,
}

impl Stored {
    /// Opens a path, or takes a Python file object as it is.
    pub fn reading(file: &Bound<'_, PyAny>, base: u64, signals: &Signals) -> PyResult<Self> {
        Self::open(file, base, signals, |path| File::open(path))
    }

    /// Opens a file that is there for writing, or takes a Python file object as it is.
    pub fn writing(file: &Bound<'_, PyAny>, signals: &Signals) -> PyResult<Self> {
        Self::open(file, 0, signals, |path| {
            File::options().write(true).open(path)
        })
    }

    fn open(
        file: &Bound<'_, PyAny>,
        base: u64,
        signals: &Signals,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> PyResult<Self> {
        if let Ok(path) = file.cast::<pyo3::types::PyString>() {
            let path: std::path::PathBuf = path.extract()?;
            let opened = open(&path).map_err(|error| os_error(file.py(), error))?;
            return Ok(Self::System(Arc::new(opened), signals.clone()));
        }
        if let Ok(opened) = file.cast::<StoredFile>() {
            return Ok(Self::System(Arc::clone(&opened.get().0), signals.clone()));
        }
        Ok(Self::Python(Object {
            file: file.clone().unbind(),
            base,
            position: Mutex::default(),
        }))
    }

    /// The system's number of the file, where it is one of the system.
    #[cfg(unix)]
    pub fn descriptor(&self) -> Option<i32> {
        use std::os::fd::AsRawFd;

        match self {
            Self::System(file, _) => Some(file.as_raw_fd()),
            Self::Python(_) => None,
        }
    }

    #[cfg(not(unix))]
    pub fn descriptor(&self) -> Option<i32> {
        None
    }
}

/// Runs the handlers of a signal that interrupted a call, and ends it if one raises.
fn interrupted<T>(result: io::Result<T>, signals: &Signals) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == IoKind::Interrupted && signals.check() => {
            // The core would try again on `Interrupted`; its answer to this is the handler's.
            Err(io::Error::other("a signal handler raised"))
        }
        other => other,
    }
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::System(file, signals) => interrupted((&**file).read(into), signals),
            Self::Python(object) => object.read("read1", into),
        }
    }
}

impl Write for Stored {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::System(file, signals) => interrupted((&**file).write(bytes), signals),
            Self::Python(object) => object.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::System(..) => Ok(()),
            Self::Python(object) => Python::attach(|py| {
                let file = object.file.bind(py);
                match file.getattr_opt("flush")? {
                    Some(flush) => flush.call0().map(|_| ()),
                    None => Ok(()),
                }
            })
            .map_err(io::Error::from),
        }
    }
}

impl ReadAt for Stored {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::System(file, signals) => interrupted(file.read_at(offset, into), signals),
            Self::Python(object) => object.read_at(offset, into),
        }
    }

    fn size(&self) -> io::Result<u64> {
        match self {
            Self::System(file, _) => ReadAt::size(&**file),
            Self::Python(object) => object.size(),
        }
    }
}

impl Object {
    fn read(&self, method: &str, into: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let file = self.file.bind(py);
            // `read1` gives what a pipe holds, `read` would wait until all it asked for is there.
            let answer = match file.getattr_opt(method)? {
                Some(read1) => read1.call1((into.len(),))?,
                None => file.call_method1("read", (into.len(),))?,
            };
            if answer.is_none() {
                return Err(PyBlockingIOError::new_err("the file has no bytes yet"));
            }
            let bytes: &[u8] = answer.extract()?;
            let place = into.get_mut(..bytes.len());
            let place = place.ok_or_else(|| PyValueError::new_err("read gave more than asked"))?;
            place.copy_from_slice(bytes);
            Ok(bytes.len())
        })
        .map_err(io::Error::from)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let file = self.file.bind(py);
            let answer = file.call_method1("write", (PyBytes::new(py, bytes),))?;
            if !answer.is_none() {
                return answer.extract::<usize>().map(|size| size.min(bytes.len()));
            }
            // A raw file says None if it takes nothing now; others do not say, and take all.
            let raw = py.import("io")?.getattr("RawIOBase")?;
            if file.is_instance(&raw)? {
                return Err(PyBlockingIOError::new_err("the file takes no bytes now"));
            }
            Ok(bytes.len())
        })
        .map_err(io::Error::from)
    }

    /// Only ever waits for the lock without the GIL: the core calls it detached.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let _alone = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.base.saturating_add(offset);
        Python::attach(|py| self.file.bind(py).call_method1("seek", (at,)).map(|_| ()))?;
        self.read("read", into)
    }

    fn size(&self) -> io::Result<u64> {
        let _alone = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Python::attach(|py| {
            let file = self.file.bind(py);
            file.call_method1("seek", (0, 2))?.extract::<u64>()
        })?;
        Ok(end.saturating_sub(self.base))
    }
}
