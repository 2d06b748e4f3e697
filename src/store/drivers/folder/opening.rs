//! How a store is opened, made and destroyed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connections::{Config, Connections};
use super::fault::io_fault;
use super::filesystem::{refuse_remote, remote_kind, Root};
use super::{collect, layout, marker, FolderOptions};
use crate::{Error, ErrorKind, Result};

pub(super) fn open(
    path: &Path,
    options: &FolderOptions,
) -> Result<(Arc<Root>, Connections, String)> {
    let root = match Root::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if options.read_only || !options.create {
                return Err(marker::missing(path));
            }
            std::fs::create_dir_all(path)
                .and_then(|()| Root::open(path))
                .map_err(|error| folder_fault(path, "cannot make the folder", error))?
        }
        other => other.map_err(|error| folder_fault(path, "cannot open the folder", error))?,
    };
    let root = Arc::new(root);
    if let (Some(kind), false) = (remote_kind(&root), options.exclusive) {
        return Err(refuse_remote(path, kind));
    }
    let config = Config {
        read_only: options.read_only,
        exclusive: options.exclusive,
        busy_timeout: options.busy_timeout,
    };
    let found = marker::read(&root)?;
    if found.is_none() {
        if options.read_only || !options.create {
            return Err(marker::missing(path));
        }
        make(&root, &config)?;
    }
    let id = match &found {
        Some(marker) => marker.id.clone(),
        None => marker::read(&root)?
            .map(|marker| marker.id)
            .unwrap_or_default(),
    };
    if options.exclusive {
        take_alone(&root, options.busy_timeout)?;
    } else if !take_shared(&root, options.busy_timeout)? {
        return Err(busy(&root, "another process has the store for itself"));
    }
    if found.is_some() && !root.stat(layout::INDEX).is_ok_and(|seen| seen.is_file) {
        let text = "the store has lost its index: restore index.sqlite from a copy";
        let error = Error::new(ErrorKind::Corrupt, text).with_format("folder");
        return Err(error.with_path(root.join(layout::INDEX)));
    }
    if !options.read_only {
        split_links(&root)?;
    }
    let connections = Connections::new(root.clone(), config);
    if !options.read_only {
        for folder in [layout::OBJECTS, layout::STAGING] {
            let made = root.make_folder(folder);
            made.map_err(|error| io_fault(&root, folder, "cannot make a folder", error))?;
        }
        collect::recover(&connections)?;
    }
    Ok((root, connections, id))
}

fn folder_fault(path: &Path, what: &str, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{what}: {error}"))
        .with_format("folder")
        .with_path(path)
        .with_source(error)
}

fn busy(root: &Root, text: &str) -> Error {
    Error::new(ErrorKind::Busy, format!("{text}: wait until it is done"))
        .with_format("folder")
        .with_path(&root.path)
}

