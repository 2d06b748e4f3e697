//! Flipped bits and files cut short: right values, or errors that say so.

use super::{made, never_wrong, noise, write_over};
use crate::common::folder::Folder;
use crate::common::soak::{self, Sample};
use crate::folders::{assert_clean, copy, files, put, read, store, try_store};

#[test]
fn fault_05_flipped_bits_are_never_wrong_data() {
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let work = folder.join("work");
    let (mut flips, mut found) = (0, 0);
    let mut sample = Sample::new(0, 7);
    for file in files(&path) {
        let sound = std::fs::read(path.join(&file)).unwrap();
        let name = file.to_str().unwrap().to_string();
        let spots = if name.starts_with("index") { 600 } else { 30 };
        for spot in sample.select(0..spots) {
            flips += 1;
            // Half of the spots of the index lie in the heads of its pages, where one bit does most.
            let at = if spots == 600 && spot % 2 == 0 {
                (spot / 2 * 4096 + spot * 13 % 160) % sound.len()
            } else {
                let drawn = noise(spot as u64, 12).into_iter().skip(8);
                let drawn = drawn.fold(0, |sum, byte| sum * 256 + usize::from(byte));
                drawn % sound.len()
            };
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (spot % 8);
            copy(&path, &work, "-a");
            write_over(&work.join(&file), &bytes);
            let what = format!("{name}, byte {at}, bit {}", spot % 8);
            let (hurt, _) = never_wrong(&work, &values, &what);
            found += usize::from(hurt > 0);
            if name.starts_with("objects/") {
                assert_eq!(1, hurt, "{what}: not seen");
            }
        }
    }
    assert!(found > soak::scaled(11, 90), "only {found} flips were seen");
    soak::count("flips", flips);
}

#[test]
fn fault_07_truncated_files_are_never_wrong_data() {
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let work = folder.join("work");
    for file in files(&path) {
        let sound = std::fs::read(path.join(&file)).unwrap();
        let mut lens: Vec<usize> = (0..30).map(|part| sound.len() * part / 30).collect();
        lens.extend([1, 16, 100, sound.len() - 1]);
        for len in lens {
            copy(&path, &work, "-a");
            write_over(&work.join(&file), &sound[..len]);
            let what = format!("{}, cut to {len}", file.display());
            let (hurt, named) = never_wrong(&work, &values, &what);
            assert!(
                hurt > 0 || named || len > sound.len() / 2,
                "{what}: not seen"
            );
        }
        copy(&path, &work, "-a");
        std::fs::remove_file(work.join(&file)).unwrap();
        if file.starts_with("objects") {
            let (hurt, named) = never_wrong(&work, &values, "an object is gone");
            assert!((1, true) == (hurt, named));
        } else if file.starts_with("index.sqlite") {
            assert!(try_store(&work).is_err(), "{} is gone", file.display());
        }
    }
}

#[test]
fn fault_06_set_repairs() {
    let folder = Folder::new();
    let path = folder.join("store");
    let values = made(&path);
    let objects = files(&path).into_iter();
    for file in objects.filter(|file| file.starts_with("objects")) {
        let mut bytes = std::fs::read(path.join(&file)).unwrap();
        bytes[500] ^= 4;
        write_over(&path.join(&file), &bytes);
    }
    let (hurt, named) = never_wrong(&path, &values, "all files flipped");
    assert!((3, true) == (hurt, named));
    let store = store(&path);
    for (key, bytes) in &values {
        put(&store, key, bytes).unwrap();
        assert_eq!(bytes, &read(&store, key).unwrap());
    }
    assert_clean(&store, "set again");
}
