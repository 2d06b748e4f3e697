//! What metadata says of columns: the key `r`, and the notes of a field.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Field;

use super::super::loss::LossKind;
use super::super::model::{Body, RObject, NA_INT};
use super::super::Graft;
use super::from::{From, Made};
use super::widths::Width;
use super::{extra, read_r_key, rows, ATTRIBUTES_KEY, TYPE_KEY};
use crate::Result;

/// What a field says of the R type behind it: `kind=storage,rest`.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    pub kind: String,
    pub storage: String,
    pub rest: String,
    /// Whether rows of fixed size were a matrix.
    pub matrix: bool,
    attributes: Option<String>,
}

impl Notes {
    pub fn of(field: &Field, wanted: bool) -> Self {
        let mut notes = Self::default();
        if !wanted {
            return notes;
        }
        notes.attributes = field.metadata().get(ATTRIBUTES_KEY).cloned();
        let mut text = field.metadata().get(TYPE_KEY).map_or("", String::as_str);
        if let Some(rest) = text.strip_prefix("matrix") {
            notes.matrix = true;
            text = rest.trim_start_matches(':');
        }
        let (kind, rest) = text.split_once(',').unwrap_or((text, ""));
        let (kind, storage) = kind.split_once('=').unwrap_or((kind, ""));
        notes.kind = kind.to_string();
        notes.storage = storage.to_string();
        notes.rest = rest.to_string();
        notes
    }

    pub fn has_attributes(&self) -> bool {
        self.attributes.is_some()
    }

    /// What a matrix says of its items.
    pub fn item_metadata(&self) -> HashMap<String, String> {
        let mut text = self.kind.clone();
        for (mark, part) in [('=', &self.storage), (',', &self.rest)] {
            if !part.is_empty() {
                text.push(mark);
                text.push_str(part);
            }
        }
        HashMap::from([(TYPE_KEY.to_string(), text)])
    }
}

/// A part of the value of the key: `list(attributes = , columns = )`, `NULL`, or nothing at all.
#[derive(Clone, Debug)]
pub struct Key {
    object: Option<RObject>,
    /// Its columns, looked up once for all of them.
    columns: OnceCell<Option<Columns>>,
    /// In lists, what the whole numbers of all rows need.
    width: Option<Arc<Width>>,
}

/// The columns of a key, and where each name first stands.
#[derive(Clone, Debug)]
struct Columns {
    list: RObject,
    names: Vec<Option<String>>,
    places: HashMap<String, usize>,
}

impl Columns {
    fn of(key: &RObject) -> Option<Self> {
        let list = key.get("columns")?;
        let names = list.names()?;
        let mut places = HashMap::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            if let Some(name) = name {
                places.entry(name.clone()).or_insert(at);
            }
        }
        Some(Self {
            list,
            names,
            places,
        })
    }

    /// Names may repeat; then the place decides.
    fn find(&self, at: usize, name: &str) -> Option<RObject> {
        let here = self.names.get(at).and_then(Option::as_deref) == Some(name);
        let at = if here { at } else { *self.places.get(name)? };
        self.list.child(at)
    }
}

impl Key {
    pub fn new(object: Option<RObject>) -> Self {
        Self {
            object,
            columns: OnceCell::new(),
            width: None,
        }
    }

    /// No key, but what the numbers of all rows need.
    pub fn of_width(width: Option<Arc<Width>>) -> Self {
        Self {
            width,
            ..Self::new(None)
        }
    }

    pub fn width(&self) -> Option<&Width> {
        self.width.as_deref()
    }

    /// The part of a column: by name where the key has names, as it has for R's arrow package.
    pub fn column(&self, at: usize, name: &str) -> Self {
        let Some(object) = &self.object else {
            let inner = self.width.as_ref().and_then(|width| width.child(at));
            return Self::of_width(inner);
        };
        let columns = self.columns.get_or_init(|| Columns::of(object));
        let found = columns.as_ref().and_then(|columns| columns.find(at, name));
        // A key without columns says of each that there is nothing to put back.
        let none = object.at(super::super::Id::NULL);
        Self::new(Some(found.unwrap_or(none)))
    }

    fn attributes(&self) -> Option<RObject> {
        self.object.as_ref()?.get("attributes")
    }

    pub fn has_class(&self) -> bool {
        self.attributes()
            .is_some_and(|list| list.get("class").is_some())
    }

    /// Whether a key is there that names no class, as R's arrow package does for tibbles.
    pub fn is_tibble(&self) -> bool {
        self.object.is_some() && !self.has_class()
    }
}