/// Asks again until it is granted or the time is over.
fn until(limit: Duration, mut ask: impl FnMut() -> Result<bool>) -> Result<bool> {
    let start = Instant::now();
    loop {
        if ask()? {
            return Ok(true);
        }
        if start.elapsed() >= limit {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn take_shared(root: &Root, limit: Duration) -> Result<bool> {
    let lock = || root.lock_shared();
    until(limit, || {
        lock().map_err(|error| io_fault(root, ".", "cannot lock the folder", error))
    })
}

fn take_alone(root: &Root, limit: Duration) -> Result<()> {
    let lock = || root.lock_alone();
    let got = until(limit, || {
        lock().map_err(|error| io_fault(root, ".", "cannot lock the folder", error))
    })?;
    if got {
        return Ok(());
    }
    Err(busy(
        root,
        "the store is open elsewhere, and exclusive=true needs it alone",
    ))
}

/// Makes a store, or waits until somebody else has made it.
fn make(root: &Arc<Root>, config: &Config) -> Result<()> {
    let mut made = false;
    let got = until(config.busy_timeout, || {
        let alone = root.lock_alone();
        let alone = alone.map_err(|error| io_fault(root, ".", "cannot lock the folder", error))?;
        made = marker::read(root)?.is_some();
        Ok(alone || made)
    })?;
    if made {
        return Ok(());
    }
    if !got {
        return Err(busy(root, "another process makes a store here"));
    }
    let names = root.names(".");
    let names = names.map_err(|error| io_fault(root, ".", "cannot list the folder", error))?;
    if let Some(foreign) = names
        .iter()
        .find(|name| !layout::OURS.contains(&name.as_str()))
    {
        let text = format!(
            "the folder is not a store and not empty, it holds {foreign:?}: name a new folder"
        );
        let error = Error::new(ErrorKind::Usage, text).with_format("folder");
        return Err(error.with_path(&root.path));
    }
    for folder in [layout::OBJECTS, layout::STAGING] {
        let made = root.make_folder(folder);
        made.map_err(|error| io_fault(root, folder, "cannot make a folder", error))?;
    }
    // The index first: a folder with a marker has one.
    let connections = Connections::new(root.clone(), config.clone());
    drop(connections.open_writer()?);
    drop(connections);
    marker::create(root)
}

/// Gives a copy by hard links files of its own where the store writes into them: what it was copied from
/// must not change with it.
fn split_links(root: &Root) -> Result<()> {
    let shared = [layout::INDEX, layout::INDEX_LOG, layout::INDEX_SHARED];
    if !shared.iter().any(|name| root.is_linked(name)) {
        return Ok(());
    }
    let fault = |error| {
        io_fault(
            root,
            layout::INDEX,
            "cannot part a copy by hard links",
            error,
        )
    };
    // Who has it open already parted it, or is the store that was copied.
    if !root.lock_alone().map_err(fault)? {
        return Ok(());
    }
    for name in [layout::INDEX_LOG, layout::INDEX] {
        if !root.is_linked(name) {
            continue;
        }
        let staged = layout::staged("part");
        let copied = root.read(name).and_then(|mut from| {
            let mut to = root.create_writable(&staged)?;
            io::copy(&mut from, &mut to)?;
            // Closing it would take the locks of SQLite from this process, if it has the other store open.
            std::mem::forget(from);
            super::filesystem::sync_file(&to)?;
            root.rename(&staged, name)
        });
        if let Err(error) = copied {
            let _ = root.remove(&staged);
            return Err(fault(error));
        }
    }
    // Made anew from the log.
    root.remove(layout::INDEX_SHARED).map_err(fault)?;
    root.lock_shared().map_err(fault)?;
    Ok(())
}

/// Deletes what a store has, and its folder if nothing else is in it.
pub(super) fn destroy(connections: &Connections) -> Result<()> {
    let root = &connections.root;
    connections.writable()?;
    connections.process()?;
    connections.close();
    let fault = |place: &str, error| io_fault(root, place, "cannot delete", error);
    if !root.lock_alone().map_err(|error| fault(".", error))? {
        return Err(busy(root, "other processes have the store open"));
    }
    // Without a marker nobody opens what is half deleted.
    for name in [
        layout::MARKER,
        layout::INDEX,
        layout::INDEX_LOG,
        layout::INDEX_SHARED,
        layout::INDEX_JOURNAL,
    ] {
        root.remove(name).map_err(|error| fault(name, error))?;
    }
    for folder in root
        .names(layout::OBJECTS)
        .map_err(|error| fault(layout::OBJECTS, error))?
    {
        let place = format!("{}/{folder}", layout::OBJECTS);
        if !root.stat(&place).is_ok_and(|seen| seen.is_folder) {
            continue;
        }
        for name in root.names(&place).map_err(|error| fault(&place, error))? {
            if layout::parse_object(&folder, &name).is_some() {
                let file = format!("{place}/{name}");
                root.remove(&file).map_err(|error| fault(&file, error))?;
            }
        }
        leave(root, &place)?;
    }
    for name in root
        .names(layout::STAGING)
        .map_err(|error| fault(layout::STAGING, error))?
    {
        let ours = layout::owner(&name) != layout::Owner::Foreign
            || layout::parse_condemned(&name).is_some();
        if ours {
            let file = format!("{}/{name}", layout::STAGING);
            root.remove(&file).map_err(|error| fault(&file, error))?;
        }
    }
    for name in root
        .names(layout::QUARANTINE)
        .map_err(|error| fault(layout::QUARANTINE, error))?
    {
        if super::repair::is_set_aside(&name) {
            let file = format!("{}/{name}", layout::QUARANTINE);
            root.remove(&file).map_err(|error| fault(&file, error))?;
        }
    }
    for folder in [layout::OBJECTS, layout::STAGING, layout::QUARANTINE] {
        leave(root, folder)?;
    }
    match std::fs::remove_dir(&root.path) {
        Ok(()) => Ok(()),
        Err(error) if stays(&error) => Ok(()),
        Err(error) => Err(fault(".", error)),
    }
}

/// Removes a folder unless it holds what is not ours.
fn leave(root: &Root, place: &str) -> Result<()> {
    match root.remove_folder(place) {
        Ok(_) => Ok(()),
        Err(error) if stays(&error) => Ok(()),
        Err(error) => Err(io_fault(root, place, "cannot delete", error)),
    }
}

fn stays(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory | io::ErrorKind::NotFound
    )
}
