//! Ints, doubles, bytes and strings in each of the encodings, into a buffer or a sink.

use std::io::Write;

use crate::robject::{Encoding, Text, NA_INT};
use crate::{Error, ErrorKind, Result};

use super::{signed, text};

/// The buffer goes to the sink once it is so long.
const FLUSH_BYTES: usize = 1 << 18;
/// Elements that are converted at a time.
const BLOCK: usize = 1 << 13;

/// Plain bytes that are written.
pub(super) struct Output<'a> {
    encoding: Encoding,
    buffer: Vec<u8>,
    sink: Option<&'a mut dyn Write>,
    flushed: u64,
}

impl<'a> Output<'a> {
    /// Into memory, or into a sink by and by.
    pub(super) fn new(encoding: Encoding, sink: Option<&'a mut dyn Write>) -> Self {
        Self {
            encoding,
            buffer: Vec::new(),
            sink,
            flushed: 0,
        }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn is_text(&self) -> bool {
        matches!(self.encoding, Encoding::Ascii | Encoding::AsciiHex)
    }

    /// Everything to the sink; what was not, and how many bytes there were in all.
    pub(super) fn finish(mut self) -> Result<(Vec<u8>, u64)> {
        let total = self.flushed.saturating_add(self.buffer.len() as u64);
        if self.sink.is_some() {
            self.flush()?;
        }
        Ok((self.buffer, total))
    }

    /// Gives a full buffer to the sink.
    #[inline]
    fn check(&mut self) -> Result<()> {
        if self.buffer.len() >= FLUSH_BYTES && self.sink.is_some() {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.write_all(&self.buffer).map_err(of_sink)?;
            self.flushed = self.flushed.saturating_add(self.buffer.len() as u64);
            self.buffer.clear();
        }
        Ok(())
    }

    /// Bytes as they stand: what begins a file.
    pub(super) fn plain(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    #[inline]
    pub(super) fn int(&mut self, value: i32) -> Result<()> {
        match self.encoding {
            Encoding::Xdr => {
                let bytes = value.swap_bytes().to_le_bytes();
                self.buffer.extend_from_slice(&bytes);
            }
            Encoding::Native => self.buffer.extend_from_slice(&value.to_le_bytes()),
            Encoding::Ascii | Encoding::AsciiHex => self.text_int(value),
        }
        self.check()
    }

    fn text_int(&mut self, value: i32) {
        if value == NA_INT {
            self.buffer.extend_from_slice(b"NA");
        } else {
            let mut digits = itoa::Buffer::new();
            self.buffer
                .extend_from_slice(digits.format(value).as_bytes());
        }
        self.buffer.push(b'\n');
    }

    /// The length of a vector: one int, or -1 and two halves.
    pub(super) fn length(&mut self, length: usize) -> Result<()> {
        if let Ok(short) = i32::try_from(length) {
            return self.int(short);
        }
        let long = length as u64;
        let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap_or_default();
        self.int(-1)?;
        self.int(signed(half(long >> 32)))?;
        self.int(signed(half(long)))
    }

    /// Writes elements of `N` bytes by blocks.
    fn bulk<const N: usize, T: Copy>(
        &mut self,
        all: &[T],
        convert: impl Fn(T) -> [u8; N],
    ) -> Result<()> {
        for block in all.chunks(BLOCK) {
            let from = self.buffer.len();
            let size = block.len().saturating_mul(N);
            self.buffer.resize(from.saturating_add(size), 0);
            let place = self.buffer.get_mut(from..).unwrap_or_default();
            for (place, one) in place.chunks_exact_mut(N).zip(block) {
                place.copy_from_slice(&convert(*one));
            }
            self.check()?;
        }
        Ok(())
    }

    pub(super) fn ints(&mut self, all: &[i32]) -> Result<()> {
        self.length(all.len())?;
        match self.encoding {
            Encoding::Xdr => self.bulk(all, |one| one.swap_bytes().to_le_bytes()),
            Encoding::Native => self.bulk(all, i32::to_le_bytes),
            Encoding::Ascii | Encoding::AsciiHex => all.iter().try_for_each(|one| self.int(*one)),
        }
    }

    /// Doubles; `odd` knows the text of elements that do not print as they were read.
    pub(super) fn doubles<'t>(
        &mut self,
        all: &[f64],
        odd: impl Fn(u64) -> Option<&'t str>,
    ) -> Result<()> {
        self.length(all.len())?;
        if self.is_text() {
            for (at, one) in (0_u64..).zip(all) {
                self.text_double(*one, odd(at))?;
            }
            return Ok(());
        }
        if self.encoding == Encoding::Xdr {
            self.bulk(all, big)
        } else {
            self.bulk(all, f64::to_le_bytes)
        }
    }

    pub(super) fn complexes<'t>(
        &mut self,
        all: &[[f64; 2]],
        odd: impl Fn(u64) -> Option<&'t str>,
    ) -> Result<()> {
        self.length(all.len())?;
        if self.is_text() {
            for (at, one) in (0_u64..).zip(all.as_flattened()) {
                self.text_double(*one, odd(at))?;
            }
            return Ok(());
        }
        if self.encoding == Encoding::Xdr {
            self.bulk(all.as_flattened(), big)
        } else {
            self.bulk(all.as_flattened(), f64::to_le_bytes)
        }
    }

