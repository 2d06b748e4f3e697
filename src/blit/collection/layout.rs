//! The bytes of a collection: its header, the entries of an index, the footer of a commit.

use super::wrong;
use crate::{ErrorKind, Result};

/// First bytes of a collection.
pub(super) const MAGIC: &[u8; 4] = b"BLS1";
/// Last bytes of a commit.
pub(super) const END: &[u8; 8] = b"BLS1-end";
/// The version that is written, and the only one there is.
const VERSION: u8 = 1;
/// Bytes of the header; where the first commit begins.
pub(super) const HEADER: u64 = 16;
/// Bytes of an entry of the index.
pub(super) const ENTRY: usize = 32;
/// Bytes of a footer.
pub(super) const FOOTER: usize = 72;
/// Bytes of a footer that its checksum covers.
const COVERED: usize = 56;
/// To multiples of this chunks are moved where they are aligned.
pub(super) const ALIGN: u64 = 64;

/// A header that says where the last commit ends.
pub(super) fn header(committed_end: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    let (start, end) = bytes.split_at_mut(8);
    start.copy_from_slice(&[b'B', b'L', b'S', b'1', VERSION, 0, 0, 0]);
    end.copy_from_slice(&committed_end.to_le_bytes());
    bytes
}

/// Where the last commit ends, by the header; 0 if it does not say.
///
/// # Errors
/// C1.
pub(super) fn committed_end(bytes: &[u8]) -> Result<u64> {
    let mut fields = Fields(bytes);
    let (magic, version) = (fields.take::<4>(), fields.take::<1>());
    let (Some(magic), Some([version])) = (magic, version) else {
        let text = "fewer bytes than a collection's header has";
        return Err(wrong(ErrorKind::Truncated, "C1", text, bytes.len() as u64));
    };
    if magic != *MAGIC {
        let text = "it does not begin with BLS1";
        return Err(wrong(ErrorKind::Malformed, "C1", text, 0));
    }
    if version != VERSION {
        let text = "a version of collections that this one does not read";
        return Err(wrong(ErrorKind::Unsupported, "C1", text, 4));
    }
    match (fields.take::<3>(), fields.take::<8>()) {
        (Some([0, 0, 0]), Some(end)) => Ok(u64::from_le_bytes(end)),
        (Some(_), Some(_)) => {
            let text = "bytes of the header that are not zero";
            Err(wrong(ErrorKind::Unsupported, "C1", text, 5))
        }
        _ => {
            let text = "fewer bytes than a collection's header has";
            Err(wrong(ErrorKind::Truncated, "C1", text, bytes.len() as u64))
        }
    }
}

/// What a chunk is stored as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Codec {
    #[default]
    None,
    Zstd,
    Lz4,
}

/// A chunk: where it is, what it is stored as, and which documents are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// In the file.
    pub(super) offset: u64,
    pub(super) stored: u32,
    pub(super) raw: u32,
    /// Number of its first document in the commit.
    pub(super) first: u32,
    pub(super) codec: Codec,
    pub(super) checksum: u64,
}

impl Entry {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.offset.to_le_bytes());
        for number in [self.stored, self.raw, self.first] {
            out.extend(number.to_le_bytes());
        }
        let codec = match self.codec {
            Codec::None => 0,
            Codec::Zstd => 1,
            Codec::Lz4 => 2,
        };
        out.extend([codec, 0, 0, 0]);
        out.extend(self.checksum.to_le_bytes());
    }

    /// An entry; None if it is none.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let offset = fields.u64()?;
        let (stored, raw, first) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let codec = match fields.take::<4>()? {
            [0, 0, 0, 0] => Codec::None,
            [1, 0, 0, 0] => Codec::Zstd,
            [2, 0, 0, 0] => Codec::Lz4,
            _ => return None,
        };
        Some(Self {
            offset,
            stored,
            raw,
            first,
            codec,
            checksum: fields.u64()?,
        })
    }

    /// Where it ends in the file.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.stored))
    }
}

/// What ends a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) start: u64,
    /// Documents in earlier commits.
    pub(super) before: u64,
    pub(super) documents: u32,
    pub(super) chunks: u32,
    pub(super) nkeys: u32,
    pub(super) nshapes: u32,
    pub(super) npool: u32,
    pub(super) keys_len: u32,
    pub(super) shapes_len: u32,
    pub(super) pool_len: u32,
    pub(super) flags: u8,
}

