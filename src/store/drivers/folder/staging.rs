//! Objects on their way: small ones in memory, others in a file that has no name among the objects yet.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use super::fault::io_fault;
use super::filesystem::{own_pid, Root};
use super::steps::step;
use super::{layout, schema};
use crate::store::{ObjectHint, Sink, Staged};
use crate::Result;

/// Shorter parts are gathered before they are written.
const GATHER: usize = 64 << 10;

/// A file in the staging folder. Dropped, it is removed.
pub(super) struct StagedFile {
    root: Arc<Root>,
    pub place: String,
    pub file: File,
    owner: u32,
    /// Whether it has another name by now.
    pub moved: bool,
}

impl StagedFile {
    pub fn create(root: &Arc<Root>) -> Result<Self> {
        let place = layout::staged("object");
        let made = root.create(&place);
        let file = made.map_err(|error| io_fault(root, &place, "cannot make a file", error))?;
        Ok(Self {
            root: root.clone(),
            place,
            file,
            owner: own_pid(),
            moved: false,
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        step("write");
        let written = self.file.write_all(bytes);
        written.map_err(|error| io_fault(&self.root, &self.place, "cannot write an object", error))
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // A child of a fork has the parent's, too.
        if !self.moved && self.owner == own_pid() {
            let _ = self.root.remove(&self.place);
        }
    }
}

/// Where the stored bytes of an object that is not named yet are.
pub(super) enum StagedPlace {
    Memory(Vec<u8>),
    File(StagedFile),
}

pub(super) struct FolderSink {
    root: Arc<Root>,
    /// What is not in the file: all, as long as there is none.
    rest: Vec<u8>,
    file: Option<StagedFile>,
    len: u64,
}

impl FolderSink {
    pub fn new(root: &Arc<Root>, hint: &ObjectHint) -> Self {
        let expected = hint.stored_len.and_then(|len| usize::try_from(len).ok());
        let likely = expected.unwrap_or_default().min(schema::INLINE);
        Self {
            root: root.clone(),
            rest: Vec::with_capacity(likely),
            file: None,
            len: 0,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self.len = self.len.saturating_add(bytes.len() as u64);
        let all = self.rest.len().saturating_add(bytes.len());
        if all <= schema::INLINE {
            self.rest.extend_from_slice(bytes);
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(StagedFile::create(&self.root)?);
        }
        if let Some(file) = &mut self.file {
            if !self.rest.is_empty() {
                file.write(&self.rest)?;
                self.rest.clear();
            }
            if bytes.len() >= GATHER {
                return file.write(bytes);
            }
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }
}

impl Write for FolderSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for FolderSink {
    fn finish(self: Box<Self>) -> Result<Staged> {
        let sink = *self;
        let place = match sink.file {
            None => StagedPlace::Memory(sink.rest),
            Some(mut file) => {
                if !sink.rest.is_empty() {
                    file.write(&sink.rest)?;
                }
                StagedPlace::File(file)
            }
        };
        Ok(Staged {
            stored_len: sink.len,
            place: Box::new(place),
        })
    }
}
