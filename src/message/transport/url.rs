//! Where messages go: the URLs.

use std::path::PathBuf;

use crate::{Error, ErrorKind, Result};

/// A parsed URL.
///
/// | URL | |
/// |---|---|
/// | `tcp://host:port` | an empty host is this machine alone; port 0 is any, for listeners |
/// | `unix:path`, `unix:@name` | a socket in the file system, or an abstract one (Linux) |
/// | `fifo:path` | a named pipe, made if it is not there |
/// | `file:path` | a regular file |
/// | `fd:N` | a descriptor of this process, which is taken over |
/// | `-` | standard input or output |
///
/// # Example
/// ```
/// use tare::message::Url;
/// assert_eq!(Url::Tcp("127.0.0.1".into(), 80), Url::parse("tcp://:80")?);
/// assert_eq!("tcp://[::1]:80", Url::parse("tcp://[::1]:80")?.to_string());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Url {
    /// Host, without brackets, and port.
    Tcp(String, u16),
    /// A socket's path.
    Unix(PathBuf),
    /// An abstract socket's name.
    Abstract(String),
    /// A fifo's path.
    Fifo(PathBuf),
    /// A file's path.
    File(PathBuf),
    /// A descriptor's number.
    Fd(u32),
    /// Standard input or output.
    Standard,
}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    /// `Usage`, which names the forms.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "-" {
            return Ok(Self::Standard);
        }
        let refused = || {
            let shown: String = text.chars().take(80).collect();
            let text = format!("{shown:?} is no place for messages: expected tcp://HOST:PORT, unix:PATH, unix:@NAME, fifo:PATH, file:PATH, fd:NUMBER or -");
            Error::new(ErrorKind::Usage, text)
        };
        let (scheme, rest) = text.split_once(':').ok_or_else(refused)?;
        if rest.is_empty() || rest.contains('\0') {
            return Err(refused());
        }
        match scheme {
            "tcp" => rest.strip_prefix("//").and_then(tcp).ok_or_else(refused),
            "unix" => Ok(match rest.strip_prefix('@') {
                Some("") => return Err(refused()),
                Some(name) => Self::Abstract(name.to_owned()),
                None => Self::Unix(rest.into()),
            }),
            "fifo" => Ok(Self::Fifo(rest.into())),
            "file" => Ok(Self::File(rest.into())),
            "fd" => number(rest)
                .filter(|number| i32::try_from(*number).is_ok())
                .map(Self::Fd)
                .ok_or_else(refused),
            _ => Err(refused()),
        }
    }
}

fn tcp(rest: &str) -> Option<Url> {
    let (host, port) = rest.rsplit_once(':')?;
    let port = u16::try_from(number(port)?).ok()?;
    let bare = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    let bare = if bare.is_empty() { "127.0.0.1" } else { bare };
    let bad = |c: char| c.is_whitespace() || c.is_control() || "/[]@".contains(c);
    (!bare.contains(bad)).then(|| Url::Tcp(bare.to_owned(), port))
}

/// Only digits: `parse` would take a sign too.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "tcp://{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Abstract(name) => write!(f, "unix:@{name}"),
            Self::Fifo(path) => write!(f, "fifo:{}", path.display()),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Fd(number) => write!(f, "fd:{number}"),
            Self::Standard => f.write_str("-"),
        }
    }
}
