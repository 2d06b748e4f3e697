//! Files with R objects: read, written, looked at.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::IntoPyObjectExt;
use tare::compress::Compressor;
use tare::robject::{self, Columns, Format, RObject, ReadOptions, Source, WriteOptions};
use tare::{Error, ErrorKind};

use super::handle::{encoding_name, Handle};
use super::options::{choice, option};
use super::report::{entry, Entry};
use super::sources::{encoding, from_source, system, Place, Sink};
use crate::buffers::copied;
use crate::error::to_py;
use crate::signals::Signals;

/// Bytes that go to a file at once.
const PIECE: usize = 1 << 20;

const FORMATS: [Format; 6] = [
    Format::Rds,
    Format::Rdata,
    Format::Qs2,
    Format::Qdata,
    Format::Qs,
    Format::Dput,
];

/// The objects of a file: one, or of `RData` each with its name.
#[pyfunction]
pub fn r_read<'py>(
    source: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let signals = Signals::default();
    let dput = option::<String>(options, "format")?.as_deref() == Some("dput");
    let options = reader(options, &signals)?;
    let read = from_source(source, |place| {
        if dput {
            let object = robject::dput::parse(&text(place)?, &options)?;
            return Ok((object, Format::Dput));
        }
        robject::read_told(opened(place)?, &options)
    })?;
    let (object, format) = read.map_err(|error| signals.raise(py, error))?;
    if format != Format::Rdata {
        return Handle(object).into_bound_py_any(py);
    }
    let names = object.names().unwrap_or_default().into_iter();
    let parts = names
        .map(Option::unwrap_or_default)
        .enumerate()
        .filter_map(|(at, name)| Some((name, Handle(object.child(at)?))));
    parts
        .collect::<Vec<(String, Handle)>>()
        .into_bound_py_any(py)
}

/// Writes to a file of a path or a file object, which says how many bytes, or to bytes.
#[pyfunction]
pub fn r_write<'py>(
    value: &Bound<'py, PyAny>,
    sink: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Entry>)> {
    let py = value.py();
    let signals = Signals::default();
    let writing = writing(options, &signals)?;
    let what = match value.cast::<Handle>() {
        Ok(handle) => What::One(handle.get().0.clone()),
        Err(_) => What::Named(named(value)?),
    };
    let sink = sink.map(|sink| Sink::of(sink, &signals)).transpose()?;
    let written = py.detach(|| {
        let mut bytes = Vec::new();
        let report = match sink {
            None => what.write(&mut bytes, &writing)?,
            Some(Sink::Object(object)) => {
                let mut object = BufWriter::with_capacity(PIECE, object);
                let report = what.write(&mut object, &writing)?;
                object.flush().map_err(|error| {
                    Error::new(ErrorKind::Io, error.to_string()).with_source(error)
                })?;
                return Ok((None, report));
            }
            Some(Sink::Path(path)) => {
                let file = File::create(&path).map_err(|error| system(error, &path))?;
                let mut file = BufWriter::with_capacity(PIECE, file);
                let report = what.write_file(&mut file, &writing)?;
                file.flush().map_err(|error| system(error, &path))?;
                return Ok((None, report));
            }
        };
        Ok((Some(bytes), report))
    });
    let (bytes, report) = written.map_err(|error| signals.raise(py, error))?;
    let losses = report.loss.into_iter().map(entry).collect();
    let said = match bytes {
        Some(bytes) => copied(py, &bytes)?.into_any(),
        None => report.bytes.into_bound_py_any(py)?,
    };
    Ok((said, losses))
}

/// One object, or those of an `RData` file.
enum What {
    One(RObject),
    Named(Vec<(String, RObject)>),
}

impl What {
    fn write(
        &self,
        sink: impl Write,
        options: &WriteOptions,
    ) -> tare::Result<robject::WriteReport> {
        match self {
            Self::One(object) => robject::write(object, sink, options),
            Self::Named(objects) => robject::write_rdata(objects, sink, options),
        }
    }

    /// As `write`: what has its checksum in front of it seeks back, instead of being held whole.
    fn write_file(
        &self,
        file: impl Write + Seek,
        options: &WriteOptions,
    ) -> tare::Result<robject::WriteReport> {
        match self {
            Self::One(object) => robject::write_file(object, file, options),
            Self::Named(_) => self.write(file, options),
        }
    }
}

