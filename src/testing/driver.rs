//! What every driver of a store must do.

use std::time::Duration;

use crate::store::{
    Batch, Change, CheckLevel, Driver, Durability, Expect, GcOptions, Hash, Hasher, Key, NewKey,
    ObjectHint, OpenOptions, Packing, Pending, SetOptions, Source, Store,
};
use crate::{Error, ErrorKind, Result};

use super::{broken, driver_keys, driver_races, holds, model, refused, same, Random};

/// Opens the same place each time.
pub(super) type Open<'a> = dyn Fn() -> Result<Box<dyn Driver>> + Sync + 'a;

/// A part of the suite.
type Part = fn(&Open<'_>) -> Result<()>;

/// Runs the whole suite over a driver.
///
/// `open` opens one place each time it is called; the place holds no store at first, and none when the
/// suite ends. Keys and sizes that the driver refuses with `KeyInvalid` are passed over once it is seen that
/// the refusal wrote nothing.
///
/// # Errors
/// `Internal` with the first thing that is not as the contract asks; else what the driver itself said.
///
/// # Example
/// ```
/// use tare::store::drivers::memory;
///
/// tare::testing::driver_conformance(&|| Ok(Box::new(memory::open("example"))))?;
/// # Ok::<(), tare::Error>(())
/// ```
pub fn driver_conformance(open: &Open<'_>) -> Result<()> {
    let suite: &[(&str, Part)] = &[
        ("an empty store", empty),
        ("set, get, replace, delete", verbs),
        ("sizes", sizes),
        ("equal values are one object", dedup),
        ("listings", driver_keys::listings),
        ("keys", driver_keys::keys),
        ("many at once", many),
        ("duplicate, fill, clear", copies),
        ("conditions", conditions),
        ("batches", batches),
        ("collection", collection),
        ("what was begun and dropped", dropped),
        ("opening again", again),
        ("threads", driver_races::threads),
        ("one winner", driver_races::one_winner),
        ("readers while a key is replaced", driver_races::replaced),
        ("a dictionary", model::run),
    ];
    for (name, part) in suite {
        part(open).map_err(|error| {
            Error::new(error.kind(), format!("{name}: {error}")).with_source(error)
        })?;
        open()?.destroy()?;
    }
    Ok(())
}

pub(super) fn store(open: &Open<'_>) -> Result<Store> {
    Ok(Store::new(open()?, OpenOptions::default()))
}

/// Bytes that the store takes as a value: where a layout leaves out a head when it hashes, one stands before.
pub(super) fn value(store: &Store, text: &[u8]) -> Vec<u8> {
    let mut bytes = b"X\n\0\0\0\x02\0\x04\x02\x02\0\x02\x03\0"
        .get(..store.info().unhashed)
        .unwrap_or_default()
        .to_vec();
    bytes.extend_from_slice(text);
    bytes
}

pub(super) fn codec(store: &Store) -> &'static str {
    store.info().codec.unwrap_or("raw")
}

pub(super) fn set(store: &Store, key: Key<'_>, text: &[u8]) -> Result<Hash> {
    let bytes = value(store, text);
    store.set(
        key,
        codec(store),
        Source::Bytes(&[&bytes]),
        &SetOptions::default(),
    )
}

pub(super) fn get(store: &Store, key: Key<'_>) -> Result<Vec<u8>> {
    let bytes = store.get(key)?.bytes()?;
    Ok(bytes
        .get(store.info().unhashed..)
        .unwrap_or_default()
        .to_vec())
}

pub(super) fn listed(store: &Store, namespace: &str, prefix: &str) -> Result<Vec<String>> {
    store
        .keys(namespace, prefix)
        .map(|entry| entry.map(|entry| entry.key))
        .collect()
}

pub(super) fn count(store: &Store) -> Result<usize> {
    let hashes: Result<Vec<Hash>> = store.hashes().collect();
    Ok(hashes?.len())
}

