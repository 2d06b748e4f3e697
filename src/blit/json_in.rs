//! Documents from JSON text (RFC 8259), in one pass, without a tree in between.

use super::node::{Kind, Node, Tape};
use super::writer::{Numbers, Options, Writer};
use super::{number, strings, surrogates};
use crate::{Error, ErrorKind, Result};

/// Makes a document of a JSON text: one value, and white space around it.
///
/// Text of 4 GiB at most. Memory is about 16 bytes a value beside the text and the document.
///
/// # Errors
/// `Malformed` or `Truncated` with the byte offset in the text; `Limit` for more than 1,024 levels
/// or 4 GiB.
///
/// # Example
/// ```
/// use tare::blit::{from_json, Options};
///
/// let document = from_json(br#"{"station": "JFK", "delay": [1.5, 2.25]}"#, &Options::default())?;
/// assert!(document.len() < 60);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn from_json(text: &[u8], options: &Options) -> Result<Vec<u8>> {
    if u32::try_from(text.len()).is_err() {
        let error = Error::new(ErrorKind::Limit, "JSON text of 4 GiB or more");
        return Err(error.with_format("json"));
    }
    check_utf8(text)?;
    let mut writer = Writer::over(*options, text)?;
    parse(text, 0, &mut writer)?;
    writer.finish()
}

/// Hands a JSON text to a writer that keeps a copy of it, as one value among others.
///
/// # Errors
/// As [`from_json`].
pub(super) fn push_json(text: &[u8], writer: &mut Writer<'_>) -> Result<()> {
    if u32::try_from(text.len()).is_err() {
        let error = Error::new(ErrorKind::Limit, "JSON text of 4 GiB or more");
        return Err(error.with_format("json"));
    }
    check_utf8(text)?;
    let base = writer.tape.keep(text);
    parse(text, base, writer)
}

/// Hands the value of a checked text to a writer; `base` is where its tape has that text.
fn parse(text: &[u8], base: u64, writer: &mut Writer<'_>) -> Result<()> {
    let exact = writer.options().numbers == Numbers::Text;
    let mut parser = Parser {
        text,
        at: 0,
        base,
        writer,
        within: Vec::new(),
        exact,
    };
    parser.document()
}

/// All of the text at once, so that no string need be looked at again.
fn check_utf8(text: &[u8]) -> Result<()> {
    if text.starts_with(b"\xEF\xBB\xBF") {
        return Err(wrong("a byte order mark, which JSON does not have", 0));
    }
    let Err(error) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let at = error.valid_up_to();
    Err(match error.error_len() {
        None => cut(text.len()),
        Some(_) => wrong("bytes that are not UTF-8", at),
    })
}

struct Parser<'w, 's> {
    text: &'w [u8],
    at: usize,
    /// Where the writer's tape has the text: added to places in it.
    base: u64,
    writer: &'w mut Writer<'s>,
    /// Whether each open container is an object.
    within: Vec<bool>,
    /// Numbers are kept as text wherever it is not the shortest.
    exact: bool,
}

