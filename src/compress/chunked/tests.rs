use super::*;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

/// Doubles a cell's first byte; fails, panics or dawdles where told.
#[derive(Default)]
struct Doubling {
    fails_at: Option<u8>,
    panics_at: Option<u8>,
    context_fails: bool,
    dawdles: bool,
    contexts: AtomicUsize,
}

impl Work for Doubling {
    type Context = ();
    type Note = u8;

    fn context(&self) -> Result<()> {
        self.contexts.fetch_add(1, Ordering::Relaxed);
        if self.context_fails {
            Err(Error::new(ErrorKind::Limit, "no context"))
        } else {
            Ok(())
        }
    }

    fn run(&self, (): &mut (), cell: &mut Cell<u8>, stop: &Stop<'_>) -> Result<()> {
        let first = cell.input[0];
        loop {
            if !self.dawdles {
                break;
            }
            stop.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        // The even ones take longer, so that they finish out of order.
        std::thread::sleep(Duration::from_micros(u64::from(first % 2) * 300));
        assert!(self.panics_at != Some(first), "told to panic at {first}");
        if self.fails_at == Some(first) {
            return Err(Error::new(ErrorKind::Malformed, "told to fail"));
        }
        cell.output.push(first.wrapping_mul(2));
        Ok(())
    }
}

/// Sends `count` cells through; what came out up to the first error, and that error.
fn through(work: Doubling, threads: usize, count: u8) -> (Vec<u8>, Option<Error>) {
    let mut ring = Ring::new(work, Crew::new(Some(threads)), None);
    let mut out = Vec::new();
    let mut taken = |outcome: Option<Outcome<u8>>, ring: &mut Ring<Doubling>| {
        let (cell, result) = outcome.unwrap();
        out.extend(&cell.output);
        ring.recycle(cell);
        result
    };
    for number in 0..count {
        let mut cell = loop {
            if let Some(cell) = ring.cell() {
                break cell;
            }
            let outcome = ring.take().unwrap();
            if let Err(error) = taken(outcome, &mut ring) {
                return (out, Some(error));
            }
        };
        assert!(cell.input.is_empty() && cell.output.is_empty());
        cell.input.push(number);
        ring.submit(cell).unwrap();
    }
    while ring.in_work() > 0 {
        let outcome = ring.take().unwrap();
        if let Err(error) = taken(outcome, &mut ring) {
            return (out, Some(error));
        }
    }
    assert!(ring.take().unwrap().is_none());
    (out, None)
}

#[test]
fn cells_come_back_in_order_from_any_number_of_threads() {
    for threads in 1..=8 {
        for count in [0, 1, 2, 3, 40] {
            let (out, error) = through(Doubling::default(), threads, count);
            let expected: Vec<u8> = (0..count).map(|n| n * 2).collect();
            assert_eq!(
                (expected, true),
                (out, error.is_none()),
                "{threads} {count}"
            );
        }
    }
}

#[test]
fn all_before_a_failure_comes_out_and_then_the_failure() {
    for threads in [1, 2, 5] {
        for at in 0..12 {
            let work = Doubling {
                fails_at: Some(at),
                ..Doubling::default()
            };
            let (out, error) = through(work, threads, 12);
            let expected: Vec<u8> = (0..at).map(|n| n * 2).collect();
            assert_eq!(
                (expected, ErrorKind::Malformed),
                (out, error.unwrap().kind())
            );
        }
    }
}

#[test]
fn a_panic_at_any_cell_is_an_error_and_nobody_hangs() {
    for threads in [1, 2, 3] {
        for at in 0..8 {
            let work = Doubling {
                panics_at: Some(at),
                ..Doubling::default()
            };
            let start = Instant::now();
            let (out, error) = through(work, threads, 8);
            let error = error.unwrap();
            assert_eq!(usize::from(at), out.len());
            assert_eq!(ErrorKind::Internal, error.kind());
            assert!(
                error
                    .to_string()
                    .contains(&format!("told to panic at {at}")),
                "{error}"
            );
            assert!(start.elapsed() < Duration::from_secs(5));
        }
    }
}

#[test]
fn a_context_that_cannot_be_made_is_the_answer() {
    for threads in [1, 2] {
        let work = Doubling {
            context_fails: true,
            ..Doubling::default()
        };
        let (out, error) = through(work, threads, 5);
        assert_eq!((0, ErrorKind::Limit), (out.len(), error.unwrap().kind()));
    }
}

#[test]
fn no_thread_starts_for_one_cell() {
    let mut ring = Ring::new(Doubling::default(), Crew::new(None), None);
    let mut cell = ring.cell().unwrap();
    cell.input.push(3);
    ring.submit(cell).unwrap();
    assert_eq!(1, ring.in_work());
    let (cell, result) = ring.take().unwrap().unwrap();
    result.unwrap();
    assert_eq!((vec![6], 0), (cell.output, ring.workers.len()));
    assert!(ring.size.is_none(), "the system was asked for threads");
}

#[test]
fn dropped_or_cancelled_amid_work_it_ends_at_once() {
    for cancelled in [false, true] {
        let token = CancelToken::new();
        let work = Doubling {
            dawdles: true,
            ..Doubling::default()
        };
        let mut ring = Ring::new(work, Crew::new(Some(2)), Some(token.clone()));
        for number in 0..3 {
            let mut cell = ring.cell().unwrap();
            cell.input.push(number);
            ring.submit(cell).unwrap();
        }
        let start = Instant::now();
        if cancelled {
            token.cancel();
            assert_eq!(ErrorKind::Cancelled, ring.take().unwrap_err().kind());
        }
        drop(ring);
        assert!(start.elapsed() < Duration::from_secs(2));
    }
}

#[test]
fn in_a_forked_child_it_is_refused_and_dropped_without_waiting() {
    for threads in [1, 2] {
        let work = Doubling {
            dawdles: true,
            ..Doubling::default()
        };
        let mut ring = Ring::new(work, Crew::new(Some(threads)), None);
        ring.process = ring.process.wrapping_add(1);
        let mut cell = ring.cell().unwrap();
        cell.input.push(1);
        assert_eq!(ErrorKind::Usage, ring.submit(cell).unwrap_err().kind());
        assert_eq!(ErrorKind::Usage, ring.take().unwrap_err().kind());
        // As if another thread had held the lock at the fork.
        let shared = Arc::clone(&ring.shared);
        let held = shared.lock();
        drop(ring);
        drop(held);
    }
}

#[test]
fn a_probe_is_asked_while_waiting() {
    let work = Doubling {
        dawdles: true,
        ..Doubling::default()
    };
    let mut ring = Ring::new(
        work,
        Crew::new(Some(2)),
        Some(CancelToken::with_probe(|| true)),
    );
    let mut cell = ring.cell().unwrap();
    cell.input.push(1);
    assert_eq!(ErrorKind::Cancelled, ring.submit(cell).unwrap_err().kind());
}
