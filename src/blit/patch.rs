//! A value replaced where it lies, by one that takes the same bytes.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::decimal::is_f32;
use super::doc::Doc;
use super::edit::steps::{index, steps};
use super::layout::{flag, signed_width, tag, Back};
use super::list::{bit, rank, Body, Extent, Item, List};
use super::{strings, validate, Value};
use crate::{Error, ErrorKind, Result};

/// Replaces the value at an RFC 6901 pointer in place: no other value moves.
///
/// What can be patched, by what takes its place:
/// - a number of a list of integers without a base, by an integer of its width;
/// - a number of a list of floats, by a float that its width holds exactly, or by an integer where
///   the list has both;
/// - a number with bytes of its own, by one of as many bytes; which kind of number it is can
///   change only in a list that has a tag for each element;
/// - null, a bool or an integer from -32 to 95 in such a list, by another of those;
/// - a bool of a list of bools;
/// - a string, by one of as many bytes that needs no more care when it is written back; not where
///   many share it.
///
/// `Layout::Rows` writes more values so. The checksum is looked at before and made anew, and the
/// document is no longer marked canonical. On an error nothing was changed.
///
/// # Errors
/// `NotPatchable` for all others; `NotFound` for what is not there; `Usage` for a pointer that is
/// none; `ChecksumMismatch`, `Malformed` for a document that is damaged.
///
/// # Example
/// ```
/// use tare::blit::{from_json, patch, Options, Value, View};
/// use tare::ErrorKind;
///
/// let mut document = from_json(br#"{"to": "LHR", "delays": [5, 90]}"#, &Options::default())?;
/// patch(&mut document, "/delays/1", &Value::Int(-7))?;
/// patch(&mut document, "/to", &Value::Str("JFK".into()))?;
/// assert!(matches!(View::open(&document)?.pointer("/delays/1")?, Some(Value::Int(-7))));
///
/// let error = patch(&mut document, "/delays/1", &Value::Int(1000)).unwrap_err();
/// assert_eq!(ErrorKind::NotPatchable, error.kind());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn patch(document: &mut [u8], pointer: impl AsRef<[u8]>, value: &Value<'_>) -> Result<()> {
    let pointer = pointer.as_ref();
    let doc = Doc::open(document)?;
    validate::checksum(&doc)?;
    let spot = find(&doc, pointer)?;
    let change = spot.change(&doc, value).map_err(|why| {
        let pointer = String::from_utf8_lossy(pointer);
        let text = format!("the value at {pointer:?} cannot be replaced in place: {why}");
        Error::new(ErrorKind::NotPatchable, text).with_format("blit")
    })?;
    let (trailer, flags) = (doc.trailer, doc.flags);
    change.make(document);
    // Behind the flags are the version, the trailer's length and the end magic.
    if let Some(place) = document
        .len()
        .checked_sub(5)
        .and_then(|at| document.get_mut(at))
    {
        *place = flags & !flag::CANONICAL;
    }
    if flags & flag::CHECKSUM != 0 {
        let sum = validate::sum(document, trailer).to_le_bytes();
        if let Some(place) = document.get_mut(trailer..trailer.saturating_add(sum.len())) {
            place.copy_from_slice(&sum);
        }
    }
    Ok(())
}

/// What a value's bytes are.
enum Spot<'a> {
    /// An extent, its tag, and where the tag lies, if it is this value's alone.
    Stored {
        tag: u8,
        at: Extent,
        own: Option<usize>,
    },
    Int {
        from: usize,
        width: usize,
    },
    Float {
        from: usize,
        width: usize,
        ints: bool,
    },
    Bit {
        from: usize,
        bit: usize,
    },
    /// A row or a run, which holds other values.
    Inside(Item<'a>),
    /// None of its own.
    Without(&'static str),
}

/// What is written where.
struct Change<'s> {
    tag: Option<(usize, u8)>,
    from: usize,
    bytes: Bytes<'s>,
}

enum Bytes<'s> {
    /// So many of a number's bytes.
    Number([u8; 8], usize),
    Text(&'s str),
}

impl Change<'_> {
    fn make(&self, document: &mut [u8]) {
        if let Some((at, tag)) = self.tag {
            if let Some(place) = document.get_mut(at) {
                *place = tag;
            }
        }
        let bytes = match &self.bytes {
            Bytes::Number(bytes, width) => bytes.get(..*width).unwrap_or_default(),
            Bytes::Text(text) => text.as_bytes(),
        };
        let to = self.from.saturating_add(bytes.len());
        if let Some(place) = document.get_mut(self.from..to) {
            place.copy_from_slice(bytes);
        }
    }
}

