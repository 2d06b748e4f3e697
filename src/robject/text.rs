//! Strings of any encoding as UTF-8.
//!
//! R reads what is marked latin1 as CP1252 on every system; what has no mark is in the encoding
//! of the writer, which version 3 names.

use std::borrow::Cow;
use std::fmt::Write;

use encoding_rs::Encoding as Page;

use super::model::{Arena, Header};
use super::strings::{Strings, Text, TextEncoding};

/// What a stored string is as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// UTF-8 already; the stored bytes.
    Same(&'a str),
    /// Recoded to UTF-8.
    Recoded(String),
    /// No text: marked as bytes, or not valid in its encoding.
    Bytes(&'a [u8]),
}

impl<'a> Decoded<'a> {
    /// The text, where it is one.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Same(text) => Some(Cow::Borrowed(text)),
            Self::Recoded(text) => Some(Cow::Owned(text)),
            Self::Bytes(_) => None,
        }
    }

    /// The text; bytes that are none as R prints them, `\xe4`.
    #[must_use]
    pub fn shown(self) -> Cow<'a, str> {
        match self {
            Self::Same(text) => Cow::Borrowed(text),
            Self::Recoded(text) => Cow::Owned(text),
            Self::Bytes(bytes) => Cow::Owned(escaped(bytes)),
        }
    }
}

/// How strings without a mark are read.
#[derive(Clone, Copy, Debug)]
enum Native {
    Utf8,
    Page(&'static Page),
    /// ISO 8859-1 proper, where bytes 128 to 159 are control characters.
    Latin1,
    Unknown,
}

impl Native {
    fn decode(self, bytes: &[u8]) -> Decoded<'_> {
        match self {
            Self::Utf8 => utf8(bytes),
            Self::Page(page) => by_page(page, bytes),
            Self::Latin1 => Decoded::Recoded(encoding_rs::mem::decode_latin1(bytes).into()),
            Self::Unknown => Decoded::Bytes(bytes),
        }
    }
}

/// Whether strings of R in the encoding of this name can be made UTF-8.
///
/// # Example
/// ```
/// use tare::robject::is_encoding;
///
/// assert!(is_encoding("latin1") && is_encoding("CP1252") && is_encoding("UTF-8"));
/// assert!(!is_encoding("UTF-16") && !is_encoding("EBCDIC-US"));
/// ```
#[must_use]
pub fn is_encoding(name: &str) -> bool {
    !matches!(named(name.as_bytes()), Native::Unknown)
}

/// Makes UTF-8 of the strings of one file.
///
/// # Example
/// ```
/// use tare::robject::{Decoded, Header, Recoder, Text, TextEncoding};
///
/// let recoder = Recoder::new(&Header::default());
/// let text = Text { bytes: Some(b"\x80"), levels: TextEncoding::Latin1.levels() };
/// assert_eq!(Some(Decoded::Recoded("\u{20ac}".into())), recoder.decode(text));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Recoder {
    native: Native,
    /// For strings without a mark that are not valid in that one.
    other: Option<Native>,
}

