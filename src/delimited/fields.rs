//! What stands in fields, and where rows end, in text of any kind.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr2_iter, memchr3, memchr_iter, memrchr_iter};

use super::{has, with, Style, BOM};

/// Fields up to here are looked through byte by byte, longer ones by vectors from there on.
const NEAR: usize = 16;

/// What stands in the fields of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// Whether any is written as no decimal number is: with a leading zero, in hexadecimal, or as a phone number, with
    /// a plus and seven to fifteen digits (ITU-T E.164). Blanks around count for nothing.
    pub codes: bool,
    /// Whether any is a zero with a minus.
    pub signed_zeros: bool,
    /// Which of the words stand bare in fields, the first one first, and in how many.
    pub words: Vec<(usize, u64)>,
}

/// Tells what stands in each column of a text whose first row names them.
///
/// A blank line is no row. Fields beyond those that the first row has are passed over.
///
/// # Arguments
/// - `words`: what a field may be as a whole, without quotes; each is counted.
#[must_use]
pub fn look_at_fields(text: &[u8], style: Style, words: &[&[u8]]) -> Vec<Fields> {
    let scan = Scan::new(text, style, words);
    let mut columns: Vec<Fields> = Vec::new();
    let mut at = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let (mut named, mut place) = (false, 0_usize);
    while let Some(&first) = text.get(at) {
        if place == 0 && matches!(first, b'\r' | b'\n') {
            at = at.wrapping_add(1);
            continue;
        }
        let end = if named {
            let (field, end) = scan.field(at, first);
            if let (Some(field), Some(column)) = (field, columns.get_mut(place)) {
                scan.note(&field, column);
            }
            end
        } else {
            columns.push(Fields::default());
            scan.field(at, first).1
        };
        at = end.wrapping_add(1);
        if text.get(end) == Some(&style.delimiter) {
            place = place.wrapping_add(1);
        } else {
            named = true;
            place = 0;
        }
    }
    columns
}

/// A field that may be something that is told.
struct Field<'t> {
    value: Cow<'t, [u8]>,
    bare: bool,
}

struct Scan<'t> {
    text: &'t [u8],
    style: Style,
    words: &'t [&'t [u8]],
    /// Bytes that end a field.
    ends: [bool; 256],
    /// Bytes with which a field begins that may be something that is told.
    begins: [bool; 256],
}

impl<'t> Scan<'t> {
    fn new(text: &'t [u8], style: Style, words: &'t [&'t [u8]]) -> Self {
        let firsts = words.iter().filter_map(|word| word.first().copied());
        Self {
            text,
            style,
            words,
            ends: with([style.delimiter, b'\r', b'\n']),
            begins: with(b" \t+-0".iter().copied().chain(firsts)),
        }
    }

    /// The field that begins at a place, if it may be something that is told, and where it ends.
    #[inline]
    fn field(&self, at: usize, first: u8) -> (Option<Field<'t>>, usize) {
        if first == b'"' && self.style.quotes {
            return self.quoted(at.wrapping_add(1));
        }
        let end = self.end(at);
        let told = has(&self.begins, first).then(|| Field {
            value: Cow::Borrowed(self.part(at, end)),
            bare: true,
        });
        (told, end)
    }

    /// The field whose text begins behind its quote.
    fn quoted(&self, start: usize) -> (Option<Field<'t>>, usize) {
        let (close, doubled) = self.close(start);
        let end = self.end(close.saturating_add(1).min(self.text.len()));
        let inner = self.part(start, close);
        let behind = self.part(close.saturating_add(1), end);
        let value = if behind.is_empty() {
            Cow::Borrowed(inner)
        } else {
            Cow::Owned([inner, behind].concat())
        };
        let first = value.first().copied().unwrap_or_default();
        let told = !doubled && has(&self.begins, first);
        (told.then_some(Field { value, bare: false }), end)
    }

    /// Where the quote is that closes a field, and whether others stand in it.
    fn close(&self, start: usize) -> (usize, bool) {
        let (mut at, mut doubled) = (start, false);
        let escape = if self.style.escapes { b'\\' } else { b'"' };
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let Some(found) = memchr2(b'"', escape, rest) else {
                return (self.text.len(), doubled);
            };
            let place = at.wrapping_add(found);
            let next = self.text.get(place.wrapping_add(1));
            if self.text.get(place) == Some(&b'"') && next != Some(&b'"') {
                return (place, doubled);
            }
            doubled = true;
            at = place.wrapping_add(2);
        }
    }

    /// Where the field ends that a place without quotes is in.
    #[inline]
    fn end(&self, at: usize) -> usize {
        if self.style.escapes {
            return self.end_with_escapes(at);
        }
        let near = self.part(at, at.wrapping_add(NEAR).min(self.text.len()));
        if let Some(found) = near.iter().position(|&byte| has(&self.ends, byte)) {
            return at.wrapping_add(found);
        }
        let far = at.wrapping_add(near.len());
        let rest = self.text.get(far..).unwrap_or_default();
        match memchr3(self.style.delimiter, b'\n', b'\r', rest) {
            Some(found) => far.wrapping_add(found),
            None => self.text.len(),
        }
    }

