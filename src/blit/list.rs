//! A list as it lies in a document: its header, and any element without looking at the others.

mod elements;
mod header;
mod numbers;

pub(super) use numbers::{bit, float, number, rank, whole};

use super::doc::{Doc, Shape};
use super::layout::{kind, malformed, Back};
use super::lens::Lens;
use crate::Result;
use header::body;
pub(super) use header::{dict, integers, partial};

/// Bytes of the document from the first on, up to the second.
pub(super) type Extent = (usize, usize);

/// A list's header, parsed; `n` is how many elements it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) n: usize,
    pub(super) body: Body<'a>,
    /// The whole list.
    pub(super) at: Extent,
    /// Whether the number of elements was given, not read.
    pub(super) given: bool,
    /// Bytes at the start of the extent that belong to none of its parts.
    pub(super) unused: usize,
}

/// What a list's elements are made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    Empty,
    Generic {
        at: Ranges<'a>,
        tags: &'a [u8],
    },
    Uniform {
        at: Ranges<'a>,
        tag: u8,
    },
    Int {
        numbers: &'a [u8],
        width: usize,
        base: Option<i64>,
    },
    Float {
        numbers: &'a [u8],
        width: usize,
        ints: bool,
    },
    Dec {
        numbers: &'a [u8],
        width: usize,
        e: usize,
        ints: bool,
    },
    Table {
        columns: Ranges<'a>,
        shape: usize,
        keys: Shape<'a>,
    },
    /// Elements are runs of the child's, so many as the lens says.
    Nested {
        child: Extent,
        counts: Lens<'a>,
    },
    Dict {
        unique: Extent,
        codes: &'a [u8],
        width: usize,
    },
    Bitmap {
        bits: &'a [u8],
    },
    Partial {
        child: Extent,
        bits: &'a [u8],
        ranks: &'a [u8],
        width: usize,
        absent: u8,
    },
    Segmented {
        segments: Ranges<'a>,
        size: usize,
    },
    Tuples {
        columns: Ranges<'a>,
    },
}

/// Extents side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranges<'a> {
    pub(super) start: usize,
    pub(super) total: usize,
    pub(super) lens: Lens<'a>,
}

impl Ranges<'_> {
    /// The extent of number `i`.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Result<Extent> {
        let (from, to) = self.lens.range(i, self.total)?;
        // Within an extent, so that nothing can overflow.
        Ok((self.start.wrapping_add(from), self.start.wrapping_add(to)))
    }
}

/// An element: what a tag and an extent say, or what a list of numbers holds itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'a> {
    Stored {
        tag: u8,
        at: Extent,
    },
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A row of a table or of tuples.
    Row {
        of: List<'a>,
        i: usize,
    },
    /// So many elements of a list from one on.
    Run {
        of: List<'a>,
        from: usize,
        n: usize,
    },
}

impl<'a> List<'a> {
    /// The list of an extent; `given` is its number of elements, where it does not say so.
    ///
    /// # Errors
    /// `Malformed`, `Unsupported` for what no list is.
    #[inline]
    pub(super) fn read(doc: &Doc<'a>, at: Extent, given: Option<usize>) -> Result<Self> {
        let (start, end) = at;
        let mut back = Back::new(doc.data, start, end);
        if start >= end {
            return match given {
                None | Some(0) => Ok(Self {
                    n: 0,
                    body: Body::Empty,
                    at,
                    given: given.is_some(),
                    unused: 0,
                }),
                Some(_) => Err(malformed("V18", "an empty list where elements belong", end)),
            };
        }
        let last = back.byte()?;
        let n = match given {
            Some(n) => n,
            None => back.rv()?,
        };
        if n == 0 {
            return Err(malformed(
                "V18",
                "a list of no elements that is not empty",
                back.end,
            ));
        }
        let body = body(doc, &mut back, last & 0xF, last >> 4, n)?;
        let unused = match body {
            Body::Dict { unique, .. } => unique.0.wrapping_sub(start),
            Body::Int { .. } | Body::Float { .. } | Body::Dec { .. } | Body::Bitmap { .. } => {
                back.end.wrapping_sub(start)
            }
            _ => 0,
        };
        Ok(Self {
            n,
            body,
            at,
            given: given.is_some(),
            unused,
        })
    }

    /// Where the list ends, for errors.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.at.1
    }

    /// The number of elements, where the list does not say it.
    #[inline]
    pub(super) fn given(&self) -> Option<usize> {
        self.given.then_some(self.n)
    }

    /// How many columns there are.
    pub(super) fn columns(&self) -> usize {
        match self.body {
            Body::Table { columns, .. } | Body::Tuples { columns } => columns.lens.len(),
            _ => 0,
        }
    }

    /// The shape of a table's rows.
    pub(super) fn shape(&self) -> Option<usize> {
        match self.body {
            Body::Table { shape, .. } => Some(shape),
            _ => None,
        }
    }

    /// Column `j` of a table or of tuples.
    #[inline]
    pub(super) fn column(&self, doc: &Doc<'a>, j: usize) -> Result<Self> {
        match self.body {
            Body::Table { columns, .. } | Body::Tuples { columns } => {
                Self::read(doc, columns.get(j)?, Some(self.n))
            }
            _ => Err(malformed("V23", "columns of what has none", self.end())),
        }
    }

    /// A segment and how many elements it has.
    pub(super) fn segment(
        &self,
        doc: &Doc<'a>,
        segments: Ranges<'a>,
        size: usize,
        which: usize,
    ) -> Result<(List<'a>, usize)> {
        let before = which.saturating_mul(size);
        let n = self.n.saturating_sub(before).min(size);
        let list = List::read(doc, segments.get(which)?, Some(n))?;
        if matches!(list.body, Body::Segmented { .. }) {
            return Err(malformed("V27", "segments inside a segment", list.end()));
        }
        Ok((list, n))
    }

    /// Name of the kind, for people.
    pub(super) fn name(&self) -> &'static str {
        let name = kind::NAMES.get(usize::from(self.kind()));
        name.copied().unwrap_or("EMPTY")
    }

    /// Number of the kind; one that is none where there are no elements.
    pub(super) fn kind(&self) -> u8 {
        match self.body {
            Body::Empty => u8::MAX,
            Body::Generic { .. } => kind::GENERIC,
            Body::Uniform { .. } => kind::UNIFORM,
            Body::Int { .. } => kind::INT,
            Body::Float { .. } => kind::FLOAT,
            Body::Dec { .. } => kind::DEC,
            Body::Table { .. } => kind::TABLE,
            Body::Nested { .. } => kind::NESTED,
            Body::Dict { .. } => kind::DICT,
            Body::Bitmap { .. } => kind::BITMAP,
            Body::Partial { .. } => kind::PARTIAL,
            Body::Segmented { .. } => kind::SEGMENTED,
            Body::Tuples { .. } => kind::TUPLES,
        }
    }
}

/// What is left of an extent, cut by a lens.
#[inline]
pub(super) fn rest<'a>(back: &Back<'a>, lens: Lens<'a>) -> Ranges<'a> {
    Ranges {
        start: back.start,
        total: back.end.wrapping_sub(back.start),
        lens,
    }
}