fn empty(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let key = Key::from("absent");
    let hash = store.hash_bytes(&[b"nothing like it is stored here"]);
    same("exists", &false, &store.exists(key)?)?;
    refused("get", ErrorKind::KeyNotFound, store.get(key))?;
    refused("get_hash", ErrorKind::KeyNotFound, store.get_hash(key))?;
    refused(
        "get_object",
        ErrorKind::ObjectNotFound,
        store.get_object(&hash),
    )?;
    same("del", &vec![false], &store.del(&[key])?)?;
    same("namespaces", &Vec::<String>::new(), &store.namespaces()?)?;
    same(
        "keys",
        &Vec::<String>::new(),
        &listed(&store, "objects", "")?,
    )?;
    same("objects", &0, &count(&store)?)?;
    same("clear", &0, &store.clear("objects")?)?;
    let stat = store.stat()?;
    same("stat", &(0, 0), &(stat.keys, stat.objects))?;
    holds(
        "a check is clean",
        store.check(CheckLevel::Full, &mut |_| true)?.is_clean(),
    )
}

fn verbs(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let key = Key::from("k");
    let hash = set(&store, key, b"first")?;
    let info = store.info();
    let mut hasher = Hasher::new(info.algorithm, info.unhashed);
    hasher.update(&value(&store, b"first"));
    same("hash", &hasher.finish(), &hash)?;
    same("get", &b"first".to_vec(), &get(&store, key)?)?;
    same("get_hash", &hash, &store.get_hash(key)?)?;
    same("codec", &codec(&store), &&*store.get(key)?.codec)?;
    let other = set(&store, key, b"second")?;
    holds("another value has another hash", other != hash)?;
    same(
        "get after replacing",
        &b"second".to_vec(),
        &get(&store, key)?,
    )?;
    let kept = store.get_object(&hash)?.bytes()?;
    same("an object stays", &value(&store, b"first"), &kept.to_vec())?;
    same("del", &vec![true, false], &store.del(&[key, key])?)?;
    refused("get after del", ErrorKind::KeyNotFound, store.get(key))?;
    same("exists after del", &false, &store.exists(key)?)?;
    let options = SetOptions {
        durability: Some(Durability::None),
        ..SetOptions::default()
    };
    let bytes = value(&store, b"quick");
    store.set(key, codec(&store), Source::Bytes(&[&bytes]), &options)?;
    store.flush()?;
    same(
        "get of durability none",
        &b"quick".to_vec(),
        &get(&store, key)?,
    )
}

fn sizes(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let mut random = Random(7);
    let around = [
        0,
        1,
        127,
        128,
        129,
        4096,
        65_535,
        65_536,
        65_537,
        1 << 20,
        (1 << 20) + 1,
        5_000_001,
    ];
    let packings = ["auto", "none", "zstd:1", "lz4", "gzip:1"];
    for size in around {
        let texts = [
            random.bytes(size),
            b"weighed ".iter().copied().cycle().take(size).collect(),
        ];
        for (text, packing) in texts.iter().zip(packings.iter().cycle().skip(size % 5)) {
            let bytes = value(&store, text);
            let options = SetOptions {
                packing: Some(Packing::parse(packing)?),
                ..SetOptions::default()
            };
            let (whole, streamed) = (format!("w{size}"), format!("s{size}"));
            let (left, right) = bytes.split_at(bytes.len() / 3);
            let key = Key::from(&*whole);
            let hash = store.set(key, codec(&store), Source::Bytes(&[left, right]), &options)?;
            let mut reader = &bytes[..];
            let source = Source::Read(&mut reader);
            let again = store.set(Key::from(&*streamed), codec(&store), source, &options)?;
            same("a stream has the hash of its bytes", &hash, &again)?;
            for key in [&whole, &streamed] {
                let got = store.get(Key::from(&**key))?.bytes()?;
                holds(
                    &format!("{size} bytes as {packing} come back"),
                    got == bytes,
                )?;
            }
            let mut streamed = Vec::new();
            let mut reader = store.get(key)?.reader()?;
            std::io::copy(&mut reader, &mut streamed).map_err(|error| broken(error.to_string()))?;
            holds(
                &format!("{size} bytes as {packing} stream back"),
                streamed == bytes,
            )?;
        }
    }
    holds(
        "a full check is clean",
        store.check(CheckLevel::Full, &mut |_| true)?.is_clean(),
    )
}

fn dedup(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let large = Random(3).bytes(200_000);
    for (text, objects) in [(&b"small"[..], 1), (&large, 2)] {
        let first = set(&store, Key::from("a"), text)?;
        for key in [Key::from("b"), Key::new("other", "a"), Key::from("a")] {
            same("hash", &first, &set(&store, key, text)?)?;
        }
        same("objects", &objects, &count(&store)?)?;
    }
    Ok(())
}

