//! Connections to the server: each on a runtime of its own that works only while one waits for it;
//! opened anew after a fork and when they break.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, SimpleQueryMessage, Statement};

use super::DRIVER;
use crate::store::drivers::remote::{jitter, PerProcess, Pool};
use crate::{Error, ErrorKind, Result};

/// What a statement is given.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A server, and how it is spoken to.
pub(super) struct Wire {
    config: Config,
    /// What every connection says first.
    greeting: String,
    /// Without secrets, for messages.
    pub url: String,
    /// How long a call may take with all its attempts; a single answer half of it.
    timeout: Duration,
    process: PerProcess<Pool<Link>>,
}

/// A connection.
pub(super) struct Link {
    runtime: Runtime,
    client: Client,
    statements: HashMap<&'static str, Statement>,
    timeout: Duration,
}

/// Why a call did not succeed.
pub(super) enum Fault {
    /// The server, or the way to it.
    Server(tokio_postgres::Error),
    /// No answer in time.
    Silent,
    /// Somebody was quicker: the same again meets another state.
    Again,
    /// What the caller is told.
    Ours(Error),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

impl Fault {
    fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Server(error) => error.code(),
            _ => None,
        }
    }

    /// Whether the connection is of no further use.
    pub(super) fn is_broken(&self) -> bool {
        match self {
            Self::Silent => true,
            Self::Server(error) => {
                let ended = [
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::CANNOT_CONNECT_NOW,
                ];
                error.is_closed()
                    || error.as_db_error().is_none()
                    || error.code().is_some_and(|code| ended.contains(code))
            }
            _ => false,
        }
    }

    /// Whether the same call may succeed in a moment.
    fn is_passing(&self) -> bool {
        let passing = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::CANNOT_CONNECT_NOW,
        ];
        matches!(self, Self::Again) || self.code().is_some_and(|code| passing.contains(code))
    }

    /// Whether the server has no such table, column or schema.
    pub(super) fn is_undefined(&self) -> bool {
        let undefined = [
            SqlState::UNDEFINED_TABLE,
            SqlState::UNDEFINED_COLUMN,
            SqlState::INVALID_SCHEMA_NAME,
        ];
        self.code().is_some_and(|code| undefined.contains(code))
    }
}

impl Link {
    fn wait<R>(
        runtime: &Runtime,
        limit: Duration,
        work: impl Future<Output = std::result::Result<R, tokio_postgres::Error>>,
    ) -> std::result::Result<R, Fault> {
        let limited = async { tokio::time::timeout(limit, work).await };
        match runtime.block_on(limited) {
            Ok(done) => Ok(done?),
            Err(_) => Err(Fault::Silent),
        }
    }

    /// Runs statements without values; the texts of the last row's fields.
    pub(super) fn simple(&mut self, sql: &str) -> std::result::Result<Vec<String>, Fault> {
        let work = self.client.simple_query(sql);
        let messages = Self::wait(&self.runtime, self.timeout, work)?;
        let mut last = Vec::new();
        for message in messages {
            if let SimpleQueryMessage::Row(row) = message {
                let texts = (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_string());
                last = texts.collect();
            }
        }
        Ok(last)
    }

    /// Runs a statement, which the connection keeps prepared.
    pub(super) fn query(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> std::result::Result<Vec<Row>, Fault> {
        let statement = if let Some(statement) = self.statements.get(sql) {
            statement.clone()
        } else {
            let work = self.client.prepare(sql);
            let statement = Self::wait(&self.runtime, self.timeout, work)?;
            self.statements.insert(sql, statement.clone());
            statement
        };
        let work = self.client.query(&statement, values);
        Self::wait(&self.runtime, self.timeout, work)
    }

    /// Runs `work` between BEGIN and COMMIT; whatever fails is rolled back.
    pub(super) fn transaction<R>(
        &mut self,
        begin: &str,
        work: impl FnOnce(&mut Self) -> std::result::Result<R, Fault>,
    ) -> std::result::Result<R, Fault> {
        self.simple(begin)?;
        match work(self) {
            Ok(done) => {
                self.simple("COMMIT")?;
                Ok(done)
            }
            Err(fault) => self.roll_back(fault),
        }
    }

    /// Rolls back because of a fault, which is given on; a worse one if that fails too.
    pub(super) fn roll_back<R>(&mut self, fault: Fault) -> std::result::Result<R, Fault> {
        if !fault.is_broken() {
            self.simple("ROLLBACK")?;
        }
        Err(fault)
    }
}

impl Wire {
    pub(super) fn new(config: Config, greeting: String, url: String, timeout: Duration) -> Self {
        Self {
            config,
            greeting,
            url,
            timeout,
            process: PerProcess::new(),
        }
    }

