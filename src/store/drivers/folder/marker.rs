//! The marker: a small JSON file that says that a folder is a store, of which version, and what one must
//! know to use it.

use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::{json, Value};

use super::fault::io_fault;
use super::filesystem::Root;
use super::layout;
use crate::{Error, ErrorKind, Result};

/// The version of the layout that is written, and the newest that is read.
const VERSION: u64 = 1;
/// Longer files are not ours.
const MAX_BYTES: u64 = 64 << 10;

/// What a marker says.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    /// A random name of this store.
    pub id: String,
}

/// Reads the marker of a store; None if there is none.
pub(super) fn read(root: &Root) -> Result<Option<Marker>> {
    let fault = |error| {
        io_fault(
            root,
            layout::MARKER,
            "cannot read the store's marker",
            error,
        )
    };
    let file = match root.read(layout::MARKER) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(error)),
    };
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(fault)?;
    parse(&text).map(Some).map_err(|error| {
        error
            .with_format("folder")
            .with_path(root.join(layout::MARKER))
    })
}

fn parse(text: &[u8]) -> Result<Marker> {
    let broken = |what: &str| {
        let text = format!("the store's marker {what}: restore it from a copy, it never changes");
        Error::new(ErrorKind::Corrupt, text)
    };
    if text.len() as u64 > MAX_BYTES {
        return Err(broken("is longer than any can be"));
    }
    let marker: Value =
        serde_json::from_slice(text).map_err(|error| broken("is not JSON").with_source(error))?;
    let field = |name: &str| marker.get(name);
    let version = field("tare_store").and_then(Value::as_u64);
    let version = version.ok_or_else(|| broken("has no version"))?;
    if version != VERSION {
        let text = format!(
            "the store has version {version} and this Tare knows {VERSION}: use a newer Tare"
        );
        return Err(Error::new(ErrorKind::StoreVersion, text));
    }
    let driver = field("driver").and_then(Value::as_str).unwrap_or_default();
    if driver != "folder" {
        let text = format!("the folder is a store of the driver {driver:?}, not of `folder`");
        return Err(Error::new(ErrorKind::ConfigMismatch, text));
    }
    let hash = field("hash").and_then(Value::as_str).unwrap_or_default();
    if hash != "blake3" {
        let text = format!("the store names objects by {hash:?}, which this Tare does not know");
        return Err(Error::new(ErrorKind::StoreVersion, text));
    }
    let features = field("features").and_then(Value::as_array);
    let features = features.ok_or_else(|| broken("has no list of features"))?;
    if let Some(feature) = features.first() {
        let text = format!("the store has the feature {feature}, which this Tare does not know");
        return Err(Error::new(ErrorKind::StoreVersion, text));
    }
    let id = field("id").and_then(Value::as_str).unwrap_or_default();
    let id = id.to_string();
    Ok(Marker { id })
}

/// Makes the marker, unless somebody else just did.
pub(super) fn create(root: &Root) -> Result<()> {
    let mut id = [0_u8; 16];
    getrandom::fill(&mut id).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("the system gives no random bytes: {error}"),
        )
    })?;
    let id = crate::store::Hash::new(&id).map(|id| id.hex());
    let created = root.clock()? / 1_000_000;
    let marker = json!({
        "tare_store": VERSION,
        "driver": "folder",
        "hash": "blake3",
        "id": id,
        "created": created,
        "features": [],
    });
    let fault = |error| {
        io_fault(
            root,
            layout::MARKER,
            "cannot make the store's marker",
            error,
        )
    };
    let staged = layout::staged("marker");
    let mut file = root.create(&staged).map_err(fault)?;
    let written = file
        .write_all(format!("{marker}\n").as_bytes())
        .and_then(|()| super::filesystem::sync_file(&file))
        .and_then(|()| match root.link(&staged, layout::MARKER) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // No hard links here: nobody else is making it, the folder is locked.
            Err(_) => root.rename(&staged, layout::MARKER),
            Ok(()) => Ok(()),
        })
        .and_then(|()| root.sync_folder("."));
    let removed = root.remove(&staged);
    written.map_err(fault)?;
    removed.map_err(fault)?;
    Ok(())
}

/// The error of a place that holds no store.
pub(super) fn missing(path: &Path) -> Error {
    let text = "there is no store here: open it for writing to make one";
    Error::new(ErrorKind::NotFound, text)
        .with_format("folder")
        .with_path(path)
}
