//! Tokens of R code, from the front to the end, each looked at once.

use super::number::{self, Number};
use crate::{Error, ErrorKind, Result};

/// A piece of the text.
#[derive(Debug)]
pub(super) enum Token<'a> {
    /// A name that stands as it is.
    Name(&'a str),
    /// A name in backticks.
    Quoted(Vec<u8>),
    /// A string, and how its bytes came.
    Text(Text<'a>),
    Number(Number),
    /// One of `( ) , = : + -`.
    Mark(u8),
    End,
}

/// The bytes of a string.
#[derive(Debug)]
pub(super) enum Text<'a> {
    /// As in the text.
    Plain(&'a str),
    /// With escapes undone; UTF-8.
    Escaped(String),
    /// With bytes above 127 by octal or hexadecimal escapes, of the writer's encoding.
    Bytes(Vec<u8>),
}

impl Text<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Plain(text) => text.as_bytes(),
            Self::Escaped(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The text, and how far it was read.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Where the token at hand begins.
    pub(super) start: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            start: 0,
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// An error at the token at hand.
    #[cold]
    pub(super) fn error(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        self.error_at(kind, self.start, text)
    }

    /// An error at a byte, whose text says the line and the column.
    #[cold]
    pub(super) fn error_at(&self, kind: ErrorKind, at: usize, text: impl Into<String>) -> Error {
        let text = format!("{}, {}", text.into(), self.place(at));
        let error = Error::new(kind, text).with_format("dput");
        error.with_offset(at as u64)
    }

    /// The line and the column of a byte, in characters.
    #[cold]
    pub(super) fn place(&self, at: usize) -> String {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count();
        let begin = before.iter().rposition(|byte| *byte == b'\n');
        let begin = begin.map_or(0, |at| at.saturating_add(1));
        // Bytes that go on with a character begin no column.
        let inside = before.get(begin..).unwrap_or_default();
        let column = inside.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let (line, column) = (line.saturating_add(1), column.saturating_add(1));
        format!("line {line} column {column}")
    }

    #[cold]
    pub(super) fn ended(&self, inside: &str) -> Error {
        let at = self.text.len();
        self.error_at(ErrorKind::Truncated, at, format!("the text ends {inside}"))
    }

    /// Goes past white space and comments.
    pub(super) fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => self.at = self.at.saturating_add(1),
                b'#' => {
                    let rest = self.rest();
                    let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    self.at = self.at.saturating_add(line);
                }
                _ => return,
            }
        }
    }

    /// The next byte that is no white space; it is not gone past.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.rest().first().copied()
    }

    /// Goes past one byte that [`Lexer::peek`] gave.
    pub(super) fn advance(&mut self) {
        self.start = self.at;
        self.at = self.at.saturating_add(1);
    }

    /// Whether an `=` that is none of `==` comes next; it is gone past.
    pub(super) fn assigns(&mut self) -> bool {
        if self.peek() == Some(b'=') && self.rest().get(1) != Some(&b'=') {
            self.at = self.at.saturating_add(1);
            return true;
        }
        false
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token<'a>> {
        self.skip();
        self.start = self.at;
        let Some(first) = self.rest().first().copied() else {
            return Ok(Token::End);
        };
        match first {
            b'0'..=b'9' => self.number().map(Token::Number),
            b'.' if self.rest().get(1).is_some_and(u8::is_ascii_digit) => {
                self.number().map(Token::Number)
            }
            b'"' | b'\'' => self.text(first).map(Token::Text),
            b'`' => {
                let text = self.text(first)?;
                Ok(Token::Quoted(text.bytes().to_vec()))
            }
            b'(' | b')' | b',' | b'=' | b':' | b'+' | b'-' => {
                self.at = self.at.saturating_add(1);
                Ok(Token::Mark(first))
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'_' | 0x80.. => Ok(Token::Name(self.name())),
            _ => Err(self.refused()),
        }
    }

    #[cold]
    fn refused(&self) -> Error {
        let shown = self.slice(self.start, self.text.len()).chars().next();
        let shown = shown.unwrap_or_default().escape_debug();
        let text = format!("found {shown}, which no data need: only values are read, no code");
        self.error(ErrorKind::Unsupported, text)
    }

    fn name(&mut self) -> &'a str {
        let size = self.rest().iter().position(|byte| {
            !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | 0x80..))
        });
        let end = self.at.saturating_add(size.unwrap_or(self.rest().len()));
        let name = self.slice(self.at, end);
        self.at = end;
        name
    }

    /// A number, up to its `L` or `i`.
    pub(super) fn number(&mut self) -> Result<Number> {
        let Some((number, size)) = number::read(self.rest()) else {
            return Err(self.error(ErrorKind::Malformed, "no number"));
        };
        self.at = self.at.saturating_add(size);
        let behind = self.rest().first();
        if behind.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')) {
            return Err(self.error(ErrorKind::Malformed, "a number that goes on with a letter"));
        }
        Ok(number)
    }

    /// A string between quotes.
    fn text(&mut self, quote: u8) -> Result<Text<'a>> {
        self.at = self.at.saturating_add(1);
        let from = self.at;
        let rest = self.rest();
        let Some(size) = memchr::memchr2(quote, b'\\', rest) else {
            return Err(self.ended("inside a string"));
        };
        let end = from.saturating_add(size);
        if rest.get(size) == Some(&quote) {
            self.at = end.saturating_add(1);
            return Ok(Text::Plain(self.slice(from, end)));
        }
        self.escaped(quote)
    }

    /// A string with escapes, from behind its quote.
    fn escaped(&mut self, quote: u8) -> Result<Text<'a>> {
        let mut made = Vec::new();
        // Whether there was a character, or a byte above 127, by its number.
        let (mut unicode, mut bytes) = (false, false);
        loop {
            let rest = self.rest();
            let Some(size) = memchr::memchr2(quote, b'\\', rest) else {
                return Err(self.ended("inside a string"));
            };
            made.extend_from_slice(rest.get(..size).unwrap_or_default());
            self.at = self.at.saturating_add(size).saturating_add(1);
            if rest.get(size) == Some(&quote) {
                break;
            }
            let from = self.at.saturating_sub(1);
            match self.escape(from)? {
                Escape::Byte(byte) => {
                    bytes |= byte >= 0x80;
                    made.push(byte);
                }
                Escape::Char(char) => {
                    unicode = true;
                    made.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        if bytes && unicode {
            let text = "a string with bytes by octal or hexadecimal and characters by Unicode";
            return Err(self.error(ErrorKind::Malformed, text));
        }
        if bytes {
            return Ok(Text::Bytes(made));
        }
        match String::from_utf8(made) {
            Ok(text) => Ok(Text::Escaped(text)),
            Err(error) => Ok(Text::Bytes(error.into_bytes())),
        }
    }

    /// What stands behind a backslash at `from`.
    fn escape(&mut self, from: usize) -> Result<Escape> {
        let Some(code) = self.rest().first().copied() else {
            return Err(self.ended("inside a string"));
        };
        self.at = self.at.saturating_add(1);
        let byte = match code {
            b'n' | b'\n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'v' => 0x0B,
            b'\\' | b'"' | b'\'' | b'`' | b' ' => code,
            b'0'..=b'7' => {
                self.at = self.at.saturating_sub(1);
                self.digits(8, 3, from)?.try_into().unwrap_or_default()
            }
            b'x' => self.digits(16, 2, from)?.try_into().unwrap_or_default(),
            b'u' => return self.unicode(4, from),
            b'U' => return self.unicode(8, from),
            _ => {
                let text = "an escape that R does not know";
                return Err(self.error_at(ErrorKind::Malformed, from, text));
            }
        };
        if byte == 0 {
            let text = "a string with a zero byte, which R has none of";
            return Err(self.error_at(ErrorKind::Malformed, from, text));
        }
        Ok(Escape::Byte(byte))
    }

    /// A number of up to `most` digits, at least one.
    fn digits(&mut self, base: u32, most: usize, from: usize) -> Result<u32> {
        let rest = self.rest().iter().take(most);
        let digits = rest.map_while(|byte| char::from(*byte).to_digit(base));
        let (mut value, mut count) = (0_u32, 0_usize);
        for digit in digits {
            value = value.wrapping_mul(base).wrapping_add(digit);
            count = count.saturating_add(1);
        }
        if count == 0 {
            let text = "an escape without digits";
            return Err(self.error_at(ErrorKind::Malformed, from, text));
        }
        self.at = self.at.saturating_add(count);
        Ok(value)
    }

    fn unicode(&mut self, most: usize, from: usize) -> Result<Escape> {
        let braces = self.rest().first() == Some(&b'{');
        if braces {
            self.at = self.at.saturating_add(1);
        }
        let code = self.digits(16, most, from)?;
        if braces {
            if self.rest().first() != Some(&b'}') {
                let text = "an escape whose brace is not closed";
                return Err(self.error_at(ErrorKind::Malformed, from, text));
            }
            self.at = self.at.saturating_add(1);
        }
        match char::from_u32(code) {
            Some(char) if code != 0 => Ok(Escape::Char(char)),
            _ => {
                let text = format!("no character has the number {code:X}");
                Err(self.error_at(ErrorKind::Malformed, from, text))
            }
        }
    }
}

enum Escape {
    Byte(u8),
    Char(char),
}
