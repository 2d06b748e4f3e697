//! Plain objects: what R would have stored of a value, and what stored bytes are a form of.

use std::io::{self, Read, Write};

use super::HEADER_BYTES;
use crate::compress::Reader;
use crate::robject::{self, rds, Encoding, RObject, Source, WriteOptions};
use crate::store::{Algorithm, Hash, Hasher};
use crate::{Error, ErrorKind, Result};

/// XDR, version 2, written by R 4.2.2, for R 2.3.0 and later: what hashes leave out.
const HEADER: [u8; HEADER_BYTES] = *b"X\n\0\0\0\x02\0\x04\x02\x02\0\x02\x03\0";

/// Writes an R object as R's storr stores it, before compression; the bytes written.
///
/// That is version 2 as XDR, with deferred vectors as their values. An object that was read from R's
/// files keeps its flags, so that its hash is the one that R gave it.
///
/// # Errors
/// `Limit` and `Unsupported` for deferred vectors that cannot be made; `Io` for what the sink
/// refuses.
///
/// # Example
/// ```
/// use tare::robject::{Body, Builder};
/// use tare::store::drivers::storr::encode;
/// use tare::store::{Algorithm, Hasher};
///
/// let mut build = Builder::new();
/// let root = build.push(Body::Integer(vec![1, 2, 3]))?;
/// let mut plain = Vec::new();
/// encode(&build.finish(root), &mut plain)?;
/// let mut hasher = Hasher::new(Algorithm::Md5, 14);
/// hasher.update(&plain);
/// // What R says: digest(1:3, serializeVersion = 2)
/// assert_eq!("c44c382c99fc3c24c3d2bad235d8a569", hasher.finish().hex());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn encode(object: &RObject, sink: impl Write) -> Result<u64> {
    let options = WriteOptions {
        version: Some(2),
        encoding: Some(Encoding::Xdr),
        ..WriteOptions::default()
    };
    let header = HEADER.as_slice();
    rds::serialize_to(object, &options, Headed { header, sink })
}

/// Puts the header of [`HEADER`] in the place of any other.
struct Headed<W> {
    header: &'static [u8],
    sink: W,
}

impl<W: Write> Write for Headed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let ours = self.header.len().min(bytes.len());
        if ours == 0 {
            return self.sink.write(bytes);
        }
        let (front, rest) = self.header.split_at(ours);
        self.sink.write_all(front)?;
        self.header = rest;
        Ok(ours)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// The hash that R gave a value that is stored in another form than version 2 as XDR: R's storr stores
/// version 3 from 2^31 - 2 bytes on, and reads any. None for plain bytes of that form, and of none.
pub(super) fn rehash(plain: &mut (dyn Read + Send), algorithm: Algorithm) -> Result<Option<Hash>> {
    let mut hasher = HashSink(Hasher::new(algorithm, HEADER_BYTES));
    let Some(object) = other_form(plain)? else {
        return Ok(None);
    };
    encode(&object, &mut hasher)?;
    Ok(Some(hasher.0.finish()))
}

/// The object of plain bytes that are of another form.
fn other_form(mut plain: &mut (dyn Read + Send)) -> Result<Option<RObject>> {
    let mut head = Vec::new();
    let read = (&mut plain).take(6).read_to_end(&mut head);
    read.map_err(unreadable)?;
    if !is_serialization(&head) || is_usual(&head) {
        return Ok(None);
    }
    let whole = Source::stream(io::Cursor::new(head).chain(plain));
    robject::read(whole, &robject::ReadOptions::default()).map(Some)
}

/// Whether these are the first bytes of what [`encode`] writes, by any version of R.
fn is_usual(head: &[u8]) -> bool {
    head.get(..6) == HEADER.get(..6)
}

fn is_serialization(head: &[u8]) -> bool {
    matches!(
        head,
        [b'X' | b'A' | b'B', b'\n', ..] | [b'A', b'\r', b'\n', ..]
    )
}

/// What two stored objects of one hash are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The same value.
    Same,
    /// Another value, of the same hash.
    Other,
    /// The first is not what its hash says.
    Damaged,
}

/// Compares the object that is there with one that is to be stored.
pub(super) fn compare(
    there: impl Fn() -> Result<Box<dyn Read + Send>>,
    new: impl Read + Send,
    hash: &Hash,
    algorithm: Algorithm,
) -> Result<Likeness> {
    let mut hasher = HashSink(Hasher::new(algorithm, HEADER_BYTES));
    match same_bytes(&mut *there()?, new) {
        Ok(true) => return Ok(Likeness::Same),
        Ok(false) => {}
        // What cannot be decompressed is not what its hash says either.
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(_) => return Ok(Likeness::Damaged),
    }
    let found = io::copy(&mut there()?, &mut hasher);
    let found = match found {
        Ok(_) => hasher.0.finish(),
        Err(_) => return Ok(Likeness::Damaged),
    };
    if found == *hash {
        return Ok(Likeness::Other);
    }
    // Another form of a value cannot be told from this one by its bytes.
    Ok(match rehash(&mut *there()?, algorithm) {
        Ok(Some(found)) if found == *hash => Likeness::Same,
        _ => Likeness::Damaged,
    })
}

/// Whether two plain streams are the same behind their headers.
fn same_bytes(one: &mut dyn Read, mut other: impl Read) -> Result<bool> {
    const BLOCK: usize = 64 << 10;
    let mut blocks = (Vec::new(), Vec::new());
    let mut header = HEADER_BYTES;
    loop {
        blocks.0.clear();
        blocks.1.clear();
        let read = Read::take(&mut *one, BLOCK as u64).read_to_end(&mut blocks.0);
        read.map_err(unreadable)?;
        let read = other.by_ref().take(BLOCK as u64).read_to_end(&mut blocks.1);
        read.map_err(unreadable)?;
        if blocks.0.len() != blocks.1.len() || blocks.0.get(header..) != blocks.1.get(header..) {
            return Ok(false);
        }
        if blocks.0.is_empty() {
            return Ok(true);
        }
        header = 0;
    }
}

/// The plain bytes of a stored object.
pub(super) fn plain(stored: impl Read + Send + 'static) -> Result<Reader<Box<dyn Read + Send>>> {
    let stored: Box<dyn Read + Send> = Box::new(stored);
    let options = crate::compress::ReadOptions {
        threads: Some(1),
        ..crate::compress::ReadOptions::default()
    };
    Reader::new(stored, options)
}

pub(super) struct HashSink(pub(super) Hasher);

impl Write for HashSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unreadable(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) => {
            let text = format!("cannot read an object: {error}");
            Error::new(ErrorKind::Io, text).with_source(error)
        }
    }
}
