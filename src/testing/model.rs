//! Random verbs over a store and over a dictionary, which must say the same.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::store::{CheckLevel, GcOptions, Key, Store};
use crate::{ErrorKind, Result};

use super::driver::{get, set, store, Open};
use super::{holds, refused, same, Random};

const SPACES: [&str; 2] = ["objects", "models"];
/// Of drivers whose batches are whole; a quarter as many of those that make a request for each key.
const STEPS: usize = 300;

type Model = BTreeMap<(&'static str, String), Vec<u8>>;

pub(super) fn run(open: &Open<'_>) -> Result<()> {
    for seed in [1, 2] {
        let mut random = Random(seed);
        let mut store = store(open)?;
        let mut model = Model::new();
        let slow = !store.info().atomic_batch && store.info().multi_host;
        for _ in 0..if slow { STEPS / 4 } else { STEPS } {
            step(&mut random, &store, &mut model)?;
            if random.below(60) == 0 {
                store = super::driver::store(open)?;
            }
        }
        agree(&store, &model)?;
        for space in SPACES {
            store.clear(space)?;
        }
    }
    Ok(())
}

fn step(random: &mut Random, store: &Store, model: &mut Model) -> Result<()> {
    let space = SPACES.get(random.below(2)).copied().unwrap_or("objects");
    let name = format!("k{}", random.below(12));
    let key = Key::new(space, &name);
    let place = (space, name.clone());
    match random.below(10) {
        0..=3 => {
            let size = [0, 5, 300, 70_000]
                .get(random.below(4))
                .copied()
                .unwrap_or(5);
            let text = vec![b'a' + u8::try_from(random.below(3)).unwrap_or_default(); size];
            set(store, key, &text)?;
            model.insert(place, text);
        }
        4 | 5 => match model.get(&place) {
            Some(text) => same("get", text, &get(store, key)?)?,
            None => refused("get", ErrorKind::KeyNotFound, store.get(key))?,
        },
        6 => same(
            "del",
            &vec![model.remove(&place).is_some()],
            &store.del(&[key])?,
        )?,
        7 => {
            let other = format!("k{}", random.below(12));
            let copied = store.duplicate(&[(key, Key::new(space, &other))]);
            match model.get(&place).cloned() {
                Some(text) => {
                    copied?;
                    model.insert((space, other), text);
                }
                None => refused("duplicate", ErrorKind::KeyNotFound, copied)?,
            }
        }
        8 => agree(store, model)?,
        _ => {
            let grace = Duration::from_secs(if random.below(2) == 0 { 0 } else { 3600 });
            store.gc(&GcOptions {
                grace,
                dry_run: false,
            })?;
        }
    }
    Ok(())
}

fn agree(store: &Store, model: &Model) -> Result<()> {
    for space in SPACES {
        let expected: Vec<String> = model
            .keys()
            .filter(|(name, _)| *name == space)
            .map(|(_, key)| key.clone())
            .collect();
        let listed: Result<Vec<String>> = store
            .keys(space, "")
            .map(|entry| entry.map(|entry| entry.key))
            .collect();
        same("listing", &expected, &listed?)?;
    }
    for ((space, name), text) in model {
        same("value", text, &get(store, Key::new(space, name))?)?;
    }
    holds(
        "a full check is clean",
        store.check(CheckLevel::Full, &mut |_| true)?.is_clean(),
    )
}
