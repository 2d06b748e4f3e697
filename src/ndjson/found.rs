//! What the values of columns were, where their types are found: of several blocks, together.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Fields};
use hashbrown::HashMap;

use super::{Change, ChangeKind, EXACT};
use crate::{Error, ErrorKind, Result};

/// The values of one path.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// How many objects had the name, null or not.
    pub(super) present: u64,
    /// How many were no null.
    pub(super) values: u64,
    /// How many whole numbers are doubles.
    pub(super) whole: u64,
    pub(super) kind: Kind,
}

/// What they are.
#[derive(Debug, Clone, Default)]
pub(super) enum Kind {
    #[default]
    Null,
    Bool,
    /// The least and the greatest, or zero.
    Int(i64, i64),
    Uint,
    Float,
    Text,
    List(Box<Found>),
    Object(Names),
}

/// What stands under each name, in the order in which names first appear.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    found: Vec<(Box<str>, Found)>,
    /// Where each is, once the order of some was another.
    places: HashMap<Box<str>, usize>,
}

impl Kind {
    pub(super) fn of_ints(array: &ArrayRef) -> Self {
        let Some(array) = array.as_primitive_opt::<Int64Type>() else {
            return Self::Int(0, 0);
        };
        // What is null there is zero.
        let values = array.values().iter();
        let (least, most) = values.fold((0, 0), |(least, most): (i64, i64), &value| {
            (least.min(value), most.max(value))
        });
        Self::Int(least, most)
    }

    /// Of a type alone.
    fn of_type(kind: &DataType) -> Self {
        match kind {
            DataType::Boolean => Self::Bool,
            DataType::Int64 => Self::Int(0, 0),
            DataType::UInt64 => Self::Uint,
            DataType::Float64 => Self::Float,
            DataType::Utf8 => Self::Text,
            DataType::List(field) => Self::List(Box::new(Found::of_type(field.data_type()))),
            DataType::Struct(fields) => Self::Object(Names::of_fields(fields)),
            _ => Self::Null,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int(..) => DataType::Int64,
            Self::Uint => DataType::UInt64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8,
            Self::List(item) => {
                DataType::List(Field::new("item", item.kind.data_type(), true).into())
            }
            Self::Object(names) => DataType::Struct(names.fields()),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "booleans",
            Self::Int(..) | Self::Uint => "whole numbers",
            Self::Float => "doubles",
            Self::Text => "texts",
            Self::List(_) => "lists",
            Self::Object(_) => "objects",
        }
    }
}

impl Found {
    fn of_type(kind: &DataType) -> Self {
        Self {
            kind: Kind::of_type(kind),
            ..Self::default()
        }
    }

    /// Adds what was found in later lines.
    ///
    /// # Errors
    /// `Malformed`: no one type holds all of them.
    fn add(&mut self, later: Self) -> Result<()> {
        self.present = self.present.saturating_add(later.present);
        self.whole = self.whole.saturating_add(later.whole);
        let (before, values) = (self.values, later.values);
        self.values = before.saturating_add(values);
        let kind = std::mem::take(&mut self.kind);
        self.kind = match (kind, later.kind) {
            (Kind::Null, kind) | (kind, Kind::Null) => kind,
            (Kind::Bool, Kind::Bool) => Kind::Bool,
            (Kind::Uint, Kind::Uint) => Kind::Uint,
            (Kind::Float, Kind::Float) => Kind::Float,
            (Kind::Text, Kind::Text) => Kind::Text,
            (Kind::Int(a, b), Kind::Int(c, d)) => Kind::Int(a.min(c), b.max(d)),
            (Kind::Int(least, most), Kind::Float) if is_exact(least, most) => {
                self.whole = self.whole.saturating_add(before);
                Kind::Float
            }
            (Kind::Float, Kind::Int(least, most)) if is_exact(least, most) => {
                self.whole = self.whole.saturating_add(values);
                Kind::Float
            }
            (Kind::Int(least, _), Kind::Uint) | (Kind::Uint, Kind::Int(least, _)) if least >= 0 => {
                Kind::Uint
            }
            (Kind::List(mut item), Kind::List(other)) => {
                item.add(*other)?;
                Kind::List(item)
            }
            (Kind::Object(mut names), Kind::Object(others)) => {
                names.add(others)?;
                Kind::Object(names)
            }
            (Kind::Int(..), Kind::Float | Kind::Uint)
            | (Kind::Float | Kind::Uint, Kind::Int(..)) => {
                return Err(apart(
                    "whole numbers that no one type holds with the others",
                ));
            }
            (a, b) => {
                return Err(apart(&format!("{} and {}", a.word(), b.word())));
            }
        };
        Ok(())
    }

