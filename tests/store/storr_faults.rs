//! The faults of R's storr that were reproduced, over the driver of its folders: none of them is here.

use crate::common;
use crate::folders;
use crate::storr;
use crate::storr_made;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tare::store::drivers::storr::{open, StorrOptions};
use tare::store::{Driver, Durability, FindingKind, Key, OpenOptions, SetOptions, Source, Store};
use tare::ErrorKind;

use common::folder::Folder;
use common::soak::{EndOnDrop, Span};
use storr_made::{child, doubles, is_child, litter, made, noise, now, problems, put, store};

/// Least time of a race in `make test`.
const SHORT: Duration = Duration::from_secs(1);

#[test]
fn fault_01_full_disk() {
    let Some(mount) = is_child() else {
        let folder = Folder::new();
        let mut inner = Command::new("unshare");
        inner.args(["-rm", "sh", "-c"]);
        inner.arg(format!(
            "mount -t tmpfs -o size=3m tare {0} && TARE_STORR_CHILD={0} exec {1} --exact storr_faults::fault_01_full_disk --nocapture",
            folder.path().display(),
            std::env::current_exe().unwrap().display()
        ));
        let ran = inner.output();
        match ran {
            Ok(ran) if ran.status.success() => {
                let text = String::from_utf8_lossy(&ran.stdout);
                assert!(text.contains("1 passed"), "{text}");
            }
            Ok(ran) => {
                let text = String::from_utf8_lossy(&ran.stderr).into_owned()
                    + &String::from_utf8_lossy(&ran.stdout);
                if text.contains("unshare failed") || text.contains("mount:") {
                    return common::skip(&format!("no tmpfs can be mounted: {text}"));
                }
                panic!("{text}");
            }
            Err(error) => common::skip(&format!("unshare: {error}")),
        }
        return;
    };
    for compress in [true, false] {
        let path = mount.join(compress.to_string());
        let options = StorrOptions {
            compress: Some(compress),
            ..StorrOptions::default()
        };
        let driver = Box::new(open(&path, &options).unwrap());
        let store = Store::new(driver, OpenOptions::default());
        let old = doubles([1.0]);
        put(&store, "k", &old).unwrap();
        let before = storr::files(&path);
        let big = noise(1, 1 << 20);
        let free = || {
            std::fs::metadata(&mount)
                .map(|_| ())
                .and_then(|()| space(&mount))
                .unwrap()
        };
        let room = free();
        for key in ["k", "fresh"] {
            for durability in [Durability::None, Durability::Each] {
                let options = SetOptions {
                    durability: Some(durability),
                    ..SetOptions::default()
                };
                let key = Key::from(key);
                let set = store.set(key, "rds", Source::Bytes(&[&big]), &options);
                assert_eq!(ErrorKind::NoSpace, set.unwrap_err().kind());
                let mut stream = &big[..];
                let set = store.set(key, "rds", Source::Read(&mut stream), &options);
                assert_eq!(ErrorKind::NoSpace, set.unwrap_err().kind());
            }
        }
        assert_eq!(before, storr::files(&path), "something is left");
        assert!(free() >= room, "{} of {room}", free());
        assert_eq!(
            &old[..],
            &store.get(Key::from("k")).unwrap().bytes().unwrap()[..]
        );
        // Many small ones until nothing fits, one batch at a time.
        let mut number = 0_u32;
        let error = loop {
            number += 1;
            let plain = noise(u64::from(number), 4000);
            let before = storr::files(&path);
            if let Err(error) = put(&store, &format!("small{number}"), &plain) {
                assert_eq!(before, storr::files(&path), "something is left");
                break error;
            }
        };
        assert_eq!(ErrorKind::NoSpace, error.kind());
        for at in 1..number {
            store
                .get(Key::from(&*format!("small{at}")))
                .unwrap()
                .bytes()
                .unwrap();
        }
        assert!(problems(&store).is_empty());
        // The same set works once there is space.
        for at in 1..number {
            storr::delete(store.driver(), Key::from(&*format!("small{at}"))).unwrap();
        }
        store.gc(&now()).unwrap();
        put(
            &store,
            &format!("small{number}"),
            &noise(u64::from(number), 4000),
        )
        .unwrap();
        store.driver().destroy().unwrap();
        assert!(!path.exists());
    }
}

fn space(path: &Path) -> std::io::Result<u64> {
    let ran = Command::new("df")
        .arg("--output=avail")
        .arg(path)
        .output()?;
    let text = String::from_utf8_lossy(&ran.stdout);
    Ok(text
        .lines()
        .nth(1)
        .unwrap_or("0")
        .trim()
        .parse()
        .unwrap_or(0))
}

