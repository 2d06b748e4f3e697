//! `tare._tare.compress` and `decompress`: one buffer in, one out; and what ids mean.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tare::compress::{self as core, Compressor, Kind, Layout, Placed, ReadOptions, WriteOptions};
use tare::Result;

use crate::buffers::{copied, copied_bytes, filled, in_steps, with_bytes};
use crate::error::to_py;
use crate::options;
use crate::signals::Signals;

/// Below this many bytes the GIL is kept, and signals wait: the work is shorter than both take.
const KEEP_GIL_BYTES: usize = 4 << 10;
/// Below this many bytes nobody waits long enough to press Ctrl-C, but at slow levels.
const NO_SIGNAL_BYTES: usize = 64 << 10;
/// From this size on what must be copied is copied in steps: above every default chunk, so that
/// the bytes are those of a chunked stream either way.
const STEPPED_BYTES: usize = 16 << 20;
/// Bytes of such a step.
const STEP_BYTES: usize = 1 << 20;

#[pyfunction]
#[pyo3(signature = (data, compressor="zstd:3", threads=None, chunk_size=None, layout=None, checksum=true))]
pub fn compress<'py>(
    data: &Bound<'py, PyAny>,
    compressor: &str,
    threads: Option<usize>,
    chunk_size: Option<usize>,
    layout: Option<&str>,
    checksum: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let compressor = Compressor::parse(compressor).map_err(|error| to_py(py, error))?;
    let layout = options::layout(py, layout)?;
    let copied_size = copied_bytes(data)?.filter(|&size| size >= STEPPED_BYTES);
    if let Some(size) = copied_size {
        let options = WriteOptions {
            threads,
            chunk_size,
            layout,
            checksum,
            content_size: Some(size as u64),
            ..WriteOptions::default()
        };
        if in_steps_alike(&compressor, &options) {
            return stepped(data, compressor, options);
        }
    }
    with_bytes(data, |bytes| {
        let signals = (bytes.len() >= NO_SIGNAL_BYTES).then(Signals::default);
        let options = WriteOptions {
            threads,
            chunk_size,
            layout,
            checksum,
            cancel: signals.as_ref().map(Signals::token),
            ..WriteOptions::default()
        };
        let packed = detached(py, bytes.len(), || {
            core::compress(bytes, &compressor, &options)
        });
        match packed {
            Ok(packed) => copied(py, &packed),
            Err(error) => Err(signals.unwrap_or_default().raise(py, error)),
        }
    })
}

/// Whether what is written in steps has the bytes of what is written at once.
///
/// A lone gzip member is not: libdeflate makes it whole. Nor, maybe, is a chunk above the input.
fn in_steps_alike(compressor: &Compressor, options: &WriteOptions) -> bool {
    let chunk_size = options.chunk_size.or(compressor.chunk_size).unwrap_or(0);
    compressor.kind() != Kind::Gzip && chunk_size < STEPPED_BYTES
}

/// Compresses what others may change, a step at a time.
fn stepped<'py>(
    data: &Bound<'py, PyAny>,
    compressor: Compressor,
    options: WriteOptions,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let signals = Signals::default();
    let mut options = options;
    if options.layout == Layout::Auto && compressor.layout == Layout::Auto {
        options.layout = Layout::Single;
    }
    options.cancel = Some(signals.token());
    let raised = |error| signals.raise(py, error);
    let mut writer = core::Writer::new(Vec::new(), compressor, options).map_err(raised)?;
    in_steps(data, STEP_BYTES, |step| {
        py.detach(|| writer.push(step)).map_err(raised)
    })?;
    let (packed, _) = py.detach(|| writer.finish()).map_err(raised)?;
    copied(py, &packed)
}

#[pyfunction]
#[pyo3(signature = (data, compressor=None, max_output=None, threads=None, strict=false))]
pub fn decompress<'py>(
    data: &Bound<'py, PyAny>,
    compressor: Option<&str>,
    max_output: Option<u64>,
    threads: Option<usize>,
    strict: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let kind = options::kind(py, compressor)?;
    with_bytes(data, |bytes| {
        let signals = (bytes.len() >= NO_SIGNAL_BYTES).then(Signals::default);
        let options = ReadOptions {
            kind,
            threads,
            strict,
            max_output,
            cancel: signals.as_ref().map(Signals::token),
            ..ReadOptions::default()
        };
        let allowed = |&size: &usize| max_output.is_none_or(|most| size as u64 <= most);
        let expected = core::expected_bytes(bytes, kind).filter(allowed);
        let expected = expected.unwrap_or(0);
        let mut placed = Placed::Lent(0);
        let plain = filled(py, expected, |place| {
            let size = expected.max(bytes.len());
            let work = || core::decompress_into(bytes, place, &options);
            placed = detached(py, size, work)
                .map_err(|error| signals.unwrap_or_default().raise(py, error))?;
            Ok(())
        })?;
        match placed {
            Placed::Lent(size) if size == expected => Ok(plain),
            Placed::Lent(size) => {
                let plain = plain.as_bytes().get(..size).unwrap_or_default();
                copied(py, plain)
            }
            Placed::Own(plain) => copied(py, &plain),
        }
    })
}

/// Each compressor: name, levels, default level, ending, magic bytes.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a row that Python takes apart")]
pub fn compressors() -> Vec<(
    &'static str,
    Option<(i32, i32)>,
    Option<i32>,
    &'static str,
    &'static [u8],
)> {
    let row = |kind: &Kind| {
        (
            kind.name(),
            kind.levels(),
            kind.default_level(),
            kind.extension(),
            kind.magic(),
        )
    };
    Kind::ALL.iter().map(row).collect()
}

/// Name, level and full spelling of an id.
#[pyfunction]
pub fn parse(py: Python<'_>, id: &str) -> PyResult<(&'static str, Option<i32>, String)> {
    let compressor = Compressor::parse(id).map_err(|error| to_py(py, error))?;
    Ok((
        compressor.name(),
        compressor.level(),
        compressor.to_string(),
    ))
}

#[pyfunction]
pub fn effort(py: Python<'_>, name: &str, effort: u8) -> PyResult<String> {
    let compressor = Kind::by_name(name).and_then(|kind| Compressor::effort(kind, effort));
    compressor
        .map(|compressor| compressor.to_string())
        .map_err(|error| to_py(py, error))
}

/// The id that lets the most plain bytes through `bandwidth` bytes per second.
#[pyfunction]
#[pyo3(signature = (sample, bandwidth, compressor=None, threads=None))]
pub fn choose(
    sample: &Bound<'_, PyAny>,
    bandwidth: f64,
    compressor: Option<&str>,
    threads: Option<usize>,
) -> PyResult<String> {
    let py = sample.py();
    let kind = options::kind(py, compressor)?;
    let threads = threads.unwrap_or_else(core::default_threads);
    with_bytes(sample, |bytes| {
        let chosen = py.detach(|| {
            let trials = core::try_candidates(bytes, kind)?;
            core::choose(&trials, threads, bandwidth)
        });
        chosen
            .map(|compressor| compressor.to_string())
            .map_err(|error| to_py(py, error))
    })
}

/// The name of the kind that a file's first bytes are of.
#[pyfunction]
pub fn sniff(head: &[u8]) -> &'static str {
    core::sniff(head).name()
}

fn detached<T: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    if size < KEEP_GIL_BYTES {
        return work();
    }
    py.detach(work)
}
