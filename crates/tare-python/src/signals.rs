//! Ctrl-C while the core computes or waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tare::compress::CancelToken;
use tare::{Error, ErrorKind};

use crate::error::to_py;

/// How often signals are asked for at most: each time takes the GIL.
const INTERVAL: Duration = Duration::from_millis(50);

/// What a signal handler raised, to be raised again where the work ends.
#[derive(Clone, Default)]
pub struct Signals(Arc<Mutex<Option<PyErr>>>);

impl Signals {
    /// Runs the handlers of signals that came; true if one raised.
    pub fn check(&self) -> bool {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                true
            }
        })
    }

    /// A token that ends the core's work when a signal's handler raises.
    pub fn token(&self) -> CancelToken {
        let signals = self.clone();
        let last = Mutex::new(Instant::now());
        CancelToken::with_probe(move || {
            let mut at = last.lock().unwrap_or_else(PoisonError::into_inner);
            if at.elapsed() < INTERVAL {
                return false;
            }
            *at = Instant::now();
            drop(at);
            signals.check()
        })
    }

    /// The exception for an error of the core: what a handler raised, if that ended the work.
    pub fn raise(&self, py: Python<'_>, error: Error) -> PyErr {
        if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Io) {
            let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(raised) = raised {
                return raised;
            }
        }
        to_py(py, error)
    }
}
