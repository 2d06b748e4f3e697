//! Several changes that happen together.

use std::borrow::Cow;

use crate::Result;

use super::{
    Batch, Change, Durability, Expect, Hash, Key, NewBody, NewKey, NewObject, SetOptions, Store,
};

/// Small objects of a batch that are held in memory, in bytes; beyond them they are stored before the
/// batch ends, without a name.
const HELD: usize = 8 << 20;

/// Values and deletions that are told to the store together, by [`commit`](Self::commit): where the driver
/// has `atomic_batch`, all of them happen or none, and they are synced once. Dropped, nothing happens.
///
/// Until then the store answers as before. Large objects are staged as they come.
///
/// # Example
/// ```
/// use tare::store::{Key, OpenOptions, Pending, SetOptions, Store};
///
/// let store = Store::open("memory:", &OpenOptions::default())?;
/// let mut pending = Pending::new(&store, None);
/// pending.set(Key::from("a"), "raw", &[b"1"], &SetOptions::default())?;
/// pending.set(Key::from("b"), "raw", &[b"2"], &SetOptions::default())?;
/// assert!(!store.exists(Key::from("a"))?);
/// pending.commit()?;
/// assert!(store.exists(Key::from("a"))?);
/// # Ok::<(), tare::Error>(())
/// ```
pub struct Pending {
    store: Store,
    durability: Durability,
    objects: Vec<NewObject<'static>>,
    held: usize,
    changes: Vec<Owned>,
}

struct Owned {
    namespace: String,
    key: String,
    to: Option<(Hash, String)>,
    expect: Expect,
}

impl Pending {
    /// An empty batch; durability None for the store's.
    #[must_use]
    pub fn new(store: &Store, durability: Option<Durability>) -> Self {
        Self {
            store: store.clone(),
            durability: durability.unwrap_or(store.options().durability),
            objects: Vec::new(),
            held: 0,
            changes: Vec::new(),
        }
    }

    /// Sets a key when the batch is committed. The bytes are hashed and, if large, staged now.
    ///
    /// # Errors
    /// As [`Store::set`], but for `Conflict`, which the commit tells.
    pub fn set(
        &mut self,
        key: Key<'_>,
        codec: &str,
        parts: &[&[u8]],
        options: &SetOptions,
    ) -> Result<Hash> {
        self.store.check_writable(key)?;
        let options = SetOptions {
            durability: Some(self.durability),
            ..options.clone()
        };
        let ready = self.store.ready(codec, parts, &options, false)?;
        let hash = ready.hash;
        if let Some(object) = ready.object {
            self.hold(object);
        }
        self.changes.push(Owned {
            namespace: key.namespace.to_owned(),
            key: key.key.to_owned(),
            to: Some((hash, codec.to_owned())),
            expect: options.expect,
        });
        if self.held > HELD {
            self.store_objects()?;
        }
        Ok(hash)
    }

    /// Deletes a key when the batch is committed.
    ///
    /// # Errors
    /// `KeyInvalid`.
    pub fn del(&mut self, key: Key<'_>) -> Result<()> {
        super::check_key(key)?;
        self.changes.push(Owned {
            namespace: key.namespace.to_owned(),
            key: key.key.to_owned(),
            to: None,
            expect: Expect::Any,
        });
        Ok(())
    }

    /// Changes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Does all of it. Of two changes of a key the later stands.
    ///
    /// # Errors
    /// `Conflict`, `NoSpace`, `Busy`, `Io`: where the driver has `atomic_batch` no key was changed then.
    pub fn commit(mut self) -> Result<()> {
        let changes = std::mem::take(&mut self.changes);
        let changes: Vec<Change<'_>> = changes
            .iter()
            .map(|owned| Change {
                key: Key::new(&owned.namespace, &owned.key),
                to: owned
                    .to
                    .as_ref()
                    .map(|(hash, codec)| NewKey { hash: *hash, codec }),
                expect: owned.expect,
            })
            .collect();
        if changes.is_empty() && self.objects.is_empty() {
            return Ok(());
        }
        let store = self.store.clone();
        let again = self.spare();
        let doubtful = store.apply(Batch {
            objects: std::mem::take(&mut self.objects),
            changes,
            durability: self.durability,
        })?;
        self.objects = again;
        self.mend(&doubtful)
    }

    /// Copies of the small objects of the batch, for those that turn out to be damaged where they lie.
    fn spare(&self) -> Vec<NewObject<'static>> {
        let small = self.objects.iter().filter_map(|object| match &object.body {
            NewBody::Bytes(bytes) => Some(NewObject {
                hash: object.hash,
                meta: object.meta.clone(),
                body: NewBody::Bytes(Cow::Owned(bytes.to_vec())),
                replace: true,
                canonical: object.canonical,
            }),
            NewBody::Staged(_) => None,
        });
        small.collect()
    }

    /// Writes damaged ones of the objects that were there before.
    fn mend(mut self, doubtful: &[Hash]) -> Result<()> {
        let store = self.store.clone();
        let mut damaged = Vec::new();
        for hash in doubtful {
            if !store.is_whole(hash)? {
                damaged.push(*hash);
            }
        }
        let mut objects = std::mem::take(&mut self.objects);
        objects.retain(|object| damaged.contains(&object.hash));
        if objects.is_empty() {
            return Ok(());
        }
        store.apply(Batch {
            objects,
            changes: Vec::new(),
            durability: self.durability,
        })?;
        Ok(())
    }

    fn hold(&mut self, object: NewObject<'_>) {
        let body = match object.body {
            NewBody::Bytes(bytes) => {
                self.held += bytes.len();
                NewBody::Bytes(Cow::Owned(bytes.into_owned()))
            }
            NewBody::Staged(staged) => NewBody::Staged(staged),
        };
        self.objects.push(NewObject {
            hash: object.hash,
            meta: object.meta,
            body,
            replace: object.replace,
            canonical: object.canonical,
        });
    }

    /// Stores the objects that came so far, so that they take no memory; no key names them yet.
    fn store_objects(&mut self) -> Result<()> {
        self.held = 0;
        self.store.apply(Batch {
            objects: std::mem::take(&mut self.objects),
            changes: Vec::new(),
            durability: self.durability,
        })?;
        Ok(())
    }
}
