//! A list read from its first element to its last, many at a time.

use std::rc::Rc;

use super::decimal;
use super::layout::{int, malformed, tag, uint};
use super::lens::Lengths;
use super::list::{bit, float, number, Body, Item, List};
use super::make::{Column, Maker, Making};
use crate::Result;

/// Rows that are made at a time: their cells are in the caches when the row is made.
const BLOCK: usize = 256;

pub(super) enum Cursor<'v, M: Maker> {
    /// Extents, with one tag or one each.
    Extents {
        start: usize,
        ranges: Lengths<'v>,
        tag: u8,
        tags: &'v [u8],
        i: usize,
    },
    Packed {
        list: List<'v>,
        i: usize,
    },
    /// Columns; with names where rows are objects.
    Columns {
        columns: Vec<Self>,
        names: Option<Rc<[usize]>>,
        end: usize,
    },
    Nested {
        child: Box<Self>,
        counts: Lengths<'v>,
        end: usize,
    },
    /// Strings that were made, and the number of each element's.
    Codes {
        made: Column<M::Made>,
        codes: &'v [u8],
        width: usize,
        i: usize,
        end: usize,
    },
    Partial {
        child: Box<Self>,
        bits: &'v [u8],
        absent: u8,
        i: usize,
        end: usize,
    },
    Segments {
        list: List<'v>,
        which: usize,
        current: Option<Box<Self>>,
        left: usize,
    },
}

impl<'v, M: Maker> Cursor<'v, M> {
    pub(super) fn new(making: &mut Making<'_, 'v, M>, list: &List<'v>) -> Result<Self> {
        making.deeper(list.end())?;
        let cursor = Self::of(making, list);
        making.shallower();
        cursor
    }

    fn of(making: &mut Making<'_, 'v, M>, list: &List<'v>) -> Result<Self> {
        let doc = making.doc;
        let end = list.end();
        Ok(match list.body {
            Body::Generic { at, tags } => Self::Extents {
                start: at.start,
                ranges: at.lens.lengths(at.total),
                tag: tag::NULL,
                tags,
                i: 0,
            },
            Body::Uniform { at, tag } => Self::Extents {
                start: at.start,
                ranges: at.lens.lengths(at.total),
                tag,
                tags: &[],
                i: 0,
            },
            Body::Table { .. } | Body::Tuples { .. } => {
                let names = list.shape().map(|shape| making.names_of(shape));
                let mut columns = Vec::new();
                for j in 0..list.columns() {
                    columns.push(Self::new(making, &list.column(doc, j)?)?);
                }
                Self::Columns {
                    columns,
                    names: names.transpose()?,
                    end,
                }
            }
            Body::Nested { child, counts } => {
                let child = List::read(doc, child, None)?;
                let counts = counts.lengths(child.n);
                Self::Nested {
                    child: Box::new(Self::new(making, &child)?),
                    counts,
                    end,
                }
            }
            Body::Dict {
                unique,
                codes,
                width,
            } => {
                let unique = List::read(doc, unique, None)?;
                let Body::Uniform { at, tag } = unique.body else {
                    return Err(malformed(
                        "V25",
                        "a dictionary that is no list of strings",
                        end,
                    ));
                };
                if !matches!(tag, tag::CLEAN | tag::STR | tag::ASCII) {
                    return Err(malformed(
                        "V25",
                        "a dictionary that is no list of strings",
                        end,
                    ));
                }
                // Different strings: only one of them has no bytes.
                if unique.n > at.total.saturating_add(1) {
                    return Err(malformed("V25", "a dictionary with a string twice", end));
                }
                let mut made = Column::new();
                Self::new(making, &unique)?.fill(making, unique.n, &mut made)?;
                Self::Codes {
                    made,
                    codes,
                    width,
                    i: 0,
                    end,
                }
            }
            Body::Partial {
                child,
                bits,
                absent,
                ..
            } => {
                let child = List::read(doc, child, None)?;
                Self::Partial {
                    child: Box::new(Self::new(making, &child)?),
                    bits,
                    absent,
                    i: 0,
                    end,
                }
            }
            Body::Segmented { .. } => Self::Segments {
                list: *list,
                which: 0,
                current: None,
                left: 0,
            },
            _ => Self::Packed { list: *list, i: 0 },
        })
    }

