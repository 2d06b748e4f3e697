//! What calls make of their arguments: a list of names that is the whole language.

use super::super::model::{Body, Cell, Id, NA_INT};
use super::super::{Strings, TextEncoding};
use super::gather::{real, Values};
use super::number::whole;
use super::parse::{Parser, Tag};
use super::{tables, times};
use crate::{Error, ErrorKind, Result};

/// The calls that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Parentheses without a name.
    Paren,
    C,
    Structure,
    List,
    Pairlist,
    Factor,
    AsDate,
    AsPosixct,
    AsDifftime,
    AsRaw,
    Complex,
    Logical,
    Integer,
    Double,
    Character,
    Raw,
    Vector,
    DataFrame,
    Matrix,
    Array,
}

impl Call {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "c" => Self::C,
            "structure" => Self::Structure,
            "list" => Self::List,
            "pairlist" => Self::Pairlist,
            "factor" => Self::Factor,
            "as.Date" => Self::AsDate,
            "as.POSIXct" => Self::AsPosixct,
            "as.difftime" => Self::AsDifftime,
            "as.raw" => Self::AsRaw,
            "complex" => Self::Complex,
            "logical" => Self::Logical,
            "integer" => Self::Integer,
            "numeric" | "double" => Self::Double,
            "character" => Self::Character,
            "raw" => Self::Raw,
            "vector" => Self::Vector,
            "data.frame" => Self::DataFrame,
            "matrix" => Self::Matrix,
            "array" => Self::Array,
            _ => return None,
        })
    }
}

pub(super) type Arguments = Vec<(Tag, Id)>;

/// The value of a call.
pub(super) fn finish(parser: &mut Parser<'_, '_>, call: Call, arguments: Arguments) -> Result<Id> {
    match call {
        Call::Paren | Call::C => match <[_; 1]>::try_from(arguments) {
            Ok([(None, id)]) => Ok(id),
            _ => Err(parser.malformed("parentheses around other than one value")),
        },
        Call::Structure => structure(parser, arguments),
        Call::List => {
            let (tags, items): (Vec<Tag>, Vec<Id>) = arguments.into_iter().unzip();
            let id = parser.make(Body::List(items))?;
            if tags.iter().any(Option::is_some) {
                let names = names(&tags);
                let names = parser.make(names)?;
                parser.build.set_attributes(id, &[("names", names)])?;
            }
            Ok(id)
        }
        Call::Pairlist => pairlist(parser, arguments),
        Call::Factor => tables::factor(parser, arguments),
        Call::AsDate => times::date(parser, arguments),
        Call::AsPosixct => times::posixct(parser, arguments),
        Call::AsDifftime => times::difftime(parser, arguments),
        Call::AsRaw => as_raw(parser, arguments),
        Call::Complex => complex(parser, arguments),
        Call::Logical | Call::Integer | Call::Double | Call::Character | Call::Raw => {
            let [length] = take(parser, arguments, ["length"])?;
            let length = length.map_or(Ok(0), |id| count(parser, id))?;
            zeros(parser, call, length)
        }
        Call::Vector => {
            let [mode, length] = take(parser, arguments, ["mode", "length"])?;
            let length = length.map_or(Ok(0), |id| count(parser, id))?;
            let mode = mode.and_then(|id| text(parser, id));
            let call = match mode.as_deref() {
                None | Some("logical") => Call::Logical,
                Some("integer") => Call::Integer,
                Some("numeric" | "double") => Call::Double,
                Some("complex") => Call::Complex,
                Some("character") => Call::Character,
                Some("raw") => Call::Raw,
                Some("list") => Call::List,
                Some(_) => return Err(refused(parser, "vector() of another mode")),
            };
            zeros(parser, call, length)
        }
        Call::DataFrame => tables::data_frame(parser, arguments),
        Call::Matrix => tables::matrix(parser, arguments),
        Call::Array => tables::array(parser, arguments),
    }
}

#[cold]
pub(super) fn refused(parser: &Parser<'_, '_>, text: impl Into<String>) -> Error {
    parser.lexer.error(ErrorKind::Unsupported, text)
}

