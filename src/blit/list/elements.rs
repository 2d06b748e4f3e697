//! One element of a list.

use super::numbers::{bit, float, number, rank, whole};
use super::{Body, Item, List};
use crate::blit::decimal;
use crate::blit::doc::Doc;
use crate::blit::layout::{broken, int, malformed, tag, uint};
use crate::{ErrorKind, Result};

impl<'a> List<'a> {
    /// Element `i`.
    ///
    /// # Errors
    /// `Malformed` where the list is not what it says; `NotFound` from `n` on.
    #[inline]
    pub(in crate::blit) fn get(&self, doc: &Doc<'a>, i: usize) -> Result<Item<'a>> {
        if i >= self.n {
            return Err(broken(
                ErrorKind::NotFound,
                "-",
                "no such element",
                self.end(),
            ));
        }
        match self.body {
            Body::Generic { at, tags } => {
                let tag = tags.get(i).copied().unwrap_or(tag::NULL);
                Ok(Item::Stored {
                    tag,
                    at: at.get(i)?,
                })
            }
            Body::Uniform { at, tag } => Ok(Item::Stored {
                tag,
                at: at.get(i)?,
            }),
            Body::Table { .. } | Body::Tuples { .. } => Ok(Item::Row { of: *self, i }),
            Body::Nested { child, counts } => {
                let of = List::read(doc, child, None)?;
                let (from, to) = counts.range(i, of.n)?;
                Ok(Item::Run {
                    of,
                    from,
                    n: to.wrapping_sub(from),
                })
            }
            Body::Dict { .. } | Body::Partial { .. } | Body::Segmented { .. } => self.inner(doc, i),
            _ => Ok(self.packed(i).unwrap_or(Item::Bool(false))),
        }
    }

    /// Element `i` of a list whose elements lie in another one; in a loop, because damage can put
    /// any number of such lists into each other.
    fn inner(&self, doc: &Doc<'a>, i: usize) -> Result<Item<'a>> {
        let (mut list, mut i) = (*self, i);
        loop {
            let rule = match list.body {
                Body::Dict {
                    unique,
                    codes,
                    width,
                } => {
                    let code = number(codes, i, width).and_then(|code| usize::try_from(code).ok());
                    list = List::read(doc, unique, None)?;
                    i = code.unwrap_or(usize::MAX);
                    "V25"
                }
                Body::Partial {
                    child,
                    bits,
                    ranks,
                    width,
                    absent,
                } => {
                    if !bit(bits, i) {
                        return Ok(Item::Stored {
                            tag: absent,
                            at: (list.end(), list.end()),
                        });
                    }
                    list = List::read(doc, child, None)?;
                    i = rank(bits, ranks, width, i);
                    "V26"
                }
                Body::Segmented { segments, size } => {
                    let size = size.max(1);
                    list = list.segment(doc, segments, size, i / size)?.0;
                    i %= size;
                    "V27"
                }
                _ => return list.get(doc, i),
            };
            if i >= list.n {
                let text = "an element that leads to one that is not there";
                return Err(malformed(rule, text, list.end()));
            }
        }
    }

    /// Element `i` of a list of numbers or bools.
    #[inline]
    pub(in crate::blit) fn packed(&self, i: usize) -> Option<Item<'a>> {
        match self.body {
            Body::Int {
                numbers,
                width,
                base,
            } => {
                let from = i.checked_mul(width)?;
                let bytes = numbers.get(from..from.checked_add(width)?)?;
                Some(Item::Int(match base {
                    None => int(bytes),
                    // Width 7 at most, so that it is below 2^56.
                    Some(base) => base.wrapping_add_unsigned(uint(bytes)),
                }))
            }
            Body::Float {
                numbers,
                width,
                ints,
            } => {
                let from = i.checked_mul(width)?;
                let bytes = numbers.get(from..from.checked_add(width)?)?;
                Some(whole_or(float(bytes), ints))
            }
            Body::Dec {
                numbers,
                width,
                e,
                ints,
            } => {
                let from = i.checked_mul(width)?;
                let bytes = numbers.get(from..from.checked_add(width)?)?;
                Some(whole_or(decimal::float(int(bytes), e), ints))
            }
            Body::Bitmap { bits } => Some(Item::Bool(bit(bits, i))),
            _ => None,
        }
    }
}

/// A float, or the integer it was where both were mixed.
#[inline]
fn whole_or<'a>(x: f64, ints: bool) -> Item<'a> {
    match whole(x).filter(|_| ints) {
        Some(value) => Item::Int(value),
        None => Item::Float(x),
    }
}