#[test]
fn fault_02_gc_keeps_dot_keys() {
    let folder = Folder::new();
    let Some(path) = storr::unpacked("dotkeys_unmangled", folder.path()) else {
        return;
    };
    let store = store(&path);
    let garbage = put(&store, "garbage", &doubles([7.0])).unwrap();
    storr::delete(store.driver(), Key::from("garbage")).unwrap();
    let before = store.get(Key::from(".hidden")).unwrap().bytes().unwrap();
    let report = store.gc(&now()).unwrap();
    assert_eq!((1, 1), (report.condemned, report.deleted));
    assert!(!store
        .driver()
        .list_hashes(None, 99)
        .unwrap()
        .contains(&garbage));
    assert_eq!(
        before,
        store.get(Key::from(".hidden")).unwrap().bytes().unwrap()
    );
    let listed = storr::listing(store.driver());
    assert!(listed.contains_key(&("objects".into(), ".hidden".into())));
    // A namespace inside another is read, is not listed, and its objects stay.
    let hidden = std::fs::read(path.join("keys/objects/.hidden")).unwrap();
    std::fs::create_dir_all(path.join("keys/.a/b")).unwrap();
    std::fs::rename(path.join("keys/objects/.hidden"), path.join("keys/.a/b/c")).unwrap();
    assert_eq!(0, store.gc(&now()).unwrap().deleted);
    let nested = store.get(Key::new(".a/b", "c")).unwrap();
    assert_eq!(String::from_utf8_lossy(&hidden).trim(), nested.hash.hex());
    assert_eq!(vec!["objects".to_string()], store.namespaces().unwrap());
    // New ones are refused, or asked for by name.
    assert_eq!(
        ErrorKind::KeyInvalid,
        put(&store, ".new", &hidden).unwrap_err().kind()
    );
    let options = StorrOptions {
        allow_dot_keys: true,
        ..StorrOptions::default()
    };
    let dots = Store::new(
        Box::new(open(&path, &options).unwrap()),
        OpenOptions::default(),
    );
    put(&dots, ".new", &doubles([8.0])).unwrap();
    assert_eq!(0, store.gc(&now()).unwrap().deleted);
    assert!(store.get(Key::from(".new")).is_ok());
}

/// Sets fresh keys, overwrites and deletes some, while it goes on and until it has set each of its keys.
fn writer(path: &Path, number: usize, goes_on: impl Fn() -> bool) {
    let driver = made(path);
    let store = Store::new(Box::new(driver), OpenOptions::default());
    let mut set = 0_u32;
    while goes_on() || set < 40 {
        set += 1;
        // Few values, so that objects become garbage and are wanted again.
        let value = (number * 1000) as f64 + f64::from(set % 50);
        put(
            &store,
            &format!("w{number}-{}", set % 40),
            &doubles([value]),
        )
        .unwrap();
        if set % 7 == 0 {
            storr::delete(
                store.driver(),
                Key::from(&*format!("w{number}-{}", set % 40)),
            )
            .unwrap();
        }
    }
    println!("{set} sets");
}

#[test]
fn fault_03_gc_races_set() {
    if let Some(path) = is_child() {
        let number = std::process::id() as usize;
        let parent = folders::parent();
        return writer(&path, number, || !parent.is_finished());
    }
    let folder = Folder::new();
    let path = folder.join("s");
    let store = store(&path);
    let mut children: Vec<_> = (0..3)
        .map(|_| {
            let mut child = child("storr_faults::fault_03_gc_races_set", &path);
            child.stdin(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = EndOnDrop(&done);
        // And a writer of this very process.
        scope.spawn(|| writer(&path, 0, || !done.load(Ordering::Relaxed)));
        let failed = |child: &mut Child| child.try_wait().unwrap().is_some();
        let span = Span::start(SHORT);
        let (mut runs, mut deleted) = (0, 0);
        while span.lasts(runs > 20 && deleted > 0) && !children.iter_mut().any(failed) {
            match store.gc(&now()) {
                Ok(report) => {
                    runs += 1;
                    deleted += report.deleted;
                }
                Err(error) => assert_eq!(ErrorKind::Busy, error.kind(), "{error}"),
            }
        }
    });
    for child in &mut children {
        drop(child.stdin.take());
    }
    for child in children {
        let ran = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout).into_owned()
            + &String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{text}");
    }
    assert_eq!(Vec::<(FindingKind, String)>::new(), problems(&store));
    assert!(storr::listing(store.driver()).len() > 100);
    assert!(litter(&path).is_empty());
}

