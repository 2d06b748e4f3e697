//! A document laid over another: JSON Merge Patch, as defined in RFC 7396.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::edit::steps::push;
use super::{from_json, Current, Edit, Options, Surrogates, Tree, Value, View};
use crate::{Error, ErrorKind, Result};

/// A pointer, and the value that is set there; None where one is deleted.
type Change = (Vec<u8>, Option<Tree>);

impl Edit<'_> {
    /// Merges an RFC 7396 patch: names with null are deleted, objects merged, all else replaced.
    ///
    /// # Errors
    /// Those of [`from_json`]; `Malformed`. On an error nothing was changed.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Edit, JsonOptions, Options, View};
    ///
    /// let options = Options::default();
    /// let document = from_json(br#"{"to": "LHR", "seat": {"row": 3, "letter": "A"}}"#, &options)?;
    /// let mut edit = Edit::new(View::open(&document)?);
    /// edit.merge(br#"{"to": null, "seat": {"letter": "C"}}"#)?;
    /// let merged = edit.to_blit(&options)?;
    /// let text = View::open(&merged)?.to_json(&JsonOptions::default())?;
    /// assert_eq!(br#"{"seat":{"row":3,"letter":"C"}}"#[..], text);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn merge(&mut self, text: &[u8]) -> Result<()> {
        // Whether halves of pairs are kept, the options of the changed document say.
        let options = Options {
            surrogates: Surrogates::Keep,
            ..Options::default()
        };
        let document = from_json(text, &options)?;
        self.merge_view(&View::open(&document)?)
    }

    /// As [`merge`](Self::merge), of a patch that is a document itself.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub fn merge_view(&mut self, patch: &View<'_>) -> Result<()> {
        let changes = self.changes_of(patch)?;
        // One change is made or not by itself; what is shared with a state before would be copied
        // to be changed.
        let before = (changes.len() > 1).then(|| self.clone().into_changes());
        for (pointer, value) in changes {
            let made = match value {
                Some(value) => self.set(&pointer, value),
                None => match self.delete(&pointer) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                    deleted => deleted,
                },
            };
            if let Err(error) = made {
                if let Some(before) = before {
                    *self = Edit::resume(self.view(), before);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// What a patch sets and deletes, in order.
    fn changes_of(&self, patch: &View<'_>) -> Result<Vec<Change>> {
        let Value::Object(root) = patch.root()? else {
            return Ok(vec![(Vec::new(), Some(Tree::from_view(patch)?))]);
        };
        if patch.keeps_duplicates() {
            let text = "a merge patch in which a name may be there twice";
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        let mut changes = Vec::new();
        let object_at = |pointer: &[u8], is_new: bool| -> Result<(bool, Option<Change>)> {
            let is_new = is_new || !self.is_object(pointer)?;
            Ok((
                is_new,
                is_new.then(|| (pointer.to_vec(), Some(Tree::object([])))),
            ))
        };
        let (is_new, change) = object_at(&[], false)?;
        changes.extend(change);
        // Objects of the patch that are left, each with the pointer to what it is merged into, and
        // whether that is a new one, whatever lies there now.
        let mut left = vec![(Vec::new(), root, is_new)];
        while let Some((at, object, is_new)) = left.pop() {
            for entry in object.entries() {
                let (id, value) = entry?;
                let mut pointer = at.clone();
                push(&mut pointer, patch.name(id)?);
                match value {
                    Value::Null if is_new || self.get(&pointer)?.is_none() => {}
                    Value::Null => changes.push((pointer, None)),
                    Value::Object(inner) => {
                        let (is_new, change) = object_at(&pointer, is_new)?;
                        changes.extend(change);
                        left.push((pointer, inner, is_new));
                    }
                    other => changes.push((pointer, Some(Tree::of(patch, &other)?))),
                }
            }
        }
        Ok(changes)
    }

    fn is_object(&self, pointer: &[u8]) -> Result<bool> {
        let found = self.get(pointer)?;
        Ok(matches!(
            found,
            Some(Current::Object(_) | Current::Value(Value::Object(_)))
        ))
    }
}
