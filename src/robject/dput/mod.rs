//! R code that makes a value, as `dput` and `deparse` write it: read by a grammar of data alone,
//! never evaluated, and written so that R reads the same value back.
//!
//! ```text
//! value := call | range | scalar | '-' number | '(' value ')'
//! call  := name '(' [ arg { ',' arg } ] ')'        arg := [ tag '=' ] value
//! range := int ':' int
//! ```
//! The calls are `structure list pairlist c factor as.Date as.POSIXct as.difftime as.raw complex
//! logical integer numeric double character raw vector data.frame matrix array`. Functions,
//! symbols, environments and operators are refused, with line and column.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod calls;
mod gather;
mod lex;
mod number;
mod parse;
mod tables;
mod times;
mod write;

use super::{Loss, RObject, ReadOptions};
use crate::{Error, Result};

/// Reads the one value that `text` is.
///
/// Time is linear in the length of the text, and nothing is evaluated. A long range, as `1:1e9`, is a
/// deferred vector, as it is in R. What a few letters stand for counts against `options.memory_budget`:
/// without one 256 MiB and 64 bytes for each byte of the text.
///
/// # Errors
/// `Unsupported` for code that is no data, `Malformed` for what is no R code, `Truncated` where the
/// text ends inside a value, `Limit` beyond a limit of `options`: with line, column and offset.
///
/// # Example
/// ```
/// use tare::robject::{dput, Body, ReadOptions};
///
/// let text = r#"structure(c(0x1.8p+0, NA), class = "difftime", units = "hours")"#;
/// let object = dput::parse(text, &ReadOptions::default())?;
/// assert!(matches!(&object.node().body, Body::Double(hours) if hours[0] == 1.5));
///
/// let error = dput::parse("system('ls')", &ReadOptions::default()).unwrap_err();
/// assert!(error.to_string().contains("nothing is evaluated, line 1 column 1"));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn parse(text: &str, options: &ReadOptions) -> Result<RObject> {
    parse::object(text, options).map_err(named)
}

/// The error with the name of the format, of what is made of the values too.
fn named(error: Error) -> Error {
    match error.format() {
        Some(_) => error,
        None => error.with_format("dput"),
    }
}

/// Writes code that R reads the same value from, as its `dput` does with `control = "exact"`; and
/// what the code does not keep.
///
/// Doubles are written in hexadecimal but for whole numbers, text in UTF-8. Of NaN the bits beyond
/// NaN and NA are lost, of strings marked as bytes the mark.
///
/// # Errors
/// `Unsupported` for functions, calls, symbols, environments, S4 objects and pointers, for strings
/// with a zero byte, and for attributes of names that `structure` takes for its own; `Limit` for a
/// value inside itself.
///
/// # Example
/// ```
/// use tare::robject::{dput, Body, Builder, ReadOptions};
///
/// let mut build = Builder::new();
/// let id = build.push(Body::Double(vec![0.1, 2.0]))?;
/// let (code, losses) = dput::write(&build.finish(id))?;
/// assert_eq!(("c(0x1.999999999999ap-4, 2)\n", 0), (code.as_str(), losses.len()));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn write(object: &RObject) -> Result<(String, Vec<Loss>)> {
    write::object(object, false)
}

/// As [`write()`], with `NULL` in place of functions, compiled code, promises and pointers.
///
/// The report has each of them with its path.
///
/// # Errors
/// As [`write()`], but for these.
///
/// # Example
/// ```
/// use tare::robject::{dput, Body, Builder, Id};
///
/// let mut build = Builder::new();
/// let number = build.push(Body::Integer(vec![1]))?;
/// let (environment, formals) = (Id::NULL, Id::NULL);
/// let body = number;
/// let code = build.push(Body::Closure { environment, formals, body })?;
/// let list = build.push(Body::List(vec![number, code]))?;
/// let (text, losses) = dput::write_data(&build.finish(list))?;
/// assert_eq!("list(1L, NULL)\n", text);
/// assert_eq!("[[2]]: code_opaque: closure, kept NULL", losses[0].to_string());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn write_data(object: &RObject) -> Result<(String, Vec<Loss>)> {
    write::object(object, true)
}

#[cfg(test)]
mod tests {
    use super::super::{Body, Deferred, Kind, RObject, ReadOptions};
    use super::parse;
    use crate::ErrorKind;

    fn read(text: &str) -> crate::Result<RObject> {
        parse(text, &ReadOptions::default())
    }

    fn limited(text: &str, budget: Option<u64>) -> ErrorKind {
        let options = ReadOptions {
            memory_budget: budget,
            ..ReadOptions::default()
        };
        let error = parse(text, &options).unwrap_err();
        assert_eq!(Some("dput"), error.format(), "{error}");
        error.kind()
    }

    #[test]
    fn long_ranges_are_deferred_alone_and_as_the_only_argument() {
        for (text, ends) in [
            ("1:999999999", [1, 999_999_999]),
            ("c(1:999999999)", [1, 999_999_999]),
            ("c((2000000000:-147483647))", [2_000_000_000, -147_483_647]),
        ] {
            let object = read(text).unwrap();
            let Some(Deferred::Sequence {
                length,
                first,
                step,
                ..
            }) = object.arena().deferred(object.id())
            else {
                panic!("{text} is not deferred");
            };
            let length = f64::from(u32::try_from(length).unwrap());
            let found = [first, first + (length - 1.0) * step];
            assert!(
                ends.iter()
                    .zip(found)
                    .all(|(end, at)| f64::from(*end).to_bits() == at.to_bits()),
                "{text}"
            );
            let error = object.data().unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind());
            assert!(error.to_string().contains("the limit is 268"), "{error}");
        }
    }

    #[test]
    fn short_ranges_are_made_and_long_ones_where_their_elements_are_needed() {
        let short = read("c(3:1)").unwrap();
        assert!(matches!(&short.node().body, Body::Integer(values) if *values == [3, 2, 1]));
        let joined = read("c(1:1048577, 5L)").unwrap();
        assert_eq!(
            Some(1_048_578),
            joined.arena().integers_of(joined.id()).map(<[i32]>::len)
        );
        let named = read("structure(1:2000000, names = 1:2000000)").unwrap();
        assert_eq!(
            Some("2000000".to_string()),
            named.names().unwrap().pop().flatten()
        );
        let matrix = read("matrix(1:66666666, 2)").unwrap();
        assert_eq!(
            (Kind::Integer, 66_666_666),
            (matrix.kind(), matrix.length())
        );
        let frame = read("data.frame(a = 1:2000000, b = 2000000:1)").unwrap();
        assert_eq!(Some(2_000_000), frame.arena().rows(frame.id()));
        let dates = read("as.Date(1:1500000, origin = '1970-01-01')");
        drop(dates); // refused or read, in memory that is bounded
    }

    #[test]
    fn what_a_few_letters_stand_for_is_limited() {
        for text in [
            "c(1:999999999, 1L)",
            "c(1L, 1:999999999)",
            "c((1:999999999), 2)",
            "c(a = 1:999999999)",
            "numeric(99999999)",
            "as.raw(1:999999999)",
            "as.raw(1e8:0)",
        ] {
            assert_eq!(ErrorKind::Limit, limited(text, None), "{text}");
        }
        assert_eq!(ErrorKind::Limit, limited("c(1:2000000, 1L)", Some(1 << 20)));
        assert!(read("matrix(1:66666666").unwrap_err().is_truncated());
    }
}