/// The bytes of the value at a pointer.
fn find<'a>(doc: &Doc<'a>, pointer: &[u8]) -> Result<Spot<'a>> {
    let mut spot = match doc.root.as_stored() {
        Some((tag, at)) => Spot::Stored { tag, at, own: None },
        None => Spot::Inside(doc.root.item(doc)?),
    };
    for step in steps(pointer)? {
        let Some((list, i)) = inside(doc, &spot, &step)? else {
            return Err(missing(pointer));
        };
        spot = cell(doc, list, i)?;
        if let Spot::Stored {
            tag: tag::ABSENT, ..
        } = spot
        {
            return Err(missing(pointer));
        }
    }
    Ok(spot)
}

fn missing(pointer: &[u8]) -> Error {
    let pointer = String::from_utf8_lossy(pointer);
    let text = format!("there is no value at {pointer:?}");
    Error::new(ErrorKind::NotFound, text).with_format("blit")
}

/// The list and the element that a step leads to; None if there is none.
fn inside<'a>(doc: &Doc<'a>, spot: &Spot<'a>, step: &[u8]) -> Result<Option<(List<'a>, usize)>> {
    let id = || doc.keys.find(step);
    let index = |n: usize| index(step).filter(|&i| i < n);
    Ok(match spot {
        Spot::Stored {
            tag: tag::ARRAY,
            at,
            ..
        } => {
            let list = List::read(doc, *at, None)?;
            index(list.n).map(|i| (list, i))
        }
        Spot::Stored {
            tag: tag::OBJECT,
            at,
            ..
        } if at.0 < at.1 => {
            let mut back = Back::new(doc.data, at.0, at.1);
            let shape = doc.shapes.get(back.rv()?)?;
            let list = List::read(doc, (at.0, back.end), Some(shape.len()))?;
            id()?.and_then(|id| shape.slot(id)).map(|slot| (list, slot))
        }
        Spot::Inside(Item::Run { of, from, n }) => index(*n).map(|i| (*of, from.saturating_add(i))),
        Spot::Inside(Item::Row { of, i }) => {
            let column = match of.body {
                Body::Table { shape, .. } => {
                    let shape = doc.shapes.get(shape)?;
                    id()?.and_then(|id| shape.slot(id))
                }
                _ => index(of.columns()),
            };
            match column {
                Some(column) => Some((of.column(doc, column)?, *i)),
                None => None,
            }
        }
        _ => None,
    })
}

/// The bytes of an element.
fn cell<'a>(doc: &Doc<'a>, list: List<'a>, i: usize) -> Result<Spot<'a>> {
    let (mut list, mut i) = (list, i);
    loop {
        // Where the numbers of a list of numbers begin, if it is one.
        let start = list.at.0.saturating_add(list.unused);
        let number = |width: usize| start.saturating_add(i.saturating_mul(width));
        return Ok(match list.body {
            Body::Int {
                width, base: None, ..
            } => Spot::Int {
                from: number(width),
                width,
            },
            Body::Float { width, ints, .. } => Spot::Float {
                from: number(width),
                width,
                ints,
            },
            Body::Bitmap { .. } => Spot::Bit {
                from: start.saturating_add(i / 8),
                bit: i % 8,
            },
            Body::Int { .. } => Spot::Without("its list counts from a base"),
            Body::Dec { .. } => Spot::Without("its list is one of decimals"),
            Body::Dict { .. } => Spot::Without("its string is shared by a dictionary"),
            Body::Generic { at, tags } => {
                let own = at
                    .lens
                    .start
                    .checked_sub(list.n)
                    .map(|tags| tags.saturating_add(i));
                let tag = tags.get(i).copied().unwrap_or(tag::NULL);
                Spot::Stored {
                    tag,
                    at: at.get(i)?,
                    own,
                }
            }
            Body::Partial {
                child,
                bits,
                ranks,
                width,
                absent,
            } => {
                if !bit(bits, i) {
                    if absent == tag::ABSENT {
                        let at = (list.end(), list.end());
                        return Ok(Spot::Stored {
                            tag: absent,
                            at,
                            own: None,
                        });
                    }
                    return Ok(Spot::Without("it is a gap of its list"));
                }
                list = List::read(doc, child, None)?;
                i = rank(bits, ranks, width, i);
                continue;
            }
            Body::Segmented { segments, size } => {
                let which = i.checked_div(size).unwrap_or(0);
                list = list.segment(doc, segments, size, which)?.0;
                i = i.checked_rem(size).unwrap_or(0);
                continue;
            }
            _ => match list.get(doc, i)? {
                Item::Stored { tag, at } => Spot::Stored { tag, at, own: None },
                other => Spot::Inside(other),
            },
        });
    }
}

