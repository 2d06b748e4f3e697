//! TCP, on this machine or beyond.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::super::wire::os_error;
use super::super::{Call, Options};
use super::{attempt, failed, Url};
use crate::{Error, ErrorKind, Result};

/// Connects to the first address that answers.
pub fn connect(host: &str, port: u16, options: &Options, call: &mut Call<'_>) -> Result<OwnedFd> {
    let url = Url::Tcp(host.to_owned(), port).to_string();
    attempt(options.retry, call, &url, |call| {
        let mut last = None;
        for address in resolve(host, port, &url)? {
            refuse_open_token(&address, options)?;
            match connect_to(&address, &url, call) {
                Ok(fd) => return Ok(fd),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorKind::NotFound, format!("{url}: no address"))))
    })
}

fn resolve(host: &str, port: u16, url: &str) -> Result<Vec<SocketAddr>> {
    (host, port)
        .to_socket_addrs()
        .map(Iterator::collect)
        .map_err(|error| os_error(error, &format!("{url}: cannot find the host")))
}

/// A token in the clear is for nobody's eyes but this machine's.
fn refuse_open_token(address: &SocketAddr, options: &Options) -> Result<()> {
    if options.token.is_some() && !address.ip().to_canonical().is_loopback() {
        let text = "a token would cross the network unencrypted: use TLS, or loopback";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    Ok(())
}

fn connect_to(address: &SocketAddr, url: &str, call: &mut Call<'_>) -> Result<OwnedFd> {
    let what = format!("connect to {url}");
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)
        .map_err(failed("make a socket"))?;
    match rustix::net::connect(&fd, address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            call.wait_for(fd.as_fd(), PollFlags::OUT, &what)?;
            rustix::net::sockopt::socket_error(&fd)
                .map_err(failed(&what))?
                .map_err(failed(&what))?;
        }
        Err(error) => return Err(failed(&what)(error)),
    }
    prepare(&fd);
    Ok(fd)
}

/// Small messages leave at once.
pub fn prepare(fd: &OwnedFd) {
    let _ = rustix::net::sockopt::set_tcp_nodelay(fd, true);
}

/// Listens; gives the URL with the port that was chosen.
pub fn listen(host: &str, port: u16, options: &Options) -> Result<(OwnedFd, String)> {
    let url = Url::Tcp(host.to_owned(), port).to_string();
    let addresses = resolve(host, port, &url)?;
    for address in &addresses {
        refuse_open_token(address, options)?;
    }
    let cannot = |error| os_error(error, &format!("cannot listen at {url}"));
    let listener = TcpListener::bind(&*addresses).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    Ok((listener.into(), Url::Tcp(host.to_owned(), port).to_string()))
}
