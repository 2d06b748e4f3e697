// What must hold of lines and arrays whose columns are found on the way, for any bytes; a part of check.rs.

mod ndjson_columns {
    use arrow_array::{Array, StructArray};
    use arrow_schema::{DataType, Field, Fields};
    use serde_json::{Map, Value};
    use tare::ndjson::{ChangeKind, Counts, Finder, Reader, Structure};

    /// Levels that both parsers read.
    const LEVELS: usize = 60;
    /// Whole numbers up to here are doubles, all of them.
    const EXACT: u64 = 1 << 53;

    /// A table: its columns, its rows and what is told of them.
    type Table = (Fields, Vec<Value>, Vec<Told>);
    /// A path, what became of its values, and how many.
    type Told = (String, bool, u64);

    /// The first byte says how the text is cut; the others are lines, and an array if one begins there.
    pub fn agrees(data: &[u8]) {
        let Some((&how, text)) = data.split_first() else {
            return;
        };
        structure(text, usize::from(how));
        let size = 1 + usize::from(how >> 2);
        let threads = 1 + usize::from(how & 3);
        let found = lines(&[text], usize::MAX, 1);
        assert_eq!(found, lines(&[text], size, threads), "in blocks of {size}");
        let half = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let (first, second) = text.split_at(half);
        assert_eq!(found, lines(&[first, second], size, threads), "in two parts");
        let whole = array(text, usize::MAX, 1);
        assert_eq!(whole, array(text, size, threads), "an array in parts of {size}");
        if is_undecided(text) {
            return;
        }
        let values = Value::Array(vec![]);
        assert_eq!(whole, serde_json::from_slice(text).ok().filter(|_| is_once(text)).and_then(|read: serde_json::Value| {
            // An empty array has no rows.
            if read == values { Some((Fields::empty(), vec![], vec![])) } else { table(read.as_array()?) }
        }), "{}", String::from_utf8_lossy(text));
        let parts: Vec<_> = text.split(|&byte| byte == b'\n').filter(|line| !is_blank(line)).collect();
        let read = parts.iter().map(|line| serde_json::from_slice(line).ok().filter(|_| is_once(line)));
        let expected = read.collect::<Option<Vec<Value>>>().and_then(|rows| table(&rows));
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(text));
        if let Some((fields, rows, _)) = found {
            known(text, &fields, &rows);
            let joined = [b"[", &parts.join(&b", "[..])[..], b"]"].concat();
            assert_eq!(array(&joined, size, threads), expected, "as an array");
        }
    }

    /// A reader that knows the columns reads the same rows.
    fn known(text: &[u8], fields: &Fields, rows: &[Value]) {
        let mut reader = Reader::new(fields).expect("these types are read");
        let read = reader.read(text).expect("these lines were read");
        assert_eq!(rows, super::ndjson_rows::values(&read));
        let mut finder = Finder::of(fields).with_block_bytes(40);
        finder.read(text, 2).expect("these lines were read");
        assert_eq!(fields, &finder.fields());
        assert_eq!(rows, all(&finder.take().expect("of the fields")));
    }

    fn lines(parts: &[&[u8]], size: usize, threads: usize) -> Option<Table> {
        let mut finder = Finder::new().with_block_bytes(size);
        let length: usize = parts.iter().map(|part| part.len()).sum();
        for part in parts {
            let read = finder.read(part, threads);
            ended(read, length)?;
        }
        Some(taken(finder))
    }

    fn array(text: &[u8], size: usize, threads: usize) -> Option<Table> {
        let mut finder = Finder::new().with_block_bytes(size);
        ended(finder.read_array(text, threads), text.len())?;
        Some(taken(finder))
    }

    /// None after an error, which lies in the text if it says where.
    fn ended(read: tare::Result<()>, length: usize) -> Option<()> {
        if let Err(error) = &read {
            assert!(error.kind() != tare::ErrorKind::Internal, "{error}");
            assert!(error.offset().is_none_or(|at| at <= length as u64), "{error}");
        }
        read.ok()
    }

    fn taken(mut finder: Finder) -> Table {
        let batches = finder.take().expect("few names");
        for rows in &batches {
            let data = rows.to_data();
            data.validate_full().expect("arrays that are valid");
            assert_eq!(rows.fields(), &finder.fields());
        }
        let rows = all(&batches);
        assert_eq!(finder.rows(), rows.len() as u64);
        let changes = finder.changes().into_iter();
        let changes = changes.map(|one| {
            assert!(one.path.starts_with(&one.column));
            (one.path, one.kind == ChangeKind::Missing, one.count)
        });
        (finder.fields(), rows, sorted(changes.collect()))
    }

    fn all(batches: &[StructArray]) -> Vec<Value> {
        batches.iter().flat_map(super::ndjson_rows::values).collect()
    }

    fn sorted(mut told: Vec<Told>) -> Vec<Told> {
        told.sort();
        told
    }

    fn is_blank(line: &[u8]) -> bool {
        line.iter().all(|byte| b" \t\r".contains(byte))
    }

    /// Numbers that `serde_json` does not tell apart, `-0` and `-0.0`, whole ones beyond 64 bits and decimals; and levels that
    /// one of the parsers does not read.
    fn is_undecided(text: &[u8]) -> bool {
        let digits = |run: &[u8]| run.iter().all(u8::is_ascii_digit);
        let opened = text.iter().filter(|byte| b"[{".contains(byte)).count();
        text.windows(2).any(|two| two == b"-0") || text.windows(20).any(digits) || opened > LEVELS
    }

    /// Returns whether no object of a valid text repeats a name: then it has as many names as colons.
    fn is_once(text: &[u8]) -> bool {
        let (mut colons, mut inside, mut escaped) = (0, false, false);
        for &byte in text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = inside,
                b'"' => inside = !inside,
                b':' if !inside => colons += 1,
                _ => {}
            }
        }
        serde_json::from_slice(text).is_ok_and(|value| names(&value) == colons)
    }

    fn names(value: &Value) -> usize {
        match value {
            Value::Array(values) => values.iter().map(names).sum(),
            Value::Object(values) => values.len() + values.values().map(names).sum::<usize>(),
            _ => 0,
        }
    }

    /// The table of objects as plain rules have it; None if they are none.
    fn table(rows: &[Value]) -> Option<Table> {
        let objects = rows.iter().map(Value::as_object).collect::<Option<Vec<_>>>()?;
        let mut told = Vec::new();
        let fields = fields_of(&objects, None, &mut told)?;
        let rows = objects.into_iter().map(|row| Value::Object(filled(row, &fields)));
        Some((fields.clone(), rows.collect(), sorted(told)))
    }

    fn fields_of(objects: &[&Map<String, Value>], above: Option<&str>, told: &mut Vec<Told>) -> Option<Fields> {
        let mut names: Map<String, Value> = Map::new();
        for name in objects.iter().flat_map(|object| object.keys()) {
            names.insert(name.clone(), Value::Null);
        }
        let fields = names.keys().map(|name| {
            let values: Vec<_> = objects.iter().filter_map(|object| object.get(name)).collect();
            let path = above.map_or_else(|| name.clone(), |above| format!("{above}.{name}"));
            let missing = (objects.len() - values.len()) as u64;
            if missing > 0 {
                told.push((path.clone(), true, missing));
            }
            Some(Field::new(name, kind_of(&values, &path, told)?, true))
        });
        fields.collect::<Option<Vec<_>>>().map(Fields::from)
    }

    /// The one type of values; None if there is none.
    fn kind_of(values: &[&Value], path: &str, told: &mut Vec<Told>) -> Option<DataType> {
        let values: Vec<_> = values.iter().copied().filter(|value| !value.is_null()).collect();
        let Some(first) = values.first() else {
            return Some(DataType::Null);
        };
        match first {
            Value::Bool(_) => values.iter().all(|value| value.is_boolean()).then_some(DataType::Boolean),
            Value::String(_) => values.iter().all(|value| value.is_string()).then_some(DataType::Utf8),
            Value::Number(_) => numbers(&values, path, told),
            Value::Array(_) => {
                let lists = values.iter().map(|value| value.as_array()).collect::<Option<Vec<_>>>()?;
                let items: Vec<_> = lists.into_iter().flatten().collect();
                let item = kind_of(&items, &format!("{path}[]"), told)?;
                Some(DataType::List(Field::new("item", item, true).into()))
            }
            Value::Object(_) => {
                let objects = values.iter().map(|value| value.as_object()).collect::<Option<Vec<_>>>()?;
                fields_of(&objects, Some(path), told).map(DataType::Struct)
            }
            Value::Null => None,
        }
    }

    fn numbers(values: &[&Value], path: &str, told: &mut Vec<Told>) -> Option<DataType> {
        if !values.iter().all(|value| value.is_number()) {
            return None;
        }
        let whole = values.iter().filter(|value| !value.is_f64());
        if values.iter().any(|value| value.is_f64()) {
            let exact = |value: &&Value| {
                let size = value.as_i64().map(i64::unsigned_abs).or(value.as_u64());
                size.is_some_and(|size| size <= EXACT)
            };
            let count = whole.clone().count() as u64;
            if count > 0 {
                told.push((path.to_owned(), false, count));
            }
            return whole.clone().all(exact).then_some(DataType::Float64);
        }
        if values.iter().all(|value| value.is_i64()) {
            return Some(DataType::Int64);
        }
        values.iter().all(|value| value.is_u64()).then_some(DataType::UInt64)
    }

    fn filled(object: &Map<String, Value>, fields: &Fields) -> Map<String, Value> {
        let values = fields.iter().map(|field| {
            let value = object.get(field.name()).unwrap_or(&Value::Null);
            (field.name().clone(), fit(value, field.data_type()))
        });
        values.collect()
    }

    fn fit(value: &Value, kind: &DataType) -> Value {
        match (kind, value) {
            (DataType::Float64, Value::Number(number)) => number.as_f64().into(),
            (DataType::Struct(fields), Value::Object(object)) => Value::Object(filled(object, fields)),
            (DataType::List(field), Value::Array(values)) => {
                values.iter().map(|value| fit(value, field.data_type())).collect()
            }
            _ => value.clone(),
        }
    }

    /// The counts of a text are the same however it is cut; of a valid one they are those of a parser.
    fn structure(text: &[u8], step: usize) {
        let mut whole = Structure::default();
        whole.pass(text);
        let mut parts = Structure::default();
        for part in text.chunks(step % 16 + 1) {
            parts.pass(part);
        }
        let counts = whole.counts();
        assert_eq!(counts, parts.counts());
        assert_eq!(counts.length, text.len() as u64);
        let bytes = counts.strings + counts.keys + counts.numbers + counts.words + counts.structure + counts.space;
        assert_eq!(bytes, counts.length, "each byte is counted once");
        if let Ok(value) = serde_json::from_slice::<Value>(text) {
            if is_once(text) {
                parsed(&value, &counts);
            }
        }
    }

    fn parsed(value: &Value, counts: &Counts) {
        let (depth, leaves) = shape(value);
        assert_eq!((depth, 0, false), (counts.depth, counts.open_levels, counts.in_string));
        assert_eq!((leaves, names(value) as u64), (counts.values, counts.key_count));
    }

    /// How deep a value is, and how many of its values hold none.
    fn shape(value: &Value) -> (i64, u64) {
        let inner: Vec<_> = match value {
            Value::Array(values) => values.iter().map(shape).collect(),
            Value::Object(values) => values.values().map(shape).collect(),
            _ => return (0, 1),
        };
        let depth = inner.iter().map(|one| one.0).max().unwrap_or(0);
        (depth + 1, inner.iter().map(|one| one.1).sum())
    }
}
