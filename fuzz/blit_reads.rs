// What must hold of the ways to a part of a document, and of changes to it; a part of check.rs.

mod blit_reads {
    use tare::blit::{
        from_json, Duplicates, Edit, JsonOptions, JsonPath, Options, Path, Surrogates, Tree, Value,
        View,
    };
    use tare::{Error, ErrorKind};

    /// Most values that a query looks at.
    const MOST: u64 = 5_000;

    /// A length, a query or pointer of so many bytes, and a document.
    pub fn reads(data: &[u8]) {
        let Some((&size, rest)) = data.split_first() else {
            return;
        };
        let (text, document) = rest.split_at(usize::from(size).min(rest.len()));
        let Ok(text) = std::str::from_utf8(text) else {
            return;
        };
        holds(text, document);
        if let Some(sealed) = super::blit::resealed(document) {
            holds(text, &sealed);
        }
    }

    fn holds(text: &str, document: &[u8]) {
        let Ok(view) = View::open(document) else {
            return;
        };
        let valid = view.validate().is_ok();
        let mut errors = Vec::new();
        errors.extend(queries(&view, text, valid).err());
        errors.extend(paths(&view, text, valid).err());
        errors.extend(columns(&view, text).err());
        if is_small(&view) {
            errors.extend(changes(&view, text, valid).err());
        }
        if valid {
            errors.retain(|error| {
                !matches!(
                    error.kind(),
                    ErrorKind::Limit | ErrorKind::Usage | ErrorKind::NotFound
                )
            });
            assert!(errors.is_empty(), "valid, but not to be read: {errors:?}");
        }
    }

    /// What a query finds lies at the path that it says.
    fn queries(view: &View<'_>, text: &str, valid: bool) -> Result<(), Error> {
        let query = match JsonPath::parse(text) {
            Ok(query) => query,
            Err(error) => {
                let known = matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported);
                assert!(known, "{error}");
                return Ok(());
            }
        };
        let values = view.find_within(&query, MOST)?.values();
        let mut others = view.find_within(&query, MOST)?;
        for value in values.take(200) {
            let (path, other) = match (value, others.next()) {
                (Ok(value), Some(Ok((path, other)))) => {
                    assert!(
                        !valid || looks(&value) == looks(&other),
                        "with its path another value"
                    );
                    (path, other)
                }
                (Err(error), _) | (_, Some(Err(error))) => return Err(error),
                (Ok(_), None) => panic!("fewer values with their paths"),
            };
            // Names with half of a surrogate pair, and those that stand twice, cannot be asked for.
            let pointer = path.pointer();
            if valid && !pointer.contains('\u{FFFD}') && !view.keeps_duplicates() {
                let at = view
                    .pointer(&pointer)?
                    .unwrap_or_else(|| panic!("nothing at {pointer}"));
                assert_eq!(looks(&other), looks(&at), "another value at {pointer}");
            }
        }
        Ok(())
    }

    /// However a pointer is followed, it leads to the same value.
    fn paths(view: &View<'_>, text: &str, valid: bool) -> Result<(), Error> {
        let path = Path::parse(text)?;
        let found = view.get(&path)?;
        let compiled = path.compile(view)?;
        let prepared = view.prepare(&compiled)?;
        if valid {
            let found = found.as_ref().map(looks);
            assert_eq!(found, view.get(&compiled)?.as_ref().map(looks), "compiled");
            assert_eq!(found, prepared.get()?.as_ref().map(looks), "prepared");
            assert_eq!(
                found,
                Edit::new(*view).get(text)?.map(|_| ()).and(found.clone()),
                "in an edit"
            );
        }
        Ok(())
    }

    fn columns(view: &View<'_>, name: &str) -> Result<(), Error> {
        let Value::Array(rows) = view.root()? else {
            return Ok(());
        };
        for chunk in rows.column(&[name])?.unwrap_or_default() {
            let n = chunk.len();
            chunk.names()?;
            chunk.numbers()?;
            if let Some((_, rest)) = chunk.present()? {
                assert!(rest.len() <= n, "more are present than there are");
            }
            chunk.codes()?;
            chunk.texts()?;
        }
        Ok(())
    }

    /// Whether it has few values: a few bytes can say 2^28, which are all written again.
    fn is_small(view: &View<'_>) -> bool {
        let all = JsonPath::parse("$..*").expect("a query");
        let found = view.find_within(&all, MOST);
        found.is_ok_and(|found| found.values().all(|value| value.is_ok()))
    }

    /// What is set is there, what is deleted is gone, and the document is one again.
    fn changes(view: &View<'_>, pointer: &str, valid: bool) -> Result<(), Error> {
        let new = from_json(br#"{"new": [1, null, "x"]}"#, &Options::default())?;
        let new = View::open(&new)?;
        // What the document may have and the default options refuse.
        let options = Options {
            duplicates: Duplicates::Keep,
            surrogates: Surrogates::Keep,
            ..Options::default()
        };
        for change in 0..3 {
            let mut edit = Edit::new(*view);
            let made = match change {
                0 => edit.set(pointer, Tree::from_view(&new)?),
                1 => edit.insert(pointer, Tree::from_view(&new)?),
                _ => edit.delete(pointer),
            };
            let document = made.and_then(|()| edit.to_blit(&options));
            let document = match document {
                Ok(document) => document,
                Err(_) if !valid => continue,
                // Options that keep less than the document has may refuse it.
                Err(error) if error.kind() == ErrorKind::Unsupported => continue,
                Err(error) => return Err(error),
            };
            let after = View::open(&document)?;
            assert!(
                !valid || after.validate().is_ok(),
                "not valid after a change"
            );
            if valid && change < 2 && !pointer.ends_with('-') {
                let there = after.pointer(pointer)?.as_ref().map(looks);
                assert_eq!(
                    Some(looks(&new.root()?)),
                    there,
                    "what was put at {pointer:?}"
                );
            }
        }
        Ok(())
    }

    /// A value as text, as far as it is short.
    fn looks(value: &Value<'_>) -> String {
        let options = JsonOptions {
            max_output: 1 << 14,
            bytes_as_base64: true,
            nan: tare::blit::NonFinite::Literal,
            ..JsonOptions::default()
        };
        let text = match value {
            Value::Array(array) => array.to_json(&options),
            Value::Object(object) => object.to_json(&options),
            scalar => return format!("{scalar:?}"),
        };
        match text {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) => format!("{:?}", error.kind()),
        }
    }
}
