//! Strings: rules V14 and V25, a whole run of them at once.

use hashbrown::HashSet;

use crate::blit::doc::Doc;
use crate::blit::layout::{flag, malformed, tag};
use crate::blit::list::{Body, Extent, List, Ranges};
use crate::blit::node::Kind;
use crate::blit::{strings, surrogates};
use crate::Result;

/// Strings of a dictionary that there is room for before they are seen.
const FIRST: usize = 1 << 14;

/// Strings side by side in `data`: each is text, and what its tag says.
///
/// # Errors
/// V14, or as of any lengths.
pub(super) fn texts(doc: &Doc<'_>, data: &[u8], at: Ranges<'_>, tag: u8) -> Result<()> {
    at.lens.validate(at.total)?;
    let all = data.get(at.start..at.start.wrapping_add(at.total));
    let all = all.ok_or_else(|| malformed("V18", "an extent outside the document", at.start))?;
    let is_ascii = text(doc, all, tag, at.start)?;
    if is_ascii || at.lens.constant() == Some(0) {
        return Ok(());
    }
    for range in at.lens.lengths(at.total) {
        let from = range?.0;
        if all.get(from).is_some_and(|&byte| byte & 0xC0 == 0x80) {
            let at = at.start.wrapping_add(from);
            let text = "a string that begins inside a character";
            return Err(malformed("V14", text, at));
        }
    }
    Ok(())
}

/// One string is text, and what its tag says; whether it is ASCII.
///
/// # Errors
/// V14.
#[inline]
pub(super) fn text(doc: &Doc<'_>, bytes: &[u8], tag: u8, at: usize) -> Result<bool> {
    let kind = strings::kind_of(bytes);
    if kind == Kind::Ascii {
        return Ok(true);
    }
    let is_ascii = bytes.is_ascii();
    if !is_ascii && simdutf8::basic::from_utf8(bytes).is_err() {
        no_utf8(doc, bytes, tag, at)?;
    }
    let allowed = match tag {
        tag::ASCII => false,
        tag::CLEAN => kind == Kind::Clean,
        _ => true,
    };
    if allowed {
        return Ok(is_ascii);
    }
    let text = "a string with characters that its tag excludes";
    Err(malformed("V14", text, at))
}

/// Halves of surrogate pairs are let through where the document has them.
#[cold]
fn no_utf8(doc: &Doc<'_>, bytes: &[u8], tag: u8, at: usize) -> Result<()> {
    let kept = tag == tag::STR && doc.flags & flag::WTF8 != 0;
    match std::str::from_utf8(bytes) {
        Err(error) if !kept || !surrogates::is_wtf8(bytes) => {
            let at = at.saturating_add(error.valid_up_to());
            Err(malformed("V14", "a string that is not UTF-8", at))
        }
        _ => Ok(()),
    }
}

/// The strings of a dictionary are different, and each code has one.
///
/// # Errors
/// V25, or as of any lengths.
pub(super) fn dict(
    doc: &Doc<'_>,
    list: &List<'_>,
    unique: Extent,
    codes: &[u8],
    width: usize,
) -> Result<()> {
    let wrong = |text| Err(malformed("V25", text, list.end()));
    let inner = List::read(doc, unique, None)?;
    let Body::Uniform {
        at,
        tag: tag::CLEAN | tag::STR | tag::ASCII,
    } = inner.body
    else {
        return wrong("a dictionary that is no list of strings");
    };
    at.lens.validate(at.total)?;
    let all = doc.bytes((at.start, at.start.wrapping_add(at.total)))?;
    // Few of a forged dictionary's strings may be there.
    let mut seen = HashSet::with_capacity(inner.n.min(at.total).min(FIRST));
    for range in at.lens.lengths(at.total) {
        let (from, to) = range?;
        // Empty strings without number take no bytes; two of them are one too many.
        if !seen.insert(all.get(from..to).unwrap_or_default()) {
            return wrong("a dictionary with a string twice");
        }
    }
    if super::numbers::most(codes, width).is_none_or(|most| most >= inner.n as u64) {
        return wrong("a code that is not in its dictionary");
    }
    Ok(())
}
