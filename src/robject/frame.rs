//! Tables of fst files as data frames, and data frames as tables of fst.

use super::loss::{LossKind, Losses};
use super::model::{Body, Id, RObject, NA_INT};
use super::strings::{Strings, TextEncoding};
use super::text::Recoder;
use super::Builder;
use crate::fst::{self, Column, ColumnKind, Data, Table, Texts, TimeScale};
use crate::{Error, ErrorKind, Result};

/// A table of an fst file as the data frame that R's package fst makes of it.
///
/// # Errors
/// `Unsupported` for more than 2,147,483,647 rows, which no data frame has.
///
/// # Example
/// ```
/// use tare::fst::{Column, Data, Table};
/// use tare::robject::frame::from_fst;
///
/// let columns = vec![Column::new("day", Data::Int(vec![1, 2]))];
/// let object = from_fst(Table { columns, rows: 2, keys: vec![] })?;
/// assert_eq!(vec!["data.frame"], object.class());
/// assert_eq!(Some(2), object.arena().rows(object.id()));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn from_fst(table: Table) -> Result<RObject> {
    let rows = i32::try_from(table.rows).map_err(|_| {
        let text = format!("a table of {} rows, more than a data frame has", table.rows);
        Error::new(ErrorKind::Unsupported, text).with_format("fst")
    })?;
    let mut build = Builder::new();
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let mut columns = Vec::with_capacity(table.columns.len());
    for column in table.columns {
        columns.push(vector(&mut build, column)?);
    }
    let root = build.push(Body::List(columns))?;
    let names = build.strings(names.iter().map(String::as_str))?;
    let class = build.strings(["data.frame"])?;
    let row_names = match rows {
        0 => Vec::new(),
        rows => vec![NA_INT, rows.wrapping_neg()],
    };
    let row_names = build.push(Body::Integer(row_names))?;
    let pairs = [("names", names), ("class", class), ("row.names", row_names)];
    build.set_attributes(root, &pairs)?;
    Ok(build.finish(root))
}

/// A column as a vector with its attributes.
fn vector(build: &mut Builder, column: Column) -> Result<Id> {
    let mut pairs: Vec<(&str, Id)> = Vec::new();
    let body = match column.data {
        Data::Logical(values) => Body::Logical(values),
        Data::Int(values) => Body::Integer(values),
        Data::Double(values) => Body::Double(values),
        Data::Int64(values) => {
            let bits = values
                .iter()
                .map(|value| f64::from_le_bytes(value.to_le_bytes()));
            Body::Double(bits.collect())
        }
        Data::Raw(values) => Body::Raw(values),
        Data::Text(texts) => Body::Character(Box::new(strings(&texts))),
        Data::Factor { codes, levels } => {
            let levels = build.push(Body::Character(Box::new(strings(&levels))))?;
            pairs.push(("levels", levels));
            Body::Integer(codes)
        }
    };
    let id = build.push(body)?;
    if !column.kind.classes().is_empty() {
        let class = build.strings(column.kind.classes().iter().copied())?;
        if column.kind == ColumnKind::Nanotime {
            let package = build.strings(["nanotime"])?;
            build.set_attributes(class, &[("package", package)])?;
        }
        pairs.push(("class", class));
    }
    if let Some(zone) = column.zone.as_deref().filter(|_| column.kind.has_zone()) {
        pairs.push(("tzone", build.strings([zone])?));
    }
    if matches!(column.kind, ColumnKind::Difftime | ColumnKind::DifftimeInt) {
        pairs.push((
            "units",
            build.strings([column.scale.units().unwrap_or("secs")])?,
        ));
    }
    if column.kind == ColumnKind::Nanotime {
        pairs.push((".S3Class", build.strings(["integer64"])?));
    }
    build.set_attributes(id, &pairs)?;
    Ok(id)
}

