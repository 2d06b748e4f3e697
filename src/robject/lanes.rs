//! Blocks to threads that compress them, and back in order.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::thread;

use super::pack::{Encoder, Stored};
use super::pool::Pool;
use crate::Result;

type Make<'a> = &'a (dyn Fn() -> Result<Encoder> + Sync);
type Put<'a> = &'a mut dyn FnMut(&Stored) -> Result<()>;

/// A block, and place for what it becomes; both are used again.
type Job = (Vec<u8>, Stored);
type Made = (Job, Result<()>);

/// Takes blocks; gives what they became to the sink, in the order they came.
pub(super) struct Lanes<'a> {
    put: Put<'a>,
    way: Way<'a>,
}

enum Way<'a> {
    /// On the calling thread.
    Here { encoder: Encoder, stored: Stored },
    /// On others.
    There {
        pool: &'a Pool<Job, Made>,
        /// Blocks on their way, at most.
        most: u64,
        pushed: u64,
        written: u64,
        spare: Vec<Job>,
    },
}

/// Lets the threads go however the work ends.
struct Closing<'a>(&'a Pool<Job, Made>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn serve(pool: &Pool<Job, Made>, make: Make<'_>) {
    let mut encoder = make();
    pool.serve(|(block, mut stored)| {
        let done = match &mut encoder {
            Ok(encoder) => encoder.encode(&block, &mut stored),
            // Tried again, for an error of its own.
            Err(_) => make().and_then(|mut made| made.encode(&block, &mut stored)),
        };
        ((block, stored), done)
    });
}

impl Lanes<'_> {
    /// Runs `work` with lanes on `threads` threads; what it pushed is written when this returns.
    pub(super) fn run<T>(
        threads: usize,
        make: Make<'_>,
        put: Put<'_>,
        work: impl FnOnce(&mut Lanes<'_>) -> Result<T>,
    ) -> Result<T> {
        if threads <= 1 {
            let (encoder, stored) = (make()?, Stored::default());
            let way = Way::Here { encoder, stored };
            return work(&mut Lanes { put, way });
        }
        let pool = Pool::new();
        thread::scope(|scope| {
            let closing = Closing(&pool);
            for _ in 0..threads {
                scope.spawn(|| serve(&pool, make));
            }
            let mut lanes = Lanes {
                put,
                way: Way::There {
                    pool: &pool,
                    most: threads.saturating_add(1) as u64,
                    pushed: 0,
                    written: 0,
                    spare: Vec::new(),
                },
            };
            let done = work(&mut lanes).and_then(|made| lanes.drain(0).map(|()| made));
            drop(closing);
            done
        })
    }

    /// Takes a block; gives a buffer to fill.
    pub(super) fn push(&mut self, block: Vec<u8>) -> Result<Vec<u8>> {
        let most = match &mut self.way {
            Way::Here { encoder, stored } => {
                encoder.encode(&block, stored)?;
                (self.put)(stored)?;
                return Ok(block);
            }
            Way::There {
                pool,
                pushed,
                spare,
                most,
                ..
            } => {
                let (free, stored) = spare.pop().unwrap_or_default();
                pool.push(*pushed, (block, stored));
                *pushed = pushed.saturating_add(1);
                spare.push((free, Stored::default()));
                *most
            }
        };
        self.drain(most)?;
        let Way::There { spare, .. } = &mut self.way else {
            return Ok(Vec::new());
        };
        let free = spare.first_mut().map(|(free, _)| std::mem::take(free));
        spare.retain(|(free, stored)| free.capacity() > 0 || stored.frame.capacity() > 0);
        Ok(free.unwrap_or_default())
    }

    /// Writes in order until at most `most` blocks are on their way.
    fn drain(&mut self, most: u64) -> Result<()> {
        let Way::There {
            pool,
            pushed,
            written,
            spare,
            ..
        } = &mut self.way
        else {
            return Ok(());
        };
        while pushed.saturating_sub(*written) > most {
            let (job, done) = pool.take(*written);
            done?;
            (self.put)(&job.1)?;
            spare.push(job);
            *written = written.saturating_add(1);
        }
        Ok(())
    }
}
