//! Compressors by name: `zstd:3`, `lz4:-4`, `gzip:6,layout=members`, and their one scale of effort.

use std::fmt;
use std::str::FromStr;

use super::options::Layout;
use crate::{Error, ErrorKind, Result};

/// A family of compressors, and the container it writes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The bytes themselves.
    None,
    /// Zstandard frames (RFC 8878), `.zst`.
    Zstd,
    /// LZ4 frames, `.lz4`.
    Lz4,
    /// gzip members (RFC 1952), BGZF among them, `.gz`.
    Gzip,
    /// bzip2 streams, `.bz2`.
    Bz2,
    /// xz streams, `.xz`; the older lzma-alone files are read too.
    Xz,
    /// zlib streams (RFC 1950): read where they are named, never told by their bytes nor written.
    Zlib,
}

impl Kind {
    /// Every kind that is written, in the order of listings.
    pub const ALL: &'static [Self] = &[
        Self::None,
        Self::Zstd,
        Self::Lz4,
        Self::Gzip,
        Self::Bz2,
        Self::Xz,
    ];

    /// Name in ids and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Gzip => "gzip",
            Self::Bz2 => "bz2",
            Self::Xz => "xz",
            Self::Zlib => "zlib",
        }
    }

    /// Lowest and highest level, both allowed; 0 is no level where the lowest is negative.
    #[must_use]
    pub fn levels(self) -> Option<(i32, i32)> {
        match self {
            Self::None | Self::Zlib => None,
            Self::Zstd => Some((-7, 22)),
            Self::Lz4 => Some((-64, 12)),
            Self::Gzip => Some((0, 12)),
            Self::Bz2 => Some((1, 9)),
            Self::Xz => Some((0, 9)),
        }
    }

    /// Level of an id without one.
    #[must_use]
    pub fn default_level(self) -> Option<i32> {
        match self {
            Self::None | Self::Zlib => None,
            Self::Zstd => Some(3),
            Self::Lz4 => Some(1),
            Self::Gzip | Self::Xz => Some(6),
            Self::Bz2 => Some(9),
        }
    }

    /// File ending, with the dot; empty for none and zlib.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::None | Self::Zlib => "",
            Self::Zstd => ".zst",
            Self::Lz4 => ".lz4",
            Self::Gzip => ".gz",
            Self::Bz2 => ".bz2",
            Self::Xz => ".xz",
        }
    }

    /// First bytes of its files; empty for none, and for zlib, which has no fixed ones.
    #[must_use]
    pub fn magic(self) -> &'static [u8] {
        match self {
            Self::None | Self::Zlib => b"",
            Self::Zstd => b"\x28\xb5\x2f\xfd", // RFC 8878, 3.1.1
            Self::Lz4 => b"\x04\x22\x4d\x18",  // LZ4 frame format 1.6
            Self::Gzip => b"\x1f\x8b\x08",     // RFC 1952, 2.3.1: ID1, ID2, CM = 8 (deflate)
            Self::Bz2 => b"BZh",
            Self::Xz => b"\xfd\x37\x7a\x58\x5a\x00",
        }
    }

    /// Plain bytes in a chunk when none are asked for, at `level`.
    ///
    /// Measured on five inputs: larger chunks gain less than 1 %, smaller ones lose more.
    #[must_use]
    pub fn default_chunk_size(self, level: i32) -> usize {
        match self {
            Self::Zstd if level <= 6 => 2 << 20,
            Self::Zstd => 4 << 20,
            _ => 1 << 20,
        }
    }

    /// The kind of that name.
    ///
    /// # Errors
    /// `Usage` if there is none; the text lists the names.
    pub fn by_name(name: &str) -> Result<Self> {
        let known = Self::ALL.iter().chain(&[Self::Zlib]);
        let found = known.copied().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            let shown: String = name.escape_default().take(80).collect();
            let text = format!("no compressor {shown:?}; there are {}", names.join(", "));
            Error::new(ErrorKind::Usage, text)
        })
    }

    fn usage(self, text: String) -> Error {
        Error::new(ErrorKind::Usage, text).with_format(self.name())
    }
}