fn strings(texts: &Texts) -> Strings {
    let mark = match texts.encoding() {
        fst::TextEncoding::Native => TextEncoding::Native,
        fst::TextEncoding::Latin1 => TextEncoding::Latin1,
        fst::TextEncoding::Utf8 => TextEncoding::Utf8,
    };
    let mut strings = Strings::with_capacity(texts.len(), 0);
    for text in texts.iter() {
        match text {
            None => strings.push_na(),
            Some(text) if text.is_ascii() => strings.push(text, TextEncoding::Ascii.levels()),
            Some(text) => strings.push(text, mark.levels()),
        }
    }
    strings
}

/// A data frame as a table for [`fst::write`], and what was lost.
///
/// Strings are recoded to UTF-8. Classes and attributes that fst has no place for are reported.
///
/// # Errors
/// `Unsupported` for what is no data frame, for columns of lists, complex numbers and others
/// that fst has no type for, and in a strict conversion for the first loss.
///
/// # Example
/// ```
/// use tare::fst::{Column, Data, Table};
/// use tare::robject::frame::{from_fst, to_fst};
///
/// let columns = vec![Column::new("day", Data::Int(vec![1, 2]))];
/// let table = Table { columns, rows: 2, keys: vec![] };
/// let (again, losses) = to_fst(&from_fst(table.clone())?, false)?;
/// assert_eq!(table, again);
/// assert!(losses.list().is_empty());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn to_fst(object: &RObject, strict: bool) -> Result<(Table, Losses)> {
    let arena = object.arena();
    if !arena.inherits(object.id(), "data.frame") {
        let text = format!(
            "fst holds data frames, not a value of type {}",
            object.kind().name()
        );
        return Err(Error::new(ErrorKind::Unsupported, text).with_format("fst"));
    }
    let mut losses = Losses::new(strict);
    let names = object.names().unwrap_or_default();
    let mut columns = Vec::new();
    let mut rows = arena.rows(object.id());
    for (at, child) in arena.elements(object.id()).iter().enumerate() {
        let name = names.get(at).cloned().flatten().unwrap_or_default();
        losses.enter_name(&name);
        let column = column(&object.at(*child), name, &mut losses)?;
        losses.leave();
        let length = column.data.len();
        if *rows.get_or_insert(length) != length {
            let text = format!(
                "column {} has {length} values in a data frame of other length",
                at.saturating_add(1)
            );
            return Err(Error::new(ErrorKind::Unsupported, text).with_format("fst"));
        }
        columns.push(column);
    }
    let unnamed = (0..columns.len()).filter(|at| matches!(names.get(*at), None | Some(None)));
    let (r, kept) = ("a name that is NA or missing", "an empty one");
    let count = unnamed.count() as u64;
    losses.add_at("@names", LossKind::DuplicateNames, r, kept, count)?;
    dropped(object, &["names", "row.names", "class"], &mut losses)?;
    table_classes(object, &mut losses)?;
    let rows = u64::try_from(rows.unwrap_or(0)).unwrap_or(u64::MAX);
    Ok((
        Table {
            columns,
            rows,
            keys: Vec::new(),
        },
        losses,
    ))
}

/// What of the table itself fst does not keep: row names and other classes.
fn table_classes(object: &RObject, losses: &mut Losses) -> Result<()> {
    let class = object.class();
    if class.len() > 1 {
        let text = class.join(", ");
        losses.add_at("@class", LossKind::ClassDropped, &text, "data.frame", 1)?;
    }
    let given = named_rows(object)?;
    let kind = LossKind::RowNamesDropped;
    losses.add_at("@row.names", kind, "row names", "", given as u64)
}

/// How many rows have a name of their own: none where they are numbered from 1 on.
fn named_rows(object: &RObject) -> Result<usize> {
    let Some(names) = object.arena().attribute(object.id(), "row.names") else {
        return Ok(0);
    };
    Ok(match object.at(names).data()? {
        // Of two integers, the first of them NA: the count of rows that are numbered.
        Body::Integer(names) if names.first() == Some(&NA_INT) => 0,
        Body::Integer(names) if (1..).zip(names).all(|(row, name)| row == *name) => 0,
        names => names.len(),
    })
}

