//! Deferred vectors (ALTREP) of base R: their type, length and values, made when asked for.
//!
//! Layouts: the states that `serialize` of R 4.2 writes for each class. Classes of packages and
//! vectors mapped from a file stay as they are: no code of theirs is run, no path is opened.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use super::double_text::double_text;
use super::kind::Kind;
use super::model::{is_na, Altrep, Arena, Body, Id, NA_INT};
use super::strings::{Strings, TextEncoding};
use crate::{Error, ErrorKind, Result};

/// Most bytes that the deferred vectors of one arena take once made, unless another is named.
pub const EXPANDED_BYTES: u64 = 4 << 30;

/// The sign of a double.
const SIGN: u64 = 1 << 63;

/// A class of deferred vectors that is known here, with what it keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deferred {
    /// `first`, `first + step`, ... of `length` elements: integers, or doubles.
    Sequence {
        /// Whether the elements are doubles.
        double: bool,
        /// How many.
        length: u64,
        /// The first.
        first: f64,
        /// 1 or -1.
        step: f64,
    },
    /// The elements of a vector as text, with R's `scipen` and decimal mark.
    Strings {
        /// The vector.
        of: Id,
        /// How much longer fixed notation may be than scientific.
        scipen: i32,
        /// The decimal mark, a character vector, where it is not a point.
        mark: Option<Id>,
    },
    /// Another vector, with remarks about its order that are not needed to read it.
    Wrapped {
        /// The vector.
        of: Id,
    },
    /// Anything else: opaque.
    Unknown,
}

impl Arena {
    /// Name of the class of a deferred vector and of its package; None for other nodes.
    #[must_use]
    pub fn altrep_class(&self, id: Id) -> Option<(&[u8], &[u8])> {
        let Body::Altrep(altrep) = &self.node(id).body else {
            return None;
        };
        let mut cells = self.cells(altrep.info).iter();
        let class = self.symbol(cells.next()?.value)?;
        Some((class, self.symbol(cells.next()?.value)?))
    }

    /// What a deferred vector is made from; None for other nodes.
    #[must_use]
    pub fn deferred(&self, id: Id) -> Option<Deferred> {
        let Body::Altrep(altrep) = &self.node(id).body else {
            return None;
        };
        Some(self.known(id, altrep).unwrap_or(Deferred::Unknown))
    }

    fn known(&self, id: Id, altrep: &Altrep) -> Option<Deferred> {
        let (class, package) = self.altrep_class(id)?;
        if package != b"base" {
            return None;
        }
        match class {
            b"compact_intseq" => self.sequence(altrep.state, false),
            b"compact_realseq" => self.sequence(altrep.state, true),
            b"deferred_string" => {
                let cell = self.cells(altrep.state).first()?;
                let Body::Integer(scipen) = &self.node(self.tail(altrep.state)?).body else {
                    return None;
                };
                let marks = self.cells(cell.attributes).iter();
                let mut marks = marks.filter(|one| {
                    let tag = one.tag.and_then(|tag| self.symbol(tag));
                    tag == Some(b"OutDec")
                });
                Some(Deferred::Strings {
                    of: cell.value,
                    scipen: *scipen.first()?,
                    mark: marks.next().map(|cell| cell.value),
                })
            }
            b"wrap_integer" | b"wrap_logical" | b"wrap_real" | b"wrap_complex" | b"wrap_raw"
            | b"wrap_string" | b"wrap_list" => {
                let of = match &self.node(altrep.state).body {
                    Body::List(ids) => *ids.first()?,
                    _ => self.cells(altrep.state).first()?.value,
                };
                Some(Deferred::Wrapped { of })
            }
            _ => None,
        }
    }

    fn tail(&self, id: Id) -> Option<Id> {
        match &self.node(id).body {
            Body::Pairs { tail, .. } => Some(*tail),
            _ => None,
        }
    }

