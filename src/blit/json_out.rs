//! Documents as JSON text, without spaces, in either order.

use std::rc::Rc;

use super::digits::{push_decimal, push_int, push_uint, Short};
use super::doc::Doc;
use super::layout::{flag, malformed};
use super::lexical::Texts;
use super::list::{Item, List};
use super::number::push_float;
use super::surrogates;
use super::view::{ArrayView, ObjectView, View};
use super::visit::{Scalar, Text, TextKind, Visitor, WalkOptions};
use super::walk::Walk;
use crate::{Error, ErrorKind, Result};

/// The order of an object's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyOrder {
    /// As they were written.
    #[default]
    Insertion,
    /// By their UTF-8 bytes, at every level.
    Lexical,
}

/// What JSON has no text for: NaN and infinities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NonFinite {
    /// An error.
    #[default]
    Error,
    /// `null`.
    Null,
    /// `NaN`, `Infinity`, `-Infinity`, which JSON does not have.
    Literal,
}

/// How a document becomes JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonOptions {
    /// The order of names.
    pub order: KeyOrder,
    /// What NaN and infinities become.
    pub nan: NonFinite,
    /// Whether bytes become text of Base64; an error otherwise.
    pub bytes_as_base64: bool,
    /// Most bytes of text; 4 GiB unless said.
    pub max_output: u64,
}

impl Default for JsonOptions {
    fn default() -> Self {
        Self {
            order: KeyOrder::Insertion,
            nan: NonFinite::Error,
            bytes_as_base64: false,
            max_output: 1 << 32,
        }
    }
}

impl View<'_> {
    /// The document as JSON text.
    ///
    /// # Errors
    /// `Unsupported` for NaN, infinities and bytes, unless they were given a form; `Limit` for more
    /// text than allowed; `Malformed`.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, JsonOptions, KeyOrder, Options, View};
    ///
    /// let document = from_json(br#"{"b": 1.50, "a": [true]}"#, &Options::default())?;
    /// let view = View::open(&document)?;
    /// assert_eq!(br#"{"b":1.5,"a":[true]}"#[..], view.to_json(&JsonOptions::default())?);
    /// let lexical = JsonOptions { order: KeyOrder::Lexical, ..JsonOptions::default() };
    /// assert_eq!(br#"{"a":[true],"b":1.5}"#[..], view.to_json(&lexical)?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn to_json(&self, options: &JsonOptions) -> Result<Vec<u8>> {
        let item = self.doc.root.item(&self.doc)?;
        // All names are those of some object here, unless they are those of a collection.
        let is_own = self.doc.trailer < self.doc.data.len();
        let is_long = self.doc.data.len() >= SMALL;
        let texts = (is_own && is_long).then(|| Texts::of(&self.doc).map(Rc::new));
        to_json(&self.doc, item, texts.transpose()?, options)
    }
}

impl ArrayView<'_> {
    /// The array as JSON text, as [`View::to_json`].
    ///
    /// # Errors
    /// As there.
    pub fn to_json(&self, options: &JsonOptions) -> Result<Vec<u8>> {
        to_json(self.doc, self.item(), None, options)
    }
}

impl ObjectView<'_> {
    /// The object as JSON text, as [`View::to_json`].
    ///
    /// # Errors
    /// As there.
    pub fn to_json(&self, options: &JsonOptions) -> Result<Vec<u8>> {
        to_json(self.doc, self.item(), None, options)
    }
}

/// About how many bytes a value takes.
fn size(item: &Item<'_>) -> usize {
    let part = |of: &List<'_>, n: usize| {
        let all = of.at.1.saturating_sub(of.at.0);
        let each = all.checked_div(of.n).unwrap_or(all).saturating_add(1);
        each.saturating_mul(n).min(all)
    };
    match item {
        Item::Stored { at, .. } => at.1.saturating_sub(at.0),
        Item::Run { of, n, .. } => part(of, *n),
        Item::Row { of, .. } => part(of, 1),
        _ => 0,
    }
}