/// Arguments by name, or else in the order of `names`, as R matches them; none may be left.
pub(super) fn take<const N: usize>(
    parser: &Parser<'_, '_>,
    arguments: Arguments,
    names: [&str; N],
) -> Result<[Option<Id>; N]> {
    let mut taken = [None; N];
    let mut bare = Vec::new();
    for (tag, id) in arguments {
        let Some(tag) = tag else {
            bare.push(id);
            continue;
        };
        let place = names.iter().zip(&mut taken);
        let place = place.into_iter().find(|(name, _)| name.as_bytes() == &*tag);
        match place {
            Some((_, place)) if place.is_none() => *place = Some(id),
            _ => {
                let shown = String::from_utf8_lossy(&tag)
                    .chars()
                    .take(40)
                    .collect::<String>();
                let text = format!("argument {shown} of this call is not read");
                return Err(refused(parser, text));
            }
        }
    }
    let mut free = taken.iter_mut().filter(|place| place.is_none());
    for id in bare {
        match free.next() {
            Some(place) => *place = Some(id),
            None => return Err(refused(parser, "more arguments than this call has")),
        }
    }
    Ok(taken)
}

fn names(tags: &[Tag]) -> Body {
    let mut names = Strings::with_capacity(tags.len(), 0);
    for tag in tags {
        let tag = tag.as_deref().unwrap_or_default();
        names.push(tag, TextEncoding::guess(tag).levels());
    }
    Body::Character(Box::new(names))
}

fn pairlist(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    if arguments.is_empty() {
        return Ok(Id::NULL);
    }
    let mut cells = Vec::with_capacity(arguments.len());
    for (tag, value) in arguments {
        let tag = match tag {
            Some(tag) if !tag.is_empty() => Some(parser.build.symbol_bytes(&tag)?),
            _ => None,
        };
        cells.push(cell(tag, value));
    }
    let tail = Id::NULL;
    parser.make(Body::Pairs { cells, tail })
}

pub(super) fn cell(tag: Option<Id>, value: Id) -> Cell {
    Cell {
        code: 2,
        is_object: false,
        levels: 0,
        attributes: Id::NULL,
        tag,
        value,
    }
}

/// A value with attributes: those it has first, then the new ones in their order.
fn structure(parser: &mut Parser<'_, '_>, mut arguments: Arguments) -> Result<Id> {
    if arguments.len() > 1000 {
        // Finding one among many is looking at all: no value that R writes has so many.
        return Err(refused(
            parser,
            "structure() with more than 1,000 attributes",
        ));
    }
    let named = |tag: &Tag| tag.as_deref() == Some(b".Data".as_slice());
    let at = arguments.iter().position(|(tag, _)| named(tag));
    let at = at.or_else(|| arguments.iter().position(|(tag, _)| tag.is_none()));
    let Some(at) = at else {
        return Err(parser.malformed("structure() without a value"));
    };
    let (_, id) = arguments.remove(at);
    if id.is_null() && !arguments.is_empty() {
        return Err(refused(
            parser,
            "structure(NULL, ...), which R reads as a list no more",
        ));
    }
    let mut attributes: Vec<(Box<[u8]>, Id)> = Vec::new();
    let arena = parser.build.arena();
    attributes.extend(arena.attributes(id).map(|(name, id)| (name.into(), id)));
    for (tag, value) in arguments {
        let Some(tag) = tag else {
            return Err(parser.malformed("an attribute of structure() without a name"));
        };
        let name: &[u8] = match &*tag {
            b".Names" => b"names",
            b".Dim" => b"dim",
            b".Dimnames" => b"dimnames",
            b".Tsp" => b"tsp",
            b".Label" => b"levels",
            name => name,
        };
        let value = attribute(parser, name, value)?;
        let found = attributes.iter().position(|(known, _)| **known == *name);
        match found {
            Some(at) if value.is_null() => drop(attributes.remove(at)),
            Some(at) => {
                if let Some(place) = attributes.get_mut(at) {
                    place.1 = value;
                }
            }
            None if value.is_null() => {}
            None => attributes.push((name.into(), value)),
        }
    }
    factor_codes(parser, id, &attributes);
    set(parser, id, attributes)?;
    Ok(id)
}

