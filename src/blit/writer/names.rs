//! The names of objects, as they come and as they are numbered.

use super::{misuse, Open, Writer};
use crate::blit::emit::Emitter;
use crate::blit::node::{Kind, Node};
use crate::blit::shapes::START;
use crate::Result;

/// A name that a writer has met, to be written again without being looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(u32);

impl Name {
    /// How many other names the writer met before it.
    #[must_use]
    #[inline]
    pub fn index(self) -> u32 {
        self.0
    }
}

/// A name behind those that are before it in an object: a number from 1 on, of each writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(u32);

impl Step {
    /// The number.
    #[must_use]
    #[inline]
    pub fn index(self) -> u32 {
        self.0
    }
}

impl Writer<'_> {
    /// The name of the value that comes next.
    ///
    /// # Errors
    /// `Usage` outside an object, or where a value is missing.
    pub fn key(&mut self, name: &str) -> Result<()> {
        self.name(name.as_bytes())
    }

    /// Takes the name that is likely to come next, as in the object before, if it `is` that one.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    #[inline]
    pub fn key_if(&mut self, is: impl FnOnce(Step) -> bool) -> Result<bool> {
        self.expect_name()?;
        let Some(open) = self.open.last_mut() else {
            return Ok(false);
        };
        let sequences = &mut self.emitter.sequences;
        match sequences.likely(open.step, open.outer) {
            Some((step, _)) if is(Step(step)) => {
                open.take(step, sequences);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// As [`key`](Self::key), and what it can be written with again.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    #[inline]
    pub fn intern(&mut self, name: &str) -> Result<(Name, Step)> {
        self.name(name.as_bytes())?;
        let step = self.open.last().map_or(START, |open| open.step);
        Ok((Name(self.emitter.sequences.name_at(step)), Step(step)))
    }

    /// As [`key`](Self::key), with a name that this writer gave.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    #[inline]
    pub fn key_again(&mut self, name: Name) -> Result<Step> {
        self.expect_name()?;
        if name.0 as usize >= self.emitter.names.met() {
            return Err(misuse("a name of another writer"));
        }
        let Some(open) = self.open.last_mut() else {
            return Ok(Step(START));
        };
        let sequences = &mut self.emitter.sequences;
        let step = sequences.step(open.step, name.0)?;
        open.take(step, sequences);
        Ok(Step(step))
    }

    /// As [`key`](Self::key), of text as [`wtf8`](Self::wtf8) has it.
    ///
    /// # Errors
    /// As both.
    pub fn key_wtf8(&mut self, name: &[u8]) -> Result<()> {
        self.check_wtf8(name)?;
        self.name(name)
    }

    #[inline]
    fn expect_name(&self) -> Result<()> {
        match self.open.last() {
            Some(open) if open.is_object => self.check_complete(*open),
            _ => Err(misuse("a name outside an object")),
        }
    }

    #[inline]
    fn name(&mut self, name: &[u8]) -> Result<()> {
        self.expect_name()?;
        self.named(name, None)
    }

    /// Takes a name where one belongs; `tag` is its tag where it is known.
    #[inline]
    pub(in crate::blit) fn named(&mut self, name: &[u8], tag: Option<u8>) -> Result<()> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        let Emitter {
            names, sequences, ..
        } = &mut *self.emitter;
        let likely = sequences.likely(open.step, open.outer);
        let step = match likely {
            Some((step, number)) if names.text(number) == name => step,
            _ => sequences.step(open.step, names.number(name, tag)?)?,
        };
        open.take(step, sequences);
        Ok(())
    }

    /// Takes the name that is likely to come next, if the text behind a quote is that one; gives
    /// its length.
    #[inline]
    pub(in crate::blit) fn likely_name(&mut self, rest: &[u8]) -> Option<usize> {
        let open = self.open.last_mut()?;
        let sequences = &mut self.emitter.sequences;
        let (step, number) = sequences.likely(open.step, open.outer)?;
        let length = self.emitter.names.is_next(number, rest)?;
        open.take(step, sequences);
        Some(length)
    }

    #[inline]
    pub(super) fn close_object(&mut self, open: Open) -> Result<Node> {
        let Emitter {
            names, sequences, ..
        } = &mut *self.emitter;
        let (sequence, places) = sequences.close(open.step, names, self.options.duplicates)?;
        let values = self.values.get(open.values..).unwrap_or_default();
        let node = if let Some(places) = places {
            let kept = places
                .iter()
                .filter_map(|&place| values.get(place as usize));
            let kept: Vec<Node> = kept.copied().collect();
            self.dropped.now = true;
            self.tape.close(Kind::Object, sequence, &kept)
        } else {
            self.tape.close(Kind::Object, sequence, values)
        };
        self.values.truncate(open.values);
        Ok(node)
    }

    /// Gives the names of what is on the tape their ids anew, if some of it was dropped.
    pub(super) fn settle_names(&mut self) {
        if std::mem::take(&mut self.dropped.now) || self.dropped.lost {
            let before = self.emitter.names.len();
            self.emitter.names.forget(self.first_name);
            let roots: Vec<Node> = self.values.iter().copied().chain(self.root).collect();
            for root in roots {
                self.assign(root);
            }
            // Ids are given to sequences that close for the first time: one whose names lost theirs
            // gets them here, whenever it comes again.
            self.dropped.lost |= self.emitter.names.len() < before;
        }
        self.first_name = self.emitter.names.len();
    }

    /// Ids in the order in which objects close.
    fn assign(&mut self, node: Node) {
        let n = match node.kind {
            Kind::Array => node.count as usize,
            Kind::Object => self.emitter.sequences.names(node.count).len(),
            _ => return,
        };
        for i in 0..n {
            if let Some(&child) = self.tape.children(node, n).get(i) {
                self.assign(child);
            }
        }
        if node.kind == Kind::Object {
            self.emitter
                .sequences
                .assign(node.count, &mut self.emitter.names);
        }
    }
}