#[test]
fn fault_04_overwrite_is_atomic() {
    let folder = Folder::new();
    let path = folder.join("s");
    let values: Vec<Vec<u8>> = (0..4).map(|at| noise(at, 2000)).collect();
    let writing = store(&path);
    put(&writing, "k", &values[0]).unwrap();
    let done = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let _end = EndOnDrop(&done);
        for _ in 0..2 {
            scope.spawn(|| {
                let reading = store(&path);
                while !done.load(Ordering::Relaxed) {
                    let got = reading.get(Key::from("k")).unwrap().bytes().unwrap();
                    assert!(values.iter().any(|value| value[..] == got[..]));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let span = Span::start(SHORT);
        let mut writes = 0;
        while span.lasts(reads.load(Ordering::Relaxed) > 500 && writes > 200) {
            put(&writing, "k", &values[writes % 4]).unwrap();
            writes += 1;
        }
    });
}

/// Flips a bit of a file.
fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 4;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn fault_05_check_rehashes_and_fault_06_set_repairs() {
    let folder = Folder::new();
    for (compress, size) in [(true, 10), (false, 10), (true, 40_000), (false, 40_000)] {
        let path = folder.join(&format!("{compress}{size}"));
        let options = StorrOptions {
            compress: Some(compress),
            ..StorrOptions::default()
        };
        let again = || {
            let driver = open(&path, &options).unwrap();
            Store::new(Box::new(driver), OpenOptions::default())
        };
        let plain = noise(3, size);
        let hash = put(&again(), "k", &plain).unwrap();
        let object = path.join(format!("data/{hash}.rds"));
        let length = std::fs::metadata(&object).unwrap().len() as usize;
        // The header of the serialization is not hashed, but no value hangs on it.
        for at in [length - 1, length / 2, length / 3, 20] {
            flip(&object, at);
            let store = again();
            let error = store.get(Key::from("k")).unwrap().bytes().unwrap_err();
            assert_eq!(ErrorKind::Corrupt, error.kind(), "{at}");
            let mut stream = store.get(Key::from("k")).unwrap().reader().unwrap();
            assert!(std::io::copy(&mut stream, &mut std::io::sink()).is_err());
            let found = problems(&store);
            assert_eq!(1, found.len(), "{found:?}");
            assert_eq!(FindingKind::CorruptObject, found[0].0);
            put(&again(), "other", &plain).unwrap();
            let store = again();
            assert!(problems(&store).is_empty());
            assert_eq!(
                &plain[..],
                &store.get(Key::from("k")).unwrap().bytes().unwrap()[..]
            );
        }
        for length in [0, 1, 20, length / 2, length - 1] {
            let whole = std::fs::read(&object).unwrap();
            std::fs::write(&object, &whole[..length]).unwrap();
            let error = again().get(Key::from("k")).unwrap().bytes().unwrap_err();
            assert_eq!(ErrorKind::Corrupt, error.kind(), "{length}");
            put(&again(), "k", &plain).unwrap();
            assert!(problems(&again()).is_empty());
        }
    }
}

#[test]
fn fault_07_precise_errors() {
    let folder = Folder::new();
    let path = folder.join("s");
    let store = store(&path);
    let hash = put(&store, "k", &doubles([1.5])).unwrap();
    let kind = |key: &str| {
        let got = store
            .get(Key::from(key))
            .and_then(tare::store::Object::bytes);
        got.map_err(|error| error.kind())
    };
    assert_eq!(Err(ErrorKind::KeyNotFound), kind("other"));
    std::fs::remove_file(path.join(format!("data/{hash}.rds"))).unwrap();
    assert_eq!(Err(ErrorKind::ObjectNotFound), kind("k"));
    let file = path.join("keys/objects/k");
    for bad in ["", "nothex\n", &hash.hex()[1..], &hash.hex().to_uppercase()] {
        std::fs::write(&file, bad).unwrap();
        assert_eq!(Err(ErrorKind::Corrupt), kind("k"), "{bad}");
        assert_eq!(FindingKind::BadKey, problems(&store)[0].0);
        assert!(storr::listing(store.driver()).is_empty());
    }
    std::fs::write(&file, format!("{hash}{}", " ".repeat(5000))).unwrap();
    assert_eq!(Err(ErrorKind::Corrupt), kind("k"));
    // Every flipped bit of a key's file is another hash, which is not there, or none.
    for bit in 0..32 * 8 {
        let mut bytes = format!("{hash}\n").into_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, bytes).unwrap();
        assert!(matches!(
            kind("k"),
            Err(ErrorKind::Corrupt | ErrorKind::ObjectNotFound)
        ));
    }
    // Set again, all is well.
    put(&store, "k", &doubles([1.5])).unwrap();
    assert!(kind("k").is_ok());
    assert!(problems(&store).is_empty());
    // A link that leads out of the store is no key, and no object.
    let outside = folder.join("outside");
    std::fs::write(&outside, format!("{hash}\n")).unwrap();
    std::os::unix::fs::symlink(&outside, path.join("keys/objects/link")).unwrap();
    assert_eq!(Err(ErrorKind::Corrupt), kind("link"));
    std::os::unix::fs::symlink(folder.path(), path.join("keys/elsewhere")).unwrap();
    assert!(store.get(Key::new("elsewhere", "outside")).is_err());
    assert!(store.get(Key::new("..", "outside")).is_err());
    assert!(store.get(Key::new("objects", "../../../outside")).is_err());
}

#[test]
fn fault_08_bad_keys() {
    let folder = Folder::new();
    let path = folder.join("s");
    let store = store(&path);
    put(&store, "good", &doubles([1.0])).unwrap();
    let before = storr::files(&path);
    let long = "k".repeat(256);
    for key in ["a/b", "", &long, ".", "..", ".dot", "a\0b"] {
        let error = put(&store, key, &doubles([2.0])).unwrap_err();
        assert_eq!(ErrorKind::KeyInvalid, error.kind(), "{key:?}");
    }
    for namespace in ["a/b", "..", "", ".n"] {
        let key = Key::new(namespace, "k");
        let set = store.set(
            key,
            "rds",
            Source::Bytes(&[&doubles([2.0])]),
            &SetOptions::default(),
        );
        assert_eq!(
            ErrorKind::KeyInvalid,
            set.unwrap_err().kind(),
            "{namespace:?}"
        );
    }
    assert_eq!(before, storr::files(&path));
    let mangled = folder.join("m");
    let options = StorrOptions {
        mangle_key: Some(true),
        ..StorrOptions::default()
    };
    let driver = open(&mangled, &options).unwrap();
    let store = Store::new(Box::new(driver), OpenOptions::default());
    for key in [
        "a/b",
        ".dot",
        "..",
        "UPPER",
        "upper",
        "a?b*c:d|e",
        "\u{1f600}",
    ] {
        put(&store, key, &doubles([key.len() as f64])).unwrap();
        assert!(store.get(Key::from(key)).is_ok());
    }
    // Names that are none are left out of listings, and reported.
    for name in ["not mangled", "YQ==", "a.b"] {
        std::fs::write(mangled.join("keys/objects").join(name), "x").unwrap();
    }
    assert_eq!(7, storr::listing(store.driver()).len());
    let found = problems(&store);
    assert_eq!(3, found.len(), "{found:?}");
    assert!(found.iter().all(|(kind, _)| *kind == FindingKind::BadKey));
}

#[test]
fn fault_09_scratch_is_swept() {
    if let Some(path) = is_child() {
        let driver = made(&path);
        let mut sink = driver
            .begin_object(&tare::store::ObjectHint::default())
            .unwrap();
        std::io::Write::write_all(&mut sink, &vec![1; 1 << 20]).unwrap();
        println!("ready");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let folder = Folder::new();
    let path = folder.join("s");
    drop(made(&path));
    let mut child = child("storr_faults::fault_09_scratch_is_swept", &path)
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while litter(&path).is_empty() {
        assert!(Instant::now() < until, "the child wrote nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    // Of a writer that lives nothing is swept.
    assert_eq!(0, made(&path).sweep().unwrap());
    assert_eq!(1, litter(&path).len());
    child.kill().unwrap();
    child.wait().unwrap();
    // R's own names say nothing: age does.
    let old = path.join("scratch/file1f2e3d");
    let young = path.join("scratch/filebeef");
    for file in [&old, &young] {
        std::fs::write(file, "x").unwrap();
    }
    let time = SystemTime::now() - Duration::from_secs(25 * 3600);
    std::fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_modified(time)
        .unwrap();
    let driver = made(&path);
    assert_eq!(vec!["filebeef".to_string()], litter(&path));
    assert_eq!(0, driver.sweep().unwrap());
}
