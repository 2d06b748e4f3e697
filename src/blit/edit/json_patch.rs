//! Several changes as one text: JSON Patch, as defined in RFC 6902.

use super::{Edit, Tree};
use crate::blit::find::compare::{equal, Budget};
use crate::blit::{from_json, Duplicates, ObjectView, Options, Surrogates, Value, View};
use crate::{Error, ErrorKind, Result};

/// Most values that the tests of a patch look at.
const MAX_ELEMENTS: u64 = 1 << 28;

impl Edit<'_> {
    /// Carries out an RFC 6902 patch: all of its operations, or none.
    ///
    /// Numbers are tested by their worth, so that `1` equals `1.0`.
    ///
    /// # Errors
    /// `NotFound` where an operation does not find what it needs, or a test fails, with the number
    /// of the operation; `Usage` for what is no patch; those of
    /// [`from_json`](crate::blit::from_json).
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Current, Edit, Options, Value, View};
    ///
    /// let document = from_json(br#"{"n": 1}"#, &Options::default())?;
    /// let mut edit = Edit::new(View::open(&document)?);
    /// let patch = br#"[{"op": "replace", "path": "/n", "value": 2},
    ///     {"op": "test", "path": "/n", "value": 1}]"#;
    /// let error = edit.patch(patch).unwrap_err();
    /// assert!(error.to_string().contains("operation 1 (test)"));
    /// assert!(matches!(edit.get("/n")?, Some(Current::Value(Value::Int(1)))));
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn patch(&mut self, text: &[u8]) -> Result<()> {
        // An operation of two meanings has none. Whether halves of pairs are kept, the options of
        // the changed document say.
        let options = Options {
            duplicates: Duplicates::Error,
            surrogates: Surrogates::Keep,
            ..Options::default()
        };
        let document = from_json(text, &options)?;
        self.patch_view(&View::open(&document)?)
    }

    /// As [`patch`](Self::patch), of a patch that is a document itself.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub fn patch_view(&mut self, patch: &View<'_>) -> Result<()> {
        let Value::Array(operations) = patch.root()? else {
            return Err(wrong("a patch is an array of operations"));
        };
        // Of one operation, all but a move are done or not by themselves; what is shared with a
        // state before would be copied to be changed.
        let mut before = (operations.len() > 1).then(|| self.root.clone());
        let budget = Budget::new(MAX_ELEMENTS);
        for (i, operation) in operations.iter().enumerate() {
            let mut name = "?".to_string();
            let done = operation.and_then(|operation| {
                let Value::Object(operation) = operation else {
                    return Err(wrong("an operation is an object"));
                };
                name = String::from_utf8_lossy(&text_of(&operation, "op")?).into_owned();
                if name == "move" && before.is_none() {
                    before = Some(self.root.clone());
                }
                self.operate(patch, &name, &operation, &budget)
            });
            if let Err(error) = done {
                if let Some(before) = before {
                    self.root = before;
                }
                return Err(error.within(&format!("operation {i} ({name}): "), ""));
            }
        }
        Ok(())
    }

    fn operate(
        &mut self,
        patch: &View<'_>,
        op: &str,
        operation: &ObjectView<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let value = || match operation.get("value")? {
            Some(value) => Ok(value),
            None => Err(wrong("it has no value")),
        };
        let target = text_of(operation, "path")?;
        match op {
            "add" => self.insert(&target, Tree::of(patch, &value()?)?),
            "replace" => {
                if self.get(&target)?.is_none() {
                    return Err(super::missing(&target));
                }
                self.set(&target, Tree::of(patch, &value()?)?)
            }
            "remove" => self.delete(&target),
            "copy" => {
                let copy = self.copy(&text_of(operation, "from")?)?;
                self.insert(&target, Tree(copy))
            }
            "move" => {
                let from = text_of(operation, "from")?;
                let inside = target.strip_prefix(&*from);
                if inside.is_some_and(|rest| rest.starts_with(b"/")) {
                    return Err(wrong("a value cannot be moved into itself"));
                }
                if target == from && self.get(&from)?.is_some() {
                    return Ok(());
                }
                let moved = self.take(&from)?;
                self.insert(&target, Tree(moved))
            }
            "test" => {
                let expected = value()?;
                let found = self.get(&target)?.ok_or_else(|| super::missing(&target))?;
                if equal(found, expected, budget)? {
                    return Ok(());
                }
                let target = String::from_utf8_lossy(&target);
                let text = format!("the value at {target:?} is another one");
                Err(Error::new(ErrorKind::NotFound, text).with_format("blit"))
            }
            _ => Err(wrong(
                "it is none of add, remove, replace, move, copy, test",
            )),
        }
    }
}

fn text_of(operation: &ObjectView<'_>, name: &str) -> Result<Vec<u8>> {
    match operation.get(name)? {
        Some(Value::Str(text)) => Ok(text.into_owned().into_bytes()),
        Some(Value::Wtf8(text)) => Ok(text.to_vec()),
        _ => Err(wrong(&format!("it has no {name:?} that is a string"))),
    }
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Usage, text).with_format("blit")
}
