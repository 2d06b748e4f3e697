// What must hold of lines that are read as rows, for any bytes; a part of check.rs.

mod ndjson_rows {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
    use arrow_array::{Array, ArrayRef, StructArray};
    use arrow_schema::{DataType, Field, Fields};
    use serde_json::{Map, Value};
    use tare::blit::{from_json, Duplicates, Options};
    use tare::ndjson::Reader;

    /// A column of each type, and each inside another.
    pub fn fields() -> Fields {
        let list = |kind| DataType::List(Field::new("item", kind, true).into());
        let inner = Fields::from(vec![
            Field::new("f", DataType::Float64, true),
            Field::new("a", list(DataType::Utf8), true),
        ]);
        Fields::from(vec![
            Field::new("i", DataType::Int64, true),
            Field::new("u", DataType::UInt64, true),
            Field::new("f", DataType::Float64, true),
            Field::new("t", DataType::Utf8, true),
            Field::new("b", DataType::Boolean, true),
            Field::new("n", DataType::Null, true),
            Field::new("a", list(list(DataType::Int64)), true),
            Field::new("o", DataType::Struct(inner.clone()), true),
            Field::new("x\"\\\n\u{e9}", list(DataType::Struct(inner)), true),
        ])
    }

    /// Read or refused, as another parser and plain rules have it; and the rows are those of its parts.
    pub fn agrees(data: &[u8]) {
        let fields = fields();
        let mut reader = Reader::new(&fields).expect("these types are read");
        let read = reader.read(data);
        if let Err(error) = &read {
            let offset = error.offset().expect("it says where");
            assert!(offset <= data.len() as u64, "{error}");
        }
        let lines = || data.split(|&byte| byte == b'\n').filter(|line| !is_blank(line));
        if lines().any(is_undecided) {
            return;
        }
        let expected: Option<Vec<Value>> = lines().map(|line| row(line, &fields)).collect();
        let found = read.ok().map(|rows| values(&rows));
        assert_eq!(expected, found, "{}", String::from_utf8_lossy(data));
        let half = data.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
        let (first, second) = data.split_at(half);
        let parts = [first, second].map(|part| reader.read(part).ok().map(|rows| values(&rows)));
        if let (Some(found), [Some(first), Some(second)]) = (found, parts) {
            assert_eq!(found, [first, second].concat());
        }
    }

    fn is_blank(line: &[u8]) -> bool {
        line.iter().all(|byte| b" \t\r".contains(byte))
    }

    /// Numbers that `serde_json` does not tell apart: `-0` and `-0.0`, whole ones beyond 64 bits and decimals.
    fn is_undecided(line: &[u8]) -> bool {
        let digits = |run: &[u8]| run.iter().all(u8::is_ascii_digit);
        line.windows(2).any(|two| two == b"-0") || line.windows(20).any(digits)
    }

    fn row(line: &[u8], fields: &Fields) -> Option<Value> {
        let options = Options {
            duplicates: Duplicates::Error,
            ..Options::default()
        };
        from_json(line, &options).ok()?;
        object(serde_json::from_slice(line).ok()?, fields)
    }

    fn object(value: Value, fields: &Fields) -> Option<Value> {
        let Value::Object(mut given) = value else {
            return None;
        };
        let mut made = Map::new();
        for field in fields {
            let value = given.swap_remove(field.name()).unwrap_or(Value::Null);
            made.insert(field.name().clone(), fit(value, field.data_type())?);
        }
        given.is_empty().then_some(Value::Object(made))
    }

    fn fit(value: Value, kind: &DataType) -> Option<Value> {
        if value.is_null() {
            return Some(Value::Null);
        }
        match kind {
            DataType::Boolean => value.is_boolean().then_some(value),
            DataType::Int64 => value.is_i64().then_some(value),
            DataType::UInt64 => value.is_u64().then_some(value),
            DataType::Float64 => {
                let float = value.as_f64()?;
                let whole = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
                // What is whole must be so as a float.
                whole.is_none_or(|whole| float as i128 == whole).then(|| float.into())
            }
            DataType::Utf8 => value.is_string().then_some(value),
            DataType::Struct(fields) => object(value, fields),
            DataType::List(field) => {
                let Value::Array(values) = value else {
                    return None;
                };
                let values = values.into_iter().map(|value| fit(value, field.data_type()));
                values.collect::<Option<_>>().map(Value::Array)
            }
            _ => None,
        }
    }

    /// The rows of an array, each an object.
    pub fn values(rows: &StructArray) -> Vec<Value> {
        (0..rows.len()).map(|row| object_of(rows, row)).collect()
    }

    fn object_of(rows: &StructArray, row: usize) -> Value {
        let cells = rows.fields().iter().zip(rows.columns());
        Value::Object(cells.map(|(field, column)| (field.name().clone(), cell(column, row))).collect())
    }

    fn cell(column: &ArrayRef, row: usize) -> Value {
        if column.is_null(row) {
            return Value::Null;
        }
        match column.data_type() {
            DataType::Boolean => column.as_boolean().value(row).into(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
            DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into(),
            DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into(),
            DataType::Utf8 => column.as_string::<i32>().value(row).into(),
            DataType::Struct(_) => object_of(column.as_struct(), row),
            DataType::List(_) => {
                let values = column.as_list::<i32>().value(row);
                Value::Array((0..values.len()).map(|i| cell(&values, i)).collect())
            }
            _ => Value::Null,
        }
    }
}
