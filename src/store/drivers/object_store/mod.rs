//! A store in an object store: Amazon's S3 and what speaks its language, Google Cloud Storage, Azure.
//!
//! | Object below the prefix | Holds |
//! |---|---|
//! | `tare-store.json` | the marker |
//! | `objects/ab/cdef.../<plain bytes>.<codec>.<compressor>` | stored bytes, written once |
//! | `keys/<namespace>/<key>` | what a key names, as JSON; names are escaped |
//! | `staging/<name>` | objects that are being written |
//! | `gc/<name>.json` | what a collection found without a name, and when |
//! | `quarantine/...` | what a repair set aside |
//!
//! What an object is stands in its name, so that one listing of its folder tells it and no metadata can be
//! lost by a copy. Objects and new keys are written only if they are not there; a batch is not atomic:
//! its keys are changed one by one. Uploads in parts that a killed writer left are the server's to remove:
//! give the bucket a rule for them.

mod bridge;
mod names;
mod read;
mod upkeep;
mod write;

use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode, PutOptions};
use url::Url;

use self::bridge::{Bridge, Place};
use super::remote::{
    flag, no_store, parameter, parameters, random_name, read_only, redacted, Marker,
};
use crate::store::{
    Action, Applied, Batch, Driver, Fetched, Finding, GcOptions, GcReport, Hash, Info, Key,
    KeyEntry, KeyRecord, ObjectHint, ObjectMeta, Sink, Stat, Stored,
};
use crate::{Error, ErrorKind, Result};

const DRIVER: &str = "object_store";
/// What the URL's query may name.
const PARAMETERS: &[&str] = &["endpoint", "region", "allow_http", "exclusive"];
/// Most bytes of the escaped names of a namespace and a key together.
const MAX_NAME_BYTES: usize = 900;
/// Most bytes of a whole name.
const MAX_PATH_BYTES: usize = 1024;
/// Requests under way at once.
const PARALLEL: usize = 16;

/// How a store in an object store is opened.
#[derive(Clone, Debug)]
pub struct ObjectOptions {
    /// Whether only to read. Default false.
    pub read_only: bool,
    /// Whether to make the store if there is none. Default true.
    pub create: bool,
    /// How long a request may take with all its attempts. Default 60 seconds.
    pub timeout: Duration,
    /// How long parts of unfinished objects stay. Default a day.
    pub staging_grace: Duration,
    /// From which age on an object that is set again is written again, so that no collection under way
    /// takes it: half the shortest grace in use. Default 12 hours.
    pub refresh_after: Duration,
    /// Whether nobody else writes, which the caller promises: a collection may then have any grace. Else the
    /// shortest is twice `refresh_after`, for there are no locks. Default false; `exclusive=1` in the URL.
    pub exclusive: bool,
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            create: true,
            timeout: Duration::from_secs(60),
            staging_grace: Duration::from_secs(24 * 3600),
            refresh_after: Duration::from_secs(12 * 3600),
            exclusive: false,
        }
    }
}

/// A store in an object store.
pub struct ObjectDriver {
    shared: Arc<Shared>,
    info: Info,
    staging_grace: Duration,
}

/// What sinks and readers need too.
struct Shared {
    bridge: Bridge,
    /// In front of every name; empty, or ended by a slash.
    prefix: String,
    conditional: bool,
    refresh_after: Duration,
    /// Whether nobody else writes.
    exclusive: bool,
}

impl Shared {
    fn path(&self, rest: &str) -> Result<Path> {
        let text = format!("{}{rest}", self.prefix);
        Path::parse(&text).map_err(|error| {
            let text = format!("{text:?} is no name of an object: {error}");
            self.bridge.described(ErrorKind::Usage, text)
        })
    }

    fn key_path(&self, key: Key<'_>) -> Result<Path> {
        let (space, name) = (names::escape(key.namespace), names::escape(key.key));
        self.path(&format!("keys/{space}/{name}"))
    }

    fn object_path(&self, hash: &Hash, tail: &str) -> Result<Path> {
        self.path(&format!("{}/{tail}", names::object_folder(hash)))
    }
}

