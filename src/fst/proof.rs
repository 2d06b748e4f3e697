//! What must be so before a table is written.

use std::cmp::Ordering;

use super::fault::FORMAT;
use super::packing::NA;
use super::table::{Column, Data, Table};
use crate::{Error, ErrorKind, Result};

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::Usage, text).with_format(FORMAT)
}

/// Columns of one length, of data that their kinds have, codes within levels.
pub(super) fn check(table: &Table) -> Result<()> {
    if i32::try_from(table.columns.len()).is_err() {
        return Err(wrong(format!("{} columns", table.columns.len())));
    }
    for column in &table.columns {
        let name = column.name.chars().take(80).collect::<String>();
        let len = column.data.len() as u64;
        if len != table.rows {
            let text = format!(
                "column {name:?} has {len} values, the table {} rows",
                table.rows
            );
            return Err(wrong(text));
        }
        if column.kind.form() != column.data.form() {
            let text = format!("column {name:?} of kind {:?} with other data", column.kind);
            return Err(wrong(text));
        }
        if column.zone.is_some() && !column.kind.has_zone() {
            let text = format!("column {name:?} of kind {:?} with a time zone", column.kind);
            return Err(wrong(text));
        }
        let odd = match &column.data {
            Data::Factor { codes, levels } => {
                let most = i32::try_from(levels.len()).unwrap_or(i32::MAX);
                outside(codes, 1, most)
            }
            Data::Logical(values) => outside(values, 0, 1),
            _ => None,
        };
        if let Some(odd) = odd {
            let text = format!("{odd} in column {name:?}, which its kind cannot hold");
            return Err(wrong(text));
        }
    }
    Ok(())
}

/// A value that is neither NA nor from `least` to `most`.
fn outside(values: &[i32], least: i32, most: i32) -> Option<i32> {
    let odd = |value: &i32| *value != NA && (*value < least || *value > most);
    if !values.iter().fold(false, |found, value| found | odd(value)) {
        return None;
    }
    values.iter().copied().find(odd)
}

/// The positions of the keys, once the rows are seen to be sorted by them.
pub(super) fn keys(table: &Table, asked: Option<&[usize]>) -> Result<Vec<u32>> {
    let keys = asked.unwrap_or(&table.keys);
    let mut columns = Vec::new();
    let mut positions: Vec<u32> = Vec::new();
    for key in keys {
        let found = table.columns.get(*key).zip(u32::try_from(*key).ok());
        let Some((column, position)) = found.filter(|(_, position)| !positions.contains(position))
        else {
            let text = format!("key column {key} of {}", table.columns.len());
            return Err(wrong(text));
        };
        columns.push(column);
        positions.push(position);
    }
    if columns.is_empty() {
        return Ok(positions);
    }
    let rows = usize::try_from(table.rows).unwrap_or(usize::MAX);
    for row in 1..rows {
        let before = row.saturating_sub(1);
        let order = columns
            .iter()
            .map(|column| compare(column, before, row))
            .find(|order| *order != Ordering::Equal);
        if order == Some(Ordering::Greater) {
            let text = format!(
                "row {} stands before row {row} in the order of the keys",
                row.saturating_add(1)
            );
            return Err(wrong(text));
        }
    }
    Ok(positions)
}

/// The order of data.table: NA first, then NaN, then values; strings by their bytes.
fn compare(column: &Column, one: usize, two: usize) -> Ordering {
    fn by<T: PartialOrd + Copy>(values: &[T], one: usize, two: usize) -> Ordering {
        let pair = values.get(one).zip(values.get(two));
        pair.and_then(|(one, two)| one.partial_cmp(two))
            .unwrap_or(Ordering::Equal)
    }
    match &column.data {
        Data::Logical(values) | Data::Int(values) | Data::Factor { codes: values, .. } => {
            by(values, one, two)
        }
        Data::Int64(values) => by(values, one, two),
        Data::Raw(values) => by(values, one, two),
        Data::Text(texts) => texts.get(one).cmp(&texts.get(two)),
        Data::Double(values) => {
            let rank = |value: f64| match value {
                _ if !value.is_nan() => 2,
                _ if value.to_bits() & 0xFFFF_FFFF == 1954 => 0,
                _ => 1,
            };
            let (Some(a), Some(b)) = (values.get(one), values.get(two)) else {
                return Ordering::Equal;
            };
            rank(*a).cmp(&rank(*b)).then_with(|| by(values, one, two))
        }
    }
}
