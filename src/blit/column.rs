//! One column of an array of objects, as it lies in the document.

use super::doc::Doc;
use super::layout::malformed;
use super::list::{float, Body, List};
use super::make::{Column as Made, Maker, Making};
use super::make_lists::Cursor;
use super::view::ArrayView;
use super::{decimal, layout, list, path};
use crate::{Error, ErrorKind, Result};

/// Most elements that are not bytes of their own: a few bytes can be any number of equal ones.
const MOST: u64 = 1 << 28;

/// Elements of a column that lie together: all, or those of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'v> {
    pub(super) doc: &'v Doc<'v>,
    pub(super) list: List<'v>,
}

/// Numbers side by side, little-endian, which can be used where they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// In two's complement of so many bytes: 1, 2, 4 or 8.
    Int(usize),
    /// Of 4 or 8 bytes.
    Float(usize),
}

/// Numbers of a column, decoded.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Integers.
    Ints(Vec<i64>),
    /// Floats, or floats and integers.
    Floats(Vec<f64>),
    /// Truth values.
    Bools(Vec<bool>),
}

/// Strings that a column has several times.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'v> {
    /// The string of each element: its number, in `width` bytes.
    pub codes: &'v [u8],
    /// Bytes of a code, 1 to 4.
    pub width: usize,
    /// The strings.
    pub texts: Chunk<'v>,
}

impl<'v> ArrayView<'v> {
    /// The column at a way of names through all elements, in pieces; none for the elements
    /// themselves. A number is a place in arrays that are all of one length. None if the elements
    /// lie row by row, or some have none of these names.
    ///
    /// # Errors
    /// `Malformed`.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, ColumnNumbers, Options, Value, View};
    ///
    /// let document = from_json(br#"[{"delay": 2.5}, {"delay": 33.0}]"#, &Options::default())?;
    /// let view = View::open(&document)?;
    /// let Value::Array(rows) = view.root()? else { unreachable!() };
    /// let column = rows.column(&["delay"])?.unwrap();
    /// assert_eq!(Some(ColumnNumbers::Floats(vec![2.5, 33.0])), column[0].numbers()?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn column(&self, names: &[&str]) -> Result<Option<Vec<Chunk<'v>>>> {
        let doc = self.doc;
        if self.row.is_some() || self.from != 0 || self.n != self.list.n {
            return Ok(None);
        }
        let mut lists = vec![self.list];
        for step in 0..=names.len() {
            let mut pieces = Vec::new();
            for list in lists {
                segments(doc, list, &mut pieces)?;
            }
            let Some(name) = names.get(step) else {
                lists = pieces;
                break;
            };
            let id = doc.keys.find(name.as_bytes())?;
            for list in &mut pieces {
                let slot = match (list.shape(), id) {
                    (Some(shape), Some(id)) => doc.shapes.get(shape)?.slot(id),
                    (None, _) => path::index(name).filter(|&j| j < list.columns()),
                    _ => None,
                };
                let Some(slot) = slot else {
                    return Ok(None);
                };
                *list = list.column(doc, slot)?;
            }
            lists = pieces;
        }
        let chunks = lists.into_iter().map(|list| Chunk { doc, list });
        Ok(Some(chunks.collect()))
    }
}

fn segments<'v>(doc: &Doc<'v>, list: List<'v>, out: &mut Vec<List<'v>>) -> Result<()> {
    let Body::Segmented { segments, size } = list.body else {
        out.push(list);
        return Ok(());
    };
    for which in 0..segments.lens.len() {
        out.push(list.segment(doc, segments, size, which)?.0);
    }
    Ok(())
}

