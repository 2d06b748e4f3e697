//! Pairs of ends, and folders that go away.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tare::message::{Call, Connection, Mode, Options};

/// No call of a test takes longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn soon() -> Call<'static> {
    Call::within(PATIENCE)
}

pub fn ms(milliseconds: u64) -> Call<'static> {
    Call::within(Duration::from_millis(milliseconds))
}

pub fn pair_with(one: &Options, other: &Options) -> (Connection, Connection) {
    let (a, b) = UnixStream::pair().unwrap();
    (
        Connection::over(a.into(), Mode::Both, one).unwrap(),
        Connection::over(b.into(), Mode::Both, other).unwrap(),
    )
}

pub fn pair() -> (Connection, Connection) {
    pair_with(&Options::default(), &Options::default())
}

/// A bare socket, for peers that misbehave, and a connection at its other end.
pub fn raw_peer(options: &Options) -> (UnixStream, Connection) {
    let (a, b) = UnixStream::pair().unwrap();
    (a, Connection::over(b.into(), Mode::Both, options).unwrap())
}

pub fn frame(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xE0];
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

pub fn bytes_of(received: Option<tare::message::Received>) -> Vec<u8> {
    received.unwrap().bytes
}

/// A folder of this test's own.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tare-msg-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn url(&self, scheme: &str, name: &str) -> String {
        format!("{scheme}:{}", self.0.join(name).display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
