//! What lies over a document that is edited: only what was changed, and the way to it.
//!
//! Containers are shared until one of those who share them changes: to keep what was there before,
//! and to copy, costs nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::pieces::Pieces;
use crate::blit::{Place, Value, View};
use crate::Result;

/// A value that may have been changed.
#[derive(Clone, Debug)]
pub(in crate::blit) enum Over {
    /// As it lies in the document.
    Base(Place),
    Scalar(Scalar),
    Array(Arc<Pieces>),
    Object(Arc<Members>),
}

/// A value that holds no others, by itself.
#[derive(Clone, Debug)]
pub(in crate::blit) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    NumText(Arc<str>),
    Str(Arc<str>),
    Wtf8(Arc<[u8]>),
    Bytes(Arc<[u8]>),
}

impl Scalar {
    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Float(value) => Value::Float(*value),
            Self::NumText(text) => Value::NumText(text),
            Self::Str(text) => Value::Str((&**text).into()),
            Self::Wtf8(text) => Value::Wtf8(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

impl Over {
    /// A value of the document.
    pub(super) fn of(value: &Value<'_>) -> Self {
        Self::Scalar(match value {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(*value),
            Value::Int(value) => Scalar::Int(*value),
            Value::Uint(value) => Scalar::Uint(*value),
            Value::Float(value) => Scalar::Float(*value),
            Value::NumText(text) => Scalar::NumText((*text).into()),
            Value::Str(text) => Scalar::Str(text.as_ref().into()),
            Value::Wtf8(text) => Scalar::Wtf8((*text).into()),
            Value::Bytes(bytes) => Scalar::Bytes((*bytes).into()),
            Value::Array(array) => return Self::Base(array.place()),
            Value::Object(object) => return Self::Base(object.place()),
        })
    }

    /// Makes it one that can be changed.
    pub(super) fn touch(&mut self, view: &View<'_>) -> Result<()> {
        let Self::Base(place) = *self else {
            return Ok(());
        };
        *self = match view.at(place)? {
            Value::Array(array) => Self::Array(Arc::new(Pieces::over(place, array.len()))),
            Value::Object(_) => Self::Object(Arc::new(Members::over(place))),
            scalar => Self::of(&scalar),
        };
        Ok(())
    }

    /// The containers in it that nobody else has, for [`release`].
    fn children(&mut self) -> Vec<Self> {
        match std::mem::replace(self, Self::Scalar(Scalar::Null)) {
            Self::Array(pieces) => Arc::into_inner(pieces).map(|mut pieces| pieces.empty()),
            Self::Object(members) => Arc::into_inner(members).map(|mut members| members.empty()),
            _ => None,
        }
        .unwrap_or_default()
    }
}

/// Drops values level by level: however deep they are, the stack stays as it is.
pub(super) fn release(values: Vec<Over>) {
    let mut left = values;
    while let Some(mut value) = left.pop() {
        left.append(&mut value.children());
    }
}

/// The names of an object, as they lie in a document, and what was changed.
#[derive(Clone, Debug, Default)]
pub(in crate::blit) struct Members {
    pub(super) base: Option<Place>,
    /// Names of the base that have another value, or none.
    pub(super) changed: HashMap<Arc<[u8]>, Option<Over>>,
    /// Other names, in order; None where one is gone again.
    pub(super) added: Vec<(Arc<[u8]>, Option<Over>)>,
    places: HashMap<Arc<[u8]>, usize>,
    gone: usize,
}

/// What an object has of a name.
pub(super) enum Member<'m> {
    None,
    /// What the base has, if it has it.
    Base,
    Over(&'m Over),
}

impl Members {
    fn over(place: Place) -> Self {
        let mut members = Self::default();
        members.base = Some(place);
        members
    }

    pub(super) fn get(&self, name: &[u8]) -> Member<'_> {
        if let Some((_, Some(over))) = self.places.get(name).and_then(|&at| self.added.get(at)) {
            return Member::Over(over);
        }
        match self.changed.get(name) {
            Some(Some(over)) => Member::Over(over),
            Some(None) => Member::None,
            None => Member::Base,
        }
    }

    /// The value of a name, to be changed; None if there is none.
    pub(super) fn get_mut(&mut self, view: &View<'_>, key: &[u8]) -> Result<Option<&mut Over>> {
        if let Some(&at) = self.places.get(key) {
            return Ok(self.added.get_mut(at).and_then(|(_, over)| over.as_mut()));
        }
        if !self.changed.contains_key(key) {
            let Some(value) = in_base(self.base, view, key)? else {
                return Ok(None);
            };
            self.changed.insert(key.into(), Some(Over::of(&value)));
        }
        Ok(self.changed.get_mut(key).and_then(Option::as_mut))
    }

    /// Gives a name a value: in its place if it has one, else behind the others.
    pub(super) fn set(&mut self, view: &View<'_>, name: &[u8], over: Over) -> Result<()> {
        if let Some(place) = self.get_mut(view, name)? {
            *place = over;
        } else {
            self.push(name.into(), over);
        }
        Ok(())
    }

    /// Adds a name that is not there.
    fn push(&mut self, name: Arc<[u8]>, over: Over) {
        self.places.insert(name.clone(), self.added.len());
        self.added.push((name, Some(over)));
    }

    /// Gives a name a value, where there is no base: the last one counts, at the first place.
    pub(super) fn put(&mut self, name: Arc<[u8]>, over: Over) {
        match self
            .places
            .get(&name)
            .and_then(|&at| self.added.get_mut(at))
        {
            Some((_, place)) => *place = Some(over),
            None => self.push(name, over),
        }
    }

    /// Takes a name and its value away.
    pub(super) fn remove(&mut self, view: &View<'_>, key: &[u8]) -> Result<Option<Over>> {
        if let Some(at) = self.places.remove(key) {
            let found = self.added.get_mut(at).and_then(|(_, over)| over.take());
            self.gone = self.gone.saturating_add(1);
            if self.gone > 16 && self.gone > self.added.len() / 2 {
                self.added.retain(|(_, over)| over.is_some());
                self.gone = 0;
                let names = self.added.iter().enumerate();
                self.places = names.map(|(at, (name, _))| (name.clone(), at)).collect();
            }
            return Ok(found);
        }
        if let Some(known) = self.changed.get_mut(key) {
            return Ok(known.take());
        }
        let found = in_base(self.base, view, key)?;
        let found = found.map(|value| Over::of(&value));
        if found.is_some() {
            self.changed.insert(key.into(), None);
        }
        Ok(found)
    }

    fn empty(&mut self) -> Vec<Over> {
        let changed = std::mem::take(&mut self.changed).into_values();
        let added = std::mem::take(&mut self.added)
            .into_iter()
            .map(|(_, over)| over);
        changed.chain(added).flatten().collect()
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        release(self.empty());
    }
}

/// What the base of an object has of a name.
pub(super) fn in_base<'v>(
    base: Option<Place>,
    view: &'v View<'_>,
    name: &[u8],
) -> Result<Option<Value<'v>>> {
    match base.map(|place| view.at(place)).transpose()? {
        Some(Value::Object(object)) => object.get_wtf8(name),
        _ => Ok(None),
    }
}
