//! `_tare.MessageDeadline`: what is left of a timeout; the Python layer has no clock of its own.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::to_py;
use tare::{Error, ErrorKind};

/// Longer than this is for ever: clocks cannot add more.
const FOR_EVER_S: f64 = 1e9;

/// How long what is there already is read behind the moment when waiting ends: a peer may send what
/// is no message (blank lines, control frames) as fast as it is read.
pub const GRACE: Duration = Duration::from_millis(100);

/// A moment of the monotonic clock; none is never.
#[pyclass(frozen, name = "MessageDeadline")]
pub struct Deadline(Option<Instant>);

#[pymethods]
impl Deadline {
    #[new]
    #[pyo3(signature = (seconds=None))]
    fn new(py: Python<'_>, seconds: Option<f64>) -> PyResult<Self> {
        moment(py, seconds).map(Self)
    }

    /// Seconds that are left, none below 0; None is for ever.
    fn left(&self) -> Option<f64> {
        let at = self.0?;
        Some(at.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// Whether nothing is left.
    #[getter]
    fn over(&self) -> bool {
        self.0.is_some_and(|at| at <= Instant::now())
    }

    /// Whether it has been over for so long that not even what is there is read any more.
    #[getter]
    fn long_over(&self) -> bool {
        self.0.is_some_and(|at| at.elapsed() >= GRACE)
    }
}

/// The moment that is so many seconds from now; those below 0 are 0.
pub fn moment(py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = seconds else {
        return Ok(None);
    };
    if seconds.is_nan() {
        let error = Error::new(ErrorKind::Usage, "timeout: expected seconds, not nan");
        return Err(to_py(py, error));
    }
    if seconds > FOR_EVER_S {
        return Ok(None);
    }
    Ok(Instant::now().checked_add(Duration::from_secs_f64(seconds.max(0.0))))
}
