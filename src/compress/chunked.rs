//! Chunks worked on in parallel and handed back in order, in a fixed number of buffers.
//!
//! The calling thread fills cells, submits them and takes them back by number; workers only
//! compute. No cell free is the back-pressure. What comes out never depends on the number of
//! threads or on their timing.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::options::{cancelled, check_cancel, default_threads, CancelToken};
use crate::{Error, ErrorKind, Result};

/// How long the caller waits at most before it asks its cancel token again.
const PATIENCE: Duration = Duration::from_millis(50);

/// What is done with a cell; shared by all workers.
pub(crate) trait Work: Send + Sync + 'static {
    /// What a worker keeps from cell to cell: a library's context.
    type Context: Send;
    /// What goes with a cell beside its bytes.
    type Note: Default + Send + 'static;

    /// What its threads are called.
    const NAME: &'static str = "tare-compress";

    /// Makes a worker's context, on that worker.
    fn context(&self) -> Result<Self::Context>;

    /// Fills `cell.output` (empty before) from `cell.input`.
    fn run(
        &self,
        context: &mut Self::Context,
        cell: &mut Cell<Self::Note>,
        stop: &Stop<'_>,
    ) -> Result<()>;
}

/// One unit of work: what goes in, what comes out, and a note.
#[derive(Debug, Default)]
pub(crate) struct Cell<N> {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) note: N,
}

/// Whether long work on one cell should end.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    dropped: &'a AtomicBool,
    /// Asked with its probe where the work is done on the calling thread.
    cancel: Option<&'a CancelToken>,
}

impl<'a> Stop<'a> {
    /// For work on the calling thread, outside a ring.
    pub(crate) fn of(cancel: Option<&'a CancelToken>) -> Self {
        static KEPT: AtomicBool = AtomicBool::new(false);
        Self {
            dropped: &KEPT,
            cancel,
        }
    }

    /// # Errors
    /// `Cancelled` if nobody waits for the cell any more.
    pub(crate) fn check(&self) -> Result<()> {
        if self.dropped.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        check_cancel(self.cancel)
    }
}

type Outcome<N> = (Cell<N>, Result<()>);

/// What the calling thread and the workers share.
struct Shared<N> {
    state: Mutex<State<N>>,
    /// A cell was queued, or all is over.
    queued: Condvar,
    /// A cell was finished.
    finished: Condvar,
    dropped: AtomicBool,
}

struct State<N> {
    queue: VecDeque<(u64, Cell<N>)>,
    /// Outcomes from number `first` on; None while a worker is at it.
    outcomes: VecDeque<Option<Outcome<N>>>,
    first: u64,
    idle: usize,
}

impl<N> Shared<N> {
    /// Locks are held for queue operations only, so that a panic cannot leave them half done.
    fn lock(&self) -> MutexGuard<'_, State<N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, number: u64, outcome: Outcome<N>) {
        let mut state = self.lock();
        let at = usize::try_from(number.saturating_sub(state.first)).unwrap_or(usize::MAX);
        if let Some(place) = state.outcomes.get_mut(at) {
            *place = Some(outcome);
        }
        drop(state);
        self.finished.notify_one();
    }
}

/// How many work, and in how many buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    /// Workers; None for the default, which is asked for with the second cell only: what the
    /// system allows is read from files, and that takes longer than a small object.
    pub(crate) threads: Option<usize>,
    /// Buffers beyond one for each worker, or all of them where that was limited.
    pub(crate) buffers: Buffers,
}

/// How many cells may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffers {
    /// So many more than workers.
    Spare(usize),
    /// So many.
    Most(usize),
}

impl Crew {
    /// Two buffers more than workers keep these busy.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        Self {
            threads,
            buffers: Buffers::Spare(2),
        }
    }

    pub(crate) fn slots(self, threads: usize) -> usize {
        match self.buffers {
            Buffers::Spare(spare) => threads.saturating_add(spare),
            Buffers::Most(slots) => slots,
        }
    }
}

/// Cells in work, at most `slots` of them, done by at most `threads` workers.
pub(crate) struct Ring<W: Work> {
    work: Arc<W>,
    shared: Arc<Shared<W::Note>>,
    workers: Vec<JoinHandle<()>>,
    crew: Crew,
    /// Workers and cells there may be; None until a second cell is asked for.
    size: Option<(usize, usize)>,
    free: Vec<Cell<W::Note>>,
    /// Cells that exist: free, in work, or with the caller.
    made: usize,
    /// The first cell, until a second one makes threads worth starting.
    lone: Option<Cell<W::Note>>,
    /// The context of work done on the calling thread.
    context: Option<W::Context>,
    /// Whether any worker was ever needed.
    parallel: bool,
    cancel: Option<CancelToken>,
    process: u32,
}

