//! How a document is written.

use super::misuse;
use crate::blit::emit::Layout;
use crate::blit::keys::Duplicates;
use crate::{Error, ErrorKind, Result};

/// Whether a document carries a checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// From 1,024 bytes on.
    #[default]
    Auto,
    /// Always: 8 bytes.
    On,
    /// Never.
    Off,
}

/// What numbers with a fraction are kept as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// The nearest float, where at most 17 digits were given; else the text.
    #[default]
    Value,
    /// The text, wherever it is not the shortest of its float.
    Text,
}

/// What happens to text that is half of a surrogate pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surrogates {
    /// It is refused.
    #[default]
    Error,
    /// It is kept, and written back as `\udxxx`.
    Keep,
}

/// How a document is written. The default is profile 1: the same value gives the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns, or every value by itself so that it can be patched.
    pub layout: Layout,
    /// What numbers with a fraction are kept as.
    pub numbers: Numbers,
    /// What happens to names that an object has twice.
    pub duplicates: Duplicates,
    /// What happens to halves of surrogate pairs.
    pub surrogates: Surrogates,
    /// Whether the document carries a checksum.
    pub checksum: Checksum,
    /// Whether long lists of numbers lie at multiples of their width, for use without copying.
    pub aligned: bool,
    /// Whether strings that mixed lists have again and again are kept once. All values are held
    /// until the end, and written twice.
    pub pool: bool,
    /// Strings of so many bytes, 512 or more, are compressed by themselves where that saves an
    /// eighth of them. Not for documents that are compressed as a whole.
    pub compress_strings: Option<usize>,
    /// The same value always gives the same bytes: no checksum, no duplicates, no surrogates.
    pub canonical: bool,
}

impl Options {
    /// What `canonical` allows of the other options.
    ///
    /// # Errors
    /// `Usage` for options that it rules out.
    pub(super) fn resolved(mut self) -> Result<Self> {
        const LEAST: usize = 512;
        if self.compress_strings.is_some_and(|from| from < LEAST) {
            let text = format!("strings of less than {LEAST} bytes are not compressed");
            return Err(misuse(&text));
        }
        if !self.canonical {
            return Ok(self);
        }
        let plain = self.layout == Layout::Columns
            && self.numbers == Numbers::Value
            && self.surrogates == Surrogates::Error
            && self.duplicates != Duplicates::Keep
            && self.checksum != Checksum::On
            && !self.aligned
            && !self.pool
            && self.compress_strings.is_none();
        if !plain {
            let text = "canonical documents have no other options";
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        self.duplicates = Duplicates::Error;
        self.checksum = Checksum::Off;
        Ok(self)
    }
}
