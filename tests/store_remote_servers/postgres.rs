//! `PostgreSQL`.

use tare::store::drivers::postgres::{open, PostgresDriver, PostgresOptions};
use tare::store::{Batch, Driver, Expect, Finding};
use tare::{ErrorKind, Result};

use crate::common;
use crate::common::servers::Postgres;
use crate::shared::{
    findings, get, many, no_key_dangles_beside_gc, one_of_sixteen_wins, read, set, staged,
};

fn opened(server: &Postgres, schema: &str) -> PostgresDriver {
    open(&server.url(schema), &PostgresOptions::default()).unwrap()
}

#[test]
fn it_passes_the_kit() -> Result<()> {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return Ok(());
    };
    tare::testing::driver_conformance(&|| Ok(Box::new(opened(&server, "kit"))))?;
    let left = server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'kit'");
    assert_eq!(Ok("0".to_string()), left, "nothing is left");
    Ok(())
}

#[test]
fn races_and_batches_and_large_objects() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    // Eight open it at once, and one makes it.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| opened(&server, "races"));
        }
    });
    let driver = opened(&server, "races");
    one_of_sixteen_wins(&driver);
    no_key_dangles_beside_gc(&driver, 50);
    let (set, got) = many(&driver, 3000);
    eprintln!("postgres: 3,000 small values set in {set:?}, got in {got:?}");
    assert!(set.as_secs() < 5 && got.as_secs() < 5, "{set:?} {got:?}");
    let bytes = common::noise(1, 10 * 1024 * 1024 + 17);
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
fn a_server_that_was_killed_has_what_it_acknowledged() {
    let Some(mut server) = Postgres::start(&[]) else {
        return;
    };
    let driver = opened(&server, "back");
    set(&driver, "k", b"before", Expect::Any).unwrap();
    driver.flush().unwrap();
    server.kill();
    let options = PostgresOptions {
        timeout: std::time::Duration::from_millis(300),
        ..PostgresOptions::default()
    };
    let error = open(&server.url("back"), &options).err().unwrap();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    server.again();
    assert_eq!(Some(b"before".to_vec()), get(&driver, "k").unwrap());
    set(&driver, "k", b"after", Expect::Any).unwrap();
    assert_eq!(Some(b"after".to_vec()), get(&driver, "k").unwrap());
    assert_eq!(Vec::<Finding>::new(), findings(&driver));
}

#[test]
fn roles_that_may_only_read_and_schemas_of_others() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let driver = opened(&server, "s");
    set(&driver, "k", b"one", Expect::Any).unwrap();
    server
        .query(
            "CREATE ROLE reader LOGIN PASSWORD 's3cret'; GRANT USAGE ON SCHEMA s TO reader; \
             GRANT SELECT ON ALL TABLES IN SCHEMA s TO reader",
        )
        .unwrap();
    let mut url = server.url("s");
    url.set_username("reader").unwrap();
    url.set_password(Some("s3cret")).unwrap();
    let reader = open(&url, &PostgresOptions::default()).unwrap();
    assert!(!format!("{:?}", reader.info()).contains("s3cret"));
    assert_eq!(Some(b"one".to_vec()), get(&reader, "k").unwrap());
    let error = set(&reader, "k", b"two", Expect::Any).unwrap_err();
    assert_eq!(ErrorKind::ReadOnly, error.kind(), "{error}");
    url.set_username("nobody").unwrap();
    let error = open(&url, &PostgresOptions::default()).err().unwrap();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    assert!(
        !format!("{error} {error:?}").contains("s3cret"),
        "{error:?}"
    );
    server
        .query("CREATE SCHEMA other; CREATE TABLE other.mine (x int); UPDATE s.meta SET value = '{\"tare_store\":9}'")
        .unwrap();
    let kind = |schema| {
        let error = open(&server.url(schema), &PostgresOptions::default())
            .err()
            .unwrap();
        error.kind()
    };
    assert_eq!(ErrorKind::Usage, kind("other"));
    assert_eq!(ErrorKind::StoreVersion, kind("s"));
}

#[test]
fn a_network_that_cuts_and_falls_silent() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let proxy = crate::common::proxy::Proxy::start(server.port);
    let mut url = server.url("cuts");
    url.set_port(Some(proxy.port)).unwrap();
    let driver = open(&url, &PostgresOptions::default()).unwrap();
    crate::shared::cut_answers_are_not_guessed(&driver, &proxy, (0..120).map(|n| n * 3));
    let options = PostgresOptions {
        timeout: std::time::Duration::from_millis(600),
        ..PostgresOptions::default()
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
    crate::shared::alone("postgres::a_large_object_takes_little_memory", || {
        let Some(server) = Postgres::start(&["fsync=off"]) else {
            return;
        };
        let more = crate::shared::large_in_little_memory(&opened(&server, "large"));
        eprintln!("postgres: 160 MB in {more} KiB");
        assert!(more < 64 * 1024, "{more} KiB");
    });
}

#[test]
fn a_flipped_bit_is_seen_and_mended() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    crate::shared::flipped_bits_are_seen(server.url("flips").as_str(), |hash| {
        let sql = format!(
            "UPDATE flips.chunk SET data = set_byte(data, 500, get_byte(data, 500) # 4) \
             WHERE n = 0 AND id = (SELECT id FROM flips.object WHERE hash = '\\x{hash}')"
        );
        server.query(&sql).unwrap();
    });
}
