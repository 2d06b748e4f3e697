//! `_tare.PacketRelay`: packets between two network devices, paced and delayed.
//!
//! Two TUN devices, each in a network namespace of its own, with this between them are a link of
//! a rate and a delay, for which no part of the kernel is needed that may not be built. Each
//! direction has a thread that reads packets as they come, and one that writes each when its
//! moment has come: neither before its delay is over nor before the link is free.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tare::message::Link;

use crate::message::borrowed;

/// Packets that wait in a direction; those that come when it is full are lost, as in a switch.
const QUEUE_PACKETS: usize = 4096;
/// Longest packet that a device gives.
const LONGEST: usize = 65_536;
/// A sleeper wakes so much late at most, where its thread's timer slack is least; the rest is spun.
const SPIN: Duration = Duration::from_micros(40);

/// A packet and the moment before which it does not arrive.
type Queued = (Instant, Vec<u8>);

#[derive(Default)]
struct Counts {
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
}

#[pyclass(frozen)]
pub struct PacketRelay(Arc<Counts>);

#[pymethods]
impl PacketRelay {
    #[new]
    fn new(left: i32, right: i32, bytes_per_second: f64, round_trip_s: f64) -> PyResult<Self> {
        let round_trip = Duration::try_from_secs_f64(round_trip_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let link = Link {
            bytes_per_second,
            round_trip,
        };
        let counts = Arc::new(Counts::default());
        for (from, to) in [(left, right), (right, left)] {
            // The caller keeps both open for as long as its process lives.
            let (from, to) = (borrowed(from), borrowed(to));
            let (queue, waiting) = sync_channel(QUEUE_PACKETS);
            let (lost, moved) = (Arc::clone(&counts), Arc::clone(&counts));
            spawn(move || take(from, &queue, link, &lost));
            spawn(move || give(to, &waiting, link, &moved));
        }
        Ok(Self(counts))
    }

    /// Packets and bytes that arrived, and packets that were lost to a full queue.
    #[getter]
    fn counts(&self) -> (u64, u64, u64) {
        let counts = &self.0;
        (
            counts.packets.load(Ordering::Relaxed),
            counts.bytes.load(Ordering::Relaxed),
            counts.lost.load(Ordering::Relaxed),
        )
    }
}

/// Reads packets until the device has gone.
fn take(mut from: ManuallyDrop<File>, queue: &SyncSender<Queued>, link: Link, counts: &Counts) {
    let mut place = vec![0; LONGEST];
    loop {
        match from.read(&mut place) {
            Ok(0) => return,
            Ok(read) => {
                let due = Instant::now() + link.round_trip / 2;
                let packet = place.get(..read).unwrap_or_default().to_vec();
                if queue.try_send((due, packet)).is_err() {
                    counts.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Writes packets when their delay is over and the link is free.
fn give(mut to: ManuallyDrop<File>, waiting: &Receiver<Queued>, link: Link, counts: &Counts) {
    let mut free_at = Instant::now();
    while let Ok((due, packet)) = waiting.recv() {
        // The link carries a packet before its delay is over, and is late itself only by that.
        let begins = free_at.max(due.checked_sub(link.round_trip / 2).unwrap_or(due));
        free_at = begins + link.passage(packet.len());
        wait_until(free_at + link.round_trip / 2);
        match to.write(&packet) {
            Ok(taken) if taken == packet.len() => {
                counts.packets.fetch_add(1, Ordering::Relaxed);
                counts
                    .bytes
                    .fetch_add(packet.len() as u64, Ordering::Relaxed);
            }
            // A device that is down for a moment, or full, loses packets.
            _ => {
                counts.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Sleeps up to shortly before, and spins the rest: a sleeper wakes too late for 10 us between packets.
fn wait_until(due: Instant) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > SPIN {
            sleep(left.saturating_sub(SPIN));
        } else {
            std::hint::spin_loop();
        }
    }
}
