//! The driver of Redis, with a real server.

#![cfg(feature = "store-redis")]
#![allow(clippy::unwrap_used, reason = "a test stops at once")]

mod common;

use std::borrow::Cow;

use common::servers::Redis;
use tare::compress::Kind;
use tare::store::drivers::redis::{open, RedisDriver, RedisOptions};
use tare::store::{
    Batch, Body, Change, Driver, Expect, Fetched, Hash, Hasher, Key, NewBody, NewKey, NewObject,
    ObjectHint, ObjectMeta,
};
use tare::{ErrorKind, Result};

fn hash_of(bytes: &[u8]) -> Hash {
    let mut hasher = Hasher::new(tare::store::Algorithm::Blake3, 0);
    hasher.update(bytes);
    hasher.finish()
}

fn object(bytes: &[u8]) -> NewObject<'_> {
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

fn set(driver: &dyn Driver, key: &str, bytes: &[u8], expect: Expect) -> Result<bool> {
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

fn read(body: Body) -> Vec<u8> {
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

fn get(driver: &dyn Driver, key: &str) -> Result<Option<Vec<u8>>> {
    Ok(match driver.fetch(&[Key::from(key)])?.pop().unwrap() {
        Fetched::Found(_, stored) => Some(read(stored.body)),
        Fetched::NoObject(_) | Fetched::NoKey => None,
    })
}

fn opened(server: &Redis, prefix: &str) -> RedisDriver {
    open(&server.url(prefix), &RedisOptions::default()).unwrap()
}

#[test]
fn what_is_set_is_got_from_another_connection() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    let driver = opened(&server, "a");
    assert!(set(&driver, "k/\u{1f6eb}", b"one", Expect::Absent).unwrap());
    assert!(!set(&driver, "l", b"one", Expect::Any).unwrap());
    let other = opened(&server, "a");
    assert_eq!(Some(b"one".to_vec()), get(&other, "k/\u{1f6eb}").unwrap());
    let error = set(&driver, "l", b"two", Expect::Absent).unwrap_err();
    assert_eq!(
        (ErrorKind::Conflict, Some("l")),
        (error.kind(), error.detail("key"))
    );
    assert_eq!(2, driver.stat().unwrap().keys);
    assert_eq!(
        1,
        driver.stat().unwrap().objects,
        "nothing of the failed set stays"
    );
}

#[test]
fn a_large_object_goes_up_and_comes_down_in_pieces() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    let driver = opened(&server, "a");
    let bytes = common::noise(1, 66 * 1024 * 1024 + 17);
    let mut sink = driver.begin_object(&ObjectHint::default()).unwrap();
    std::io::Write::write_all(&mut sink, &bytes).unwrap();
    let mut new = object(&bytes);
    new.body = NewBody::Staged(sink.finish().unwrap());
    let hash = new.hash;
    let batch = Batch {
        objects: vec![new],
        ..Batch::default()
    };
    assert_eq!(vec![true], driver.apply(batch).unwrap().created);
    let stored = driver.open_object(&hash).unwrap().unwrap();
    assert!(bytes == read(stored.body));
    let mut found = Vec::new();
    driver.check(&mut |finding| found.push(finding)).unwrap();
    assert_eq!(Vec::<tare::store::Finding>::new(), found);
}

#[test]
fn it_passes_the_kit() -> Result<()> {
    let Some(server) = Redis::start(&[]) else {
        return Ok(());
    };
    tare::testing::driver_conformance(&|| Ok(Box::new(opened(&server, "kit"))))?;
    assert_eq!(":0\r\n", server.command("DBSIZE"), "nothing is left");
    Ok(())
}
