//! Filters over many rows at once: each condition reads the column that it names.

use super::query::{Expr, Op, Operand, Query, Selector};
use super::{compare, filter, Search};
use crate::blit::doc::Doc;
use crate::blit::layout::{int, malformed, tag};
use crate::blit::list::{bit, float, number, rank, Body, Item, List};
use crate::blit::view::{value, Value};
use crate::Result;

/// Elements of a list, from the first up to the second.
pub(super) type Range = (usize, usize);

/// Lists inside each other that are read as columns; deeper ones are read value by value.
const MAX_NESTING: usize = 64;
/// Codes of a dictionary whose answers are kept.
const KNOWN_CODES: usize = 1 << 16;

/// What leads from an element to the value that is tested.
#[derive(Clone, Copy)]
struct Way<'v> {
    query: &'v Query,
    /// Segments that were gone already.
    from: usize,
    /// Lists that were entered.
    nesting: usize,
}

impl<'v> Way<'v> {
    fn of(query: &'v Query) -> Self {
        Self {
            query,
            from: 0,
            nesting: 0,
        }
    }

    fn deeper(self, segments: usize) -> Self {
        Self {
            from: self.from.saturating_add(segments),
            nesting: self.nesting.saturating_add(1),
            ..self
        }
    }

    fn step(&self) -> Option<&'v Selector> {
        let segment = self.query.segments.get(self.from)?;
        segment.selectors.first()
    }
}

/// What is asked of every value of a column; None is a value that is not there.
enum Test<'v> {
    Exists,
    Compare(Op, Option<Box<Value<'v>>>),
}

impl<'v> Test<'v> {
    fn holds(&self, search: &Search<'v>, value: Option<&Value<'v>>) -> Result<bool> {
        match self {
            Self::Exists => Ok(value.is_some()),
            Self::Compare(op, with) => compare::holds(*op, value, with.as_deref(), &search.budget),
        }
    }
}

/// Whether no element of a list holds others, so that nothing needs to be looked for in them.
pub(super) fn is_flat(list: &List<'_>, doc: &Doc<'_>) -> Result<bool> {
    Ok(match list.body {
        Body::Partial { child, .. } => is_scalars(&List::read(doc, child, None)?),
        _ => is_scalars(list),
    })
}

fn is_scalars(list: &List<'_>) -> bool {
    match list.body {
        Body::Uniform { tag, .. } => !matches!(tag, tag::ARRAY | tag::OBJECT),
        Body::Empty
        | Body::Int { .. }
        | Body::Float { .. }
        | Body::Dec { .. }
        | Body::Dict { .. }
        | Body::Bitmap { .. } => true,
        _ => false,
    }
}

/// The elements of a range for which a condition holds: one byte each.
///
/// # Errors
/// `Malformed`; `Limit`.
pub(super) fn select<'v>(
    search: &Search<'v>,
    list: &List<'v>,
    range: Range,
    expr: &'v Expr,
) -> Result<Vec<u8>> {
    let Body::Segmented { segments, size } = list.body else {
        let mut taken = vec![1; range.1.saturating_sub(range.0)];
        narrow(search, list, range, expr, &mut taken)?;
        return Ok(taken);
    };
    let mut taken = Vec::new();
    let mut from = range.0;
    while from < range.1 {
        let which = from.checked_div(size).unwrap_or(0);
        let before = which.saturating_mul(size);
        let (segment, n) = list.segment(search.doc, segments, size, which)?;
        let end = range.1.saturating_sub(before).min(n);
        let within = (from.saturating_sub(before), end);
        taken.extend(select(search, &segment, within, expr)?);
        from = before.saturating_add(end.max(within.0.saturating_add(1)));
    }
    Ok(taken)
}

