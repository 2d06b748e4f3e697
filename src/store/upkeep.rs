//! Collecting, checking and repairing: what the driver knows, and what only reading the objects tells.

use crate::{Error, ErrorKind, Result};

use super::{Action, Finding, FindingKind, GcOptions, GcReport, Key, Store};

/// How thorough a check is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CheckLevel {
    /// Records, objects and places are compared with each other.
    #[default]
    Quick,
    /// Besides, every object is read and hashed.
    Full,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// All that was found, problems and untidiness.
    pub findings: Vec<Finding>,
    /// Keys that were looked at.
    pub keys: u64,
    /// Objects that were looked at.
    pub objects: u64,
    /// Plain bytes that were hashed.
    pub bytes: u64,
}

impl CheckReport {
    /// Whether no data is damaged or lost; leftovers and the like do not count.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self
            .findings
            .iter()
            .any(|finding| finding.kind.is_problem())
    }
}

impl Store {
    /// Deletes objects that no key names, and has named for the grace.
    ///
    /// # Errors
    /// `ReadOnly`; `Busy` for a grace of 0 while others use the store; `Io`.
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport> {
        self.driver().gc(options)
    }

    /// Checks the store; `progress` gets the objects done after each, and stops the check by false.
    ///
    /// # Errors
    /// `Io` where it cannot go on; `Cancelled`.
    pub fn check(
        &self,
        level: CheckLevel,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        let findings = &mut report.findings;
        self.driver().check(&mut |finding| findings.push(finding))?;
        let spaces = self.namespaces();
        for namespace in self.or_damaged(spaces, &mut report)?.unwrap_or_default() {
            let checked = self.check_keys(&namespace, &mut report);
            self.or_damaged(checked, &mut report)?;
        }
        for hash in self.hashes() {
            let Some(hash) = self.or_damaged(hash, &mut report)? else {
                break;
            };
            report.objects += 1;
            if level == CheckLevel::Full {
                self.check_object(&hash, &mut report)?;
            }
            if !progress(report.objects) {
                return Err(Error::new(ErrorKind::Cancelled, "the check was stopped"));
            }
        }
        Ok(report)
    }

    /// Whether what the keys of a namespace name exists.
    fn check_keys(&self, namespace: &str, report: &mut CheckReport) -> Result<()> {
        let mut page = Vec::new();
        let mut keys = self.keys(namespace, "");
        loop {
            page.clear();
            for entry in keys.by_ref().take(1000) {
                page.push(entry?);
            }
            if page.is_empty() {
                return Ok(());
            }
            report.keys += page.len() as u64;
            let hashes: Vec<_> = page.iter().map(|entry| entry.record.hash).collect();
            let there = self.exist_objects(&hashes)?;
            let missing = page.iter().zip(there).filter(|(_, there)| !there);
            for (entry, _) in missing {
                let key = (namespace.to_owned(), entry.key.clone());
                let mut told = report.findings.iter();
                if told.any(|finding| finding.key.as_ref() == Some(&key)) {
                    continue;
                }
                let shown = Key::new(namespace, &entry.key);
                report.findings.push(Finding {
                    kind: FindingKind::DanglingKey,
                    hash: Some(entry.record.hash),
                    place: self.info().url.clone(),
                    detail: format!(
                        "the key {shown} names {}, which is missing",
                        entry.record.hash
                    ),
                    key: Some(key),
                });
            }
        }
    }

    /// What a call gave; a damaged record that ended it becomes a finding instead of the check's end.
    fn or_damaged<T>(&self, result: Result<T>, report: &mut CheckReport) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Malformed) => {
                if report.is_clean() {
                    report.findings.push(Finding {
                        kind: FindingKind::Index,
                        hash: None,
                        key: None,
                        place: error.detail("place").unwrap_or(&self.info().url).to_owned(),
                        detail: error.to_string(),
                    });
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether an object is what its hash says.
    fn check_object(&self, hash: &super::Hash, report: &mut CheckReport) -> Result<()> {
        let object = match self.get_object(hash) {
            Ok(object) => object,
            // Collected since it was listed, or told by the driver already.
            Err(error) if error.kind() == ErrorKind::ObjectNotFound => return Ok(()),
            Err(error) => return self.told(hash, &error, report),
        };
        let bytes = object.meta.plain_len.unwrap_or(object.meta.stored_len);
        match object.verify() {
            Ok(()) => report.bytes += bytes,
            Err(error) => self.told(hash, &error, report)?,
        }
        Ok(())
    }

    /// An error of one object as a finding; what ends the check goes on as an error.
    fn told(&self, hash: &super::Hash, error: &Error, report: &mut CheckReport) -> Result<()> {
        if error.kind() == ErrorKind::Cancelled {
            return Err(Error::new(ErrorKind::Cancelled, "the check was stopped"));
        }
        let same = |finding: &Finding| {
            finding.hash.as_ref() == Some(hash) && finding.kind == FindingKind::CorruptObject
        };
        if !report.findings.iter().any(same) {
            report.findings.push(Finding {
                kind: FindingKind::CorruptObject,
                hash: Some(*hash),
                key: None,
                place: error.detail("place").unwrap_or(&self.info().url).to_owned(),
                detail: error.to_string(),
            });
        }
        Ok(())
    }

    /// Mends what a check found, or says how it would. Damaged objects and lists of dangling keys are set
    /// aside; nothing is deleted unless `purge`.
    ///
    /// # Errors
    /// `ReadOnly`, `Io`.
    pub fn repair(&self, report: &CheckReport, apply: bool, purge: bool) -> Result<Vec<Action>> {
        let actions = self.driver().repair(&report.findings, apply, purge)?;
        if apply {
            self.flush_cache();
        }
        Ok(actions)
    }
}
