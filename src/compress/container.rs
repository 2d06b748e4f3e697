//! What each container does for the writer and the reader: on workers, and in order beside them.

use std::sync::Arc;

use super::chunked::{Cell, Stop, Work};
use super::input::Input;
use super::seek_table::Entry;
use super::{Completeness, Kind};
use crate::{Error, ErrorKind, Result};

/// Encodes chunks, each into one whole unit of its container; on a worker.
pub(super) trait UnitEncoder: Send {
    /// Appends the unit of `plain` to `stored`.
    fn encode(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()>;
}

/// Lays units out in order; on the calling thread.
pub(super) trait Container: Send {
    /// Makes a worker's encoder.
    fn encoder(&self) -> Arc<Make<dyn UnitEncoder>>;

    /// Appends what comes before the first unit; `total` plain bytes follow, if that is known.
    fn head(&mut self, total: Option<u64>, stored: &mut Vec<u8>) -> Result<()>;

    /// Takes note of a unit, in order, before it is written.
    fn unit(&mut self, plain: &[u8], stored: &[u8]) -> Result<()>;

    /// Appends what comes after the last unit.
    fn tail(&mut self, stored: &mut Vec<u8>) -> Result<()>;

    /// Appends the whole container of an input shorter than one chunk.
    fn lone(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()>;

    /// How many bytes of what was written are held back until more follow, so that a stream
    /// that is cut off never ends where it could be whole.
    fn held_back(&self) -> usize {
        0
    }

    /// The index that stands beside the container, if one was asked for; asked once, at the end.
    fn index(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Bytes that such an index takes so far.
    fn index_bytes(&self) -> usize {
        0
    }

    /// Whether the head is written as soon as there are plain bytes, because a stream cut down
    /// to nothing would pass for whole.
    fn eager(&self) -> bool {
        false
    }
}

/// Encodes a stream that cannot be cut into units; on the calling thread.
pub(super) trait StreamEncoder: Send {
    /// Takes all of `plain`, and appends to `stored` what is ready.
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()>;

    /// Appends everything so far, so that a reader can decode it.
    fn flush(&mut self, stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()>;

    /// Appends the rest; nothing is written afterwards.
    fn finish(&mut self, stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()>;
}

/// Makes a worker's coder, on that worker.
pub(super) type Make<T> = dyn Fn() -> Result<Box<T>> + Send + Sync;

/// Tag of a unit that is an end mark: delivered in order like the others, but not counted.
pub(super) const END_MARK: u64 = 1 << 63;

/// A unit that can be decoded by itself: the next `stored` bytes of the input.
#[derive(Clone, Debug, Default)]
pub(super) struct Unit {
    /// Offset of its first byte in the stored stream.
    pub(super) start: u64,
    /// How many bytes it is stored in.
    pub(super) stored: usize,
    /// How many plain bytes it claims to hold, where it does.
    pub(super) claim: Option<u64>,
    /// How many plain bytes it can hold at most.
    pub(super) bound: usize,
    /// What its container wants to know again when it is delivered, such as flags.
    pub(super) tag: u64,
}

/// Says which unit of a file is damaged, and which of its plain bytes are lost with it: those
/// from `from` on that the unit claims to hold.
pub(super) fn of_unit(
    error: Error,
    kind: Kind,
    number: u64,
    from: u64,
    until: Option<u64>,
) -> Error {
    if !matches!(
        error.kind(),
        ErrorKind::Malformed | ErrorKind::ChecksumMismatch
    ) {
        return error;
    }
    let word = match kind {
        Kind::Lz4 => format!("block {number}: "),
        // A batch of members, which says itself in which one.
        Kind::Gzip => String::new(),
        _ => format!("frame {number}: "),
    };
    let behind = match until.and_then(|until| until.checked_sub(1)) {
        Some(last) if last >= from => format!("; bytes {from} to {last} of the plain data are bad"),
        _ => format!("; the plain data are bad from byte {from} on"),
    };
    error.within(&word, &behind)
}

/// What comes next in a stored stream.
#[derive(Debug)]
pub(super) enum Step {
    /// A unit, all of whose bytes are ahead in the input.
    Unit(Unit),
    /// Something to be decoded byte after byte, by `serial`, once all before it is delivered.
    Serial,
    /// Bytes that hold nothing were gone past.
    Passed,
    /// Nothing was gone past: ask again once all units before are delivered.
    Wait,
    /// The end: at the end of the input, or where bytes follow that are of no unit.
    End,
}

/// Decodes units, each by itself; on a worker.
pub(super) trait UnitDecoder: Send {
    /// Appends the plain bytes of `unit`, stored in `stored`, to `plain` (empty before), which
    /// must not become longer than the unit's bound. What is there after an error is given out
    /// before it: only parts that were verified.
    fn decode(&mut self, unit: &Unit, stored: &[u8], plain: &mut Vec<u8>) -> Result<()>;

    /// After an error: how many plain bytes behind the verified ones are lost, where that is less
    /// than all that the unit claims.
    fn lost(&self) -> Option<u64> {
        None
    }
}

/// What a table's entry is.
#[derive(Debug)]
pub(super) enum Listed {
    /// Something without plain bytes.
    Nothing,
    Unit(Unit),
    /// A unit that does not say how much it holds, and is not of the usual size.
    Doubtful(Unit),
}

/// Finds the units of a stored stream; on the calling thread.
pub(super) trait Walker: Send {
    /// Makes a worker's decoder.
    fn decoder(&self) -> Arc<Make<dyn UnitDecoder>>;

    /// Looks at what comes next, going past all but a unit's own bytes.
    ///
    /// # Errors
    /// What is wrong with the input, at its offset; `Io` if it cannot be read.
    fn step(&mut self, input: &mut dyn Input) -> Result<Step>;

    /// After `Step::Serial`: fills the start of `into` (not empty); 0 where that part is over.
    fn serial(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize>;

    /// Takes note of a decoded unit, in order, before its bytes are given out.
    fn delivered(&mut self, unit: &Unit, plain: &[u8]) -> Result<()>;

    /// The unit that a table at the end of the file lists, held against `head`, its first bytes.
    /// Asked after the first unit was stepped to, so that its frame's header is known.
    ///
    /// # Errors
    /// `Malformed`, without an offset, if the table says other than the unit: what comes behind
    /// it would be found in the wrong place.
    fn listed(&self, entry: Entry, start: u64, head: &[u8]) -> Result<Listed> {
        let _ = (entry, head);
        let text = "a table lists units of a format without tables";
        Err(Error::new(ErrorKind::Internal, text).with_offset(start))
    }

    /// What proves that the end is the end; asked after `Step::End`.
    fn completeness(&self) -> Completeness;

    /// Whether an end that nothing proves looks like that of a file written here, cut between
    /// two chunks; asked after `Step::End`.
    fn looks_cut(&self) -> bool {
        false
    }
}

/// Encoding as work for a ring.
pub(super) struct Encoding(pub(super) Arc<Make<dyn UnitEncoder>>);

impl Work for Encoding {
    type Context = Box<dyn UnitEncoder>;
    type Note = ();

    fn context(&self) -> Result<Self::Context> {
        (self.0)()
    }

    fn run(&self, encoder: &mut Self::Context, cell: &mut Cell<()>, stop: &Stop<'_>) -> Result<()> {
        encoder.encode(&cell.input, &mut cell.output, stop)
    }
}

/// Decoding as work for a ring.
pub(super) struct Decoding(pub(super) Arc<Make<dyn UnitDecoder>>);

impl Work for Decoding {
    type Context = Box<dyn UnitDecoder>;
    type Note = Unit;

    fn context(&self) -> Result<Self::Context> {
        (self.0)()
    }

    fn run(&self, decoder: &mut Self::Context, cell: &mut Cell<Unit>, _: &Stop<'_>) -> Result<()> {
        let start = cell.note.start;
        let result = decoder.decode(&cell.note, &cell.input, &mut cell.output);
        if let (Err(_), Some(lost)) = (&result, decoder.lost()) {
            cell.note.claim = Some(lost.saturating_add(cell.output.len() as u64));
        }
        result.map_err(|error: Error| match error.offset() {
            Some(_) => error,
            None => error.with_offset(start),
        })
    }
}
