//! Names that were met as objects: the same object is the same name, whatever its text.

use tare::blit::{Name, Step};

use super::raw::{Owned, Seen};

/// Objects that are kept at most, so that names which are all new ones cost no memory.
const MOST: usize = 1 << 16;
/// So many of each are kept from one document to the next.
const FEW: usize = 1 << 12;
/// Bytes of the longest name that is kept, so that names which somebody sends fill no memory.
pub const LONGEST: usize = 64;

/// Which names stood where, and which objects they were.
#[derive(Default)]
pub struct Met {
    /// The object that each step was, the last time.
    steps: Vec<Option<Owned>>,
    /// Names whose text was met before, by their objects' addresses: open addressing.
    places: Vec<Option<(Owned, Name)>>,
    n: usize,
    /// So many names have been met.
    names: u32,
}

impl Met {
    /// Whether a step was this very object the last time.
    #[inline]
    pub fn is(&self, step: Step, key: Seen<'_>) -> bool {
        let last = self.steps.get(step.index() as usize);
        matches!(last, Some(Some(last)) if last.seen() == key)
    }

    /// What the next document may use: not ever more objects, such as names that are made anew
    /// for each.
    pub fn few(mut self) -> Self {
        if self.n > FEW {
            self.places.clear();
            self.n = 0;
        }
        self.steps.truncate(FEW);
        self
    }

    /// The name, if this very object was one elsewhere.
    #[inline]
    pub fn elsewhere(&self, key: Seen<'_>) -> Option<Name> {
        let mut place = self.place(key)?;
        loop {
            match self.places.get(place)? {
                Some((known, name)) if known.seen() == key => return Some(*name),
                Some(_) => place = (place + 1) & (self.places.len() - 1),
                None => return None,
            }
        }
    }

    /// Keeps the object of a step.
    #[inline]
    pub fn note(&mut self, step: Step, key: Seen<'_>) {
        let at = step.index() as usize;
        if at >= self.steps.len() && at < MOST {
            let size = (at + 1).next_power_of_two();
            self.steps.resize_with(size, || None);
        }
        if let Some(place) = self.steps.get_mut(at) {
            *place = Some(key.kept());
        }
    }

    /// Keeps the object of a name that came by its text, if that was met before.
    pub fn known(&mut self, key: Seen<'_>, name: Name) {
        if name.index() >= self.names {
            self.names = name.index() + 1;
        } else if self.elsewhere(key).is_none() {
            self.insert(key.kept(), name);
        }
    }

    fn insert(&mut self, key: Owned, name: Name) {
        if self.n >= MOST {
            return;
        }
        if self.n * 2 >= self.places.len() {
            self.grow();
        }
        let Some(mut place) = self.place(key.seen()) else {
            return;
        };
        while let Some(Some(_)) = self.places.get(place) {
            place = (place + 1) & (self.places.len() - 1);
        }
        if let Some(free) = self.places.get_mut(place) {
            *free = Some((key, name));
            self.n += 1;
        }
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(64);
        let mut before = std::mem::take(&mut self.places);
        self.places.resize_with(size, || None);
        self.n = 0;
        for (key, name) in before.drain(..).flatten() {
            self.insert(key, name);
        }
    }

    /// Where the search for an object begins; None where nothing is kept.
    #[inline]
    fn place(&self, key: Seen<'_>) -> Option<usize> {
        // As many of its bits as an address has.
        #[allow(
            clippy::cast_possible_truncation,
            reason = "any odd number of many bits mixes"
        )]
        const FACTOR: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;
        let mask = self.places.len().checked_sub(1)?;
        // Objects lie at multiples of 16.
        Some((key.address() >> 4).wrapping_mul(FACTOR).rotate_left(20) & mask)
    }
}