fn named(value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, RObject)>> {
    let mut objects = Vec::new();
    for pair in value.try_iter()? {
        let (name, object): (String, Bound<'_, Handle>) = pair?.extract()?;
        objects.push((name, object.get().0.clone()));
    }
    Ok(objects)
}

/// What a file is and holds.
#[pyfunction]
pub fn r_inspect<'py>(
    source: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = source.py();
    let signals = Signals::default();
    let reading = reader(options, &signals)?;
    let found = from_source(source, |place| robject::inspect(opened(place)?, &reading))?;
    let found = found.map_err(|error| signals.raise(py, error))?;
    let version = |version: Option<[u8; 3]>| {
        version.map(|[major, minor, patch]| format!("{major}.{minor}.{patch}"))
    };
    let said = PyDict::new(py);
    said.set_item("format", found.format.name())?;
    said.set_item("compressor", found.wrapper.name())?;
    said.set_item("version", found.version)?;
    said.set_item("r_version", version(found.writer))?;
    said.set_item("min_reader", version(found.min_reader))?;
    said.set_item("encoding", found.encoding.map(encoding_name))?;
    said.set_item("native_encoding", &found.native_encoding)?;
    said.set_item("stored_bytes", found.stored_bytes)?;
    said.set_item("plain_bytes", found.plain_bytes)?;
    said.set_item("payload_bytes", found.payload_bytes)?;
    said.set_item("checked", found.checked)?;
    said.set_item("nodes", found.nodes)?;
    let tree = PyList::empty(py);
    for branch in &found.tree {
        let kind = branch.kind.name();
        tree.append((
            branch.depth,
            &branch.name,
            kind,
            &branch.class,
            branch.length,
            branch.again,
        ))?;
    }
    said.set_item("tree", tree)?;
    said.set_item("tree_cut", found.cut)?;
    said.set_item("flags", super::handle::flags(&found.findings))?;
    let findings = found.findings.iter();
    let findings: Vec<(String, &str)> = findings
        .map(|one| (one.path.clone(), one.kind.name()))
        .collect();
    said.set_item("findings", findings)?;
    Ok(said)
}

/// The format of R that a file or bytes are in, told by their beginning.
#[pyfunction]
pub fn sniff_r(source: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let told = from_source(source, |place| {
        let found = match place {
            Place::Bytes(bytes) => robject::sniff(bytes),
            Place::Path(path) => {
                let file = File::open(path).map_err(|error| system(error, path))?;
                robject::sniff_stream(file)?
            }
        };
        if let Some(found) = found {
            return Ok(Some(found.format.name()));
        }
        super::tables::is_fst(place).map(|is| is.then_some("fst"))
    })?;
    told.map_err(|error| to_py(source.py(), error))
}

/// Refuses the name of an encoding that strings of R are not read in.
pub fn known_encoding(name: Option<&str>) -> tare::Result<()> {
    match name.filter(|name| !robject::is_encoding(name)) {
        None => Ok(()),
        Some(name) => {
            let shown: String = name.chars().take(40).collect();
            let text = format!(
                "strings of R are not read in the encoding {shown:?}: expected e.g. latin1, CP1252, ISO-8859-15, KOI8-R"
            );
            Err(Error::new(ErrorKind::Usage, text))
        }
    }
}

fn reader(options: &Bound<'_, PyDict>, signals: &Signals) -> PyResult<ReadOptions> {
    let usual = ReadOptions::default();
    let encoding: Option<String> = option(options, "encoding")?;
    known_encoding(encoding.as_deref()).map_err(|error| to_py(options.py(), error))?;
    Ok(ReadOptions {
        max_depth: option(options, "max_depth")?.unwrap_or(usual.max_depth),
        memory_budget: option(options, "memory_budget")?.or(usual.memory_budget),
        max_ratio: option(options, "max_ratio")?.or(usual.max_ratio),
        encoding,
        columns: option(options, "columns")?.map(Columns::Named),
        threads: option(options, "threads")?,
        cancel: Some(signals.token()),
    })
}

fn writing(options: &Bound<'_, PyDict>, signals: &Signals) -> PyResult<WriteOptions> {
    let py = options.py();
    let format = choice(options, "format", &FORMATS.map(Format::name))?;
    let compressor = option::<String>(options, "compressor")?;
    let compressor = compressor.map(|id| Compressor::parse(&id)).transpose();
    Ok(WriteOptions {
        format: format
            .and_then(|at| FORMATS.get(at).copied())
            .unwrap_or_default(),
        version: option(options, "version")?,
        encoding: encoding(options)?,
        compressor: compressor.map_err(|error| to_py(py, error))?,
        threads: option(options, "threads")?,
        members: option(options, "members")?,
        r_version: option::<String>(options, "r_version")?
            .as_deref()
            .and_then(packed),
        data_only: option(options, "data_only")?.unwrap_or(false),
        cancel: Some(signals.token()),
    })
}

/// `4.2.2` as one int.
fn packed(text: &str) -> Option<i32> {
    let mut parts = text.split('.').map(|part| part.parse::<u8>().ok());
    let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
    Some(i32::from_le_bytes([patch, minor, major, 0]))
}

/// The stream or bytes behind a place.
fn opened<'a>(place: &Place<'a>) -> tare::Result<Source<'a>> {
    match place {
        Place::Bytes(bytes) => Ok(Source::from(*bytes)),
        Place::Path(path) => {
            let file = File::open(path).map_err(|error| system(error, path))?;
            Ok(Source::from(file))
        }
    }
}

fn text(place: &Place<'_>) -> tare::Result<String> {
    let bytes = match place {
        Place::Bytes(bytes) => bytes.to_vec(),
        Place::Path(path) => std::fs::read(path).map_err(|error| system(error, path))?,
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() as u64;
        let text = "the text is not UTF-8";
        Error::new(ErrorKind::Malformed, text)
            .with_format("dput")
            .with_offset(at)
    })
}
