/// Names and small files of R's stores.
mod store_names {
    use tare::store::drivers::storr::{mangle, parse_key, parse_setting, unmangle};
    use tare::store::Algorithm;

    /// What is a key leads back to itself; what is a hash stands in the file; a setting is one line.
    pub fn parsed(data: &[u8]) {
        for algorithm in Algorithm::ALL {
            if let Some(hash) = parse_key(data, *algorithm) {
                assert_eq!(algorithm.bytes(), hash.as_bytes().len());
                assert!(data.starts_with(hash.hex().as_bytes()));
            }
        }
        if let Some(setting) = parse_setting(data) {
            assert!(!setting.is_empty() && !setting.contains(['\n', '\r', '\0']));
        }
        let Ok(text) = std::str::from_utf8(data) else {
            return;
        };
        for pad in [false, true] {
            let name = mangle(text, pad);
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte)));
            assert_eq!(Some(text), unmangle(&name).as_deref());
        }
        if let Some(key) = unmangle(text) {
            assert_eq!(text.trim_end_matches('='), mangle(&key, false));
        }
    }
}

/// The index of a folder, its marker, and the records of object stores.
mod store_records {
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;

    use tare::store::drivers::records::{escape, parse_tail, tail, unescape, KeyText};
    use tare::store::{CheckLevel, Durability, GcOptions, Key, OpenOptions, SetOptions, Source, Store};

    /// Keys of the store whose index is edited.
    const KEYS: usize = 40;
    const INDEX: &str = "index.sqlite";
    const MARKER: &str = "tare-store.json";

    /// A store in a folder of this process, and its index and marker as they were written.
    struct Made {
        path: PathBuf,
        index: Vec<u8>,
        marker: Vec<u8>,
    }

    fn opened(path: &Path, read_only: bool) -> tare::Result<Store> {
        let durability = Durability::None;
        let options = OpenOptions { read_only, durability, ..OpenOptions::default() };
        Store::open(path.to_str().unwrap_or_default(), &options)
    }

    /// Values in a row, in the table of blobs, and in files.
    fn value(at: usize) -> Vec<u8> {
        let size = [8, 40, 600, 5000, 70_000][at % 5];
        let mut state = at as u32 + 1;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        noise.take(size).collect()
    }

    fn made() -> &'static Made {
        static MADE: OnceLock<Made> = OnceLock::new();
        MADE.get_or_init(|| {
            let path = std::env::temp_dir().join(format!("tare-fuzz-index-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            let store = opened(&path, false).unwrap();
            for at in 0..KEYS {
                let (key, value) = (format!("key {at}"), value(at));
                let source = Source::Bytes(&[&value]);
                store.set(Key::from(&*key), "raw", source, &SetOptions::default()).unwrap();
            }
            store.del(&[Key::from("key 39")]).unwrap();
            drop(store);
            let read = |name: &str| std::fs::read(path.join(name)).unwrap();
            let (index, marker) = (read(INDEX), read(MARKER));
            Made { path, index, marker }
        })
    }

    /// What is read is right, or an error says that something is not; nothing panics.
    fn used(store: &Store) {
        let keys: Vec<String> = (0..KEYS).map(|at| format!("key {at}")).collect();
        let keys: Vec<Key<'_>> = keys.iter().map(|key| Key::from(&**key)).collect();
        for (at, key) in keys.iter().enumerate() {
            if let Ok(got) = store.get(*key).and_then(tare::store::Object::bytes) {
                assert!(got == value(at), "{key}");
            }
        }
        if let Ok(mut found) = store.gather(&keys, 64 << 10) {
            for at in 0..KEYS {
                if let tare::store::Gotten::Bytes(_, bytes) = found.take(at) {
                    assert!(bytes == value(at), "{at}");
                }
            }
        }
        for key in store.keys("objects", "key").take(1000) {
            if key.is_err() {
                break;
            }
        }
        let _ = store.namespaces();
        let _ = store.stat();
        let _ = store.check(CheckLevel::Quick, &mut |_| true);
    }

    /// Edits of an index: each where, and what is there then.
    pub fn index(data: &[u8]) {
        let made = made();
        let mut index = made.index.clone();
        for edit in data.chunks_exact(4) {
            let at = usize::from(edit[0]) << 16 | usize::from(edit[1]) << 8 | usize::from(edit[2]);
            let at = at % index.len();
            index[at] = edit[3];
        }
        let at = made.path.join(INDEX);
        for more in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(made.path.join(format!("{INDEX}{more}")));
        }
        std::fs::write(at, &index).unwrap();
        if let Ok(store) = opened(&made.path, true) {
            used(&store);
        }
        if let Ok(store) = opened(&made.path, false) {
            let source = Source::Bytes(&[b"new"]);
            let new = store.set(Key::from("new"), "raw", source, &SetOptions::default());
            if new.is_ok() {
                if let Ok(got) = store.get(Key::from("new")).and_then(tare::store::Object::bytes) {
                    assert_eq!(b"new", &got[..]);
                }
            }
            used(&store);
            if let Ok(report) = store.check(CheckLevel::Quick, &mut |_| true) {
                let _ = store.repair(&report, false, false);
            }
            let _ = store.gc(&GcOptions { dry_run: true, ..GcOptions::default() });
        }
    }

    /// Markers, records and names: what is read is written so that it reads the same.
    pub fn parsed(data: &[u8]) {
        let Some((which, rest)) = data.split_first() else {
            return;
        };
        if which % 4 == 0 {
            let made = made();
            std::fs::write(made.path.join(INDEX), &made.index).unwrap();
            std::fs::write(made.path.join(MARKER), rest).unwrap();
            let done = opened(&made.path, true).map(|store| used(&store));
            std::fs::write(made.path.join(MARKER), &made.marker).unwrap();
            drop(done);
            return;
        }
        if let Some(found) = KeyText::parse(rest) {
            assert_eq!(Some(&found), KeyText::parse(found.text().as_bytes()).as_ref());
        }
        let Ok(text) = std::str::from_utf8(rest) else {
            return;
        };
        let name = escape(text);
        assert!(!name.contains(['/', '.', '%']));
        assert_eq!(Some(text), unescape(&name).as_deref());
        if let Some(found) = unescape(text) {
            assert_eq!(text, escape(&found));
        }
        if let Some(found) = parse_tail(text, 7) {
            assert_eq!(Some(&found), parse_tail(&tail(&found), 7).as_ref());
        }
    }
}
