//! Which objects this process has read and found whole.

use std::sync::Mutex;

use hashbrown::HashMap;

use super::fork::lock;
use super::Hash;

/// Most objects that are remembered: beyond them all are forgotten, and read once more.
const MOST: usize = 1 << 20;

type Identity = Option<[u64; 4]>;

/// Objects that were verified, and what told their stored bytes from others then.
#[derive(Default)]
pub(super) struct Seen {
    objects: Mutex<HashMap<Hash, Identity>>,
}

impl Seen {
    pub(super) fn add(&self, hash: Hash, identity: Identity) {
        let mut objects = lock(&self.objects);
        if objects.len() >= MOST {
            objects.clear();
        }
        objects.insert(hash, identity);
    }

    /// Whether it was found whole, as whatever file it is now.
    pub(super) fn has(&self, hash: &Hash) -> bool {
        let objects = lock(&self.objects);
        objects.contains_key(hash)
    }

    /// Whether these very bytes were found whole. What nothing tells apart is not believed.
    pub(super) fn is_same(&self, hash: &Hash, identity: Identity) -> bool {
        let objects = lock(&self.objects);
        identity.is_some() && objects.get(hash) == Some(&identity)
    }

    pub(super) fn remove(&self, hash: &Hash) {
        let mut objects = lock(&self.objects);
        objects.remove(hash);
    }

    pub(super) fn clear(&self) {
        let mut objects = lock(&self.objects);
        objects.clear();
    }
}