fn many(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let texts = ["1", "2", "3"].map(|text| value(&store, text.as_bytes()));
    let parts: Vec<[&[u8]; 1]> = texts.iter().map(|text| [&text[..]]).collect();
    let names = ["a", "b", "a"];
    let values: Vec<_> = names
        .iter()
        .zip(&parts)
        .map(|(name, parts)| (Key::from(*name), codec(&store), &parts[..]))
        .collect();
    let hashes = store.set_many(&values, &SetOptions::default())?;
    same("hashes", &3, &hashes.len())?;
    same(
        "of two values for a key the later stands",
        &b"3".to_vec(),
        &get(&store, Key::from("a"))?,
    )?;
    let asked = [
        Key::from("b"),
        Key::from("none"),
        Key::from("a"),
        Key::from("b"),
    ];
    let got = store.get_many(&asked)?;
    let got: Result<Vec<Option<Vec<u8>>>> = got
        .into_iter()
        .map(|object| object.map(|found| Ok(found.bytes()?.to_vec())).transpose())
        .collect();
    let text = |number: usize| texts.get(number).cloned();
    same(
        "many in the order asked for",
        &vec![text(1), None, text(2), text(1)],
        &got?,
    )?;
    let records = store.get_records(&asked)?;
    same(
        "records",
        &vec![true, false, true, true],
        &records.iter().map(Option::is_some).collect(),
    )?;
    same("nothing asked", &0, &store.get_many(&[])?.len())?;
    same(
        "nothing set",
        &0,
        &store.set_many(&[], &SetOptions::default())?.len(),
    )
}

fn copies(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let hash = set(&store, Key::from("a"), b"one")?;
    let copied = store.duplicate(&[(Key::from("a"), Key::new("copies", "a"))])?;
    same("duplicate", &vec![hash], &copied)?;
    same(
        "value of the copy",
        &b"one".to_vec(),
        &get(&store, Key::new("copies", "a"))?,
    )?;
    let missing = [(Key::from("none"), Key::from("x"))];
    refused(
        "duplicate of nothing",
        ErrorKind::KeyNotFound,
        store.duplicate(&missing),
    )?;
    let bytes = value(&store, b"many");
    let keys = ["p", "q", "r"].map(|key| Key::new("filled", key));
    store.fill(&keys, codec(&store), &[&bytes], &SetOptions::default())?;
    same("fill", &3, &store.get_many(&keys)?.iter().flatten().count())?;
    same("clear", &3, &store.clear("filled")?)?;
    same("clear again", &0, &store.clear("filled")?)?;
    same(
        "others stay",
        &b"one".to_vec(),
        &get(&store, Key::from("a"))?,
    )
}

fn conditions(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let key = Key::from("k");
    let bytes = value(&store, b"1");
    let with = |expect| SetOptions {
        expect,
        ..SetOptions::default()
    };
    let attempt = |expect| store.set(key, codec(&store), Source::Bytes(&[&bytes]), &with(expect));
    if !store.info().conditions {
        return refused("if_absent", ErrorKind::Unsupported, attempt(Expect::Absent));
    }
    let hash = attempt(Expect::Absent)?;
    refused("absent", ErrorKind::Conflict, attempt(Expect::Absent))?;
    attempt(Expect::Is(hash))?;
    let other = set(&store, key, b"2")?;
    refused(
        "another hash",
        ErrorKind::Conflict,
        attempt(Expect::Is(hash)),
    )?;
    same("unchanged", &other, &store.get_hash(key)?)?;
    store.del(&[key])?;
    refused("deleted", ErrorKind::Conflict, attempt(Expect::Is(other)))?;
    same("still deleted", &false, &store.exists(key)?)
}

