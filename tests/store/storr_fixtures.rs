//! The stores that R's storr 1.2.6 made: opened, listed, got and verified as the manifest says, and written
//! again into an empty store.

use crate::common;
use crate::r_expected;
use crate::storr;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tare::robject::rds;
use tare::robject::{Body, ReadOptions};
use tare::store::drivers::storr::{encode, open, StorrDriver, StorrOptions};
use tare::store::{
    Algorithm, CheckLevel, Driver, Durability, Finding, FindingKind, Hasher, Key, OpenOptions,
    SetOptions, Source, Store,
};
use tare::{ErrorKind, Result};

use common::folder::Folder;

fn flag(entry: &Value, name: &str) -> bool {
    entry[name].as_bool().unwrap()
}

/// Namespace and key with the hash and the path of the tree of its value.
fn expected(entry: &Value) -> BTreeMap<(String, String), (String, String, String)> {
    let mut found = BTreeMap::new();
    for (namespace, keys) in entry["namespaces"].as_object().unwrap() {
        for (key, value) in keys.as_object().unwrap() {
            let text = |name: &str| value[name].as_str().unwrap().to_string();
            found.insert(
                (namespace.clone(), key.clone()),
                (text("hash"), text("key_file"), text("expected")),
            );
        }
    }
    found
}

