//! A document laid over another: JSON Merge Patch, as defined in RFC 7396.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use super::{from_json, Current, Edit, ObjectView, Options, Tree, Value, View};
use crate::Result;

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
        let document = from_json(text, &Options::default())?;
        self.merge_view(&View::open(&document)?)
    }

    /// As [`merge`](Self::merge), of a patch that is a document itself.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub fn merge_view(&mut self, patch: &View<'_>) -> Result<()> {
        let before = self.clone().into_changes();
        let merged = self.merge_all(patch);
        if merged.is_err() {
            *self = Edit::resume(self.view(), before);
        }
        merged
    }

    fn merge_all(&mut self, patch: &View<'_>) -> Result<()> {
        let Value::Object(root) = patch.root()? else {
            return self.set("", Tree::from_view(patch)?);
        };
        self.be_object("")?;
        // Objects of the patch that are left, each with the pointer to what it is merged into.
        let mut left = vec![(String::new(), root)];
        while let Some((at, object)) = left.pop() {
            self.merge_one(patch, &at, &object, &mut left)?;
        }
        Ok(())
    }

    fn merge_one<'p>(
        &mut self,
        patch: &'p View<'_>,
        at: &str,
        object: &ObjectView<'p>,
        left: &mut Vec<(String, ObjectView<'p>)>,
    ) -> Result<()> {
        for entry in object.iter() {
            let (name, value) = entry?;
            let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            match value {
                Value::Null => {
                    if self.get(&pointer)?.is_some() {
                        self.delete(&pointer)?;
                    }
                }
                Value::Object(inner) => {
                    self.be_object(&pointer)?;
                    left.push((pointer, inner));
                }
                other => self.set(&pointer, Tree::of(patch, &other)?)?,
            }
        }
        Ok(())
    }

    /// Makes the value at a pointer an empty object, unless it is an object.
    fn be_object(&mut self, pointer: &str) -> Result<()> {
        match self.get(pointer)? {
            Some(Current::Object(_) | Current::Value(Value::Object(_))) => Ok(()),
            _ => self.set(pointer, Tree::object([])),
        }
    }
}
