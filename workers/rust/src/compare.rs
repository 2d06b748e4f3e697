//! What came back against what was loaded: types, bits, order.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::doc::Doc;
use crate::tagged::to_tagged;

struct Change {
    path: String,
    verdict: &'static str,
    count: u64,
    before: String,
    after: String,
}

/// The verdict, and the changes by path, the worst first.
pub fn compare(before: &Doc, after: &Doc, limit: usize) -> (&'static str, Vec<Value>) {
    let mut found = Vec::new();
    walk(before, after, "", &mut found);
    found.sort_by_key(|one| one.verdict != "lossy");
    let verdict = found.first().map_or("same", |one| one.verdict);
    let told = |one: &Change| json!({"path": one.path, "verdict": one.verdict, "count": one.count, "in": one.before, "out": one.after});
    (verdict, found.iter().take(limit).map(told).collect())
}

fn walk(before: &Doc, after: &Doc, path: &str, found: &mut Vec<Change>) {
    match (before, after) {
        (Doc::List(one), Doc::List(other)) => {
            for (a, b) in one.iter().zip(other) {
                walk(a, b, &format!("{path}[*]"), found);
            }
            if one.len() != other.len() {
                note(&format!("{} (length)", named(path)), "lossy", &one.len().to_string(), &other.len().to_string(), found);
            }
        }
        (Doc::Map(one), Doc::Map(other)) if one.len() == other.len() => {
            let moved = one.iter().zip(other).any(|((key, _), (name, _))| verdict(key, name) != "same");
            if let Some(pairs) = moved.then(|| paired(one, other)).flatten() {
                let names = |entries: &[(Doc, Doc)]| entries.iter().map(|(key, _)| shown(key)).collect::<Vec<_>>().join(", ");
                note(&format!("{} (key order)", named(path)), "lossy", &short(&names(one)), &short(&names(other)), found);
                for (key, a, b) in pairs {
                    walk(a, b, &below(path, key), found);
                }
                return;
            }
            for ((key, a), (name, b)) in one.iter().zip(other) {
                if verdict(key, name) == "same" {
                    walk(a, b, &below(path, shown(key).trim_matches('"')), found);
                } else {
                    note(&format!("{} (keys)", named(path)), "lossy", &shown(key), &shown(name), found);
                }
            }
        }
        _ => match verdict(before, after) {
            "same" => {}
            worse => note(named(path), worse, &shown(before), &shown(after), found),
        },
    }
}

/// The path of what stands under a key.
fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn named(path: &str) -> &str {
    if path.is_empty() { "(whole)" } else { path }
}

/// The values of one map beside those that the other has under the same names; None if the names are not the same texts.
fn paired<'a>(one: &'a [(Doc, Doc)], other: &'a [(Doc, Doc)]) -> Option<Vec<(&'a str, &'a Doc, &'a Doc)>> {
    let text = |doc: &'a Doc| match doc {
        Doc::Text(text) => Some(text.as_str()),
        _ => None,
    };
    let named: HashMap<&str, &Doc> = other.iter().map(|(key, value)| Some((text(key)?, value))).collect::<Option<_>>()?;
    let pairs = one.iter().map(|(key, value)| {
        let name = text(key)?;
        Some((name, value, *named.get(name)?))
    });
    // Names that stand twice are not told apart: the maps are compared as they stand.
    let pairs: Vec<_> = pairs.collect::<Option<_>>()?;
    let own: HashSet<&str> = pairs.iter().map(|pair| pair.0).collect();
    (named.len() == one.len() && own.len() == one.len()).then_some(pairs)
}

fn short(text: &str) -> String {
    text.chars().take(120).collect()
}

/// Above this a double stands for many whole numbers.
const EXACT: u64 = 1 << 53;

/// Equal bits, so that -0.0 is not 0.0; but any NaN is NaN.
fn alike(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[allow(
    clippy::float_cmp,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "whether a cast gives the value again is the question"
)]
fn verdict(before: &Doc, after: &Doc) -> &'static str {
    let same = match (before, after) {
        (Doc::Null, Doc::Null) => true,
        (Doc::Bool(a), Doc::Bool(b)) => a == b,
        (Doc::Int(a), Doc::Int(b)) => a == b,
        (Doc::UInt(a), Doc::UInt(b)) => a == b,
        (Doc::Float(a), Doc::Float(b)) => alike(*a, *b),
        (Doc::Single(a), Doc::Single(b)) => alike((*a).into(), (*b).into()),
        (Doc::Text(a), Doc::Text(b)) => a == b,
        (Doc::Bytes(a), Doc::Bytes(b)) => a == b,
        (Doc::Int(a), Doc::Float(b)) if a.unsigned_abs() <= EXACT && *a as f64 == *b => return "type",
        (Doc::Float(a), Doc::Int(b)) if alike(*a, *b as f64) => return "type",
        (Doc::Float(a), Doc::UInt(b)) if alike(*a, *b as f64) => return "type",
        (Doc::Float(a), Doc::Single(b)) if alike(*a, (*b).into()) => return "type",
        (Doc::Single(a), Doc::Float(b)) if alike((*a).into(), (*b as f32).into()) => return "type",
        (Doc::Bytes(a), Doc::List(b)) if a.len() == b.len() => {
            let bytes = a.iter().zip(b).all(|(a, b)| matches!(b, Doc::Int(b) if *b == i64::from(*a)));
            return if bytes { "type" } else { "lossy" };
        }
        (Doc::Map(a), Doc::Map(b)) => a.is_empty() && b.is_empty(),
        _ => false,
    };
    if same { "same" } else { "lossy" }
}

/// So many changes are told.
const MOST: usize = 1000;

fn note(path: &str, verdict: &'static str, before: &str, after: &str, found: &mut Vec<Change>) {
    if let Some(known) = found.iter_mut().find(|one| one.path == path && one.verdict == verdict) {
        known.count += 1;
    // A loss is never left out for many changes of type.
    } else if found.len() < MOST || (verdict == "lossy" && found.iter().all(|one| one.verdict != "lossy")) {
        let (path, before, after) = (path.to_owned(), before.to_owned(), after.to_owned());
        found.push(Change { path, verdict, count: 1, before, after });
    }
}

fn shown(doc: &Doc) -> String {
    match doc {
        Doc::Float(one) => format!("{one:?}"),
        Doc::List(items) => format!("a list of {}", items.len()),
        Doc::Map(entries) => format!("a map of {}", entries.len()),
        other => to_tagged(other).to_string().chars().take(80).collect(),
    }
}
