//! Whether a condition holds for one value.
//!
//! Conditions are as deep inside each other as the parser lets them be, so that recursion is
//! bounded.

use super::matches::Matches;
use super::query::{Expr, Operand, Query, Selector};
use super::{compare, Search};
use crate::blit::view::Value;
use crate::Result;

/// # Errors
/// `Malformed`; `Limit`.
pub(super) fn holds<'v>(search: &Search<'v>, expr: &'v Expr, value: &Value<'v>) -> Result<bool> {
    Ok(match expr {
        Expr::Not(inner) => !holds(search, inner, value)?,
        Expr::And(all) => {
            for inner in all {
                if !holds(search, inner, value)? {
                    return Ok(false);
                }
            }
            true
        }
        Expr::Or(any) => {
            for inner in any {
                if holds(search, inner, value)? {
                    return Ok(true);
                }
            }
            false
        }
        Expr::Exists(query) => exists(search, query, value)?,
        Expr::Compare(op, sides) => {
            let [left, right] = &**sides;
            let left = operand(search, left, value)?;
            let right = operand(search, right, value)?;
            compare::holds(*op, left.as_ref(), right.as_ref(), &search.budget)?
        }
    })
}

fn exists<'v>(search: &Search<'v>, query: &'v Query, value: &Value<'v>) -> Result<bool> {
    if query.is_singular() {
        return Ok(one(search, query, value)?.is_some());
    }
    all(search, query, value)
        .next(search)
        .transpose()
        .map(|found| found.is_some())
}

fn all<'v>(search: &Search<'v>, query: &'v Query, value: &Value<'v>) -> Matches<'v> {
    let start = if query.absolute { &search.root } else { value };
    Matches::new(&query.segments, start.clone())
}

/// What a side of a comparison is for a value; None if it is nothing.
pub(super) fn operand<'v>(
    search: &Search<'v>,
    operand: &'v Operand,
    value: &Value<'v>,
) -> Result<Option<Value<'v>>> {
    Ok(Some(match operand {
        Operand::Query(query) => return one(search, query, value),
        Operand::Length(inner) => {
            let length = match self::operand(search, inner, value)? {
                Some(Value::Str(text)) => text.chars().count(),
                // Each three-byte half stands for itself.
                Some(Value::Wtf8(text)) => text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count(),
                Some(Value::Array(array)) => array.len(),
                Some(Value::Object(object)) => {
                    search.budget.spend(object.slots() as u64)?;
                    object.count()?
                }
                _ => return Ok(None),
            };
            Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
        }
        Operand::Count(query) => {
            let mut found = all(search, query, value);
            let mut n = 0_i64;
            while let Some(one) = found.next(search) {
                one?;
                n = n.saturating_add(1);
            }
            Value::Int(n)
        }
        literal => return Ok(constant(literal)),
    }))
}

/// The value of a literal.
pub(super) fn constant(operand: &Operand) -> Option<Value<'_>> {
    Some(match operand {
        Operand::Null => Value::Null,
        Operand::Bool(value) => Value::Bool(*value),
        Operand::Int(value) => Value::Int(*value),
        Operand::Uint(value) => Value::Uint(*value),
        Operand::Float(value) => Value::Float(*value),
        Operand::NumText(text) => Value::NumText(text),
        Operand::Text(text) => Value::Str(text.as_str().into()),
        _ => return None,
    })
}

/// What a query of at most one value finds.
fn one<'v>(search: &Search<'v>, query: &Query, value: &Value<'v>) -> Result<Option<Value<'v>>> {
    let start = if query.absolute { &search.root } else { value };
    follow(search, query, 0, start.clone())
}

/// As [`one`], from segment `from` on.
pub(super) fn follow<'v>(
    search: &Search<'v>,
    query: &Query,
    from: usize,
    start: Value<'v>,
) -> Result<Option<Value<'v>>> {
    let mut value = start;
    for segment in query.segments.get(from..).unwrap_or_default() {
        search.budget.spend(1)?;
        let next = match (segment.selectors.first(), &value) {
            (Some(Selector::Name(name)), Value::Object(object)) => match search.id(*name) {
                Some(id) => object.get_id(id)?,
                None => None,
            },
            (Some(Selector::Index(index)), Value::Array(array)) => match at(*index, array.len()) {
                Some(i) => Some(array.get(i)?),
                None => None,
            },
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// The element of an index, which counts from the end where negative.
pub(super) fn at(index: i64, n: usize) -> Option<usize> {
    let size = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 {
        n.checked_sub(size)
    } else {
        Some(size).filter(|&i| i < n)
    }
}