impl Recoder {
    /// For strings of a file with this header; without a named encoding UTF-8.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let native = match header.native_encoding.as_deref() {
            None => Native::Utf8,
            Some(name) => named(name),
        };
        let other = None;
        Self { native, other }
    }

    /// For strings of this arena: what the reader's caller said counts where the file says nothing, and where it
    /// is wrong.
    #[must_use]
    pub fn of(arena: &Arena) -> Self {
        let recoder = Self::new(arena.header());
        let Some(other) = arena.unmarked().map(|name| named(name.as_bytes())) else {
            return recoder;
        };
        let told = arena.header().native_encoding.is_some();
        Self {
            native: if told { recoder.native } else { other },
            other: Some(other),
        }
    }

    /// A string as text; None for NA.
    #[must_use]
    pub fn decode<'a>(&self, text: Text<'a>) -> Option<Decoded<'a>> {
        let bytes = text.bytes?;
        Some(match text.encoding() {
            _ if bytes.is_ascii() => ascii(bytes),
            TextEncoding::Ascii | TextEncoding::Utf8 => utf8(bytes),
            TextEncoding::Latin1 => by_page(encoding_rs::WINDOWS_1252, bytes),
            TextEncoding::Bytes => Decoded::Bytes(bytes),
            TextEncoding::Native => match (self.native.decode(bytes), self.other) {
                (Decoded::Bytes(_), Some(other)) => other.decode(bytes),
                (decoded, _) => decoded,
            },
        })
    }

    /// The strings as another file can hold them: those without a mark that are not UTF-8 there are recoded and marked.
    #[must_use]
    pub(super) fn portable(&self, strings: &Strings) -> Strings {
        let native = |levels: &u16| TextEncoding::of(*levels) == TextEncoding::Native;
        let odd = !matches!((self.native, self.other), (Native::Utf8, None));
        if !odd || !strings.runs().iter().any(|(_, levels)| native(levels)) {
            // Attributes of single strings name nodes of their arena; they mean nothing in R.
            return strings.without_attributes();
        }
        let mut kept = Strings::with_capacity(strings.len(), strings.bytes().len());
        for text in strings.iter() {
            match (text.bytes, self.decode(text)) {
                (_, Some(Decoded::Recoded(recoded))) if native(&text.levels) => {
                    kept.push(recoded.as_bytes(), TextEncoding::Utf8.levels());
                }
                (Some(bytes), _) => kept.push(bytes, text.levels),
                (None, _) => kept.push_na(),
            }
        }
        kept
    }

    /// Whether all strings are stored as UTF-8 if their bytes are valid: nothing is recoded and
    /// nothing is marked as bytes.
    #[must_use]
    pub fn stored_as_utf8(&self, strings: &Strings) -> bool {
        let utf8 = matches!(self.native, Native::Utf8);
        let plain = strings
            .runs()
            .iter()
            .all(|(_, levels)| match TextEncoding::of(*levels) {
                TextEncoding::Ascii | TextEncoding::Utf8 => true,
                TextEncoding::Native => utf8,
                TextEncoding::Latin1 | TextEncoding::Bytes => false,
            });
        plain || strings.bytes().is_ascii()
    }
}

/// Any bytes as R prints them: text, and `\xe4` for what is none.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn ascii(bytes: &[u8]) -> Decoded<'_> {
    utf8(bytes)
}

fn utf8(bytes: &[u8]) -> Decoded<'_> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Decoded::Same(text),
        Err(_) => Decoded::Bytes(bytes),
    }
}

fn by_page<'a>(page: &'static Page, bytes: &'a [u8]) -> Decoded<'a> {
    match page.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) => Decoded::Recoded(text.into_owned()),
        None => Decoded::Bytes(bytes),
    }
}

