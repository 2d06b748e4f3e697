//! Names of rows: kept beside a table, and put back where its rows are still those.
//!
//! A table that was sorted or filtered keeps its metadata. Names are put back where the rows are
//! as many and what the columns hold is the same, in the same order.

use xxhash_rust::xxh3::Xxh3Default;

use super::super::model::{is_na, Arena, Body, Id, NA_INT};
use super::super::text::Recoder;
use super::super::Strings;
use super::extra::{meaning, Meaning};

/// The name of the digest among attributes that are kept.
pub const DIGEST: &str = "tare:rows";

/// Attributes by which data.table knows the order of the rows.
pub const ORDER: [&str; 2] = ["sorted", "index"];

/// The names of rows that someone gave; None where they are counted.
pub fn given(arena: &Arena, frame: Id) -> Option<Id> {
    let names = arena.attribute(frame, "row.names")?;
    let counted = match arena.data(names, None) {
        Ok(Body::Character(_)) => false,
        Ok(Body::Integer(values)) if values.first() == Some(&NA_INT) => true,
        Ok(Body::Integer(values)) => (1..).zip(values).all(|(n, value)| n == *value),
        _ => true,
    };
    (!counted).then_some(names)
}

/// What tells the rows of these columns from others: 16 hexadecimal digits, as a string of R.
///
/// Columns count whose values come back from every table format as they were: logicals, numbers,
/// text and factors, whatever their encoding and whatever the bits of a NaN.
pub fn digest(arena: &Arena, columns: impl Iterator<Item = Id>) -> Body {
    let recoder = Recoder::of(arena);
    let mut hash = Xxh3Default::new();
    for column in columns {
        match (meaning(arena, column), arena.data(column, None)) {
            (Meaning::Plain, Ok(Body::Logical(values))) => {
                for value in values {
                    let state = match *value {
                        NA_INT => 2,
                        value => u8::from(value != 0),
                    };
                    hash.update(&[state]);
                }
            }
            (Meaning::Plain, Ok(Body::Integer(values))) => {
                for value in values {
                    hash.update(&value.to_le_bytes());
                }
            }
            (Meaning::Plain, Ok(Body::Double(values))) => {
                for value in values {
                    let bits = match (value.is_nan(), is_na(*value)) {
                        (true, true) => u64::MAX,
                        (true, false) => u64::MAX - 1,
                        (false, _) => value.to_bits(),
                    };
                    hash.update(&bits.to_le_bytes());
                }
            }
            (Meaning::Plain, Ok(Body::Character(strings))) => {
                for text in texts(&recoder, strings) {
                    one(&mut hash, text.as_deref());
                }
            }
            (Meaning::Factor, Ok(Body::Integer(codes))) => {
                let levels = arena.attribute(column, "levels");
                let levels = levels.and_then(|id| arena.strings_of(id));
                let levels: Vec<_> =
                    levels.map_or_else(Vec::new, |all| texts(&recoder, all).collect());
                for code in codes {
                    let at = usize::try_from(*code)
                        .ok()
                        .and_then(|code| code.checked_sub(1));
                    let level = at.and_then(|at| levels.get(at));
                    one(&mut hash, level.and_then(|level| level.as_deref()));
                }
            }
            _ => {}
        }
    }
    let text = format!("{:016x}", hash.digest());
    Body::Character(Box::new(Strings::from_iter([Some(text.as_str())])))
}

fn texts<'a>(
    recoder: &'a Recoder,
    strings: &'a Strings,
) -> impl Iterator<Item = Option<std::borrow::Cow<'a, str>>> {
    strings
        .iter()
        .map(|text| Some(recoder.decode(text)?.shown()))
}

fn one(hash: &mut Xxh3Default, text: Option<&str>) {
    let Some(text) = text else {
        return hash.update(&u64::MAX.to_le_bytes());
    };
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}
