//! A store in a `PostgreSQL` database, shared by processes and machines.
//!
//! One schema holds it, version and all:
//!
//! | Table | Columns |
//! |---|---|
//! | `meta` | name, value: the marker |
//! | `key` | ns, key (bytes in order), hash, codec, time |
//! | `object` | hash, id, plain, stored, compressor, codec, refs, born, unref: when the last name went |
//! | `chunk` | id, n, data: at most 1 MiB |
//! | `staged` | id, touched: objects that are being written |
//! | `quarantine` | what a repair set aside |
//!
//! Times are microseconds since 1970 by the server's clock. A batch is one transaction: it locks its keys
//! in order, then its objects in order, so that writers wait for each other and never in a circle; a
//! collection takes only objects that nobody has locked. A commit whose answer is lost is looked up by the
//! number of its transaction.

mod read;
mod schema;
mod sink;
mod upkeep;
mod wire;
mod write;

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::Config;
use url::Url;

use self::wire::Wire;
use super::remote::{parameter, parameters, read_only, redacted};
use crate::store::{
    Action, Applied, Batch, Driver, Fetched, Finding, GcOptions, GcReport, Hash, Info, Key,
    KeyEntry, KeyRecord, ObjectHint, ObjectMeta, Sink, Stat, Stored,
};
use crate::{Error, ErrorKind, Result};

const DRIVER: &str = "postgres";
/// What the URL's query may name.
const PARAMETERS: &[&str] = &["schema", "sslmode", "host", "application_name"];
/// Most bytes of a row of `chunk`.
const CHUNK_BYTES: usize = 1024 * 1024;

/// How a store in a `PostgreSQL` database is opened.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Whether only to read. Default false.
    pub read_only: bool,
    /// Whether to make the store if there is none. Default true.
    pub create: bool,
    /// How long a call may take, with everything that is tried again. Default 30 seconds.
    pub timeout: Duration,
    /// How long parts of unfinished objects stay after they last grew. Default a day.
    pub staging_grace: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            create: true,
            timeout: Duration::from_secs(30),
            staging_grace: Duration::from_secs(24 * 3600),
        }
    }
}

/// A store in a `PostgreSQL` database.
pub struct PostgresDriver {
    shared: Arc<Shared>,
    info: Info,
    staging_grace: Duration,
}

/// What sinks and readers need too.
struct Shared {
    wire: Wire,
    schema: String,
}

/// Opens, or makes, the store of a URL: `postgres://user:password@host:port/database?schema=tare`.
///
/// The schema is `tare` if none is named. User and password may also come from `PGUSER` and `PGPASSWORD`.
/// `host=/path` in the query is the folder of a socket.
///
/// # Errors
/// `Io` if no server answers or it refuses the user; `NotFound` if there is no such database, or no store and
/// none is to be made; `StoreVersion` for a store of a newer version; `Usage` for a bad URL, and where the
/// schema holds other tables; `Unsupported` for a `sslmode` that demands TLS, and for a database that is not
/// UTF-8.
///
/// # Example
/// ```no_run
/// use tare::store::drivers::postgres::{open, PostgresOptions};
/// use tare::store::Driver;
///
/// let url = "postgres://me@localhost/results?schema=runs".parse().unwrap();
/// let driver = open(&url, &PostgresOptions::default())?;
/// assert!(driver.info().atomic_batch);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn open(url: &Url, options: &PostgresOptions) -> Result<PostgresDriver> {
    let found = parameters(url, DRIVER, PARAMETERS)?;
    let schema = parameter(&found, "schema").unwrap_or("tare").to_string();
    if schema.is_empty() || schema.len() > 60 || schema.contains('\0') || schema.starts_with("pg_")
    {
        let text = format!(
            "schema={schema:?} in its URL: it has 1 to 60 bytes and does not begin with pg_"
        );
        return Err(Error::new(ErrorKind::Usage, text).with_format(DRIVER));
    }
    let config = config(url, &found)?;
    let mut greeting = format!(
        "SET search_path TO \"{}\"; SET client_min_messages TO warning; SET lock_timeout TO {}",
        schema.replace('"', "\"\""),
        (options.timeout / 3).as_millis()
    );
    if options.read_only {
        greeting.push_str("; SET default_transaction_read_only TO on");
    }
    let shown = redacted(url, &["schema", "host"]);
    let wire = Wire::new(config, greeting, shown, options.timeout);
    let shared = Shared { wire, schema };
    let (marker, server) = schema::open(&shared, options)?;
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
    let driver = PostgresDriver {
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

fn config(url: &Url, found: &[(String, String)]) -> Result<Config> {
    let usage = |text: &str| Error::new(ErrorKind::Usage, text).with_format(DRIVER);
    if !["postgres", "postgresql"].contains(&url.scheme()) {
        return Err(usage("its URL is postgres://user@host:port/database"));
    }
    match parameter(found, "sslmode") {
        None | Some("disable" | "allow" | "prefer") => {}
        Some(mode) => {
            let text = format!("sslmode={mode}: connections by TLS are not built in; use a tunnel");
            return Err(Error::new(ErrorKind::Unsupported, text).with_format(DRIVER));
        }
    }
    let decoded = |text: &str| {
        let bytes = percent_encoding::percent_decode_str(text);
        bytes.decode_utf8_lossy().into_owned()
    };
    let mut config = Config::new();
    config.ssl_mode(SslMode::Disable);
    config.application_name(parameter(found, "application_name").unwrap_or("tare"));
    config.connect_timeout(Duration::from_secs(5));
    config.keepalives_idle(Duration::from_secs(30));
    config.port(url.port().unwrap_or(5432));
    let host = match (parameter(found, "host"), url.host_str()) {
        (Some(host), _) => host.to_string(),
        (None, Some(host)) if !host.is_empty() => {
            decoded(host.trim_start_matches('[').trim_end_matches(']'))
        }
        _ => "localhost".to_string(),
    };
    config.host(host);
    let user = match url.username() {
        "" => std::env::var("PGUSER")
            .or_else(|_| std::env::var("USER"))
            .unwrap_or_default(),
        user => decoded(user),
    };
    if user.is_empty() {
        return Err(usage(
            "its URL names no user: postgres://user@host:port/database",
        ));
    }
    let database = decoded(url.path().trim_matches('/'));
    config.dbname(if database.is_empty() {
        user.clone()
    } else {
        database
    });
    config.user(user);
    let own = url.password().map(decoded);
    if let Some(password) = own.or_else(|| std::env::var("PGPASSWORD").ok()) {
        config.password(password);
    }
    Ok(config)
}

impl PostgresDriver {
    fn must_write(&self) -> Result<()> {
        if self.info.read_only {
            Err(read_only(DRIVER, &self.info.url))
        } else {
            Ok(())
        }
    }
}

impl Driver for PostgresDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn begin_object(&self, _hint: &ObjectHint) -> Result<Box<dyn Sink>> {
        self.must_write()?;
        Ok(Box::new(sink::PostgresSink::new(&self.shared)?))
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
        write::apply(&self.shared, batch)
    }

    fn list_keys(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        read::list_keys(&self.shared, (namespace, prefix), after, limit)
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
        if self.info.read_only {
            Ok(())
        } else {
            upkeep::flush(&self.shared)
        }
    }

    fn stat(&self) -> Result<Stat> {
        upkeep::stat(&self.shared)
    }

    fn destroy(&self) -> Result<()> {
        self.must_write()?;
        schema::destroy(&self.shared)
    }
}
