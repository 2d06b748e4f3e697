//! Random Arrow batches of every type that R takes: as R's values and back they hold the same.

use crate::arrow_random;

use arrow_array::Array;
use arrow_schema::DataType;
use proptest::prelude::*;
use tare::robject::arrow::{from_batches, to_arrow, FromArrow, Int64, ToArrow};
use tare::robject::{dput, rds, LossKind, ReadOptions, WriteOptions};

use arrow_random::{batch, shown};

/// Whether a type is of whole numbers alone: of lists of them, and structs in such lists.
fn is_whole(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            match item.data_type() {
                DataType::Struct(fields) => fields.iter().all(|f| f.data_type().is_integer()),
                inner => is_whole(inner),
            }
        }
        other => other.is_integer(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn batches_hold_the_same_after_r(seed in any::<u64>(), int64 in 0..2_usize) {
        let batch = batch(seed);
        let from = FromArrow {
            int64: [Int64::Auto, Int64::Integer64][int64],
            ..FromArrow::default()
        };
        let (object, losses) = from_batches(std::slice::from_ref(&batch), &from).unwrap();
        // R's own serialization takes it.
        let plain = rds::serialize(&object, &WriteOptions::default()).unwrap();
        let read = rds::parse(&plain, &ReadOptions::default()).unwrap();
        prop_assert!(object.identical(&read).unwrap());
        let (made, more) = to_arrow(&read, &ToArrow::default()).unwrap();
        made.array.to_data().validate_full().unwrap();
        let again = made.batch().unwrap();
        prop_assert_eq!(again.num_rows(), batch.num_rows());
        prop_assert_eq!(again.num_columns(), batch.num_columns());
        for (at, field) in batch.schema().fields().iter().enumerate() {
            prop_assert_eq!(field.name(), again.schema_ref().field(at).name());
            // What is told at this column may differ; nothing else.
            let path = format!("${}", field.name());
            let told = losses.list().iter().chain(more.list());
            let told: Vec<String> = told
                .filter(|loss| !loss.kind.is_information() && loss.path.starts_with(&path))
                .map(ToString::to_string)
                .collect();
            let (one, two) = (batch.column(at), again.column(at));
            // One type of Arrow is one of R in all rows: none needs R's serialization.
            let opaque = more.list().iter().any(|loss| {
                loss.kind == LossKind::CodeOpaque && loss.path.starts_with(&path)
            });
            let whole = is_whole(field.data_type());
            prop_assert!(!whole || !opaque, "{}: {:?}", field.data_type(), more.list());
            for row in 0..batch.num_rows() {
                let (before, after) = (shown(one, row), shown(two, row));
                prop_assert!(
                    before == after || !told.is_empty(),
                    "{} row {row}: {before} became {after}",
                    field.data_type()
                );
            }
        }
        // The second time nothing changes, and nothing is told.
        let strict = FromArrow { strict: true, ..from };
        let (second, _) = from_batches(std::slice::from_ref(&again), &strict).unwrap();
        // A list of vectors of several types of number has one afterwards, which is told.
        let same = more.list().iter().all(|loss| loss.kind == LossKind::AltrepExpanded);
        if same && losses.list().iter().all(|loss| loss.kind.is_information()) {
            for at in 0..again.num_columns() {
                let (one, two) = (read.child(at).unwrap(), second.child(at).unwrap());
                let text = |object| dput::write(object).map(|(text, _)| text);
                let field = batch.schema_ref().field(at).data_type();
                prop_assert!(one.identical(&two).unwrap(), "{field}: {:?} {:?}", text(&one), text(&two));
            }
            prop_assert!(read.identical(&second).unwrap(), "{:?}", batch.schema());
        }
        let (third, _) = to_arrow(&second, &ToArrow::default()).unwrap();
        prop_assert_eq!(third.field.data_type(), &arrow_schema::DataType::Struct(again.schema().fields().clone()));
        for at in 0..again.num_columns() {
            for row in 0..again.num_rows() {
                let third = third.batch().unwrap();
                prop_assert_eq!(shown(again.column(at), row), shown(third.column(at), row));
            }
        }
    }

    #[test]
    fn batches_in_parts_are_the_whole(seed in any::<u64>()) {
        let batch = batch(seed);
        let rows = batch.num_rows();
        let cut = if rows == 0 { 0 } else { seed as usize % (rows + 1) };
        let parts = [batch.slice(0, cut), batch.slice(cut, rows - cut)];
        let from = FromArrow { int64: Int64::Integer64, ..FromArrow::default() };
        let (whole, _) = from_batches(&[batch], &from).unwrap();
        let (joined, _) = from_batches(&parts, &from).unwrap();
        prop_assert!(whole.identical(&joined).unwrap());
    }
}