    fn changes(&self, of: &str, path: &str, changes: &mut Vec<Change>) {
        if self.whole > 0 {
            changes.push(Change {
                column: of.to_owned(),
                path: path.to_owned(),
                kind: ChangeKind::Whole,
                count: self.whole,
            });
        }
        match &self.kind {
            Kind::List(item) => item.changes(of, &format!("{path}[]"), changes),
            Kind::Object(names) => names.changes(Some((of, path)), self.values, changes),
            _ => {}
        }
    }
}

impl Names {
    pub(super) fn of_fields(fields: &Fields) -> Self {
        let mut names = Self::default();
        for field in fields {
            names.push(field.name(), Found::of_type(field.data_type()));
        }
        names
    }

    pub(super) fn push(&mut self, name: &str, found: Found) {
        if !self.places.is_empty() {
            self.places.insert(name.into(), self.found.len());
        }
        self.found.push((name.into(), found));
    }

    /// Adds what later objects had.
    ///
    /// # Errors
    /// `Malformed`: no one type holds all values of a name.
    pub(super) fn add(&mut self, later: Self) -> Result<()> {
        for (likely, (name, found)) in later.found.into_iter().enumerate() {
            let place = match self.found.get(likely) {
                Some(known) if known.0 == name => Some(likely),
                _ => self.place(&name),
            };
            let Some((_, known)) = place.and_then(|place| self.found.get_mut(place)) else {
                self.push(&name, found);
                continue;
            };
            known.add(found).map_err(|error| within(error, &name))?;
        }
        Ok(())
    }

    fn place(&mut self, name: &str) -> Option<usize> {
        if self.places.is_empty() {
            let names = self.found.iter().map(|one| one.0.clone());
            self.places = names.zip(0..).collect();
        }
        self.places.get(name).copied()
    }

    pub(super) fn fields(&self) -> Fields {
        let fields = self.found.iter();
        let fields = fields.map(|(name, one)| Field::new(&**name, one.kind.data_type(), true));
        fields.collect()
    }

    /// What columns of these types make of so many objects, below a column and a path in it; those of a table have nothing above.
    pub(super) fn changes(
        &self,
        above: Option<(&str, &str)>,
        objects: u64,
        changes: &mut Vec<Change>,
    ) {
        for (name, found) in &self.found {
            let (of, path) = match above {
                None => (&**name, name.to_string()),
                Some((of, above)) => (of, format!("{above}.{name}")),
            };
            let missing = objects.saturating_sub(found.present);
            if missing > 0 {
                changes.push(Change {
                    column: of.to_owned(),
                    path: path.clone(),
                    kind: ChangeKind::Missing,
                    count: missing,
                });
            }
            found.changes(of, &path, changes);
        }
    }
}

/// Whether all whole numbers between two, and zero, are doubles.
fn is_exact(least: i64, most: i64) -> bool {
    least.unsigned_abs() <= EXACT && most.unsigned_abs() <= EXACT
}

/// Values that no one type holds.
#[cold]
pub(super) fn apart(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text).with_format("ndjson")
}

/// Says which name an error lies in.
#[cold]
pub(super) fn within(error: Error, name: &str) -> Error {
    let name: String = name.chars().take(60).collect();
    error.within(&format!("{name}: "), "")
}
