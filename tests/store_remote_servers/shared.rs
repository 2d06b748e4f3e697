//! What the tests of all drivers of servers do.

use std::borrow::Cow;
use std::sync::Barrier;

use tare::compress::Kind;
use tare::store::{
    Batch, Body, Change, Driver, Expect, Fetched, Finding, GcOptions, Hash, Hasher, Key, NewBody,
    NewKey, NewObject, ObjectHint, ObjectMeta,
};
use tare::{ErrorKind, Result};

pub fn hash_of(bytes: &[u8]) -> Hash {
    let mut hasher = Hasher::new(tare::store::Algorithm::Blake3, 0);
    hasher.update(bytes);
    hasher.finish()
}

pub fn object(bytes: &[u8]) -> NewObject<'_> {
    NewObject {
        hash: hash_of(bytes),
        meta: ObjectMeta {
            plain_len: Some(bytes.len() as u64),
            stored_len: bytes.len() as u64,
            compressor: Kind::None,
            codec: "raw".into(),
        },
        body: NewBody::Bytes(Cow::Borrowed(bytes)),
        replace: false,
        canonical: None,
    }
}

pub fn set(driver: &dyn Driver, key: &str, bytes: &[u8], expect: Expect) -> Result<bool> {
    let object = object(bytes);
    let hash = object.hash;
    let batch = Batch {
        objects: vec![object],
        changes: vec![Change {
            key: Key::from(key),
            to: Some(NewKey { hash, codec: "raw" }),
            expect,
        }],
        ..Batch::default()
    };
    Ok(driver.apply(batch)?.created[0])
}

pub fn read(body: Body) -> Vec<u8> {
    let mut all = Vec::new();
    match body {
        Body::Bytes(bytes) => all = bytes,
        Body::File(mut file) => {
            std::io::Read::read_to_end(&mut file, &mut all).unwrap();
        }
        Body::Reader(mut reader) => {
            reader.read_to_end(&mut all).unwrap();
        }
    }
    all
}

pub fn get(driver: &dyn Driver, key: &str) -> Result<Option<Vec<u8>>> {
    Ok(match driver.fetch(&[Key::from(key)])?.pop().unwrap() {
        Fetched::Found(_, stored) => Some(read(stored.body)),
        Fetched::NoObject(_) | Fetched::NoKey => None,
    })
}

pub fn gone(driver: &dyn Driver, key: &str) -> Result<bool> {
    let batch = Batch {
        changes: vec![Change {
            key: Key::from(key),
            to: None,
            expect: Expect::Any,
        }],
        ..Batch::default()
    };
    Ok(driver.apply(batch)?.before[0].is_some())
}

pub fn findings(driver: &dyn Driver) -> Vec<Finding> {
    let mut found = Vec::new();
    driver.check(&mut |finding| found.push(finding)).unwrap();
    found
}

/// Stages bytes as the core stages what is large.
pub fn staged(driver: &dyn Driver, bytes: &[u8]) -> NewObject<'static> {
    let mut sink = driver.begin_object(&ObjectHint::default()).unwrap();
    std::io::Write::write_all(&mut sink, bytes).unwrap();
    let new = object(bytes);
    NewObject {
        hash: new.hash,
        meta: new.meta,
        body: NewBody::Staged(sink.finish().unwrap()),
        replace: false,
        canonical: None,
    }
}

/// Sixteen threads want the same key first: one of them gets it.
pub fn one_of_sixteen_wins(driver: &(dyn Driver + Sync)) {
    for round in 0..5 {
        let start = Barrier::new(16);
        let wins: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|number| {
                    let start = &start;
                    scope.spawn(move || {
                        let text = format!("{round} {number}");
                        start.wait();
                        let key = format!("race {round}");
                        match set(driver, &key, text.as_bytes(), Expect::Absent) {
                            Ok(_) => 1,
                            Err(error) => {
                                assert_eq!(ErrorKind::Conflict, error.kind(), "{error}");
                                0
                            }
                        }
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(1, wins, "round {round}");
    }
}

/// Sets and deletes of few values beside a collection without grace: no key loses its object.
pub fn no_key_dangles_beside_gc(driver: &(dyn Driver + Sync), rounds: usize) {
    let done = std::sync::atomic::AtomicBool::new(false);
    let options = GcOptions {
        grace: std::time::Duration::ZERO,
        dry_run: false,
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..rounds {
                        let key = format!("k{thread}");
                        let text = format!("value {}", (round + thread) % 3);
                        set(driver, &key, text.as_bytes(), Expect::Any).unwrap();
                        assert_eq!(Some(text.into_bytes()), get(driver, &key).unwrap());
                        gone(driver, &key).unwrap();
                    }
                    set(driver, &format!("end {thread}"), b"value 1", Expect::Any).unwrap();
                })
            })
            .collect();
        let collector = scope.spawn(|| {
            let mut deleted = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                deleted += driver.gc(&options).unwrap().deleted;
            }
            deleted
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(
            collector.join().unwrap() > 0,
            "the collection met something"
        );
    });
    for thread in 0..4 {
        assert_eq!(
            Some(b"value 1".to_vec()),
            get(driver, &format!("end {thread}")).unwrap()
        );
    }
    assert_eq!(Vec::<Finding>::new(), findings(driver));
}