impl<'v> Chunk<'v> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.n
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.n == 0
    }

    /// The name of the kind of list.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.list.name()
    }

    /// The names of its columns, where its elements are objects in columns.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn names(&self) -> Result<Option<Vec<usize>>> {
        let Some(shape) = self.list.shape() else {
            return Ok(None);
        };
        let shape = self.doc.shapes.get(shape)?;
        let n = shape.len().min(self.list.columns());
        Ok(Some((0..n).map(|slot| shape.id(slot)).collect()))
    }

    /// What the numbers are, and their bytes; None unless they can be used where they lie.
    #[must_use]
    pub fn packed(&self) -> Option<(Packed, &'v [u8])> {
        match self.list.body {
            Body::Int {
                numbers,
                width: width @ (1 | 2 | 4 | 8),
                base: None,
            } => Some((Packed::Int(width), numbers)),
            Body::Float { numbers, width, .. } => Some((Packed::Float(width), numbers)),
            _ => None,
        }
    }

    /// All numbers or truth values; None if it has anything else.
    ///
    /// # Errors
    /// `Malformed`; `Limit` for more than 2^28 that are all the same.
    pub fn numbers(&self) -> Result<Option<Numbers>> {
        Ok(Some(match self.list.body {
            Body::Int {
                numbers,
                width,
                base,
            } => {
                let each = numbers.chunks_exact(width.max(1));
                Numbers::Ints(match base {
                    None => each.map(layout::int).collect(),
                    Some(base) => each
                        .map(|bytes| base.wrapping_add_unsigned(layout::uint(bytes)))
                        .collect(),
                })
            }
            Body::Float { numbers, width, .. } => {
                Numbers::Floats(numbers.chunks_exact(width.max(1)).map(float).collect())
            }
            Body::Dec {
                numbers, width, e, ..
            } => {
                let each = numbers.chunks_exact(width.max(1));
                let value = |bytes| decimal::float(layout::int(bytes), e);
                Numbers::Floats(each.map(value).collect())
            }
            Body::Bitmap { bits } => {
                Numbers::Bools((0..self.list.n).map(|i| list::bit(bits, i)).collect())
            }
            Body::Uniform { at, tag } if at.total == 0 => return self.constant(tag),
            _ => return Ok(None),
        }))
    }

    /// The numbers of a column whose tag is the value of all; None if that is none.
    fn constant(&self, tag: u8) -> Result<Option<Numbers>> {
        let n = self.list.n;
        let fill = || {
            if n as u64 > MOST {
                let text = "more than 2^28 equal numbers in a column";
                return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
            }
            Ok(n)
        };
        Ok(match (layout::tag::integer(tag), tag) {
            (Some(value), _) => Some(Numbers::Ints(vec![value; fill()?])),
            (None, layout::tag::FALSE | layout::tag::TRUE) => {
                Some(Numbers::Bools(vec![tag == layout::tag::TRUE; fill()?]))
            }
            _ => None,
        })
    }

    /// Which elements there are, and those: a bit for each, from the low end of a byte. None of a
    /// column without gaps.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn present(&self) -> Result<Option<(&'v [u8], Self)>> {
        let Body::Partial { child, bits, .. } = self.list.body else {
            return Ok(None);
        };
        let list = List::read(self.doc, child, None)?;
        let there: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        // Bits behind the last element would count here, and nowhere else.
        let used = self.list.n % 8;
        let end = bits.last().copied().unwrap_or(0);
        if there != list.n as u64 || (used > 0 && end >> used > 0) {
            let text = "more or fewer elements than bits that are set";
            return Err(malformed("V26", text, self.list.end()));
        }
        let doc = self.doc;
        Ok(Some((bits, Self { doc, list })))
    }

    /// Strings and their codes, where each is stored once.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn codes(&self) -> Result<Option<Codes<'v>>> {
        let Body::Dict {
            unique,
            codes,
            width,
        } = self.list.body
        else {
            return Ok(None);
        };
        let list = List::read(self.doc, unique, None)?;
        let doc = self.doc;
        Ok(Some(Codes {
            codes,
            width,
            texts: Self { doc, list },
        }))
    }

    /// The text of all strings side by side, which is not checked to be UTF-8, and where each
    /// ends; None if it has anything else than strings.
    ///
    /// # Errors
    /// `Malformed`; `Limit` for more than 2^28.
    pub fn texts(&self) -> Result<Option<(&'v [u8], Vec<usize>)>> {
        let Body::Uniform { at, tag } = self.list.body else {
            return Ok(None);
        };
        if !matches!(
            tag,
            layout::tag::CLEAN | layout::tag::STR | layout::tag::ASCII
        ) {
            return Ok(None);
        }
        if self.list.n as u64 > MOST {
            let text = "more than 2^28 strings in a column";
            return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
        }
        let mut ends = Vec::new();
        for range in at.lens.lengths(at.total) {
            ends.push(range?.1);
        }
        let end = at.start.saturating_add(at.total);
        Ok(Some((self.doc.bytes((at.start, end))?, ends)))
    }

    /// Makes all elements, and what is in them.
    ///
    /// # Errors
    /// Those of the maker; `Limit`; `Malformed`.
    pub fn make<M: Maker>(&self, maker: &mut M, elements: u64) -> Result<Made<M::Made>> {
        let mut making = Making::new(self.doc, maker, elements);
        making.count(self.list.n)?;
        let mut out = Made::new();
        Cursor::new(&mut making, &self.list)?.fill(&mut making, self.list.n, &mut out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blit::{from_json, Options, Value, View};

    /// The column `x` of rows that have these values.
    fn numbers(values: &[&str]) -> Option<Numbers> {
        let rows: Vec<_> = values
            .iter()
            .map(|x| format!(r#"{{"x":{x},"y":[]}}"#))
            .collect();
        let json = format!("[{}]", rows.join(","));
        let document = from_json(json.as_bytes(), &Options::default()).unwrap();
        let view = View::open(&document).unwrap();
        let Value::Array(rows) = view.root().unwrap() else {
            panic!("{json}");
        };
        let column = rows.column(&["x"]).unwrap().unwrap();
        column[0].numbers().unwrap()
    }

    #[test]
    fn equal_numbers_are_numbers() {
        let ints = |x| Some(Numbers::Ints(vec![x; 9]));
        assert_eq!(ints(-32), numbers(&["-32"; 9]));
        assert_eq!(ints(95), numbers(&["95"; 9]));
        assert_eq!(ints(96), numbers(&["96"; 9]));
        let bools = |x| Some(Numbers::Bools(vec![x; 9]));
        assert_eq!(bools(true), numbers(&["true"; 9]));
        assert_eq!(bools(false), numbers(&["false"; 9]));
        for others in ["null", "\"\"", "[]", "{}"] {
            assert_eq!(None, numbers(&[others; 9]), "{others}");
        }
    }
}
