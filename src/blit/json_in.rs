//! Documents from JSON text (RFC 8259), in one pass, without a tree in between.

use super::layout::tag;
use super::node::{Kind, Node, Tape};
use super::unescape::{self, cut, wrong};
use super::writer::{Numbers, Options, Writer};
use super::{number, strings};
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
    let mut writer = Writer::over(*options, text)?;
    parse(text, 0, &mut writer)?;
    writer.finish()
}

/// Makes one document of JSON texts, each on a line of its own: an array of their values.
///
/// Blank lines are left out. Memory beside the text and the document is that of 65,536 lines, of the
/// names and of the shapes.
///
/// # Errors
/// As [`from_json`], with the line, and the byte offset in all of the text.
///
/// # Example
/// ```
/// use tare::blit::{from_ndjson, Options, View};
///
/// let document = from_ndjson(b"{\"id\": 1}\n{\"id\": 2}\n", &Options::default())?;
/// assert!(View::open(&document)?.pointer("/1/id")?.is_some());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn from_ndjson(text: &[u8], options: &Options) -> Result<Vec<u8>> {
    let mut writer = Writer::over(*options, text)?;
    writer.begin_array()?;
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len().saturating_sub(rest.len());
        let end = memchr::memchr(b'\n', rest);
        let (line, later) = rest.split_at(end.unwrap_or(rest.len()));
        rest = later.get(1..).unwrap_or_default();
        if line.trim_ascii().is_empty() {
            continue;
        }
        writer.expect_value()?;
        let parsed = if u32::try_from(line.len()).is_err() {
            Err(Error::new(ErrorKind::Limit, "a line of 4 GiB or more").with_format("json"))
        } else {
            parse(line, at as u64, &mut writer)
        };
        parsed.map_err(|error| {
            let offset = error.offset().unwrap_or(0).saturating_add(at as u64);
            let before = text.get(..at).unwrap_or_default();
            let line = memchr::memchr_iter(b'\n', before).count().saturating_add(1);
            error
                .with_offset(offset)
                .within(&format!("line {line}: "), "")
        })?;
    }
    writer.end()?;
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
    writer.expect_value()?;
    let base = writer.tape.keep(text);
    parse(text, base, writer)
}

/// Hands the value of a text to a writer; `base` is where its tape has that text.
fn parse(text: &[u8], base: u64, writer: &mut Writer<'_>) -> Result<()> {
    let exact = writer.options().numbers == Numbers::Text;
    let mut parser = Parser {
        text,
        base,
        writer,
        exact,
    };
    // Outside strings all of JSON is ASCII, and strings are looked at one by one. Where anything is
    // wrong, text that is no text comes first.
    parser
        .document()
        .map_err(|error| check_utf8(text).err().unwrap_or(error))
}

/// Whether all of the text is text.
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
    /// Where the writer's tape has the text: added to places in it.
    base: u64,
    writer: &'w mut Writer<'s>,
    /// Numbers are kept as text wherever it is not the shortest.
    exact: bool,
}