/// A compressor as an id names it: its kind and native level, and if given its chunk and layout.
///
/// # Example
/// ```
/// use tare::compress::Compressor;
///
/// let compressor: Compressor = "zstd:9,chunk=4MiB".parse()?;
/// assert_eq!(("zstd", Some(9)), (compressor.name(), compressor.level()));
/// assert_eq!("zstd:9,chunk=4MiB", compressor.to_string());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compressor {
    kind: Kind,
    level: Option<i32>,
    /// Plain bytes in a chunk; None for the kind's default.
    pub chunk_size: Option<usize>,
    /// How chunks are laid out; `Auto` unless the id names one.
    pub layout: Layout,
}

impl Compressor {
    /// A compressor of a kind, at a native level or the kind's default.
    ///
    /// # Errors
    /// `Usage` for a level out of range.
    pub fn new(kind: Kind, level: Option<i32>) -> Result<Self> {
        let level = checked_level(kind, level)?;
        Ok(Self {
            kind,
            level,
            chunk_size: None,
            layout: Layout::Auto,
        })
    }

    /// Reads an id: `name[:level][,chunk=SIZE][,layout=LAYOUT]`.
    ///
    /// # Errors
    /// `Usage` for a name, level, option or value that does not exist.
    pub fn parse(id: &str) -> Result<Self> {
        let (head, options) = id.split_once(',').unwrap_or((id, ""));
        let (name, level) = match head.split_once(':') {
            None => (head, None),
            Some((name, level)) => (name, Some(level)),
        };
        let kind = Kind::by_name(name)?;
        let level = match level {
            None => None,
            Some(text) => Some(whole_number(kind, text)?),
        };
        let mut compressor = Self::new(kind, level)?;
        for option in options.split(',').filter(|_| id.contains(',')) {
            compressor.set(option)?;
        }
        Ok(compressor)
    }

    /// The compressor of a kind that takes `effort`, 0 (fastest) to 100 (smallest).
    ///
    /// Resolves to a native level at once; more effort never gives a lower level.
    ///
    /// # Errors
    /// `Usage` for an effort above 100, or a kind without levels.
    ///
    /// # Example
    /// ```
    /// use tare::compress::{Compressor, Kind};
    ///
    /// assert_eq!("zstd:7", Compressor::effort(Kind::Zstd, 50)?.to_string());
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn effort(kind: Kind, effort: u8) -> Result<Self> {
        if effort > 100 {
            return Err(kind.usage(format!("no effort {effort}; it goes from 0 to 100")));
        }
        let Some(level) = level_of_effort(kind, i32::from(effort)) else {
            return Err(kind.usage("has no levels, so no effort either".to_string()));
        };
        Self::new(kind, Some(level))
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its kind's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Its native level; None where there are no levels.
    #[must_use]
    pub fn level(&self) -> Option<i32> {
        self.level
    }

    fn set(&mut self, option: &str) -> Result<()> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key {
            "chunk" => self.chunk_size = Some(parse_size(value).ok_or_else(|| self.bad(option))?),
            "layout" => self.layout = Layout::by_name(value).ok_or_else(|| self.bad(option))?,
            _ => return Err(self.bad(option)),
        }
        Ok(())
    }

    fn bad(&self, option: &str) -> Error {
        let shown: String = option.escape_default().take(80).collect();
        self.kind.usage(format!(
            "no option {shown:?}; there are chunk=SIZE (as 4MiB) and layout=seekable, single or members"
        ))
    }
}

impl FromStr for Compressor {
    type Err = Error;

    fn from_str(id: &str) -> Result<Self> {
        Self::parse(id)
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let Some(level) = self.level {
            write!(f, ":{level}")?;
        }
        if let Some(size) = self.chunk_size {
            write!(f, ",chunk={}", Size(size))?;
        }
        match self.layout {
            Layout::Auto => Ok(()),
            layout => write!(f, ",layout={}", layout.name()),
        }
    }
}

/// Bytes, printed in the largest binary unit that divides them.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, bits) in [("GiB", 30_u32), ("MiB", 20), ("KiB", 10)] {
            if self.0 > 0 && self.0.trailing_zeros() >= bits {
                return write!(f, "{}{unit}", self.0 >> bits);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// Reads `65536`, `64KiB`, `4MiB` or `1GiB` as bytes.
fn parse_size(text: &str) -> Option<usize> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let bits = match unit {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << bits)
}

