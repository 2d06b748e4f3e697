//! Some columns of a data frame: the others are read past and not kept.
//!
//! The names of columns stand behind their values. A file is gone through once for the names and
//! once for the columns that they name; only a stream that cannot be begun anew is read whole.

use std::sync::Arc;

use super::model::{Arena, Body, Id, RObject};
use super::Strings;
use crate::{Error, ErrorKind, Result};

/// Which columns of a data frame are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Those of these names, in the order of the file; of names that stand twice each.
    Named(Vec<String>),
    /// Those at these places, from 0 on; in place of each other stands `NULL`.
    At(Vec<usize>),
}

/// The places of the columns of these names; None for what is no data frame.
pub(super) fn places(object: &RObject, wanted: &[String]) -> Result<Option<Vec<usize>>> {
    let arena = object.arena();
    let list = matches!(object.node().body, Body::List(_));
    if !list || !arena.inherits(object.id(), "data.frame") {
        return Ok(None);
    }
    let names: Vec<String> = object
        .names()
        .unwrap_or_default()
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    if let Some(missing) = wanted.iter().find(|name| !names.contains(name)) {
        let shown: String = names.join(", ").chars().take(200).collect();
        let missing: String = missing.chars().take(60).collect();
        let text = format!("there is no column {missing:?}; there are {shown}");
        return Err(Error::new(ErrorKind::Usage, text));
    }
    let found = names.iter().enumerate();
    let found = found.filter(|(_, name)| wanted.contains(name));
    Ok(Some(found.map(|(at, _)| at).collect()))
}

/// The data frame of the columns at these places.
pub(super) fn select(object: RObject, places: &[usize]) -> Result<RObject> {
    let (shared, root) = object.into_parts();
    let mut arena = Arc::try_unwrap(shared)
        .map_err(|_| Error::new(ErrorKind::Internal, "a data frame that was read twice over"))?;
    let names = arena.attribute(root, "names");
    let kept = names.and_then(|names| Some((names, kept_names(&arena, names, places)?)));
    if let Some((names, kept)) = kept {
        if let Some(node) = arena.nodes.get_mut(names.index()) {
            node.body = Body::Character(Box::new(kept));
        }
    }
    let Some(Body::List(children)) = arena.nodes.get_mut(root.index()).map(|node| &mut node.body)
    else {
        return Ok(RObject::new(Arc::new(arena), root));
    };
    let all = std::mem::take(children);
    *children = places
        .iter()
        .filter_map(|at| all.get(*at).copied())
        .collect();
    let kept: std::collections::HashSet<Id> = children.iter().copied().collect();
    for id in all.into_iter().filter(|id| !kept.contains(id)) {
        arena.empty(id);
    }
    Ok(RObject::new(Arc::new(arena), root))
}

fn kept_names(arena: &Arena, names: Id, places: &[usize]) -> Option<Strings> {
    let strings = arena.strings_of(names)?;
    let mut kept = Strings::default();
    for at in places {
        let text = strings.get(*at)?;
        match text.bytes {
            Some(bytes) => kept.push(bytes, text.levels),
            None => kept.push_na(),
        }
    }
    Some(kept)
}

impl Arena {
    /// Gives up the elements of a vector of numbers or strings that nothing else is in.
    pub(super) fn empty(&mut self, id: Id) {
        let Some(node) = self.nodes.get_mut(id.index()) else {
            return;
        };
        match &mut node.body {
            Body::Logical(values) | Body::Integer(values) => *values = Vec::new(),
            Body::Double(values) => *values = Vec::new(),
            Body::Complex(values) => *values = Vec::new(),
            Body::Raw(values) => *values = Vec::new(),
            Body::Character(strings) => **strings = Strings::default(),
            _ => {}
        }
    }
}