/// Gives a node its attributes.
pub(super) fn set(
    parser: &mut Parser<'_, '_>,
    id: Id,
    attributes: Vec<(Box<[u8]>, Id)>,
) -> Result<()> {
    let is_object = attributes.iter().any(|(name, _)| &**name == b"class");
    let mut cells = Vec::with_capacity(attributes.len());
    for (name, value) in attributes {
        let tag = parser.build.symbol_bytes(&name)?;
        cells.push(cell(Some(tag), value));
    }
    let pairs = if cells.is_empty() {
        Id::NULL
    } else {
        let tail = Id::NULL;
        parser.make(Body::Pairs { cells, tail })?
    };
    if let Some(node) = parser.build.node_mut(id) {
        node.attributes = pairs;
        node.is_object = is_object;
        if let Body::Pairs { cells, .. } = &mut node.body {
            if let Some(first) = cells.first_mut() {
                first.attributes = pairs;
                first.is_object = is_object;
            }
        }
    }
    Ok(())
}

/// The value of an attribute as R keeps it: whole numbers in `dim` and short `row.names`, text in
/// `names`.
fn attribute(parser: &mut Parser<'_, '_>, name: &[u8], id: Id) -> Result<Id> {
    let arena = parser.build.arena();
    let body = match name {
        b"names" => arena.data(id, None)?,
        _ => &arena.node(id).body,
    };
    let body = match (name, body) {
        (b"dim", Body::Double(values)) => {
            let values: Option<Vec<i32>> = values.iter().map(|v| whole(*v)).collect();
            match values {
                Some(values) => Body::Integer(values),
                None => return Err(parser.malformed("dim of other than whole numbers")),
            }
        }
        (b"row.names", Body::Double(values)) => match values.as_slice() {
            [first, second] if first.is_nan() => match whole(*second) {
                Some(count) => Body::Integer(vec![NA_INT, count]),
                None => return Ok(id),
            },
            _ => return Ok(id),
        },
        (b"names", Body::Integer(values)) => {
            Body::Character(Box::new(Values::Integer(values.clone()).texts()))
        }
        (b"names", Body::Double(values)) => {
            Body::Character(Box::new(Values::Double(values.clone()).texts()))
        }
        (b"names", Body::Logical(values)) => {
            Body::Character(Box::new(Values::Logical(values.clone()).texts()))
        }
        _ => return Ok(id),
    };
    parser.make(body)
}

/// Codes of a factor are integers, however they are written.
fn factor_codes(parser: &mut Parser<'_, '_>, id: Id, attributes: &[(Box<[u8]>, Id)]) {
    let class = attributes.iter().find(|(name, _)| &**name == b"class");
    let factor = class.is_some_and(|(_, class)| match &parser.build.node(*class).body {
        Body::Character(class) => class.iter().any(|text| text.bytes == Some(b"factor")),
        _ => false,
    });
    if let (true, Some(node)) = (factor, parser.build.node_mut(id)) {
        if let Body::Double(codes) = &node.body {
            let codes = codes.iter().map(|code| whole(*code).unwrap_or(NA_INT));
            node.body = Body::Integer(codes.collect());
        }
    }
}

fn as_raw(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let [Some(id)] = take(parser, arguments, ["x"])? else {
        return Err(parser.malformed("as.raw() without a value"));
    };
    let byte = |value: Option<i32>| value.and_then(|value| u8::try_from(value).ok());
    let bytes: Option<Vec<u8>> = match parser.build.arena().data(id, None)? {
        Body::Double(values) => values.iter().map(|value| byte(whole(*value))).collect(),
        Body::Integer(values) | Body::Logical(values) => {
            values.iter().map(|value| byte(Some(*value))).collect()
        }
        Body::Raw(values) => Some(values.clone()),
        _ if id.is_null() => Some(Vec::new()),
        _ => None,
    };
    match bytes {
        Some(bytes) => parser.make(Body::Raw(bytes)),
        None => Err(parser.malformed("as.raw() of other than numbers from 0 to 255")),
    }
}