impl Footer {
    /// A footer behind its sections, KEYS to INDEX, which are in `out` from `sections` on.
    pub(super) fn write(&self, sections: usize, out: &mut Vec<u8>) {
        out.extend(self.start.to_le_bytes());
        out.extend(self.before.to_le_bytes());
        for number in [
            self.documents,
            self.chunks,
            self.nkeys,
            self.nshapes,
            self.npool,
            self.keys_len,
            self.shapes_len,
            self.pool_len,
        ] {
            out.extend(number.to_le_bytes());
        }
        out.extend([VERSION, self.flags, 0, 0, 0, 0, 0, 0]);
        let covered = out.get(sections..).unwrap_or_default();
        let checksum = xxhash_rust::xxh3::xxh3_64(covered);
        out.extend(checksum.to_le_bytes());
        out.extend_from_slice(END);
    }

    /// The footer of 72 bytes that lie at `at`, and the checksum that its sections must have.
    ///
    /// # Errors
    /// C3, `Truncated` where its last bytes are not there.
    pub(super) fn read(bytes: &[u8], at: u64) -> Result<(Self, u64)> {
        if bytes.len() != FOOTER || !bytes.ends_with(END) {
            let text = "no footer of a commit";
            return Err(wrong(ErrorKind::Truncated, "C3", text, at));
        }
        Self::fields(bytes).ok_or_else(|| {
            let text = "a footer of another version, or with bytes that are not zero";
            wrong(ErrorKind::Unsupported, "C3", text, at)
        })
    }

    fn fields(bytes: &[u8]) -> Option<(Self, u64)> {
        /// POOL, ALIGNED, `KEEPS_DUPLICATES`, WTF8.
        const FLAGS: u8 = 0b1_1110;
        let mut fields = Fields(bytes);
        let footer = Self {
            start: fields.u64()?,
            before: fields.u64()?,
            documents: fields.u32()?,
            chunks: fields.u32()?,
            nkeys: fields.u32()?,
            nshapes: fields.u32()?,
            npool: fields.u32()?,
            keys_len: fields.u32()?,
            shapes_len: fields.u32()?,
            pool_len: fields.u32()?,
            flags: 0,
        };
        match fields.take::<8>()? {
            [VERSION, flags, 0, 0, 0, 0, 0, 0] if flags & !FLAGS == 0 => {
                Some((Self { flags, ..footer }, fields.u64()?))
            }
            _ => None,
        }
    }

    /// Bytes of KEYS, SHAPES, POOL and INDEX.
    pub(super) fn sections(&self) -> u64 {
        let lengths = [self.keys_len, self.shapes_len, self.pool_len];
        let index = u64::from(self.chunks).saturating_mul(ENTRY as u64);
        lengths
            .iter()
            .fold(index, |sum, &length| sum.saturating_add(length.into()))
    }

    /// The checksum of sections and footer, of which the second follows the first.
    pub(super) fn checksum(bytes: &[u8]) -> u64 {
        let covered = bytes.len().saturating_sub(FOOTER.saturating_sub(COVERED));
        xxhash_rust::xxh3::xxh3_64(bytes.get(..covered).unwrap_or_default())
    }
}

/// Takes fields one after another.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    #[inline]
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    #[inline]
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_footers_come_back() {
        let entry = Entry {
            offset: 1 << 40,
            stored: 7,
            raw: 9,
            first: 3,
            codec: Codec::Lz4,
            checksum: u64::MAX,
        };
        let mut out = Vec::new();
        entry.write(&mut out);
        assert_eq!((ENTRY, Some(entry)), (out.len(), Entry::read(&out)));
        out[20] = 3;
        assert_eq!(None, Entry::read(&out));

        let footer = Footer {
            start: 16,
            documents: 2,
            chunks: 1,
            flags: 2,
            ..Footer::default()
        };
        let mut out = b"KEYS".to_vec();
        footer.write(0, &mut out);
        let (found, checksum) = Footer::read(&out[4..], 4).unwrap();
        assert_eq!((footer, checksum), (found, Footer::checksum(&out)));
        out[4 + 50] = 1;
        let error = Footer::read(&out[4..], 4).unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind());
    }

    #[test]
    fn headers_are_what_they_say() {
        assert_eq!(300, committed_end(&header(300)).unwrap());
        for (at, kind) in [
            (0, ErrorKind::Malformed),
            (4, ErrorKind::Unsupported),
            (7, ErrorKind::Unsupported),
        ] {
            let mut bytes = header(16);
            bytes[at] ^= 8;
            assert_eq!(kind, committed_end(&bytes).unwrap_err().kind());
        }
        let cut = committed_end(&header(16)[..15]).unwrap_err();
        assert!(cut.is_truncated());
    }
}
