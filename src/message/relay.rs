//! A TCP relay that delays and paces, to emulate a link without privileges.
//!
//! Each direction has a token bucket of 32 KiB (the rate) in front of a delay queue (half
//! the round trip). What it reaches must be measured and said: it is no network.
//!
//! Use it to compare routes over a link that is not at hand. Do not use it to test how
//! something behaves on a network: nothing is lost, reordered or retransmitted.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread::{sleep, yield_now, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind, Result};

/// Most bytes moved at once: the depth of the token bucket.
const BUCKET_BYTES: usize = 32 * 1024;
/// A queue holds this many pieces: with 32 KiB each, 8 MiB are under way at most.
const QUEUE_PIECES: usize = 256;
/// The scheduler wakes a sleeper about this much late; the rest is spent yielding.
const SLEEP_SLACK: Duration = Duration::from_micros(120);

/// What a link is like.
///
/// # Example
/// ```
/// use std::time::Duration;
/// let link = tare::message::Link { bytes_per_second: 125e6, round_trip: Duration::from_micros(300) };
/// assert_eq!(link.passage(125_000).as_micros(), 1000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Rate of each direction, in bytes per second; 0 or infinite for no limit.
    pub bytes_per_second: f64,
    /// Time from a byte sent to its answer received, beside the rate.
    pub round_trip: Duration,
}

impl Link {
    /// How long so many bytes occupy the link, by the rate alone.
    #[must_use]
    pub fn passage(&self, bytes: usize) -> Duration {
        if self.bytes_per_second > 0.0 && self.bytes_per_second.is_finite() {
            #[allow(
                clippy::cast_precision_loss,
                reason = "a piece is far below 2^52 bytes"
            )]
            let seconds = bytes as f64 / self.bytes_per_second;
            Duration::from_secs_f64(seconds)
        } else {
            Duration::ZERO
        }
    }
}

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    moved: Arc<AtomicU64>,
    accepting: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listen on a free loopback port and pass every connection on to `target` through the link.
    ///
    /// # Errors
    /// `Io` when no port can be bound.
    pub fn start(target: SocketAddr, link: Link) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(io_error)?;
        let address = listener.local_addr().map_err(io_error)?;
        let stop = Arc::new(AtomicBool::new(false));
        let moved = Arc::new(AtomicU64::new(0));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&moved));
        let accepting = std::thread::spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    break;
                }
                if let (Ok(near), Ok(far)) = (connection, TcpStream::connect(target)) {
                    join_ends(&near, &far, link, &counted);
                }
            }
        });
        Ok(Self {
            address,
            stop,
            moved,
            accepting: Some(accepting),
        })
    }

    /// Where to connect instead of the target.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes that left the relay so far, both directions.
    #[must_use]
    pub fn bytes_moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A connection to ourselves wakes the accepting thread.
        drop(TcpStream::connect_timeout(
            &self.address,
            Duration::from_secs(1),
        ));
        if let Some(thread) = self.accepting.take() {
            drop(thread.join());
        }
    }
}

fn io_error(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string()).with_source(error)
}

/// Start both directions of one connection; their threads end with it.
fn join_ends(near: &TcpStream, far: &TcpStream, link: Link, moved: &Arc<AtomicU64>) {
    for (from, to) in [(near, far), (far, near)] {
        drop(to.set_nodelay(true));
        if let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) {
            let (queue, waiting) = sync_channel(QUEUE_PIECES);
            let counted = Arc::clone(moved);
            std::thread::spawn(move || take(from, &queue, link));
            std::thread::spawn(move || give(to, &waiting, &counted));
        }
    }
}

/// Read pieces, and give each the moment at which its last byte arrives at the far end.
fn take(mut from: TcpStream, queue: &SyncSender<(Instant, Vec<u8>)>, link: Link) {
    let mut free_at = Instant::now();
    loop {
        let mut piece = vec![0; BUCKET_BYTES];
        let read = match from.read(&mut piece) {
            Ok(read) if read > 0 => read,
            _ => return,
        };
        piece.truncate(read);
        free_at = free_at.max(Instant::now()) + link.passage(read);
        if queue.send((free_at + link.round_trip / 2, piece)).is_err() {
            return;
        }
        // The sender must feel the rate: no more than one bucket is taken ahead of time.
        let ahead = link.passage(BUCKET_BYTES);
        wait_until(free_at.checked_sub(ahead).unwrap_or(free_at));
    }
}

/// Write each piece when its moment has come; end the direction when the queue ends.
fn give(mut to: TcpStream, waiting: &Receiver<(Instant, Vec<u8>)>, moved: &AtomicU64) {
    while let Ok((due, piece)) = waiting.recv() {
        wait_until(due);
        if to.write_all(&piece).is_err() {
            return;
        }
        moved.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    drop(to.shutdown(Shutdown::Write));
}

/// Sleep for the most part, then yield: a sleeper wakes too late for a delay of 0.15 ms.
fn wait_until(due: Instant) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > SLEEP_SLACK {
            sleep(left.saturating_sub(SLEEP_SLACK));
        } else {
            yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut back = connection.try_clone().unwrap();
                    let mut connection = connection;
                    drop(std::io::copy(&mut connection, &mut back));
                    drop(back.shutdown(Shutdown::Write));
                });
            }
        });
        address
    }

    #[test]
    fn every_byte_arrives_in_order_and_both_ends_see_the_end() {
        let link = Link {
            bytes_per_second: 200e6,
            round_trip: Duration::from_micros(200),
        };
        let relay = Relay::start(echo(), link).unwrap();
        let sent: Vec<u8> = (0..3_000_001_u32).map(|i| (i % 251) as u8).collect();
        let mut connection = TcpStream::connect(relay.address()).unwrap();
        let mut writing = connection.try_clone().unwrap();
        let copy = sent.clone();
        let writer = std::thread::spawn(move || {
            writing.write_all(&copy).unwrap();
            writing.shutdown(Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        connection.read_to_end(&mut got).unwrap();
        writer.join().unwrap();
        assert!(sent == got);
        assert_eq!(2 * sent.len() as u64, relay.bytes_moved());
    }

    #[test]
    fn nothing_arrives_before_the_rate_and_the_delay_allow_it() {
        let link = Link {
            bytes_per_second: 20e6,
            round_trip: Duration::from_millis(10),
        };
        let relay = Relay::start(echo(), link).unwrap();
        let mut connection = TcpStream::connect(relay.address()).unwrap();
        let began = Instant::now();
        connection.write_all(&[7]).unwrap();
        let mut one = [0];
        connection.read_exact(&mut one).unwrap();
        assert!(began.elapsed() >= link.round_trip);
        let mut writing = connection.try_clone().unwrap();
        let began = Instant::now();
        let writer = std::thread::spawn(move || writing.write_all(&vec![1; 2_000_000]));
        let mut rest = vec![0; 2_000_000];
        connection.read_exact(&mut rest).unwrap();
        // One bucket may pass ahead of time in each direction.
        assert!(began.elapsed() >= link.passage(2_000_000 - 2 * BUCKET_BYTES));
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn dropping_it_frees_the_port() {
        let relay = Relay::start(
            echo(),
            Link {
                bytes_per_second: 0.0,
                round_trip: Duration::ZERO,
            },
        )
        .unwrap();
        let address = relay.address();
        drop(relay);
        assert!(TcpStream::connect(address).is_err());
    }
}
