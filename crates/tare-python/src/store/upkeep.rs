//! Collecting, checking and repairing, with Ctrl-C.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tare::store::{CheckLevel, CheckReport, GcOptions, Store};
use tare::{Error, ErrorKind};

use super::{fault, reports};
use crate::error::to_py;
use crate::signals::Signals;

/// How often signals are asked for, and progress is told.
const INTERVAL: Duration = Duration::from_millis(100);

pub fn gc<'py>(
    py: Python<'py>,
    store: &Store,
    grace_s: f64,
    dry_run: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let grace = Duration::try_from_secs_f64(grace_s).map_err(|_| {
        let text = format!("grace={grace_s} is no length of time");
        to_py(py, Error::new(ErrorKind::Usage, text))
    })?;
    let options = GcOptions { grace, dry_run };
    let report = py.detach(|| store.gc(&options));
    reports::gc(py, &report.map_err(|error| fault::raised(py, error))?)
}

pub fn check<'py>(
    py: Python<'py>,
    store: &Store,
    full: bool,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let level = if full {
        CheckLevel::Full
    } else {
        CheckLevel::Quick
    };
    reports::check(py, &checked(py, store, level, progress)?)
}

/// Checks, and repairs what was found; the findings and what was done.
pub fn repair<'py>(
    py: Python<'py>,
    store: &Store,
    apply: bool,
    purge: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let found = checked(py, store, CheckLevel::Full, None)?;
    let actions = py.detach(|| store.repair(&found, apply, purge));
    let actions = actions.map_err(|error| fault::raised(py, error))?;
    Ok((reports::check(py, &found)?, reports::actions(py, &actions)?))
}

fn checked(
    py: Python<'_>,
    store: &Store,
    level: CheckLevel,
    progress: Option<&Py<PyAny>>,
) -> PyResult<CheckReport> {
    let signals = Signals::default();
    let mut raised = None;
    let found = py.detach(|| {
        let mut last = Instant::now();
        store.check(level, &mut |done| {
            if last.elapsed() < INTERVAL {
                return true;
            }
            last = Instant::now();
            if signals.check() {
                return false;
            }
            let told = progress.map(|tell| Python::attach(|py| tell.call1(py, (done,)).map(drop)));
            if let Some(Err(error)) = told {
                raised = Some(error);
            }
            raised.is_none()
        })
    });
    match (found, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(found), None) => Ok(found),
        (Err(error), None) if error.kind() == ErrorKind::Cancelled => Err(signals.raise(py, error)),
        (Err(error), None) => Err(fault::raised(py, error)),
    }
}
