//! A store in a Redis server, shared by processes and machines.
//!
//! With `P` for `{prefix}` in braces, which keep all keys in one slot:
//!
//! | Key | Holds |
//! |---|---|
//! | `P:meta` | the marker |
//! | `P:k:<namespace>` | hash: key to `hash time codec` |
//! | `P:l:<namespace>`, `P:ns` | sorted sets of score 0: keys and namespaces in the order of their bytes |
//! | `P:o:<hash>`, `P:o:<hash>:<n>` | an object's stored bytes, in parts of 64 MiB |
//! | `P:m` | hash: object to `stored-bytes time parts plain-bytes compressor codec` |
//! | `P:ol` | sorted set of score 0: objects in order |
//! | `P:refs`, `P:unref` | names of an object; since when it has none, by the server's clock |
//! | `P:s:<name>`, `P:staging` | parts of objects that are being written, and when they last grew |
//! | `P:c:<name>` | the last answer to a writer, so that a lost one is not guessed |
//! | `P:q`, `P:q:<hash>` | what a repair set aside |
//! | `P:seq` | a number that every change raises |
//!
//! Every change is one Lua script: it is seen whole or not at all. How long it lasts is the server's
//! matter (`appendonly`, `save`).

mod read;
mod scripts;
mod upkeep;
mod wire;
mod write;

use std::sync::Arc;
use std::time::Duration;

use redis::ConnectionAddr;
use url::Url;

use self::wire::Wire;
use super::remote::{flag, no_store, parameter, parameters, read_only, redacted, Marker};
use crate::store::{
    Action, Applied, Batch, Driver, Durability, Fetched, Finding, GcOptions, GcReport, Hash, Info,
    Key, KeyEntry, KeyRecord, ObjectHint, ObjectMeta, Sink, Stat, Stored,
};

use crate::{Error, ErrorKind, Result};

const DRIVER: &str = "redis";
/// What the URL's query may name.
const PARAMETERS: &[&str] = &["prefix", "db", "allow_eviction"];
/// Bytes of a part of an object: an eighth of what a string of the server can hold.
const PART_BYTES: u64 = 64 * 1024 * 1024;

/// How a store in a Redis server is opened.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// Whether only to read. Default false.
    pub read_only: bool,
    /// Whether to make the store if there is none. Default true.
    pub create: bool,
    /// How long a call may take, with everything that is tried again. Default 20 seconds.
    pub timeout: Duration,
    /// How long parts of unfinished objects stay after they last grew. Default a day.
    pub staging_grace: Duration,
    /// Whether to write to a server that may evict keys when its memory is full. Default false.
    pub allow_eviction: bool,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            create: true,
            timeout: Duration::from_secs(20),
            staging_grace: Duration::from_secs(24 * 3600),
            allow_eviction: false,
        }
    }
}

/// A store in a Redis server.
pub struct RedisDriver {
    shared: Arc<Shared>,
    info: Info,
    staging_grace: Duration,
}

/// What sinks and readers need too.
struct Shared {
    wire: Wire,
    /// The prefix in its braces.
    prefix: String,
    /// The braces' own key.
    meta: String,
    staging_seconds: u64,
}

impl Shared {
    /// A key below the prefix.
    fn name(&self, rest: &str) -> String {
        format!("{}:{rest}", self.prefix)
    }

    /// The key of a part of an object, staged (`s`) or stored (`o`).
    fn part(&self, kind: &str, name: &str, number: u64) -> String {
        match number {
            0 => format!("{}:{kind}:{name}", self.prefix),
            _ => format!("{}:{kind}:{name}:{number}", self.prefix),
        }
    }
}

