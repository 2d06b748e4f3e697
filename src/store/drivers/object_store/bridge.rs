//! From our calls to those of the client, which is asynchronous: one runtime a process, and its errors.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use tokio::runtime::Runtime;

use super::DRIVER;
use crate::store::drivers::remote::PerProcess;
use crate::{Error, ErrorKind, Result};

/// What all stores of a process run on; a forked process makes its own.
static RUNTIME: OnceLock<PerProcess<OnceLock<Runtime>>> = OnceLock::new();

/// Which client is made, and with what.
pub(super) struct Place {
    pub scheme: String,
    pub bucket: String,
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub allow_http: bool,
    pub timeout: Duration,
}

/// A client of an object store.
pub(super) struct Bridge {
    place: Place,
    /// Without secrets, for messages.
    pub url: String,
    process: PerProcess<OnceLock<Arc<dyn ObjectStore>>>,
}

impl Bridge {
    pub(super) fn new(place: Place, url: String) -> Self {
        Self {
            place,
            url,
            process: PerProcess::new(),
        }
    }

    /// The client of this process.
    pub(super) fn client(&self) -> Result<Arc<dyn ObjectStore>> {
        let cell = self.process.get();
        if let Some(client) = cell.get() {
            return Ok(Arc::clone(client));
        }
        let made = self.make().map_err(|error| self.failed(&error))?;
        Ok(Arc::clone(cell.get_or_init(|| made)))
    }

    fn make(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        // Without one, the client would look for a provider that is not built in.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let place = &self.place;
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(50),
                max_backoff: Duration::from_secs(3),
                base: 2.0,
            },
            max_retries: 10,
            retry_timeout: place.timeout,
        };
        let options = ClientOptions::new()
            .with_allow_http(place.allow_http)
            .with_connect_timeout(place.timeout.min(Duration::from_secs(5)))
            .with_timeout(place.timeout);
        Ok(match place.scheme.as_str() {
            "gs" => {
                let builder = GoogleCloudStorageBuilder::from_env().with_retry(retry);
                let builder = builder.with_client_options(options);
                let mut builder = builder.with_bucket_name(&place.bucket);
                if let Some(endpoint) = &place.endpoint {
                    builder = builder.with_base_url(endpoint);
                }
                Arc::new(builder.build()?)
            }
            "az" => {
                let builder = MicrosoftAzureBuilder::from_env().with_retry(retry);
                let builder = builder.with_client_options(options);
                let mut builder = builder.with_container_name(&place.bucket);
                if let Some(endpoint) = &place.endpoint {
                    builder = builder.with_endpoint(endpoint.clone());
                }
                Arc::new(builder.with_allow_http(place.allow_http).build()?)
            }
            _ => {
                let builder = AmazonS3Builder::from_env().with_retry(retry);
                let builder = builder.with_client_options(options);
                let mut builder = builder.with_bucket_name(&place.bucket);
                if let Some(endpoint) = &place.endpoint {
                    builder = builder.with_endpoint(endpoint);
                }
                if let Some(region) = &place.region {
                    builder = builder.with_region(region);
                }
                Arc::new(builder.with_allow_http(place.allow_http).build()?)
            }
        })
    }

    /// Waits for what the client does; other threads may wait at the same time.
    pub(super) fn wait<R>(&self, work: impl Future<Output = R>) -> Result<R> {
        let cell = RUNTIME.get_or_init(PerProcess::new).get();
        let runtime = if let Some(runtime) = cell.get() {
            runtime
        } else {
            let made = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name("tare-object-store")
                .enable_all()
                .build()
                .map_err(|error| {
                    let text = format!("no threads for the network: {error}");
                    self.described(ErrorKind::Io, text)
                })?;
            cell.get_or_init(|| made)
        };
        Ok(runtime.block_on(work))
    }

    /// What went wrong, in our words. The client's text is cut where a URL's query begins, and not kept
    /// below: a query may hold a signature.
    pub(super) fn failed(&self, error: &object_store::Error) -> Error {
        let mut said = String::new();
        let mut hidden = false;
        for letter in error.to_string().chars().take(2000) {
            hidden = match letter {
                '?' => true,
                ' ' | '"' | ')' | '\n' => false,
                _ => hidden,
            };
            if !hidden {
                said.push(letter);
            }
        }
        let url = &self.url;
        let full = [
            "QuotaExceeded",
            "StorageFull",
            "InsufficientStorage",
            "507 ",
        ];
        let (kind, text) = match error {
            _ if full.iter().any(|word| said.contains(word)) => {
                (ErrorKind::NoSpace, format!("{url} is full: {said}"))
            }
            object_store::Error::PermissionDenied { .. } => {
                (ErrorKind::ReadOnly, format!("{url} forbids it: {said}"))
            }
            object_store::Error::Unauthenticated { .. } => {
                let text = format!("{url} refuses the credentials of the environment: {said}");
                (ErrorKind::Io, text)
            }
            object_store::Error::NotSupported { .. }
            | object_store::Error::NotImplemented { .. } => {
                (ErrorKind::Unsupported, format!("{url}: {said}"))
            }
            _ => (ErrorKind::Io, format!("{url}: {said}")),
        };
        self.described(kind, text)
    }

    /// An error of this store.
    pub(super) fn described(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        Error::new(kind, text)
            .with_format(DRIVER)
            .with_detail("store", self.url.clone())
    }
}

/// Reads once more what was cut in the middle of an answer; the client itself only repeats what was not
/// answered at all, and that is not repeated here, for it has waited long enough.
pub(super) async fn again<T, F>(mut call: impl FnMut() -> F) -> object_store::Result<T>
where
    F: Future<Output = object_store::Result<T>>,
{
    const TRIES: usize = 4;
    const QUICK: std::time::Duration = std::time::Duration::from_secs(2);
    for _ in 1..TRIES {
        let begun = std::time::Instant::now();
        match call().await {
            Err(object_store::Error::Generic { .. }) if begun.elapsed() < QUICK => {}
            done => return done,
        }
    }
    call().await
}