impl<W: Work> Ring<W> {
    /// A ring without threads yet: they start with the second cell, and as they are needed.
    pub(crate) fn new(work: W, crew: Crew, cancel: Option<CancelToken>) -> Self {
        Self {
            work: Arc::new(work),
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    queue: VecDeque::new(),
                    outcomes: VecDeque::new(),
                    first: 0,
                    idle: 0,
                }),
                queued: Condvar::new(),
                finished: Condvar::new(),
                dropped: AtomicBool::new(false),
            }),
            workers: Vec::new(),
            crew,
            size: None,
            free: Vec::new(),
            made: 0,
            lone: None,
            context: None,
            parallel: false,
            cancel,
            process: std::process::id(),
        }
    }

    /// A cell to fill, empty; None while all are in work: take one first.
    pub(crate) fn cell(&mut self) -> Option<Cell<W::Note>> {
        if let Some(cell) = self.free.pop() {
            return Some(cell);
        }
        let more = self.made == 0 || self.made < self.size().1;
        self.made = self.made.saturating_add(usize::from(more));
        more.then(Cell::default)
    }

    /// How many workers and cells there may be.
    fn size(&mut self) -> (usize, usize) {
        let crew = self.crew;
        *self.size.get_or_insert_with(|| {
            let threads = crew.threads.unwrap_or_else(default_threads).max(1);
            (threads, crew.slots(threads).max(1))
        })
    }

    /// Gives a cell back for reuse.
    pub(crate) fn recycle(&mut self, mut cell: Cell<W::Note>) {
        cell.input.clear();
        cell.output.clear();
        cell.note = W::Note::default();
        self.free.push(cell);
    }

    /// Hands a cell over; it is the next in order.
    ///
    /// # Errors
    /// `Cancelled`; `Limit` if no thread can be started; `Usage` in a forked child.
    pub(crate) fn submit(&mut self, cell: Cell<W::Note>) -> Result<()> {
        self.check()?;
        if self.parallel {
            return self.queue(cell);
        }
        if self.crew.threads == Some(1) {
            self.run_here(cell);
            return Ok(());
        }
        let Some(first) = self.lone.take() else {
            self.lone = Some(cell);
            return Ok(());
        };
        if self.size().0 == 1 {
            self.crew.threads = Some(1);
            self.run_here(first);
            self.run_here(cell);
            return Ok(());
        }
        self.parallel = true;
        self.queue(first)?;
        self.queue(cell)
    }

    /// The next cell in order if it is done, without waiting.
    pub(crate) fn try_take(&mut self) -> Option<Outcome<W::Note>> {
        Self::pop(&mut self.shared.lock())
    }

    /// The next cell in order; None if none is in work. Waits.
    ///
    /// # Errors
    /// `Cancelled`; `Usage` in a forked child.
    pub(crate) fn take(&mut self) -> Result<Option<Outcome<W::Note>>> {
        self.check()?;
        if let Some(cell) = self.lone.take() {
            self.run_here(cell);
        }
        let mut state = self.shared.lock();
        loop {
            if state.outcomes.is_empty() {
                return Ok(None);
            }
            if let Some(outcome) = Self::pop(&mut state) {
                return Ok(Some(outcome));
            }
            if self.cancel.is_none() {
                let wait = self.shared.finished.wait(state);
                state = wait.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let wait = self.shared.finished.wait_timeout(state, PATIENCE);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            // A probe may take its time, or need a lock that a worker's caller holds.
            drop(state);
            check_cancel(self.cancel.as_ref())?;
            state = self.shared.lock();
        }
    }

    /// Cells that were submitted and not taken.
    pub(crate) fn in_work(&self) -> usize {
        let waiting = usize::from(self.lone.is_some());
        self.shared.lock().outcomes.len().saturating_add(waiting)
    }

    /// Bytes that the buffers of all cells take; `held` are those of cells that the caller has.
    pub(crate) fn buffer_bytes(&self, held: &[&Cell<W::Note>]) -> usize {
        let state = self.shared.lock();
        let queued = state.queue.iter().map(|(_, cell)| cell);
        let finished = state.outcomes.iter().flatten().map(|(cell, _)| cell);
        let known = self
            .free
            .iter()
            .chain(&self.lone)
            .chain(held.iter().copied());
        let (mut count, mut total, mut largest) = (0_usize, 0_usize, 0_usize);
        for cell in known.chain(queued).chain(finished) {
            let size = cell.input.capacity().saturating_add(cell.output.capacity());
            count = count.saturating_add(1);
            total = total.saturating_add(size);
            largest = largest.max(size);
        }
        // Those that workers are at cannot be looked at: each is as large as the largest other.
        let busy = self.made.saturating_sub(count);
        total.saturating_add(busy.saturating_mul(largest))
    }

    /// Cells that ever existed: what the buffers are counted by.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    fn check(&self) -> Result<()> {
        if std::process::id() != self.process {
            let text = "opened before a fork and used in the child: open it in the child";
            return Err(Error::new(ErrorKind::Usage, text));
        }
        check_cancel(self.cancel.as_ref())
    }

    fn pop(state: &mut State<W::Note>) -> Option<Outcome<W::Note>> {
        if !matches!(state.outcomes.front(), Some(Some(_))) {
            return None;
        }
        state.first = state.first.saturating_add(1);
        state.outcomes.pop_front().flatten()
    }

    fn run_here(&mut self, mut cell: Cell<W::Note>) {
        let stop = Stop {
            dropped: &self.shared.dropped,
            cancel: self.cancel.as_ref(),
        };
        let result = run(&*self.work, &mut self.context, &mut cell, &stop);
        self.shared.lock().outcomes.push_back(Some((cell, result)));
    }

    fn queue(&mut self, cell: Cell<W::Note>) -> Result<()> {
        let mut state = self.shared.lock();
        let number = state.first.saturating_add(state.outcomes.len() as u64);
        state.outcomes.push_back(None);
        state.queue.push_back((number, cell));
        let waiting = state.queue.len() > state.idle;
        drop(state);
        self.shared.queued.notify_one();
        let (threads, slots) = self.size();
        if !waiting || self.workers.len() >= threads {
            return Ok(());
        }
        match self.start() {
            Ok(worker) => self.workers.push(worker),
            // With one worker all work gets done; with none it never would.
            Err(_) if !self.workers.is_empty() => self.size = Some((self.workers.len(), slots)),
            Err(error) => {
                let text = format!("no thread can be started: {error}; ask for 1 thread");
                return Err(Error::new(ErrorKind::Limit, text).with_source(error));
            }
        }
        Ok(())
    }

    fn start(&self) -> std::io::Result<JoinHandle<()>> {
        let (work, shared) = (Arc::clone(&self.work), Arc::clone(&self.shared));
        Builder::new()
            .name(W::NAME.to_string())
            .spawn(move || serve(&*work, &shared))
    }
}

