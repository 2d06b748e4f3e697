//! What the core reports, as Python's plain data; `tare.store.reports` gives it names.

use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tare::store::{Action, CheckReport, Finding, GcReport, Info, Stat, TransferReport};

/// Facts of a driver.
pub fn info<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    facts.set_item("driver", info.driver)?;
    facts.set_item("url", &*info.url)?;
    facts.set_item("hash", info.algorithm.name())?;
    facts.set_item("codec", info.codec)?;
    let compressor = info.compressor.as_ref().map(ToString::to_string);
    facts.set_item("compressor", compressor)?;
    facts.set_item("atomic_batch", info.atomic_batch)?;
    facts.set_item("conditions", info.conditions)?;
    facts.set_item("multi_process", info.multi_process)?;
    facts.set_item("multi_host", info.multi_host)?;
    facts.set_item("synced_by", info.synced_by)?;
    facts.set_item("read_only", info.read_only)?;
    let options = PyDict::new(py);
    for (name, value) in &info.options {
        options.set_item(name, value)?;
    }
    facts.set_item("options", options)?;
    Ok(facts.into_any())
}

/// How much a store holds.
pub fn stat<'py>(py: Python<'py>, stat: &Stat) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    facts.set_item("keys", stat.keys)?;
    facts.set_item("namespaces", stat.namespaces)?;
    facts.set_item("objects", stat.objects)?;
    facts.set_item("unnamed", stat.unnamed)?;
    facts.set_item("plain_bytes", stat.plain_bytes)?;
    facts.set_item("stored_bytes", stat.stored_bytes)?;
    Ok(facts.into_any())
}

/// What a collection did.
pub fn gc<'py>(py: Python<'py>, report: &GcReport) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    facts.set_item("condemned", report.condemned)?;
    facts.set_item("deleted", report.deleted)?;
    facts.set_item("bytes", report.bytes)?;
    facts.set_item("kept_until", report.kept_until.map(seconds))?;
    facts.set_item("swept", report.swept)?;
    Ok(facts.into_any())
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// What a check found.
pub fn check<'py>(py: Python<'py>, report: &CheckReport) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    let found = PyList::empty(py);
    for one in &report.findings {
        found.append(finding(py, one)?)?;
    }
    facts.set_item("findings", found)?;
    facts.set_item("keys", report.keys)?;
    facts.set_item("objects", report.objects)?;
    facts.set_item("bytes", report.bytes)?;
    Ok(facts.into_any())
}

fn finding<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("kind", finding.kind.name())?;
    facts.set_item("problem", finding.kind.is_problem())?;
    facts.set_item("hash", finding.hash.map(|hash| hash.hex()))?;
    let (space, key) = finding.key.as_ref().map_or((None, None), |(space, key)| {
        (Some(space.as_str()), Some(key.as_str()))
    });
    facts.set_item("namespace", space)?;
    facts.set_item("key", key)?;
    facts.set_item("place", &*finding.place)?;
    facts.set_item("detail", &*finding.detail)?;
    Ok(facts)
}

/// What a repair did, or would do.
pub fn actions<'py>(py: Python<'py>, actions: &[Action]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for action in actions {
        let facts = PyDict::new(py);
        facts.set_item("finding", finding(py, &action.finding)?)?;
        facts.set_item("what", &*action.what)?;
        facts.set_item("done", action.done)?;
        list.append(facts)?;
    }
    Ok(list.into_any())
}

/// What was copied.
pub fn transfer<'py>(py: Python<'py>, report: &TransferReport) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    facts.set_item("keys", report.keys)?;
    facts.set_item("unchanged", report.unchanged)?;
    facts.set_item("missing", report.missing)?;
    facts.set_item("copied", report.copied)?;
    facts.set_item("rehashed", report.rehashed)?;
    facts.set_item("converted", report.converted)?;
    facts.set_item("bytes", report.bytes)?;
    let damaged = report.damaged.iter();
    let damaged: Vec<_> = damaged
        .map(|found| (&*found.namespace, &*found.key, &*found.what))
        .collect();
    facts.set_item("damaged", damaged)?;
    Ok(facts.into_any())
}
