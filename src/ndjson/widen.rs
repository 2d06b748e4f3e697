//! Arrays of one block as all blocks together have their types.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{new_null_array, Array, ArrayRef, ListArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, Fields};

use super::{internal, Types};
use crate::{Error, ErrorKind, Result};

/// The rows with the fields of all blocks; names that they have not are null.
///
/// # Errors
/// `Limit`: more of those than there may be. `Internal`: the fields are not those of these rows and others.
pub(super) fn widened(
    rows: &StructArray,
    fields: &Fields,
    types: Types<'_>,
) -> Result<StructArray> {
    if rows.fields() == fields {
        return Ok(rows.clone());
    }
    // Most names stand where they did.
    let columns = fields.iter().enumerate().map(|(at, field)| {
        let same = rows
            .fields()
            .get(at)
            .filter(|one| one.name() == field.name());
        let column = match same {
            Some(_) => rows.columns().get(at),
            None => rows.column_by_name(field.name()),
        };
        match column {
            Some(column) => wider(column, field.data_type(), types),
            None => nulls(field.data_type(), rows.len(), types),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    StructArray::try_new_with_length(fields.clone(), columns, rows.nulls().cloned(), rows.len())
        .map_err(|error| internal(&error))
}

fn wider(array: &ArrayRef, kind: &DataType, types: Types<'_>) -> Result<ArrayRef> {
    if array.data_type() == kind {
        return Ok(Arc::clone(array));
    }
    let made: ArrayRef = match (array.data_type(), kind) {
        (DataType::Null, _) => nulls(kind, array.len(), types)?,
        (DataType::Int64, DataType::Float64) => {
            let array = array.as_primitive::<Int64Type>();
            #[allow(
                clippy::cast_precision_loss,
                reason = "at most 2^53, as they were found to be"
            )]
            let values = array.values().iter().map(|&value| value as f64).collect();
            Arc::new(numbers::<Float64Type>(values, array)?)
        }
        (DataType::Int64, DataType::UInt64) => {
            let array = array.as_primitive::<Int64Type>();
            let values = array.values().iter();
            let values = values.map(|&value| u64::try_from(value).unwrap_or_default());
            Arc::new(numbers::<UInt64Type>(values.collect(), array)?)
        }
        (DataType::List(_), DataType::List(field)) => {
            let array = array.as_list::<i32>();
            let values = wider(array.values(), field.data_type(), types)?;
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            let made = ListArray::try_new(Arc::clone(field), offsets, values, nulls);
            Arc::new(made.map_err(|error| internal(&error))?)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            Arc::new(widened(array.as_struct(), fields, types)?)
        }
        (from, to) => {
            let text = format!("a column of {from} among columns of {to}");
            return Err(Error::new(ErrorKind::Internal, text).with_format("ndjson"));
        }
    };
    Ok(made)
}

/// An array of nulls.
fn nulls(kind: &DataType, len: usize, types: Types<'_>) -> Result<ArrayRef> {
    types.fill(leaves(kind).saturating_mul(len))?;
    Ok(new_null_array(kind, len))
}

/// How many arrays hold the values of a type.
fn leaves(kind: &DataType) -> usize {
    match kind {
        DataType::Struct(fields) => {
            let leaves = fields.iter().map(|field| leaves(field.data_type()));
            leaves.fold(1, usize::saturating_add)
        }
        _ => 1,
    }
}

fn numbers<T: arrow_array::ArrowPrimitiveType>(
    values: Vec<T::Native>,
    like: &PrimitiveArray<Int64Type>,
) -> Result<PrimitiveArray<T>> {
    PrimitiveArray::try_new(values.into(), like.nulls().cloned()).map_err(|error| internal(&error))
}
