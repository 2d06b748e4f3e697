//! Compressors behind the ids `none`, `zstd:3`, `lz4:1` and `gzip:6`.
//!
//! Reading is strict: what is cut is [`ErrorKind::Truncated`], what follows the last frame or
//! member is `Malformed`, every checksum present is verified, and several frames or members are
//! read whole. Writing takes one buffer and gives one buffer; do not use it for data that must
//! not be held in memory twice.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod gzip;
mod input;
mod lz4;
mod none;
mod output;
mod reader;
mod zstd;

use std::io::Read;

use crate::{Error, ErrorKind, Result};
use output::Output;
pub use output::Placed;
pub use reader::Reader;

/// A compressed stream, whatever it is.
type Stream<'a> = Box<dyn Read + Send + 'a>;

/// One compressor: its name, its levels, how files of it are told, and its two directions.
#[derive(Debug)]
pub struct Compressor {
    /// Name in ids and on the command line.
    pub name: &'static str,
    /// Lowest and highest level, both allowed; 0 is not a level where the lowest is negative.
    pub levels: Option<(i32, i32)>,
    /// Level of an id without one.
    pub default_level: Option<i32>,
    /// File ending, with the dot; empty for none.
    pub extension: &'static str,
    /// First bytes of its files; empty for none.
    pub magic: &'static [u8],
    encode: fn(&[u8], i32) -> Result<Vec<u8>>,
    expect: fn(&[u8]) -> Option<u64>,
    decode: fn(&[u8], &mut Output<'_>) -> Result<()>,
    open: for<'a> fn(Stream<'a>) -> Box<dyn reader::Decode + 'a>,
}

/// Every compressor, in the order of listings.
pub const COMPRESSORS: &[Compressor] = &[
    none::COMPRESSOR,
    zstd::COMPRESSOR,
    lz4::COMPRESSOR,
    gzip::COMPRESSOR,
];

/// Finds a compressor by its name.
///
/// # Errors
/// `Usage` if there is none of that name; the text lists the names.
///
/// # Example
/// ```
/// assert_eq!(Some((-7, 22)), tare::compress::by_name("zstd")?.levels);
/// assert!(tare::compress::by_name("zip").is_err());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn by_name(name: &str) -> Result<&'static Compressor> {
    COMPRESSORS
        .iter()
        .find(|compressor| compressor.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = COMPRESSORS.iter().map(|c| c.name).collect();
            let shown: String = name.escape_default().take(80).collect();
            let text = format!("no compressor {shown:?}; there are {}", names.join(", "));
            Error::new(ErrorKind::Usage, text)
        })
}

impl Compressor {
    /// Compresses `data` into one frame or member, at `level` or the default level.
    ///
    /// The same data and level give the same bytes.
    ///
    /// # Errors
    /// `Usage` for a level out of range; `Internal` if the library fails.
    pub fn compress(&self, data: &[u8], level: Option<i32>) -> Result<Vec<u8>> {
        (self.encode)(data, self.check_level(level)?)
    }

    /// Decompresses all frames or members of `data`, which must end where the last one ends.
    ///
    /// Memory follows what is decoded, never what the data claims; `max_bytes` bounds it.
    ///
    /// # Errors
    /// `Truncated`, `Malformed`, `ChecksumMismatch` or `Unsupported` with the byte offset in
    /// `data`; `Limit` if the result would be longer than `max_bytes`.
    pub fn decompress(&self, data: &[u8], max_bytes: Option<u64>) -> Result<Vec<u8>> {
        let mut output = Output::new(max_bytes);
        self.decode(data, &mut output)?;
        Ok(output.into_vec())
    }

    /// Decompresses as [`decompress`](Self::decompress) does, into `place` if that suffices.
    ///
    /// # Errors
    /// As `decompress`; what `place` holds then says nothing.
    ///
    /// # Example
    /// ```
    /// use tare::compress::{by_name, Placed};
    ///
    /// let packed = by_name("lz4")?.compress(b"weighed", None)?;
    /// let mut place = vec![0; by_name("lz4")?.expected_bytes(&packed).unwrap_or(0)];
    /// match by_name("lz4")?.decompress_into(&packed, &mut place, None)? {
    ///     Placed::Lent(size) => assert_eq!(b"weighed", &place[..size]),
    ///     Placed::Own(_) => panic!("the header had the size"),
    /// }
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn decompress_into(
        &self,
        data: &[u8],
        place: &mut [u8],
        max_bytes: Option<u64>,
    ) -> Result<Placed> {
        let mut output = Output::lent(place, max_bytes);
        self.decode(data, &mut output)?;
        Ok(output.placed())
    }

    /// How many bytes `data` seems to decompress to: its own claim, where that is plausible.
    #[must_use]
    pub fn expected_bytes(&self, data: &[u8]) -> Option<usize> {
        let claim = (self.expect)(data)?;
        let believed = believed_bytes(claim, data.len());
        (believed as u64 == claim).then_some(believed)
    }

    fn decode(&self, data: &[u8], output: &mut Output<'_>) -> Result<()> {
        (self.decode)(data, output).map_err(|error| error.with_format(self.name))
    }

    /// Reads the plain bytes of a compressed stream of any length, in bounded memory.
    ///
    /// `stream` is read ahead by up to 128 KiB; give it unbuffered.
    pub fn reader<'a>(&'static self, stream: impl Read + Send + 'a) -> Reader<'a> {
        Reader::new(self, (self.open)(Box::new(stream)))
    }

    fn check_level(&self, level: Option<i32>) -> Result<i32> {
        let Some((lowest, highest)) = self.levels else {
            return match level {
                None => Ok(0),
                Some(_) => Err(self.usage("takes no level".to_string())),
            };
        };
        let level = level.or(self.default_level).unwrap_or(lowest);
        if level < lowest || level > highest || (level == 0 && lowest < 0) {
            let but = if lowest < 0 { ", not 0" } else { "" };
            let text = format!("no level {level}; levels are {lowest} to {highest}{but}");
            return Err(self.usage(text));
        }
        Ok(level)
    }

    fn usage(&self, text: String) -> Error {
        Error::new(ErrorKind::Usage, text).with_format(self.name)
    }
}

/// A claimed size, cut to what is made place for at once before anything is decoded:
/// 64 MiB, or 256 bytes for each stored one.
fn believed_bytes(claim: u64, stored: usize) -> usize {
    let most = stored.saturating_mul(256).max(64 << 20);
    usize::try_from(claim).unwrap_or(most).min(most)
}
