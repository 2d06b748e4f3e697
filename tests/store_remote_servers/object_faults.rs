//! Object stores that answer badly: networks, damage, markers of others, credentials.

use std::time::Duration;

use object_store::{ObjectStore as _, ObjectStoreExt as _};
use tare::store::drivers::object_store::{open, ObjectOptions};
use tare::store::Expect;
use tare::ErrorKind;

use crate::common::proxy::Proxy;
use crate::common::servers::S3;
use crate::object::url;
use crate::shared::{cut_answers_are_not_guessed, flipped_bits_are_seen, get, set};

/// What lies in the bucket, past the driver.
struct Bucket {
    client: object_store::aws::AmazonS3,
    runtime: tokio::runtime::Runtime,
}

impl Bucket {
    fn of(server: &S3) -> Self {
        server.make_bucket("bucket");
        // As the driver does; a test that opens none before this has no provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = object_store::aws::AmazonS3Builder::new()
            .with_bucket_name("bucket")
            .with_access_key_id(S3::KEYS.0)
            .with_secret_access_key(S3::KEYS.1)
            .with_endpoint(server.endpoint())
            .with_allow_http(true)
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        Self { client, runtime }
    }

    fn get(&self, path: &str) -> Vec<u8> {
        let read = async { self.client.get(&path.into()).await?.bytes().await };
        self.runtime.block_on(read).unwrap().to_vec()
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let put = async {
            let bytes = bytes.to_vec().into();
            self.client
                .put_opts(&path.into(), bytes, object_store::PutOptions::default())
                .await
        };
        self.runtime.block_on(put).unwrap();
    }
}

#[test]
fn a_network_that_cuts_and_falls_silent() {
    let Some(server) = S3::moto() else { return };
    server.make_bucket("bucket");
    let proxy = Proxy::start(server.port);
    let mut near = url(&server, "cuts");
    let endpoint = format!("http://127.0.0.1:{}", proxy.port);
    near.query_pairs_mut()
        .clear()
        .append_pair("endpoint", &endpoint)
        .append_pair("region", "us-east-1")
        .append_pair("allow_http", "1");
    let driver = open(&near, &ObjectOptions::default()).unwrap();
    cut_answers_are_not_guessed(&driver, &proxy, (0..30).map(|n| n * 25));
    let options = ObjectOptions {
        timeout: Duration::from_millis(1500),
        ..ObjectOptions::default()
    };
    let hasty = open(&near, &options).unwrap();
    proxy.delay(Duration::from_millis(20));
    set(&hasty, "slow", b"but there", Expect::Any).unwrap();
    proxy.delay(Duration::ZERO);
    proxy.silent(true);
    let begun = std::time::Instant::now();
    let error = set(&hasty, "silent", b"x", Expect::Any).unwrap_err();
    assert_eq!(ErrorKind::Io, error.kind(), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    proxy.silent(false);
    assert_eq!(Some(b"but there".to_vec()), get(&hasty, "slow").unwrap());
}

#[test]
fn a_flipped_bit_is_seen_and_mended() {
    let Some(server) = S3::moto() else { return };
    let bucket = Bucket::of(&server);
    flipped_bits_are_seen(url(&server, "flips").as_str(), |hash| {
        let hash = hash.to_string();
        let folder = format!("flips/objects/{}/{}/", &hash[..2], &hash[2..]);
        let listed = server.list("bucket");
        let from = listed.find(&folder).unwrap();
        let name = listed[from..].split('<').next().unwrap();
        let mut bytes = bucket.get(name);
        bytes[500] ^= 4;
        bucket.put(name, &bytes);
    });
}

#[test]
fn markers_of_newer_versions_and_of_others_are_left_alone() {
    let Some(server) = S3::moto() else { return };
    let bucket = Bucket::of(&server);
    drop(open(&url(&server, "newer"), &ObjectOptions::default()).unwrap());
    let marker = bucket.get("newer/tare-store.json");
    let text = String::from_utf8(marker).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    let version = facts
        .as_object_mut()
        .unwrap()
        .values_mut()
        .find(|value| **value == serde_json::json!(1))
        .unwrap();
    *version = serde_json::json!(99);
    bucket.put("newer/tare-store.json", facts.to_string().as_bytes());
    let error = open(&url(&server, "newer"), &ObjectOptions::default())
        .err()
        .unwrap();
    assert_eq!(ErrorKind::StoreVersion, error.kind(), "{error}");

    for foreign in [
        &b"not of ours"[..],
        b"",
        b"[1]",
        b"{\"name\": \"a web site\"}",
    ] {
        bucket.put("foreign/tare-store.json", foreign);
        bucket.put("foreign/index.html", b"<p>");
        let error = open(&url(&server, "foreign"), &ObjectOptions::default())
            .err()
            .unwrap();
        let refused = matches!(
            error.kind(),
            ErrorKind::Usage | ErrorKind::Malformed | ErrorKind::Corrupt | ErrorKind::StoreVersion
        );
        assert!(refused, "{:?}: {error}", error.kind());
        assert_eq!(foreign, bucket.get("foreign/tare-store.json"));
        assert_eq!(b"<p>"[..], bucket.get("foreign/index.html"));
    }
}

#[test]
fn a_bucket_that_is_not_there_is_told() {
    let Some(server) = S3::moto() else { return };
    let options = ObjectOptions {
        timeout: Duration::from_secs(5),
        ..ObjectOptions::default()
    };
    let error = open(&url(&server, "x"), &options).err().unwrap();
    assert!(
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Io),
        "{error}"
    );
    assert!(
        !format!("{error:?}").contains(S3::KEYS.1),
        "no secret is shown"
    );
}
