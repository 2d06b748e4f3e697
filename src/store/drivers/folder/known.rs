//! The objects of a batch, as keys of it name them.

use std::collections::HashMap;

use crate::store::Hash;

/// Objects of the batch by hash: number, and whether their names are counted already.
#[derive(Default)]
pub(super) struct Known {
    list: Vec<(Hash, i64, bool)>,
    map: HashMap<Hash, usize>,
}

/// Up to so many are looked through.
pub(super) const FEW: usize = 8;

impl Known {
    pub fn add(&mut self, hash: Hash, id: i64, counted: bool) {
        if self.list.len() >= FEW {
            if self.map.is_empty() {
                let all = self.list.iter().enumerate();
                self.map = all.map(|(at, (hash, ..))| (*hash, at)).collect();
            }
            self.map.insert(hash, self.list.len());
        }
        self.list.push((hash, id, counted));
    }

    pub fn get(&self, hash: &Hash) -> Option<(i64, bool)> {
        let found = if self.map.is_empty() {
            self.list.iter().find(|(known, ..)| known == hash)
        } else {
            self.map.get(hash).and_then(|at| self.list.get(*at))
        };
        found.map(|(_, id, counted)| (*id, *counted))
    }
}
