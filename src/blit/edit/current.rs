//! What is read of a document that is being changed.

use std::borrow::Cow;

use super::over::{in_base, Member, Members, Over};
use super::pieces::{Piece, Pieces};
use super::steps::index;
use crate::blit::find::compare::Compared;
use crate::blit::{Value, View};
use crate::{Error, ErrorKind, Result};

/// A value as it is now.
#[derive(Clone, Debug)]
pub enum Current<'e> {
    /// One that holds no others, or in which nothing was changed.
    Value(Value<'e>),
    /// An array that was changed.
    Array(CurrentArray<'e>),
    /// An object that was changed.
    Object(CurrentObject<'e>),
}

/// An array with its changes.
#[derive(Clone, Copy, Debug)]
pub struct CurrentArray<'e> {
    view: &'e View<'e>,
    pub(super) pieces: &'e Pieces,
}

/// An object with its changes.
#[derive(Clone, Copy, Debug)]
pub struct CurrentObject<'e> {
    view: &'e View<'e>,
    pub(super) members: &'e Members,
}

impl<'e> Current<'e> {
    pub(super) fn of(view: &'e View<'e>, over: &'e Over) -> Result<Self> {
        Ok(match over {
            Over::Base(place) => Self::Value(view.at(*place)?),
            Over::Scalar(scalar) => Self::Value(scalar.value()),
            Over::Array(pieces) => Self::Array(CurrentArray { view, pieces }),
            Over::Object(members) => Self::Object(CurrentObject { view, members }),
        })
    }

    /// What a step of a pointer leads to.
    pub(super) fn step(&self, step: &[u8]) -> Result<Option<Self>> {
        match self {
            Self::Object(object) => object.named(step),
            Self::Value(Value::Object(object)) => Ok(object.get_wtf8(step)?.map(Self::Value)),
            _ => match index(step).filter(|&i| self.elements().is_some_and(|n| i < n)) {
                Some(i) => self.element(i).map(Some),
                None => Ok(None),
            },
        }
    }
}

impl<'e> CurrentArray<'e> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i`.
    ///
    /// # Errors
    /// `NotFound` from the length on; `Malformed`.
    pub fn get(&self, i: usize) -> Result<Current<'e>> {
        match self.pieces.get(i) {
            Some((Piece::One(over), _)) => Current::of(self.view, over),
            Some((Piece::Run { from, .. }, within)) => {
                let base = self
                    .pieces
                    .base
                    .map(|place| self.view.at(place))
                    .transpose()?;
                match base {
                    Some(Value::Array(array)) => {
                        array.get(from.saturating_add(within)).map(Current::Value)
                    }
                    _ => Err(no_element(i, self.len())),
                }
            }
            None => Err(no_element(i, self.len())),
        }
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Current<'e>>> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

fn no_element(i: usize, n: usize) -> Error {
    let text = format!("no element {i}: there are {n}");
    Error::new(ErrorKind::NotFound, text).with_format("blit")
}

impl<'e> CurrentObject<'e> {
    /// The value of a name; None if it is not there.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn get(&self, name: &str) -> Result<Option<Current<'e>>> {
        self.named(name.as_bytes())
    }

    fn named(&self, name: &[u8]) -> Result<Option<Current<'e>>> {
        match self.members.get(name) {
            Member::None => Ok(None),
            Member::Over(over) => Current::of(self.view, over).map(Some),
            Member::Base => {
                let found = in_base(self.members.base, self.view, name)?;
                Ok(found.map(Current::Value))
            }
        }
    }

    /// Names and values, in order: those of the document, then those that were added.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn entries(&self) -> Result<Vec<(Cow<'e, str>, Current<'e>)>> {
        let mut all = Vec::new();
        let base = self
            .members
            .base
            .map(|place| self.view.at(place))
            .transpose()?;
        if let Some(Value::Object(object)) = base {
            let mut changed = Vec::new();
            for entry in object.iter() {
                let (name, value) = entry?;
                match self.members.changed.get(name.as_bytes()) {
                    None => all.push((name, Current::Value(value))),
                    // Where a document has a name twice, a change leaves it once.
                    Some(Some(over)) if !changed.contains(&name) => {
                        changed.push(name.clone());
                        all.push((name, Current::of(self.view, over)?));
                    }
                    Some(_) => {}
                }
            }
        }
        for (name, over) in &self.members.added {
            if let Some(over) = over {
                all.push((String::from_utf8_lossy(name), Current::of(self.view, over)?));
            }
        }
        Ok(all)
    }
}

impl<'e> Compared<'e> for Current<'e> {
    fn scalar(&self) -> Option<Value<'e>> {
        match self {
            Self::Value(value) => value.scalar(),
            _ => None,
        }
    }

    fn elements(&self) -> Option<usize> {
        match self {
            Self::Value(value) => value.elements(),
            Self::Array(array) => Some(array.len()),
            Self::Object(_) => None,
        }
    }

    fn element(&self, i: usize) -> Result<Self> {
        match self {
            Self::Value(value) => value.element(i).map(Self::Value),
            Self::Array(array) => array.get(i),
            Self::Object(_) => Ok(Self::Value(Value::Null)),
        }
    }

    fn member(&self, name: &str) -> Result<Option<Self>> {
        match self {
            Self::Value(value) => Ok(value.member(name)?.map(Self::Value)),
            Self::Object(object) => object.get(name),
            Self::Array(_) => Ok(None),
        }
    }

    fn members(&self) -> Result<Vec<(String, Self)>> {
        match self {
            Self::Value(value) => {
                let all = value.members()?.into_iter();
                Ok(all
                    .map(|(name, value)| (name, Self::Value(value)))
                    .collect())
            }
            Self::Object(object) => {
                let all = object.entries()?.into_iter();
                Ok(all
                    .map(|(name, value)| (name.into_owned(), value))
                    .collect())
            }
            Self::Array(_) => Ok(Vec::new()),
        }
    }
}