fn column(column: &RObject, name: String, losses: &mut Losses) -> Result<Column> {
    let (arena, id) = (column.arena(), column.id());
    if arena.attribute(id, "dim").is_some() {
        return Err(cannot(losses, "a matrix"));
    }
    let is = |class| arena.inherits(id, class);
    let body = column.data()?;
    let integer = matches!(body, Body::Integer(_));
    let kind = match body {
        Body::Integer(_) if is("factor") => {
            if is("ordered") {
                ColumnKind::Ordered
            } else {
                ColumnKind::Factor
            }
        }
        Body::Integer(_) | Body::Double(_) if is("Date") => {
            if integer {
                ColumnKind::DateInt
            } else {
                ColumnKind::Date
            }
        }
        Body::Integer(_) | Body::Double(_) if is("POSIXct") => {
            if integer {
                ColumnKind::PosixctInt
            } else {
                ColumnKind::Posixct
            }
        }
        Body::Integer(_) | Body::Double(_) if is("ITime") => {
            if integer {
                ColumnKind::ItimeInt
            } else {
                ColumnKind::Itime
            }
        }
        Body::Integer(_) | Body::Double(_) if is("difftime") => {
            if integer {
                ColumnKind::DifftimeInt
            } else {
                ColumnKind::Difftime
            }
        }
        Body::Double(_) if is("nanotime") => ColumnKind::Nanotime,
        Body::Double(_) if is("integer64") => ColumnKind::Integer64,
        Body::Integer(_) => ColumnKind::Integer,
        Body::Double(_) => ColumnKind::Double,
        Body::Logical(_) => ColumnKind::Logical,
        Body::Raw(_) => ColumnKind::Raw,
        Body::Character(_) => ColumnKind::Character,
        _ => {
            return Err(cannot(
                losses,
                &format!("a value of type {}", column.kind().name()),
            ))
        }
    };
    let data = data(column, body, kind, losses)?;
    let mut made = Column::new(name, data);
    made.kind = kind;
    let zone = column
        .attribute_texts("tzone")
        .and_then(|zones| zones.into_iter().next());
    made.zone = zone.flatten().filter(|_| kind.has_zone());
    if kind.has_zone() {
        let zones = column.attribute_texts("tzone").unwrap_or_default();
        let more: Vec<String> = zones.into_iter().skip(1).flatten().collect();
        let count = u64::from(!more.is_empty());
        losses.add_at(
            "@tzone",
            LossKind::AttributeDropped,
            &more.join(", "),
            "",
            count,
        )?;
    }
    made.scale = scale(column, kind, losses)?;
    reported(column, kind, losses)?;
    Ok(made)
}

fn data(column: &RObject, body: &Body, kind: ColumnKind, losses: &mut Losses) -> Result<Data> {
    Ok(match (kind, body) {
        (ColumnKind::Factor | ColumnKind::Ordered, Body::Integer(codes)) => {
            let levels = column.arena().attribute(column.id(), "levels");
            let levels = levels.and_then(|levels| column.arena().strings_of(levels));
            let Some(levels) = levels else {
                return Err(cannot(losses, "a factor without levels"));
            };
            Data::Factor {
                codes: codes.clone(),
                levels: texts(column, levels, losses)?,
            }
        }
        (ColumnKind::Nanotime | ColumnKind::Integer64, Body::Double(values)) => Data::Int64(
            values
                .iter()
                .map(|value| i64::from_le_bytes(value.to_le_bytes()))
                .collect(),
        ),
        (_, Body::Integer(values)) => Data::Int(values.clone()),
        (_, Body::Double(values)) => Data::Double(values.clone()),
        (_, Body::Logical(values)) => Data::Logical(values.clone()),
        (_, Body::Raw(values)) => Data::Raw(values.clone()),
        (_, Body::Character(strings)) => Data::Text(texts(column, strings, losses)?),
        _ => return Err(cannot(losses, "a value of another type than its class")),
    })
}