/// Opens, or makes, the store of a URL: `redis://user:password@host:port/database?prefix=tare` or
/// `redis+unix:///socket?prefix=tare`.
///
/// The prefix is `tare` if none is named. The password may also come from `REDISCLI_AUTH`. A parameter
/// `allow_eviction=1` writes to a server whose policy may evict keys.
///
/// # Errors
/// `Io` if no server answers or it refuses the password; `NotFound` if there is no store and none is to
/// be made; `StoreVersion` for one of a newer version; `Usage` for a bad URL, and where the marker's key
/// holds something else; `Unsupported` for `rediss`, and for a server that may evict keys.
///
/// # Example
/// ```no_run
/// use tare::store::drivers::redis::{open, RedisOptions};
/// use tare::store::Driver;
///
/// let url = "redis://localhost:6379/0?prefix=runs".parse().unwrap();
/// let driver = open(&url, &RedisOptions::default())?;
/// assert!(driver.info().atomic_batch);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn open(url: &Url, options: &RedisOptions) -> Result<RedisDriver> {
    let found = parameters(url, DRIVER, PARAMETERS)?;
    let prefix = parameter(&found, "prefix").unwrap_or("tare");
    if prefix.is_empty() || prefix.len() > 200 || prefix.contains(['{', '}', '\0']) {
        let text = format!("prefix={prefix:?} in its URL: it has 1 to 200 bytes and no braces");
        return Err(Error::new(ErrorKind::Usage, text).with_format(DRIVER));
    }
    let shown = redacted(url, &["prefix", "db"]);
    let braced = format!("{{{prefix}}}");
    let shared = Shared {
        meta: format!("{braced}:meta"),
        prefix: braced,
        wire: Wire::new(client(url, &found)?, shown, options.timeout),
        staging_seconds: options.staging_grace.as_secs().max(1),
    };
    let marker = marker(&shared, options)?;
    let allowed = options.allow_eviction || flag(&found, "allow_eviction", DRIVER)?;
    let server = server(&shared, options.read_only || allowed)?;
    let info = Info {
        driver: DRIVER,
        url: shared.wire.url.clone(),
        algorithm: marker.algorithm,
        unhashed: 0,
        codec: None,
        compressor: None,
        atomic_batch: true,
        conditions: true,
        multi_process: true,
        multi_host: true,
        synced_by: "server",
        read_only: options.read_only,
        options: server,
    };
    let driver = RedisDriver {
        shared: Arc::new(shared),
        info,
        staging_grace: options.staging_grace,
    };
    if !options.read_only {
        // Parts of dead writers go at the next chance; none of them keeps a store from opening.
        let _ = driver.sweep();
    }
    Ok(driver)
}

/// A client for the URL without our own parameters.
fn client(url: &Url, found: &[(String, String)]) -> Result<redis::Client> {
    let usage = |text: String| Error::new(ErrorKind::Usage, text).with_format(DRIVER);
    match url.scheme() {
        "redis" | "redis+unix" => {}
        "rediss" => {
            let text = "rediss: connections by TLS are not built in; use a tunnel and redis:";
            return Err(Error::new(ErrorKind::Unsupported, text).with_format(DRIVER));
        }
        other => return Err(usage(format!("no driver for {other}:"))),
    }
    let mut plain = url.clone();
    plain.set_query(None);
    plain.set_fragment(None);
    if url.scheme() == "redis" && url.host_str().is_none_or(str::is_empty) {
        plain
            .set_host(Some("localhost"))
            .map_err(|error| usage(format!("its URL has no host: {error}")))?;
    }
    // The crate's own texts about URLs hold the URL.
    let broken = |_| usage("its URL is not redis://host:port/number nor redis+unix:///path".into());
    let mut info = redis::IntoConnectionInfo::into_connection_info(plain).map_err(broken)?;
    let mut settings = info.redis_settings().clone();
    if let Some(number) = parameter(found, "db") {
        let number = number.parse();
        settings =
            settings.set_db(number.map_err(|_| usage("db= in its URL is no number".into()))?);
    }
    if matches!(info.addr(), ConnectionAddr::Unix(_)) {
        if let Some(password) = url.password() {
            settings = settings.set_password(decoded(password));
        }
        if !url.username().is_empty() {
            settings = settings.set_username(decoded(url.username()));
        }
    }
    if settings.password().is_none() {
        if let Ok(password) = std::env::var("REDISCLI_AUTH") {
            settings = settings.set_password(password);
        }
    }
    info = info.set_redis_settings(settings);
    redis::Client::open(info).map_err(broken)
}

fn decoded(text: &str) -> String {
    let bytes = percent_encoding::percent_decode_str(text);
    bytes.decode_utf8_lossy().into_owned()
}

/// The marker, made if there is none and one may be made.
fn marker(shared: &Shared, options: &RedisOptions) -> Result<Marker> {
    let wire = &shared.wire;
    let get = || {
        let kind: String = wire.call(|link| redis::cmd("TYPE").arg(&shared.meta).query(link))?;
        match kind.as_str() {
            "none" => Ok(None),
            "string" => {
                let found: Option<Vec<u8>> =
                    wire.call(|link| redis::cmd("GET").arg(&shared.meta).query(link))?;
                found
                    .map(|bytes| Marker::parse(&bytes, DRIVER, &shared.meta))
                    .transpose()
            }
            other => {
                let text = format!(
                    "{} holds a {other}, not a store; choose another prefix",
                    shared.meta
                );
                Err(wire.described(ErrorKind::Usage, text))
            }
        }
    };
    if let Some(found) = get()? {
        return Ok(found);
    }
    if options.read_only || !options.create {
        return Err(no_store(DRIVER, &wire.url));
    }
    let parts = ["k:objects", "m", "ol", "refs", "unref", "ns"].map(|part| shared.name(part));
    let foreign: u64 = wire.call(|link| redis::cmd("EXISTS").arg(&parts[..]).query(link))?;
    if foreign > 0 {
        // Another opener may be that far already, or the rest of a store lies there.
        if let Some(found) = get()? {
            return Ok(found);
        }
        let text = format!(
            "{} has no marker but keys below {}; choose another prefix",
            wire.url, shared.prefix
        );
        return Err(wire.described(ErrorKind::Usage, text));
    }
    let text = Marker::new(DRIVER)?.text();
    let _: Option<String> = wire.call(|link| {
        redis::cmd("SET")
            .arg(&shared.meta)
            .arg(&text)
            .arg("NX")
            .query(link)
    })?;
    get()?
        .ok_or_else(|| wire.described(ErrorKind::Io, "the marker vanished as soon as it was made"))
}

