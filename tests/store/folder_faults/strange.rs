//! Folders that others copied, tidied, dated, or own.

use std::process::Command;
use std::time::Duration;

use tare::store::drivers::folder::{open, FolderOptions};
use tare::store::{FindingKind, OpenOptions, Store};
use tare::ErrorKind;

use super::{made, never_wrong, noise, three_values, write_over};
use crate::common;
use crate::common::folder::Folder;
use crate::folders::{
    assert_clean, check, child, collect, copy, del, files, put, read, role, store, try_store,
};

#[test]
fn copies_by_hard_links_are_not_written_through() {
    let folder = Folder::new();
    let (path, linked) = (folder.join("store"), folder.join("linked"));
    let values = made(&path);
    copy(&path, &linked, "-al");
    let before: Vec<_> = files(&path)
        .into_iter()
        .map(|file| (std::fs::read(path.join(&file)).unwrap(), file))
        .collect();
    let copied = store(&linked);
    for (key, _) in &values {
        put(&copied, key, key.as_bytes()).unwrap();
    }
    put(&copied, "more", &noise(1, 100_000)).unwrap();
    assert!(collect(&copied, Duration::ZERO).unwrap().deleted >= 9);
    assert_clean(&copied, "the copy");
    drop(copied);
    for (bytes, file) in &before {
        let now = std::fs::read(path.join(file)).unwrap();
        assert!(now == *bytes, "{} was written to", file.display());
    }
    assert_eq!((0, false), never_wrong(&path, &values, "what was copied"));
}

#[test]
fn strange_things_in_a_folder_stay_or_are_refused() {
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let foreign = [
        "objects/ab/notes.txt",
        "objects/README",
        "staging/mine",
        "other/file",
    ];
    for name in foreign {
        let file = path.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "foreign").unwrap();
    }
    let outside = folder.join("outside");
    std::fs::write(&outside, "precious").unwrap();
    std::os::unix::fs::symlink(&outside, path.join("objects/link")).unwrap();
    let opened = store(&path);
    collect(&opened, Duration::ZERO).unwrap();
    let report = check(&opened).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let told = report.findings.iter();
    let told = told
        .filter(|finding| finding.kind == FindingKind::Foreign)
        .count();
    assert!(told == 5, "{:?}", report.findings);
    opened.repair(&report, true, true).unwrap();
    drop(opened);
    for name in foreign {
        assert!(path.join(name).exists(), "{name} is gone");
    }
    assert_eq!("precious", std::fs::read_to_string(&outside).unwrap());
    assert_eq!(
        (0, false),
        never_wrong(&path, &values, "with foreign files")
    );
    // An object that is a link to elsewhere is not followed.
    let objects = files(&path).into_iter();
    let mut objects = objects.filter(|file| file.extension().is_some_and(|ending| ending == "raw"));
    let file = path.join(objects.next().unwrap());
    std::fs::rename(&file, folder.join("moved")).unwrap();
    std::os::unix::fs::symlink(folder.join("moved"), &file).unwrap();
    let opened = store(&path);
    let hurt = values.iter().filter(|(key, _)| read(&opened, key).is_err());
    assert_eq!(1, hurt.count());
    assert!(!check(&opened).unwrap().is_clean());
}

#[test]
fn markers_of_others_are_refused_and_lost_folders_made_again() {
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let marker = path.join("tare-store.json");
    let sound = std::fs::read_to_string(&marker).unwrap();
    assert!(
        sound.contains("\"tare_store\":1") && sound.contains("\"features\":[]"),
        "{sound}"
    );
    let cases = [
        (
            sound.replace("\"tare_store\":1", "\"tare_store\":2"),
            ErrorKind::StoreVersion,
        ),
        (
            sound.replace("\"features\":[]", "\"features\":[\"new\"]"),
            ErrorKind::StoreVersion,
        ),
        (
            sound.replace("\"folder\"", "\"other\""),
            ErrorKind::ConfigMismatch,
        ),
        ("{".into(), ErrorKind::Corrupt),
        (String::new(), ErrorKind::Corrupt),
    ];
    for (text, kind) in cases {
        write_over(&marker, text.as_bytes());
        assert_eq!(kind, try_store(&path).err().unwrap().kind(), "{text}");
    }
    write_over(&marker, sound.as_bytes());
    std::fs::remove_dir_all(path.join("staging")).unwrap();
    let opened = store(&path);
    std::fs::remove_dir_all(path.join("staging")).unwrap();
    put(&opened, "again", &noise(5, 100_000)).unwrap();
    std::fs::remove_dir_all(path.join("staging")).unwrap();
    collect(&opened, Duration::ZERO).unwrap();
    drop(opened);
    assert_eq!((0, false), never_wrong(&path, &values, "without staging"));
    std::fs::remove_dir_all(path.join("objects")).unwrap();
    let (hurt, named) = never_wrong(&path, &values, "without objects");
    assert!((3, true) == (hurt, named));
    let opened = store(&path);
    for (key, bytes) in &values {
        put(&opened, key, bytes).unwrap();
    }
    put(&opened, "again", &noise(5, 100_000)).unwrap();
    assert_clean(&opened, "set again");
}