    fn end_with_escapes(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(&byte) = self.text.get(at) {
            if has(&self.ends, byte) {
                return at;
            }
            at = at.wrapping_add(if byte == b'\\' { 2 } else { 1 });
        }
        self.text.len()
    }

    #[inline]
    fn part(&self, start: usize, end: usize) -> &'t [u8] {
        self.text.get(start..end).unwrap_or_default()
    }

    fn note(&self, field: &Field<'_>, column: &mut Fields) {
        column.codes |= is_code(&field.value);
        column.signed_zeros |= is_signed_zero(&field.value);
        if !field.bare {
            return;
        }
        let Some(word) = self.words.iter().position(|&word| word == &field.value[..]) else {
            return;
        };
        match column.words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count = count.wrapping_add(1),
            None => column.words.push((word, 1)),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn without_blanks(field: &[u8]) -> &[u8] {
    let start = field.iter().position(|&byte| !is_blank(byte));
    start
        .and_then(|start| field.get(start..))
        .unwrap_or_default()
}

fn is_code(field: &[u8]) -> bool {
    match without_blanks(field) {
        [b'0', next, ..] | [b'+' | b'-', b'0', next, ..] => {
            next.is_ascii_digit() || matches!(next, b'x' | b'X')
        }
        [b'+', b'1'..=b'9', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (6..=14).contains(&digits) && rest.iter().skip(digits).all(|&byte| is_blank(byte))
        }
        _ => false,
    }
}

fn is_signed_zero(field: &[u8]) -> bool {
    match without_blanks(field) {
        [b'-', b'0', rest @ ..] => without_blanks(rest).is_empty(),
        _ => false,
    }
}

/// Tells where the last whole row of a text ends, 0 if none does, and whether a value holds the end of a line.
///
/// None if a quote stands where it neither opens nor closes a field: then quotes do not tell. The text begins at a row.
#[must_use]
pub fn whole_rows(text: &[u8], delimiter: u8) -> Option<(usize, bool)> {
    let border = with([delimiter, b'\r', b'\n', b'"']);
    let is_border = |byte: Option<&u8>| byte.is_none_or(|&byte| has(&border, byte));
    let (mut end, mut enclosed, mut unsettled, mut open) = (0, false, false, false);
    for at in memchr2_iter(b'"', b'\n', text) {
        if text.get(at) == Some(&b'"') {
            let beside = if open {
                text.get(at.wrapping_add(1))
            } else {
                at.checked_sub(1).and_then(|before| text.get(before))
            };
            if !is_border(beside) {
                return None;
            }
            open = !open;
        } else if open {
            unsettled = true;
        } else {
            end = at.wrapping_add(1);
            enclosed |= unsettled;
            unsettled = false;
        }
    }
    Some((end, enclosed))
}

/// Where the last whole row of a text ends that begins at a row; 0 if none does.
///
/// Quotes are counted, and not looked at: it is what [`whole_rows`] says only where that says anything.
#[must_use]
pub fn row_end(text: &[u8]) -> usize {
    let mut before = memchr_iter(b'"', text).count();
    let mut end = text.len();
    for line in memrchr_iter(b'\n', text) {
        let behind = line.wrapping_add(1);
        let between = text.get(behind..end).unwrap_or_default();
        before = before.wrapping_sub(memchr_iter(b'"', between).count());
        end = behind;
        if before % 2 == 0 {
            return end;
        }
    }
    0
}

/// How many lines a text has, if each is a row, and none of them blank; None if that cannot be said.
#[must_use]
pub fn lines_of_rows(text: &[u8], delimiter: u8) -> Option<usize> {
    let (end, enclosed) = whole_rows(text, delimiter)?;
    let rest = text.get(end..).unwrap_or_default();
    // An end of line in the last row is enclosed.
    if enclosed || memchr(b'\n', rest).is_some() || memchr_iter(b'"', rest).count() % 2 != 0 {
        return None;
    }
    let is_at = |at: usize, byte: u8| text.get(at) == Some(&byte);
    let lone = |at: usize| !is_at(at.wrapping_add(1), b'\n');
    if memchr_iter(b'\r', text).any(lone) {
        return None;
    }
    let (mut lines, mut begin) = (0_usize, 0_usize);
    for at in memchr_iter(b'\n', text) {
        if at == begin || (at == begin.wrapping_add(1) && is_at(begin, b'\r')) {
            return None;
        }
        lines = lines.wrapping_add(1);
        begin = at.wrapping_add(1);
    }
    Some(lines.wrapping_add(usize::from(begin < text.len())))
}
