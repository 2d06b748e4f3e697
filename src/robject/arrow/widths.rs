//! One R type for the whole numbers in a column of lists, whatever a single row of it holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::from::From;
use super::from_nested::{dictionary_values, list_at, masked};
use super::from_numbers::{narrowed, whole_numbers, BEYOND};
use super::keyed::Key;
use super::to::too_deep;
use super::MOST_DEPTH;
use crate::Result;

/// What the values of all rows need at one place of a type, and at the places within it.
#[derive(Clone, Debug, Default)]
pub(super) struct Width {
    /// Whether some value is none of R's integers.
    pub wide: bool,
    /// Whether some value needs more than 63 bits.
    pub huge: bool,
    children: BTreeMap<usize, Arc<Self>>,
}

impl Width {
    pub fn child(&self, at: usize) -> Option<Arc<Self>> {
        self.children.get(&at).cloned()
    }

    fn child_mut(&mut self, at: usize) -> &mut Self {
        Arc::make_mut(self.children.entry(at).or_default())
    }
}

impl From<'_> {
    /// The key of the items of lists. Vectors of two rows may be of two types in R, not in Arrow:
    /// what all rows hold decides for each, once for lists in lists.
    pub(super) fn items_key(&self, item: &DataType, chunks: &[ArrayRef], key: &Key) -> Result<Key> {
        if let Some(width) = key.width() {
            return Ok(Key::of_width(width.child(0)));
        }
        if !holds_whole(item) {
            return Ok(Key::new(None));
        }
        let mut width = Width::default();
        for chunk in chunks {
            self.measure(chunk, &mut width, self.depth)?;
        }
        Ok(Key::of_width(width.child(0)))
    }

    /// Widens to what the values of an array need.
    fn measure(&self, array: &ArrayRef, width: &mut Width, depth: usize) -> Result<()> {
        if depth >= MOST_DEPTH {
            return Err(too_deep());
        }
        let depth = depth.saturating_add(1);
        if !holds_whole(array.data_type()) {
            return Ok(());
        }
        match array.data_type() {
            DataType::Struct(_) => {
                let array = array.as_struct();
                for (at, column) in array.columns().iter().enumerate() {
                    let column = masked(column, array.nulls())?;
                    self.measure(&column, width.child_mut(at), depth)?;
                }
            }
            DataType::Dictionary(..) => {
                if let Some(values) = dictionary_values(array)? {
                    self.measure(&values, width, depth)?;
                }
            }
            DataType::RunEndEncoded(..) => {
                for values in self.expanded_runs(std::slice::from_ref(array))? {
                    self.measure(&values, width, depth)?;
                }
            }
            DataType::Int32 | DataType::UInt32 | DataType::Int64 | DataType::UInt64 => {
                let values = whole_numbers(array.data_type(), std::slice::from_ref(array));
                let huge = *array.data_type() == DataType::UInt64 && values.contains(&BEYOND);
                width.huge |= huge;
                width.wide |= narrowed(&values).is_none();
            }
            _ => {
                for row in 0..array.len() {
                    if let Some(values) = list_at(array, row) {
                        self.measure(&values, width.child_mut(0), depth)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a type has whole numbers in it for which R has more than one type.
fn holds_whole(data_type: &DataType) -> bool {
    match data_type {
        DataType::Int32 | DataType::UInt32 | DataType::Int64 | DataType::UInt64 => true,
        DataType::Dictionary(_, values) => holds_whole(values),
        DataType::Struct(fields) => fields.iter().any(|field| holds_whole(field.data_type())),
        DataType::RunEndEncoded(_, item)
        | DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => holds_whole(item.data_type()),
        _ => false,
    }
}