#[test]
fn clocks_that_jump_delete_nothing_early() {
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let day = Duration::from_secs(24 * 3600);
    for (turn, time) in [i64::MAX, i64::MIN, 0, -1, 1 << 60, 4_000_000_000_000_000]
        .into_iter()
        .enumerate()
    {
        let opened = store(&path);
        let (small, large) = (
            noise(90 + turn as u64, 700),
            noise(95 + turn as u64, 99_000),
        );
        put(&opened, "gone", &small).unwrap();
        put(&opened, "gone2", &large).unwrap();
        del(&opened, "gone").unwrap();
        del(&opened, "gone2").unwrap();
        drop(opened);
        let index = rusqlite::Connection::open(path.join("index.sqlite")).unwrap();
        index
            .execute(
                "UPDATE objects SET born = ?1, unref_since = CASE WHEN refs = 0 THEN ?1 END",
                [time],
            )
            .unwrap();
        index.close().unwrap();
        let opened = store(&path);
        let report = collect(&opened, day).unwrap();
        // A mark of long ago may be believed for what lies in the index; a file has a time of its own.
        assert!(report.deleted <= u64::from(time <= 0), "{time}: {report:?}");
        let again = collect(&opened, day).unwrap();
        assert_eq!(0, again.deleted, "{time}: {again:?}");
        assert_clean(&opened, "a strange time");
        collect(&opened, Duration::ZERO).unwrap();
        assert_eq!(9, opened.stat().unwrap().objects, "{time}");
        drop(opened);
        assert_eq!(
            (0, false),
            never_wrong(&path, &values, &format!("time {time}"))
        );
    }
}

#[test]
fn what_may_not_be_written_is_said() {
    let test = "folder_faults::strange::what_may_not_be_written_is_said";
    if let Some((path, _)) = role() {
        let kinds = [ErrorKind::Io, ErrorKind::ReadOnly];
        let opened = try_store(&path);
        let set = |len| match &opened {
            Err(error) => error.kind(),
            Ok(opened) => put(opened, "k", &noise(1, len)).unwrap_err().kind(),
        };
        for len in [10, 10_000, 100_000] {
            assert!(kinds.contains(&set(len)), "{:?}", set(len));
        }
        // For reading it needs no right to write.
        let options = FolderOptions {
            read_only: true,
            ..FolderOptions::default()
        };
        let driver = Box::new(open(&path, &options).unwrap());
        let reader = Store::new(driver, OpenOptions::default());
        for (key, bytes) in three_values() {
            assert!(read(&reader, &key).unwrap() == bytes, "{key}");
        }
        assert_clean(&reader, "another user");
        return;
    }
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let before = files(&path);
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let inner = child(test, &path, "");
    let exe = folder.join("test");
    // By a process of its own: what other tests fork meanwhile would hold a copy of ours open for writing, which then cannot be run.
    let copied = Command::new("cp")
        .arg(inner.get_program())
        .arg(&exe)
        .status();
    assert!(copied.unwrap().success());
    let mut ran = Command::new("setpriv");
    ran.args(nobody).arg(&exe).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        ran.env(name, value.unwrap());
    }
    let ran = ran.current_dir(folder.path()).output();
    match ran {
        Ok(ran) => {
            let said = String::from_utf8_lossy(&ran.stderr) + String::from_utf8_lossy(&ran.stdout);
            if said.contains("setpriv:") {
                return common::skip(&format!("privileges cannot be dropped: {said}"));
            }
            assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        }
        Err(error) => return common::skip(&format!("setpriv: {error}")),
    }
    assert_eq!(before, files(&path), "something was changed");
    assert_eq!(
        (0, false),
        never_wrong(&path, &values, "after another user")
    );
}
