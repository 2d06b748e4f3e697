//! Looking for what does not fit together, without reading objects.

use std::collections::HashSet;
use std::path::Path;

use super::list::{entries, KeyFile};
use super::{files, keys, StorrDriver};
use crate::store::{Finding, FindingKind};
use crate::Result;

impl StorrDriver {
    pub(super) fn inspect(&self, found: &mut dyn FnMut(Finding)) -> Result<()> {
        let mut objects = HashSet::new();
        for entry in entries(&self.data)? {
            let path = entry.path();
            let Some(hash) = keys::object_hash(&entry.file_name(), self.algorithm) else {
                let detail = format!("expected a {} hash and .rds", self.algorithm.name());
                found(finding(FindingKind::Foreign, &path, detail));
                continue;
            };
            match self.found(&path)? {
                None => {
                    let detail = "expected an ordinary file inside the store".to_string();
                    found(finding(FindingKind::Foreign, &path, detail));
                }
                Some(seen) => {
                    objects.insert(hash);
                    if seen.len() == 0 {
                        let detail = "a file of 0 bytes: no value is stored in none".to_string();
                        let hash = Some(hash);
                        found(Finding {
                            hash,
                            ..finding(FindingKind::CorruptObject, &path, detail)
                        });
                    }
                }
            }
        }
        self.walk_keys(&mut |walked| {
            let key = walked.namespace.clone().zip(walked.key.clone());
            let one = match walked.file {
                KeyFile::Absent => return Ok(()),
                KeyFile::Bad(problem) if key.is_some() => {
                    finding(FindingKind::BadKey, &walked.path, problem)
                }
                KeyFile::Good(hash, _) if key.is_some() => {
                    if objects.contains(&hash) {
                        return Ok(());
                    }
                    let detail = format!("it names {hash}, which is not there");
                    let hash = Some(hash);
                    Finding {
                        hash,
                        ..finding(FindingKind::DanglingKey, &walked.path, detail)
                    }
                }
                _ if walked.namespace.is_none() => {
                    let detail = "a file beside the namespaces".to_string();
                    finding(FindingKind::Foreign, &walked.path, detail)
                }
                _ => {
                    let detail = self.bad_name();
                    finding(FindingKind::BadKey, &walked.path, detail)
                }
            };
            found(Finding { key, ..one });
            Ok(())
        })?;
        if files::exists(self.scratch.path())? && !self.info.read_only {
            for path in self.scratch.leftovers(self.scratch.clock()?)? {
                let detail = "a temporary file of a writer that is gone".to_string();
                found(finding(FindingKind::Leftover, &path, detail));
            }
        }
        Ok(())
    }

    fn bad_name(&self) -> String {
        let expected = match (self.naming.mangle, self.naming.pad) {
            (false, _) => "UTF-8",
            (true, false) => "base64url without padding of UTF-8",
            (true, true) => "padded base64url of UTF-8",
        };
        format!("the file's name is no key: expected {expected}")
    }
}

fn finding(kind: FindingKind, path: &Path, detail: String) -> Finding {
    Finding {
        kind,
        hash: None,
        key: None,
        place: path.display().to_string(),
        detail,
    }
}
