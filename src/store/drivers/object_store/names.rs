//! Where objects lie: their folders, by their hashes.

use object_store::path::Path;

use crate::store::Hash;

pub(super) use crate::store::drivers::records::{escape, parse_tail, tail, unescape};

/// The folder of an object: `objects/ab/cdef...`.
pub(super) fn object_folder(hash: &Hash) -> String {
    let hex = hash.hex();
    let (first, rest) = hex.split_at(hex.len().min(2));
    format!("objects/{first}/{rest}")
}

/// Hash and last part of the name of a path below the prefix.
pub(super) fn parse_object(path: &Path, prefix: &str) -> Option<(Hash, String)> {
    let text = path.as_ref().strip_prefix(prefix)?;
    let mut parts = text.strip_prefix("objects/")?.split('/');
    let (first, rest, tail) = (parts.next()?, parts.next()?, parts.next()?);
    let hash = Hash::parse(&[first, rest].concat())?;
    parts.next().is_none().then(|| (hash, tail.to_string()))
}
