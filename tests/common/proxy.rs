//! A proxy on loopback that cuts connections in the middle of an answer, delays, or stays silent.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
struct State {
    /// Bytes of answers after which the next connection is cut, once; negative for none.
    cut_after: AtomicI64,
    /// Milliseconds that every answer waits.
    delay: AtomicU64,
    /// Whether answers are swallowed.
    silent: AtomicBool,
    /// Connections that were cut.
    cuts: AtomicU64,
}

/// Runs until the test's process ends.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

impl Proxy {
    pub fn start(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        state.cut_after.store(-1, Ordering::SeqCst);
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else {
                    continue;
                };
                join(near, far, &shared);
            }
        });
        Self { port, state }
    }

    /// Cuts one connection when so many bytes of answers have passed.
    pub fn cut_after(&self, bytes: i64) {
        self.state.cut_after.store(bytes, Ordering::SeqCst);
    }

    pub fn delay(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap();
        self.state.delay.store(millis, Ordering::SeqCst);
    }

    pub fn silent(&self, silent: bool) {
        self.state.silent.store(silent, Ordering::SeqCst);
    }

    /// How many connections were cut.
    pub fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }
}

fn join(near: TcpStream, far: TcpStream, state: &Arc<State>) {
    let (mut near_in, mut far_out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut near_in, &mut far_out);
        let _ = far_out.shutdown(Shutdown::Both);
    });
    let state = Arc::clone(state);
    std::thread::spawn(move || {
        let (mut near, mut far) = (near, far);
        let mut piece = [0; 16 * 1024];
        while let Ok(size) = far.read(&mut piece) {
            if size == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(state.delay.load(Ordering::SeqCst)));
            if state.silent.load(Ordering::SeqCst) {
                continue;
            }
            let left = state.cut_after.load(Ordering::SeqCst);
            let bytes = i64::try_from(size).unwrap();
            if left >= 0 && left < bytes {
                state.cut_after.store(-1, Ordering::SeqCst);
                let part = usize::try_from(left).unwrap();
                let _ = near.write_all(&piece[..part]);
                state.cuts.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if left >= 0 {
                state.cut_after.fetch_sub(bytes, Ordering::SeqCst);
            }
            if near.write_all(&piece[..size]).is_err() {
                break;
            }
        }
        let _ = near.shutdown(Shutdown::Both);
        let _ = far.shutdown(Shutdown::Both);
    });
}
