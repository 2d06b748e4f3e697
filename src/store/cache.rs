//! Verified plain bytes of objects that were read lately, within a limit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use bytes::Bytes;

use super::fork::lock;
use super::Hash;

/// The objects read last, of at most so many bytes together; those used longest ago go first.
pub(super) struct Cache {
    most: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    objects: HashMap<Hash, (Bytes, u64)>,
    /// By the time of their last use, which is a count.
    order: BTreeMap<u64, Hash>,
    bytes: u64,
    clock: u64,
}

impl Cache {
    pub(super) fn new(most: u64) -> Self {
        let kept = Mutex::default();
        Self { most, kept }
    }

    pub(super) fn get(&self, hash: &Hash) -> Option<Bytes> {
        if self.most == 0 {
            return None;
        }
        let mut kept = lock(&self.kept);
        kept.clock += 1;
        let now = kept.clock;
        let (bytes, used) = kept.objects.get_mut(hash)?;
        let found = bytes.clone();
        let before = std::mem::replace(used, now);
        kept.order.remove(&before);
        kept.order.insert(now, *hash);
        Some(found)
    }

    pub(super) fn put(&self, hash: Hash, bytes: &Bytes) {
        let size = bytes.len() as u64;
        if size > self.most || self.most == 0 {
            return;
        }
        let mut kept = lock(&self.kept);
        kept.take(&hash);
        while kept.bytes + size > self.most {
            let Some((_, oldest)) = kept.order.pop_first() else {
                break;
            };
            kept.take(&oldest);
        }
        kept.clock += 1;
        let now = kept.clock;
        kept.order.insert(now, hash);
        kept.objects.insert(hash, (bytes.clone(), now));
        kept.bytes += size;
    }

    pub(super) fn remove(&self, hash: &Hash) {
        let mut kept = lock(&self.kept);
        kept.take(hash);
    }

    pub(super) fn clear(&self) {
        let mut kept = lock(&self.kept);
        *kept = Kept::default();
    }
}

impl Kept {
    fn take(&mut self, hash: &Hash) {
        if let Some((bytes, used)) = self.objects.remove(hash) {
            self.order.remove(&used);
            self.bytes -= bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Algorithm, Hasher};

    fn hash(number: u8) -> Hash {
        let mut hasher = Hasher::new(Algorithm::Blake3, 0);
        hasher.update(&[number]);
        hasher.finish()
    }

    #[test]
    fn keeps_what_was_used_last_within_the_limit() {
        let cache = Cache::new(100);
        for number in 0..4 {
            cache.put(hash(number), &Bytes::from(vec![number; 30]));
            cache.get(&hash(0));
        }
        let there: Vec<bool> = (0..4)
            .map(|number| cache.get(&hash(number)).is_some())
            .collect();
        assert_eq!(vec![true, false, true, true], there);
        cache.put(hash(9), &Bytes::from(vec![0; 101]));
        assert!(cache.get(&hash(9)).is_none());
        cache.remove(&hash(0));
        assert!(cache.get(&hash(0)).is_none());
    }
}