fn batches(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let old = set(&store, Key::from("old"), b"old")?;
    let bytes = value(&store, b"new");
    let mut pending = Pending::new(&store, None);
    pending.set(
        Key::from("a"),
        codec(&store),
        &[&bytes],
        &SetOptions::default(),
    )?;
    pending.del(Key::from("old"))?;
    pending.set(
        Key::from("b"),
        codec(&store),
        &[&value(&store, &Random(5).bytes(100_000))],
        &SetOptions::default(),
    )?;
    same(
        "nothing before the commit",
        &vec!["old".to_owned()],
        &listed(&store, "objects", "")?,
    )?;
    pending.commit()?;
    same(
        "all of it after",
        &vec!["a".to_owned(), "b".to_owned()],
        &listed(&store, "objects", "")?,
    )?;
    let nothing = store.hash_bytes(&[b"an object that is not there"]);
    let change = |key, hash| Change {
        key: Key::from(key),
        to: Some(NewKey {
            hash,
            codec: codec(&store),
        }),
        expect: Expect::Any,
    };
    let batch = Batch {
        changes: vec![change("c", old), change("d", nothing)],
        ..Batch::default()
    };
    refused(
        "a key of nothing",
        ErrorKind::ObjectNotFound,
        store.driver().apply(batch),
    )?;
    same("no key of nothing", &false, &store.exists(Key::from("d"))?)?;
    if store.info().atomic_batch {
        same("all or none", &false, &store.exists(Key::from("c"))?)?;
        let mut pending = Pending::new(&store, None);
        pending.set(
            Key::from("e"),
            codec(&store),
            &[&bytes],
            &SetOptions::default(),
        )?;
        let absent = SetOptions {
            expect: Expect::Absent,
            ..SetOptions::default()
        };
        pending.set(Key::from("a"), codec(&store), &[&bytes], &absent)?;
        refused("a conflict", ErrorKind::Conflict, pending.commit())?;
        same("all or none", &false, &store.exists(Key::from("e"))?)?;
    }
    let dropped = Pending::new(&store, None);
    holds("an empty batch", dropped.is_empty())?;
    dropped.commit()
}

fn collection(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let large = Random(9).bytes(150_000);
    let kept = set(&store, Key::from("kept"), &large)?;
    let small = set(&store, Key::from("small"), b"x")?;
    let gone = set(&store, Key::from("k"), &Random(10).bytes(150_000))?;
    let gone_small = set(&store, Key::from("l"), b"y")?;
    store.del(&[Key::from("k"), Key::from("l")])?;
    let bytes = value(&store, b"never named");
    let unnamed = store.set_object(
        codec(&store),
        Source::Bytes(&[&bytes]),
        &SetOptions::default(),
    )?;
    let later = store.gc(&GcOptions::default())?;
    same("nothing goes within its grace", &0, &later.deleted)?;
    let asked = [kept, small, gone, gone_small, unnamed];
    same(
        "all are there",
        &vec![true; 5],
        &store.exist_objects(&asked)?,
    )?;
    let now = GcOptions {
        grace: Duration::ZERO,
        dry_run: true,
    };
    let told = store.gc(&now)?;
    same("a dry run tells", &3, &told.deleted)?;
    same(
        "and deletes nothing",
        &vec![true; 5],
        &store.exist_objects(&asked)?,
    )?;
    let done = store.gc(&GcOptions {
        dry_run: false,
        ..now
    })?;
    same("deleted", &told.deleted, &done.deleted)?;
    same(
        "what is named stays",
        &vec![true, true, false, false, false],
        &store.exist_objects(&asked)?,
    )?;
    same("and is whole", &large, &get(&store, Key::from("kept"))?)?;
    let back = set(&store, Key::from("k"), b"y")?;
    same("what was collected can be set again", &gone_small, &back)?;
    holds(
        "a full check is clean",
        store.check(CheckLevel::Full, &mut |_| true)?.is_clean(),
    )
}

fn dropped(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let mut writer = store.writer(codec(&store), &SetOptions::default())?;
    writer.push(&Random(1).bytes(3_000_000))?;
    drop(writer);
    let sink = store.driver().begin_object(&ObjectHint::default())?;
    drop(sink.finish()?);
    same("objects", &0, &count(&store)?)?;
    let mut found = 0;
    store.driver().check(&mut |_| found += 1)?;
    same("things left", &0, &found)
}

fn again(open: &Open<'_>) -> Result<()> {
    let large = Random(2).bytes(300_000);
    {
        let first = store(open)?;
        set(&first, Key::from("small"), b"x")?;
        set(&first, Key::from("large"), &large)?;
        let second = store(open)?;
        same(
            "a second handle sees it",
            &b"x".to_vec(),
            &get(&second, Key::from("small"))?,
        )?;
        set(&second, Key::from("small"), b"z")?;
        same(
            "the first sees the second's",
            &b"z".to_vec(),
            &get(&first, Key::from("small"))?,
        )?;
    }
    let third = store(open)?;
    same(
        "after all were closed",
        &b"z".to_vec(),
        &get(&third, Key::from("small"))?,
    )?;
    same(
        "after all were closed",
        &large,
        &get(&third, Key::from("large"))?,
    )
}
