//! Blocks of Avro as Arrow columns.

use std::sync::Arc;

use arrow_array::{Array, StructArray};
use arrow_schema::{Field, Fields};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tare::avro::{self, Kind};

use crate::ndjson::NdjsonRows;

/// Name, kind, and whether null is the first branch of its union; None without a union.
type Given = (String, String, Option<bool>);

#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "Python lists are copied once in any case"
)]
pub fn read_avro_blocks(
    py: Python<'_>,
    blocks: Vec<(PyBackedBytes, usize)>,
    fields: Vec<Given>,
) -> PyResult<Option<NdjsonRows>> {
    let mut known = Vec::with_capacity(fields.len());
    for (_, kind, null_first) in &fields {
        let field = avro::Field::new(kind_of(kind)?);
        known.push(null_first.map_or(field, |first| field.nullable(first)));
    }
    Ok(py.detach(|| {
        let blocks: Vec<(&[u8], usize)> = blocks
            .iter()
            .map(|(data, rows)| (&data[..], *rows))
            .collect();
        let arrays = avro::read_blocks(&blocks, &known)?;
        let named = fields.into_iter().zip(&arrays);
        let fields: Fields = named
            .map(|((name, _, _), array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let rows = StructArray::try_new(fields, arrays, None).ok()?;
        let field = Field::new("", rows.data_type().clone(), false);
        Some(NdjsonRows(field, Arc::new(rows)))
    }))
}

fn kind_of(name: &str) -> PyResult<Kind> {
    Ok(match name {
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "string" => Kind::Text,
        "bytes" => Kind::Bytes,
        _ => {
            return Err(PyValueError::new_err(
                "invalid type: expected a plain one of Avro",
            ))
        }
    })
}
