//! What a query is made of, once its text was read.

use crate::blit::node::Kind;
use crate::blit::number;

/// A query, of the whole document or of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    /// From the root, not from the value that a filter looks at.
    pub(super) absolute: bool,
    pub(super) segments: Vec<Segment>,
}

/// A step of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) selectors: Vec<Selector>,
    /// From the value and all that is in it, not from the value alone.
    pub(super) descendant: bool,
}

/// What a step takes of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Selector {
    /// The place of a name among those of the query, which are looked up once.
    Name(usize),
    Wildcard,
    /// From the end, where negative.
    Index(i64),
    Slice(Slice),
    Filter(Expr),
}

/// Every so many elements, from one on up to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: i64,
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    /// Whether a query finds anything.
    Exists(Query),
    Compare(Op, Box<[Operand; 2]>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    NumText(String),
    Text(String),
    /// What a query of at most one value finds.
    Query(Query),
    Length(Box<Operand>),
    Count(Query),
}

impl Op {
    /// The same with its sides changed over.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }
}

impl Query {
    /// Whether it finds one value at most, whatever the document.
    pub(super) fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            let one = matches!(
                segment.selectors.as_slice(),
                [Selector::Name(_) | Selector::Index(_)]
            );
            one && !segment.descendant
        })
    }
}

impl Segment {
    pub(super) fn child(selectors: Vec<Selector>) -> Self {
        Self {
            selectors,
            descendant: false,
        }
    }
}

impl Operand {
    /// A number of JSON text, exactly as a document would hold it.
    pub(super) fn number(text: &str) -> Self {
        let is_integer = !text.contains(['.', 'e', 'E']);
        let Some(node) = number::value(text.as_bytes(), is_integer) else {
            return Self::NumText(text.to_string());
        };
        match node.kind {
            Kind::Int => Self::Int(node.as_int()),
            Kind::Uint => Self::Uint(node.bits),
            _ => Self::Float(node.as_float()),
        }
    }
}

impl Slice {
    /// The first element, how many there are, of an array of `n`.
    pub(super) fn within(&self, n: usize) -> (usize, usize) {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        let from_end = |i: i64| if i >= 0 { i } else { n.saturating_add(i) };
        let (low, high) = if self.step >= 0 {
            (0, n)
        } else {
            (-1, n.saturating_sub(1))
        };
        let bound = |at: Option<i64>, none: i64| at.map_or(none, |i| from_end(i).clamp(low, high));
        let (start, end) = if self.step >= 0 {
            (bound(self.start, 0), bound(self.end, n))
        } else {
            (bound(self.start, high), bound(self.end, -1))
        };
        let distance = if self.step >= 0 {
            end.saturating_sub(start)
        } else {
            start.saturating_sub(end)
        };
        if self.step == 0 || distance <= 0 {
            return (0, 0);
        }
        let each = self.step.unsigned_abs();
        let count = distance.unsigned_abs().div_ceil(each);
        let start = usize::try_from(start).unwrap_or(0);
        (start, usize::try_from(count).unwrap_or(0))
    }

    /// Element `i` of those taken, of which the first is `first`.
    pub(super) fn nth(&self, first: usize, i: usize) -> usize {
        let far = i64::try_from(i)
            .unwrap_or(i64::MAX)
            .saturating_mul(self.step);
        first.saturating_add_signed(isize::try_from(far).unwrap_or(isize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_of_the_standard() {
        let all = |start, end, step| {
            let slice = Slice { start, end, step };
            let (first, n) = slice.within(7);
            (0..n).map(|i| slice.nth(first, i)).collect::<Vec<_>>()
        };
        assert_eq!(vec![1, 2], all(Some(1), Some(3), 1));
        assert_eq!(vec![5, 6], all(Some(5), None, 1));
        assert_eq!(vec![1, 3], all(Some(1), Some(5), 2));
        assert_eq!(vec![5, 3], all(Some(5), Some(1), -2));
        assert_eq!(vec![6, 5, 4, 3, 2, 1, 0], all(None, None, -1));
        assert_eq!(vec![4, 5], all(Some(-3), Some(-1), 1));
        assert_eq!(Vec::<usize>::new(), all(None, None, 0));
        assert_eq!(Vec::<usize>::new(), all(Some(9), None, 1));
        assert_eq!(vec![6], all(Some(900), Some(5), -100));
        let most = (1 << 53) - 1;
        assert_eq!(vec![0], all(Some(-most), Some(most), most));
    }
}