    fn connect(&self) -> std::result::Result<Link, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| {
                let text = format!("no event loop for a connection: {error}");
                Fault::Ours(self.described(ErrorKind::Io, text).with_source(error))
            })?;
        let answer = self.timeout / 2;
        let limit = answer.min(Duration::from_secs(10));
        let (client, connection) = Link::wait(&runtime, limit, self.config.connect(NoTls))?;
        // What the connection ends with, the calls over it are told too.
        runtime.spawn(async move { drop(connection.await) });
        let mut link = Link {
            runtime,
            client,
            statements: HashMap::new(),
            timeout: answer,
        };
        link.simple(&self.greeting)?;
        Ok(link)
    }

    fn once<R>(
        &self,
        work: &mut impl FnMut(&mut Link) -> std::result::Result<R, Fault>,
    ) -> std::result::Result<R, (Fault, bool)> {
        let mut taken = self.process.get().take();
        let waiting = taken
            .connection
            .take()
            .filter(|link| !link.client.is_closed());
        let had_waited = waiting.is_some();
        let mut link = match waiting {
            Some(link) => link,
            None => self.connect().map_err(|fault| (fault, false))?,
        };
        match work(&mut link) {
            Err(fault) if fault.is_broken() => Err((fault, had_waited)),
            other => {
                taken.connection = Some(link);
                other.map_err(|fault| (fault, false))
            }
        }
    }

    /// Makes a call that does no harm when it is made twice.
    pub(super) fn call<R>(
        &self,
        mut work: impl FnMut(&mut Link) -> std::result::Result<R, Fault>,
    ) -> Result<R> {
        let began = Instant::now();
        let mut attempt = 0;
        loop {
            let (fault, had_waited) = match self.once(&mut work) {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            let refused = fault.code().is_some_and(|code| {
                ["28", "3D"]
                    .iter()
                    .any(|class| code.code().starts_with(class))
            });
            let again =
                (fault.is_broken() && !refused && self.is_reachable(&fault)) || fault.is_passing();
            if !again || began.elapsed() >= self.timeout {
                return Err(self.failed(fault));
            }
            if !had_waited {
                attempt += 1;
                std::thread::sleep(jitter(attempt).min(Duration::from_millis(500)));
            }
        }
    }

    /// Whether trying again can help: not with a configuration that the client itself refuses.
    #[allow(clippy::unused_self, reason = "reads as a question to the wire")]
    fn is_reachable(&self, fault: &Fault) -> bool {
        let Fault::Server(error) = fault else {
            return true;
        };
        !error.to_string().contains("invalid configuration")
            && !error.to_string().contains("password missing")
    }

    /// What went wrong, in our words. The server's own texts hold no secrets.
    pub(super) fn failed(&self, fault: Fault) -> Error {
        let url = &self.url;
        let error = match fault {
            Fault::Ours(error) => return error,
            Fault::Silent => {
                return self.described(ErrorKind::Io, format!("{url} does not answer in time"))
            }
            Fault::Again => {
                let text = format!("{url}: others changed the same keys for too long");
                return self.described(ErrorKind::Busy, text);
            }
            Fault::Server(error) => error,
        };
        let said = if let Some(told) = error.as_db_error() {
            format!("{} ({})", told.message(), told.code().code())
        } else {
            let below = std::error::Error::source(&error).map(|below| format!(": {below}"));
            format!("{error}{}", below.unwrap_or_default())
        };
        let code = error.code().map(SqlState::code).unwrap_or_default();
        let (kind, text) = match code {
            "53100" | "53200" => (ErrorKind::NoSpace, format!("{url} is full: {said}")),
            "42501" => {
                let text = format!("{url}: its user may not do that: {said}");
                (ErrorKind::ReadOnly, text)
            }
            "25006" => (
                ErrorKind::ReadOnly,
                format!("{url} takes no changes: {said}"),
            ),
            "28P01" | "28000" => {
                let text =
                    format!("{url} refuses the user or the password; see the URL and PGPASSWORD");
                return self.described(ErrorKind::Io, text);
            }
            "3D000" => (ErrorKind::NotFound, format!("{url}: {said}")),
            "40001" | "40P01" | "55P03" | "53300" | "57P03" => (
                ErrorKind::Busy,
                format!("{url} was busy for too long: {said}"),
            ),
            "" => (ErrorKind::Io, format!("{url} does not answer: {said}")),
            _ => (ErrorKind::Io, format!("{url} refuses: {said}")),
        };
        self.described(kind, text).with_source(error)
    }

    /// An error of this store.
    pub(super) fn described(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        Error::new(kind, text)
            .with_format(DRIVER)
            .with_detail("store", self.url.clone())
    }
}
