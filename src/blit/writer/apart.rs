//! A chunk that is made apart from those before it, and taken over in its turn.
//!
//! What a chunk is depends on the chunks before it by nothing but the ids of shapes. So one that is
//! made elsewhere guesses the ids of shapes that are new to it, and says where they lie; who takes
//! it over puts the right ones in their place.

use super::chunk::Dictionary;
use super::Writer;
use crate::blit::emit::Emitter;
use crate::blit::layout::push_rv;
use crate::Result;

/// Lists of numbers, side by side.
#[derive(Default)]
struct Lists {
    items: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    fn get(&self, i: usize) -> &[u32] {
        between(&self.items, &self.ends, i)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Names, side by side.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &[u8]) -> u32 {
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        number
    }

    fn get(&self, i: usize) -> &[u8] {
        between(&self.bytes, &self.ends, i)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }
}

fn between<'a, T>(all: &'a [T], ends: &[usize], i: usize) -> &'a [T] {
    let before = i.checked_sub(1).and_then(|before| ends.get(before));
    let from = before.copied().unwrap_or(0);
    let end = ends.get(i).copied().unwrap_or(from);
    all.get(from..end).unwrap_or_default()
}

/// The names and shapes of a commit so far, by their ids.
#[derive(Default)]
pub(in crate::blit) struct Known {
    /// How many commits there were before.
    commit: u64,
    keys: Texts,
    /// The keys of each shape.
    shapes: Lists,
}

impl Known {
    /// Takes up what the chunks of a writer have had since the last time.
    pub(in crate::blit) fn follow(&mut self, writer: &Writer<'_>) {
        let Emitter {
            names, sequences, ..
        } = &*writer.emitter;
        for &number in names.ids().get(self.keys.len()..).unwrap_or_default() {
            self.keys.push(names.text(number));
        }
        let shapes = sequences.ids().get(self.shapes.len()..);
        for &sequence in shapes.unwrap_or_default() {
            let keys = sequences.names(sequence).iter();
            self.shapes.push(keys.map(|&name| names.id(name)));
        }
    }

    /// Whether there is something to take up.
    pub(in crate::blit) fn is_behind(&self, writer: &Writer<'_>) -> bool {
        let (names, shapes) = (&writer.emitter.names, &writer.emitter.sequences);
        self.keys.len() < names.len() || self.shapes.len() < shapes.shapes()
    }

    /// Begins another commit.
    pub(in crate::blit) fn again(&mut self) {
        *self = Self {
            commit: self.commit.saturating_add(1),
            ..Self::default()
        };
    }

    /// Whether it is still the commit that a chunk was made for.
    pub(in crate::blit) fn is_of(&self, made: &Made) -> bool {
        self.commit == made.commit
    }
}

/// What a chunk needs that is not in its bytes. Names are numbered as they are in it.
#[derive(Default)]
pub(in crate::blit) struct Made {
    commit: u64,
    names: Texts,
    /// Sequences met for the first time, in order.
    met: Lists,
    /// Names that got ids, in order.
    named: Vec<u32>,
    /// Shapes whose ids are guesses, in order, and what the first guess is.
    shapes: Lists,
    first: u32,
    /// Where each of these is in the chunk, and its guess.
    places: Vec<(usize, u32)>,
    has_surrogates: bool,
    /// Names of a sequence that was met have no ids.
    lost: bool,
}

impl Made {
    /// Whether the bytes of the chunk are final.
    pub(in crate::blit) fn is_final(&self) -> bool {
        self.places.is_empty()
    }
}

/// Makes chunks apart.
pub(in crate::blit) struct Apart {
    pub(in crate::blit) writer: Writer<'static>,
    commit: u64,
    /// The number that the writer has for each key of what is known.
    keys: Vec<u32>,
    shapes: usize,
}

impl Apart {
    pub(in crate::blit) fn of(writer: Writer<'static>) -> Self {
        Self {
            writer,
            commit: 0,
            keys: Vec::new(),
            shapes: 0,
        }
    }

    /// Learns the ids that are known; between two chunks.
    ///
    /// # Errors
    /// `Limit`.
    pub(in crate::blit) fn learn(&mut self, known: &Known) -> Result<()> {
        if known.commit != self.commit {
            self.commit = known.commit;
            let _: Dictionary = self.writer.dictionary();
            self.keys.clear();
            self.shapes = 0;
        }
        let Emitter {
            names, sequences, ..
        } = &mut *self.writer.emitter;
        for key in self.keys.len()..known.keys.len() {
            self.keys.push(names.number(known.keys.get(key), None)?);
        }
        for shape in self.shapes..known.shapes.len() {
            let keys = known.shapes.get(shape).iter();
            let number = |&key: &u32| self.keys.get(key as usize).copied().unwrap_or_default();
            let sequence = sequences.number(&keys.map(number).collect::<Vec<u32>>())?;
            sequences.shape(sequence);
        }
        self.shapes = known.shapes.len();
        Ok(())
    }