    /// The sequence of a state of length, first element and step, if it is a possible one.
    fn sequence(&self, state: Id, double: bool) -> Option<Deferred> {
        let Body::Double(parts) = &self.node(state).body else {
            return None;
        };
        let [length, first, step] = parts[..] else {
            return None;
        };
        let last = first + (length - 1.0) * step;
        let within = |value: f64| {
            value.fract() == 0.0
                && (double || (-2_147_483_647.0..=2_147_483_647.0).contains(&value))
        };
        let counts = length.fract() == 0.0 && (0.0..9.0e15).contains(&length);
        // Of more integers than there are the length alone counts: it is told, and refused as too
        // long when someone wants the elements.
        let endless = !double && length > f64::from(u32::MAX);
        if !counts
            || step.to_bits() & !SIGN != 1.0_f64.to_bits()
            || !within(first)
            || !(endless || within(last))
        {
            return None;
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number below 2^53 was just proven"
        )]
        let length = length as u64;
        Some(Deferred::Sequence {
            double,
            length,
            first,
            step,
        })
    }

    /// What a deferred vector that only wraps another stands for; other ids as they are.
    #[must_use]
    pub fn unwrapped(&self, id: Id) -> Id {
        let mut at = id;
        // A wrapper may lie in another; a made-up ring ends where every node was passed.
        for _ in 0..self.len() {
            match self.deferred(at) {
                Some(Deferred::Wrapped { of }) => at = of,
                _ => break,
            }
        }
        at
    }

    /// The type of a node; of a deferred vector, the type of its elements.
    #[must_use]
    pub fn kind(&self, id: Id) -> Kind {
        let at = self.unwrapped(id);
        match self.deferred(at) {
            Some(Deferred::Sequence { double: false, .. }) => Kind::Integer,
            Some(Deferred::Sequence { double: true, .. }) => Kind::Double,
            Some(Deferred::Strings { .. }) => Kind::Character,
            Some(_) => self.claimed_kind(at),
            None => self.node(at).body.kind(),
        }
    }

    /// What the writer said that an unknown deferred vector holds.
    fn claimed_kind(&self, id: Id) -> Kind {
        let Body::Altrep(altrep) = &self.node(id).body else {
            return Kind::Null;
        };
        let code = self.cells(altrep.info).get(2).map(|cell| cell.value);
        match code.map(|code| &self.node(code).body) {
            Some(Body::Integer(codes)) => match codes.first() {
                Some(10) => Kind::Logical,
                Some(13) => Kind::Integer,
                Some(14) => Kind::Double,
                Some(15) => Kind::Complex,
                Some(16) => Kind::Character,
                Some(24) => Kind::Raw,
                _ => Kind::List,
            },
            _ => Kind::List,
        }
    }

    /// How many elements a vector, pairlist or call has, without making a deferred one; 0 for
    /// what has none and for a deferred vector of an unknown class.
    #[must_use]
    pub fn length(&self, id: Id) -> usize {
        let at = self.unwrapped(id);
        match self.deferred(at) {
            Some(Deferred::Sequence { length, .. }) => {
                usize::try_from(length).unwrap_or(usize::MAX)
            }
            Some(Deferred::Strings { of, .. }) if of != id => self.plain_length(of),
            Some(_) => 0,
            None => self.node(at).body.len(),
        }
    }

    /// The length of what a text vector is made of: a number vector, deferred or not.
    fn plain_length(&self, id: Id) -> usize {
        let at = self.unwrapped(id);
        match self.deferred(at) {
            Some(Deferred::Sequence { length, .. }) => {
                usize::try_from(length).unwrap_or(usize::MAX)
            }
            Some(_) => 0,
            None => self.node(at).body.len(),
        }
    }

    /// The body of a node; that of a deferred vector is made on the first call and kept.
    ///
    /// `budget` is what all vectors made in this arena may take together, in bytes; None for
    /// the memory budget that the file was read with, else [`EXPANDED_BYTES`]. Attributes stay those of the node asked for.
    ///
    /// # Errors
    /// `Limit` beyond the budget; `Unsupported` for classes that are not of base R and for
    /// vectors that lie in another file.
    pub fn data(&self, id: Id, budget: Option<u64>) -> Result<&Body> {
        let at = self.unwrapped(id);
        let body = &self.node(at).body;
        let Body::Altrep(altrep) = body else {
            return Ok(body);
        };
        if let Some(made) = altrep.expanded.get() {
            return Ok(made);
        }
        let made = match self.deferred(at) {
            Some(Deferred::Sequence {
                double,
                length,
                first,
                step,
            }) => {
                self.claim_sequence(double, length, budget)?;
                sequence(double, length, first, step).into()
            }
            Some(Deferred::Strings { of, scipen, mark }) => {
                self.strings(of, scipen, mark, budget)?
            }
            _ => return Err(self.opaque(at)),
        };
        Ok(altrep.expanded.get_or_init(|| Box::new(made)))
    }

    fn opaque(&self, id: Id) -> Error {
        let name = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let class = self.altrep_class(id);
        let class = class.map(|(class, package)| (name(class), name(package)));
        let (class, package) = class.unwrap_or_default();
        let text = if class.starts_with("mmap_") {
            format!("a vector of class {class} lies in another file, which is not opened")
        } else {
            format!(
                "a deferred vector of class {class} of package {package}, which only R with that \
                 package can make"
            )
        };
        Error::new(ErrorKind::Unsupported, text)
    }

    /// Counts what a sequence will take; one of more integers than there are is never made.
    fn claim_sequence(&self, double: bool, length: u64, budget: Option<u64>) -> Result<()> {
        if !double && length > u64::from(u32::MAX) {
            let text = format!("a deferred vector of {length} integers, more than there are");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        self.claim(length, if double { 8 } else { 4 }, budget)
    }

    /// Counts what a vector will take against what may be taken.
    fn claim(&self, elements: u64, size: u64, budget: Option<u64>) -> Result<()> {
        let most = budget.unwrap_or(self.expanded_most);
        let bytes = elements.saturating_mul(size);
        let before = self.expanded_bytes.fetch_add(bytes, Ordering::Relaxed);
        let total = before.saturating_add(bytes);
        if total > most || usize::try_from(bytes).is_err() {
            self.expanded_bytes.fetch_sub(bytes, Ordering::Relaxed);
            let text = format!(
                "a deferred vector of {elements} elements needs {total} bytes with those before \
                 it; the limit is {most}: raise the memory budget to have it"
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        // The machine may have less than the budget: asked for as a whole first, so that a short
        // file ends in an error where its vector does not fit.
        let whole = usize::try_from(bytes).unwrap_or(usize::MAX);
        if Vec::<u8>::new().try_reserve_exact(whole).is_err() {
            self.expanded_bytes.fetch_sub(bytes, Ordering::Relaxed);
            let text = format!(
                "a deferred vector of {elements} elements needs {bytes} bytes, more than there is \
                 memory for"
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(())
    }

    /// `as.character` of a number vector.
    fn strings(&self, of: Id, scipen: i32, mark: Option<Id>, budget: Option<u64>) -> Result<Body> {
        let of = self.unwrapped(of);
        let source = match (self.deferred(of), &self.node(of).body) {
            (None, Body::Integer(values)) => Numbers::Integers(Cow::Borrowed(values)),
            (None, Body::Double(values)) => Numbers::Doubles(Cow::Borrowed(values)),
            (
                Some(Deferred::Sequence {
                    double,
                    length,
                    first,
                    step,
                }),
                _,
            ) => {
                self.claim_sequence(double, length, budget)?;
                sequence(double, length, first, step)
            }
            _ => return Err(self.opaque(of)),
        };
        let mark = mark.and_then(|id| match &self.node(id).body {
            Body::Character(marks) => std::str::from_utf8(marks.get(0)?.bytes?).ok(),
            _ => None,
        });
        let mark = mark.unwrap_or(".");
        let elements = match &source {
            Numbers::Integers(values) => values.len(),
            Numbers::Doubles(values) => values.len(),
        };
        // An element takes its end and, mostly, fewer than 12 bytes of text.
        self.claim(elements as u64, 16, budget)?;
        let mut strings = Strings::with_capacity(elements, 0);
        let ascii = TextEncoding::Ascii.levels();
        match source {
            Numbers::Integers(values) => {
                let mut room = itoa::Buffer::new();
                for value in values.iter() {
                    match *value {
                        NA_INT => strings.push_na(),
                        value => strings.push(room.format(value).as_bytes(), ascii),
                    }
                }
            }
            Numbers::Doubles(values) => {
                for value in values.iter() {
                    if is_na(*value) {
                        strings.push_na();
                    } else {
                        strings.push(double_text(*value, scipen, mark).as_bytes(), ascii);
                    }
                }
            }
        }
        Ok(Body::Character(Box::new(strings)))
    }
}

/// The numbers of a vector: borrowed, or made.
enum Numbers<'a> {
    Integers(Cow<'a, [i32]>),
    Doubles(Cow<'a, [f64]>),
}

impl From<Numbers<'_>> for Body {
    fn from(numbers: Numbers<'_>) -> Self {
        match numbers {
            Numbers::Integers(values) => Self::Integer(values.into_owned()),
            Numbers::Doubles(values) => Self::Double(values.into_owned()),
        }
    }
}

/// The elements of a sequence whose ends were proven to fit.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "length, first and last element were proven to be whole and in range"
)]
fn sequence(double: bool, length: u64, first: f64, step: f64) -> Numbers<'static> {
    let element = |at: u64| first + at as f64 * step;
    if double {
        Numbers::Doubles((0..length).map(element).collect())
    } else {
        Numbers::Integers((0..length).map(|at| element(at) as i32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robject::{rds, Builder, RObject, ReadOptions, WriteOptions};

    /// A deferred vector of a class of base R.
    fn deferred(class: &str, state: impl FnOnce(&mut Builder) -> Id) -> RObject {
        let mut build = Builder::new();
        let class = build.symbol(class).unwrap();
        let base = build.symbol("base").unwrap();
        let code = build.push(Body::Integer(vec![13])).unwrap();
        let cell = |value| crate::robject::Cell {
            code: 2,
            is_object: false,
            levels: 0,
            attributes: Id::NULL,
            tag: None,
            value,
        };
        let cells = vec![cell(class), cell(base), cell(code)];
        let tail = Id::NULL;
        let info = build.push(Body::Pairs { cells, tail }).unwrap();
        let state = state(&mut build);
        let altrep = Box::new(Altrep::new(info, state));
        let id = build.push(Body::Altrep(altrep)).unwrap();
        build.finish(id)
    }

    fn state(parts: [f64; 3]) -> impl FnOnce(&mut Builder) -> Id {
        move |build| build.push(Body::Double(parts.to_vec())).unwrap()
    }

    #[test]
    fn sequences_are_made_when_asked_for() {
        let object = deferred("compact_intseq", state([3.0, 7.0, -1.0]));
        let arena = object.arena();
        assert_eq!(3, arena.length(object.id()));
        assert_eq!(Kind::Integer, arena.kind(object.id()));
        let Body::Integer(values) = arena.data(object.id(), None).unwrap() else {
            panic!("no integers");
        };
        assert_eq!(&[7, 6, 5], &values[..]);
    }

    #[test]
    fn a_sequence_beyond_the_budget_has_a_length_and_no_elements() {
        let object = deferred("compact_realseq", state([3e9, 1.0, 1.0]));
        let arena = object.arena();
        assert_eq!(3_000_000_000, arena.length(object.id()));
        for _ in 0..3 {
            let error = arena.data(object.id(), None).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind());
        }
        let small = deferred("compact_intseq", state([10.0, 1.0, 1.0]));
        assert!(small.arena().data(small.id(), Some(39)).is_err());
        assert!(small.arena().data(small.id(), Some(40)).is_ok());
        // What it was read with holds where nothing else is named.
        for (budget, fits) in [(3_999, false), (4_000, true)] {
            let sequence = deferred("compact_intseq", state([1000.0, 1.0, 1.0]));
            let plain = rds::serialize(&sequence, &WriteOptions::default()).unwrap();
            let options = ReadOptions {
                memory_budget: Some(budget),
                ..ReadOptions::default()
            };
            let read = rds::parse(&plain, &options).unwrap();
            assert_eq!(fits, read.arena().data(read.id(), None).is_ok(), "{budget}");
        }
    }

    #[test]
    fn more_integers_than_there_are_have_a_length_and_are_never_made() {
        for budget in [None, Some(u64::MAX)] {
            let object = deferred("compact_intseq", state([1e13, 1.0, 1.0]));
            let arena = object.arena();
            assert_eq!(10_000_000_000_000, arena.length(object.id()));
            assert_eq!(Kind::Integer, arena.kind(object.id()));
            let error = arena.data(object.id(), budget).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind());
        }
    }

    #[test]
    fn forged_sequences_and_foreign_classes_are_opaque() {
        for parts in [
            [-1.0, 1.0, 1.0],
            [2.5, 1.0, 1.0],
            [2.0, 2_147_483_647.0, 1.0],
            [3.0, 1.0, 2.0],
            [f64::NAN, 1.0, 1.0],
            [1e300, 1.0, 1.0],
        ] {
            let object = deferred("compact_intseq", state(parts));
            let error = object.arena().data(object.id(), None).unwrap_err();
            assert_eq!(ErrorKind::Unsupported, error.kind(), "{parts:?}");
            assert_eq!(0, object.arena().length(object.id()));
        }
        let object = deferred("mmap_integer", state([1.0, 1.0, 1.0]));
        let error = object.arena().data(object.id(), None).unwrap_err();
        assert!(error.to_string().contains("not opened"), "{error}");
    }
}
