//! Factors, data frames, matrices and arrays.

use super::super::kind::Kind;
use super::super::model::{Body, Id, NA_INT};
use super::super::Strings;
use super::calls::{count, reals, refused, set, take, truth, Arguments};
use super::gather::Values;
use super::parse::Parser;
use crate::Result;
use std::collections::HashMap;

/// `factor(x, levels = ...)`.
pub(super) fn factor(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let names = ["x", "levels", "labels", "ordered"];
    let [x, levels, labels, ordered] = take(parser, arguments, names)?;
    let (Some(x), Some(levels)) = (x, levels) else {
        let text = "factor() without levels, whose order is that of the machine's language";
        return Err(refused(parser, text));
    };
    let (Some(values), Some(known)) = (texts(parser, x), texts(parser, levels)) else {
        return Err(refused(parser, "factor() of other than vectors"));
    };
    let mut codes = Vec::with_capacity(values.len());
    {
        let mut places: HashMap<&[u8], i32> = HashMap::new();
        for (code, text) in (1_i32..).zip(known.iter()) {
            if let Some(bytes) = text.bytes {
                if places.insert(bytes, code).is_some() {
                    return Err(parser.malformed("two levels of a factor that are the same"));
                }
            }
        }
        for text in values.iter() {
            let code = text.bytes.and_then(|bytes| places.get(bytes));
            codes.push(code.copied().unwrap_or(NA_INT));
        }
    }
    let labels = match labels {
        None => parser.make(Body::Character(Box::new(known)))?,
        Some(labels) => match texts(parser, labels) {
            Some(labels) if labels.len() == known.len() => {
                parser.make(Body::Character(Box::new(labels)))?
            }
            _ => {
                return Err(refused(
                    parser,
                    "labels of a factor that are not one a level",
                ))
            }
        },
    };
    let ordered = truth(parser, ordered, false)?;
    let id = parser.make(Body::Integer(codes))?;
    let class: &[&str] = if ordered {
        &["ordered", "factor"]
    } else {
        &["factor"]
    };
    let class = parser.build.strings(class.iter().copied())?;
    let levels = Box::from(&b"levels"[..]);
    set(
        parser,
        id,
        vec![(levels, labels), (Box::from(&b"class"[..]), class)],
    )?;
    Ok(id)
}

/// The elements of a vector as text.
fn texts(parser: &Parser<'_, '_>, id: Id) -> Option<Strings> {
    let values = match parser.build.arena().data(id, None).ok()? {
        Body::Character(strings) => return Some((**strings).clone()),
        Body::Logical(values) => Values::Logical(values.clone()),
        Body::Integer(values) => Values::Integer(values.clone()),
        Body::Double(values) => Values::Double(values.clone()),
        _ if id.is_null() => Values::None,
        _ => return None,
    };
    Some(values.texts())
}

/// `data.frame(a = 1:3, b = c("x", "y", "z"))`: columns of one length.
pub(super) fn data_frame(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let (mut columns, mut names) = (Vec::new(), Strings::default());
    let (mut row_names, mut as_factors, mut check) = (None, None, None);
    for (tag, id) in arguments {
        match tag.as_deref() {
            Some(b"row.names") => row_names = Some(id),
            Some(b"stringsAsFactors") => as_factors = Some(id),
            Some(b"check.names") => check = Some(id),
            Some(name) if !name.is_empty() => {
                columns.push(id);
                let mark = super::super::TextEncoding::guess(name);
                names.push(name, mark.levels());
            }
            _ => return Err(refused(parser, "a column of data.frame() without a name")),
        }
    }
    if truth(parser, as_factors, false)? {
        let text = "stringsAsFactors = TRUE, whose order is that of the machine's language";
        return Err(refused(parser, text));
    }
    let odd = |name: &[u8]| !syntactic(name);
    if truth(parser, check, true)? && names.iter().any(|name| name.bytes.is_some_and(odd)) {
        let text = "a column whose name R would change: say check.names = FALSE";
        return Err(refused(parser, text));
    }
    let mut rows = None;
    for id in &columns {
        let arena = parser.build.arena();
        let kind = arena.kind(*id);
        let vector = matches!(
            kind,
            Kind::Logical
                | Kind::Integer
                | Kind::Double
                | Kind::Character
                | Kind::Complex
                | Kind::Raw
        );
        let wide = arena.attribute(*id, "dim").is_some();
        let length = arena.length(*id);
        if !vector || wide || rows.is_some_and(|rows| rows != length) {
            let text = "columns of data.frame() that are no vectors of one length";
            return Err(refused(parser, text));
        }
        rows = Some(length);
    }
    let rows = rows.unwrap_or_default();
    let row_names = match row_names {
        Some(id) if !id.is_null() => {
            if parser.build.arena().length(id) != rows {
                return Err(parser.malformed("as many row names as rows are needed"));
            }
            id
        }
        _ => {
            let count = i32::try_from(rows).unwrap_or(i32::MAX);
            parser.make(Body::Integer(vec![NA_INT, count.wrapping_neg()]))?
        }
    };
    let id = parser.make(Body::List(columns))?;
    let names = parser.make(Body::Character(Box::new(names)))?;
    let class = parser.build.strings(["data.frame"])?;
    let attributes = vec![
        (Box::from(&b"names"[..]), names),
        (Box::from(&b"class"[..]), class),
        (Box::from(&b"row.names"[..]), row_names),
    ];
    set(parser, id, attributes)?;
    Ok(id)
}