fn tree(path: &str) -> Value {
    let path = common::shared(&format!("fixtures/{path}")).unwrap();
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn reading(path: &std::path::Path) -> StorrDriver {
    let options = StorrOptions {
        read_only: true,
        ..StorrOptions::default()
    };
    open(path, &options).unwrap()
}

fn findings(driver: &dyn Driver) -> Vec<Finding> {
    let mut found = Vec::new();
    driver.check(&mut |finding| found.push(finding)).unwrap();
    found
}

#[test]
fn every_fixture_lists_gets_and_verifies_exactly() {
    let Some(entries) = storr::manifest("storr") else {
        return;
    };
    assert_eq!(14, entries.len());
    let folder = Folder::new();
    let mut values = 0;
    for entry in &entries {
        let name = entry["file"]
            .as_str()
            .unwrap()
            .strip_prefix("storr/")
            .unwrap();
        let path = storr::unpacked(name, folder.path()).unwrap();
        let before = storr::files(&path);
        let driver = reading(&path);
        let info = driver.info();
        assert_eq!(entry["hash_algorithm"], info.algorithm.name(), "{name}");
        assert_eq!((14, Some("rds")), (info.unhashed, info.codec));
        let option = |name: &str| {
            let mut all = info.options.iter();
            all.find(|(known, _)| *known == name).unwrap().1.clone()
        };
        for name in ["compress", "mangle_key", "mangle_key_pad"] {
            assert_eq!(flag(entry, name).to_string(), option(name));
        }
        let mut expected = expected(entry);
        if name == "dotkeys_unmangled" {
            // R hides it; here it is listed.
            let hash = std::fs::read_to_string(path.join("keys/objects/.hidden")).unwrap();
            let value = (hash.trim().to_string(), String::new(), String::new());
            expected.insert(("objects".into(), ".hidden".into()), value);
        }
        let hashes: BTreeMap<_, _> = expected
            .iter()
            .map(|(key, (hash, ..))| (key.clone(), hash.clone()))
            .collect();
        assert_eq!(hashes, storr::listing(&driver), "{name}");
        let all: Vec<String> = driver
            .list_hashes(None, usize::MAX)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(entry["hashes"], serde_json::json!(all), "{name}");
        for ((namespace, key), (hash, _, path)) in &expected {
            let plain = storr::get(&driver, Key::new(namespace, key)).unwrap();
            let object = storr::object(&plain);
            if key == ".hidden" {
                assert!(path.is_empty(), "R printed no tree of it");
            } else {
                r_expected::compare(&object, &tree(path)).assert_same(&format!("{name}/{key}"));
            }
            let mut again = Vec::new();
            encode(&object, &mut again).unwrap();
            assert_eq!(plain, again, "{name}/{key}");
            assert_eq!(*hash, storr::hash_of(&driver, &again).hex());
            values += 1;
        }
        assert_eq!(Vec::<Finding>::new(), findings(&driver), "{name}");
        assert_eq!(
            before,
            storr::files(&path),
            "{name}: reading wrote something"
        );
    }
    assert_eq!(110, values);
}

#[test]
fn what_is_written_into_an_empty_store_has_the_names_and_plain_bytes_that_r_gave() {
    let Some(entries) = storr::manifest("storr") else {
        return;
    };
    let folder = Folder::new();
    for entry in &entries {
        let name = entry["file"]
            .as_str()
            .unwrap()
            .strip_prefix("storr/")
            .unwrap();
        let theirs = storr::unpacked(name, &folder.join("r")).unwrap();
        let source = reading(&theirs);
        let ours = folder.join(name);
        let options = StorrOptions {
            compress: Some(flag(entry, "compress")),
            mangle_key: Some(flag(entry, "mangle_key")),
            mangle_key_pad: Some(flag(entry, "mangle_key_pad")),
            hash_algorithm: Some(source.info().algorithm),
            allow_dot_keys: true,
            ..StorrOptions::default()
        };
        let driver = open(&ours, &options).unwrap();
        for (namespace, key) in storr::listing(&source).into_keys() {
            let key = Key::new(&namespace, &key);
            let object = storr::object(&storr::get(&source, key).unwrap());
            let mut plain = Vec::new();
            encode(&object, &mut plain).unwrap();
            storr::set(&driver, key, &plain, Durability::None).unwrap();
        }
        let (theirs, mut ours) = (storr::files(&theirs), storr::files(&ours));
        ours.retain(|name, _| !name.starts_with("scratch/"));
        assert_eq!(
            theirs.keys().collect::<Vec<_>>(),
            ours.keys().collect::<Vec<_>>(),
            "{name}"
        );
        for (file, bytes) in &theirs {
            if !file.starts_with("data/") {
                assert_eq!(bytes, &ours[file], "{name}/{file}");
                continue;
            }
            assert_eq!(storr::inflated(bytes), storr::inflated(&ours[file]));
            // The header of gzip is R's own, too.
            let head = |bytes: &[u8]| bytes[..10].to_vec();
            assert_eq!(head(bytes), head(&ours[file]), "{name}/{file}");
        }
    }
}

#[test]
fn bad_stores_are_refused_with_precise_errors() {
    let folder = Folder::new();
    let Some(path) = storr::unpacked("corrupt", folder.path()) else {
        return;
    };
    let driver = reading(&path);
    let kind = |key: &str| storr::get(&driver, Key::from(key)).unwrap_err().kind();
    for key in ["k", "t", "z", "badkey"] {
        assert_eq!(ErrorKind::Corrupt, kind(key), "{key}");
    }
    assert_eq!(ErrorKind::KeyNotFound, kind("other"));
    let error = storr::get(&driver, Key::from("badkey")).unwrap_err();
    assert_eq!(Some("badkey"), error.detail("key"));
    assert!(error.to_string().contains("nothex"), "{error}");
    let keys: BTreeSet<String> = storr::listing(&driver)
        .into_keys()
        .map(|key| key.1)
        .collect();
    assert_eq!(
        ["k", "t", "z"].map(String::from),
        keys.into_iter().collect::<Vec<_>>()[..]
    );
    let kinds: BTreeSet<&str> = findings(&driver)
        .iter()
        .map(|one| one.kind.name())
        .collect();
    assert_eq!(BTreeSet::from(["bad-key", "corrupt-object"]), kinds);

    let path = storr::unpacked("dangling", folder.path()).unwrap();
    let driver = reading(&path);
    let kind = |key: &str| storr::get(&driver, Key::from(key)).map_err(|error| error.kind());
    assert_eq!(Err(ErrorKind::ObjectNotFound), kind("k"));
    assert!(kind("ok").is_ok());
    let found = findings(&driver);
    assert_eq!(1, found.len());
    assert_eq!(FindingKind::DanglingKey, found[0].kind);
    assert_eq!(Some(("objects".to_string(), "k".to_string())), found[0].key);
    assert!(found[0].hash.unwrap().hex().starts_with("35e2c0a4"));
}

#[test]
fn a_store_of_storr_1_0_1_is_read_and_completed_once() {
    let Some(source) = common::shared("data/storr/v1.0.1_mangled") else {
        return;
    };
    let driver = reading(&source);
    assert_eq!(Algorithm::Md5, driver.info().algorithm);
    let keys: Vec<_> = storr::listing(&driver)
        .into_keys()
        .map(|key| key.1)
        .collect();
    assert_eq!(["a", "bb", "ccc"].map(String::from), keys[..]);
    for key in ["a", "bb", "ccc"] {
        storr::get(&driver, Key::from(key)).unwrap();
    }
    assert_eq!(
        ErrorKind::ReadOnly,
        storr::delete(&driver, Key::from("a")).unwrap_err().kind()
    );

    let folder = Folder::new();
    let path = folder.join("copy");
    storr::copied(&source, &path);
    let driver = open(&path, &StorrOptions::default()).unwrap();
    let written = |name: &str| std::fs::read_to_string(path.join("config").join(name)).unwrap();
    assert_eq!("1.0.1\n", written("version"));
    assert_eq!("TRUE\n", written("mangle_key_pad"));
    assert_eq!("TRUE\n", written("compress"));
    assert_eq!("md5\n", written("hash_algorithm"));
    let plain = storr::get(&driver, Key::from("a")).unwrap();
    storr::set(&driver, Key::from("x/y"), &plain, Durability::Batch).unwrap();
    assert!(path.join("keys/objects/eC95").exists());
    drop(driver);
    let again = open(&path, &StorrOptions::default()).unwrap();
    assert_eq!(plain, storr::get(&again, Key::from("x/y")).unwrap());
    let error = open(
        &path,
        &StorrOptions {
            mangle_key_pad: Some(false),
            ..StorrOptions::default()
        },
    );
    assert_eq!(ErrorKind::ConfigMismatch, error.unwrap_err().kind());
}

#[test]
fn a_store_that_git_brought_has_no_empty_folders() {
    let (Some(source), Some(expected)) = (
        common::shared("data/storr/storr-give"),
        common::shared("data/storr/storr-give.expected.json"),
    ) else {
        return;
    };
    let expected: Value = serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap();
    let folder = Folder::new();
    let path = folder.join("copy");
    storr::copied(&source, &path);
    assert!(!path.join("scratch").exists());
    let driver = reading(&path);
    for (namespace, hashes) in [("objects", "hashes"), ("other", "hashes_other")] {
        let hashes = expected[hashes].as_object().unwrap();
        let page = driver.list_keys(namespace, "", None, 100).unwrap();
        assert_eq!(hashes.len(), page.len());
        for entry in page {
            assert_eq!(hashes[&entry.key], entry.record.hash.hex());
            storr::get(&driver, Key::new(namespace, &entry.key)).unwrap();
        }
    }
    assert!(!path.join("scratch").exists());
    let plain = storr::get(&driver, Key::from("one")).unwrap();
    let driver = open(&path, &StorrOptions::default()).unwrap();
    storr::set(&driver, Key::from("three"), &plain, Durability::Batch).unwrap();
    assert_eq!(plain, storr::get(&driver, Key::from("three")).unwrap());
}

#[test]
fn the_nine_hashes_are_those_of_r() -> Result<()> {
    let Some(path) = common::shared("fixtures/storr/hash_vectors.json") else {
        return Ok(());
    };
    let vectors: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let vectors = vectors.as_array().unwrap();
    assert_eq!(12, vectors.len());
    let mut compared = 0;
    for vector in vectors {
        let hex = vector["serialized_v2_hex"].as_str().unwrap();
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        for algorithm in Algorithm::ALL {
            // In pieces of any length.
            for piece in [1, 3, 7, 64, 1 << 20] {
                let mut hasher = Hasher::new(*algorithm, 14);
                bytes.chunks(piece).for_each(|part| hasher.update(part));
                let found = hasher.finish().hex();
                assert_eq!(vector["hashes"][algorithm.name()], found, "{vector}");
                compared += 1;
            }
        }
        let object = rds::parse(&bytes, &ReadOptions::default())?;
        let tree = tree(vector["expected"].as_str().unwrap());
        r_expected::compare(&object, &tree).assert_same(hex);
        assert_eq!(bytes, storr::plain_of(&object));
    }
    assert_eq!(12 * 9 * 5, compared);
    Ok(())
}

#[test]
fn databases_of_r_are_read_and_verified() {
    for (name, entries) in [("dbi_binary", 0), ("dbi_string", 1)] {
        let Some(path) = common::shared(&format!("fixtures/storr/{name}.sqlite")) else {
            return;
        };
        let manifest = storr::manifest("storr-dbi").unwrap();
        let url = format!("storr-dbi:{}", path.display());
        let store = Store::open(&url, &OpenOptions::default()).unwrap();
        assert_eq!(Algorithm::Md5, store.info().algorithm);
        let hashes: Vec<String> = store.hashes().map(|hash| hash.unwrap().hex()).collect();
        assert_eq!(manifest[entries]["hashes"], serde_json::json!(hashes));
        assert_eq!(
            ["n2", "objects"].map(String::from),
            store.namespaces().unwrap()[..]
        );
        let get = |namespace: &str, key: &str| {
            let object = store.get(Key::new(namespace, key)).unwrap();
            storr::object(&object.bytes().unwrap())
        };
        assert!(
            matches!(&get("objects", "x").node().body, Body::Integer(all) if *all == [1, 2, 3])
        );
        let numbers = get("objects", "d");
        let Body::Double(all) = &numbers.node().body else {
            panic!("no doubles");
        };
        assert_eq!(0.1_f64.to_bits(), all[0].to_bits());
        assert!(tare::robject::is_na(all[1]));
        assert!(
            matches!(&get("n2", "t").node().body, Body::Character(all) if all.get(0).unwrap().bytes == Some(b"hi"))
        );
        assert_eq!(
            ErrorKind::KeyNotFound,
            store
                .get(Key::new("n2", "x"))
                .map(|_| ())
                .unwrap_err()
                .kind()
        );
        assert!(store
            .check(CheckLevel::Full, &mut |_| true)
            .unwrap()
            .findings
            .is_empty());
        let set = store.set(
            Key::from("k"),
            "rds",
            Source::Bytes(&[b"x"]),
            &SetOptions::default(),
        );
        assert_eq!(ErrorKind::ReadOnly, set.unwrap_err().kind());
    }
    let folder = Folder::new();
    let path = folder.join("text");
    std::fs::write(&path, b"no database, whatever its name says").unwrap();
    let url = format!("storr-dbi:{}", path.display());
    let error = Store::open(&url, &OpenOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert_eq!(ErrorKind::Malformed, error.kind(), "{error}");
}

/// What a damaged setting makes of a store: an error, or the same keys and values.
#[test]
fn a_damaged_setting_is_refused_or_says_the_same() {
    let folder = Folder::new();
    let Some(path) = storr::unpacked("mangled_padded", folder.path()) else {
        return;
    };
    let sound = storr::listing(&reading(&path));
    let (mut refused, mut opened) = (0, 0);
    for name in [
        "version",
        "compress",
        "mangle_key",
        "mangle_key_pad",
        "hash_algorithm",
    ] {
        let file = path.join("config").join(name);
        let whole = std::fs::read(&file).unwrap();
        let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
        let flipped = (0..whole.len() * 8).map(|bit| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        });
        let long = vec![b'T'; 5000];
        for bytes in cut.chain(flipped).chain([long]) {
            std::fs::write(&file, &bytes).unwrap();
            let options = StorrOptions {
                read_only: true,
                ..StorrOptions::default()
            };
            match open(&path, &options) {
                Ok(driver) => {
                    opened += 1;
                    let got = storr::listing(&driver);
                    assert_eq!(sound, got, "{name} {:?}", bytes.escape_ascii().to_string());
                }
                Err(error) => {
                    refused += 1;
                    let known = [ErrorKind::Malformed, ErrorKind::Unsupported];
                    assert!(known.contains(&error.kind()), "{error}");
                    assert!(error.path().is_some(), "{error}");
                }
            }
        }
        std::fs::write(&file, whole).unwrap();
    }
    assert!(
        refused > 100 && opened > 20,
        "{refused} refused, {opened} opened"
    );
}
