//! The data frame that R's `read_fst` makes of a table, as an R object.

#![allow(clippy::unwrap_used, reason = "a test stops at once")]

use tare::fst::{Column, ColumnKind, Data, Table, TextEncoding as Encoded, Texts, TimeScale};
use tare::robject::{Body, Builder, Id, RObject, Strings, TextEncoding, NA_INT};

/// A list of the columns with names, class and compact row names.
pub fn data_frame(table: &Table) -> RObject {
    let mut build = Builder::new();
    let columns: Vec<Id> = table
        .columns
        .iter()
        .map(|one| column(&mut build, one))
        .collect();
    let frame = build.push(Body::List(columns)).unwrap();
    // The names of a file say that they are in no encoding in particular, so R marks none.
    let mut names = Strings::default();
    for column in &table.columns {
        let ascii = column.name.is_ascii();
        let mark = if ascii {
            TextEncoding::Ascii
        } else {
            TextEncoding::Native
        };
        names.push(column.name.as_bytes(), mark.levels());
    }
    let names = build.push(Body::Character(Box::new(names))).unwrap();
    let class = build.strings(["data.frame"]).unwrap();
    let rows = match i32::try_from(table.rows).unwrap() {
        0 => Vec::new(),
        rows => vec![NA_INT, -rows],
    };
    let rows = build.push(Body::Integer(rows)).unwrap();
    let attributes = [("names", names), ("class", class), ("row.names", rows)];
    build.set_attributes(frame, &attributes).unwrap();
    build.finish(frame)
}

fn column(build: &mut Builder, column: &Column) -> Id {
    let mut attributes: Vec<(&str, Id)> = Vec::new();
    let body = match &column.data {
        Data::Logical(values) => Body::Logical(values.clone()),
        Data::Int(values) => Body::Integer(values.clone()),
        Data::Double(values) => Body::Double(values.clone()),
        Data::Int64(values) => {
            let bits = values
                .iter()
                .map(|value| f64::from_bits(u64::from_le_bytes(value.to_le_bytes())));
            Body::Double(bits.collect())
        }
        Data::Raw(values) => Body::Raw(values.clone()),
        Data::Text(texts) => Body::Character(Box::new(strings(texts))),
        Data::Factor { codes, levels } => {
            let levels = Body::Character(Box::new(strings(levels)));
            attributes.push(("levels", build.push(levels).unwrap()));
            Body::Integer(codes.clone())
        }
    };
    let id = build.push(body).unwrap();
    let classes = column.kind.classes();
    if !classes.is_empty() {
        let class = build.strings(classes.iter().copied()).unwrap();
        if column.kind == ColumnKind::Nanotime {
            let package = build.strings(["nanotime"]).unwrap();
            build
                .set_attributes(class, &[("package", package)])
                .unwrap();
        }
        attributes.push(("class", class));
    }
    if column.kind == ColumnKind::Nanotime {
        attributes.push((".S3Class", build.strings(["integer64"]).unwrap()));
    }
    if matches!(column.kind, ColumnKind::Difftime | ColumnKind::DifftimeInt) {
        let units = match column.scale {
            TimeScale::Seconds => "secs",
            TimeScale::Minutes => "mins",
            TimeScale::Hours => "hours",
            TimeScale::Days => "days",
            _ => "no unit of R",
        };
        attributes.push(("units", build.strings([units]).unwrap()));
    }
    if let Some(zone) = &column.zone {
        attributes.push(("tzone", build.strings([zone.as_str()]).unwrap()));
    }
    build.set_attributes(id, &attributes).unwrap();
    id
}

fn strings(texts: &Texts) -> Strings {
    let mark = match texts.encoding() {
        Encoded::Native => TextEncoding::Native,
        Encoded::Latin1 => TextEncoding::Latin1,
        Encoded::Utf8 => TextEncoding::Utf8,
    };
    let mut strings = Strings::default();
    for text in texts.iter() {
        match text {
            Some(bytes) if bytes.is_ascii() => strings.push(bytes, TextEncoding::Ascii.levels()),
            Some(bytes) => strings.push(bytes, mark.levels()),
            None => strings.push_na(),
        }
    }
    strings
}