impl<'w> Parser<'w, '_> {
    fn document(&mut self) -> Result<()> {
        self.space();
        self.value()?;
        while let Some(&is_object) = self.within.last() {
            self.space();
            match self.text.get(self.at) {
                Some(b',') => {
                    self.at = self.at.wrapping_add(1);
                    self.space();
                    if is_object {
                        self.name()?;
                    }
                    self.value()?;
                }
                Some(b'}') if is_object => self.end()?,
                Some(b']') if !is_object => self.end()?,
                _ => {
                    let text = if is_object {
                        "',' or '}' is missing"
                    } else {
                        "',' or ']' is missing"
                    };
                    return Err(self.unexpected(text));
                }
            }
        }
        self.space();
        if self.at < self.text.len() {
            return Err(wrong("something after the value", self.at));
        }
        Ok(())
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at = self.at.wrapping_add(1);
        }
    }

    /// A value, or the beginning of one up to its first inner value.
    #[inline]
    fn value(&mut self) -> Result<()> {
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return Err(cut(self.at));
            };
            match byte {
                b'"' => {
                    let node = self.string()?;
                    return self.push(node);
                }
                b'-' | b'0'..=b'9' => return self.number(),
                b'{' => {
                    self.begin(true)?;
                    if self.text.get(self.at) == Some(&b'}') {
                        return self.end();
                    }
                    self.name()?;
                }
                b'[' => {
                    self.begin(false)?;
                    if self.text.get(self.at) == Some(&b']') {
                        return self.end();
                    }
                }
                b't' => return self.word(b"true", Node::bool(true)),
                b'f' => return self.word(b"false", Node::bool(false)),
                b'n' => return self.word(b"null", Node::NULL),
                _ => return Err(self.unexpected("a value is missing")),
            }
        }
    }

    fn begin(&mut self, is_object: bool) -> Result<()> {
        let at = self.at;
        let began = if is_object {
            self.writer.begin_object()
        } else {
            self.writer.begin_array()
        };
        began.map_err(|error| error.with_format("json").with_offset(at as u64))?;
        self.within.push(is_object);
        self.at = at.wrapping_add(1);
        self.space();
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let at = self.at;
        let ended = self.writer.end();
        ended.map_err(|error| error.with_format("json").with_offset(at as u64))?;
        self.within.pop();
        self.at = at.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn push(&mut self, node: Node) -> Result<()> {
        self.writer.push(node)
    }

    fn word(&mut self, word: &[u8], node: Node) -> Result<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(if word.starts_with(rest) {
                cut(self.text.len())
            } else {
                self.unexpected("a value is missing")
            });
        }
        self.at = self.at.wrapping_add(word.len());
        self.push(node)
    }

    #[inline]
    fn number(&mut self) -> Result<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(token) = number::token(rest) else {
            return Err(self.bad_number(rest));
        };
        let start = self.at;
        let end = start.wrapping_add(token.len);
        self.at = end;
        // `01` and `1.5.2` go wrong where the next separator is looked for.
        let text = rest.get(..token.len).unwrap_or_default();
        let value = number::value(text, token.is_integer);
        let value = value.filter(|&value| !self.exact || number::is_shortest(text, value));
        let node = value.unwrap_or_else(|| self.lent(Kind::NumText, start, end));
        self.push(node)
    }

    fn bad_number(&self, rest: &[u8]) -> Error {
        let long = rest
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let end = self.at.saturating_add(long.count());
        if end >= self.text.len() {
            return cut(self.text.len());
        }
        wrong("no number that JSON has", self.at)
    }

    /// A name, its colon, and the space behind.
    fn name(&mut self) -> Result<()> {
        let at = self.at;
        if self.text.get(at) != Some(&b'"') {
            return Err(self.unexpected("a name is missing"));
        }
        let node = self.string()?;
        let named = if let Some(name) = self.text_of(node) {
            self.writer.name(name)
        } else {
            // Rare: made text is copied, because the tape and the names are both the writer's.
            let name = self.writer.tape.bytes(node).to_vec();
            self.writer.name(&name)
        };
        named.map_err(|error| error.with_format("json").with_offset(at as u64))?;
        self.space();
        if self.text.get(self.at) != Some(&b':') {
            return Err(self.unexpected("':' is missing"));
        }
        self.at = self.at.wrapping_add(1);
        self.space();
        Ok(())
    }

    /// The string at a quote; goes past the one that ends it.
    #[inline]
    fn string(&mut self) -> Result<Node> {
        let start = self.at.wrapping_add(1);
        let (end, high) = strings::plain_end(self.text, start);
        match self.text.get(end) {
            Some(b'"') => {
                self.at = end.wrapping_add(1);
                let kind = if high { Kind::Clean } else { Kind::Ascii };
                Ok(self.lent(kind, start, end))
            }
            Some(b'\\') => self.escaped(start, end),
            Some(_) => Err(wrong("a control character in a string", end)),
            None => Err(cut(self.text.len())),
        }
    }

    /// A string with escapes, of which the first is at `first`.
    fn escaped(&mut self, start: usize, first: usize) -> Result<Node> {
        let from = self.writer.tape.own().len();
        let (mut plain, mut end) = (start, first);
        let mut halves = false;
        loop {
            let run = self.text.get(plain..end).unwrap_or_default();
            self.writer.tape.own().extend_from_slice(run);
            match self.text.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end = self.escape(end, from, &mut halves)?,
                Some(_) => return Err(wrong("a control character in a string", end)),
                None => return Err(cut(self.text.len())),
            }
            plain = end;
            end = strings::plain_end(self.text, plain).0;
        }
        self.at = end.wrapping_add(1);
        let text = self.writer.tape.own();
        let text = text.get(from..).unwrap_or_default();
        let kind = strings::kind_of(text);
        if halves && std::str::from_utf8(text).is_err() {
            let kept = self.writer.surrogate();
            kept.map_err(|error| error.with_format("json").with_offset(start as u64))?;
            // What needs care when written back has the weakest tag.
            return Ok(self.writer.tape.made(Kind::Str, from));
        }
        Ok(self.writer.tape.made(kind, from))
    }

    /// Takes one escape; gives where the text goes on.
    fn escape(&mut self, at: usize, from: usize, halves: &mut bool) -> Result<usize> {
        let next = at.wrapping_add(1);
        let byte = match self.text.get(next) {
            None => return Err(cut(self.text.len())),
            Some(b'u') => return self.unicode(at, from, halves),
            Some(&(byte @ (b'"' | b'\\' | b'/'))) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(_) => return Err(wrong("an escape that JSON does not have", at)),
        };
        self.writer.tape.own().push(byte);
        Ok(next.wrapping_add(1))
    }

    fn unicode(&mut self, at: usize, from: usize, halves: &mut bool) -> Result<usize> {
        let digits = at.wrapping_add(2);
        let end = at.wrapping_add(6);
        let mut unit = 0_u16;
        for place in digits..end {
            let digit = match self.text.get(place) {
                None => return Err(cut(self.text.len())),
                Some(&digit) => char::from(digit).to_digit(16),
            };
            let Some(digit) = digit else {
                return Err(wrong("\\u without four hexadecimal digits", at));
            };
            #[allow(clippy::cast_possible_truncation, reason = "below 16")]
            let digit = digit as u16;
            unit = unit << 4 | digit;
        }
        let own = self.writer.tape.own();
        if let Some(character) = char::from_u32(u32::from(unit)) {
            own.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            *halves = true;
            surrogates::push(own, from, unit);
        }
        Ok(end)
    }

    /// A node of text as it stands in the source.
    #[inline]
    fn lent(&self, kind: Kind, start: usize, end: usize) -> Node {
        Tape::lent(kind, self.base, start, end)
    }

    /// The text of a string that needed no unescaping.
    fn text_of(&self, node: Node) -> Option<&'w [u8]> {
        let from = usize::try_from(node.bits.checked_sub(self.base)?).ok()?;
        self.text.get(from..from.checked_add(node.count as usize)?)
    }

    fn unexpected(&self, text: &str) -> Error {
        if self.at >= self.text.len() {
            return cut(self.at);
        }
        wrong(text, self.at)
    }
}

#[cold]
fn wrong(text: &str, at: usize) -> Error {
    Error::new(ErrorKind::Malformed, text)
        .with_format("json")
        .with_offset(at as u64)
}

#[cold]
fn cut(at: usize) -> Error {
    Error::new(ErrorKind::Truncated, "the text ends before its value does")
        .with_format("json")
        .with_offset(at as u64)
}