/// Strings in UTF-8; what is no text becomes what R prints of it.
fn texts(column: &RObject, strings: &Strings, losses: &mut Losses) -> Result<Texts> {
    let recoder = Recoder::of(column.arena());
    let mut all = Texts::new(fst::TextEncoding::Utf8);
    let (mut changed, mut no_text) = (0_u64, 0_u64);
    for text in strings.iter() {
        let Some(decoded) = recoder.decode(text) else {
            all.push(None);
            continue;
        };
        match &decoded {
            super::Decoded::Same(_) => {}
            super::Decoded::Recoded(_) => changed = changed.saturating_add(1),
            super::Decoded::Bytes(_) => no_text = no_text.saturating_add(1),
        }
        all.push(Some(decoded.shown().as_bytes()));
    }
    losses.add(
        LossKind::EncodingChanged,
        "latin1 or native",
        "UTF-8",
        changed,
    )?;
    losses.add(
        LossKind::BytesString,
        "string that is no text",
        "its bytes as text",
        no_text,
    )?;
    Ok(all)
}

fn scale(column: &RObject, kind: ColumnKind, losses: &Losses) -> Result<TimeScale> {
    if matches!(kind, ColumnKind::Itime | ColumnKind::ItimeInt) {
        return Ok(TimeScale::Seconds);
    }
    if !matches!(kind, ColumnKind::Difftime | ColumnKind::DifftimeInt) {
        return Ok(TimeScale::None);
    }
    let units = column.attribute_texts("units").unwrap_or_default();
    match units.first().and_then(Option::as_deref) {
        Some("secs") | None => Ok(TimeScale::Seconds),
        Some("mins") => Ok(TimeScale::Minutes),
        Some("hours") => Ok(TimeScale::Hours),
        Some("days") => Ok(TimeScale::Days),
        Some(other) => Err(cannot(losses, &format!("a length of time in `{other}`"))),
    }
}

/// Reports attributes and classes that the kind of column does not say.
fn reported(column: &RObject, kind: ColumnKind, losses: &mut Losses) -> Result<()> {
    let said: &[&str] = match kind {
        ColumnKind::Factor | ColumnKind::Ordered => &["class", "levels"],
        ColumnKind::Difftime | ColumnKind::DifftimeInt => &["class", "units"],
        ColumnKind::Posixct | ColumnKind::PosixctInt => &["class", "tzone"],
        ColumnKind::Nanotime => &["class", ".S3Class"],
        _ => &["class"],
    };
    dropped(column, said, losses)?;
    let class = column.attribute_texts("class").unwrap_or_default();
    let class: Vec<String> = class.into_iter().map(Option::unwrap_or_default).collect();
    if class != kind.classes() {
        let (r, kept) = (class.join(", "), kind.classes().join(", "));
        losses.add_at("@class", LossKind::ClassDropped, &r, &kept, 1)?;
    }
    Ok(())
}

fn dropped(object: &RObject, said: &[&str], losses: &mut Losses) -> Result<()> {
    for (name, value) in object.attribute_list() {
        if said.contains(&name.as_str()) {
            continue;
        }
        if name == ".internal.selfref" {
            losses.add_selfref()?;
            continue;
        }
        let text = value.summary();
        losses.add_at(
            &format!("@{name}"),
            LossKind::AttributeDropped,
            &text,
            "",
            1,
        )?;
    }
    Ok(())
}

fn cannot(losses: &Losses, what: &str) -> Error {
    let text = format!(
        "fst has no column for {what}, at {}: leave it out",
        losses.path()
    );
    Error::new(ErrorKind::Unsupported, text).with_format("fst")
}
