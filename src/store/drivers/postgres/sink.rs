//! Large objects, written chunk by chunk before anything names them.

use std::io::{self, Write};
use std::sync::Arc;

use super::write::now;
use super::{Shared, CHUNK_BYTES};
use crate::store::{Sink, Staged};
use crate::{Error, ErrorKind, Result};

/// An object that is being written, chunk by chunk.
pub(super) struct PostgresSink {
    chunk: Vec<u8>,
    place: Option<StagedPlace>,
}

/// Where a staged object lies. Dropped before it is named, it is removed.
pub(super) struct StagedPlace {
    shared: Arc<Shared>,
    pub id: Option<i64>,
    chunks: i32,
    pub stored_len: u64,
    /// Whether it became an object, and is nobody's to remove.
    pub named: bool,
}

impl PostgresSink {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let id = shared.wire.call(|link| {
            let rows = link.query(
                concat!(
                    "INSERT INTO staged VALUES (nextval('ids'), ",
                    now!(),
                    ") RETURNING id"
                ),
                &[],
            )?;
            Ok(rows.first().map(|row| row.get::<_, i64>(0)))
        })?;
        let place = StagedPlace {
            shared: Arc::clone(shared),
            id,
            chunks: 0,
            stored_len: 0,
            named: false,
        };
        Ok(Self {
            chunk: Vec::with_capacity(CHUNK_BYTES),
            place: Some(place),
        })
    }

    fn send(&mut self) -> Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let Some(place) = self.place.as_mut() else {
            let text = "a sink that has ended is written to";
            return Err(Error::new(ErrorKind::Internal, text));
        };
        let chunk = &self.chunk;
        let written = place.shared.wire.call(|link| {
            link.query(
                concat!(
                    "WITH s AS (UPDATE staged SET touched = ",
                    now!(),
                    " WHERE id = $1 RETURNING id) \
                     INSERT INTO chunk SELECT s.id, $2, $3 FROM s \
                     ON CONFLICT (id, n) DO UPDATE SET data = EXCLUDED.data RETURNING n"
                ),
                &[&place.id, &place.chunks, chunk],
            )
        })?;
        if written.is_empty() {
            return Err(lost(&place.shared));
        }
        place.chunks = place.chunks.saturating_add(1);
        place.stored_len = place.stored_len.saturating_add(chunk.len() as u64);
        self.chunk.clear();
        Ok(())
    }
}

pub(super) fn lost(shared: &Shared) -> Error {
    let text = "what was written of an object is gone; set it again";
    shared.wire.described(ErrorKind::Io, text)
}

impl Drop for StagedPlace {
    fn drop(&mut self) {
        if self.named {
            return;
        }
        // What cannot be removed now is swept later.
        let _ = self.shared.wire.call(|link| {
            link.query(
                "WITH s AS (DELETE FROM staged WHERE id = $1 RETURNING id) \
                 DELETE FROM chunk USING s WHERE chunk.id = s.id",
                &[&self.id],
            )
        });
    }
}

impl Write for PostgresSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK_BYTES.saturating_sub(self.chunk.len());
        let (now, _) = bytes.split_at(room.min(bytes.len()));
        self.chunk.extend_from_slice(now);
        if self.chunk.len() >= CHUNK_BYTES {
            self.send().map_err(io::Error::from)?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for PostgresSink {
    fn finish(mut self: Box<Self>) -> Result<Staged> {
        self.send()?;
        let ended = || Error::new(ErrorKind::Internal, "a sink ends twice");
        let place = self.place.take().ok_or_else(ended)?;
        Ok(Staged {
            stored_len: place.stored_len,
            place: Box::new(place),
        })
    }
}