fn to_json<'v>(
    doc: &'v Doc<'v>,
    item: Item<'v>,
    texts: Option<Rc<Texts<'v>>>,
    options: &JsonOptions,
) -> Result<Vec<u8>> {
    let size = size(&item);
    let n = doc.keys.names.n;
    // All names once, with what stands around them; what is too much is never touched.
    let names = texts.as_ref().filter(|texts| texts.size() > 0);
    let names = names.map_or(0, |texts| texts.size().saturating_add(n.saturating_mul(8)));
    let most = size.saturating_mul(2).saturating_add(names);
    // A small value has most names once: to keep them would take longer than to find them.
    let kept = if size < SMALL {
        0
    } else {
        n.min(NAMES).min(size / 4)
    };
    let mut out = Json {
        out: Vec::with_capacity(most.saturating_add(256)),
        doc,
        texts: texts.clone(),
        names: vec![[0; NAME]; kept],
        options,
        most: usize::try_from(options.max_output).unwrap_or(usize::MAX),
    };
    let walk = WalkOptions {
        order: options.order,
        // Each element takes a byte at least, or is absent: also those are not walked for ever.
        max_elements: options.max_output,
    };
    let mut walk = Walk::new(doc, &walk);
    if let Some(lexical) = &mut walk.lexical {
        lexical.texts = texts;
    }
    // Before they are decompressed, not when they are written.
    let most = usize::try_from(options.max_output).unwrap_or(usize::MAX);
    walk.unpacked = walk.unpacked.min(most);
    walk.item(item, &mut out)?;
    out.out.pop(); // the comma behind the root
    out.check()?;
    let out = out.out;
    if doc.flags & flag::WTF8 == 0 && simdutf8::basic::from_utf8(&out).is_err() {
        let text = "strings that are not UTF-8: validate() says where";
        return Err(Error::new(ErrorKind::Malformed, text).with_format("blit"));
    }
    Ok(out)
}

/// Bytes of a name as it is written, if it is a short one; the last says how many, or 0.
const NAME: usize = 32;

/// Names that are kept so, those that came first: more are of objects that are large themselves,
/// and come once.
const NAMES: usize = 1024;

/// Values of fewer bytes are small.
const SMALL: usize = 512;

/// Text so far; every value is followed by a comma, which the end of its container replaces.
struct Json<'v, 'o> {
    out: Vec<u8>,
    doc: &'v Doc<'v>,
    /// All names, if all are needed.
    texts: Option<Rc<Texts<'v>>>,
    /// Each name with its quotes and colon, once it was needed; not long ones.
    names: Vec<[u8; NAME]>,
    options: &'o JsonOptions,
    most: usize,
}

impl Json<'_, '_> {
    #[inline]
    fn check(&self) -> Result<()> {
        if self.out.len() <= self.most {
            return Ok(());
        }
        Err(self.too_long())
    }

    #[cold]
    fn too_long(&self) -> Error {
        let text = format!(
            "more JSON text than max_output = {} bytes",
            self.options.max_output
        );
        Error::new(ErrorKind::Limit, text).with_format("blit")
    }

