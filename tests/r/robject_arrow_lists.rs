//! Whole numbers in Arrow's lists as R's values: one R type for a column, whatever its rows hold.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int64Array, ListArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use tare::robject::arrow::{from_arrow, to_arrow, FromArrow, Int64, ToArrow};
use tare::robject::{dput, RObject};

const BIG: i64 = 1 << 60;

fn field(array: &ArrayRef) -> Field {
    Field::new("", array.data_type().clone(), true)
}

fn made(array: &ArrayRef, int64: Int64) -> RObject {
    let options = FromArrow {
        int64,
        ..FromArrow::default()
    };
    let chunks = std::slice::from_ref(array);
    from_arrow(&field(array), chunks, &options).unwrap().0
}

/// What R's values are as Arrow again: without a loss, and R's the same from it.
fn back(object: &RObject) -> ArrayRef {
    let (again, losses) = to_arrow(object, &ToArrow::default()).unwrap();
    let lost: Vec<String> = losses.list().iter().map(ToString::to_string).collect();
    assert_eq!(Vec::<String>::new(), lost);
    again.array.to_data().validate_full().unwrap();
    again.array
}

fn lists<T: ArrowPrimitiveType>(rows: &[Option<Vec<T::Native>>]) -> ArrayRef {
    let rows = rows.iter().map(|row| {
        let row = row.as_ref()?;
        Some(row.iter().copied().map(Some).collect::<Vec<_>>())
    });
    Arc::new(ListArray::from_iter_primitive::<T, _, _>(rows))
}

/// Lists of an array's values, of these lengths.
fn listed(values: ArrayRef, lengths: &[usize]) -> ArrayRef {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    let ends = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(item, ends, values, None))
}

fn structs(values: ArrayRef) -> ArrayRef {
    let fields = Fields::from(vec![Field::new("n", values.data_type().clone(), true)]);
    Arc::new(StructArray::new(fields, vec![values], None))
}

fn numbers() -> ArrayRef {
    Arc::new(Int64Array::from(vec![Some(BIG), Some(3), None]))
}

#[test]
fn rows_of_large_and_small_integers_are_of_one_type() {
    let array = lists::<Int64Type>(&[Some(vec![BIG]), Some(vec![3]), None, Some(Vec::new())]);
    assert_eq!(&array, &back(&made(&array, Int64::Auto)));
    assert_eq!(&array, &back(&made(&array, Int64::Integer64)));
    let doubles = made(&array, Int64::Double);
    let wanted =
        lists::<Float64Type>(&[Some(vec![BIG as f64]), Some(vec![3.0]), None, Some(vec![])]);
    assert_eq!(&wanted, &back(&doubles));
}

#[test]
fn integers_that_all_fit_are_rs_own() {
    let array = lists::<Int64Type>(&[Some(vec![1, -2]), None, Some(vec![3])]);
    let object = made(&array, Int64::Auto);
    let wanted = lists::<Int32Type>(&[Some(vec![1, -2]), None, Some(vec![3])]);
    assert_eq!(&wanted, &back(&object));
}

#[test]
fn parts_of_a_column_are_looked_at_together() {
    let parts = [
        lists::<Int64Type>(&[Some(vec![3])]),
        lists::<Int64Type>(&[Some(vec![BIG])]),
    ];
    let (object, _) = from_arrow(&field(&parts[0]), &parts, &FromArrow::default()).unwrap();
    let whole = lists::<Int64Type>(&[Some(vec![3]), Some(vec![BIG])]);
    assert_eq!(&whole, &back(&object));
}

#[test]
fn rows_beside_a_slice_do_not_widen_it() {
    let array = lists::<Int64Type>(&[Some(vec![BIG]), Some(vec![3])]);
    let wanted = lists::<Int32Type>(&[Some(vec![3])]);
    assert_eq!(&wanted, &back(&made(&array.slice(1, 1), Int64::Auto)));
}

