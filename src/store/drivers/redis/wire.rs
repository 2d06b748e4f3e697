//! Connections to the server: opened anew after a fork and when they break; calls that may be repeated
//! are, until an answer comes or the time is up.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use redis::{Client, Connection, RedisError, RedisResult};

use super::scripts::Scripts;
use super::DRIVER;
use crate::store::drivers::remote::{jitter, random_name, PerProcess, Pool};
use crate::{Error, ErrorKind, Result};

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server, and how it is spoken to.
pub(super) struct Wire {
    client: Client,
    /// Without secrets, for messages.
    pub url: String,
    /// How long a call may take with all its attempts; a single answer half of it.
    timeout: Duration,
    pub scripts: Scripts,
    process: PerProcess<Process>,
}

/// What a process keeps.
#[derive(Default)]
struct Process {
    pool: Pool<Connection>,
    slots: Mutex<Vec<Slot>>,
}

/// Where the server keeps the last answer to one of our threads.
pub(super) struct Slot {
    pub name: String,
    pub number: u64,
}

impl Wire {
    pub(super) fn new(client: Client, url: String, timeout: Duration) -> Self {
        Self {
            client,
            url,
            timeout,
            scripts: Scripts::new(),
            process: PerProcess::new(),
        }
    }

    /// Makes a call that does no harm when it is made twice.
    pub(super) fn call<R>(
        &self,
        mut work: impl FnMut(&mut Connection) -> RedisResult<R>,
    ) -> Result<R> {
        let began = Instant::now();
        let mut attempt = 0;
        loop {
            let error = match self.once(&mut work) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let again = error.fresh_needed || is_passing(&error.error);
            if !again || began.elapsed() >= self.timeout {
                return Err(self.failed(error.error));
            }
            // A connection that had waited tells nothing of the server: the next is tried at once.
            if !error.had_waited {
                attempt += 1;
                std::thread::sleep(jitter(attempt).min(Duration::from_millis(500)));
            }
        }
    }

    fn once<R>(
        &self,
        work: &mut impl FnMut(&mut Connection) -> RedisResult<R>,
    ) -> std::result::Result<R, Failed> {
        let mut taken = self.process.get().pool.take();
        let had_waited = taken.connection.is_some();
        let mut connection = match taken.connection.take() {
            Some(connection) => connection,
            None => self.connect().map_err(|error| Failed {
                fresh_needed: is_broken(&error),
                had_waited,
                error,
            })?,
        };
        let result = work(&mut connection);
        match result {
            Err(error) if is_broken(&error) => Err(Failed {
                fresh_needed: true,
                had_waited,
                error,
            }),
            other => {
                taken.connection = Some(connection);
                other.map_err(|error| Failed {
                    fresh_needed: false,
                    had_waited: false,
                    error,
                })
            }
        }
    }

    fn connect(&self) -> RedisResult<Connection> {
        let limit = CONNECT_TIMEOUT.min(self.timeout);
        let connection = self.client.get_connection_with_timeout(limit)?;
        let answer = self.timeout / 2;
        connection.set_read_timeout(Some(answer))?;
        connection.set_write_timeout(Some(answer))?;
        Ok(connection)
    }

    /// A slot that no other thread uses.
    pub(super) fn take_slot(&self) -> Result<Slot> {
        let mut slots = self.slots();
        let waiting = slots.pop();
        drop(slots);
        match waiting {
            Some(slot) => Ok(slot),
            None => Ok(Slot {
                name: random_name()?,
                number: 0,
            }),
        }
    }

    /// Gives a slot back, whose last call was answered.
    pub(super) fn give_slot(&self, slot: Slot) {
        self.slots().push(slot);
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        let slots = self.process.get().slots.lock();
        slots.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What went wrong, in our words. The server's own text holds no secrets.
    pub(super) fn failed(&self, error: RedisError) -> Error {
        let said = error.to_string();
        let code = error.code().unwrap_or_default();
        let url = &self.url;
        let (kind, text) = if is_oom(&error) {
            let text = format!("{url} is full; free memory there, or raise maxmemory: {said}");
            (ErrorKind::NoSpace, text)
        } else if code == "READONLY" || said.contains("read only replica") {
            let text = format!("{url} is a replica, which takes no changes: {said}");
            (ErrorKind::ReadOnly, text)
        } else if code == "NOPERM" || said.contains("ACL failure") {
            (
                ErrorKind::ReadOnly,
                format!("{url}: its user may not do that: {said}"),
            )
        } else if is_passing(&error) {
            let text = format!("{url} was busy for too long: {said}");
            (ErrorKind::Busy, text)
        } else if error.kind() == redis::ErrorKind::AuthenticationFailed
            || ["WRONGPASS", "NOAUTH"].contains(&code)
            || said.contains("Password authentication failed")
        {
            let text =
                format!("{url} refuses the user or the password; see the URL and REDISCLI_AUTH");
            return self.described(ErrorKind::Io, text);
        } else if is_broken(&error) {
            (ErrorKind::Io, format!("{url} does not answer: {said}"))
        } else {
            (ErrorKind::Io, format!("{url} refuses: {said}"))
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

struct Failed {
    error: RedisError,
    /// Whether the connection cannot be used again.
    fresh_needed: bool,
    /// Whether it was one that had been idle.
    had_waited: bool,
}

/// Whether the connection is of no further use, and its last call may have been heard or not.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

/// Whether the server says that it will answer soon.
fn is_passing(error: &RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    ["BUSY", "LOADING", "TRYAGAIN", "MASTERDOWN"].contains(&code)
}

fn is_oom(error: &RedisError) -> bool {
    let said = error.to_string();
    error.code() == Some("OOM")
        || said.contains("OOM command not allowed")
        || said.contains("No space left on device")
}