    /// Makes the next `n` elements, which were counted.
    pub(super) fn fill(
        &mut self,
        making: &mut Making<'_, 'v, M>,
        n: usize,
        out: &mut Column<M::Made>,
    ) -> Result<()> {
        match self {
            Self::Extents {
                start,
                ranges,
                tag,
                tags,
                i,
            } => {
                for _ in 0..n {
                    let Some(range) = ranges.next() else {
                        return Err(short(*start));
                    };
                    let (from, to) = range?;
                    let tag = tags.get(*i).copied().unwrap_or(*tag);
                    *i = i.wrapping_add(1);
                    let at = (start.wrapping_add(from), start.wrapping_add(to));
                    out.push(making.value(tag, at)?);
                }
            }
            Self::Packed { list, i } => {
                packed(making.maker, list, *i, n, out)?;
                *i = i.wrapping_add(n);
            }
            Self::Columns {
                columns,
                names,
                end,
            } => return rows(making, columns, names.as_deref(), *end, (n, out)),
            Self::Nested { child, counts, end } => {
                return runs(making, child, counts, *end, (n, out))
            }
            Self::Codes {
                made,
                codes,
                width,
                i,
                end,
            } => {
                let codes = (*i..i.saturating_add(n)).map(|i| number(codes, i, *width));
                *i = i.saturating_add(n);
                return coded(making.maker, made, codes, *end, out);
            }
            Self::Partial {
                child,
                bits,
                absent,
                i,
                end,
            } => {
                let places = *i..i.saturating_add(n);
                *i = places.end;
                let there = places.clone().filter(|&i| bit(bits, i)).count();
                let mut items = making.column();
                making.deeper(*end)?;
                child.fill(making, there, &mut items)?;
                making.shallower();
                let mut left = items.drain(..);
                for i in places {
                    out.push(if bit(bits, i) {
                        left.next().flatten()
                    } else if *absent == tag::ABSENT {
                        None
                    } else {
                        Some(making.maker.null()?)
                    });
                }
                drop(left);
                making.free(items);
            }
            Self::Segments {
                list,
                which,
                current,
                left,
            } => {
                let mut wanted = n;
                making.deeper(list.end())?;
                while wanted > 0 {
                    if *left == 0 {
                        let Body::Segmented { segments, size } = list.body else {
                            return Err(short(list.end()));
                        };
                        let (segment, n) = list.segment(making.doc, segments, size, *which)?;
                        *current = Some(Box::new(Self::new(making, &segment)?));
                        *which = which.wrapping_add(1);
                        *left = n;
                    }
                    let now = wanted.min(*left);
                    match current {
                        Some(current) if now > 0 => current.fill(making, now, out)?,
                        _ => return Err(short(list.end())),
                    }
                    *left = left.wrapping_sub(now);
                    wanted = wanted.wrapping_sub(now);
                }
                making.shallower();
            }
        }
        Ok(())
    }
}

/// Strings by their numbers in a dictionary.
fn coded<M: Maker>(
    maker: &mut M,
    made: &Column<M::Made>,
    codes: impl Iterator<Item = Option<u64>>,
    end: usize,
    out: &mut Column<M::Made>,
) -> Result<()> {
    for code in codes {
        let code = code.and_then(|code| usize::try_from(code).ok());
        let Some(Some(made)) = code.and_then(|code| made.get(code)) else {
            return Err(malformed(
                "V25",
                "a code that is not in its dictionary",
                end,
            ));
        };
        out.push(Some(maker.again(made)));
    }
    Ok(())
}

/// Rows of columns, a block at a time.
fn rows<'v, M: Maker>(
    making: &mut Making<'_, 'v, M>,
    columns: &mut [Cursor<'v, M>],
    names: Option<&[usize]>,
    end: usize,
    (n, out): (usize, &mut Column<M::Made>),
) -> Result<()> {
    making.enter(end)?;
    let mut cells: Vec<Column<M::Made>> = columns.iter().map(|_| making.column()).collect();
    let mut left = n;
    while left > 0 {
        let now = left.min(BLOCK);
        making.count(now.saturating_mul(columns.len()))?;
        for (column, cells) in columns.iter_mut().zip(&mut cells) {
            column.fill(making, now, cells)?;
        }
        match names {
            Some(names) => making.maker.rows(names, &mut cells, now, out)?,
            None => tuples(making.maker, &mut cells, now, end, out)?,
        }
        left = left.wrapping_sub(now);
    }
    for cells in cells {
        making.free(cells);
    }
    making.leave();
    Ok(())
}