/// Whether R takes a name as it is, for names of ASCII letters; others it takes or not by locale.
pub(super) fn syntactic(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
    let begins = match name {
        [b'.', second, ..] => !second.is_ascii_digit(),
        [first, ..] => first.is_ascii_alphabetic() || *first == b'.',
        [] => false,
    };
    begins && name.iter().all(plain) && !RESERVED.contains(&name)
}

/// Words of the language.
const RESERVED: &[&[u8]] = &[
    b"if",
    b"else",
    b"repeat",
    b"while",
    b"function",
    b"for",
    b"next",
    b"break",
    b"in",
    b"TRUE",
    b"FALSE",
    b"NULL",
    b"Inf",
    b"NaN",
    b"NA",
    b"NA_integer_",
    b"NA_real_",
    b"NA_character_",
    b"NA_complex_",
    b"...",
];

/// `matrix(1:6, nrow = 2)`.
pub(super) fn matrix(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let names = ["data", "nrow", "ncol", "byrow", "dimnames"];
    let [data, nrow, ncol, byrow, dimnames] = take(parser, arguments, names)?;
    let Some(data) = data else {
        return Err(refused(parser, "matrix() without data"));
    };
    if truth(parser, byrow, false)? {
        return Err(refused(parser, "matrix() with byrow = TRUE"));
    }
    let length = parser.build.arena().length(data) as u64;
    let given = |id: Option<Id>| id.map(|id| count(parser, id)).transpose();
    let (nrow, ncol) = match (given(nrow)?, given(ncol)?) {
        (Some(rows), Some(columns)) => (rows, columns),
        (Some(rows), None) => (rows, length.checked_div(rows).unwrap_or(0)),
        (None, Some(columns)) => (length.checked_div(columns).unwrap_or(0), columns),
        (None, None) => (length, 1),
    };
    shaped(parser, data, &[nrow, ncol], dimnames)
}

/// `array(1:24, dim = c(2, 3, 4))`.
pub(super) fn array(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let [data, dim, dimnames] = take(parser, arguments, ["data", "dim", "dimnames"])?;
    let Some(data) = data else {
        return Err(refused(parser, "array() without data"));
    };
    let dim = match dim {
        None => vec![parser.build.arena().length(data) as u64],
        Some(dim) => {
            let sizes = reals(parser, dim).unwrap_or_default();
            let size = |size: f64| super::number::whole(size).and_then(|s| u64::try_from(s).ok());
            match sizes.into_iter().map(size).collect::<Option<Vec<u64>>>() {
                Some(sizes) if !sizes.is_empty() => sizes,
                _ => return Err(parser.malformed("dim of other than whole numbers from 0 on")),
            }
        }
    };
    shaped(parser, data, &dim, dimnames)
}

/// Data with a shape, which they must fill.
fn shaped(parser: &mut Parser<'_, '_>, id: Id, dim: &[u64], dimnames: Option<Id>) -> Result<Id> {
    let size = dim
        .iter()
        .fold(1_u64, |size, one| size.saturating_mul(*one));
    if !parser.build.node(id).attributes.is_null() {
        return Err(refused(
            parser,
            "a matrix or an array of data with attributes",
        ));
    }
    if parser.build.arena().length(id) as u64 != size {
        return Err(refused(
            parser,
            "data that are not as many as the dimensions say",
        ));
    }
    let dim: Option<Vec<i32>> = dim.iter().map(|size| i32::try_from(*size).ok()).collect();
    let dim = parser.make(Body::Integer(dim.unwrap_or_default()))?;
    let mut attributes = vec![(Box::from(&b"dim"[..]), dim)];
    if let Some(names) = dimnames.filter(|names| !names.is_null()) {
        attributes.push((Box::from(&b"dimnames"[..]), names));
    }
    set(parser, id, attributes)?;
    Ok(id)
}