    /// Writes all documents that there are as a list that does not say how many.
    ///
    /// # Errors
    /// As [`Writer::chunk`].
    pub(in crate::blit) fn chunk(&mut self, met: usize) -> Result<(Vec<u8>, Made)> {
        let writer = &mut self.writer;
        let first = u32::try_from(self.shapes).unwrap_or(u32::MAX);
        writer.emitter.guessed = Some((first, Vec::new()));
        let named = writer.first_name;
        let raw = writer.chunk(writer.complete())?;
        let places = writer.emitter.guessed.take();
        let mut made = Made {
            commit: self.commit,
            first,
            places: places.map_or_else(Vec::new, |(_, places)| places),
            has_surrogates: std::mem::take(&mut writer.has_surrogates),
            lost: writer.dropped.lost,
            ..Made::default()
        };
        let Emitter {
            names, sequences, ..
        } = &mut *writer.emitter;
        let mut numbers = std::collections::HashMap::new();
        let mut number = |texts: &mut Texts, name: u32| {
            *numbers
                .entry(name)
                .or_insert_with(|| texts.push(names.text(name)))
        };
        for sequence in met..sequences.len() {
            let keys = sequences.names(u32::try_from(sequence).unwrap_or(u32::MAX));
            let keys = keys.iter().map(|&name| number(&mut made.names, name));
            made.met.push(keys);
        }
        for &name in names.ids().get(named..).unwrap_or_default() {
            made.named.push(number(&mut made.names, name));
        }
        for &sequence in sequences.ids().get(self.shapes..).unwrap_or_default() {
            let keys = sequences.names(sequence).iter();
            let keys = keys.map(|&name| number(&mut made.names, name));
            made.shapes.push(keys);
        }
        sequences.unwrite(self.shapes);
        Ok((raw, made))
    }
}

impl Writer<'_> {
    /// How many key sequences were met.
    pub(in crate::blit) fn met(&self) -> usize {
        self.emitter.sequences.len()
    }

    /// Takes over a chunk that was made for this commit, behind all chunks so far; there must be no
    /// documents that are not written. False if its ids have no place where they were guessed: then
    /// its documents are to be written here.
    ///
    /// # Errors
    /// `Limit`.
    pub(in crate::blit) fn take_over(&mut self, raw: &mut [u8], made: &Made) -> Result<bool> {
        let duplicates = self.options.duplicates;
        let Emitter {
            names, sequences, ..
        } = &mut *self.emitter;
        let numbers: Result<Vec<u32>> = (0..made.names.len())
            .map(|i| names.number(made.names.get(i), None))
            .collect();
        let numbers = numbers?;
        let number = |&name: &u32| numbers.get(name as usize).copied().unwrap_or_default();
        for i in 0..made.met.len() {
            let keys: Vec<u32> = made.met.get(i).iter().map(number).collect();
            sequences.meet(&keys, names, duplicates)?;
        }
        // In the order of the chunk, which may have dropped objects that were met.
        names.forget(self.first_name);
        let named: Vec<u32> = made.named.iter().map(number).collect();
        names.assign(&named);
        self.first_name = names.len();
        let mut ids = Vec::with_capacity(made.shapes.len());
        for i in 0..made.shapes.len() {
            let keys: Vec<u32> = made.shapes.get(i).iter().map(number).collect();
            let sequence = sequences.number(&keys)?;
            ids.push(sequences.shape(sequence));
        }
        let (mut id, mut guess) = (Vec::new(), Vec::new());
        for &(at, guessed) in &made.places {
            let which = guessed.wrapping_sub(made.first) as usize;
            let right = ids.get(which).copied().unwrap_or_default();
            id.clear();
            guess.clear();
            push_rv(&mut id, right.into());
            push_rv(&mut guess, guessed.into());
            let place = raw.get_mut(at..at.saturating_add(id.len()));
            match place.filter(|_| id.len() == guess.len()) {
                Some(place) => place.copy_from_slice(&id),
                None => return Ok(false),
            }
        }
        self.has_surrogates |= made.has_surrogates;
        self.dropped.lost |= made.lost;
        Ok(true)
    }
}
