//! Lists of numbers, packed.

use super::{Count, Emitter, ALIGNED_FROM};
use crate::blit::decimal::{self, At};
use crate::blit::layout::{kind, push_uint, push_uints, signed_width, unsigned_width};
use crate::blit::list::whole;
use crate::blit::node::{self, Kind, Mask, Node};

/// Integers up to this size are floats exactly.
const EXACT: u64 = 1 << 53;
/// Widest mantissa.
const MOST_DEC: usize = 6;
/// Decimals of fewer bytes are taken before single precision.
const NARROW_DEC: usize = 4;

impl Emitter {
    /// Integers of one width, or their distance from the least.
    pub(super) fn ints(&mut self, items: &[Node], count: Count) {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for item in items {
            least = least.min(item.as_int());
            most = most.max(item.as_int());
        }
        let width = signed_width(least).max(signed_width(most));
        let n = items.len();
        if self.aligned && n >= ALIGNED_FROM {
            let width = width.next_power_of_two();
            self.align(n, width);
            return self.plain_ints(items, width, count);
        }
        let apart = most.abs_diff(least);
        let narrow = unsigned_width(apart);
        if n.saturating_mul(narrow).saturating_add(8) >= n.saturating_mul(width) {
            return self.plain_ints(items, width, count);
        }
        let apart = items.iter().map(|item| item.as_int().abs_diff(least));
        push_uints(&mut self.out, apart, narrow);
        self.out.extend(least.to_le_bytes());
        self.end(kind::INT, mode(narrow) | 8, n, count);
    }

    fn plain_ints(&mut self, items: &[Node], width: usize, count: Count) {
        push_uints(&mut self.out, items.iter().map(|item| item.bits), width);
        self.end(kind::INT, mode(width), items.len(), count);
    }

    /// Floats, and integers among them if `ints`.
    pub(super) fn floats(&mut self, items: &[Node], ints: bool, count: Count) {
        let n = items.len();
        let flag = if ints { 8 } else { 0 };
        let dec = if self.aligned && n >= ALIGNED_FROM {
            None
        } else {
            decimals(items)
        };
        if let Some(dec) = dec.filter(|dec| dec.width < NARROW_DEC) {
            return self.decimals(items, dec, flag, count);
        }
        if items.iter().all(|&item| decimal::is_f32(number(item))) {
            self.align(n, 4);
            for &item in items {
                self.out.extend(single(number(item)).to_le_bytes());
            }
            return self.end(kind::FLOAT, flag | 1, n, count);
        }
        if let Some(dec) = dec {
            return self.decimals(items, dec, flag, count);
        }
        self.align(n, 8);
        let bits = items.iter().map(|&item| number(item).to_bits());
        push_uints(&mut self.out, bits, 8);
        self.end(kind::FLOAT, flag, n, count);
    }

    fn decimals(&mut self, items: &[Node], dec: Decimals, flag: u8, count: Count) {
        let mantissa = |&item: &Node| match decimal::at(number(item), dec.e) {
            At::Is(m) => u64::from_le_bytes(m.to_le_bytes()),
            _ => 0, // `decimals` found that all are
        };
        push_uints(&mut self.out, items.iter().map(mantissa), dec.width);
        push_uint(&mut self.out, dec.e as u64, 1);
        self.end(kind::DEC, mode(dec.width) | flag, items.len(), count);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "1 to 8")]
fn mode(width: usize) -> u8 {
    (width as u8).wrapping_sub(1)
}

/// Whether integers are among floats, if they can be told apart again; None if they cannot.
pub(super) fn mixed(items: &[Node], mask: Mask) -> Option<bool> {
    if mask & node::INTS == 0 {
        return Some(false);
    }
    let apart = items.iter().all(|item| match item.kind {
        Kind::Int => item.as_int().unsigned_abs() <= EXACT,
        _ => !is_integral(item.as_float()),
    });
    apart.then_some(true)
}

/// Whether a float has no fraction; without a call for each, as `fract` is where the processor
/// may be an old one.
fn is_integral(x: f64) -> bool {
    /// From here on none has.
    const WHOLE: f64 = 4_503_599_627_370_496.0; // 2^52
    whole(x).is_some() || (x.is_finite() && x.abs() >= WHOLE)
}

#[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
fn number(item: Node) -> f64 {
    match item.kind {
        Kind::Int => item.as_int() as f64,
        _ => item.as_float(),
    }
}

/// A float that is one of single precision.
#[allow(clippy::cast_possible_truncation, reason = "exact: the caller asked")]
pub(super) fn single(x: f64) -> f32 {
    x as f32
}

/// The exponent and the width at which all elements are decimals.
#[derive(Clone, Copy)]
struct Decimals {
    e: usize,
    width: usize,
}

fn decimals(items: &[Node]) -> Option<Decimals> {
    let mut e = 0;
    for &item in items {
        e = decimal::least(number(item), e)?.0;
    }
    let mut width = 1;
    for &item in items {
        let At::Is(m) = decimal::at(number(item), e) else {
            return None;
        };
        width = width.max(signed_width(m));
    }
    (width <= MOST_DEC).then_some(Decimals { e, width })
}
