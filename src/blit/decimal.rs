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
    if !(scaled.abs() < LIMIT) {
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
        assert_eq!(None, least(-65.613_616_999_999_977, 0));
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
        fn any_float_is_a_decimal_exactly_or_not_at_all(x in any::<f64>()) {
            if let Some((e, m)) = least(x, 0) {
                prop_assert_eq!(x.to_bits(), float(m, e).to_bits());
            }
        }
    }
}
