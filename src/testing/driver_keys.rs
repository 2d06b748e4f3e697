//! What a driver lists, and which keys it takes.

use crate::store::{Hash, Key, SetOptions};
use crate::{ErrorKind, Result};

use super::driver::{codec, count, get, listed, set, store, value, Open};
use super::{refused, same};

pub(super) fn listings(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    // Over a page of keys; a driver that makes a request for each key does without two more.
    let many = if store.info().atomic_batch {
        2500
    } else {
        1050
    };
    let names: Vec<String> = (0..many).map(|number| format!("k{number:05}")).collect();
    let bytes = value(&store, b"one");
    let parts: &[&[u8]] = &[&bytes];
    let values: Vec<_> = names
        .iter()
        .map(|name| (Key::from(&**name), codec(&store), parts))
        .collect();
    store.set_many(&values, &SetOptions::default())?;
    for (space, key) in [("b", "x"), ("a", "x"), ("c", "y")] {
        set(&store, Key::new(space, key), b"two")?;
    }
    same("all keys in order", &names, &listed(&store, "objects", "")?)?;
    let thousand = names.get(1000..many.min(2000)).unwrap_or_default().to_vec();
    same("a prefix", &thousand, &listed(&store, "objects", "k01")?)?;
    same(
        "no such prefix",
        &Vec::<String>::new(),
        &listed(&store, "objects", "z")?,
    )?;
    let spaces: Vec<String> = ["a", "b", "c", "objects"].map(str::to_owned).to_vec();
    same("namespaces", &spaces, &store.namespaces()?)?;
    let page = store.driver().list_keys("objects", "", Some("k00010"), 3)?;
    let page: Vec<&str> = page.iter().map(|entry| &*entry.key).collect();
    same("a page", &vec!["k00011", "k00012", "k00013"], &page)?;
    let mut hashes: Vec<Hash> = store.hashes().collect::<Result<_>>()?;
    let listed = hashes.clone();
    hashes.sort_unstable();
    hashes.dedup();
    same("hashes in order", &hashes, &listed)?;
    same("objects", &2, &listed.len())?;
    same("keys of stat", &(many as u64 + 3), &store.stat()?.keys)
}

pub(super) fn keys(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    let long = "k".repeat(1024);
    let odd = [
        "a/b",
        "/",
        "//x//",
        ".",
        "..",
        ".hidden",
        "../../up",
        " ",
        "a b",
        "\t",
        "a\nb",
        "CON",
        "a:b",
        "%2F",
        "a%",
        "caf\u{e9}",
        "cafe\u{301}",
        "\u{1f6eb}",
        "\u{10ffff}",
        "~",
        "A",
        "a",
        "k=",
        "?*|<>\"'\\",
        "\u{7f}",
        "{}",
        &long,
    ];
    let mut held = Vec::new();
    for (number, name) in odd.iter().enumerate() {
        let key = Key::from(*name);
        let before = count(&store)?;
        let text = format!("value {number}");
        match set(&store, key, text.as_bytes()) {
            Ok(_) => held.push((*name, text)),
            Err(error) if error.kind() == ErrorKind::KeyInvalid => {
                same("objects after a refused key", &before, &count(&store)?)?;
            }
            Err(error) => return Err(error),
        }
    }
    for (name, text) in &held {
        let got = get(&store, Key::from(*name))?;
        same(
            &format!("the value of {name:?}"),
            &text.as_bytes().to_vec(),
            &got,
        )?;
    }
    let mut names: Vec<String> = held.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.sort_unstable();
    same(
        "odd keys are listed",
        &names,
        &listed(&store, "objects", "")?,
    )?;
    let too_long = "k".repeat(1025);
    for bad in ["", "nul\0", &too_long] {
        refused(
            "set",
            ErrorKind::KeyInvalid,
            set(&store, Key::from(bad), b"x"),
        )?;
        refused(
            "set",
            ErrorKind::KeyInvalid,
            set(&store, Key::new(bad, "k"), b"x"),
        )?;
        refused("get", ErrorKind::KeyInvalid, store.get(Key::from(bad)))?;
    }
    same("del of odd keys", &vec![true; names.len()], &{
        let keys: Vec<Key<'_>> = names.iter().map(|name| Key::from(&**name)).collect();
        store.del(&keys)?
    })
}
