//! R's `identical()`: the same value, whatever it was made from.

use std::borrow::Cow;
use std::collections::HashSet;

use super::altrep::Deferred;
use super::code::{Bytecode, CodeCell, Constant};
use super::model::{is_na, Arena, Body, Id, RObject};
use super::strings::{Strings, Text, TextEncoding};
use super::text::{Decoded, Recoder};
use super::NA_INT;
use crate::{Error, ErrorKind, Result};

/// Pairs that are compared at most: each is once, and an object has fewer parts than memory.
const MOST_PAIRS: usize = 1 << 28;

impl RObject {
    /// Whether two values are identical as R's `identical()` says by default.
    ///
    /// Attributes may stand in any order, all NA are alike and so are all NaN, 0 is -0, and
    /// strings are compared as text. Functions are identical in arguments, body and environment;
    /// compiled code counts as the code it was made from. What R has by reference is identical
    /// only to itself: environments of one file by place, those of two files by their place in
    /// the comparison, so that an object read twice is identical to itself.
    ///
    /// # Errors
    /// `Limit` for deferred vectors beyond the budget; classes of other packages are identical
    /// where their states are.
    ///
    /// # Example
    /// ```
    /// use tare::robject::{Body, Builder};
    ///
    /// let mut build = Builder::new();
    /// let zero = build.push(Body::Double(vec![0.0, f64::NAN]))?;
    /// let minus = build.push(Body::Double(vec![-0.0, f64::NAN]))?;
    /// let object = build.finish(zero);
    /// assert!(object.identical(&object.at(minus))?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn identical(&self, other: &Self) -> Result<bool> {
        let mut walk = Walk {
            left: self.arena(),
            right: other.arena(),
            same: std::ptr::eq(self.arena().as_ref(), other.arena().as_ref()),
            recoders: (Recoder::of(self.arena()), Recoder::of(other.arena())),
            seen: HashSet::new(),
            open: vec![(self.id(), other.id())],
        };
        while let Some((left, right)) = walk.open.pop() {
            if !walk.pair(left, right)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct Walk<'a> {
    left: &'a Arena,
    right: &'a Arena,
    /// Whether both are of one arena, where a reference is identical to itself alone.
    same: bool,
    recoders: (Recoder, Recoder),
    /// Pairs met so far: equal, or found different elsewhere.
    seen: HashSet<(Id, Id)>,
    open: Vec<(Id, Id)>,
}

impl Walk<'_> {
    /// Compares two nodes and leaves their parts to be compared later.
    fn pair(&mut self, left: Id, right: Id) -> Result<bool> {
        if self.same && left == right {
            return Ok(true);
        }
        if !self.seen.insert((left, right)) {
            return Ok(true);
        }
        if self.seen.len() > MOST_PAIRS {
            let text = format!("more than {MOST_PAIRS} pairs to compare");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(self.bodies(left, right)? && self.attributes(left, right))
    }

    /// Attributes by name; row names by what they mean.
    fn attributes(&mut self, left: Id, right: Id) -> bool {
        let (ours, theirs) = (self.left, self.right);
        if matches!(ours.node(left).body, Body::Char(_)) {
            return true;
        }
        if ours.attributes(left).count() != theirs.attributes(right).count() {
            return false;
        }
        // Few have more than a handful; a list by name keeps many linear.
        let mut found: Vec<_> = theirs.attributes(right).collect();
        let mut wanted: Vec<_> = ours.attributes(left).collect();
        found.sort_by_key(|(name, _)| *name);
        wanted.sort_by_key(|(name, _)| *name);
        for ((name, value), (other_name, other)) in wanted.into_iter().zip(found) {
            if name != other_name {
                return false;
            }
            if name == b"row.names" && automatic(ours, value) && automatic(theirs, other) {
                if ours.rows(left) != theirs.rows(right) {
                    return false;
                }
                continue;
            }
            self.open.push((value, other));
        }
        true
    }

    fn bodies(&mut self, left: Id, right: Id) -> Result<bool> {
        let (ours, theirs) = (self.left, self.right);
        if ours.kind(left) != theirs.kind(right) {
            return Ok(false);
        }
        // The same range need not be made to be the same.
        let range = sequence(ours, left);
        if range.is_some() && range == sequence(theirs, right) {
            return Ok(true);
        }
        let (Some(a), Some(b)) = (known(ours, left)?, known(theirs, right)?) else {
            return Ok(self.deferred(left, right));
        };
        Ok(match (a, b) {
            (Body::Special(a), Body::Special(b)) => a == b,
            (Body::Logical(a), Body::Logical(b)) | (Body::Integer(a), Body::Integer(b)) => a == b,
            (Body::Double(a), Body::Double(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| doubles(*a, *b))
            }
            (Body::Complex(a), Body::Complex(b)) => {
                let alike = |a: &[f64; 2], b: &[f64; 2]| doubles(a[0], b[0]) && doubles(a[1], b[1]);
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
            }
            (Body::Raw(a), Body::Raw(b)) => a == b,
            (Body::Character(a), Body::Character(b)) => self.strings(a, b),
            (Body::Char(a), Body::Char(b)) => {
                let a = Text {
                    bytes: a.as_deref(),
                    levels: ours.node(left).levels,
                };
                let b = Text {
                    bytes: b.as_deref(),
                    levels: theirs.node(right).levels,
                };
                self.texts(a, b)
            }
            (Body::Symbol(a), Body::Symbol(b)) => self.later(&[(*a, *b)]),
            (Body::List(a), Body::List(b)) | (Body::Expression(a), Body::Expression(b)) => {
                self.all(a, b)
            }
            _ => self.others(a, b),
        })
    }

    /// What is neither a vector nor a name.
    #[allow(
        clippy::many_single_char_names,
        reason = "the parts of the other value, each behind its like"
    )]
    fn others(&mut self, a: &Body, b: &Body) -> bool {
        match (a, b) {
            (
                Body::Pairs {
                    cells: a,
                    tail: end,
                },
                Body::Pairs {
                    cells: b,
                    tail: other_end,
                },
            ) => {
                if a.len() != b.len() {
                    return false;
                }
                for (a, b) in a.iter().zip(b) {
                    let tags =
                        a.tag.unwrap_or(Id::NULL).is_null() == b.tag.unwrap_or(Id::NULL).is_null();
                    if !tags {
                        return false;
                    }
                    self.open.push((a.value, b.value));
                    if let (Some(a), Some(b)) = (a.tag, b.tag) {
                        self.open.push((a, b));
                    }
                }
                self.later(&[(*end, *other_end)])
            }
            (
                Body::Closure {
                    environment,
                    formals,
                    body,
                },
                Body::Closure {
                    environment: e,
                    formals: f,
                    body: b,
                },
            ) => {
                let code = self.code(*body, *b);
                self.later(&[(*environment, *e), (*formals, *f), code])
            }
            // References: the same node of one arena was found before. Those of two arenas are
            // alike where all below them is.
            _ if self.same && by_reference(a) => false,
            (
                Body::Environment {
                    locked,
                    enclosure,
                    frame,
                    hashtab,
                },
                Body::Environment {
                    locked: l,
                    enclosure: e,
                    frame: f,
                    hashtab: h,
                },
            ) => locked == l && self.later(&[(*enclosure, *e), (*frame, *f), (*hashtab, *h)]),
            (
                Body::Promise {
                    environment,
                    value,
                    expression,
                },
                Body::Promise {
                    environment: e,
                    value: v,
                    expression: x,
                },
            ) => {
                let place = (environment.unwrap_or(Id::NULL), e.unwrap_or(Id::NULL));
                self.later(&[place, (*value, *v), (*expression, *x)])
            }
            (
                Body::ExternalPtr { protected, tag },
                Body::ExternalPtr {
                    protected: p,
                    tag: t,
                },
            ) => self.later(&[(*protected, *p), (*tag, *t)]),
            (Body::Named { code, names }, Body::Named { code: c, names: n }) => {
                code == c && self.all(names, n)
            }
            (Body::Bytecode(a), Body::Bytecode(b)) => self.bytecode(a, b),
            (Body::WeakRef, Body::WeakRef) | (Body::S4, Body::S4) => true,
            (Body::Builtin { .. }, Body::Builtin { .. }) => names(a, b),
            _ => false,
        }
    }

    fn later(&mut self, pairs: &[(Id, Id)]) -> bool {
        self.open.extend_from_slice(pairs);
        true
    }

    fn all(&mut self, a: &[Id], b: &[Id]) -> bool {
        self.open.extend(a.iter().copied().zip(b.iter().copied()));
        a.len() == b.len()
    }

    /// Deferred vectors of classes that are not made here: their states.
    fn deferred(&mut self, left: Id, right: Id) -> bool {
        let (Body::Altrep(a), Body::Altrep(b)) =
            (&self.left.node(left).body, &self.right.node(right).body)
        else {
            return false;
        };
        let pairs = [(a.info, b.info), (a.state, b.state)];
        self.later(&pairs)
    }

    /// The bodies of two functions: what compiled code was made from is its first constant.
    fn code(&self, left: Id, right: Id) -> (Id, Id) {
        (source(self.left, left), source(self.right, right))
    }

    fn bytecode(&mut self, a: &Bytecode, b: &Bytecode) -> bool {
        let shape = a.reps == b.reps && a.codes.len() == b.codes.len();
        if !shape || a.cells.len() != b.cells.len() {
            return false;
        }
        for (a, b) in a.codes.iter().zip(&b.codes) {
            self.open.push((a.code, b.code));
            if a.constants.len() != b.constants.len() {
                return false;
            }
            let mut constants = a.constants.iter().zip(&b.constants);
            if !constants.all(|(a, b)| self.constant(*a, *b)) {
                return false;
            }
        }
        a.cells
            .iter()
            .zip(&b.cells)
            .all(|(a, b)| self.code_cell(*a, *b))
    }

    fn constant(&mut self, a: Constant, b: Constant) -> bool {
        match (a, b) {
            (Constant::Item(_, a), Constant::Item(_, b)) => self.later(&[(a, b)]),
            _ => a == b,
        }
    }

    #[allow(
        clippy::many_single_char_names,
        reason = "the parts of the other value, each behind its like"
    )]
    fn code_cell(&mut self, a: CodeCell, b: CodeCell) -> bool {
        match (a, b) {
            (
                CodeCell::Pair {
                    number,
                    code,
                    attributes,
                    tag,
                    car,
                    cdr,
                },
                CodeCell::Pair {
                    number: n,
                    code: c,
                    attributes: at,
                    tag: t,
                    car: a,
                    cdr: d,
                },
            ) => {
                let places = (attributes.unwrap_or(Id::NULL), at.unwrap_or(Id::NULL));
                (number, code) == (n, c)
                    && self.later(&[places, (tag, t)])
                    && self.constant(car, a)
                    && self.constant(cdr, d)
            }
            _ => a == b,
        }
    }

    fn strings(&self, a: &Strings, b: &Strings) -> bool {
        a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.texts(a, b))
    }

    /// Strings by their text; bytes only to bytes.
    fn texts(&self, a: Text<'_>, b: Text<'_>) -> bool {
        let (Some(left), Some(right)) = (a.bytes, b.bytes) else {
            return a.bytes.is_none() && b.bytes.is_none();
        };
        if left == right && a.encoding() == b.encoding() {
            return true;
        }
        let is_bytes = |text: &Text<'_>| text.encoding() == TextEncoding::Bytes;
        if is_bytes(&a) || is_bytes(&b) {
            let both = is_bytes(&a) && is_bytes(&b) || left.is_ascii();
            return both && left == right;
        }
        match (self.recoders.0.decode(a), self.recoders.1.decode(b)) {
            (Some(a), Some(b)) => decoded(a) == decoded(b),
            _ => false,
        }
    }
}

