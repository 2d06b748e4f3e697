//! Key sequences while writing: each sequence of names once, found step by step as names come.
//!
//! Rows are alike, so each step remembers which one came after it the last time: the next name is
//! then compared with that one, and neither names nor sequences are looked up by their hash.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::keys::{Duplicates, Names, UNUSED};
use super::layout::{push_rv, push_uint, unsigned_width};
use super::lens;
use crate::{Error, ErrorKind, Result};

/// The step at which every object begins.
pub(super) const START: u32 = 0;

/// The names of an object so far, told apart from all others.
#[derive(Clone, Copy)]
struct Step {
    /// The last name, and the step before it.
    name: u32,
    before: u32,
    /// The step that came after this one last.
    next: u32,
    /// The first step of the last object that began here, as the value of this name.
    inner: u32,
    /// The sequence of objects that end here.
    sequence: u32,
    /// Steps after this one, more than one, are in `forks`.
    forked: bool,
}

impl Step {
    const fn after(name: u32, before: u32) -> Self {
        Self {
            name,
            before,
            next: UNUSED,
            inner: UNUSED,
            sequence: UNUSED,
            forked: false,
        }
    }
}

/// All sequences of names met, and the shape ids of those that were written.
pub(super) struct Sequences {
    hasher: DefaultHashBuilder,
    steps: Vec<Step>,
    /// Steps by what they follow and their name.
    forks: HashTable<u32>,
    items: Vec<u32>,
    ends: Vec<usize>,
    /// Of sequences with a name twice: the one without, and which values it keeps.
    folded: Vec<Option<Box<Folded>>>,
    has_folded: bool,
    shapes: Vec<u32>,
    /// The round in which the names of each sequence got their ids last.
    named: Vec<u32>,
    round: u32,
    /// The sequence of each shape id.
    order: Vec<u32>,
    /// Whether sequences may have a name twice.
    pub(super) may_repeat: bool,
    /// Whether a sequence that was written has a name twice.
    pub(super) keeps_duplicates: bool,
}

/// A sequence without its duplicates.
struct Folded {
    sequence: u32,
    /// For each name left, the place of its last value.
    places: Vec<u32>,
}

impl Default for Sequences {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            steps: vec![Step::after(UNUSED, UNUSED)],
            forks: HashTable::new(),
            items: Vec::new(),
            ends: Vec::new(),
            folded: Vec::new(),
            has_folded: false,
            shapes: Vec::new(),
            named: Vec::new(),
            round: 0,
            order: Vec::new(),
            may_repeat: false,
            keeps_duplicates: false,
        }
    }
}

