//! Object stores: moto's server, and versitygw where it is on the path.

use std::sync::Once;

use tare::store::drivers::object_store::{open, ObjectDriver, ObjectOptions};
use tare::store::{Driver, Expect, Finding};
use tare::{ErrorKind, Result};

use crate::common::servers::S3;
use crate::shared::{findings, get, gone, large_in_little_memory, many, one_of_sixteen_wins, set};

pub fn url(server: &S3, prefix: &str) -> url::Url {
    static ENVIRONMENT: Once = Once::new();
    ENVIRONMENT.call_once(|| {
        std::env::set_var("AWS_ACCESS_KEY_ID", S3::KEYS.0);
        std::env::set_var("AWS_SECRET_ACCESS_KEY", S3::KEYS.1);
    });
    let text = format!(
        "s3://bucket/{prefix}?endpoint={}&region=us-east-1&allow_http=1",
        server.endpoint()
    );
    text.parse().unwrap()
}

/// Nobody else writes while it collects.
fn opened(server: &S3, prefix: &str) -> ObjectDriver {
    let options = ObjectOptions {
        exclusive: true,
        ..ObjectOptions::default()
    };
    open(&url(server, prefix), &options).unwrap()
}

#[test]
fn it_passes_the_kit() -> Result<()> {
    for server in [S3::moto(), S3::versitygw()].into_iter().flatten() {
        server.make_bucket("bucket");
        tare::testing::driver_conformance(&|| Ok(Box::new(opened(&server, "a/kit"))))?;
        let left = server.list("bucket");
        assert!(!left.contains("<Key>"), "nothing is left: {left}");
    }
    Ok(())
}

#[test]
fn races_batches_and_large_objects() {
    let Some(server) = S3::moto() else { return };
    server.make_bucket("bucket");
    let driver = opened(&server, "races");
    assert!(driver.info().conditions && !driver.info().atomic_batch);
    one_of_sixteen_wins(&driver);
    let (set, got) = many(&driver, 300);
    eprintln!("s3: 300 small values set in {set:?}, got in {got:?}");
    assert_eq!(Vec::<Finding>::new(), findings(&driver));
}

#[test]
fn a_key_deleted_under_a_condition_can_be_set_again() {
    let Some(server) = S3::moto() else { return };
    server.make_bucket("bucket");
    let driver = opened(&server, "deleted");
    set(&driver, "k", b"one", Expect::Absent).unwrap();
    let hash = crate::shared::hash_of(b"one");
    let batch = || tare::store::Batch {
        changes: vec![tare::store::Change {
            key: tare::store::Key::from("k"),
            to: None,
            expect: Expect::Is(hash),
        }],
        ..tare::store::Batch::default()
    };
    driver.apply(batch()).unwrap();
    assert_eq!(None, get(&driver, "k").unwrap());
    assert_eq!(0, driver.stat().unwrap().keys);
    assert_eq!(
        ErrorKind::Conflict,
        driver.apply(batch()).unwrap_err().kind()
    );
    set(&driver, "k", b"two", Expect::Absent).unwrap();
    assert_eq!(Some(b"two".to_vec()), get(&driver, "k").unwrap());
    assert!(gone(&driver, "k").unwrap());
}

#[test]
fn a_collection_marks_first_and_sweeps_later() {
    let Some(server) = S3::moto() else { return };
    server.make_bucket("bucket");
    let driver = opened(&server, "gc");
    set(&driver, "k", b"one", Expect::Any).unwrap();
    set(&driver, "l", b"two", Expect::Any).unwrap();
    gone(&driver, "k").unwrap();
    let options = |seconds| tare::store::GcOptions {
        grace: std::time::Duration::from_secs(seconds),
        dry_run: false,
    };
    let marked = driver.gc(&options(3)).unwrap();
    assert_eq!((1, 0), (marked.condemned, marked.deleted));
    assert!(marked.kept_until.is_some());
    std::thread::sleep(std::time::Duration::from_secs(4));
    let swept = driver.gc(&options(3)).unwrap();
    assert_eq!((1, 1, 3), (swept.condemned, swept.deleted, swept.bytes));
    assert_eq!(Some(b"two".to_vec()), get(&driver, "l").unwrap());
    assert_eq!(1, driver.stat().unwrap().objects);
}

/// What another has written and not named yet is not taken.
#[test]
fn a_short_grace_is_refused_where_others_may_write() {
    let Some(server) = S3::moto() else { return };
    server.make_bucket("bucket");
    let url = url(&server, "beside");
    let driver = open(&url, &ObjectOptions::default()).unwrap();
    set(&driver, "k", b"one", Expect::Any).unwrap();
    gone(&driver, "k").unwrap();
    let gc = |driver: &ObjectDriver, hours: u64, dry_run| {
        let grace = std::time::Duration::from_secs(hours * 3600);
        driver.gc(&tare::store::GcOptions { grace, dry_run })
    };
    for hours in [0, 23] {
        let error = gc(&driver, hours, false).unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind(), "{error}");
        assert!(error.to_string().contains("exclusive=1"), "{error}");
    }
    assert_eq!(1, gc(&driver, 0, true).unwrap().deleted, "a dry run tells");
    assert_eq!(0, gc(&driver, 24, false).unwrap().deleted);
    assert_eq!(1, driver.stat().unwrap().objects);
    let mut alone = url.clone();
    alone.query_pairs_mut().append_pair("exclusive", "1");
    let alone = open(&alone, &ObjectOptions::default()).unwrap();
    assert_eq!(1, gc(&alone, 0, false).unwrap().deleted);
}

#[test]
fn what_is_refused_is_refused_before_anything_is_written() {
    let Some(server) = S3::moto() else { return };
    server.make_bucket("bucket");
    let readers = ObjectOptions {
        read_only: true,
        ..ObjectOptions::default()
    };
    let error = open(&url(&server, "no"), &readers).err().unwrap();
    assert_eq!(ErrorKind::NotFound, error.kind(), "{error}");
    let driver = opened(&server, "no");
    let long = "/".repeat(301);
    let error = driver
        .check_key(tare::store::Key::from(&*long))
        .unwrap_err();
    assert_eq!(ErrorKind::KeyInvalid, error.kind(), "{error}");
    let reader = open(&url(&server, "no"), &readers).unwrap();
    let error = set(&reader, "k", b"x", Expect::Any).unwrap_err();
    assert_eq!(ErrorKind::ReadOnly, error.kind(), "{error}");
    let mut secret = url(&server, "no");
    secret.set_password(Some("s3cret")).unwrap();
    let error = open(&secret, &readers).err().unwrap();
    assert!(error.kind() == ErrorKind::Usage && !format!("{error:?}").contains("s3cret"));
}

#[test]
fn a_large_object_takes_little_memory() {
    crate::shared::alone("object::a_large_object_takes_little_memory", || {
        let Some(server) = S3::moto() else { return };
        server.make_bucket("bucket");
        let more = large_in_little_memory(&opened(&server, "large"));
        eprintln!("s3: 160 MB in {more} KiB");
        assert!(more < 64 * 1024, "{more} KiB");
    });
}
