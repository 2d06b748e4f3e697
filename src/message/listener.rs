//! A place that connections come to.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::connection::{try_hold, Seat};
use super::deadline::SLICE;
use super::transport::{tcp, unix};
use super::wire::{is_timeout, os_error};
use super::{Call, Connection, Mode, Options, Url};
use crate::{Error, ErrorKind, Result};

/// A stranger has so long to say its token.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Somebody who came and has not proved itself.
#[derive(Debug)]
struct Arriving {
    connection: Connection,
    peer: String,
    until: Instant,
}

#[derive(Debug)]
struct Inner {
    fd: Option<Arc<OwnedFd>>,
    arriving: Vec<Arriving>,
    admitted: std::collections::VecDeque<(Connection, String)>,
    file: Option<unix::SocketFile>,
    /// Until when nobody is let in, as the system had no descriptor left.
    scarce: Option<Instant>,
}

impl Inner {
    fn is_scarce(&self) -> bool {
        self.scarce.is_some_and(|until| Instant::now() < until)
    }
}

/// Listens by TCP or at a path, and accepts connections.
///
/// With a token in its options, only who says that token first is given; all others are closed
/// without an answer. Strangers who say nothing do not keep others waiting.
///
/// # Example
/// ```
/// use tare::message::{Call, Connection, Listener, Mode, Options};
/// let listener = Listener::open("tcp://127.0.0.1:0", &Options::listening())?;
/// let client = Connection::open(listener.url(), Mode::Both, &Options::default(), &mut Call::forever())?;
/// let (server, _peer) = listener.accept(&mut Call::forever())?;
/// client.send(b"hi", false, &mut Call::forever())?;
/// assert_eq!(b"hi", &*server.receive(&mut Call::forever())?.unwrap().bytes);
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug)]
pub struct Listener {
    inner: Mutex<Inner>,
    url: String,
    number: RawFd,
    owner: u32,
    options: Options,
    taken: Arc<AtomicUsize>,
}

impl Listener {
    /// Listens at `tcp://host:port` or `unix:path`. A socket in the file system has mode 0600, and
    /// one that nobody listens at any more is replaced.
    ///
    /// # Errors
    /// `Usage` for another URL; `Unsupported` for a token that would cross a network in the
    /// clear; `Io` from the system, as for an address in use.
    pub fn open(url: &str, options: &Options) -> Result<Self> {
        options.check()?;
        let parsed = Url::parse(url)?;
        let (fd, url, file) = match &parsed {
            Url::Tcp(host, port) => {
                let (fd, url) = tcp::listen(host, *port, options)?;
                (fd, url, None)
            }
            Url::Unix(_) | Url::Abstract(_) => {
                let (fd, file) = unix::listen(&parsed)?;
                (fd, parsed.to_string(), file)
            }
            _ => {
                let text =
                    format!("{parsed}: only tcp: and unix: are listened to; open it to read");
                return Err(Error::new(ErrorKind::Usage, text));
            }
        };
        Ok(Self {
            number: fd.as_raw_fd(),
            inner: Mutex::new(Inner {
                fd: Some(Arc::new(fd)),
                arriving: Vec::new(),
                admitted: std::collections::VecDeque::new(),
                file,
                scarce: None,
            }),
            url,
            owner: std::process::id(),
            options: options.clone(),
            taken: Arc::new(AtomicUsize::new(0)),
        })
    }

    /// Where it listens, with the port that was chosen.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The descriptor that connections come to, to be waited for and nothing else.
    ///
    /// # Errors
    /// `Usage` after [`close`](Self::close).
    pub fn fileno(&self) -> Result<RawFd> {
        self.enter()?;
        Ok(self.number)
    }

