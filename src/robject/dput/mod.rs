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
use crate::Result;

/// Reads the one value that `text` is.
///
/// Time is linear in the length of the text, and nothing is evaluated. Vectors that a few letters
/// stand for, as `1:1e9`, count against `options.memory_budget`, 4 GiB without one.
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
    parse::object(text, options)
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
