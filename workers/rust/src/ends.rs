//! The ends of fifos, Unix sockets and TCP connections, and one message over them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clocks::wall_ns;

const TOKEN_HEAD: [u8; 6] = [0xe8, 0x11, 0, 0, 0, 3];
const DEFAULT_S: f64 = 30.0;

/// A connection.
pub enum Link {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
    /// A fifo, which goes one way.
    Fifo(File),
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
    Fifo(Option<File>),
}

/// One end that is open, or waits for its writer.
pub struct End {
    listener: Option<Listener>,
    token: Vec<u8>,
    timeout_s: f64,
    link: Option<Link>,
}

/// When the bytes of a message passed, and how many.
#[derive(Default)]
pub struct Passed {
    /// Monotonic time of the first.
    pub first: i64,
    /// Monotonic time of the last.
    pub last: i64,
    /// Their number.
    pub count: u64,
}

impl Passed {
    fn note(&mut self, count: usize) {
        self.last = wall_ns();
        if self.first == 0 {
            self.first = self.last;
        }
        self.count += count as u64;
    }
}

impl Link {
    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Link::Tcp(one) => one,
            Link::Unix(one) => one,
            Link::Fifo(one) => one,
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Link::Tcp(one) => one,
            Link::Unix(one) => one,
            Link::Fifo(one) => one,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Link::Tcp(one) => one.as_fd(),
            Link::Unix(one) => one.as_fd(),
            Link::Fifo(one) => one.as_fd(),
        }
    }

    /// Write bytes, noting when.
    pub fn send(&mut self, bytes: &[u8], passed: &mut Passed) -> io::Result<()> {
        if passed.first == 0 {
            passed.first = wall_ns();
        }
        self.writer().write_all(bytes)?;
        passed.note(bytes.len());
        Ok(())
    }

    /// Read until the writer closes.
    pub fn all(&mut self, passed: &mut Passed) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        let mut part = vec![0; 1 << 18];
        loop {
            let n = self.reader().read(&mut part)?;
            if n == 0 {
                return Ok(found);
            }
            passed.note(n);
            found.extend_from_slice(part.get(..n).unwrap_or_default());
        }
    }

    /// Read so many bytes.
    pub fn exactly(&mut self, n: usize, passed: &mut Passed) -> io::Result<Vec<u8>> {
        let mut found = vec![0; n];
        let mut done = 0;
        while let Some(rest) = found.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let n = self.reader().read(rest)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            passed.note(n);
            done += n;
        }
        Ok(found)
    }

    /// No more will be written; the other direction stays open for an answer.
    pub fn shut(&self) {
        // A peer that has gone already needs no word of it.
        let _ = match self {
            Link::Tcp(one) => one.shutdown(std::net::Shutdown::Write),
            Link::Unix(one) => one.shutdown(std::net::Shutdown::Write),
            Link::Fifo(_) => Ok(()),
        };
    }
}

fn bad(message: impl Into<String>) -> io::Error {
    io::Error::other(message.into())
}

fn readable(fd: BorrowedFd<'_>, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now()).as_millis();
    let wait = PollTimeout::from(u16::try_from(left).unwrap_or(u16::MAX));
    match poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], wait) {
        Ok(0) => Err(bad("no writer came in time")),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Open one end; a reader does not wait. Gives the end and the address that its writer needs.
pub fn open(kind: &str, role: &str, address: &str, token: &str, timeout_s: Option<f64>) -> io::Result<(End, String)> {
    let digits: Vec<char> = token.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).map_err(|_| bad("token is no hex"));
    let token = digits.chunks(2).map(byte).collect::<io::Result<Vec<u8>>>()?;
    let timeout_s = timeout_s.unwrap_or(DEFAULT_S);
    if role == "writer" {
        let mut link = connect(kind, address, timeout_s)?;
        let frame = [TOKEN_HEAD.as_slice(), &token].concat();
        link.writer().write_all(&frame)?;
        return Ok((End { listener: None, token, timeout_s, link: Some(link) }, address.to_owned()));
    }
    if role != "reader" {
        return Err(bad(format!("role is reader or writer, not {role}")));
    }
    let (listener, address) = listen(kind, address)?;
    Ok((End { listener: Some(listener), token, timeout_s, link: None }, address))
}

fn fresh(address: &str, kind: &str) -> io::Result<String> {
    if !address.is_empty() {
        return Ok(address.to_owned());
    }
    let name = format!("{kind}-{}-{}", std::process::id(), wall_ns());
    Ok(std::env::current_dir()?.join(name).to_string_lossy().into_owned())
}

