//! Dates, times and lengths of time from text.

use super::super::model::{Body, Id, NA_REAL};
use super::calls::{reals, refused, set, take, text, Arguments};
use super::parse::Parser;
use crate::Result;

/// `as.Date("2020-02-29")`.
pub(super) fn date(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let [Some(id), zone] = take(parser, arguments, ["x", "tz"])? else {
        return Err(parser.malformed("as.Date() without a value"));
    };
    utc(parser, zone)?;
    let days = moments(parser, id, |text| date_of(text).map(real))?;
    let id = parser.make(Body::Double(days))?;
    class(parser, id, &["Date"], None)
}

/// `as.POSIXct("2020-02-29 12:30:00", tz = "UTC")`.
pub(super) fn posixct(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let [Some(id), Some(zone)] = take(parser, arguments, ["x", "tz"])? else {
        return Err(refused(
            parser,
            "as.POSIXct() without tz, which is this machine's own",
        ));
    };
    let zone = utc(parser, Some(zone))?;
    let seconds = moments(parser, id, moment)?;
    let id = parser.make(Body::Double(seconds))?;
    class(parser, id, &["POSIXct", "POSIXt"], Some(("tzone", &zone)))
}

/// `as.difftime(90, units = "mins")`.
pub(super) fn difftime(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let [Some(id), units] = take(parser, arguments, ["tim", "units"])? else {
        return Err(parser.malformed("as.difftime() without a value"));
    };
    let units = units.and_then(|id| text(parser, id));
    let Some(units) = units.filter(|u| ["secs", "mins", "hours", "days", "weeks"].contains(&&**u))
    else {
        return Err(refused(
            parser,
            "as.difftime() without units, or with unknown ones",
        ));
    };
    let Some(values) = reals(parser, id) else {
        return Err(refused(parser, "as.difftime() of other than numbers"));
    };
    let id = parser.make(Body::Double(values))?;
    class(parser, id, &["difftime"], Some(("units", &units)))
}

/// The zone, which must be one without rules.
fn utc(parser: &Parser<'_, '_>, zone: Option<Id>) -> Result<String> {
    let Some(zone) = zone else {
        return Ok("UTC".to_string());
    };
    match text(parser, zone) {
        Some(zone) if ["UTC", "GMT"].contains(&&*zone) => Ok(zone),
        _ => Err(refused(parser, "a time zone other than UTC and GMT")),
    }
}

fn class(
    parser: &mut Parser<'_, '_>,
    id: Id,
    class: &[&str],
    more: Option<(&str, &str)>,
) -> Result<Id> {
    let class = parser.build.strings(class.iter().copied())?;
    let mut attributes = vec![(Box::from(&b"class"[..]), class)];
    if let Some((name, value)) = more {
        let value = parser.build.strings([value])?;
        attributes.push((Box::from(name.as_bytes()), value));
    }
    set(parser, id, attributes)?;
    Ok(id)
}

/// Each string as a number.
fn moments(
    parser: &Parser<'_, '_>,
    id: Id,
    number: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<f64>> {
    let Body::Character(strings) = &parser.build.node(id).body else {
        return Err(refused(parser, "dates and times of other than text"));
    };
    let mut numbers = Vec::with_capacity(strings.len());
    for text in strings.iter() {
        let Some(bytes) = text.bytes else {
            numbers.push(f64::from_bits(NA_REAL));
            continue;
        };
        let number = std::str::from_utf8(bytes).ok().and_then(&number);
        let Some(number) = number else {
            let text = "text that is no date as 2020-02-29 or time as 2020-02-29 12:30:00";
            return Err(parser.malformed(text));
        };
        numbers.push(number);
    }
    Ok(numbers)
}

fn real(days: i32) -> f64 {
    f64::from(days)
}

/// Days since 1970-01-01.
fn date_of(text: &str) -> Option<i32> {
    let mut parts = text.split('-');
    let year: i32 = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if parts.next().is_some() || !(1..=last).contains(&day) {
        return None;
    }
    // Years from March on, so that the leap day is the last of them.
    let shifted = year.saturating_sub(i32::from(month <= 2));
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let march = month.saturating_add(9) % 12;
    let of_year = march.saturating_mul(153).saturating_add(2) / 5;
    let of_year = of_year.saturating_add(day).saturating_sub(1);
    let leaps = (of_era / 4).saturating_sub(of_era / 100);
    let days = of_era
        .saturating_mul(365)
        .saturating_add(leaps)
        .saturating_add(of_year);
    Some(
        era.saturating_mul(146_097)
            .saturating_add(days)
            .saturating_sub(719_468),
    )
}

/// Seconds since 1970-01-01 00:00 UTC.
fn moment(text: &str) -> Option<f64> {
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let days = f64::from(date_of(date)?) * 86_400.0;
    let Some(time) = time else {
        return Some(days);
    };
    let mut parts = time.split(':');
    let hour: i32 = digits(parts.next()?, 2)?;
    let minute: i32 = digits(parts.next()?, 2)?;
    let seconds = match parts.next() {
        None => 0.0,
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            digits(whole, 2)?;
            fraction.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
            seconds.parse::<f64>().ok()?
        }
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || seconds >= 60.0 {
        return None;
    }
    let minutes = hour.saturating_mul(60).saturating_add(minute);
    Some(days + f64::from(minutes) * 60.0 + seconds)
}

/// A number of one digit or more, `most` at most.
fn digits(text: &str, most: usize) -> Option<i32> {
    let fits = (1..=most).contains(&text.len());
    (fits && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (text, days) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2000-03-01", Some(11_017)),
            ("1900-02-29", None),
            ("2024-13-01", None),
            ("2024-04-31", None),
            ("0001-01-01", Some(-719_162)),
            ("9999-12-31", Some(2_932_896)),
        ] {
            assert_eq!(days, date_of(text), "{text}");
        }
        assert_eq!(Some(1_582_979_400.25), moment("2020-02-29 12:30:00.25"));
        assert_eq!(None, moment("2020-02-29 24:00:00"));
    }
}
