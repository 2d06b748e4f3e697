//! The bytes of a document: those that are final, and its end.

use super::spare::{self, Room, Spare};
use super::{misuse, Checksum, Writer};
use crate::blit::layout::{flag, push_rv, tag, END_MAGIC, VERSION};
use crate::Result;

/// Bytes that are no more in the writer.
#[derive(Default)]
pub(super) struct Drained {
    size: usize,
    /// Half a kilobyte, which most documents do not need.
    sum: Option<Box<xxhash_rust::xxh3::Xxh3Default>>,
}

impl Writer<'_> {
    /// Ends the document.
    ///
    /// # Errors
    /// `Usage` if the value is not complete.
    pub fn finish(self) -> Result<Vec<u8>> {
        let (document, spare) = self.sealed()?;
        let Some(mut spare) = spare else {
            return Ok(document);
        };
        // What is given away has the size it needs; the room where it was made stays.
        let exact = document.as_slice().to_vec();
        spare.emitter.out = document;
        spare.keep();
        Ok(exact)
    }

    /// The document, and what it was made in but for the document itself, unless both are too
    /// large to be kept.
    fn sealed(mut self) -> Result<(Vec<u8>, Option<Spare>)> {
        let root_tag = match self.root {
            Some(root) if self.open.is_empty() => {
                self.settle_names();
                self.emitter.root(&self.tape, root)?
            }
            _ if self.long.n > 0 && self.open.is_empty() => tag::ARRAY,
            _ => return Err(misuse("the value is not complete")),
        };
        Ok(self.sections(root_tag))
    }

    /// Takes the bytes out that are final: of a long array at the root, its full segments.
    ///
    /// [`finish`](Self::finish) then gives what comes behind them. So the memory of an array of any
    /// length is that of one segment, of the names and of the shapes.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{Options, Writer};
    ///
    /// let (mut writer, mut document) = (Writer::new(Options::default())?, Vec::new());
    /// writer.begin_array()?;
    /// for line in ["{\"id\": 1}", "{\"id\": 2}"] {
    ///     writer.json(line.as_bytes())?;
    ///     document.extend(writer.drain());
    /// }
    /// writer.end()?;
    /// document.extend(writer.finish()?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    #[must_use]
    pub fn drain(&mut self) -> Vec<u8> {
        let out = std::mem::take(&mut self.emitter.out);
        self.drained.size = self.drained.size.saturating_add(out.len());
        self.drained.sum.get_or_insert_default().update(&out);
        self.emitter.drained = self.drained.size;
        out
    }

    fn sections(mut self, root_tag: u8) -> (Vec<u8>, Option<Spare>) {
        let emitter = &mut self.emitter;
        let mut out = std::mem::take(&mut emitter.out);
        let keys = out.len();
        emitter.names.write(&mut out);
        let shapes = out.len();
        emitter.sequences.write(&emitter.names, &mut out);
        let pool = out.len();
        let pooled = emitter.write_pool(&self.tape, &mut out);
        let trailer = out.len();
        let mut flags = 0;
        for (is, bit) in [
            (pooled > 0, flag::POOL),
            (self.options.aligned, flag::ALIGNED),
            (emitter.sequences.keeps_duplicates, flag::KEEPS_DUPLICATES),
            (self.has_surrogates, flag::WTF8),
            (self.options.canonical, flag::CANONICAL),
        ] {
            flags |= if is { bit } else { 0 };
        }
        if pooled > 0 {
            push_rv(&mut out, trailer.saturating_sub(pool) as u64);
            push_rv(&mut out, pooled as u64);
        }
        push_rv(&mut out, pool.saturating_sub(shapes) as u64);
        push_rv(&mut out, emitter.sequences.shapes() as u64);
        push_rv(&mut out, shapes.saturating_sub(keys) as u64);
        push_rv(&mut out, emitter.names.len() as u64);
        out.extend([root_tag, flags, VERSION]);
        let checksum = self.options.checksum;
        let out = seal_behind(&self.drained, out, trailer, flags, checksum);
        if self.memory().saturating_add(out.capacity()) > spare::MOST {
            return (out, None);
        }
        self.emitter.drained = 0;
        let spare = Spare {
            emitter: self.emitter,
            tape: self.tape.over(&[]),
            values: self.values,
            open: self.open,
        };
        (out, Some(spare.emptied()))
    }
}

impl Writer<'static> {
    /// As [`finish`](Self::finish), but the document is lent to `take`; gives what that gives, and
    /// the room that the document was made in, for [`reusing`](Self::reusing): none where that is
    /// more than 1 MiB.
    ///
    /// # Errors
    /// As there.
    pub fn finish_for_reuse<T>(self, take: impl FnOnce(&[u8]) -> T) -> Result<(T, Option<Room>)> {
        let (document, spare) = self.sealed()?;
        let taken = take(&document);
        let room = spare.map(|mut spare| {
            spare.emitter.out = document;
            Room(spare)
        });
        Ok((taken, room))
    }
}

/// Appends what ends every trailer, and the checksum in front of the trailer.
///
/// `drained` is what lies before `out` in the document.
fn seal_behind(
    drained: &Drained,
    mut out: Vec<u8>,
    trailer: usize,
    mut flags: u8,
    checksum: Checksum,
) -> Vec<u8> {
    const FROM: usize = 1024;
    let length = out.len().saturating_sub(trailer).saturating_add(3);
    let size = drained.size.saturating_add(trailer).saturating_add(length);
    let checked = match checksum {
        Checksum::Auto => size >= FROM,
        Checksum::On => true,
        Checksum::Off => false,
    };
    let length = if checked {
        length.saturating_add(8)
    } else {
        length
    };
    if checked {
        flags |= flag::CHECKSUM;
        // The flags lie before the version, which is last so far.
        if let Some(place) = out.len().checked_sub(2).and_then(|at| out.get_mut(at)) {
            *place = flags;
        }
    }
    out.push(u8::try_from(length).unwrap_or(u8::MAX));
    out.extend_from_slice(END_MAGIC);
    if checked {
        let sum = match &drained.sum {
            None => xxhash_rust::xxh3::xxh3_64(&out),
            Some(sum) => {
                let mut sum = sum.clone();
                sum.update(&out);
                sum.digest()
            }
        };
        out.splice(trailer..trailer, sum.to_le_bytes());
    }
    out
}