    fn text_double(&mut self, value: f64, odd: Option<&str>) -> Result<()> {
        if let Some(odd) = odd {
            self.buffer.extend_from_slice(odd.as_bytes());
        } else {
            let hex = self.encoding == Encoding::AsciiHex;
            let mut word = String::with_capacity(32);
            text::print(value, hex, &mut word);
            self.buffer.extend_from_slice(word.as_bytes());
        }
        self.buffer.push(b'\n');
        self.check()
    }

    pub(super) fn raw(&mut self, all: &[u8]) -> Result<()> {
        self.length(all.len())?;
        if !self.is_text() {
            return self.bytes(all);
        }
        for byte in all {
            let digit = |half: u8| char::from_digit(u32::from(half), 16).map_or(0, |c| c as u8);
            let line = [digit(byte >> 4), digit(byte & 15), b'\n'];
            self.buffer.extend_from_slice(&line);
            self.check()?;
        }
        Ok(())
    }

    fn bytes(&mut self, all: &[u8]) -> Result<()> {
        for block in all.chunks(FLUSH_BYTES) {
            self.buffer.extend_from_slice(block);
            self.check()?;
        }
        Ok(())
    }

    /// The bytes of a string or name, whose length stands in front.
    pub(super) fn text(&mut self, bytes: &[u8]) -> Result<()> {
        if !self.is_text() {
            return self.bytes(bytes);
        }
        for byte in bytes {
            text::push_escaped(*byte, &mut self.buffer);
        }
        self.buffer.push(b'\n');
        self.check()
    }

    /// A string with its flags and length; None is NA.
    #[inline]
    pub(super) fn char(&mut self, text: Text<'_>, more: i32) -> Result<()> {
        let flags = super::CHAR | i32::from(text.levels) << 12 | more;
        self.int(flags)?;
        let Some(bytes) = text.bytes else {
            return self.int(-1);
        };
        let Ok(length) = i32::try_from(bytes.len()) else {
            let text = format!("a string of {} bytes; R has none over 2 GiB", bytes.len());
            return Err(Error::new(ErrorKind::Unsupported, text));
        };
        self.int(length)?;
        self.text(bytes)
    }
}

#[inline]
fn big(value: f64) -> [u8; 8] {
    value.to_bits().swap_bytes().to_le_bytes()
}

/// What a sink answered: the crate's own error, where it is one.
pub(crate) fn of_sink(error: std::io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) => {
            let text = format!("cannot write: {error}");
            Error::new(ErrorKind::Io, text).with_source(error)
        }
    }
}
