//! Values side by side: numbers by what they are worth, the others by what they hold.

use std::cell::Cell;
use std::cmp::Ordering;

use super::query::Op;
use crate::blit::number::push_float;
use crate::blit::Value;
use crate::{Error, ErrorKind, Result};

/// Steps between two calls of the check of a search.
const PATIENCE: u64 = 1 << 13;

/// Asked from time to time whether a search goes on: an error ends it.
pub(super) type Check<'c> = &'c (dyn Fn() -> Result<()> + Sync);

/// How many comparisons and steps may still be made.
pub(in crate::blit) struct Budget<'c> {
    left: Cell<u64>,
    /// With fewer than these left, the check is called.
    mark: Cell<u64>,
    check: Option<Check<'c>>,
}

impl<'c> Budget<'c> {
    pub(in crate::blit) fn new(elements: u64) -> Self {
        Self::checked(elements, None)
    }

    pub(super) fn checked(elements: u64, check: Option<Check<'c>>) -> Self {
        let mark = check.map_or(0, |_| elements.saturating_sub(PATIENCE));
        Self {
            left: Cell::new(elements),
            mark: Cell::new(mark),
            check,
        }
    }

    /// # Errors
    /// `Limit` where `elements` are more than are left; those of the check.
    #[inline]
    pub(in crate::blit) fn spend(&self, elements: u64) -> Result<()> {
        let Some(left) = self.left.get().checked_sub(elements) else {
            let text = "more elements than max_elements allows";
            return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
        };
        self.left.set(left);
        if left < self.mark.get() {
            return self.ask(left);
        }
        Ok(())
    }

    #[cold]
    fn ask(&self, left: u64) -> Result<()> {
        self.mark.set(left.saturating_sub(PATIENCE));
        self.check.map_or(Ok(()), |check| check())
    }
}

/// The order of two numbers, exactly; None of NaN, and of what is no number.
pub(in crate::blit) fn numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::NumText(_), _) | (_, Value::NumText(_)) => {
            let (a, b) = (Decimal::of(a)?, Decimal::of(b)?);
            Some(a.order(&b))
        }
        (Value::Float(a), b) => int_to_float(integer(b)?, *a).map(Ordering::reverse),
        (a, Value::Float(b)) => int_to_float(integer(a)?, *b),
        (a, b) => Some(integer(a)?.cmp(&integer(b)?)),
    }
}

fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Uint(value) => Some(i128::from(*value)),
        _ => None,
    }
}

/// An integer of at most 64 bits beside a float.
fn int_to_float(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    // Beyond 2^127 this saturates, far above any integer here.
    #[allow(clippy::cast_possible_truncation, reason = "saturates")]
    let whole = b.trunc() as i128;
    Some(
        a.cmp(&whole)
            .then_with(|| 0.0.partial_cmp(&b.fract()).unwrap_or(Ordering::Equal)),
    )
}

/// A number as 0.DIGITS times ten to a power; digits neither begin nor end with 0.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    power: i64,
}

impl Decimal {
    fn of(value: &Value<'_>) -> Option<Self> {
        let mut text = Vec::new();
        match value {
            Value::Int(value) => text.extend_from_slice(value.to_string().as_bytes()),
            Value::Uint(value) => text.extend_from_slice(value.to_string().as_bytes()),
            Value::Float(value) if value.is_finite() => push_float(&mut text, *value),
            Value::NumText(number) => text.extend_from_slice(number.as_bytes()),
            _ => return None,
        }
        Some(Self::parse(&text))
    }

    fn parse(text: &[u8]) -> Self {
        let negative = text.starts_with(b"-");
        let end = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (mantissa, exponent) = text.split_at(end.unwrap_or(text.len()));
        let point = mantissa.iter().position(|&byte| byte == b'.');
        let whole = point
            .unwrap_or(mantissa.len())
            .saturating_sub(usize::from(negative));
        let mut digits: Vec<u8> = mantissa
            .iter()
            .copied()
            .filter(u8::is_ascii_digit)
            .collect();
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..zeros);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let power = i64::try_from(whole).unwrap_or(i64::MAX);
        let power = power.saturating_sub(i64::try_from(zeros).unwrap_or(i64::MAX));
        Self {
            negative,
            power: power.saturating_add(exponent_of(exponent)),
            digits,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let (a, b) = (sign(self), sign(other));
        if a != b || a == 0 {
            return a.cmp(&b);
        }
        let size = self.power.cmp(&other.power);
        let size = size.then_with(|| self.digits.cmp(&other.digits));
        if a < 0 {
            size.reverse()
        } else {
            size
        }
    }
}

/// `e+12`; what is beyond 64 bits is the largest there is.
fn exponent_of(text: &[u8]) -> i64 {
    let mut value = 0_i64;
    for digit in text.iter().filter(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(digit & 0xF);
        value = value.saturating_mul(10).saturating_add(digit);
    }
    if text.contains(&b'-') {
        value.saturating_neg()
    } else {
        value
    }
}

/// What is compared: a value of a document, or of one that is being changed.
pub(in crate::blit) trait Compared<'v>: Sized {
    /// The value, if it holds no others.
    fn scalar(&self) -> Option<Value<'v>>;
    /// Elements of an array.
    fn elements(&self) -> Option<usize>;
    fn element(&self, i: usize) -> Result<Self>;
    fn member(&self, name: &str) -> Result<Option<Self>>;
    /// Names and values of an object.
    fn members(&self) -> Result<Vec<(String, Self)>>;
}

