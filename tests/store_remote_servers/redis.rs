//! Redis.

use tare::store::drivers::redis::{open, RedisDriver, RedisOptions};
use tare::store::{Batch, Driver, Expect, Finding};
use tare::{ErrorKind, Result};

use crate::common;
use crate::common::servers::Redis;
use crate::shared::{
    findings, get, many, no_key_dangles_beside_gc, one_of_sixteen_wins, read, set, staged,
};

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
    let new = staged(&driver, &bytes);
    let hash = new.hash;
    let batch = Batch {
        objects: vec![new],
        ..Batch::default()
    };
    assert_eq!(vec![true], driver.apply(batch).unwrap().created);
    let stored = driver.open_object(&hash).unwrap().unwrap();
    assert!(bytes == read(stored.body));
    assert_eq!(Vec::<Finding>::new(), findings(&driver));
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

#[test]
fn races_and_batches() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    let driver = opened(&server, "races");
    one_of_sixteen_wins(&driver);
    no_key_dangles_beside_gc(&driver, 100);
    let (set, got) = many(&driver, 3000);
    eprintln!("redis: 3,000 small values set in {set:?}, got in {got:?}");
    assert!(set.as_secs() < 5 && got.as_secs() < 5, "{set:?} {got:?}");
}

#[test]
fn a_server_that_comes_back_is_spoken_to_again() {
    let Some(mut server) = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]) else {
        return;
    };
    let driver = opened(&server, "back");
    set(&driver, "k", b"before", Expect::Any).unwrap();
    server.kill();
    let options = RedisOptions {
        timeout: std::time::Duration::from_millis(300),
        ..RedisOptions::default()
    };
    let error = open(&server.url("back"), &options).err().unwrap();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    server.again();
    assert_eq!(Some(b"before".to_vec()), get(&driver, "k").unwrap());
    set(&driver, "k", b"after", Expect::Any).unwrap();
    assert_eq!(Some(b"after".to_vec()), get(&driver, "k").unwrap());
}

#[test]
fn a_full_server_is_told_and_nothing_is_changed() {
    let Some(server) = Redis::start(&["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"])
    else {
        return;
    };
    let driver = opened(&server, "full");
    set(&driver, "k", b"kept", Expect::Any).unwrap();
    let large = common::noise(3, 600_000);
    let mut number = 0_u8;
    let error = loop {
        let mut bytes = large.clone();
        bytes[0] = number;
        match set(&driver, "k2", &bytes, Expect::Any) {
            Ok(_) => number += 1,
            Err(error) => break error,
        }
        assert!(number < 20, "it is never full");
    };
    assert_eq!(ErrorKind::NoSpace, error.kind(), "{error}");
    assert_eq!(Some(b"kept".to_vec()), get(&driver, "k").unwrap());
    assert_eq!(Vec::<Finding>::new(), findings(&driver));
    // Deleting and collecting make room again.
    crate::shared::gone(&driver, "k2").unwrap();
    let options = tare::store::GcOptions {
        grace: std::time::Duration::ZERO,
        dry_run: false,
    };
    assert!(driver.gc(&options).unwrap().deleted > 0);
    set(&driver, "k3", b"again", Expect::Any).unwrap();
}

#[test]
fn secrets_are_not_shown_and_foreign_data_is_left_alone() {
    let Some(server) = Redis::start(&["--requirepass", "s3cret"]) else {
        return;
    };
    let mut url = server.url("p");
    url.set_password(Some("wr0ng")).unwrap();
    let error = open(&url, &RedisOptions::default()).err().unwrap();
    assert!(!format!("{error} {error:?}").contains("wr0ng"), "{error:?}");
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    url.set_password(Some("s3cret")).unwrap();
    let driver = open(&url, &RedisOptions::default()).unwrap();
    assert!(!format!("{:?}", driver.info()).contains("s3cret"));
    let client = redis_client(&url);
    let mut link = client.get_connection().unwrap();
    for (prefix, value, kind) in [
        ("foreign", "some text", ErrorKind::Usage),
        ("newer", "{\"tare_store\":2}", ErrorKind::StoreVersion),
    ] {
        let key = format!("{{{prefix}}}:meta");
        redis::cmd("SET")
            .arg(&key)
            .arg(value)
            .query::<()>(&mut link)
            .unwrap();
        let mut other = url.clone();
        other.set_query(Some(&format!("prefix={prefix}")));
        let error = open(&other, &RedisOptions::default()).err().unwrap();
        assert_eq!(kind, error.kind(), "{error}");
    }
    redis::cmd("SET")
        .arg("{p}:another")
        .arg(1)
        .query::<()>(&mut link)
        .unwrap();
    driver.destroy().unwrap();
    let left: Vec<String> = redis::cmd("KEYS").arg("{p}*").query(&mut link).unwrap();
    assert_eq!(vec!["{p}:another"], left);
}