    /// Writes a name, and keeps it if it is a short one.
    #[inline(never)]
    fn first(&mut self, id: usize) -> Result<()> {
        let keys = &self.doc.keys;
        if id >= keys.names.n {
            let text = "a key that is not there";
            return Err(malformed("V11", text, self.doc.trailer));
        }
        let name = match self.texts.as_ref().and_then(|texts| texts.get(id)) {
            Some(name) => name,
            None => keys.name(id)?,
        };
        let kind = TextKind::of(keys.names.tag).unwrap_or(TextKind::Any);
        let is_plain = kind != TextKind::Any;
        if let Some(slot) = self.names.get_mut(id).filter(|_| is_plain) {
            if let Some(kept) = quoted(name) {
                *slot = kept;
                return self.key(id);
            }
        }
        if name.len() <= 13 && is_plain {
            let name = Short::of(name).behind(b'"').then(b'"').then(b':');
            name.push(&mut self.out);
            return Ok(());
        }
        self.out.reserve(name.len().saturating_add(3));
        self.out.push(b'"');
        push_plain(&mut self.out, name, kind);
        self.out.extend_from_slice(b"\":");
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<()> {
        if value.is_finite() {
            push_float(&mut self.out, value);
            return Ok(());
        }
        let text = match self.options.nan {
            NonFinite::Null => "null",
            NonFinite::Literal if value.is_nan() => "NaN",
            NonFinite::Literal if value > 0.0 => "Infinity",
            NonFinite::Literal => "-Infinity",
            NonFinite::Error => {
                let text =
                    format!("{value}, which JSON has no text for: nan=\"null\" or \"literal\"");
                return Err(Error::new(ErrorKind::Unsupported, text).with_format("json"));
            }
        };
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Visitor for Json<'_, '_> {
    #[inline]
    fn scalar(&mut self, value: Scalar<'_>) -> Result<()> {
        match value {
            Scalar::Null => self.out.extend_from_slice(b"null,"),
            Scalar::Bool(true) => self.out.extend_from_slice(b"true,"),
            Scalar::Bool(false) => self.out.extend_from_slice(b"false,"),
            Scalar::Int(value) => push_int(&mut self.out, value),
            Scalar::Uint(value) => push_uint(&mut self.out, value),
            Scalar::Float(value) => {
                self.float(value)?;
                self.out.push(b',');
            }
            Scalar::Text(text) => push_text(&mut self.out, text),
            Scalar::NumText(text) => {
                self.out.extend_from_slice(text.as_bytes());
                self.out.push(b',');
            }
            Scalar::Bytes(bytes) => {
                if !self.options.bytes_as_base64 {
                    let text = "bytes, which JSON has no text for: bytes=\"base64\"";
                    return Err(Error::new(ErrorKind::Unsupported, text).with_format("json"));
                }
                self.out.push(b'"');
                push_base64(&mut self.out, bytes);
                self.out.extend_from_slice(b"\",");
            }
        }
        // Not only where containers begin: a few bytes can be an array of any number of scalars.
        self.check()
    }

    #[inline]
    fn decimal(&mut self, m: i64, e: usize) -> Result<()> {
        push_decimal(&mut self.out, m, e);
        self.check()
    }

    #[inline]
    fn begin_array(&mut self, _n: usize) -> Result<()> {
        self.out.push(b'[');
        self.check()
    }

    #[inline]
    fn end_array(&mut self) -> Result<()> {
        close(&mut self.out, b'[', b']');
        Ok(())
    }

    #[inline]
    fn begin_object(&mut self, _most: usize, _shape: usize) -> Result<()> {
        self.out.push(b'{');
        self.check()
    }

    #[inline]
    fn key(&mut self, id: usize) -> Result<()> {
        match self.names.get(id) {
            Some(name @ [.., len @ 1..=u8::MAX]) => {
                let end = self.out.len().wrapping_add(usize::from(*len));
                self.out.extend_from_slice(name);
                self.out.truncate(end);
                Ok(())
            }
            _ => self.first(id),
        }
    }

    #[inline]
    fn end_object(&mut self) -> Result<()> {
        close(&mut self.out, b'{', b'}');
        Ok(())
    }
}

/// A short name as it is kept.
#[inline]
fn quoted(name: &[u8]) -> Option<[u8; NAME]> {
    let end = name.len().checked_add(1)?;
    let mut kept = [0; NAME];
    kept.get_mut(1..end)?.copy_from_slice(name);
    kept.get_mut(end..end.checked_add(2)?)?
        .copy_from_slice(b"\":");
    let [first, .., last] = &mut kept;
    *first = b'"';
    *last = u8::try_from(end.wrapping_add(2)).ok()?;
    (end < NAME.wrapping_sub(2)).then_some(kept)
}

/// Replaces the last comma by the end of a container, and adds the next comma.
fn close(out: &mut Vec<u8>, open: u8, end: u8) {
    if out.last() != Some(&open) {
        out.pop();
    }
    out.extend_from_slice(&[end, b',']);
}

/// Text between quotes and a comma, escaped where its kind does not say that it need not be.
#[inline]
fn push_text(out: &mut Vec<u8>, text: Text<'_>) {
    let Text { bytes, kind } = text;
    if bytes.len() <= 13 && kind != TextKind::Any {
        let text = Short::of(bytes).behind(b'"').then(b'"').then(b',');
        return text.push(out);
    }
    out.push(b'"');
    push_plain(out, bytes, kind);
    out.extend_from_slice(b"\",");
}

/// Text without quotes.
#[inline]
fn push_plain(out: &mut Vec<u8>, bytes: &[u8], kind: TextKind) {
    if kind == TextKind::Any {
        push_escaped(out, bytes);
    } else {
        out.extend_from_slice(bytes);
    }
}

fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let (plain, _) = super::strings::plain_end(rest, 0);
        let (run, later) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        push_run(out, run);
        let Some((&byte, later)) = later.split_first() else {
            return;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend([hex(byte >> 4), hex(byte)]);
            }
        }
        rest = later;
    }
}

/// Text as it is, but for halves of surrogate pairs.
fn push_run(out: &mut Vec<u8>, run: &[u8]) {
    let mut rest = run;
    while let Some(at) = memchr::memchr(0xED, rest) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(before);
        if let Some(unit) = from.get(..3).and_then(surrogates::unit_of) {
            out.extend_from_slice(b"\\u");
            let [low, high] = unit.to_le_bytes();
            out.extend([hex(high >> 4), hex(high), hex(low >> 4), hex(low)]);
            rest = from.get(3..).unwrap_or_default();
        } else {
            out.push(0xED);
            rest = from.get(1..).unwrap_or_default();
        }
    }
    out.extend_from_slice(rest);
}

fn hex(digit: u8) -> u8 {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    DIGITS
        .get(usize::from(digit & 0xF))
        .copied()
        .unwrap_or(b'0')
}

/// RFC 4648, with padding.
fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (i, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS
                .get((word >> shift & 0x3F) as usize)
                .copied()
                .unwrap_or(b'=');
            out.push(if i <= group.len() { digit } else { b'=' });
        }
    }
}