    /// Connections that are open, and strangers at the door.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.hold().fd.is_none()
    }

    /// The next connection that may come in, and where it comes from. With `max_connections` open,
    /// or without a descriptor left, nobody is let in until one is closed.
    ///
    /// # Errors
    /// `Io` at the deadline, and from the system; `Usage` if closed.
    pub fn accept(&self, call: &mut Call<'_>) -> Result<(Connection, String)> {
        loop {
            self.enter()?;
            if let Some(mut inner) = try_hold(&self.inner) {
                self.advance(&mut inner)?;
                if let Some(admitted) = inner.admitted.pop_front() {
                    return Ok(admitted);
                }
            }
            self.await_more(call)?;
        }
    }

    /// Whether [`accept`](Self::accept) would not wait.
    ///
    /// # Errors
    /// As [`accept`](Self::accept), but for the deadline.
    pub fn poll(&self, call: &mut Call<'_>) -> Result<bool> {
        loop {
            if self.look()? {
                return Ok(true);
            }
            match self.await_more(call) {
                Err(error) if is_timeout(&error) => return self.look(),
                done => done?,
            }
        }
    }

    /// Listens no more; connections that were accepted stay, who waits at the door does not.
    pub fn close(&self) {
        let mut inner = self.hold();
        inner.fd = None;
        inner.file = None;
        inner.arriving.clear();
        inner.admitted.clear();
    }

    fn hold(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> Result<()> {
        if self.owner != std::process::id() {
            let text = "a listener was made before fork: only the parent uses it";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        if self.is_closed() {
            let text = "the listener is closed: open another";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        Ok(())
    }

    /// Takes in who came, for one round; whether somebody may come in.
    pub(super) fn look(&self) -> Result<bool> {
        self.enter()?;
        let Some(mut inner) = try_hold(&self.inner) else {
            return Ok(false);
        };
        self.advance(&mut inner)?;
        Ok(!inner.admitted.is_empty())
    }

    fn advance(&self, inner: &mut Inner) -> Result<()> {
        let Some(fd) = inner.fd.clone() else {
            return Ok(());
        };
        while self.connections() < self.options.max_connections && !inner.is_scarce() {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match rustix::net::accept_with(&fd, flags) {
                Ok(found) => self.arrive(inner, found)?,
                Err(Errno::AGAIN) => break,
                // Who hung up while waiting is nobody's error.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                // As with all places taken: who comes waits.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    inner.scarce = Instant::now().checked_add(SLICE);
                }
                Err(error) => {
                    let what = format!("cannot accept at {}", self.url);
                    return Err(os_error(error.into(), &what));
                }
            }
        }
        let now = Instant::now();
        for arriving in std::mem::take(&mut inner.arriving) {
            match arriving.connection.trusted() {
                Ok(Some(true)) => inner
                    .admitted
                    .push_back((arriving.connection, arriving.peer)),
                Ok(None) if arriving.until > now => inner.arriving.push(arriving),
                _ => {
                    let _ = arriving.connection.abandon(&mut Call::now());
                }
            }
        }
        Ok(())
    }

    fn arrive(&self, inner: &mut Inner, fd: OwnedFd) -> Result<()> {
        let tcp = self.url.starts_with("tcp:");
        if tcp {
            tcp::prepare(&fd);
        }
        let peer = if tcp { peer_of(&fd) } else { String::new() };
        let mut options = self.options.clone();
        options.crc = Some(options.crc.unwrap_or(false));
        let limit = options.message_timeout.unwrap_or(HANDSHAKE).min(HANDSHAKE);
        let seat = Seat::take(&self.taken);
        let connection = Connection::over(fd, Mode::Both, &options)?.seated(seat);
        if options.token.is_none() {
            inner.admitted.push_back((connection, peer));
        } else if let Some(until) = Instant::now().checked_add(limit) {
            inner.arriving.push(Arriving {
                connection,
                peer,
                until,
            });
        }
        Ok(())
    }

    /// Waits for one slice, or until somebody comes or says something.
    fn await_more(&self, call: &mut Call<'_>) -> Result<()> {
        let watched = self.watched();
        let mut fds: Vec<PollFd<'_>> = watched
            .iter()
            .map(|fd| PollFd::from_borrowed_fd(fd.fd(), PollFlags::IN))
            .collect();
        call.slice(&mut fds, None, SLICE, "nobody came")?;
        Ok(())
    }

    /// What is to be waited for.
    pub(super) fn watched(&self) -> Vec<Watched> {
        let Some(inner) = try_hold(&self.inner) else {
            return Vec::new();
        };
        let mut watched = Vec::new();
        if self.connections() < self.options.max_connections && !inner.is_scarce() {
            watched.extend(inner.fd.clone().map(Watched::Door));
        }
        for arriving in &inner.arriving {
            let link = arriving.connection.watched();
            watched.extend(link.map(|(link, _, _)| Watched::Link(link)));
        }
        watched
    }
}

/// A descriptor that is kept open while it is waited for.
pub(super) enum Watched {
    Door(Arc<OwnedFd>),
    Link(Arc<super::wire::Link>),
}

impl Watched {
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        use std::os::fd::AsFd;
        match self {
            Self::Door(fd) => fd.as_fd(),
            Self::Link(link) => link.fd(),
        }
    }
}

fn peer_of(fd: &OwnedFd) -> String {
    let address = rustix::net::getpeername(fd).ok().flatten();
    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
    address.map_or_else(String::new, |address| format!("tcp://{address}"))
}