/// Many small values at once, and how long that took.
pub fn many(driver: &dyn Driver, count: usize) -> (std::time::Duration, std::time::Duration) {
    let texts: Vec<String> = (0..count)
        .map(|number| format!("number {number}"))
        .collect();
    let objects: Vec<NewObject<'_>> = texts.iter().map(|text| object(text.as_bytes())).collect();
    let changes = texts
        .iter()
        .zip(&objects)
        .map(|(text, object)| Change {
            key: Key::new("many", text),
            to: Some(NewKey {
                hash: object.hash,
                codec: "raw",
            }),
            expect: Expect::Any,
        })
        .collect();
    let batch = Batch {
        objects,
        changes,
        ..Batch::default()
    };
    let began = std::time::Instant::now();
    assert_eq!(count, driver.apply(batch).unwrap().before.len());
    let written = began.elapsed();
    let began = std::time::Instant::now();
    let keys: Vec<Key<'_>> = texts.iter().map(|text| Key::new("many", text)).collect();
    for (text, found) in texts.iter().zip(driver.fetch(&keys).unwrap()) {
        let Fetched::Found(_, stored) = found else {
            unreachable!("every key was set")
        };
        assert_eq!(text.as_bytes(), read(stored.body));
    }
    (written, began.elapsed())
}

/// Connections are cut at `places` of the answers: a key is set once, and who set it is told so.
pub fn cut_answers_are_not_guessed(
    driver: &dyn Driver,
    proxy: &crate::common::proxy::Proxy,
    places: impl ExactSizeIterator<Item = i32>,
) {
    let (keys, least) = (places.len() as u64 + 1, places.len() as u64 / 3);
    set(driver, "warm", b"up", Expect::Any).unwrap();
    for bytes in places {
        let key = format!("cut {bytes}");
        proxy.cut_after(bytes.into());
        set(driver, &key, key.as_bytes(), Expect::Absent)
            .unwrap_or_else(|error| panic!("cut after {bytes} bytes: {error}"));
        assert_eq!(Some(key.clone().into_bytes()), get(driver, &key).unwrap());
        let hash = hash_of(key.as_bytes());
        proxy.cut_after(bytes.into());
        set(driver, &key, b"next", Expect::Is(hash)).unwrap();
    }
    proxy.cut_after(-1);
    assert!(proxy.cuts() > least, "{} were cut", proxy.cuts());
    assert_eq!(keys, driver.stat().unwrap().keys);
    assert_eq!(Vec::<Finding>::new(), findings(driver));
}

/// The most memory that this process ever had, in KiB.
pub fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Writes and reads 160 MB by and by; how much more memory than before that took, in KiB.
pub fn large_in_little_memory(driver: &dyn Driver) -> u64 {
    let piece = crate::common::noise(5, 1 << 20);
    // The first goes through what is set up once.
    set(driver, "warm", &piece, Expect::Any).unwrap();
    get(driver, "warm").unwrap();
    let before = peak();
    let mut hasher = Hasher::new(tare::store::Algorithm::Blake3, 0);
    let mut sink = driver.begin_object(&ObjectHint::default()).unwrap();
    for _ in 0..160 {
        hasher.update(&piece);
        std::io::Write::write_all(&mut sink, &piece).unwrap();
    }
    let hash = hasher.finish();
    let staged = sink.finish().unwrap();
    let size = 160 << 20;
    assert_eq!(size, staged.stored_len);
    let batch = Batch {
        objects: vec![NewObject {
            hash,
            meta: ObjectMeta {
                plain_len: Some(size),
                stored_len: size,
                compressor: Kind::None,
                codec: "raw".into(),
            },
            body: NewBody::Staged(staged),
            replace: false,
            canonical: None,
        }],
        ..Batch::default()
    };
    assert_eq!(vec![true], driver.apply(batch).unwrap().created);
    let stored = driver.open_object(&hash).unwrap().unwrap();
    assert_eq!(size, stored.meta.stored_len);
    let Body::Reader(mut reader) = stored.body else {
        unreachable!("a large object is read by and by")
    };
    let mut hasher = Hasher::new(tare::store::Algorithm::Blake3, 0);
    let mut part = vec![0; 1 << 20];
    loop {
        let size = reader.read(&mut part).unwrap();
        if size == 0 {
            break;
        }
        hasher.update(&part[..size]);
    }
    assert_eq!(hash, hasher.finish());
    peak() - before
}

/// Runs a test in a process of its own, which nothing else takes memory from.
pub fn alone(name: &str, test: fn()) {
    const CHILD: &str = "TARE_TEST_ALONE";
    if std::env::var_os(CHILD).is_some() {
        return test();
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{fault}"
    );
    eprint!("{fault}");
}

/// A bit that `flip` turns over in what is stored is seen, and no wrong value is given; the next set of
/// the same value mends it.
pub fn flipped_bits_are_seen(url: &str, flip: impl Fn(&Hash)) {
    use tare::store::{CheckLevel, OpenOptions, SetOptions, Source, Store};
    let store = Store::open(url, &OpenOptions::default()).unwrap();
    for size in [1000, 300_000] {
        let bytes = crate::common::noise(9, size);
        let name = format!("flipped {size}");
        let key = Key::from(&*name);
        let put = || store.set(key, "raw", Source::Bytes(&[&bytes]), &SetOptions::default());
        let hash = put().unwrap();
        flip(&hash);
        let other = Store::open(url, &OpenOptions::default()).unwrap();
        let got = other
            .get(key)
            .and_then(|found| found.bytes().map(|bytes| bytes.to_vec()));
        let error = got.unwrap_err();
        assert_eq!(ErrorKind::Corrupt, error.kind(), "{error}");
        assert!(!other
            .check(CheckLevel::Full, &mut |_| true)
            .unwrap()
            .is_clean());
        let again = other.set(key, "raw", Source::Bytes(&[&bytes]), &SetOptions::default());
        assert_eq!(hash, again.unwrap());
        assert!(other.get(key).unwrap().bytes().unwrap().to_vec() == bytes);
        assert!(other
            .check(CheckLevel::Full, &mut |_| true)
            .unwrap()
            .is_clean());
    }
}