impl<'v> Compared<'v> for Value<'v> {
    fn scalar(&self) -> Option<Value<'v>> {
        match self {
            Value::Array(_) | Value::Object(_) => None,
            other => Some(other.clone()),
        }
    }

    fn elements(&self) -> Option<usize> {
        match self {
            Value::Array(array) => Some(array.len()),
            _ => None,
        }
    }

    fn element(&self, i: usize) -> Result<Self> {
        match self {
            Value::Array(array) => array.get(i),
            _ => Ok(Value::Null),
        }
    }

    fn member(&self, name: &str) -> Result<Option<Self>> {
        match self {
            Value::Object(object) => object.get(name),
            _ => Ok(None),
        }
    }

    fn members(&self) -> Result<Vec<(String, Self)>> {
        let Value::Object(object) = self else {
            return Ok(Vec::new());
        };
        let all = object.iter();
        all.map(|entry| entry.map(|(name, value)| (name.into_owned(), value)))
            .collect()
    }
}

/// Whether two values are equal: numbers by their worth, objects in any order.
///
/// # Errors
/// `Limit`; `Malformed`.
pub(in crate::blit) fn equal<'a, 'b, A, B>(a: A, b: B, budget: &Budget) -> Result<bool>
where
    A: Compared<'a>,
    B: Compared<'b>,
{
    let mut open: Vec<Open<A, B>> = Vec::new();
    let mut next = Some((a, b));
    loop {
        if let Some((a, b)) = next.take() {
            budget.spend(1)?;
            match (a.scalar(), b.scalar()) {
                (Some(a), Some(b)) if scalars(&a, &b) => {}
                (None, None) => match Open::of(a, b)? {
                    Some(container) => open.push(container),
                    None => return Ok(false),
                },
                _ => return Ok(false),
            }
        }
        match open.last_mut() {
            None => return Ok(true),
            Some(Open::Array { a, b, i, n }) if *i < *n => {
                next = Some((a.element(*i)?, b.element(*i)?));
                *i = i.saturating_add(1);
            }
            Some(Open::Object { members, b }) => match members.pop() {
                None => {
                    open.pop();
                }
                Some((name, value)) => match b.member(&name)? {
                    Some(other) => next = Some((value, other)),
                    None => return Ok(false),
                },
            },
            Some(Open::Array { .. }) => {
                open.pop();
            }
        }
    }
}

/// Two containers, of which some are compared.
enum Open<A, B> {
    Array { a: A, b: B, i: usize, n: usize },
    Object { members: Vec<(String, A)>, b: B },
}

impl<'a, 'b, A: Compared<'a>, B: Compared<'b>> Open<A, B> {
    /// None if they cannot be equal.
    fn of(a: A, b: B) -> Result<Option<Self>> {
        Ok(match (a.elements(), b.elements()) {
            (Some(n), Some(m)) if n == m => Some(Self::Array { a, b, i: 0, n }),
            (None, None) => {
                let members = a.members()?;
                let same = members.len() == b.members()?.len();
                same.then_some(Self::Object { members, b })
            }
            _ => None,
        })
    }
}

/// Whether two values that hold no others are equal.
pub(in crate::blit) fn scalars(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Wtf8(a), Value::Wtf8(b)) | (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (a, b) => numbers(a, b) == Some(Ordering::Equal),
    }
}

/// Whether a comparison holds; None is what a query did not find.
///
/// # Errors
/// As [`equal`].
pub(super) fn holds<'v>(
    op: Op,
    a: Option<&Value<'v>>,
    b: Option<&Value<'v>>,
    budget: &Budget,
) -> Result<bool> {
    let same = || match (a, b) {
        (Some(a), Some(b)) => equal(a.clone(), b.clone(), budget),
        (None, None) => Ok(true),
        _ => Ok(false),
    };
    let order = || match (a, b) {
        (Some(Value::Str(a)), Some(Value::Str(b))) => Some(a.cmp(b)),
        (Some(a), Some(b)) => numbers(a, b),
        _ => None,
    };
    Ok(match op {
        Op::Equal => same()?,
        Op::NotEqual => !same()?,
        Op::Less => order() == Some(Ordering::Less),
        Op::Greater => order() == Some(Ordering::Greater),
        Op::AtMost => order() == Some(Ordering::Less) || same()?,
        Op::AtLeast => order() == Some(Ordering::Greater) || same()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_what_they_are_worth() {
        use Ordering::{Equal, Greater, Less};
        let big = 1 << 60;
        for (a, b, order) in [
            (Value::Int(1), Value::Float(1.0), Equal),
            (
                Value::Int(big + 1),
                Value::Float(1_152_921_504_606_846_976.0),
                Greater,
            ),
            (
                Value::Uint(u64::MAX),
                Value::Float(18_446_744_073_709_551_616.0),
                Less,
            ),
            (Value::Int(-1), Value::Float(-1.5), Greater),
            (Value::Int(0), Value::Float(-0.0), Equal),
            (Value::Int(3), Value::Float(f64::INFINITY), Less),
            (Value::NumText("-0"), Value::Int(0), Equal),
            (Value::NumText("1e400"), Value::Float(1e308), Greater),
            (Value::NumText("1e400"), Value::NumText("10.0e399"), Equal),
            (Value::NumText("-1e400"), Value::Int(i64::MIN), Less),
            (Value::NumText("0.00120"), Value::Float(0.0012), Equal),
            (Value::NumText("1e-400"), Value::NumText("0e5"), Greater),
            (
                Value::NumText("18446744073709551616"),
                Value::Uint(u64::MAX),
                Greater,
            ),
        ] {
            assert_eq!(Some(order), numbers(&a, &b), "{a:?} {b:?}");
            assert_eq!(Some(order.reverse()), numbers(&b, &a), "{b:?} {a:?}");
        }
        assert_eq!(None, numbers(&Value::Float(f64::NAN), &Value::Int(0)));
        assert_eq!(None, numbers(&Value::Null, &Value::Int(0)));
    }
}