/// What the header of a file calls its encoding: names of iconv, and `CP` with a number.
fn named(name: &[u8]) -> Native {
    let upper = name.to_ascii_uppercase();
    match upper.as_slice() {
        b"UTF-8" | b"UTF8" | b"CP65001" | b"ASCII" | b"US-ASCII" | b"ANSI_X3.4-1968" | b"646"
        | b"C" | b"POSIX" | b"" => return Native::Utf8,
        // encoding_rs follows browsers, to which this is CP1252.
        b"ISO-8859-1" | b"ISO8859-1" | b"ISO_8859-1" => return Native::Latin1,
        b"LATIN1" => return Native::Page(encoding_rs::WINDOWS_1252),
        b"MAC-ROMAN" => return Native::Page(encoding_rs::MACINTOSH),
        b"CP932" => return Native::Page(encoding_rs::SHIFT_JIS),
        b"CP936" => return Native::Page(encoding_rs::GBK),
        b"CP949" => return Native::Page(encoding_rs::EUC_KR),
        b"CP950" => return Native::Page(encoding_rs::BIG5),
        b"CP874" => return Native::Page(encoding_rs::WINDOWS_874),
        _ => {}
    }
    let page = Page::for_label(&upper)
        .or_else(|| Page::for_label(&[b"windows-", upper.strip_prefix(b"CP")?].concat()))
        .or_else(|| Page::for_label(&[b"ISO-", upper.strip_prefix(b"ISO")?].concat()));
    // UTF-16 is no encoding of strings that end at a zero byte; "replacement" decodes nothing.
    match page {
        Some(page) if page.is_ascii_compatible() => Native::Page(page),
        _ => Native::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(encoding: &str) -> Recoder {
        Recoder::new(&Header {
            native_encoding: Some(Box::from(encoding.as_bytes())),
            ..Header::default()
        })
    }

    fn text(bytes: &[u8], encoding: TextEncoding) -> Text<'_> {
        let (bytes, levels) = (Some(bytes), encoding.levels());
        Text { bytes, levels }
    }

    #[test]
    fn names_of_iconv_and_windows_are_known() {
        for (name, stored, expected) in [
            ("CP1252", &b"\x80\xe4"[..], "\u{20ac}\u{e4}"),
            ("ISO-8859-1", b"\x80\xe4", "\u{80}\u{e4}"),
            ("ISO8859-15", b"\xa4", "\u{20ac}"),
            ("KOI8-R", b"\xc1", "\u{430}"),
            ("CP1251", b"\xe0", "\u{430}"),
            ("CP932", b"\x82\xa0", "\u{3042}"),
            ("EUC-JP", b"\xa4\xa2", "\u{3042}"),
            ("GB18030", b"\xc4\xe3", "\u{4f60}"),
        ] {
            let decoded = native(name).decode(text(stored, TextEncoding::Native));
            assert_eq!(Some(Decoded::Recoded(expected.into())), decoded, "{name}");
        }
    }

    #[test]
    fn what_is_no_text_stays_bytes() {
        let utf8 = Recoder::new(&Header::default());
        for (stored, mark) in [
            (&b"\xff"[..], TextEncoding::Bytes),
            (b"\xff", TextEncoding::Utf8),
            (b"\xff", TextEncoding::Native),
        ] {
            let decoded = utf8.decode(text(stored, mark));
            assert_eq!(Some(Decoded::Bytes(stored)), decoded);
        }
        let unknown = native("EBCDIC-US").decode(text(b"\xc1", TextEncoding::Native));
        assert_eq!("\\xc1", unknown.unwrap().shown());
    }

    #[test]
    fn what_the_caller_names_counts_where_the_file_says_nothing_or_is_wrong() {
        use super::super::{rds, ReadOptions};
        let utf8 = (b"A\n3\n262658\n197888\n5\nUTF-8\n16\n2\n".as_slice(), 3);
        let untold = (b"A\n2\n262658\n131840\n16\n2\n".as_slice(), 2);
        for (begun, version) in [utf8, untold] {
            let text = [begun, b"9\n1\n\\xe7\n9\n2\n\\303\\247\n"].concat();
            let text = String::from_utf8(text).unwrap().replace("\\xe7", "\\347");
            let options = ReadOptions {
                encoding: Some("latin1".into()),
                ..ReadOptions::default()
            };
            let read = rds::parse(text.as_bytes(), &options).unwrap();
            let second = if version == 3 {
                "\u{e7}"
            } else {
                "\u{c3}\u{a7}"
            };
            let expected = ["\u{e7}", second].map(|text| Some(text.to_string()));
            assert_eq!(Some(expected.to_vec()), read.texts(), "version {version}");
        }
    }

    #[test]
    fn ascii_is_the_same_in_every_encoding() {
        for mark in [
            TextEncoding::Bytes,
            TextEncoding::Latin1,
            TextEncoding::Native,
        ] {
            let decoded = native("CP1252").decode(text(b"plain", mark));
            assert_eq!(Some(Decoded::Same("plain")), decoded);
        }
    }
}