impl Spot<'_> {
    /// What makes these bytes those of `value`, or why there is nothing that does.
    fn change<'s>(
        &self,
        doc: &Doc<'_>,
        value: &'s Value<'_>,
    ) -> std::result::Result<Change<'s>, &'static str> {
        const OTHER: &str = "the new one is of another kind or length";
        match (self, value) {
            (Self::Without(why), _) => Err(why),
            (Self::Inside(_), _) => Err("it holds others"),
            (Self::Stored { tag, at, own }, value) => stored(*tag, *at, *own, value),
            (Self::Int { from, width }, value) => {
                let value = signed(value).filter(|&value| signed_width(value) <= *width);
                let value = value.ok_or(OTHER)?;
                Ok(number(*from, value.to_le_bytes(), *width))
            }
            (Self::Float { from, width, ints }, value) => {
                let value = among_floats(value, *ints).ok_or(OTHER)?;
                floating(*from, value, *width).ok_or(OTHER)
            }
            (Self::Bit { from, bit }, Value::Bool(value)) => {
                let byte = doc.data.get(*from).copied().unwrap_or(0);
                let mask = 1_u8 << (*bit & 7);
                let byte = if *value { byte | mask } else { byte & !mask };
                Ok(number(*from, [byte, 0, 0, 0, 0, 0, 0, 0], 1))
            }
            (Self::Bit { .. }, _) => Err(OTHER),
        }
    }
}

fn number<'s>(from: usize, bytes: [u8; 8], width: usize) -> Change<'s> {
    Change {
        tag: None,
        from,
        bytes: Bytes::Number(bytes, width),
    }
}

/// A float in 4 or 8 bytes; None if it is not the same in 4.
fn floating<'s>(from: usize, value: f64, width: usize) -> Option<Change<'s>> {
    // As the writer has it: which NaN it is carries no meaning.
    let value = if value.is_nan() { f64::NAN } else { value };
    match width {
        8 => Some(number(from, value.to_le_bytes(), 8)),
        4 if is_f32(value) => {
            #[allow(clippy::cast_possible_truncation, reason = "tried")]
            let [a, b, c, d] = (value as f32).to_le_bytes();
            Some(number(from, [a, b, c, d, 0, 0, 0, 0], 4))
        }
        _ => None,
    }
}

/// An integer that is not above 2^63 - 1.
fn signed(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::Uint(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// What a list of floats holds for a value; one that has integers too keeps them apart.
fn among_floats(value: &Value<'_>, ints: bool) -> Option<f64> {
    match (value, signed(value)) {
        (Value::Float(value), _) => (!ints || value.fract() != 0.0).then_some(*value),
        (_, Some(value)) if ints && value.unsigned_abs() <= 1 << 53 =>
        {
            #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
            Some(value as f64)
        }
        _ => None,
    }
}

/// A value with an extent and a tag.
fn stored<'s>(
    old: u8,
    at: Extent,
    own: Option<usize>,
    value: &'s Value<'_>,
) -> std::result::Result<Change<'s>, &'static str> {
    let length = at.1.saturating_sub(at.0);
    if let Value::Str(text) = value {
        return match old {
            tag::POOLED => Err("its string is shared by the pool"),
            tag::LZ4 => Err("its string is compressed"),
            tag::CLEAN | tag::STR | tag::ASCII => {
                let tag = strings::tag_of(text.as_bytes());
                if text.len() != length {
                    Err("the new string has another length")
                } else if strings::weaker(tag, old) == old {
                    Ok(Change {
                        tag: None,
                        from: at.0,
                        bytes: Bytes::Text(text),
                    })
                } else {
                    Err("the new string has characters that its tag excludes")
                }
            }
            _ => Err("the new one is of another kind"),
        };
    }
    let bare = |tag: u8| matches!(tag, tag::NULL | tag::FALSE | tag::TRUE | tag::SMALL..);
    let is_number = matches!(old, tag::INT | tag::UINT | tag::F64 | tag::F32);
    let (new, change) = match value {
        _ if bare(old) => {
            let new = match value {
                Value::Null => Some(tag::NULL),
                Value::Bool(false) => Some(tag::FALSE),
                Value::Bool(true) => Some(tag::TRUE),
                value => signed(value).and_then(tag::small),
            };
            (new, Some(number(at.0, [0; 8], 0)))
        }
        Value::Float(value) if is_number => {
            let tag = if length == 4 { tag::F32 } else { tag::F64 };
            (Some(tag), floating(at.0, *value, length))
        }
        Value::Int(_) | Value::Uint(_) if is_number => match (signed(value), value) {
            (Some(value), _) => {
                let fits = signed_width(value) <= length;
                (
                    Some(tag::INT),
                    fits.then(|| number(at.0, value.to_le_bytes(), length)),
                )
            }
            (None, Value::Uint(value)) if length == 8 => {
                (Some(tag::UINT), Some(number(at.0, value.to_le_bytes(), 8)))
            }
            _ => (None, None),
        },
        _ => (None, None),
    };
    match (new, change, own) {
        (Some(new), Some(change), _) if new == old => Ok(change),
        (Some(new), Some(change), Some(own)) => Ok(Change {
            tag: Some((own, new)),
            ..change
        }),
        (Some(_), Some(_), None) => Err("its list has one tag for all"),
        _ => Err("the new one is of another kind or length"),
    }
}
