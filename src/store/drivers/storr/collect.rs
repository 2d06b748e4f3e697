//! Collecting objects that no key names.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::files;
use super::list::KeyFile;
use super::lock::Share;
use super::scratch::MARKS;
use super::StorrDriver;
use crate::store::{Algorithm, GcOptions, GcReport, Hash, Stat};
use crate::Result;

/// Most bytes of a file of marks that is read: of some 200,000 objects of the longest hash.
const MARKS_BYTES: u64 = 64 << 20;

/// An object that no key names.
struct Unnamed {
    hash: Hash,
    bytes: u64,
    /// From when on it may go.
    due: SystemTime,
}

impl StorrDriver {
    pub(super) fn collect(&self, options: &GcOptions) -> Result<GcReport> {
        self.writable()?;
        self.make_folders()?;
        // Without grace nobody may be writing from the first look on.
        let alone = options.grace.is_zero() && !options.dry_run;
        let lock = alone.then(|| self.lock(Share::Nobody)).transpose()?;
        let now = self.scratch.clock()?;
        let marks = self.marks()?;
        let mut seen = HashMap::new();
        let mut report = GcReport::default();
        let mut due = Vec::new();
        for unnamed in self.unnamed(&marks, now, options.grace, &mut seen)? {
            report.condemned = report.condemned.saturating_add(1);
            if unnamed.due <= now {
                due.push(unnamed);
            } else {
                let earliest = report
                    .kept_until
                    .map_or(unnamed.due, |at| at.min(unnamed.due));
                report.kept_until = Some(earliest);
            }
        }
        if options.dry_run {
            report.deleted = due.len() as u64;
            report.bytes = due.iter().map(|unnamed| unnamed.bytes).sum();
            report.swept = self.scratch.leftovers(now)?.len() as u64;
            return Ok(report);
        }
        if !due.is_empty() {
            let _lock = match lock {
                Some(lock) => lock,
                None => self.lock(Share::Nobody)?,
            };
            self.delete(due, &mut report, &mut seen)?;
        }
        self.keep_marks(&seen)?;
        report.swept = self.scratch.sweep()?;
        Ok(report)
    }

    /// Objects without a key, with the time from which on they may be deleted; and the marks they have now.
    fn unnamed(
        &self,
        marks: &HashMap<Hash, u64>,
        now: SystemTime,
        grace: Duration,
        seen: &mut HashMap<Hash, u64>,
    ) -> Result<Vec<Unnamed>> {
        let named = self.named()?;
        let mut found = Vec::new();
        self.each_object(&mut |hash, entry| {
            if named.contains(&hash) {
                return Ok(());
            }
            let Ok(file) = entry.metadata() else {
                return Ok(());
            };
            let mark = marks.get(&hash).copied().unwrap_or_else(|| seconds(now));
            seen.insert(hash, mark);
            let marked = UNIX_EPOCH.checked_add(Duration::from_secs(mark));
            let written = file.modified().unwrap_or(now);
            let since = marked.map_or(now, |marked| marked.max(written));
            // Without grace all may go: nobody else is at work.
            let due = if grace.is_zero() {
                now
            } else {
                since.checked_add(grace).unwrap_or(since)
            };
            found.push(Unnamed {
                hash,
                bytes: file.len(),
                due,
            });
            Ok(())
        })?;
        Ok(found)
    }

    /// All hashes that keys name.
    pub(super) fn named(&self) -> Result<HashSet<Hash>> {
        let mut named = HashSet::new();
        self.walk_keys(&mut |walked| {
            if let KeyFile::Good(hash, _) = walked.file {
                named.insert(hash);
            }
            Ok(())
        })?;
        Ok(named)
    }

    /// Deletes objects unless a key names them by now.
    fn delete(
        &self,
        due: Vec<Unnamed>,
        report: &mut GcReport,
        seen: &mut HashMap<Hash, u64>,
    ) -> Result<()> {
        // The deletion of a key must not be undone by a failing power after that of its object.
        files::sync_system(&self.root)?;
        let named = self.named()?;
        for unnamed in due {
            seen.remove(&unnamed.hash);
            if named.contains(&unnamed.hash) {
                report.condemned = report.condemned.saturating_sub(1);
                continue;
            }
            if files::remove(&self.object_path(&unnamed.hash))? {
                report.deleted = report.deleted.saturating_add(1);
                report.bytes = report.bytes.saturating_add(unnamed.bytes);
            }
        }
        Ok(())
    }

    /// Since when objects were seen unnamed, in seconds since 1970.
    fn marks(&self) -> Result<HashMap<Hash, u64>> {
        let path = self.scratch.path().join(MARKS);
        let bytes = match files::read_short(&path, MARKS_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(HashMap::new()),
            // Marks that cannot be read only put a collection off.
            Err(error) if error.kind() == crate::ErrorKind::Malformed => return Ok(HashMap::new()),
            Err(error) => return Err(error),
        };
        Ok(parse_marks(&bytes, self.algorithm))
    }

    fn keep_marks(&self, seen: &HashMap<Hash, u64>) -> Result<()> {
        let path = self.scratch.path().join(MARKS);
        if seen.is_empty() {
            return files::remove(&path).map(|_| ());
        }
        let mut lines: Vec<String> = seen
            .iter()
            .map(|(hash, mark)| format!("{hash} {mark}\n"))
            .collect();
        lines.sort_unstable();
        let temp = self.scratch.create()?;
        temp.fill(lines.concat().as_bytes(), false)?;
        temp.closed().rename(&path)
    }

    pub(super) fn count(&self) -> Result<Stat> {
        let mut stat = Stat::default();
        let mut namespaces = HashSet::new();
        let mut named = HashSet::new();
        self.walk_keys(&mut |walked| {
            if let (KeyFile::Good(hash, _), Some(namespace), Some(_)) =
                (walked.file, walked.namespace, walked.key)
            {
                stat.keys = stat.keys.saturating_add(1);
                namespaces.insert(namespace);
                named.insert(hash);
            }
            Ok(())
        })?;
        stat.namespaces = namespaces.len() as u64;
        self.each_object(&mut |hash, entry| {
            let bytes = entry.metadata().map_or(0, |found| found.len());
            stat.objects = stat.objects.saturating_add(1);
            stat.stored_bytes = stat.stored_bytes.saturating_add(bytes);
            stat.unnamed = stat
                .unnamed
                .saturating_add(u64::from(!named.contains(&hash)));
            let meta = self.object_meta(&hash).ok().flatten();
            let plain = meta.and_then(|meta| meta.plain_len).unwrap_or(0);
            stat.plain_bytes = stat.plain_bytes.saturating_add(plain);
            Ok(())
        })?;
        Ok(stat)
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Lines of a hash and a time; others are passed over.
fn parse_marks(bytes: &[u8], algorithm: Algorithm) -> HashMap<Hash, u64> {
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.lines().filter_map(|line| {
        let (hash, mark) = line.split_once(' ')?;
        let hash = Hash::parse(hash)?;
        let whole = hash.as_bytes().len() == algorithm.bytes();
        whole.then_some((hash, mark.parse().ok()?))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_are_damaged_are_passed_over() {
        let text = b"7b410007 12\n7b41 3\nnothex 4\n541342c8\n\xff\xff\n515dd474 x\n";
        let marks = parse_marks(text, Algorithm::Crc32);
        assert_eq!(1, marks.len());
        assert_eq!(Some(&12), marks.get(&Hash::parse("7b410007").unwrap()));
    }
}