fn listen(kind: &str, address: &str) -> io::Result<(Listener, String)> {
    match kind {
        "tcp" => {
            let listener = TcpListener::bind(if address.is_empty() { "127.0.0.1:0" } else { address })?;
            let address = listener.local_addr()?.to_string();
            Ok((Listener::Tcp(listener), address))
        }
        "unix" => {
            let path = fresh(address, kind)?;
            Ok((Listener::Unix(UnixListener::bind(&path)?), path))
        }
        "fifo" => {
            let path = fresh(address, kind)?;
            if !std::path::Path::new(&path).exists() {
                nix::unistd::mkfifo(path.as_str(), nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR)?;
            }
            // Without O_NONBLOCK opening would wait for the writer, who waits for our answer.
            let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&path)?;
            Ok((Listener::Fifo(Some(file)), path))
        }
        _ => Err(bad(format!("no medium {kind:.40}: there are fifo, unix, tcp"))),
    }
}

fn connect(kind: &str, address: &str, timeout_s: f64) -> io::Result<Link> {
    match kind {
        "tcp" => {
            let link = TcpStream::connect(address)?;
            link.set_nodelay(true)?;
            Ok(Link::Tcp(link))
        }
        "unix" => Ok(Link::Unix(UnixStream::connect(address)?)),
        "fifo" => {
            let until = Instant::now() + Duration::from_secs_f64(timeout_s);
            loop {
                match OpenOptions::new().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(address) {
                    Ok(file) => {
                        fcntl(&file, FcntlArg::F_SETFL(OFlag::O_WRONLY))?;
                        return Ok(Link::Fifo(file));
                    }
                    Err(error) if Instant::now() > until => return Err(error),
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
        }
        _ => Err(bad(format!("no medium {kind:.40}: there are fifo, unix, tcp"))),
    }
}

impl End {
    /// The connection; a reader waits here for a writer that shows the token.
    pub fn link(&mut self, timeout_s: Option<f64>) -> io::Result<&mut Link> {
        if self.link.is_none() {
            let seconds = timeout_s.unwrap_or(self.timeout_s).clamp(0.0, 86_400.0);
            let until = Instant::now() + Duration::from_secs_f64(seconds);
            self.link = Some(self.accept(until)?);
        }
        self.link.as_mut().ok_or_else(|| bad("not connected"))
    }

    fn accept(&mut self, until: Instant) -> io::Result<Link> {
        let wanted = [TOKEN_HEAD.as_slice(), &self.token].concat();
        loop {
            let link = match self.listener.as_mut() {
                Some(Listener::Tcp(one)) => {
                    readable(one.as_fd(), until)?;
                    let (link, _) = one.accept()?;
                    link.set_nodelay(true)?;
                    Link::Tcp(link)
                }
                Some(Listener::Unix(one)) => {
                    readable(one.as_fd(), until)?;
                    Link::Unix(one.accept()?.0)
                }
                Some(Listener::Fifo(one)) => {
                    let file = one.take().ok_or_else(|| bad("this fifo was read already"))?;
                    readable(file.as_fd(), until)?;
                    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_RDONLY))?;
                    Link::Fifo(file)
                }
                None => return Err(bad("this end was closed")),
            };
            match shown(link, &wanted, until) {
                Ok(link) => return Ok(link),
                // A stranger on a socket is turned away; of a fifo there is one only.
                Err(error) if matches!(self.listener, Some(Listener::Fifo(_))) => return Err(error),
                Err(_) => {}
            }
        }
    }
}

fn shown(mut link: Link, wanted: &[u8], until: Instant) -> io::Result<Link> {
    let mut got = Vec::with_capacity(wanted.len());
    while got.len() < wanted.len() {
        readable(link.fd(), until)?;
        let mut byte = vec![0; wanted.len() - got.len()];
        let n = link.reader().read(&mut byte)?;
        if n == 0 {
            return Err(bad("the writer showed no token"));
        }
        got.extend_from_slice(byte.get(..n).unwrap_or_default());
    }
    if got == wanted { Ok(link) } else { Err(bad("the writer showed another token")) }
}

impl End {
    /// An end whose connection is over; it can still be closed.
    pub fn closed() -> End {
        End { listener: None, token: Vec::new(), timeout_s: 0.0, link: None }
    }
}