fn redis_client(url: &url::Url) -> redis::Client {
    let mut url = url.clone();
    url.set_query(None);
    redis::Client::open(url).unwrap()
}

#[test]
fn a_reader_changes_nothing_and_makes_no_store() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    let options = RedisOptions {
        read_only: true,
        ..RedisOptions::default()
    };
    let error = open(&server.url("r"), &options).err().unwrap();
    assert_eq!(ErrorKind::NotFound, error.kind(), "{error}");
    let driver = opened(&server, "r");
    set(&driver, "k", b"one", Expect::Any).unwrap();
    let reader = open(&server.url("r"), &options).unwrap();
    assert_eq!(Some(b"one".to_vec()), get(&reader, "k").unwrap());
    let error = set(&reader, "k", b"two", Expect::Any).unwrap_err();
    assert_eq!(ErrorKind::ReadOnly, error.kind(), "{error}");
}

#[test]
fn each_is_refused_before_anything_is_written_where_the_server_cannot() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    let driver = opened(&server, "each");
    let batch = Batch {
        objects: vec![crate::shared::object(b"one")],
        durability: tare::store::Durability::Each,
        ..Batch::default()
    };
    let error = driver.apply(batch).unwrap_err();
    assert_eq!(ErrorKind::Unsupported, error.kind(), "{error}");
    assert_eq!(0, driver.stat().unwrap().objects);
}

#[test]
fn a_network_that_cuts_and_falls_silent() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    let proxy = crate::common::proxy::Proxy::start(server.port);
    let mut url = server.url("cuts");
    url.set_port(Some(proxy.port)).unwrap();
    let driver = open(&url, &RedisOptions::default()).unwrap();
    crate::shared::cut_answers_are_not_guessed(&driver, &proxy, (0..120).map(|n| n * 3));
    let options = RedisOptions {
        timeout: std::time::Duration::from_millis(600),
        ..RedisOptions::default()
    };
    let hasty = open(&url, &options).unwrap();
    proxy.delay(std::time::Duration::from_millis(20));
    set(&hasty, "slow", b"but there", Expect::Any).unwrap();
    proxy.delay(std::time::Duration::ZERO);
    proxy.silent(true);
    let error = set(&hasty, "silent", b"x", Expect::Any).unwrap_err();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    proxy.silent(false);
    assert_eq!(Some(b"but there".to_vec()), get(&hasty, "slow").unwrap());
}

#[test]
fn a_large_object_takes_little_memory() {
    crate::shared::alone("redis::a_large_object_takes_little_memory", || {
        let Some(server) = Redis::start(&[]) else {
            return;
        };
        let more = crate::shared::large_in_little_memory(&opened(&server, "large"));
        eprintln!("redis: 160 MB in {more} KiB");
        assert!(more < 64 * 1024, "{more} KiB");
    });
}

#[test]
fn a_flipped_bit_is_seen_and_mended() {
    let Some(server) = Redis::start(&[]) else {
        return;
    };
    crate::shared::flipped_bits_are_seen(server.url("flips").as_str(), |hash| {
        let mut link = redis_client(&server.url("x")).get_connection().unwrap();
        let name = format!("{{flips}}:o:{hash}");
        let byte: Vec<u8> = redis::cmd("GETRANGE")
            .arg(&name)
            .arg(500)
            .arg(500)
            .query(&mut link)
            .unwrap();
        redis::cmd("SETRANGE")
            .arg(&name)
            .arg(500)
            .arg(&[byte[0] ^ 4])
            .query::<u64>(&mut link)
            .unwrap();
    });
}