impl Sequences {
    /// Forgets all sequences.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.steps.push(Step::after(UNUSED, UNUSED));
        self.forks.clear();
        self.items.clear();
        self.ends.clear();
        self.folded.clear();
        self.has_folded = false;
        self.shapes.clear();
        self.named.clear();
        self.round = 0;
        self.order.clear();
        self.may_repeat = false;
        self.keeps_duplicates = false;
    }

    /// Keeps the sequences for another document; false, and nothing is done, where what they are
    /// depends on how names that are there twice were treated.
    pub(super) fn renew(&mut self) -> bool {
        let round = self.round.checked_add(1).filter(|&round| round < UNUSED);
        let (Some(round), false) = (round, self.has_folded || self.may_repeat) else {
            return false;
        };
        self.round = round;
        self.unwrite(0);
        true
    }

    /// How many sequences were met.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The step that is likely to come next, and its name: after `from`, or, for the first name of
    /// an object, as in the last one that began at `outer`.
    #[inline]
    pub(super) fn likely(&self, from: u32, outer: u32) -> Option<(u32, u32)> {
        let step = self.steps.get(from as usize)?;
        let next = if from == START {
            let inner = self.steps.get(outer as usize)?.inner;
            if inner == UNUSED {
                step.next
            } else {
                inner
            }
        } else {
            step.next
        };
        Some((next, self.steps.get(next as usize)?.name))
    }

    /// Notes which step an object at `outer` began with.
    #[inline]
    pub(super) fn began(&mut self, outer: u32, step: u32) {
        if let Some(outer) = self.steps.get_mut(outer as usize) {
            outer.inner = step;
        }
    }

    /// The step from `from` by a name.
    ///
    /// # Errors
    /// `Limit` beyond 2^32 - 2 steps.
    #[inline]
    pub(super) fn step(&mut self, from: u32, name: u32) -> Result<u32> {
        let Some(step) = self.steps.get(from as usize) else {
            return Ok(START);
        };
        match self.steps.get(step.next as usize) {
            Some(next) if next.name == name => Ok(step.next),
            None => self.first_step(from, name),
            Some(_) => self.other_step(from, name),
        }
    }

    fn first_step(&mut self, from: u32, name: u32) -> Result<u32> {
        let number = u32::try_from(self.steps.len()).ok();
        let number = number.filter(|&number| number < UNUSED).ok_or_else(|| {
            let text = "more than 2^32 - 2 names in sequences";
            Error::new(ErrorKind::Limit, text).with_format("blit")
        })?;
        self.steps.push(Step::after(name, from));
        if let Some(step) = self.steps.get_mut(from as usize) {
            step.next = number;
        }
        Ok(number)
    }

    fn other_step(&mut self, from: u32, name: u32) -> Result<u32> {
        let step = self.steps.get(from as usize).copied();
        let step = step.unwrap_or(Step::after(UNUSED, UNUSED));
        let hash = self.hasher.hash_one((from, name));
        if step.forked {
            let steps = &self.steps;
            let same = |&number: &u32| {
                let step = steps.get(number as usize);
                step.is_some_and(|step| step.before == from && step.name == name)
            };
            if let Some(&found) = self.forks.find(hash, same) {
                if let Some(step) = self.steps.get_mut(from as usize) {
                    step.next = found;
                }
                return Ok(found);
            }
        } else {
            self.fork(step.next);
        }
        let number = self.first_step(from, name)?;
        self.fork(number);
        if let Some(step) = self.steps.get_mut(from as usize) {
            step.forked = true;
        }
        Ok(number)
    }

    fn fork(&mut self, number: u32) {
        let (steps, hasher) = (&self.steps, &self.hasher);
        let hash = |&number: &u32| {
            let step = steps.get(number as usize);
            hasher.hash_one(step.map_or((UNUSED, UNUSED), |step| (step.before, step.name)))
        };
        self.forks.insert_unique(hash(&number), number, hash);
    }

    /// The name that leads to a step.
    #[inline]
    pub(super) fn name_at(&self, step: u32) -> u32 {
        self.steps
            .get(step as usize)
            .map_or(UNUSED, |step| step.name)
    }

    /// The sequence of an object that ends at a step, and the values it keeps if not all.
    ///
    /// # Errors
    /// `Malformed` for names that are there twice, where that is refused.
    #[inline]
    pub(super) fn close(
        &mut self,
        step: u32,
        names: &mut Names,
        duplicates: Duplicates,
    ) -> Result<(u32, Option<&[u32]>)> {
        let found = self.steps.get(step as usize).map(|step| step.sequence);
        let number = match found {
            Some(number) if number != UNUSED => {
                self.name(number, names);
                number
            }
            _ => self.first(step, names, duplicates)?,
        };
        if self.has_folded {
            if let Some(folded) = self.folded.get(number as usize).and_then(Option::as_ref) {
                return Ok((folded.sequence, Some(&folded.places)));
            }
        }
        Ok((number, None))
    }

    /// Gives ids to the names of a sequence that was met for an earlier document.
    #[inline]
    fn name(&mut self, number: u32, names: &mut Names) {
        let round = self.round;
        if let Some(named) = self.named.get_mut(number as usize) {
            if *named != round {
                *named = round;
                self.assign(number, names);
            }
        }
    }

    /// A sequence met for the first time.
    fn first(&mut self, step: u32, names: &mut Names, duplicates: Duplicates) -> Result<u32> {
        let numbers = self.path(step);
        self.may_repeat |= duplicates == Duplicates::Keep;
        let places = match duplicates {
            Duplicates::Keep => None,
            _ => last_places(&numbers),
        };
        let Some(places) = places else {
            names.assign(&numbers);
            return Ok(self.add(step, &numbers, None));
        };
        if duplicates == Duplicates::Error {
            let twice = places.iter().zip(&numbers).enumerate();
            let twice = twice.filter(|&(i, (&place, _))| place as usize != i);
            let name = twice
                .map(|(_, (_, &number))| number)
                .next()
                .unwrap_or_default();
            let text = format!(
                "the name {:?} is there twice",
                String::from_utf8_lossy(names.text(name))
            );
            return Err(Error::new(ErrorKind::Malformed, text).with_format("blit"));
        }
        let kept: Vec<u32> = places
            .iter()
            .filter_map(|&place| numbers.get(place as usize).copied())
            .collect();
        names.assign(&kept);
        let sequence = self.number(&kept)?;
        self.has_folded = true;
        Ok(self.add(step, &numbers, Some(Box::new(Folded { sequence, places }))))
    }

    /// The names on the way to a step.
    fn path(&self, step: u32) -> Vec<u32> {
        let mut names = Vec::new();
        let mut at = step;
        while at != START {
            let Some(step) = self.steps.get(at as usize) else {
                break;
            };
            names.push(step.name);
            at = step.before;
        }
        names.reverse();
        names
    }

    /// Gives key ids to a sequence that is written.
    pub(super) fn assign(&self, sequence: u32, names: &mut Names) {
        names.assign(self.names(sequence));
    }

    /// The number of a sequence that columns have.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub(super) fn number(&mut self, numbers: &[u32]) -> Result<u32> {
        let mut at = START;
        for &number in numbers {
            at = self.step(at, number)?;
        }
        match self.steps.get(at as usize) {
            Some(step) if step.sequence != UNUSED => Ok(step.sequence),
            _ => Ok(self.add(at, numbers, None)),
        }
    }

    fn add(&mut self, step: u32, numbers: &[u32], folded: Option<Box<Folded>>) -> u32 {
        let number = u32::try_from(self.ends.len()).unwrap_or(UNUSED);
        self.items.extend_from_slice(numbers);
        self.ends.push(self.items.len());
        self.folded.push(folded);
        self.shapes.push(UNUSED);
        self.named.push(self.round);
        if let Some(step) = self.steps.get_mut(step as usize) {
            step.sequence = number;
        }
        number
    }

    /// The names of a sequence.
    #[inline]
    pub(super) fn names(&self, number: u32) -> &[u32] {
        let at = number as usize;
        let from = at
            .checked_sub(1)
            .and_then(|before| self.ends.get(before).copied())
            .unwrap_or(0);
        self.ends
            .get(at)
            .and_then(|&end| self.items.get(from..end))
            .unwrap_or_default()
    }

    /// The shape id of a sequence that is being written.
    pub(super) fn shape(&mut self, number: u32) -> u32 {
        let next = u32::try_from(self.order.len()).unwrap_or(UNUSED);
        match self.shapes.get_mut(number as usize) {
            Some(id @ &mut UNUSED) => {
                *id = next;
                self.order.push(number);
                let repeats = self.may_repeat && last_places(self.names(number)).is_some();
                self.keeps_duplicates |= repeats;
                next
            }
            Some(id) => *id,
            None => UNUSED,
        }
    }

    /// Bytes that all sequences take.
    pub(super) fn memory(&self) -> usize {
        let steps = self.steps.capacity().saturating_mul(size_of::<Step>());
        let ends = self.ends.capacity().saturating_mul(size_of::<usize>());
        let numbers = [&self.items, &self.shapes, &self.named, &self.order].map(Vec::capacity);
        let numbers = numbers.iter().sum::<usize>();
        let numbers = numbers.saturating_add(self.forks.capacity());
        steps
            .saturating_add(ends)
            .saturating_add(numbers.saturating_mul(size_of::<u32>()))
    }

    /// Bytes of all sequences, about as they would be written.
    pub(super) fn bytes(&self) -> usize {
        self.items
            .len()
            .saturating_add(self.ends.len())
            .saturating_mul(2)
    }

    /// Takes shape ids back from `first` on: what has them is written again.
    pub(super) fn unwrite(&mut self, first: usize) {
        for number in self.order.drain(first.min(self.order.len())..) {
            if let Some(id) = self.shapes.get_mut(number as usize) {
                *id = UNUSED;
            }
        }
    }

    /// The sequence of each shape id.
    pub(super) fn ids(&self) -> &[u32] {
        &self.order
    }

    /// Meets a sequence as an object has it that closes.
    ///
    /// # Errors
    /// As [`step`](Self::step) and [`close`](Self::close).
    pub(super) fn meet(
        &mut self,
        numbers: &[u32],
        names: &mut Names,
        duplicates: Duplicates,
    ) -> Result<()> {
        let mut at = START;
        for &number in numbers {
            at = self.step(at, number)?;
        }
        self.close(at, names, duplicates).map(drop)
    }

    /// How many shapes were written.
    pub(super) fn shapes(&self) -> usize {
        self.order.len()
    }

    /// Appends the section SHAPES.
    pub(super) fn write(&self, names: &Names, out: &mut Vec<u8>) {
        if self.order.is_empty() {
            return;
        }
        let width = unsigned_width(names.len().saturating_sub(1) as u64);
        let mut lengths = Vec::with_capacity(self.order.len());
        for &number in &self.order {
            let before = out.len();
            write_shape(
                self.names(number).iter().map(|&name| names.id(name)),
                width,
                out,
            );
            lengths.push(out.len().saturating_sub(before));
        }
        let mode = lens::write(out, &lengths);
        #[allow(clippy::cast_possible_truncation, reason = "1 to 4")]
        out.push(width.saturating_sub(1) as u8 | mode << 4);
    }
}

