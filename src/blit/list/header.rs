//! What the header of a list says.

use super::{rest, Body, Extent};
use crate::blit::doc::Doc;
use crate::blit::layout::{broken, int, kind, malformed, tag, Back, SEGMENT};
use crate::blit::lens::Lens;
use crate::{ErrorKind, Result};

/// What a list of `n` elements is made of.
pub(super) fn body<'a>(
    doc: &Doc<'a>,
    back: &mut Back<'a>,
    which: u8,
    mode: u8,
    n: usize,
) -> Result<Body<'a>> {
    let end = back.end;
    Ok(match which {
        kind::GENERIC => {
            let lens = Lens::read(back, mode, n)?;
            let tags = back.bytes(n)?;
            Body::Generic {
                at: rest(back, lens),
                tags,
            }
        }
        kind::UNIFORM => {
            let tag = back.byte()?;
            let lens = Lens::read(back, mode, n)?;
            Body::Uniform {
                at: rest(back, lens),
                tag,
            }
        }
        kind::INT => integers(back, mode, n)?,
        kind::FLOAT => {
            if mode & 6 != 0 {
                return Err(malformed("V22", "floats of a mode that is not", end));
            }
            let width = if mode & 1 == 0 { 8 } else { 4 };
            let numbers = back.bytes(n.saturating_mul(width))?;
            Body::Float {
                numbers,
                width,
                ints: mode & 8 != 0,
            }
        }
        kind::DEC => {
            let width = usize::from(mode & 7).wrapping_add(1);
            let e = usize::from(back.byte()?);
            if width > 6 || e > 15 {
                return Err(malformed(
                    "V22",
                    "decimals of an impossible width or exponent",
                    end,
                ));
            }
            let numbers = back.bytes(n.saturating_mul(width))?;
            Body::Dec {
                numbers,
                width,
                e,
                ints: mode & 8 != 0,
            }
        }
        kind::BITMAP => {
            check_no_mode(mode, end)?;
            Body::Bitmap {
                bits: back.bytes(n.div_ceil(8))?,
            }
        }
        kind::DICT => dict(back, mode, n)?,
        _ => return nested(doc, back, which, mode, n),
    })
}

/// Integers side by side.
#[inline]
pub(in crate::blit) fn integers<'a>(back: &mut Back<'a>, mode: u8, n: usize) -> Result<Body<'a>> {
    let end = back.end;
    let width = usize::from(mode & 7).wrapping_add(1);
    let base = if mode & 8 == 0 {
        None
    } else {
        Some(int(back.bytes(8)?))
    };
    if base.is_some() && width == 8 {
        return Err(malformed("V21", "a base with eight bytes each", end));
    }
    Ok(Body::Int {
        numbers: back.bytes(n.saturating_mul(width))?,
        width,
        base,
    })
}

/// Codes of strings, each of which is stored once.
#[inline]
pub(in crate::blit) fn dict<'a>(back: &mut Back<'a>, mode: u8, n: usize) -> Result<Body<'a>> {
    let end = back.end;
    let size = back.rv()?;
    let width = usize::from(mode & 3).wrapping_add(1);
    if mode >> 2 != 0 {
        return Err(malformed("V25", "a dictionary of a mode that is not", end));
    }
    let codes = back.bytes(n.saturating_mul(width))?;
    let unique = extent(back, size)?;
    Ok(Body::Dict {
        unique,
        codes,
        width,
    })
}

/// Elements of which some are not there.
#[inline]
pub(in crate::blit) fn partial<'a>(back: &mut Back<'a>, mode: u8, n: usize) -> Result<Body<'a>> {
    check_no_mode(mode, back.end)?;
    let absent = back.byte()?;
    if absent != tag::NULL && absent != tag::ABSENT {
        return Err(malformed(
            "V26",
            "gaps that are neither null nor absent",
            back.end,
        ));
    }
    let groups = n.wrapping_sub(1) / 512;
    let (mut ranks, mut width) = (&[][..], 0);
    if groups > 0 {
        width = usize::from(back.byte()?);
        if !(1..=8).contains(&width) {
            return Err(malformed("V26", "ranks of an impossible width", back.end));
        }
        ranks = back.bytes(groups.saturating_mul(width))?;
    }
    let bits = back.bytes(n.div_ceil(8))?;
    check_present(back, absent)?;
    Ok(Body::Partial {
        child: (back.start, back.end),
        bits,
        ranks,
        width,
        absent,
    })
}

/// Those whose elements are in other lists.
fn nested<'a>(
    doc: &Doc<'a>,
    back: &mut Back<'a>,
    which: u8,
    mode: u8,
    n: usize,
) -> Result<Body<'a>> {
    let end = back.end;
    Ok(match which {
        kind::TABLE => {
            let shape = back.rv()?;
            let keys = doc.shapes.get(shape)?;
            let lens = Lens::read(back, mode, keys.len())?;
            Body::Table {
                columns: rest(back, lens),
                shape,
                keys,
            }
        }
        kind::TUPLES => {
            let k = back.rv()?;
            if k == 0 {
                return Err(malformed("V23", "tuples of no columns", end));
            }
            let lens = Lens::read(back, mode, k)?;
            Body::Tuples {
                columns: rest(back, lens),
            }
        }
        kind::NESTED => {
            let counts = Lens::read(back, mode, n)?;
            Body::Nested {
                child: (back.start, back.end),
                counts,
            }
        }
        kind::PARTIAL => partial(back, mode, n)?,
        kind::SEGMENTED => {
            let size = back.rv()?;
            if !(1..=SEGMENT).contains(&size) {
                return Err(malformed("V27", "segments of an impossible size", back.end));
            }
            let lens = Lens::read(back, mode, n.div_ceil(size))?;
            Body::Segmented {
                segments: rest(back, lens),
                size,
            }
        }
        _ => {
            let text = "a kind of list that this version does not have";
            return Err(broken(ErrorKind::Unsupported, "V5", text, end));
        }
    })
}

/// The `size` bytes before, which are gone past, as an extent.
fn extent(back: &mut Back<'_>, size: usize) -> Result<Extent> {
    let end = back.end;
    back.bytes(size)?;
    Ok((back.end, end))
}

/// A list of what is present holds values, or tells the nulls among them: lists that only lead to
/// others cannot be put into each other again and again.
fn check_present(child: &Back<'_>, absent: u8) -> Result<()> {
    let mut back = *child;
    if back.end <= back.start {
        return Ok(());
    }
    match back.byte()? & 0xF {
        kind::SEGMENTED => {
            let text = "segments of what is no array";
            Err(malformed("V27", text, child.end))
        }
        kind::PARTIAL => {
            back.rv()?;
            if absent == tag::ABSENT && back.byte()? == tag::NULL {
                return Ok(());
            }
            let text = "gaps of one kind inside gaps";
            Err(malformed("V26", text, child.end))
        }
        _ => Ok(()),
    }
}

fn check_no_mode(mode: u8, at: usize) -> Result<()> {
    if mode == 0 {
        return Ok(());
    }
    Err(malformed("V26", "a mode where there is none", at))
}
