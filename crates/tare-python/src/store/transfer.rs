//! Copying from one store into another.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::store::{Key, Transfer, TransferOptions, TransferReport};
use tare::{Error, ErrorKind};

use super::core::Core;
use super::{fault, reports};
use crate::signals::Signals;

/// Keys that are copied before progress is told.
const TOLD: usize = 64;

/// A key of the one store and its key in the other: namespace and key, twice.
pub type Copying = (String, String, String, String);

/// Copies keys.
///
/// `pairs` gives lists of (namespace, key, namespace there, key there); `convert` makes of a codec and bytes
/// those of the other store's one codec; `progress` gets the keys done.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "a call of `tare.store` alone")]
#[pyo3(signature = (source, dest, pairs, resume, skip_missing, skip_damaged, convert, progress))]
pub fn store_copy<'py>(
    py: Python<'py>,
    source: &Bound<'py, Core>,
    dest: &Bound<'py, Core>,
    pairs: &Bound<'py, PyAny>,
    resume: bool,
    skip_missing: bool,
    skip_damaged: bool,
    convert: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (from, to) = (source.get().store()?, dest.get().store()?);
    let signals = Signals::default();
    let mut raised: Option<PyErr> = None;
    let mut failed: Option<PyErr> = None;
    let mut converted = |codec: &str, bytes: Bytes| {
        let made = Python::attach(|py| -> PyResult<(String, Vec<u8>)> {
            let made = convert.call1(py, (codec, PyBytes::new(py, &bytes)))?;
            made.extract(py)
        });
        match made {
            Ok((codec, bytes)) => Ok((codec, Bytes::from(bytes))),
            Err(error) => {
                let text = "the value cannot be converted";
                raised = Some(error);
                Err(Error::new(ErrorKind::Unsupported, text))
            }
        }
    };
    let options = TransferOptions {
        resume,
        skip_missing,
        skip_damaged,
        convert: Some(&mut converted),
        cancel: Some(signals.token()),
    };
    let mut transfer = Transfer::new(&from, &to, options);
    let mut done: tare::Result<TransferReport> = Ok(TransferReport::default());
    for page in pairs.try_iter()? {
        let page: Vec<Copying> = page?.extract()?;
        for some in page.chunks(TOLD) {
            let added = py.detach(|| {
                let mut pairs = some.iter();
                pairs.try_for_each(|(space, key, space_there, key_there)| {
                    transfer.add(Key::new(space, key), Key::new(space_there, key_there))
                })
            });
            if let Err(error) = added {
                done = Err(error);
            } else if let Some(tell) = &progress {
                failed = tell.call1(py, (transfer.report().keys,)).err();
            }
            if done.is_err() || failed.is_some() {
                break;
            }
        }
        if done.is_err() || failed.is_some() {
            break;
        }
    }
    if done.is_ok() && failed.is_none() {
        done = py.detach(|| transfer.finish());
    } else {
        drop(transfer);
    }
    if let Some(error) = raised.or(failed) {
        return Err(error);
    }
    match done {
        Ok(report) => reports::transfer(py, &report),
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(signals.raise(py, error)),
        Err(error) => Err(fault::raised(py, error)),
    }
}
