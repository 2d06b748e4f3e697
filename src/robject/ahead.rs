//! Blocks decoded ahead of the parser, by other threads.
//!
//! The parser's own thread reads the file, so that the source of the bytes need not be one that
//! threads may share; a file of one block starts none.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use std::io::Read;
use std::thread::Scope;

use super::blocks::{Blocks, Decoder, Frame, Payload, BLOCK};
use super::plain::{Given, Source};
use super::pool::Pool;
use crate::Result;

/// A frame to decode into a buffer, behind bytes of no meaning.
pub(super) struct Job {
    frame: Frame,
    block: Vec<u8>,
    front: usize,
}

/// The buffers, to be used again, and whether the block is decoded.
pub(super) type Made = (Job, Result<()>);

/// The blocks of a file, decoded by `threads` threads.
pub(super) struct Ahead<'scope, 'env, 'o, R> {
    blocks: Blocks<'o, R>,
    scope: &'scope Scope<'scope, 'env>,
    pool: &'env Pool<Job, Made>,
    threads: usize,
    started: bool,
    /// Frames read, and blocks given out.
    sent: u64,
    given: u64,
    /// Where the block given out last stands.
    offset: u64,
    ended: bool,
    spare: Vec<Job>,
    /// The error of reading a frame, which comes behind the blocks before it.
    failed: Option<crate::Error>,
}

impl<'scope, 'env, 'o, R: Read> Ahead<'scope, 'env, 'o, R> {
    pub(super) fn new(
        blocks: Blocks<'o, R>,
        scope: &'scope Scope<'scope, 'env>,
        pool: &'env Pool<Job, Made>,
        threads: usize,
    ) -> Self {
        let blocks_offset = blocks.offset();
        Self {
            blocks,
            scope,
            pool,
            threads,
            started: false,
            sent: 0,
            given: 0,
            offset: blocks_offset,
            ended: false,
            spare: Vec::new(),
            failed: None,
        }
    }

    /// Reads frames until as many are on their way as may be.
    fn send(&mut self, front: usize) {
        let most = self.threads.saturating_add(1) as u64;
        while !self.ended && self.sent.saturating_sub(self.given) < most {
            let mut job = self.spare.pop().unwrap_or_else(|| Job {
                frame: Frame::default(),
                block: Vec::new(),
                front,
            });
            job.front = front;
            match self.blocks.frame(&mut job.frame) {
                Ok(true) => {
                    self.pool.push(self.sent, job);
                    self.sent = self.sent.saturating_add(1);
                }
                Ok(false) => self.ended = true,
                Err(error) => {
                    self.failed = Some(error);
                    self.ended = true;
                }
            }
        }
        if self.started || self.sent == 0 {
            return;
        }
        self.started = true;
        let (pool, payload) = (self.pool, self.blocks.payload());
        if self.sent == 1 && self.ended {
            pool.close();
            serve(pool, payload);
            return;
        }
        let wanted = usize::try_from(self.sent).unwrap_or(usize::MAX);
        for _ in 0..self.threads.min(wanted) {
            self.scope.spawn(move || serve(pool, payload));
        }
    }
}

fn serve(pool: &Pool<Job, Made>, payload: Payload) {
    let mut decoder = Decoder::new(payload);
    pool.serve(|mut job| {
        let done = match &mut decoder {
            Ok(decoder) => decoder.decode(&job.frame, &mut job.block, job.front),
            // Tried again, for an error of its own.
            Err(_) => Decoder::new(payload)
                .and_then(|mut decoder| decoder.decode(&job.frame, &mut job.block, job.front)),
        };
        (job, done)
    });
}

impl<R> Drop for Ahead<'_, '_, '_, R> {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl<R: Read> Source for Ahead<'_, '_, '_, R> {
    fn next(&mut self, block: &mut Vec<u8>, front: usize) -> Result<Given> {
        self.blocks.check_cancelled()?;
        self.send(front);
        if self.given == self.sent {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.blocks.ended()?;
            return Ok(Given::End);
        }
        let (mut job, done) = self.pool.take(self.given);
        self.given = self.given.saturating_add(1);
        self.offset = job.frame.offset;
        done?;
        std::mem::swap(block, &mut job.block);
        let given = job.frame.given();
        self.spare.push(job);
        Ok(given)
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn at_most(&self) -> Option<u64> {
        let ahead = self.sent.saturating_sub(self.given);
        let ahead = ahead.saturating_mul(BLOCK as u64);
        Some(self.blocks.at_most()?.saturating_add(ahead))
    }
}
