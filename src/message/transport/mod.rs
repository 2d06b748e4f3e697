//! Opening what messages go over: one file per kind.

pub(super) mod fd;
pub(super) mod fifo;
pub(super) mod file;
pub(super) mod tcp;
pub(super) mod unix;
pub(super) mod url;

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::wire::{is_timeout, os_error};
use super::{Call, Mode, Options};
use crate::{Error, ErrorKind, Result};
pub use url::Url;

/// Waits between two attempts: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// What opening gives.
pub(super) struct Opened {
    pub fd: OwnedFd,
    pub mode: Mode,
    /// A writing end of the fifo that is read, which keeps it from ending.
    pub keep: Option<OwnedFd>,
    /// Messages of an appended file since its last END.
    pub since_end: u64,
}

impl Opened {
    fn new(fd: OwnedFd, mode: Mode) -> Self {
        Self {
            fd,
            mode,
            keep: None,
            since_end: 0,
        }
    }
}

/// Opens a URL.
pub(super) fn open(
    url: &Url,
    mode: Mode,
    options: &Options,
    call: &mut Call<'_>,
) -> Result<Opened> {
    match url {
        Url::Tcp(host, port) => {
            both(mode, "tcp:")?;
            tcp::connect(host, *port, options, call).map(|fd| Opened::new(fd, mode))
        }
        Url::Unix(_) | Url::Abstract(_) => {
            both(mode, "unix:")?;
            unix::connect(url, options, call).map(|fd| Opened::new(fd, mode))
        }
        Url::Fifo(path) => fifo::open(path, mode, options, call),
        Url::File(path) => file::open(path, mode, options),
        Url::Fd(number) => fd::adopt(*number).and_then(|fd| fd::directed(fd, mode)),
        Url::Standard => fd::standard(mode).map(|fd| Opened::new(fd, mode)),
    }
}

fn both(mode: Mode, scheme: &str) -> Result<()> {
    if mode == Mode::Both {
        return Ok(());
    }
    let text = format!("{scheme} goes both ways and takes no mode");
    Err(Error::new(ErrorKind::Usage, text))
}

fn wrong_mode(scheme: &str, modes: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("{scheme} takes a mode: {modes}"))
}

/// Tries until it succeeds, `retry` or the call are over, or the error is another than that
/// nobody is there.
fn attempt(
    retry: Option<Duration>,
    call: &mut Call<'_>,
    what: &str,
    mut open: impl FnMut(&mut Call<'_>) -> Result<OwnedFd>,
) -> Result<OwnedFd> {
    let until = retry.and_then(|retry| Instant::now().checked_add(retry));
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match open(call) {
            Err(error) if retry.is_some() && nobody(&error) => error,
            done => return done,
        };
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(error);
        }
        match call.pause(left.map_or(pause, |left| left.min(pause)), what) {
            // Nobody came: that says more than that time is over.
            Err(over) if is_timeout(&over) && retry != Some(Duration::MAX) => return Err(error),
            other => other?,
        }
        pause = pause.saturating_mul(2).min(LAST_PAUSE);
    }
}

/// Whether somebody may come yet.
fn nobody(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| {
        matches!(
            source.kind(),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
        ) || source.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
    })
}

fn failed(what: &str) -> impl Fn(rustix::io::Errno) -> Error + '_ {
    move |error| os_error(error.into(), &format!("cannot {what}"))
}
