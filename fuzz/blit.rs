// What must hold of documents for any bytes; a part of check.rs.

mod blit {
    use serde_json::Value as Json;
    use tare::blit::{
        from_json, Checksum, Duplicates, JsonOptions, KeyOrder, Layout, NonFinite, Numbers, Options, Surrogates,
        Value, View, Writer,
    };
    use tare::blit::collection::{Collection, ReadOptions};
    use tare::{Error, ErrorKind};
    use xxhash_rust::xxh3::Xxh3;

    /// Most values that a walk looks at, so that a few bytes do not take minutes.
    const MOST: usize = 20_000;

    fn json_options(order: KeyOrder) -> JsonOptions {
        JsonOptions {
            order,
            nan: NonFinite::Literal,
            bytes_as_base64: true,
            max_output: 1 << 16,
        }
    }

    /// Any bytes: what is valid is read without an error; what is not gives errors and no more.
    pub fn decodes(data: &[u8]) {
        holds(data);
        if let Some(sealed) = resealed(data) {
            holds(&sealed);
        }
    }

    /// The document with the checksum that it should have, if it has another.
    pub fn resealed(data: &[u8]) -> Option<Vec<u8>> {
        let from = data.len().checked_sub(usize::from(*data.get(data.len().checked_sub(3)?)?))?;
        let flags = *data.get(data.len().checked_sub(5)?)?;
        let sum = data.get(from..from.checked_add(8)?)?;
        if flags & 1 == 0 {
            return None;
        }
        let mut hash = Xxh3::new();
        hash.update(&data[..from]);
        hash.update(&data[from + 8..]);
        let right = hash.digest().to_le_bytes();
        if sum == right {
            return None;
        }
        let mut sealed = data.to_vec();
        sealed[from..from + 8].copy_from_slice(&right);
        Some(sealed)
    }