// Places in the text go from one function to the next as `at`.
impl<'w> Parser<'w, '_> {
    fn document(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        let mut at = self.space(0);
        loop {
            let Some(&byte) = self.text.get(at) else {
                return Err(cut(at));
            };
            // A value, or the beginning of one up to its first inner value.
            match byte {
                b'"' => {
                    let (node, end) = self.string(at)?;
                    self.writer.place(node);
                    at = end;
                }
                b'-' | b'0'..=b'9' => at = self.number(at)?,
                b'{' | b'[' => {
                    let is_object = byte == b'{';
                    let opened = self.writer.open(is_object);
                    opened.map_err(|error| error.with_format("json").with_offset(at as u64))?;
                    depth = depth.wrapping_add(1);
                    at = self.space(at.wrapping_add(1));
                    if self.text.get(at) != Some(&if is_object { b'}' } else { b']' }) {
                        if is_object {
                            at = self.name(at)?;
                        }
                        continue;
                    }
                }
                b't' => at = self.word(at, b"true", Node::bool(true))?,
                b'f' => at = self.word(at, b"false", Node::bool(false))?,
                b'n' => at = self.word(at, b"null", Node::NULL)?,
                _ => return Err(self.unexpected("a value is missing", at)),
            }
            // The ends of containers behind it, and what comes then.
            loop {
                at = self.space(at);
                let byte = self.text.get(at).copied();
                if depth == 0 {
                    return match byte {
                        None => Ok(()),
                        Some(_) => Err(wrong("something after the value", at)),
                    };
                }
                let is_object = self.writer.within() == Some(true);
                match byte {
                    Some(b',') => {
                        at = self.space(at.wrapping_add(1));
                        if is_object {
                            at = self.name(at)?;
                        } else {
                            self.writer.expect_element()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ if is_object => return Err(self.unexpected("',' or '}' is missing", at)),
                    _ => return Err(self.unexpected("',' or ']' is missing", at)),
                }
                let closed = self.writer.close();
                closed.map_err(|error| error.with_format("json").with_offset(at as u64))?;
                depth = depth.wrapping_sub(1);
                at = at.wrapping_add(1);
            }
        }
    }

    /// Where the white space at a place ends.
    #[inline]
    fn space(&self, at: usize) -> usize {
        match self.text.get(at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => self.long_space(at),
            _ => at,
        }
    }

    fn long_space(&self, at: usize) -> usize {
        const SPACES: u64 = 0x2020_2020_2020_2020;
        let mut at = at.wrapping_add(1);
        loop {
            // Lines are indented by spaces, most of them.
            while let Some(word) = self.text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
                let others = u64::from_le_bytes(*word) ^ SPACES;
                if others != 0 {
                    at = at.wrapping_add((others.trailing_zeros() / 8) as usize);
                    break;
                }
                at = at.wrapping_add(8);
            }
            match self.text.get(at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => at = at.wrapping_add(1),
                _ => return at,
            }
        }
    }

    fn word(&mut self, at: usize, word: &[u8], node: Node) -> Result<usize> {
        let rest = self.text.get(at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(if word.starts_with(rest) {
                cut(self.text.len())
            } else {
                self.unexpected("a value is missing", at)
            });
        }
        self.writer.place(node);
        Ok(at.wrapping_add(word.len()))
    }

    #[inline]
    fn number(&mut self, at: usize) -> Result<usize> {
        let rest = self.text.get(at..).unwrap_or_default();
        if !self.exact {
            if let Some((node, len)) = number::quick(rest) {
                self.writer.place(node);
                return Ok(at.wrapping_add(len));
            }
        }
        self.any_number(at, rest)
    }

    fn any_number(&mut self, at: usize, rest: &[u8]) -> Result<usize> {
        let Some(token) = number::token(rest) else {
            return Err(self.bad_number(at, rest));
        };
        let end = at.wrapping_add(token.len);
        // `01` and `1.5.2` go wrong where the next separator is looked for.
        let text = rest.get(..token.len).unwrap_or_default();
        let value = number::value(text, token.is_integer);
        let value = value.filter(|&value| !self.exact || number::is_shortest(text, value));
        let node = value.unwrap_or_else(|| self.lent(Kind::NumText, at, end));
        self.writer.place(node);
        Ok(end)
    }

    fn bad_number(&self, at: usize, rest: &[u8]) -> Error {
        let long = rest
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        if at.saturating_add(long.count()) >= self.text.len() {
            return cut(self.text.len());
        }
        wrong("no number that JSON has", at)
    }

    /// A name, its colon, and the space behind.
    #[inline]
    fn name(&mut self, at: usize) -> Result<usize> {
        if self.text.get(at) != Some(&b'"') {
            return Err(self.unexpected("a name is missing", at));
        }
        let first = at.wrapping_add(1);
        let rest = self.text.get(first..).unwrap_or_default();
        let end = match self.writer.likely_name(rest) {
            Some(len) => first.wrapping_add(len).wrapping_add(1),
            None => self.any_name(at)?,
        };
        let colon = self.space(end);
        if self.text.get(colon) != Some(&b':') {
            return Err(self.unexpected("':' is missing", colon));
        }
        Ok(self.space(colon.wrapping_add(1)))
    }

    fn any_name(&mut self, at: usize) -> Result<usize> {
        let (node, end) = self.string(at)?;
        let named = if let Some(name) = self.text_of(node) {
            let tag = if node.kind == Kind::Ascii {
                tag::ASCII
            } else {
                tag::CLEAN
            };
            self.writer.named(name, Some(tag))
        } else {
            // Rare: made text is copied, because the tape and the names are both the writer's.
            let name = self.writer.tape.bytes(node).to_vec();
            self.writer.named(&name, None)
        };
        named.map_err(|error| error.with_format("json").with_offset(at as u64))?;
        Ok(end)
    }

    /// The string at a quote, and where the text goes on behind the one that ends it.
    #[allow(clippy::inline_always, reason = "1 to 2 % of whole documents")]
    #[inline(always)]
    fn string(&mut self, at: usize) -> Result<(Node, usize)> {
        let start = at.wrapping_add(1);
        let (end, high) = strings::plain_end(self.text, start);
        if self.text.get(end) != Some(&b'"') {
            return self.odd_string(start, end);
        }
        if high {
            self.check(start, end)?;
        }
        let kind = if high { Kind::Clean } else { Kind::Ascii };
        Ok((self.lent(kind, start, end), end.wrapping_add(1)))
    }

    fn odd_string(&mut self, start: usize, end: usize) -> Result<(Node, usize)> {
        match self.text.get(end) {
            Some(b'\\') => self.escaped(start, end),
            Some(_) => Err(wrong("a control character in a string", end)),
            None => Err(cut(self.text.len())),
        }
    }

    /// Whether a part of the text is text.
    fn check(&self, start: usize, end: usize) -> Result<()> {
        let part = self.text.get(start..end).unwrap_or_default();
        match std::str::from_utf8(part) {
            Ok(_) => Ok(()),
            Err(error) => Err(wrong(
                "bytes that are not UTF-8",
                start.wrapping_add(error.valid_up_to()),
            )),
        }
    }

    /// A string with escapes, of which the first is at `first`.
    fn escaped(&mut self, start: usize, first: usize) -> Result<(Node, usize)> {
        let from = self.writer.tape.own().len();
        let (mut plain, mut end) = (start, first);
        let mut halves = false;
        loop {
            self.check(plain, end)?;
            let run = self.text.get(plain..end).unwrap_or_default();
            self.writer.tape.own().extend_from_slice(run);
            match self.text.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let own = self.writer.tape.own();
                    end = unescape::escape(self.text, end, own, from, &mut halves)?;
                }
                Some(_) => return Err(wrong("a control character in a string", end)),
                None => return Err(cut(self.text.len())),
            }
            plain = end;
            end = strings::plain_end(self.text, plain).0;
        }
        let after = end.wrapping_add(1);
        let text = self.writer.tape.own();
        let text = text.get(from..).unwrap_or_default();
        let kind = strings::kind_of(text);
        if halves && std::str::from_utf8(text).is_err() {
            let kept = self.writer.surrogate();
            kept.map_err(|error| error.with_format("json").with_offset(start as u64))?;
            // What needs care when written back has the weakest tag.
            return Ok((self.writer.tape.made(Kind::Str, from), after));
        }
        Ok((self.writer.tape.made(kind, from), after))
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

    fn unexpected(&self, text: &str, at: usize) -> Error {
        if at >= self.text.len() {
            return cut(at);
        }
        wrong(text, at)
    }
}