fn write_shape(ids: impl Iterator<Item = u32> + Clone, width: usize, out: &mut Vec<u8>) {
    let (mut n, mut start, mut run) = (0_u32, 0, true);
    for id in ids.clone() {
        if n == 0 {
            start = id;
        }
        run &= id == start.wrapping_add(n);
        n = n.saturating_add(1);
    }
    if run && n >= 2 {
        push_rv(out, u64::from(start));
        push_rv(out, u64::from(n));
        out.push(1);
        return;
    }
    for id in ids {
        push_uint(out, u64::from(id), width);
    }
    out.push(0);
}

/// Where each name's last value is, in the order of first ones; None if no name is there twice.
fn last_places(numbers: &[u32]) -> Option<Vec<u32>> {
    const FEW: usize = 16;
    if numbers.len() <= FEW {
        let twice = |(i, number): (usize, &u32)| {
            numbers
                .iter()
                .skip(i.saturating_add(1))
                .any(|n| n == number)
        };
        if !numbers.iter().enumerate().any(twice) {
            return None;
        }
    } else {
        // Names that are all new come so.
        if numbers.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        if !sorted.windows(2).any(|pair| pair.first() == pair.last()) {
            return None;
        }
    }
    let mut firsts: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
    let mut places: Vec<u32> = Vec::with_capacity(numbers.len());
    for (place, &number) in (0_u32..).zip(numbers) {
        let last = firsts.get(&number).and_then(|&at| places.get_mut(at));
        if let Some(last) = last {
            *last = place;
        } else {
            firsts.insert(number, places.len());
            places.push(place);
        }
    }
    Some(places)
}

#[cfg(test)]
mod tests;