#[test]
fn numbers_without_sign_and_the_smallest_are_of_one_type_too() {
    let mid = lists::<UInt32Type>(&[Some(vec![u32::MAX]), Some(vec![3])]);
    let wanted = lists::<Float64Type>(&[Some(vec![u32::MAX.into()]), Some(vec![3.0])]);
    assert_eq!(&wanted, &back(&made(&mid, Int64::Auto)));
    let large = lists::<UInt64Type>(&[Some(vec![1 << 60]), Some(vec![3])]);
    let same = lists::<Int64Type>(&[Some(vec![1 << 60]), Some(vec![3])]);
    assert_eq!(&same, &back(&made(&large, Int64::Auto)));
    let huge = lists::<UInt64Type>(&[Some(vec![1 << 63]), Some(vec![1 << 60]), Some(vec![3])]);
    let doubles = [(1_u64 << 63) as f64, BIG as f64, 3.0].map(|value| Some(vec![value]));
    let doubles = lists::<Float64Type>(&doubles);
    for int64 in [Int64::Auto, Int64::Integer64, Int64::Double] {
        assert_eq!(&doubles, &back(&made(&huge, int64)));
    }
    let smallest = lists::<Int32Type>(&[Some(vec![i32::MIN]), Some(vec![3])]);
    let wanted = lists::<Float64Type>(&[Some(vec![i32::MIN.into()]), Some(vec![3.0])]);
    assert_eq!(&wanted, &back(&made(&smallest, Int64::Auto)));
}

#[test]
fn numbers_in_lists_of_lists_are_of_one_type() {
    let inner = listed(numbers(), &[1, 0, 1, 1]);
    let array = listed(inner, &[2, 0, 2]);
    assert_eq!(&array, &back(&made(&array, Int64::Auto)));
}

#[test]
fn each_column_of_structs_in_lists_has_a_type() {
    let array = listed(structs(numbers()), &[1, 1, 1]);
    let object = made(&array, Int64::Auto);
    let again = back(&object);
    let items = again.as_any().downcast_ref::<ListArray>().unwrap().values();
    let items = items.as_any().downcast_ref::<StructArray>().unwrap();
    assert_eq!(&numbers(), items.column(0));
    let pair = Fields::from(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("s", DataType::Int64, true),
    ]);
    let small: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let pair: ArrayRef = Arc::new(StructArray::new(pair, vec![numbers(), small], None));
    let object = made(&listed(pair, &[1, 2]), Int64::Auto);
    let said = dput::write(&object).unwrap().0;
    assert_eq!(2, said.matches("integer64").count(), "{said}");
    assert!(said.contains("s = 2:3"), "{said}");
}

#[test]
fn values_of_maps_are_of_one_type() {
    let mut build = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for (key, value) in [("a", BIG), ("b", 3)] {
        build.keys().append_value(key);
        build.values().append_value(value);
        build.append(true).unwrap();
    }
    let array: ArrayRef = Arc::new(build.finish());
    let again = back(&made(&array, Int64::Auto));
    let items = again.as_any().downcast_ref::<ListArray>().unwrap().values();
    let items = items.as_any().downcast_ref::<StructArray>().unwrap();
    let wanted: ArrayRef = Arc::new(Int64Array::from(vec![BIG, 3]));
    assert_eq!(&wanted, items.column(1));
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    assert_eq!(&keys, items.column(0));
}

#[test]
fn numbers_by_codes_and_in_lists_of_one_size_are_of_one_type() {
    let keys = PrimitiveArray::<Int32Type>::from(vec![0, 1, 1]);
    let values: ArrayRef = Arc::new(Int64Array::from(vec![BIG, 3]));
    let coded: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    let plain = lists::<Int64Type>(&[Some(vec![BIG]), Some(vec![3, 3])]);
    assert_eq!(&plain, &back(&made(&listed(coded, &[1, 2]), Int64::Auto)));
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(item, 1, numbers(), None));
    assert_eq!(
        &listed(numbers(), &[1, 1, 1]),
        &back(&made(&fixed, Int64::Auto))
    );
}

#[test]
fn a_list_in_a_column_of_structs_has_a_type_of_its_own() {
    let mut build = ListBuilder::new(Int64Builder::new());
    for value in [3, BIG] {
        build.values().append_value(value);
        build.append(true);
    }
    let object = made(&structs(Arc::new(build.finish())), Int64::Auto);
    let again = back(&object);
    let columns = again.as_any().downcast_ref::<StructArray>().unwrap();
    let wanted = lists::<Int64Type>(&[Some(vec![3]), Some(vec![BIG])]);
    assert_eq!(&wanted, columns.column(0));
}
