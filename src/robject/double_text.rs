//! Doubles as the text that R makes of them.

use super::model::is_na;

/// A double as R's `as.character` writes it: 15 significant digits at most, in the shorter of
/// fixed and scientific notation, fixed where that is at most `scipen` characters longer.
///
/// R computes the digits in extended precision, so that a last digit can differ where a value lies
/// within rounding of the middle between two.
///
/// # Example
/// ```
/// use tare::robject::double_text;
///
/// assert_eq!("1e+05", double_text(100_000.0, 0, "."));
/// assert_eq!("123456", double_text(123_456.0, 0, "."));
/// assert_eq!("0,333333333333333", double_text(1.0 / 3.0, 0, ","));
/// ```
#[must_use]
pub fn double_text(value: f64, scipen: i32, mark: &str) -> String {
    if is_na(value) {
        return "NA".into();
    }
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let digits = format!("{:.14e}", value.abs());
    let (mantissa, power) = digits.split_once('e').unwrap_or((&digits, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let places = i32::try_from(mantissa.len())
        .unwrap_or(0)
        .saturating_sub(2)
        .max(0);
    let behind = places.saturating_sub(power).max(0);
    let point = |places: i32| {
        if places > 0 {
            places.saturating_add(1)
        } else {
            0
        }
    };
    let fixed_width = power.max(0).saturating_add(1).saturating_add(point(behind));
    let exponent_width = if power.abs() >= 100 { 5 } else { 4 };
    let scientific_width = 1_i32
        .saturating_add(point(places))
        .saturating_add(exponent_width);
    let text = if fixed_width <= scientific_width.saturating_add(scipen) {
        let behind = usize::try_from(behind).unwrap_or_default();
        format!("{:.behind$}", value.abs())
    } else {
        let sign = if power < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", power.abs())
    };
    let text = if mark == "." {
        text
    } else {
        text.replace('.', mark)
    };
    if value < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `as.character` of R 4.2.2 prints.
    #[test]
    fn doubles_are_written_as_r_does() {
        for (value, text) in [
            (1e5, "1e+05"),
            (123_456.0, "123456"),
            (1e-5, "1e-05"),
            (0.0001, "1e-04"),
            (1e15, "1e+15"),
            (123_456_789_012_345_678.0, "123456789012345680"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333333333333"),
            (1e300, "1e+300"),
            (1.5e-10, "1.5e-10"),
            (1e4, "10000"),
            (100_000.1, "100000.1"),
            (3e5, "3e+05"),
            (120_000.0, "120000"),
            (0.1 + 0.2, "0.3"),
            (5e-324, "4.94065645841247e-324"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (99_999.999_999_999, "99999.999999999"),
            (-22.0 / 7.0 * 1e10, "-31428571428.5714"),
            (-0.0, "0"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(text, double_text(value, 0, "."));
        }
        assert_eq!("100000", double_text(1e5, 10, "."));
        assert_eq!("0.00001", double_text(1e-5, 10, "."));
        assert_eq!("1e+20", double_text(1e20, 10, "."));
    }
}