/// Clears the bytes of those for which a condition does not hold; those clear are not looked at.
fn narrow<'v>(
    search: &Search<'v>,
    list: &List<'v>,
    range: Range,
    expr: &'v Expr,
    taken: &mut [u8],
) -> Result<()> {
    match expr {
        Expr::And(all) => {
            for inner in all {
                narrow(search, list, range, inner, taken)?;
            }
            Ok(())
        }
        Expr::Or(any) => {
            let mut open = taken.to_vec();
            for inner in any {
                let mut more = open.clone();
                narrow(search, list, range, inner, &mut more)?;
                for (open, more) in open.iter_mut().zip(more) {
                    *open &= !more;
                }
            }
            for (taken, open) in taken.iter_mut().zip(open) {
                *taken &= !open;
            }
            Ok(())
        }
        Expr::Not(inner) => {
            let mut those = taken.to_vec();
            narrow(search, list, range, inner, &mut those)?;
            for (taken, that) in taken.iter_mut().zip(those) {
                *taken &= !that;
            }
            Ok(())
        }
        Expr::Exists(query) if column_of(query) => {
            scan(search, list, range, Way::of(query), &Test::Exists, taken)
        }
        Expr::Exists(_) => one_by_one(search, list, range, expr, taken),
        Expr::Compare(op, sides) => {
            let [left, right] = &**sides;
            let (query, op, with) = match (left, right) {
                (Operand::Query(query), with) if column_of(query) && is_constant(with) => {
                    (query, *op, with)
                }
                (with, Operand::Query(query)) if column_of(query) && is_constant(with) => {
                    (query, op.mirrored(), with)
                }
                _ => return one_by_one(search, list, range, expr, taken),
            };
            let with = filter::operand(search, with, &search.root)?.map(Box::new);
            scan(
                search,
                list,
                range,
                Way::of(query),
                &Test::Compare(op, with),
                taken,
            )
        }
    }
}

/// Whether a query leads from each row to one value of its own.
fn column_of(query: &Query) -> bool {
    !query.absolute && query.is_singular()
}

/// Whether a side of a comparison is the same for every row.
fn is_constant(operand: &Operand) -> bool {
    match operand {
        Operand::Query(query) => query.absolute && query.is_singular(),
        Operand::Length(inner) => is_constant(inner),
        Operand::Count(_) => false,
        _ => true,
    }
}

/// As [`narrow`], by values.
fn one_by_one<'v>(
    search: &Search<'v>,
    list: &List<'v>,
    range: Range,
    expr: &'v Expr,
    taken: &mut [u8],
) -> Result<()> {
    for (i, taken) in (range.0..range.1).zip(taken) {
        if *taken != 0 {
            let value = element(search, list, i)?;
            let holds = match &value {
                Some(value) => filter::holds(search, expr, value)?,
                None => false,
            };
            *taken = u8::from(holds);
        }
    }
    Ok(())
}

fn element<'v>(search: &Search<'v>, list: &List<'v>, i: usize) -> Result<Option<Value<'v>>> {
    value(search.doc, list.get(search.doc, i)?)
}

/// Tests what a query finds from each element.
fn scan<'v>(
    search: &Search<'v>,
    list: &List<'v>,
    range: Range,
    way: Way<'v>,
    test: &Test<'v>,
    taken: &mut [u8],
) -> Result<()> {
    let by_columns = way.nesting < MAX_NESTING;
    match (list.body, way.step()) {
        (Body::Table { shape, .. }, Some(Selector::Name(name))) if by_columns => {
            let shape = search.doc.shapes.get(shape)?;
            let slot = search.id(*name).and_then(|id| shape.slot(id));
            let Some(slot) = slot else {
                all_alike(test.holds(search, None)?, taken);
                return Ok(());
            };
            let column = list.column(search.doc, slot)?;
            scan(search, &column, range, way.deeper(1), test, taken)
        }
        (Body::Partial { .. }, _) if by_columns => {
            partial(search, list, range, way.deeper(0), test, taken)
        }
        (Body::Dict { .. }, None) => dictionary(search, list, range, test, taken),
        (Body::Uniform { at, .. }, None) if at.lens.constant() == Some(0) => {
            let one = element(search, list, range.0)?;
            all_alike(test.holds(search, one.as_ref())?, taken);
            Ok(())
        }
        (Body::Int { .. } | Body::Float { .. }, None) if packed(list, range, test, taken) => Ok(()),
        _ => {
            for (i, taken) in (range.0..range.1).zip(taken) {
                if *taken == 0 {
                    continue;
                }
                let found = match element(search, list, i)? {
                    Some(value) => filter::follow(search, way.query, way.from, value)?,
                    None => None,
                };
                *taken = u8::from(test.holds(search, found.as_ref())?);
            }
            Ok(())
        }
    }
}

fn all_alike(holds: bool, taken: &mut [u8]) {
    if !holds {
        taken.fill(0);
    }
}