/// What the server says of itself; refused if it may evict what was stored.
fn server(shared: &Shared, evicting: bool) -> Result<Vec<(&'static str, String)>> {
    let wire = &shared.wire;
    // A user who may not ask is told nothing.
    let asked = |section: &str| -> String {
        wire.call(|link| redis::cmd("INFO").arg(section).query(link))
            .unwrap_or_default()
    };
    let text = [asked("server"), asked("memory"), asked("persistence")].concat();
    let said = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(known, _)| *known == name);
        found.map_or_else(
            || "unknown".to_string(),
            |(_, value)| value.trim().to_string(),
        )
    };
    let policy = said("maxmemory_policy");
    let bounded = said("maxmemory") != "0";
    if policy.starts_with("allkeys") && bounded && !evicting {
        let text = format!(
            "{} evicts keys when its memory is full (maxmemory-policy {policy}), which loses values: \
             set it to noeviction, or open with allow_eviction",
            wire.url
        );
        return Err(wire.described(ErrorKind::Unsupported, text));
    }
    Ok(vec![
        ("prefix", shared.prefix.clone()),
        ("server", said("redis_version")),
        ("maxmemory", said("maxmemory")),
        ("maxmemory-policy", policy),
        ("appendonly", said("aof_enabled")),
    ])
}

impl RedisDriver {
    fn must_write(&self) -> Result<()> {
        if self.info.read_only {
            Err(read_only(DRIVER, &self.info.url))
        } else {
            Ok(())
        }
    }
}

impl Driver for RedisDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn begin_object(&self, hint: &ObjectHint) -> Result<Box<dyn Sink>> {
        self.must_write()?;
        self.can_sync(hint.durability)?;
        Ok(Box::new(write::RedisSink::new(&self.shared)?))
    }

    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>> {
        read::open_object(&self.shared, hash)
    }

    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>> {
        let records = read::records(&self.shared, hashes)?;
        Ok(records
            .into_iter()
            .map(|record| record.map(|record| record.meta))
            .collect())
    }

    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        read::list_hashes(&self.shared, after, limit)
    }

    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        read::get_keys(&self.shared, keys)
    }

    fn fetch(&self, keys: &[Key<'_>]) -> Result<Vec<Fetched>> {
        read::fetch(&self.shared, keys)
    }

    fn apply(&self, batch: Batch<'_>) -> Result<Applied> {
        self.must_write()?;
        self.can_sync(batch.durability)?;
        write::apply(&self.shared, batch)
    }

    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        read::list_keys(&self.shared, namespace, prefix, after, limit)
    }

    fn list_namespaces(&self) -> Result<Vec<String>> {
        read::list_namespaces(&self.shared)
    }

    fn gc(&self, options: &GcOptions) -> Result<GcReport> {
        self.must_write()?;
        upkeep::gc(&self.shared, options, self.staging_grace)
    }

    fn check(&self, found: &mut dyn FnMut(Finding)) -> Result<()> {
        upkeep::check(&self.shared, found)
    }

    fn repair(&self, findings: &[Finding], apply: bool, purge: bool) -> Result<Vec<Action>> {
        if apply {
            self.must_write()?;
        }
        upkeep::repair(&self.shared, findings, apply, purge)
    }

    fn sweep(&self) -> Result<u64> {
        self.must_write()?;
        upkeep::sweep(&self.shared, self.staging_grace)
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stat(&self) -> Result<Stat> {
        upkeep::stat(&self.shared)
    }

    fn destroy(&self) -> Result<()> {
        self.must_write()?;
        upkeep::destroy(&self.shared)
    }
}

impl RedisDriver {
    /// Refuses `each` where the server cannot say that it wrote to its disk.
    fn can_sync(&self, durability: Durability) -> Result<()> {
        if durability != Durability::Each {
            return Ok(());
        }
        write::wait_aof(&self.shared)
    }
}