impl<W: Work> Drop for Ring<W> {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // The threads are the parent's, and its lock may have been held at the fork.
            for worker in self.workers.drain(..) {
                std::mem::forget(worker);
            }
            return;
        }
        self.shared.dropped.store(true, Ordering::Relaxed);
        self.shared.lock().queue.clear();
        self.shared.queued.notify_all();
        for worker in self.workers.drain(..) {
            // A worker catches what its work does; whatever else happened, it is over.
            let _ = worker.join();
        }
    }
}

/// A worker's life: cells from the queue, until the ring is dropped.
fn serve<W: Work>(work: &W, shared: &Shared<W::Note>) {
    let mut context = None;
    let stop = Stop {
        dropped: &shared.dropped,
        cancel: None,
    };
    while let Some((number, mut cell)) = next(shared) {
        let result = run(work, &mut context, &mut cell, &stop);
        shared.finish(number, (cell, result));
    }
}

fn next<N>(shared: &Shared<N>) -> Option<(u64, Cell<N>)> {
    let mut state = shared.lock();
    state.idle = state.idle.saturating_add(1);
    let found = loop {
        if shared.dropped.load(Ordering::Relaxed) {
            break None;
        }
        if let Some(found) = state.queue.pop_front() {
            break Some(found);
        }
        let wait = shared.queued.wait(state);
        state = wait.unwrap_or_else(PoisonError::into_inner);
    };
    state.idle = state.idle.saturating_sub(1);
    found
}

/// Works on one cell; a panic becomes an error, and its context is made anew.
fn run<W: Work>(
    work: &W,
    context: &mut Option<W::Context>,
    cell: &mut Cell<W::Note>,
    stop: &Stop<'_>,
) -> Result<()> {
    let mut kept = context.take();
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        stop.check()?;
        let context = match &mut kept {
            Some(context) => context,
            None => kept.insert(work.context()?),
        };
        work.run(context, cell, stop)
    }));
    match attempt {
        Ok(result) => {
            *context = kept;
            result
        }
        Err(panic) => {
            // What the panic left of the context is not to be trusted, not even to be dropped.
            std::mem::forget(kept);
            let text = format!("a worker panicked: {}", words(&*panic));
            Err(Error::new(ErrorKind::Internal, text))
        }
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests;