impl From<'_> {
    /// Gives a vector the attributes that metadata keeps for it; those of the key come last.
    pub(super) fn put_back(&mut self, made: &mut Made, notes: &Notes, key: &Key) -> Result<()> {
        let mut digest = None;
        if let Some(text) = &notes.attributes {
            let list = read_r_key(text)?;
            digest = list.get(rows::DIGEST);
            self.put_rows(made, &list)?;
            if list.get(extra::S4).is_some() {
                if let Some(node) = self.build.node_mut(made.id) {
                    node.levels |= extra::S4_BIT;
                }
            }
            self.put_list(made, &list)?;
        }
        let Some(list) = key.attributes() else {
            return Ok(());
        };
        let stale = self.stale(made, &list, digest.as_ref())?;
        self.put_list(made, &list)?;
        if stale {
            made.attributes
                .retain(|(name, _)| !rows::ORDER.contains(&name.as_ref()));
        }
        Ok(())
    }

    /// Whether a table of data.table has an order in its metadata that its rows no longer have:
    /// data.table searches in them as sorted and does not look.
    fn stale(&mut self, made: &Made, list: &RObject, digest: Option<&RObject>) -> Result<bool> {
        let class = list.get("class").and_then(|class| class.texts());
        let table =
            class.is_some_and(|class| class.iter().any(|one| one.as_deref() == Some("data.table")));
        let order = rows::ORDER.iter().filter(|name| list.get(name).is_some());
        let order: Vec<&str> = order.copied().collect();
        if !table || order.is_empty() || self.same_rows(made, digest)? {
            return Ok(false);
        }
        for name in order {
            let (kind, r) = (
                LossKind::AttributeDropped,
                "an order of rows that are others now",
            );
            self.losses.add_at(&format!("@{name}"), kind, r, "", 1)?;
        }
        Ok(true)
    }

    /// Whether the rows are those that the digest was made of.
    fn same_rows(&self, made: &Made, digest: Option<&RObject>) -> Result<bool> {
        let Some(digest) = digest else {
            return Ok(false);
        };
        let arena = self.build.arena();
        let now = rows::digest(arena, arena.elements(made.id).iter().copied());
        Ok(match (&now, digest.data()?) {
            (Body::Character(now), Body::Character(then)) => now.get(0) == then.get(0),
            _ => false,
        })
    }

    /// Gives a data frame its names of rows again, where its rows are those that had them.
    fn put_rows(&mut self, made: &mut Made, list: &RObject) -> Result<()> {
        let (Some(names), Some(digest)) = (list.get("row.names"), list.get(rows::DIGEST)) else {
            return Ok(());
        };
        let arena = self.build.arena();
        let place = made
            .attributes
            .iter()
            .position(|(known, _)| known == "row.names");
        let automatic = place.and_then(|at| made.attributes.get(at));
        let Some((_, automatic)) = automatic else {
            return Ok(()); // no data frame
        };
        let count = match arena.integers_of(*automatic) {
            Some([NA_INT, rows]) => usize::try_from(rows.unsigned_abs()).unwrap_or(0),
            _ => 0,
        };
        let same = self.same_rows(made, Some(&digest))?;
        if !same || names.length() != count {
            let (kind, r) = (
                LossKind::RowNamesDropped,
                "names of rows that are others now",
            );
            let count = names.length() as u64;
            return self.losses.add_at("@row.names", kind, r, "", count);
        }
        let (copy, _) = self.build.graft(&names, Graft::Data)?;
        if let Some((_, old)) = place.and_then(|at| made.attributes.get_mut(at)) {
            *old = copy;
        }
        Ok(())
    }

    fn put_list(&mut self, made: &mut Made, list: &RObject) -> Result<()> {
        let names = list.names().unwrap_or_default();
        for (at, name) in names.into_iter().enumerate() {
            let (Some(name), Some(value)) = (name, list.child(at)) else {
                continue;
            };
            // What the array itself says is not for metadata to change.
            let own = matches!(name.as_str(), extra::S4 | rows::DIGEST);
            if own || matches!(name.as_str(), "levels" | "row.names" | "") {
                continue;
            }
            if name == "names" && made.attributes.iter().any(|(known, _)| known == "names") {
                continue;
            }
            let (copy, _) = self.build.graft(&value, Graft::Data)?;
            if copy.is_null() {
                continue;
            }
            match made.attributes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, old)) => *old = copy,
                None => made.attributes.push((Cow::Owned(name), copy)),
            }
        }
        Ok(())
    }
}
