//! Many values at once: small ones are verified where they lie, and gathered in one piece of memory.

use std::ops::Range;

use crate::{Error, ErrorKind, Result};

use super::{Fetched, Hash, Key, Object, Store, Verify};

/// What a driver met at a key.
pub enum Met<'a> {
    /// A small object that is stored as it is.
    Lent(Lent<'a>),
    /// Anything.
    Fetched(Box<Fetched>),
}

/// An object whose stored bytes are its plain ones, lent for the call in which it is told.
pub struct Lent<'a> {
    /// The hash that the key names.
    pub hash: Hash,
    /// The codec of the key's value.
    pub codec: &'a str,
    /// Plain bytes by its record.
    pub plain_len: Option<u64>,
    /// Its bytes, not verified.
    pub bytes: &'a [u8],
}

/// What lies at keys, in the order asked for.
pub struct Gathered {
    /// Verified bytes, one value behind the other.
    bytes: Vec<u8>,
    codecs: Vec<String>,
    found: Vec<Place>,
}

#[derive(Default)]
enum Place {
    #[default]
    Absent,
    /// The number of its codec, and where its bytes are.
    Here(usize, Range<usize>),
    /// Too large to be gathered.
    Object(Box<Object>),
    /// To be looked at once more, on the way of one key.
    Again,
}

/// One of the values of a [`Gathered`].
pub enum Gotten<'a> {
    /// No such key.
    Absent,
    /// Codec and verified bytes.
    Bytes(&'a str, &'a [u8]),
    /// A large object, still to be read.
    Object(Box<Object>),
}

impl Store {
    /// The values of keys, in the order asked for: those of fewer than `most` plain bytes are read and verified
    /// here, without memory of their own; larger ones are given as objects.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many), and `Corrupt` for what was read, with the details `key` and `namespace`.
    ///
    /// # Example
    /// ```
    /// use tare::store::{Gotten, Key, OpenOptions, SetOptions, Source, Store};
    ///
    /// let store = Store::open("memory:", &OpenOptions::default())?;
    /// store.set(Key::from("a"), "raw", Source::Bytes(&[b"weighed"]), &SetOptions::default())?;
    /// let mut found = store.gather(&[Key::from("a"), Key::from("b")], 1 << 16)?;
    /// assert!(matches!(found.take(0), Gotten::Bytes("raw", b"weighed")));
    /// assert!(found.is_absent(1));
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn gather(&self, keys: &[Key<'_>], most: u64) -> Result<Gathered> {
        keys.iter().try_for_each(|key| super::check_key(*key))?;
        let mut gathered = Gathered {
            bytes: Vec::new(),
            codecs: Vec::new(),
            found: Vec::new(),
        };
        gathered.found.resize_with(keys.len(), Place::default);
        let info = self.info();
        let verified = self.options().verify != Verify::Never;
        let is_whole = |lent: &Lent<'_>| {
            lent.plain_len
                .is_none_or(|len| len == lent.bytes.len() as u64)
                && (!verified || info.algorithm.hash(lent.bytes, info.unhashed) == lent.hash)
        };
        self.driver().fetch_each(keys, &mut |at, met| {
            let place = match met {
                Met::Lent(lent) if is_whole(&lent) => gathered.hold(lent.codec, lent.bytes),
                // What is damaged is told by the way that says most about it.
                Met::Lent(_) => Place::Again,
                Met::Fetched(fetched) => match *fetched {
                    Fetched::NoKey => Place::Absent,
                    Fetched::NoObject(_) => Place::Again,
                    Fetched::Found(record, stored) => {
                        Place::Object(Box::new(self.object(record, stored)))
                    }
                },
            };
            if let Some(into) = gathered.found.get_mut(at) {
                *into = place;
            }
        })?;
        for (at, key) in keys.iter().enumerate() {
            gathered.settle(self, at, *key, most)?;
        }
        Ok(gathered)
    }
}

impl Gathered {
    /// Whether there is no key at this place.
    #[must_use]
    pub fn is_absent(&self, at: usize) -> bool {
        matches!(self.found.get(at), None | Some(Place::Absent))
    }

    /// The value at a place. A large object is given once.
    pub fn take(&mut self, at: usize) -> Gotten<'_> {
        let Some(place) = self.found.get_mut(at) else {
            return Gotten::Absent;
        };
        match place {
            Place::Here(codec, range) => {
                let codec = self.codecs.get(*codec).map_or("", String::as_str);
                Gotten::Bytes(codec, self.bytes.get(range.clone()).unwrap_or_default())
            }
            other => match std::mem::take(other) {
                Place::Object(object) => Gotten::Object(object),
                _ => Gotten::Absent,
            },
        }
    }

    fn hold(&mut self, codec: &str, bytes: &[u8]) -> Place {
        let known = self.codecs.iter().position(|known| known == codec);
        let codec = known.unwrap_or_else(|| {
            self.codecs.push(codec.to_owned());
            self.codecs.len() - 1
        });
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Place::Here(codec, start..self.bytes.len())
    }

    /// Reads what is small and was not lent, and what has to be looked at once more.
    fn settle(&mut self, store: &Store, at: usize, key: Key<'_>, most: u64) -> Result<()> {
        let Some(place) = self.found.get_mut(at) else {
            return Ok(());
        };
        let mut object = match std::mem::take(place) {
            Place::Object(object) => object,
            Place::Again => match store.get(key) {
                Ok(object) => Box::new(object),
                Err(error) if error.kind() == ErrorKind::KeyNotFound => return Ok(()),
                Err(error) => return Err(error),
            },
            other => {
                *place = other;
                return Ok(());
            }
        };
        if object.meta.plain_len.is_some_and(|len| len >= most) {
            *place = Place::Object(object);
            return Ok(());
        }
        let codec = std::mem::take(&mut object.codec);
        let about = |error: Error| {
            error
                .with_detail("key", key.key)
                .with_detail("namespace", key.namespace)
        };
        let bytes = object.bytes().map_err(about)?;
        let held = self.hold(&codec, &bytes);
        if let Some(place) = self.found.get_mut(at) {
            *place = held;
        }
        Ok(())
    }
}
