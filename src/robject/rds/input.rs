//! Ints, doubles, bytes and strings in each of the encodings, from a window.

use crate::robject::{Encoding, Strings, NA_INT};
use crate::{Error, ErrorKind, Result};

use super::budget::Budget;
use super::text;
use super::window::Window;
use super::{unsigned, ATTRIBUTES, CHAR};

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Big-endian.
    Big,
    /// Little-endian.
    Little,
    /// One number a line.
    Text,
}

/// A double's text that its value does not print as, with the place of its element.
pub(super) type OddText = (u64, Box<str>);

/// Place that is made at once for a vector whose bytes are not seen yet.
const TRUSTED_BYTES: usize = 1 << 20;

/// The same for numbers, of which one vector alone is open at a time: few are longer, and growing
/// them by and by would copy what is there.
const TRUSTED_NUMBERS: usize = 16 << 20;

/// A window, the form of its numbers, and what reading may take.
pub(super) struct Input<W> {
    pub(super) window: W,
    pub(super) form: Form,
    /// Whether a double was written in hexadecimal.
    pub(super) hex: bool,
    pub(super) budget: Budget,
}

/// Why a run of strings ended.
pub(super) enum Texts {
    /// All were read.
    Done,
    /// The last one has attributes, which come next.
    Attributes,
}

impl<W: Window> Input<W> {
    pub(super) fn encoding(&self) -> Encoding {
        match self.form {
            Form::Big => Encoding::Xdr,
            Form::Little => Encoding::Native,
            Form::Text if self.hex => Encoding::AsciiHex,
            Form::Text => Encoding::Ascii,
        }
    }

    #[cold]
    pub(super) fn truncated(&mut self, what: &str) -> Error {
        let ready = self.window.ahead(1).map_or(0, <[u8]>::len);
        let at = self.window.offset().saturating_add(ready as u64);
        Error::new(ErrorKind::Truncated, format!("ends inside {what}")).with_offset(at)
    }