/// The numbers of a vector; None for other values, and for a deferred one beyond the budget.
pub(super) fn reals(parser: &Parser<'_, '_>, id: Id) -> Option<Vec<f64>> {
    match parser.build.arena().data(id, None).ok()? {
        Body::Double(values) => Some(values.clone()),
        Body::Integer(values) | Body::Logical(values) => {
            Some(values.iter().map(|value| real(*value)).collect())
        }
        _ => None,
    }
}

/// A string alone.
pub(super) fn text(parser: &Parser<'_, '_>, id: Id) -> Option<String> {
    match &parser.build.node(id).body {
        Body::Character(strings) if strings.len() == 1 => {
            let bytes = strings.get(0)?.bytes?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    }
}

/// `TRUE` or `FALSE` alone.
pub(super) fn truth(parser: &Parser<'_, '_>, id: Option<Id>, default: bool) -> Result<bool> {
    let Some(id) = id else {
        return Ok(default);
    };
    match &parser.build.node(id).body {
        Body::Logical(values) => match values.as_slice() {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(parser.malformed("other than TRUE or FALSE")),
        },
        _ => Err(parser.malformed("other than TRUE or FALSE")),
    }
}

/// A length.
pub(super) fn count(parser: &Parser<'_, '_>, id: Id) -> Result<u64> {
    let length = match reals(parser, id).as_deref() {
        Some([length]) => whole(*length).and_then(|length| u64::try_from(length).ok()),
        _ => None,
    };
    length.ok_or_else(|| parser.malformed("a length that is no whole number from 0 on"))
}

/// A vector of the type's own zero.
fn zeros(parser: &mut Parser<'_, '_>, call: Call, length: u64) -> Result<Id> {
    let size = usize::try_from(length).unwrap_or(usize::MAX);
    parser.account.take(length, 16)?;
    let body = match call {
        Call::Logical => Body::Logical(vec![0; size]),
        Call::Integer => Body::Integer(vec![0; size]),
        Call::Double => Body::Double(vec![0.0; size]),
        Call::Complex => Body::Complex(vec![[0.0; 2]; size]),
        Call::Raw => Body::Raw(vec![0; size]),
        Call::List => Body::List(vec![Id::NULL; size]),
        _ => {
            let strings: Strings = (0..size).map(|_| Some("")).collect();
            Body::Character(Box::new(strings))
        }
    };
    parser.make(body)
}

fn complex(parser: &mut Parser<'_, '_>, arguments: Arguments) -> Result<Id> {
    let [length, re, im] = take(parser, arguments, ["length.out", "real", "imaginary"])?;
    let mut parts = Vec::new();
    for part in [re, im] {
        let values = match part {
            None => Some(Vec::new()),
            Some(id) => reals(parser, id),
        };
        match values {
            Some(values) => parts.push(values),
            None => return Err(parser.malformed("complex() of other than numbers")),
        }
    }
    let asked = length.map_or(Ok(0), |id| count(parser, id))?;
    let most = parts.iter().map(Vec::len).max().unwrap_or_default();
    let size = usize::try_from(asked).unwrap_or(usize::MAX).max(most);
    parser.account.take(size as u64, 16)?;
    let [re, im] = parts.as_slice() else {
        return Err(parser.malformed("complex() of other than numbers"));
    };
    // R repeats the shorter one; of none it takes 0.
    let cycled = |values: &[f64]| -> Vec<f64> {
        if values.is_empty() {
            return vec![0.0; size];
        }
        values.iter().copied().cycle().take(size).collect()
    };
    let pairs = cycled(re).into_iter().zip(cycled(im));
    let pairs = pairs.map(|(re, im)| [re, im]).collect();
    parser.make(Body::Complex(pairs))
}