/// Arrays that all have an element of each column.
fn tuples<M: Maker>(
    maker: &mut M,
    cells: &mut [Column<M::Made>],
    n: usize,
    end: usize,
    out: &mut Column<M::Made>,
) -> Result<()> {
    let absent = || malformed("V28", "an absent value outside a column", end);
    if cells.iter().flatten().any(Option::is_none) {
        return Err(absent());
    }
    let k = cells.len();
    let mut columns: Vec<_> = cells.iter_mut().map(|cells| cells.drain(..)).collect();
    for _ in 0..n {
        let row = columns
            .iter_mut()
            .filter_map(|column| column.next().flatten());
        out.push(Some(maker.array(k, row)?));
    }
    Ok(())
}

/// Arrays of runs of a list, of which some hundred elements are made at a time.
fn runs<'v, M: Maker>(
    making: &mut Making<'_, 'v, M>,
    child: &mut Cursor<'v, M>,
    counts: &mut Lengths<'v>,
    end: usize,
    (n, out): (usize, &mut Column<M::Made>),
) -> Result<()> {
    making.enter(end)?;
    let mut items = making.column();
    let mut lengths: Vec<usize> = Vec::new();
    let mut left = n;
    while left > 0 {
        let mut sum = 0_usize;
        while left > 0 && sum < BLOCK {
            let Some(range) = counts.next() else {
                return Err(malformed(
                    "V24",
                    "counts of other elements than there are",
                    end,
                ));
            };
            let (from, to) = range?;
            lengths.push(to.wrapping_sub(from));
            sum = sum.saturating_add(to.wrapping_sub(from));
            left = left.wrapping_sub(1);
        }
        making.count(sum)?;
        child.fill(making, sum, &mut items)?;
        if items.iter().any(Option::is_none) {
            return Err(malformed("V28", "an absent value outside a column", end));
        }
        let mut all = items.drain(..).flatten();
        for length in lengths.drain(..) {
            out.push(Some(making.maker.array(length, all.by_ref().take(length))?));
        }
    }
    making.free(items);
    making.leave();
    Ok(())
}

/// Numbers and bools from one on.
fn packed<M: Maker>(
    maker: &mut M,
    list: &List<'_>,
    i: usize,
    n: usize,
    out: &mut Column<M::Made>,
) -> Result<()> {
    let part = |numbers: &'_ [u8], width: usize| -> Option<(usize, usize)> {
        let from = i.checked_mul(width)?;
        let to = from.checked_add(n.checked_mul(width)?)?;
        (to <= numbers.len()).then_some((from, to))
    };
    let missing = || short(list.end());
    match list.body {
        Body::Int {
            numbers,
            width,
            base,
        } => {
            let (from, to) = part(numbers, width).ok_or_else(missing)?;
            let part = numbers.get(from..to).unwrap_or_default();
            for bytes in part.chunks_exact(width.max(1)) {
                let value = match base {
                    None => int(bytes),
                    // Width 7 at most, so that it is below 2^56.
                    Some(base) => base.wrapping_add_unsigned(uint(bytes)),
                };
                out.push(Some(maker.int(value)?));
            }
        }
        Body::Float {
            numbers,
            width,
            ints: false,
        } => {
            let (from, to) = part(numbers, width).ok_or_else(missing)?;
            let part = numbers.get(from..to).unwrap_or_default();
            for bytes in part.chunks_exact(width.max(1)) {
                out.push(Some(maker.float(float(bytes))?));
            }
        }
        Body::Dec {
            numbers,
            width,
            e,
            ints: false,
        } => {
            let (from, to) = part(numbers, width).ok_or_else(missing)?;
            let part = numbers.get(from..to).unwrap_or_default();
            for bytes in part.chunks_exact(width.max(1)) {
                out.push(Some(maker.float(decimal::float(int(bytes), e))?));
            }
        }
        _ => {
            for i in i..i.saturating_add(n) {
                out.push(Some(match list.packed(i) {
                    Some(Item::Int(value)) => maker.int(value)?,
                    Some(Item::Float(value)) => maker.float(value)?,
                    Some(Item::Bool(value)) => maker.bool(value)?,
                    _ => return Err(missing()),
                }));
            }
        }
    }
    Ok(())
}

#[cold]
fn short(at: usize) -> crate::Error {
    malformed("V18", "a list shorter than it says", at)
}