/// A column with gaps: what is there is tested, and the gaps once.
fn partial<'v>(
    search: &Search<'v>,
    list: &List<'v>,
    range: Range,
    way: Way<'v>,
    test: &Test<'v>,
    taken: &mut [u8],
) -> Result<()> {
    let Body::Partial {
        child,
        bits,
        ranks,
        width,
        absent,
    } = list.body
    else {
        return Ok(());
    };
    let there: Vec<bool> = (range.0..range.1).map(|i| bit(bits, i)).collect();
    let present = there.iter().zip(&*taken).filter(|(&there, _)| there);
    let mut inner: Vec<u8> = present.map(|(_, &taken)| taken).collect();
    let child = List::read(search.doc, child, None)?;
    let from = rank(bits, ranks, width, range.0);
    let to = from.saturating_add(inner.len());
    if to > child.n {
        return Err(malformed(
            "V26",
            "other elements than there are bits for",
            list.end(),
        ));
    }
    if !inner.is_empty() {
        scan(search, &child, (from, to), way, test, &mut inner)?;
    }
    let null = (absent == tag::NULL && way.step().is_none()).then_some(Value::Null);
    let gap = test.holds(search, null.as_ref())?;
    let mut inner = inner.into_iter();
    for (taken, there) in taken.iter_mut().zip(there) {
        *taken &= if there {
            inner.next().unwrap_or(0)
        } else {
            u8::from(gap)
        };
    }
    Ok(())
}

/// Strings that occur often are tested once.
fn dictionary<'v>(
    search: &Search<'v>,
    list: &List<'v>,
    range: Range,
    test: &Test<'v>,
    taken: &mut [u8],
) -> Result<()> {
    let Body::Dict { codes, width, .. } = list.body else {
        return Ok(());
    };
    let mut known: Vec<Option<bool>> = Vec::new();
    for (i, taken) in (range.0..range.1).zip(taken) {
        if *taken == 0 {
            continue;
        }
        let code = number(codes, i, width).unwrap_or(u64::MAX);
        let code = usize::try_from(code).unwrap_or(usize::MAX);
        let holds = if let Some(holds) = known.get(code).copied().flatten() {
            holds
        } else {
            // Which also says whether there is such a code.
            let one = element(search, list, i)?;
            let holds = test.holds(search, one.as_ref())?;
            if (known.len()..KNOWN_CODES).contains(&code) {
                known.resize(code.saturating_add(1), None);
            }
            if let Some(place) = known.get_mut(code) {
                *place = Some(holds);
            }
            holds
        };
        *taken = u8::from(holds);
    }
    Ok(())
}

/// Numbers of one width beside one of the same kind; false if that is not what they are.
fn packed(list: &List<'_>, range: Range, test: &Test<'_>, taken: &mut [u8]) -> bool {
    let Test::Compare(op, Some(with)) = test else {
        return false;
    };
    match (list.body, &**with) {
        (
            Body::Int {
                numbers,
                width,
                base: None,
            },
            Value::Int(with),
        ) => {
            let numbers = part(numbers, width, range);
            match width {
                1 => ordered(*op, numbers.chunks_exact(1).map(int), with, taken),
                2 => ordered(*op, numbers.chunks_exact(2).map(int), with, taken),
                _ => ordered(*op, numbers.chunks_exact(width).map(int), with, taken),
            }
        }
        (
            Body::Float {
                numbers,
                width,
                ints: false,
            },
            Value::Float(with),
        ) => {
            let numbers = part(numbers, width, range);
            ordered(*op, numbers.chunks_exact(width).map(float), with, taken);
        }
        (Body::Int { .. }, Value::Int(with)) => {
            let all = (range.0..range.1).map(|i| match list.packed(i) {
                Some(Item::Int(value)) => value,
                _ => 0,
            });
            ordered(*op, all, with, taken);
        }
        _ => return false,
    }
    true
}

fn part(numbers: &[u8], width: usize, range: Range) -> &[u8] {
    let (from, to) = (range.0.saturating_mul(width), range.1.saturating_mul(width));
    numbers.get(from..to).unwrap_or_default()
}

fn ordered<T: PartialOrd>(op: Op, all: impl Iterator<Item = T>, with: &T, taken: &mut [u8]) {
    let all = taken.iter_mut().zip(all);
    match op {
        Op::Equal => all.for_each(|(taken, one)| *taken &= u8::from(one == *with)),
        Op::NotEqual => all.for_each(|(taken, one)| *taken &= u8::from(one != *with)),
        Op::Less => all.for_each(|(taken, one)| *taken &= u8::from(one < *with)),
        Op::AtMost => all.for_each(|(taken, one)| *taken &= u8::from(one <= *with)),
        Op::Greater => all.for_each(|(taken, one)| *taken &= u8::from(one > *with)),
        Op::AtLeast => all.for_each(|(taken, one)| *taken &= u8::from(one >= *with)),
    }
}
