//! The report of what a conversion lost, as tuples.

use tare::robject::{Loss, Losses};

/// Path, kind, what R has, what was kept, how many values.
pub type Entry = (String, &'static str, String, String, u64);

/// The entries in the order of the values.
pub fn entries(losses: Losses) -> Vec<Entry> {
    losses.into_list().into_iter().map(entry).collect()
}

/// One entry.
pub fn entry(loss: Loss) -> Entry {
    (loss.path, loss.kind.name(), loss.r, loss.kept, loss.count)
}