/// Opens, or makes, the store of a URL: `s3://bucket/prefix?endpoint=..&region=..&allow_http=1`,
/// `gs://bucket/prefix`, `az://container/prefix`.
///
/// Credentials come from the environment, as `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`,
/// `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` and `AZURE_STORAGE_ACCOUNT_KEY`.
///
/// # Errors
/// `Io` if the server does not answer or refuses the credentials; `NotFound` if there is no store and none is
/// to be made; `StoreVersion` for one of a newer version; `Usage` for a bad URL or another thing in the
/// marker's place.
///
/// # Example
/// ```no_run
/// use tare::store::drivers::object_store::{open, ObjectOptions};
/// use tare::store::Driver;
///
/// let url = "s3://results/runs?region=eu-central-1".parse().unwrap();
/// let driver = open(&url, &ObjectOptions::default())?;
/// assert!(!driver.info().atomic_batch);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn open(url: &Url, options: &ObjectOptions) -> Result<ObjectDriver> {
    let usage = |text: &str| Error::new(ErrorKind::Usage, text).with_format(DRIVER);
    let found = parameters(url, DRIVER, PARAMETERS)?;
    let bucket = url.host_str().unwrap_or_default();
    if bucket.is_empty() || !["s3", "gs", "az"].contains(&url.scheme()) {
        return Err(usage(
            "its URL is s3://bucket/prefix, gs://bucket/prefix or az://container/prefix",
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(usage(
            "its URL holds credentials: give them in the environment",
        ));
    }
    let decoded = percent_encoding::percent_decode_str(url.path().trim_matches('/'));
    let mut prefix = decoded.decode_utf8_lossy().into_owned();
    if !prefix.is_empty() {
        prefix.push('/');
    }
    let place = Place {
        scheme: url.scheme().to_string(),
        bucket: bucket.to_string(),
        endpoint: parameter(&found, "endpoint").map(ToString::to_string),
        region: parameter(&found, "region").map(ToString::to_string),
        allow_http: flag(&found, "allow_http", DRIVER)?,
        timeout: options.timeout,
    };
    let bridge = Bridge::new(place, redacted(url, PARAMETERS));
    let mut shared = Shared {
        bridge,
        prefix,
        conditional: true,
        refresh_after: options.refresh_after,
        exclusive: options.exclusive || flag(&found, "exclusive", DRIVER)?,
    };
    let marker = marker(&shared, options)?;
    shared.conditional = marker.conditional.unwrap_or(false);
    let info = Info {
        driver: DRIVER,
        url: shared.bridge.url.clone(),
        algorithm: marker.algorithm,
        unhashed: 0,
        codec: None,
        compressor: None,
        atomic_batch: false,
        conditions: shared.conditional,
        multi_process: true,
        multi_host: true,
        synced_by: "server",
        read_only: options.read_only,
        options: vec![
            ("prefix", shared.prefix.clone()),
            ("conditional", shared.conditional.to_string()),
        ],
    };
    Ok(ObjectDriver {
        shared: Arc::new(shared),
        info,
        staging_grace: options.staging_grace,
    })
}

/// The marker, made if there is none and one may be made.
fn marker(shared: &Shared, options: &ObjectOptions) -> Result<Marker> {
    let bridge = &shared.bridge;
    let path = shared.path("tare-store.json")?;
    let get = || match read::whole(shared, &path)? {
        None => Ok(None),
        Some((bytes, _)) => Marker::parse(&bytes, DRIVER, path.as_ref()).map(Some),
    };
    if let Some(found) = get()? {
        return Ok(found);
    }
    if options.read_only || !options.create {
        return Err(no_store(DRIVER, &bridge.url));
    }
    let mut marker = Marker::new(DRIVER)?;
    marker.conditional = Some(probe(shared)?);
    let client = bridge.client()?;
    let mode = match marker.conditional {
        Some(true) => PutMode::Create,
        _ => PutMode::Overwrite,
    };
    let put = client.put_opts(&path, marker.text().into(), PutOptions::from(mode));
    match bridge.wait(put)? {
        Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => {}
        Err(error) => return Err(bridge.failed(&error)),
    }
    get()?.ok_or_else(|| {
        bridge.described(ErrorKind::Io, "the marker vanished as soon as it was made")
    })
}

/// Whether the server knows conditions: of two puts of a new object the second must fail.
fn probe(shared: &Shared) -> Result<bool> {
    let bridge = &shared.bridge;
    let client = bridge.client()?;
    let path = shared.path(&format!("staging/probe-{}", random_name()?))?;
    let put = || client.put_opts(&path, "probe".into(), PutOptions::from(PutMode::Create));
    match bridge.wait(put())? {
        Ok(_) => {}
        Err(
            object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. },
        ) => return Ok(false),
        Err(error) => return Err(bridge.failed(&error)),
    }
    let second = bridge.wait(put())?;
    let _ = bridge.wait(client.delete(&path))?;
    match second {
        Ok(_) => Ok(false),
        Err(object_store::Error::AlreadyExists { .. }) => Ok(true),
        Err(error) => Err(bridge.failed(&error)),
    }
}

impl ObjectDriver {
    fn must_write(&self) -> Result<()> {
        if self.info.read_only {
            Err(read_only(DRIVER, &self.info.url))
        } else {
            Ok(())
        }
    }
}

impl Driver for ObjectDriver {
    fn info(&self) -> &Info {
        &self.info
    }

    fn check_key(&self, key: Key<'_>) -> Result<()> {
        let (space, name) = (names::escape(key.namespace), names::escape(key.key));
        let own = space.len().saturating_add(name.len());
        let whole = own
            .saturating_add(self.shared.prefix.len())
            .saturating_add("keys//".len());
        if own <= MAX_NAME_BYTES && whole <= MAX_PATH_BYTES {
            return Ok(());
        }
        let text = format!(
            "a key of {} bytes has an escaped name of {own}: with its namespace it may have \
             {MAX_NAME_BYTES}, with the prefix {MAX_PATH_BYTES}",
            key.key.len()
        );
        let error = self.shared.bridge.described(ErrorKind::KeyInvalid, text);
        let shown: String = key.key.chars().take(40).collect();
        Err(error.with_detail("key", shown))
    }

    fn begin_object(&self, _hint: &ObjectHint) -> Result<Box<dyn Sink>> {
        self.must_write()?;
        Ok(Box::new(write::ObjectSink::new(&self.shared)))
    }

    fn open_object(&self, hash: &Hash) -> Result<Option<Stored>> {
        read::open_object(&self.shared, hash)
    }

    fn stat_objects(&self, hashes: &[Hash]) -> Result<Vec<Option<ObjectMeta>>> {
        let found = read::find_objects(&self.shared, hashes)?;
        Ok(found
            .into_iter()
            .map(|found| found.map(|found| found.meta))
            .collect())
    }

    fn list_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        read::list_hashes(&self.shared, after, limit)
    }

    fn get_keys(&self, keys: &[Key<'_>]) -> Result<Vec<Option<KeyRecord>>> {
        let found = read::get_keys(&self.shared, keys)?;
        Ok(found
            .into_iter()
            .map(|found| found.and_then(|found| found.record))
            .collect())
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
