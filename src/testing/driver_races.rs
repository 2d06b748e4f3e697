//! What several threads at once may see of a store.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Barrier;
use std::thread;

use crate::store::{CheckLevel, Expect, Key, SetOptions, Source, Store};
use crate::{ErrorKind, Result};

use super::driver::{codec, get, set, store, value, Open};
use super::{holds, same, Random};

/// Runs a function on so many threads at once; the first error of any.
fn together(threads: usize, each: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        let start = |number| {
            let (each, barrier) = (&each, &barrier);
            scope.spawn(move || {
                barrier.wait();
                each(number)
            })
        };
        let running: Vec<_> = (0..threads).map(start).collect();
        let ended = running.into_iter().map(|thread| {
            let stopped = |_| Err(super::broken("a thread panicked".to_owned()));
            thread.join().unwrap_or_else(stopped)
        });
        ended.collect()
    })
}

pub(super) fn threads(open: &Open<'_>) -> Result<()> {
    let store = store(open)?;
    together(8, |number| {
        for round in 0..20 {
            let own = format!("{number}-{round}");
            set(&store, Key::from(&*own), own.as_bytes())?;
            set(
                &store,
                Key::from("shared"),
                format!("{}", round % 3).as_bytes(),
            )?;
            same(
                "own value",
                &own.clone().into_bytes(),
                &get(&store, Key::from(&*own))?,
            )?;
            let shared = get(&store, Key::from("shared"))?;
            holds(
                "a value that was set",
                [&b"0"[..], b"1", b"2"].contains(&&shared[..]),
            )?;
        }
        Ok(())
    })?;
    same("keys", &161, &store.stat()?.keys)?;
    holds(
        "a full check is clean",
        store.check(CheckLevel::Full, &mut |_| true)?.is_clean(),
    )
}

pub(super) fn one_winner(open: &Open<'_>) -> Result<()> {
    let first = store(open)?;
    if !first.info().conditions {
        return Ok(());
    }
    for round in 0..5 {
        let name = format!("race {round}");
        let won = AtomicUsize::new(0);
        together(8, |number| {
            let own = if number % 2 == 0 {
                first.clone()
            } else {
                store(open)?
            };
            let text = value(&own, format!("by {number}").as_bytes());
            let absent = SetOptions {
                expect: Expect::Absent,
                ..SetOptions::default()
            };
            match own.set(
                Key::from(&*name),
                codec(&own),
                Source::Bytes(&[&text]),
                &absent,
            ) {
                Ok(_) => won.fetch_add(1, Ordering::Relaxed),
                Err(error) if error.kind() == ErrorKind::Conflict => 0,
                Err(error) => return Err(error),
            };
            Ok(())
        })?;
        same("winners", &1, &won.into_inner())?;
    }
    Ok(())
}

/// A reader gets one of the values that were written, whole, and never none.
pub(super) fn replaced(open: &Open<'_>) -> Result<()> {
    let writers = store(open)?;
    let values = [Random(1).bytes(100_000), b"small".to_vec(), vec![7; 70_000]];
    set(&writers, Key::from("k"), b"small")?;
    let ended = AtomicBool::new(false);
    let key = Key::from("k");
    let read = |store: &Store| -> Result<()> {
        while !ended.load(Ordering::Relaxed) {
            let got = get(store, key)?;
            holds("a value that was written", values.contains(&got))?;
        }
        Ok(())
    };
    together(4, |number| {
        let own = store(open)?;
        if number > 0 {
            return read(&own);
        }
        let written = (0..60).try_for_each(|round: usize| {
            let text = values.get(round % 3).map_or(&b"small"[..], |text| text);
            set(&own, key, text).map(drop)
        });
        ended.store(true, Ordering::Relaxed);
        written
    })
}
