//! Decimal floats: m / 10^e in IEEE arithmetic, where that is exactly the float.

/// Powers of ten that are exact as floats.
pub(super) const POWERS: [f64; 16] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];
/// Mantissas are below this in size.
const LIMIT: f64 = 140_737_488_355_328.0; // 2^47
/// From here on a float has no fraction, and below it this rounds to the nearest integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// What a float is at one exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Exactly `m / 10^e`.
    Is(i64),
    /// Not with so few digits.
    Not,
    /// Not with any: m would be 2^47 or more from here on.
    Never,
}

/// Tries one exponent, 0 to 15.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "an integer below 2^47")]
pub(super) fn at(x: f64, e: usize) -> At {
    let power = POWERS.get(e).copied().unwrap_or(1e15);
    let scaled = x * power;
    // Also where x is no number.
    if scaled.is_nan() || scaled.abs() >= LIMIT {
        return At::Never;
    }
    // To the nearest, ties to even.
    let m = (scaled + ROUNDER) - ROUNDER;
    if m.abs() < LIMIT && (m / power).to_bits() == x.to_bits() {
        At::Is(m as i64)
    } else {
        At::Not
    }
}

/// The least exponent from `from` on at which `x` is a decimal, and its mantissa.
#[inline]
pub(super) fn least(x: f64, from: usize) -> Option<(usize, i64)> {
    for e in from..POWERS.len() {
        match at(x, e) {
            At::Is(m) => return Some((e, m)),
            At::Not => {}
            At::Never => return None,
        }
    }
    None
}

/// The float of a decimal; never multiply by 10^-e, which is not exact.
#[inline]
#[allow(clippy::cast_precision_loss, reason = "below 2^53")]
pub(super) fn float(m: i64, e: usize) -> f64 {
    m as f64 / POWERS.get(e).copied().unwrap_or(1e15)
}

/// `m / 10^e` rounded once, as any reader of its text has it; None where that takes longer.
#[inline]
#[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
pub(super) fn quotient(m: u64, e: usize) -> Option<f64> {
    match EXACT_POWERS.get(e) {
        // Both are exact, so the division rounds once.
        Some(power) if m <= 1 << 53 => Some(m as f64 / power),
        _ => by_reciprocal(m, e),
    }
}

/// Powers of ten that are floats.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// As long as powers of five have 64 bits.
const MOST_FIVES: usize = 28;

/// Of each power of five: its bits b, and `2^(63 + b)` over it, rounded down, which has 64 bits.
#[allow(clippy::cast_possible_truncation, reason = "64 bits, as said")]
const RECIPROCALS: [(u32, u64); MOST_FIVES] = {
    let mut all = [(0, 0); MOST_FIVES];
    let mut five = 1_u128;
    let mut e = 0;
    while e < MOST_FIVES {
        let bits = 128 - five.leading_zeros();
        // Of 1 it would have 65 bits.
        let quotient = (1_u128 << (63 + bits)) / five;
        all[e] = (bits, if e == 0 { u64::MAX } else { quotient as u64 });
        five *= 5;
        e += 1;
    }
    all
};

/// The product of `m` and the reciprocal, if what was rounded off it makes no difference.
#[inline]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "at most 2^54, and e is small"
)]
fn by_reciprocal(m: u64, e: usize) -> Option<f64> {
    let &(bits, reciprocal) = RECIPROCALS.get(e)?;
    if m == 0 || e == 0 {
        return None;
    }
    let zeros = m.leading_zeros();
    let m = u128::from(m << zeros);
    // The true product lies between these two, and they have 127 or 128 bits.
    let least = m.wrapping_mul(u128::from(reciprocal));
    let most = least.wrapping_add(m);
    let unused = 74_u32.wrapping_sub(least.leading_zeros());
    // 53 bits, and one that says whether to round up; never right at a half.
    let kept = least >> unused;
    if kept != most >> unused || kept << unused == least {
        return None;
    }
    let kept = kept as u64;
    let mantissa = (kept >> 1).wrapping_add(kept & 1);
    let scale = unused.wrapping_add(1 + 1023);
    let scale = scale
        .wrapping_sub(zeros)
        .wrapping_sub(63)
        .wrapping_sub(bits);
    let scale = u64::from(scale.wrapping_sub(e as u32));
    Some(mantissa as f64 * f64::from_bits(scale << 52))
}

/// Whether a mantissa and an exponent are ones that may be stored.
pub(super) fn is_valid(m: i64, e: usize) -> bool {
    e < POWERS.len() && m.unsigned_abs() < 1 << 47
}

/// Whether `x` is a finite single-precision float, widened.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "tried")]
pub(super) fn is_f32(x: f64) -> bool {
    x.is_finite() && f64::from(x as f32).to_bits() == x.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_found_at_their_least_exponent() {
        assert_eq!(Some((1, 15)), least(1.5, 0));
        assert_eq!(Some((2, 225)), least(2.25, 0));
        assert_eq!(Some((1, 1)), least(0.1, 0));
        assert_eq!(Some((0, 0)), least(0.0, 0));
        assert_eq!(Some((2, 150)), least(1.5, 2));
        assert_eq!(None, least(-0.0, 0));
        assert_eq!(None, least(f64::NAN, 0));
        assert_eq!(None, least(f64::INFINITY, 0));
        assert_eq!(None, least(-65.613_616_999_999_98, 0));
        assert_eq!(None, least(1e300, 0));
        assert!(is_f32(0.5) && !is_f32(0.1) && !is_f32(f64::NAN) && is_f32(-0.0));
    }

    proptest! {
        #[test]
        fn what_is_found_has_the_bits(m in -(1_i64 << 47)..(1 << 47), e in 0_usize..16) {
            let x = float(m, e);
            if let Some((e, m)) = least(x, 0) {
                prop_assert!(is_valid(m, e));
                prop_assert_eq!(x.to_bits(), float(m, e).to_bits());
            } else {
                prop_assert!(m.abs() > 1 << 46);
            }
        }

        #[test]
        fn quotients_are_what_the_text_says(m in prop_oneof![any::<u64>(), 0..1_u64 << 54, (0_u64..1 << 53, 0_u32..12).prop_map(|(m, n)| m << n)], e in 0_usize..32) {
            let said: f64 = format!("{m}e-{e}").parse().unwrap();
            match quotient(m, e) {
                Some(found) => prop_assert_eq!(said.to_bits(), found.to_bits()),
                None => prop_assert!(m > 1 << 53 || e > 22),
            }
        }

        #[test]
        fn any_float_is_a_decimal_exactly_or_not_at_all(x in any::<f64>()) {
            if let Some((e, m)) = least(x, 0) {
                prop_assert_eq!(x.to_bits(), float(m, e).to_bits());
            }
        }
    }
}