fn decoded(text: Decoded<'_>) -> Cow<'_, [u8]> {
    match text {
        Decoded::Same(text) => Cow::Borrowed(text.as_bytes()),
        Decoded::Recoded(text) => Cow::Owned(text.into_bytes()),
        Decoded::Bytes(bytes) => Cow::Borrowed(bytes),
    }
}

/// What a deferred range is made from; None for other values.
fn sequence(arena: &Arena, id: Id) -> Option<Deferred> {
    let found = arena.deferred(arena.unwrapped(id))?;
    matches!(found, Deferred::Sequence { .. }).then_some(found)
}

/// The body, deferred vectors made; None for one of a class that is not made here.
fn known(arena: &Arena, id: Id) -> Result<Option<&Body>> {
    match arena.data(id, None) {
        Ok(body) => Ok(Some(body)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

fn doubles(a: f64, b: f64) -> bool {
    #[allow(clippy::float_cmp, reason = "identical means the same value")]
    let same = a == b;
    same || (a.is_nan() && b.is_nan() && is_na(a) == is_na(b))
}

/// Whether R has it by reference.
fn by_reference(body: &Body) -> bool {
    matches!(
        body,
        Body::Environment { .. } | Body::Promise { .. } | Body::ExternalPtr { .. } | Body::WeakRef
    )
}

fn names(a: &Body, b: &Body) -> bool {
    match (a, b) {
        (
            Body::Builtin { special, name },
            Body::Builtin {
                special: s,
                name: n,
            },
        ) => (special, name) == (s, n),
        _ => false,
    }
}

/// Whether row names are 1, 2, ... in any of their forms.
pub(super) fn automatic(arena: &Arena, names: Id) -> bool {
    match arena.data(names, None) {
        Ok(Body::Integer(values)) => {
            matches!(values.as_slice(), [NA_INT, _]) || (1..).zip(values).all(|(n, v)| n == *v)
        }
        Ok(Body::Double(values)) => matches!(values.as_slice(), [first, _] if first.is_nan()),
        _ => false,
    }
}

/// What compiled code was made from; other ids as they are.
fn source(arena: &Arena, id: Id) -> Id {
    let Body::Bytecode(code) = &arena.node(id).body else {
        return id;
    };
    let first = code.codes.first().and_then(|code| code.constants.first());
    match first {
        Some(Constant::Item(_, expression)) => *expression,
        _ => id,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Cell, Node, NA_REAL};
    use super::*;

    /// Whether two bodies are identical, in one arena and in two.
    fn same(make: impl Fn(&mut Builder) -> Id, other: impl Fn(&mut Builder) -> Id) -> bool {
        let mut build = Builder::new();
        let (a, b) = (make(&mut build), other(&mut build));
        let one = build.finish(a);
        let mut build = Builder::new();
        let c = other(&mut build);
        let two = build.finish(c);
        let inside = one.identical(&one.at(b)).unwrap();
        assert_eq!(inside, one.identical(&two).unwrap());
        assert_eq!(inside, two.identical(&one).unwrap());
        inside
    }

    fn doubles(values: &[f64]) -> impl Fn(&mut Builder) -> Id + '_ {
        |build| build.push(Body::Double(values.to_vec())).unwrap()
    }

    #[test]
    fn numbers_are_those_of_r() {
        let na = f64::from_bits(NA_REAL);
        let quiet = f64::from_bits(NA_REAL | 1 << 51);
        assert!(same(doubles(&[0.0]), doubles(&[-0.0])));
        assert!(same(doubles(&[na]), doubles(&[quiet])));
        assert!(same(doubles(&[f64::NAN]), doubles(&[-f64::NAN])));
        assert!(!same(doubles(&[f64::NAN]), doubles(&[na])));
        assert!(!same(doubles(&[1.0]), doubles(&[1.0, 1.0])));
        assert!(!same(doubles(&[1.0]), |build| build
            .push(Body::Integer(vec![1]))
            .unwrap()));
    }

    fn with(order: &'static [(&'static str, i32)]) -> impl Fn(&mut Builder) -> Id {
        move |build| {
            let id = build.push(Body::Integer(vec![1])).unwrap();
            let mut pairs = Vec::new();
            for (name, value) in order {
                pairs.push((*name, build.push(Body::Integer(vec![*value])).unwrap()));
            }
            build.set_attributes(id, &pairs).unwrap();
            id
        }
    }

    #[test]
    fn attributes_may_stand_in_any_order() {
        assert!(same(
            with(&[("a", 1), ("b", 2)]),
            with(&[("b", 2), ("a", 1)])
        ));
        assert!(!same(
            with(&[("a", 1), ("b", 2)]),
            with(&[("b", 1), ("a", 2)])
        ));
        assert!(!same(with(&[("a", 1)]), with(&[("a", 1), ("b", 2)])));
    }

    #[test]
    fn automatic_row_names_are_alike_in_all_forms() {
        let frame = |names: Vec<i32>| {
            move |build: &mut Builder| {
                let id = build.push(Body::List(Vec::new())).unwrap();
                let names = build.push(Body::Integer(names.clone())).unwrap();
                build.set_attributes(id, &[("row.names", names)]).unwrap();
                id
            }
        };
        assert!(same(frame(vec![NA_INT, -3]), frame(vec![1, 2, 3])));
        assert!(same(frame(vec![NA_INT, -3]), frame(vec![NA_INT, 3])));
        assert!(!same(frame(vec![NA_INT, -3]), frame(vec![NA_INT, -2])));
        assert!(!same(frame(vec![NA_INT, -3]), frame(vec![3, 2, 1])));
    }

    #[test]
    fn environments_are_themselves_and_a_ring_ends() {
        let ring = |build: &mut Builder| {
            let id = build.reserve().unwrap();
            let frame = build.pairlist(&[("self", id)]).unwrap();
            build.fill(
                id,
                Node::new(Body::Environment {
                    locked: 0,
                    enclosure: Id::NULL,
                    frame,
                    hashtab: Id::NULL,
                }),
            );
            id
        };
        let mut build = Builder::new();
        let (a, b) = (ring(&mut build), ring(&mut build));
        let object = build.finish(a);
        assert!(object.identical(&object).unwrap());
        assert!(!object.identical(&object.at(b)).unwrap());
        let mut build = Builder::new();
        let again = ring(&mut build);
        assert!(object.identical(&build.finish(again)).unwrap());
    }

    #[test]
    fn strings_are_compared_as_text_and_depth_costs_no_stack() {
        let text = |bytes: &'static [u8], mark: TextEncoding| {
            move |build: &mut Builder| {
                let mut strings = Strings::default();
                strings.push(bytes, mark.levels());
                let mut id = build.push(Body::Character(Box::new(strings))).unwrap();
                for _ in 0..100_000 {
                    let cell = Cell {
                        code: 2,
                        is_object: false,
                        levels: 0,
                        attributes: Id::NULL,
                        tag: None,
                        value: id,
                    };
                    let (cells, tail) = (vec![cell], Id::NULL);
                    id = build.push(Body::Pairs { cells, tail }).unwrap();
                }
                id
            }
        };
        let utf8 = &text("\u{e4}".as_bytes(), TextEncoding::Utf8);
        assert!(same(text(b"\xe4", TextEncoding::Latin1), utf8));
        assert!(!same(text("\u{e4}".as_bytes(), TextEncoding::Bytes), utf8));
    }
}