    fn holds(data: &[u8]) {
        let view = match View::open(data) {
            Ok(view) => view,
            Err(error) => return explained(&error, data),
        };
        let valid = view.validate();
        if let Err(error) = &valid {
            explained(error, data);
        }
        let mut errors = Vec::new();
        for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
            match view.to_json(&json_options(order)) {
                Ok(text) => assert!(text.len() <= 1 << 17, "{} bytes of text", text.len()),
                Err(error) => errors.push(error),
            }
        }
        let mut left = MOST;
        let visited = view.root().and_then(|root| visit(root, valid.is_ok(), &mut left));
        errors.extend(visited.err());
        let paths = ["", "/0", "/a/0", "/0/id", "/1/x/2", "/99999999999"];
        errors.extend(paths.iter().filter_map(|path| view.pointer(path).err()));
        errors.extend(view.keys().filter_map(Result::err));
        if let Ok(summary) = &valid {
            assert_eq!(data.len(), summary.bytes);
            errors.retain(|error| error.kind() != ErrorKind::Limit);
            assert!(errors.is_empty(), "valid, but not to be read: {errors:?}");
        }
    }

    /// Errors of a document name the format, a rule, and a byte of it.
    fn explained(error: &Error, data: &[u8]) {
        assert!(error.to_string().contains("(rule "), "{error}");
        let offset = error.offset().expect("an error has its byte");
        assert!(offset <= data.len() as u64, "{error}");
    }

    fn visit(value: Value<'_>, valid: bool, left: &mut usize) -> Result<(), Error> {
        match value {
            Value::Array(array) => {
                for i in 0..array.len() {
                    if *left == 0 {
                        break;
                    }
                    *left -= 1;
                    visit(array.get(i)?, valid, left)?;
                }
                assert!(array.get(array.len()).is_err());
            }
            Value::Object(object) => {
                for entry in object.iter() {
                    if *left == 0 {
                        break;
                    }
                    *left -= 1;
                    let (name, value) = entry?;
                    if valid && !name.contains('\u{FFFD}') {
                        // The last of equal names, but some value.
                        let found = object.get(&name)?;
                        assert!(found.is_some(), "{name:?} is listed and not found");
                    }
                    visit(value, valid, left)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A collection of any bytes: opened, validated, read to the end.
    pub fn opens(data: &[u8]) {
        collection_holds(data);
        if let Some(sealed) = collection_resealed(data) {
            collection_holds(&sealed);
        }
    }

    fn collection_holds(data: &[u8]) {
        use std::io::{Seek, Write as _};
        thread_local! {
            /// One file, written anew for each input.
            static FILE: std::fs::File = {
                let path = std::env::temp_dir().join(format!("tare-fuzz-{}.blits", std::process::id()));
                let mut options = std::fs::File::options();
                let file = options.read(true).write(true).create(true).truncate(true).open(&path);
                let file = file.expect("a temporary file");
                std::fs::remove_file(&path).expect("its name is not needed");
                file
            };
        }
        let mut file = FILE.with(|file| file.try_clone().expect("a second handle"));
        file.set_len(0).expect("an empty file");
        file.rewind().expect("its start");
        file.write_all(data).expect("space");
        for mmap in [false, true] {
            let options = ReadOptions {
                mmap,
                cache: 1 << 20,
                max_chunk: 1 << 20,
            };
            let opened = Collection::of(file.try_clone().expect("a handle"), &options);
            let collection = match opened {
                Ok(collection) => collection,
                Err(error) => {
                    explained(&error, data);
                    continue;
                }
            };
            let valid = collection.validate();
            let valid = match valid {
                Ok(_) => true,
                Err(error) => {
                    assert!(error.to_string().contains("(rule "), "{error}");
                    assert!(error.offset().is_some(), "{error}");
                    false
                }
            };
            let mut left = MOST / 8;
            let n = collection.len();
            for i in (0..n.min(24)).chain(n.saturating_sub(4)..n) {
                let read = collection.get(i).and_then(|document| {
                    let view = document.view();
                    view.to_json(&json_options(KeyOrder::Insertion))?;
                    view.to_json(&json_options(KeyOrder::Lexical))?;
                    visit(view.root()?, valid, &mut left)
                });
                if let (true, Err(error)) = (valid, read) {
                    assert_eq!(ErrorKind::Limit, error.kind(), "valid, but not to be read: {error}");
                }
            }
            assert!(collection.get(n).is_err());
        }
    }

    /// The collection with the checksums that its last commit should have, if it has others.
    fn collection_resealed(data: &[u8]) -> Option<Vec<u8>> {
        let number = |at: usize| data.get(at..at + 4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
        let footer = data.len().checked_sub(72)?;
        let chunks = number(footer + 20)? as usize;
        let sections = (36..48).step_by(4).map(|at| number(footer + at).map(|n| n as usize));
        let sections: usize = sections.sum::<Option<usize>>()?;
        let index = footer.checked_sub(chunks.checked_mul(32)?)?;
        let start = index.checked_sub(sections)?;
        let mut sealed = data.to_vec();
        for at in (index..footer).step_by(32) {
            let offset = usize::try_from(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?)).ok()?;
            let Some(stored) = data.get(offset..offset.checked_add(number(at + 8)? as usize)?) else {
                continue;
            };
            sealed[at + 24..at + 32].copy_from_slice(&xxhash_rust::xxh3::xxh3_64(stored).to_le_bytes());
        }
        let sum = xxhash_rust::xxh3::xxh3_64(&sealed[start..footer + 56]);
        sealed[footer + 56..footer + 64].copy_from_slice(&sum.to_le_bytes());
        sealed[footer + 64..].copy_from_slice(b"BLS1-end");
        (sealed != data).then_some(sealed)
    }

    /// A JSON text: taken where `serde_json` takes it, and with the same value; text and document
    /// give each other.
    pub fn reads_json(data: &[u8]) {
        let options = Options::default();
        let ours = from_json(data, &options);
        let theirs = serde_json::from_slice::<Json>(data);
        match (&ours, &theirs) {
            (Ok(_), Err(error)) => {
                let text = error.to_string();
                let known = ["number out of range", "recursion limit exceeded"];
                assert!(known.iter().any(|known| text.contains(known)), "only serde_json refuses it: {text}");
            }
            (Err(error), Ok(_)) => panic!("only we refuse it: {error}"),
            _ => {}
        }
        if let Err(error) = &ours {
            assert!(error.offset().is_some_and(|at| at <= data.len() as u64), "{error:?}");
        }
        if let Ok(document) = &ours {
            let view = View::open(document).expect("ours opens");
            view.validate().expect("ours is valid");
            if let Ok(json) = &theirs {
                same_json(json, view.root().expect("a root"));
            }
            let text = view.to_json(&JsonOptions::default()).expect("what was text is text");
            assert!(from_json(&text, &options).expect("our text") == *document, "other bytes of our own text");
            let lexical = JsonOptions {
                order: KeyOrder::Lexical,
                ..JsonOptions::default()
            };
            let sorted = view.to_json(&lexical).expect("sorted text");
            let again = from_json(&sorted, &options).expect("sorted text is text");
            let again = View::open(&again).expect("it opens").to_json(&lexical).expect("sorted");
            assert!(sorted == again, "sorting is not final");
            let canonical = Options {
                canonical: true,
                ..options
            };
            if let Ok(one) = from_json(data, &canonical) {
                assert!(one == from_json(&text, &canonical).expect("our text"), "canonical bytes differ");
            }
        }
        keeps_everything(data, ours.is_ok());
    }

    /// With every option that keeps, the text comes back but for its spaces.
    fn keeps_everything(data: &[u8], taken: bool) {
        for layout in [Layout::Columns, Layout::Rows] {
            let options = Options {
                layout,
                numbers: Numbers::Text,
                duplicates: Duplicates::Keep,
                surrogates: Surrogates::Keep,
                checksum: Checksum::On,
                ..Options::default()
            };
            let Ok(document) = from_json(data, &options) else {
                assert!(!taken, "refused by options that keep");
                continue;
            };
            let view = View::open(&document).expect("ours opens");
            view.validate().expect("ours is valid");
            let text = view.to_json(&JsonOptions::default()).expect("what was text is text");
            if !data.contains(&b'\\') {
                let mut inside = false;
                let kept = data.iter().copied().filter(|&byte| {
                    inside ^= byte == b'"';
                    inside || !byte.is_ascii_whitespace()
                });
                assert!(kept.eq(text.iter().copied()), "other text");
            }
            assert!(from_json(&text, &options).expect("our text") == document, "other bytes of our own text");
        }
    }

    fn same_json(json: &Json, value: Value<'_>) {
        match (json, value) {
            (Json::Null, Value::Null) => {}
            (Json::Bool(a), Value::Bool(b)) => assert_eq!(*a, b),
            (Json::Number(a), Value::Int(b)) => assert_eq!(Some(b), a.as_i64()),
            (Json::Number(a), Value::Uint(b)) => assert_eq!(Some(b), a.as_u64()),
            (Json::Number(a), Value::Float(b)) => {
                assert!(a.is_f64(), "{a} as a float");
                assert_eq!(a.as_f64().map(f64::to_bits), Some(b.to_bits()));
            }
            (Json::Number(a), Value::NumText(b)) => {
                let near: f64 = b.parse().expect("a number");
                assert_eq!(a.as_f64().map(f64::to_bits), Some(near.to_bits()), "{b}");
            }
            (Json::String(a), Value::Str(b)) => assert_eq!(*a, *b),
            (Json::Array(a), Value::Array(b)) => {
                assert_eq!(a.len(), b.len());
                for (json, value) in a.iter().zip(b.iter()) {
                    same_json(json, value.expect("an element"));
                }
            }
            (Json::Object(a), Value::Object(b)) => {
                assert_eq!(Ok(a.len()), b.count().map_err(|error| error.to_string()));
                for ((name, json), entry) in a.iter().zip(b.iter()) {
                    let (found, value) = entry.expect("an entry");
                    assert_eq!(*name, *found);
                    same_json(json, value);
                }
            }
            (json, value) => panic!("{json} as {value:?}"),
        }
    }

    /// A value of any shape.
    #[derive(Clone, Debug)]
    enum Tree {
        Null,
        Bool(bool),
        Int(i64),
        Uint(u64),
        Float(f64),
        NumText(String),
        Str(String),
        Bytes(Vec<u8>),
        Array(Vec<Tree>),
        Object(Vec<(String, Tree)>),
    }

    /// Choices, one byte each; zeros behind the last.
    struct Choices<'d> {
        data: &'d [u8],
        left: usize,
    }

    impl Choices<'_> {
        fn byte(&mut self) -> usize {
            let Some((&first, rest)) = self.data.split_first() else {
                return 0;
            };
            self.data = rest;
            usize::from(first)
        }

        fn word(&mut self) -> u64 {
            (0..8).fold(0, |word, _| word << 8 | self.byte() as u64)
        }

        fn text(&mut self) -> String {
            let n = self.byte() % 24;
            let pool = ["a", "b", "id", "\u{e9}", "\"", "\\", "\n", "\u{1F600}", "\0", "x", "\u{7F}", "\u{FFFF}"];
            (0..n).map(|_| pool[self.byte() % pool.len()]).collect()
        }

        fn float(&mut self) -> f64 {
            match self.byte() % 6 {
                0 => f64::from_bits(self.word()),
                1 => (self.byte() as f64 - 128.0) / 4.0,
                2 => (self.word() as i32 as f64) / 100.0,
                3 => f64::from(f32::from_bits(self.word() as u32)),
                4 => [0.0, -0.0, 1e300, 5e-324, 9_007_199_254_740_992.0, f64::INFINITY][self.byte() % 6],
                _ => self.word() as i64 as f64,
            }
        }

        fn int(&mut self) -> i64 {
            match self.byte() % 5 {
                0 => self.word() as i64,
                1 => self.byte() as i64 - 128,
                2 => i64::MAX - self.byte() as i64,
                3 => i64::MIN + self.byte() as i64,
                _ => 1_000_000_000_000 + self.byte() as i64,
            }
        }

        fn scalar(&mut self) -> Tree {
            match self.byte() % 10 {
                0 => Tree::Null,
                1 => Tree::Bool(self.byte() % 2 == 0),
                2 | 3 => Tree::Int(self.int()),
                4 => Tree::Uint(self.word()),
                5 | 6 => Tree::Float(self.float()),
                7 => Tree::NumText(["-0", "1e999", "123456789012345678901234567890", "0.1000000000000000000001"][self.byte() % 4].into()),
                8 => Tree::Str(self.text()),
                _ => Tree::Bytes(self.text().into_bytes()),
            }
        }

        fn tree(&mut self, depth: usize) -> Tree {
            self.left = self.left.saturating_sub(1);
            if depth == 0 || self.left == 0 {
                return self.scalar();
            }
            match self.byte() % 8 {
                0 | 1 => self.scalar(),
                2 => {
                    let n = self.byte() % 20;
                    Tree::Array((0..n).map(|_| self.tree(depth - 1)).collect())
                }
                3 => {
                    let n = self.byte() % 20;
                    Tree::Object((0..n).map(|_| (self.text(), self.tree(depth - 1))).collect())
                }
                _ => {
                    // Rows that are alike: what becomes columns.
                    let n = [1, 2, 7, 8, 15, 16, 17, 33, 64, 513, 1025][self.byte() % 11];
                    let n = n.min(self.left / 4 + 1);
                    let row = self.tree(depth - 1);
                    Tree::Array((0..n).map(|_| self.like(&row)).collect())
                }
            }
        }

        fn like(&mut self, row: &Tree) -> Tree {
            self.left = self.left.saturating_sub(1);
            match (self.byte() % 16, row) {
                (0, _) => Tree::Null,
                (1, _) => self.scalar(),
                (2..=5, Tree::Int(_)) => Tree::Int(self.int()),
                (2..=5, Tree::Float(_)) => Tree::Float(self.float()),
                (6, Tree::Float(_)) => Tree::Int(self.int()),
                (2..=5, Tree::Bool(_)) => Tree::Bool(self.byte() % 2 == 0),
                (2..=5, Tree::Str(_)) => Tree::Str(self.text()),
                (2..=3, Tree::Array(items)) if !items.is_empty() => {
                    let n = self.byte() % (items.len() + 1);
                    Tree::Array(items[..n].iter().map(|item| self.like(item)).collect())
                }
                (2..=3, Tree::Object(entries)) => {
                    let mut kept = Vec::new();
                    for (name, value) in entries {
                        if self.byte() % 4 != 0 {
                            kept.push((name.clone(), self.like(value)));
                        }
                    }
                    Tree::Object(kept)
                }
                (_, Tree::Array(items)) => Tree::Array(items.iter().map(|item| self.like(item)).collect()),
                (_, Tree::Object(entries)) => {
                    Tree::Object(entries.iter().map(|(name, value)| (name.clone(), self.like(value))).collect())
                }
                (_, row) => row.clone(),
            }
        }
    }

    /// A document of any values and options: what is read is what was written.
    pub fn comes_back(data: &[u8]) {
        let mut choices = Choices { data, left: 3000 };
        let options = choices.byte();
        let pick = |bit: usize| options >> bit & 1 != 0;
        let options = Options {
            layout: if pick(0) { Layout::Rows } else { Layout::Columns },
            duplicates: if pick(1) { Duplicates::Keep } else { Duplicates::Last },
            checksum: if pick(2) { Checksum::On } else { Checksum::Auto },
            aligned: pick(3),
            ..Options::default()
        };
        let mut tree = choices.tree(5);
        let mut writer = Writer::new(options).expect("options that go together");
        write(&mut writer, &tree);
        let document = writer.finish().expect("a whole value");
        if options.duplicates == Duplicates::Last {
            fold(&mut tree);
        }
        let view = View::open(&document).expect("ours opens");
        view.validate().expect("ours is valid");
        same(&tree, &view.root().expect("a root"));
        let text = view.to_json(&JsonOptions {
            max_output: 1 << 32,
            ..json_options(KeyOrder::Insertion)
        });
        let text = text.expect("text");
        if is_json(&tree) {
            let again = from_json(&text, &options).expect("our text");
            assert!(again == document, "other bytes from text than from events");
        }
    }

    fn write(writer: &mut Writer<'_>, tree: &Tree) {
        let done = match tree {
            Tree::Null => writer.null(),
            Tree::Bool(value) => writer.bool(*value),
            Tree::Int(value) => writer.int(*value),
            Tree::Uint(value) => writer.uint(*value),
            Tree::Float(value) => writer.float(*value),
            Tree::NumText(text) => writer.number_text(text),
            Tree::Str(text) => writer.str(text),
            Tree::Bytes(bytes) => writer.bytes(bytes),
            Tree::Array(items) => {
                writer.begin_array().expect("an array");
                for item in items {
                    write(writer, item);
                }
                writer.end()
            }
            Tree::Object(entries) => {
                writer.begin_object().expect("an object");
                for (name, value) in entries {
                    writer.key(name).expect("a name");
                    write(writer, value);
                }
                writer.end()
            }
        };
        done.expect("a value where one belongs");
    }

    /// The last value at the place of the first.
    fn fold(tree: &mut Tree) {
        match tree {
            Tree::Array(items) => items.iter_mut().for_each(fold),
            Tree::Object(entries) => {
                let mut kept: Vec<(String, Tree)> = Vec::new();
                for (name, mut value) in entries.drain(..) {
                    fold(&mut value);
                    match kept.iter_mut().find(|(known, _)| *known == name) {
                        Some(known) => known.1 = value,
                        None => kept.push((name, value)),
                    }
                }
                *entries = kept;
            }
            _ => {}
        }
    }

    /// Whether the text of a tree says all of it.
    fn is_json(tree: &Tree) -> bool {
        match tree {
            Tree::Float(value) => value.is_finite(),
            Tree::Bytes(_) => false,
            Tree::Array(items) => items.iter().all(is_json),
            Tree::Object(entries) => entries.iter().all(|(_, value)| is_json(value)),
            _ => true,
        }
    }

    fn same(tree: &Tree, value: &Value<'_>) {
        match (tree, value) {
            (Tree::Null, Value::Null) => {}
            (Tree::Bool(a), Value::Bool(b)) => assert_eq!(a, b),
            (Tree::Int(a), Value::Int(b)) => assert_eq!(a, b),
            (Tree::Uint(a), Value::Int(b)) => assert_eq!(i64::try_from(*a), Ok(*b)),
            (Tree::Uint(a), Value::Uint(b)) => assert_eq!((a, true), (b, i64::try_from(*a).is_err())),
            (Tree::Float(a), Value::Float(b)) if a.is_nan() => assert!(b.is_nan()),
            (Tree::Float(a), Value::Float(b)) => assert_eq!(a.to_bits(), b.to_bits(), "{a} {b}"),
            (Tree::NumText(a), Value::NumText(b)) => assert_eq!(a, b),
            (Tree::Str(a), Value::Str(b)) => assert_eq!(**a, **b),
            (Tree::Bytes(a), Value::Bytes(b)) => assert_eq!(a, b),
            (Tree::Array(a), Value::Array(b)) => {
                assert_eq!(a.len(), b.len());
                for (i, tree) in a.iter().enumerate() {
                    same(tree, &b.get(i).expect("an element"));
                }
            }
            (Tree::Object(a), Value::Object(b)) => {
                assert_eq!(Ok(a.len()), b.count().map_err(|error| error.to_string()));
                for ((name, tree), entry) in a.iter().zip(b.iter()) {
                    let (found, value) = entry.expect("an entry");
                    assert_eq!(**name, *found);
                    same(tree, &value);
                }
                for (name, _) in a {
                    let last = a.iter().rev().find(|(known, _)| known == name).expect("itself");
                    let found = b.get(name).expect("a lookup").expect("its value");
                    if !matches!(found, Value::Array(_) | Value::Object(_)) {
                        same(&last.1, &found);
                    }
                }
            }
            (tree, value) => panic!("{tree:?} as {value:?}"),
        }
    }
}
