//! What the drivers of servers share: the marker of a store, connections of a process, URLs without
//! secrets.

mod marker;
mod pool;

pub(super) use marker::Marker;
pub(super) use pool::{PerProcess, Pool};

use std::time::{Duration, SystemTime};

use url::Url;

use crate::store::Hash;
use crate::{Error, ErrorKind, Result};

/// The URL without its password and without what its query says beside the named parameters.
pub(super) fn redacted(url: &Url, shown: &[&str]) -> String {
    let mut plain = url.clone();
    let shown: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| shown.contains(&name.as_ref()))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    if plain.password().is_some() && plain.set_password(None).is_err() {
        return format!("{}:", url.scheme());
    }
    plain.set_query(None);
    plain.set_fragment(None);
    if !shown.is_empty() {
        plain.query_pairs_mut().extend_pairs(shown);
    }
    plain.to_string()
}

/// The parameters of a URL's query, each of which must be known and stand once.
pub(super) fn parameters<'a>(
    url: &'a Url,
    driver: &'static str,
    known: &[&str],
) -> Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, value) in url.query_pairs() {
        let name: std::borrow::Cow<'a, str> = name;
        if !known.contains(&name.as_ref()) {
            let text = format!(
                "no parameter {name:?} in its URL: it takes {}",
                known.join(", ")
            );
            return Err(Error::new(ErrorKind::Usage, text).with_format(driver));
        }
        if found.iter().any(|(before, _)| *before == name) {
            let text = format!("the parameter {name:?} stands twice in its URL");
            return Err(Error::new(ErrorKind::Usage, text).with_format(driver));
        }
        found.push((name.into_owned(), value.into_owned()));
    }
    Ok(found)
}

/// One of the parameters.
pub(super) fn parameter<'a>(found: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut named = found.iter().filter(|(known, _)| known == name);
    named.next().map(|(_, value)| value.as_str())
}

/// Whether a parameter says yes.
pub(super) fn flag(
    found: &[(String, String)],
    name: &'static str,
    driver: &'static str,
) -> Result<bool> {
    match parameter(found, name) {
        None | Some("0" | "false" | "no") => Ok(false),
        Some("" | "1" | "true" | "yes") => Ok(true),
        Some(other) => {
            let text = format!("{name}={other:?} in its URL: it is 1 or 0");
            Err(Error::new(ErrorKind::Usage, text).with_format(driver))
        }
    }
}

/// A random name that no other writer takes: 32 hex digits.
pub(super) fn random_name() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Io, format!("no random numbers: {error}")))?;
    let hash = Hash::new(&bytes).map(|hash| hash.hex());
    hash.ok_or_else(|| Error::new(ErrorKind::Internal, "a name of no bytes"))
}

/// Microseconds since 1970 by this machine's clock: for what no server's clock is asked.
pub(super) fn local_micros() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, micros)
}

/// A span in whole microseconds.
pub(super) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// The instant of microseconds since 1970; None if no clock shows it.
pub(super) fn instant(micros: i64) -> Option<SystemTime> {
    let since = Duration::from_micros(u64::try_from(micros).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// Some of a second, other each time: so that those who were in each other's way part.
pub(super) fn jitter(attempt: u32) -> Duration {
    let mut byte = [0; 1];
    let random = getrandom::fill(&mut byte).map_or(128, |()| u64::from(byte[0]));
    let span = 2_u64.saturating_pow(attempt.min(8)).saturating_mul(4);
    Duration::from_micros(
        span.saturating_mul(random.saturating_add(64))
            .saturating_mul(8),
    )
}

/// What the drivers' own records do not say as they should.
pub(super) fn damaged(driver: &'static str, place: &str, detail: impl std::fmt::Display) -> Error {
    let text = format!("the record {place} is damaged: {detail}");
    Error::new(ErrorKind::Malformed, text)
        .with_format(driver)
        .with_detail("place", place)
}

/// What refuses a change of a store that was opened for reading.
pub(super) fn read_only(driver: &'static str, url: &str) -> Error {
    let text = format!("{url} is opened for reading only");
    Error::new(ErrorKind::ReadOnly, text)
        .with_format(driver)
        .with_detail("store", url)
}

/// What is said where no store is.
pub(super) fn no_store(driver: &'static str, url: &str) -> Error {
    let text = format!("there is no store at {url}; open it for writing to make one");
    Error::new(ErrorKind::NotFound, text)
        .with_format(driver)
        .with_detail("store", url)
}