fn whole_number(kind: Kind, text: &str) -> Result<i32> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| whole);
    number.ok_or_else(|| {
        let shown: String = text.escape_default().take(80).collect();
        kind.usage(format!("the level {shown:?} is no whole number"))
    })
}

fn checked_level(kind: Kind, level: Option<i32>) -> Result<Option<i32>> {
    let Some((lowest, highest)) = kind.levels() else {
        return match level {
            None => Ok(None),
            Some(_) => Err(kind.usage("takes no level".to_string())),
        };
    };
    let level = level.or(kind.default_level()).unwrap_or(lowest);
    if level < lowest || level > highest || (level == 0 && lowest < 0) {
        let but = if lowest < 0 { ", not 0" } else { "" };
        let text = format!("no level {level}; levels are {lowest} to {highest}{but}");
        return Err(kind.usage(text));
    }
    Ok(Some(level))
}

/// Native level of an effort of 0 to 100, rounded down.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "efforts are at most 100, and every divisor is a constant above 0"
)]
fn level_of_effort(kind: Kind, effort: i32) -> Option<i32> {
    Some(match kind {
        Kind::None | Kind::Zlib => return None,
        Kind::Zstd => match effort {
            0..=24 => 1 + effort * 2 / 25,
            25..=49 => 3 + (effort - 25) * 4 / 25,
            50..=74 => 7 + (effort - 50) * 5 / 25,
            _ => 12 + (effort - 75) * 7 / 25,
        },
        // Acceleration 8 down to 1, which is level 1; then HC.
        Kind::Lz4 if effort <= 50 => match 8 - 7 * effort / 50 {
            1 => 1,
            acceleration => -acceleration,
        },
        Kind::Lz4 => 3 + 9 * (effort - 51) / 49,
        Kind::Gzip => 1 + 11 * effort / 100,
        Kind::Bz2 => 1 + 8 * effort / 100,
        Kind::Xz => 9 * effort / 100,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_prints_as_it_was_read() {
        for id in [
            "none",
            "zstd:3",
            "zstd:-7",
            "lz4:-64",
            "gzip:0",
            "bz2:9",
            "xz:6",
            "zstd:19,chunk=64KiB",
            "gzip:6,layout=members",
            "lz4:1,chunk=4MiB,layout=seekable",
        ] {
            assert_eq!(id, Compressor::parse(id).unwrap().to_string());
        }
        assert_eq!("zstd:3", Compressor::parse("zstd").unwrap().to_string());
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for id in [
            "",
            "zip",
            "zstd:",
            "zstd:0",
            "zstd:23",
            "zstd:+3",
            "zstd:3 ",
            "none:1",
            "lz4:-65",
            "zstd:3,",
            "zstd:3,chunk",
            "zstd:3,chunk=4MB",
            "zstd:3,layout=auto",
            "zstd:3,x=1",
            "zstd:99999999999",
        ] {
            assert_eq!(
                ErrorKind::Usage,
                Compressor::parse(id).unwrap_err().kind(),
                "{id}"
            );
        }
    }

    #[test]
    fn more_effort_is_never_a_lower_level() {
        let rank = |compressor: Compressor| {
            let level = compressor.level().unwrap();
            // In lz4, -64 to -1 are accelerations: -8 is faster than -2, and level 1 is above.
            (level > 0 || compressor.kind() == Kind::Xz, level)
        };
        for &kind in Kind::ALL.iter().filter(|kind| kind.levels().is_some()) {
            let ranks: Vec<_> = (0..=100)
                .map(|p| rank(Compressor::effort(kind, p).unwrap()))
                .collect();
            assert!(ranks.is_sorted(), "{kind:?}: {ranks:?}");
        }
    }

    #[test]
    fn efforts_are_the_documented_levels() {
        let levels = |kind, efforts: &[u8]| -> Vec<i32> {
            let level = |&p: &u8| Compressor::effort(kind, p).unwrap().level().unwrap();
            efforts.iter().map(level).collect()
        };
        assert_eq!(
            [1, 3, 7, 12, 19],
            levels(Kind::Zstd, &[0, 25, 50, 75, 100])[..]
        );
        assert_eq!(
            [-8, -5, 1, 3, 12],
            levels(Kind::Lz4, &[0, 25, 50, 51, 100])[..]
        );
        assert_eq!([1, 12], levels(Kind::Gzip, &[0, 100])[..]);
    }
}
