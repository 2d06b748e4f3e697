//! One frame by libzstd's own threads: the same bytes for every number of them.
//!
//! libzstd cannot be told to leave off: a call waits for its jobs, and so does the end of a
//! context. At slow levels both happen on a thread of its own, which is left behind when the
//! caller does not want to wait any longer.

use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use zstd_safe::zstd_sys::ZSTD_EndDirective as Directive;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

use super::encode::{failed, new_context, set, PART_BYTES};
use crate::compress::chunked::Stop;
use crate::compress::container::StreamEncoder;
use crate::compress::options::default_threads;
use crate::compress::plan::Request;
use crate::{Error, ErrorKind, Result};

/// From this level on the jobs at work, of 4 MiB each, take long enough to be waited for.
const SLOW_LEVEL: i32 = 7;
/// How long the caller waits at most before it asks whether to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// The encoder of a request.
pub(super) fn stream(request: &Request) -> Result<Box<dyn StreamEncoder>> {
    let frame = Frame::new(request)?;
    if request.level >= SLOW_LEVEL {
        return Ok(Box::new(Apart {
            frame: Some(frame),
            thread: None,
            spare: Vec::new(),
        }));
    }
    Ok(Box::new(frame))
}

struct Frame {
    context: CCtx<'static>,
    place: Vec<u8>,
}

impl Frame {
    fn new(request: &Request) -> Result<Self> {
        let mut context = new_context()?;
        set(&mut context, CParameter::CompressionLevel(request.level))?;
        set(&mut context, CParameter::ContentSizeFlag(true))?;
        set(&mut context, CParameter::ChecksumFlag(request.checksum))?;
        let threads = request.threads.unwrap_or_else(default_threads).max(1);
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let job = u32::try_from(request.chunk_size).unwrap_or(u32::MAX);
        // Without a worker libzstd writes other bytes than with one or more.
        set(&mut context, CParameter::NbWorkers(threads))?;
        set(&mut context, CParameter::JobSize(job))?;
        context
            .set_pledged_src_size(request.content_size)
            .map_err(failed)?;
        Ok(Self {
            context,
            place: Vec::with_capacity(CCtx::out_size()),
        })
    }

    /// Calls the library until it has taken all of `plain` and, at an end, given all out.
    fn run(&mut self, plain: &[u8], stored: &mut Vec<u8>, how: Directive) -> Result<()> {
        let mut input = InBuffer::around(plain);
        loop {
            self.place.clear();
            let mut place = OutBuffer::around(&mut self.place);
            let stepped = self.context.compress_stream2(&mut place, &mut input, how);
            let left = stepped.map_err(failed)?;
            stored.extend_from_slice(&self.place);
            let taken = input.pos == plain.len();
            if taken && (left == 0 || how == Directive::ZSTD_e_continue) {
                return Ok(());
            }
        }
    }
}

impl StreamEncoder for Frame {
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        for part in plain.chunks(PART_BYTES) {
            stop.check()?;
            self.run(part, stored, Directive::ZSTD_e_continue)?;
        }
        Ok(())
    }

    fn flush(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        self.run(&[], stored, Directive::ZSTD_e_flush)
    }

    fn finish(&mut self, stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        self.run(&[], stored, Directive::ZSTD_e_end)
    }
}

/// Plain bytes and what is to be done with them.
type Call = (Vec<u8>, Directive);
/// The buffer of a call, and what came of it.
type Answer = (Vec<u8>, Result<Vec<u8>>);

/// A frame on a thread of its own, which drops it when no calls come any more.
struct Apart {
    /// The frame, until the first call.
    frame: Option<Frame>,
    thread: Option<Thread>,
    spare: Vec<u8>,
}

struct Thread {
    calls: Sender<Call>,
    answers: Receiver<Answer>,
    handle: JoinHandle<()>,
}

impl Thread {
    fn start(mut frame: Frame) -> Result<Self> {
        let (calls, called) = channel::<Call>();
        let (answer, answers) = channel::<Answer>();
        let work = move || {
            while let Ok((plain, how)) = called.recv() {
                let mut stored = Vec::new();
                let result = frame.run(&plain, &mut stored, how);
                if answer.send((plain, result.map(|()| stored))).is_err() {
                    return;
                }
            }
        };
        let handle = Builder::new().name("tare-zstd".to_string()).spawn(work);
        let handle = handle.map_err(|error| {
            let text = format!("cannot start a thread: {error}");
            Error::new(ErrorKind::Limit, text).with_source(error)
        })?;
        Ok(Self {
            calls,
            answers,
            handle,
        })
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Internal, "libzstd's thread is gone")
}

impl Apart {
    fn call(
        &mut self,
        plain: &[u8],
        how: Directive,
        stored: &mut Vec<u8>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        if let Some(frame) = self.frame.take() {
            self.thread = Some(Thread::start(frame)?);
        }
        let mut part = std::mem::take(&mut self.spare);
        part.clear();
        part.extend_from_slice(plain);
        let thread = self.thread.as_ref().ok_or_else(gone)?;
        thread.calls.send((part, how)).map_err(|_| gone())?;
        loop {
            match thread.answers.recv_timeout(PATIENCE) {
                Ok((part, result)) => {
                    self.spare = part;
                    stored.extend_from_slice(&result?);
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = stop.check() {
                        // The thread is left behind, to end when its call does.
                        self.thread = None;
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

impl StreamEncoder for Apart {
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        for part in plain.chunks(PART_BYTES) {
            stop.check()?;
            self.call(part, Directive::ZSTD_e_continue, stored, stop)?;
        }
        Ok(())
    }

    fn flush(&mut self, stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        self.call(&[], Directive::ZSTD_e_flush, stored, stop)
    }

    fn finish(&mut self, stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        self.call(&[], Directive::ZSTD_e_end, stored, stop)?;
        // All jobs are done, so that this does not wait.
        let Some(Thread { calls, handle, .. }) = self.thread.take() else {
            return Ok(());
        };
        drop(calls);
        handle.join().map_err(|_| gone())
    }
}
