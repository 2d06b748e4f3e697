//! Where the bytes of a collection go.

use std::collections::BTreeMap;

use super::layout::{Codec, ENTRY};
use super::reader::{lost, Collection};
use super::shifted;
use crate::blit::account;
use crate::Result;

/// Where the bytes of a collection go.
///
/// `stored` adds up to the commits and the header before them, and `parts` to the bytes that all chunks have when they are not
/// compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Bytes of the file up to the end of the last commit.
    pub bytes: u64,
    /// Documents, chunks and commits.
    pub documents: u64,
    /// Chunks of all commits.
    pub chunks: u64,
    /// Those that are compressed.
    pub compressed: u64,
    /// How many commits there are.
    pub commits: u64,
    /// Different names, of each commit.
    pub keys: u64,
    /// Different key sequences, of each commit.
    pub shapes: u64,
    /// Bytes of the file: `chunks`, what all of them share as `keys` and `shapes`, the `index`, and
    /// the `frame`, which is the header, the footers and gaps.
    pub stored: BTreeMap<&'static str, u64>,
    /// Bytes of the chunks before they were compressed.
    pub raw: u64,
    /// These bytes by what they are, as [`blit::Account`](crate::blit::Account) has them.
    pub parts: BTreeMap<&'static str, u64>,
    /// Lists of each kind, and their bytes without those of lists in them.
    pub kinds: BTreeMap<&'static str, (u64, u64)>,
}

impl Collection {
    /// Counts the bytes of the file by what they are, in the memory of one chunk.
    ///
    /// # Errors
    /// `Malformed` where it is not what it says; as [`get`](Self::get) for chunks.
    ///
    /// # Example
    /// ```
    /// # use tare::blit::collection::{Collection, ReadOptions, WriteOptions};
    /// # let folder = std::env::temp_dir().join(format!("tare-account-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("a.blits");
    /// let mut writer = Collection::create(&path, &WriteOptions::default())?;
    /// writer.push_ndjson(b"{\"id\": 1}\n{\"id\": 2}\n", None)?;
    /// writer.commit()?;
    /// let account = Collection::open(&path, &ReadOptions::default())?.account()?;
    /// assert_eq!(account.bytes, account.stored.values().sum::<u64>());
    /// assert_eq!((account.raw, 2), (account.stored["chunks"], account.parts["numbers"]));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn account(&self) -> Result<Account> {
        let mut all = Account {
            bytes: self.source.len(),
            documents: self.len,
            commits: self.commits.len() as u64,
            ..Account::default()
        };
        for commit in &self.commits {
            let footer = &commit.footer;
            let dictionary = commit.dictionary(&self.source)?;
            grow(&mut all.keys, footer.nkeys.into());
            grow(&mut all.shapes, footer.nshapes.into());
            let index = u64::from(footer.chunks).saturating_mul(ENTRY as u64);
            for (part, bytes) in [
                ("index", index),
                ("keys", footer.keys_len.into()),
                ("shapes", footer.shapes_len.into()),
                ("pool", footer.pool_len.into()),
            ] {
                add(&mut all.stored, part, bytes);
            }
            for chunk in 0..commit.chunks() {
                let entry = commit.entry(&self.source, chunk).ok_or_else(lost)?;
                grow(&mut all.chunks, 1);
                grow(&mut all.compressed, (entry.codec != Codec::None).into());
                grow(&mut all.raw, entry.raw.into());
                add(&mut all.stored, "chunks", entry.stored.into());
                let raw = self.raw(&entry)?;
                let found = account::list(&raw, &dictionary, footer.flags, commit.count(chunk));
                let found = found.map_err(|error| shifted(error, entry.offset))?;
                for (part, bytes) in found.parts {
                    add(&mut all.parts, part, bytes as u64);
                }
                for (kind, (n, bytes)) in found.kinds {
                    let sum = all.kinds.entry(kind).or_default();
                    grow(&mut sum.0, n as u64);
                    grow(&mut sum.1, bytes as u64);
                }
            }
        }
        let known = all.stored.values().sum();
        add(&mut all.stored, "frame", all.bytes.saturating_sub(known));
        Ok(all)
    }
}

fn grow(sum: &mut u64, by: u64) {
    *sum = sum.saturating_add(by);
}

fn add(to: &mut BTreeMap<&'static str, u64>, part: &'static str, bytes: u64) {
    if bytes > 0 {
        grow(to.entry(part).or_default(), bytes);
    }
}