    #[cold]
    pub(super) fn malformed(&self, text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Malformed, text).with_offset(self.window.offset())
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some(bytes) = self.window.ahead(N)?.first_chunk::<N>().copied() else {
            return Err(self.truncated("a number"));
        };
        self.window.advance(N);
        Ok(bytes)
    }

    #[inline]
    pub(super) fn int(&mut self) -> Result<i32> {
        match self.form {
            Form::Big => Ok(i32::from_le_bytes(self.fixed()?).swap_bytes()),
            Form::Little => Ok(i32::from_le_bytes(self.fixed()?)),
            Form::Text => self.text_int(),
        }
    }

    /// A length: one int, or -1 and two halves.
    pub(super) fn length(&mut self) -> Result<u64> {
        let short = self.int()?;
        if short != -1 {
            return u64::try_from(short)
                .map_err(|_| self.malformed(format!("the length of a vector is {short}")));
        }
        let (high, low) = (self.int()?, self.int()?);
        if !(0..=65_536).contains(&high) {
            return Err(self.malformed(format!("the high half of a length is {high}")));
        }
        let low = u64::from(unsigned(low));
        Ok(u64::from(unsigned(high)) << 32 | low)
    }

    /// How many elements to make place for: all where so many bytes are there, else few.
    ///
    /// `least` is what each takes in the file, `size` in memory; both are counted.
    pub(super) fn room(&mut self, count: u64, least: u64, size: usize) -> Result<usize> {
        self.room_of(count, least, size, TRUSTED_BYTES)
    }

    fn numbers(&mut self, count: u64, least: u64, size: usize) -> Result<usize> {
        self.room_of(count, least, size, TRUSTED_NUMBERS)
    }

    fn room_of(&mut self, count: u64, least: u64, size: usize, trusted: usize) -> Result<usize> {
        let needed = count.saturating_mul(least);
        if self.window.left().is_some_and(|left| needed > left) {
            return Err(self.truncated("a vector"));
        }
        self.budget
            .charge(count.saturating_mul(size as u64))
            .map_err(|error| error.with_offset(self.window.offset()))?;
        let Ok(count) = usize::try_from(count) else {
            let text = format!("a vector of {count} elements does not fit into memory");
            return Err(Error::new(ErrorKind::Limit, text));
        };
        Ok(match self.window.left() {
            Some(_) => count,
            None => count.min(trusted.div_euclid(size.max(1))),
        })
    }

    /// Fills a vector of elements of `N` bytes, as many at a time as lie ready.
    fn bulk<const N: usize, T>(
        &mut self,
        count: u64,
        made: &mut Vec<T>,
        convert: impl Fn([u8; N]) -> T,
    ) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let ready = self.window.ahead(N)?;
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let elements = ready.len().div_euclid(N).min(wanted);
            let size = elements.saturating_mul(N);
            let Some(bytes) = ready.get(..size).filter(|_| elements > 0) else {
                return Err(self.truncated("a vector"));
            };
            made.extend(
                bytes
                    .chunks_exact(N)
                    .map(|one| convert(<[u8; N]>::try_from(one).unwrap_or([0; N]))),
            );
            self.window.advance(size);
            left = left.saturating_sub(elements as u64);
        }
        Ok(())
    }

    pub(super) fn ints(&mut self, count: u64) -> Result<Vec<i32>> {
        let least = if self.form == Form::Text { 2 } else { 4 };
        let room = self.numbers(count, least, 4)?;
        let mut made = reserve(room)?;
        match self.form {
            Form::Big => self.bulk(count, &mut made, |b| i32::from_le_bytes(b).swap_bytes())?,
            Form::Little => self.bulk(count, &mut made, i32::from_le_bytes)?,
            Form::Text => {
                for _ in 0..count {
                    made.push(self.text_int()?);
                }
            }
        }
        Ok(made)
    }

    pub(super) fn doubles(&mut self, count: u64, odd: &mut Vec<OddText>) -> Result<Vec<f64>> {
        let least = if self.form == Form::Text { 2 } else { 8 };
        let room = self.numbers(count, least, 8)?;
        let mut made = reserve(room)?;
        match self.form {
            Form::Big => self.bulk(count, &mut made, big_double)?,
            Form::Little => self.bulk(count, &mut made, f64::from_le_bytes)?,
            Form::Text => {
                for at in 0..count {
                    made.push(self.text_double(at, odd)?);
                }
            }
        }
        Ok(made)
    }

    pub(super) fn complexes(
        &mut self,
        count: u64,
        odd: &mut Vec<OddText>,
    ) -> Result<Vec<[f64; 2]>> {
        let least = if self.form == Form::Text { 4 } else { 16 };
        let room = self.numbers(count, least, 16)?;
        let mut made = reserve(room)?;
        match self.form {
            Form::Big => self.bulk(count, &mut made, |b| pair(b).map(big_double))?,
            Form::Little => self.bulk(count, &mut made, |b| pair(b).map(f64::from_le_bytes))?,
            Form::Text => {
                for at in 0..count {
                    let at = at.saturating_mul(2);
                    let real = self.text_double(at, odd)?;
                    made.push([real, self.text_double(at.saturating_add(1), odd)?]);
                }
            }
        }
        Ok(made)
    }

    pub(super) fn raw(&mut self, count: u64) -> Result<Vec<u8>> {
        let least = if self.form == Form::Text { 3 } else { 1 };
        let room = self.numbers(count, least, 1)?;
        let mut made = reserve(room)?;
        if self.form == Form::Text {
            for _ in 0..count {
                made.push(self.text_byte()?);
            }
        } else {
            self.copy(count, &mut made)?;
        }
        Ok(made)
    }

    /// Appends bytes as they stand.
    fn copy(&mut self, count: u64, made: &mut Vec<u8>) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let ready = self.window.ahead(1)?;
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(ready.len());
            if size == 0 {
                return Err(self.truncated("bytes"));
            }
            made.extend_from_slice(ready.get(..size).unwrap_or_default());
            self.window.advance(size);
            left = left.saturating_sub(size as u64);
        }
        Ok(())
    }

    /// The bytes of a string or name of `length` bytes, appended.
    pub(super) fn text(&mut self, length: u64, made: &mut Vec<u8>) -> Result<()> {
        if self.window.left().is_some_and(|left| length > left) {
            return Err(self.truncated("a string"));
        }
        self.budget
            .charge(length)
            .map_err(|error| error.with_offset(self.window.offset()))?;
        match self.form {
            Form::Text => self.escaped(length, made),
            _ => self.copy(length, made),
        }
    }

    /// The bytes of a string with its length in front; None for NA.
    pub(super) fn char(&mut self) -> Result<Option<Box<[u8]>>> {
        let Some(length) = self.char_length()? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        self.text(length, &mut bytes)?;
        Ok(Some(bytes.into_boxed_slice()))
    }

    fn char_length(&mut self) -> Result<Option<u64>> {
        match self.int()? {
            -1 => Ok(None),
            length => u64::try_from(length)
                .map(Some)
                .map_err(|_| self.malformed(format!("the length of a string is {length}"))),
        }
    }

    /// Reads strings of a vector until `left` is 0 or one has attributes.
    pub(super) fn texts(&mut self, strings: &mut Strings, left: &mut u64) -> Result<Texts> {
        while *left > 0 {
            if self.form != Form::Text {
                let big = self.form == Form::Big;
                let (size, count) = strings.take_binary(self.window.ahead(8)?, *left, big);
                self.budget
                    .charge((size as u64).saturating_add(count.saturating_mul(4)))?;
                self.window.advance(size);
                *left = left.saturating_sub(count);
                if *left == 0 {
                    break;
                }
            }
            let flags = self.int()?;
            if flags & 0xff != CHAR {
                let code = flags & 0xff;
                return Err(self.malformed(format!("an item of type {code} among strings")));
            }
            *left = left.saturating_sub(1);
            match self.char_length()? {
                None => strings.push_na(),
                Some(length) => {
                    strings.push_with(super::levels(flags), |made| self.text(length, made))?;
                }
            }
            if flags & ATTRIBUTES != 0 {
                return Ok(Texts::Attributes);
            }
        }
        Ok(Texts::Done)
    }

    /// The next word of a text, without white space in front; what ends it is not gone past.
    fn word<T>(&mut self, what: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        self.skip_blank()?;
        let ready = self.window.ahead(text::LONGEST_WORD)?;
        let size = ready
            .iter()
            .take(text::LONGEST_WORD)
            .position(|b| text::is_blank(*b));
        let Some(size) = size else {
            if ready.len() >= text::LONGEST_WORD {
                return Err(self.malformed(format!("a word too long for {what}")));
            }
            return Err(self.truncated(what));
        };
        let word = std::str::from_utf8(ready.get(..size).unwrap_or_default());
        match word.ok().and_then(read) {
            Some(value) => {
                self.window.advance(size);
                Ok(value)
            }
            None => Err(self.malformed(format!("no {what}"))),
        }
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            let ready = self.window.ahead(1)?;
            let blank = ready.iter().take_while(|b| text::is_blank(**b)).count();
            let over = blank < ready.len() || blank == 0;
            self.window.advance(blank);
            if over {
                return Ok(());
            }
        }
    }

    #[inline(never)]
    fn text_int(&mut self) -> Result<i32> {
        self.word("whole number", |word| match word {
            "NA" => Some(NA_INT),
            _ => word.parse().ok(),
        })
    }

    fn text_byte(&mut self) -> Result<u8> {
        self.word("byte of two hexadecimal digits", |word| {
            u8::from_str_radix(word, 16)
                .ok()
                .filter(|_| word.len() == 2)
        })
    }

    fn text_double(&mut self, at: u64, odd: &mut Vec<OddText>) -> Result<f64> {
        let (value, hex) = self.word("number", |word| {
            let (value, hex) = text::double(word)?;
            if !text::prints_as(value, hex, word) {
                odd.push((at, Box::from(word)));
            }
            Some((value, hex))
        })?;
        self.hex |= hex;
        Ok(value)
    }

    /// The end of the line at hand: blanks, then a line feed.
    pub(super) fn line_end(&mut self) -> Result<()> {
        loop {
            match self.window.ahead(1)?.first() {
                Some(b'\n') => {
                    self.window.advance(1);
                    return Ok(());
                }
                Some(b' ' | b'\t' | b'\r') => self.window.advance(1),
                Some(_) => return Err(self.malformed("a line goes on behind its end")),
                None => return Err(self.truncated("a line")),
            }
        }
    }

    /// # Errors
    /// `Malformed` if anything but blanks behind a text follows.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.form == Form::Text {
            self.skip_blank()?;
        }
        if self.window.ahead(1)?.is_empty() {
            return Ok(());
        }
        Err(self.malformed("bytes behind the end"))
    }

    /// Goes past the end of the last line, where a text has one.
    pub(super) fn last_line(&mut self) -> Result<()> {
        // The line of a string is gone past with it; a word leaves the end of its own.
        match self.window.ahead(1)?.first() {
            Some(b'\n' | b'\r') if self.form == Form::Text => self.line_end(),
            _ => Ok(()),
        }
    }

    /// A line of escaped bytes, behind the line of its length.
    fn escaped(&mut self, length: u64, made: &mut Vec<u8>) -> Result<()> {
        self.line_end()?;
        for _ in 0..length {
            // The longest escape is a backslash and three digits.
            let ready = self.window.ahead(4)?;
            match text::unescape(ready) {
                Some((byte, size)) => {
                    made.push(byte);
                    self.window.advance(size);
                }
                None if ready.is_empty() || ready.first() == Some(&b'\\') => {
                    return Err(self.truncated("a string"));
                }
                None => return Err(self.malformed("a string is shorter than its length")),
            }
        }
        // What comes behind a zero byte in the middle of an octal escape cannot be a digit.
        self.line_end()
    }
}

fn pair(bytes: [u8; 16]) -> [[u8; 8]; 2] {
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| <[u8; 8]>::try_from(half).unwrap_or([0; 8]))
}

#[inline]
fn big_double(bytes: [u8; 8]) -> f64 {
    f64::from_bits(u64::from_le_bytes(bytes).swap_bytes())
}

/// A vector with place for `count`.
pub(super) fn reserve<T>(count: usize) -> Result<Vec<T>> {
    let mut made = Vec::new();
    made.try_reserve_exact(count).map_err(|_| {
        let text = format!("no memory for a vector of {count} elements");
        Error::new(ErrorKind::Limit, text)
    })?;
    Ok(made)
}
