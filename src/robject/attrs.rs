//! What R code asks first of an object: its names, class, dimensions and marks.

use super::kind::{Kind, Special};
use super::model::{Arena, Body, Id, RObject};
use super::strings::Strings;
use super::text::Recoder;
use crate::Result;

/// The symbol that stands for `NULL` in a slot.
const NULL_SLOT: &[u8] = b"\x01NULL\x01";

impl Arena {
    /// The strings of a character vector, also of a deferred one; None for other nodes.
    #[must_use]
    pub fn strings_of(&self, id: Id) -> Option<&Strings> {
        match self.data(id, None) {
            Ok(Body::Character(strings)) => Some(strings),
            _ => None,
        }
    }

    /// The integers of an integer or logical vector, also of a deferred one; None for others.
    #[must_use]
    pub fn integers_of(&self, id: Id) -> Option<&[i32]> {
        match self.data(id, None) {
            Ok(Body::Integer(values) | Body::Logical(values)) => Some(values),
            _ => None,
        }
    }

    /// Whether the class attribute names this class.
    #[must_use]
    pub fn inherits(&self, id: Id, class: &str) -> bool {
        let strings = self
            .attribute(id, "class")
            .and_then(|at| self.strings_of(at));
        strings.is_some_and(|strings| {
            strings
                .iter()
                .any(|text| text.bytes == Some(class.as_bytes()))
        })
    }

    /// The elements of a list or expression; none for other nodes.
    #[must_use]
    pub fn elements(&self, id: Id) -> &[Id] {
        match &self.node(self.unwrapped(id)).body {
            Body::List(values) | Body::Expression(values) => values,
            _ => &[],
        }
    }

    /// How many rows a data frame has: from `row.names`, in any of their forms.
    #[must_use]
    pub fn rows(&self, id: Id) -> Option<usize> {
        let names = self.attribute(id, "row.names")?;
        if let Ok(Body::Integer(values)) = self.data(names, None) {
            // NA, then the number of rows; negative where the names are not of a user.
            if let [super::model::NA_INT, rows] = values.as_slice() {
                return usize::try_from(rows.unsigned_abs()).ok();
            }
        }
        if let Ok(Body::Double(values)) = self.data(names, None) {
            if let [first, rows] = values.as_slice() {
                if first.is_nan() && rows.abs() < 4_503_599_627_370_496.0 {
                    #[allow(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a whole number below 2^52"
                    )]
                    return Some(rows.abs() as usize);
                }
            }
        }
        Some(self.length(names))
    }
}

impl RObject {
    /// The type, as R's `typeof` says.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.arena().kind(self.id())
    }

    /// How many elements it has: as R's `length`, without making a deferred vector.
    #[must_use]
    pub fn length(&self) -> usize {
        match &self.node().body {
            Body::Environment { .. } => self.bindings().len(),
            _ => self.arena().length(self.id()),
        }
    }

    /// The text of all strings of a character vector, None for NA; bytes that are no text as R
    /// prints them. None for other objects.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<Option<String>>> {
        let recoder = Recoder::of(self.arena());
        let strings = self.arena().strings_of(self.id())?;
        let decoded = strings.iter().map(|text| recoder.decode(text));
        Some(
            decoded
                .map(|text| Some(text?.shown().into_owned()))
                .collect(),
        )
    }

    /// The values of an attribute that is a character vector.
    #[must_use]
    pub fn attribute_texts(&self, name: &str) -> Option<Vec<Option<String>>> {
        self.at(self.arena().attribute(self.id(), name)?).texts()
    }

    /// The names of the elements, None for each that has none; None where there are none at all.
    ///
    /// Those of a pairlist or call are its tags, an empty name where a cell has none.
    #[must_use]
    pub fn names(&self) -> Option<Vec<Option<String>>> {
        if let Body::Pairs { cells, .. } = &self.node().body {
            if cells.iter().all(|cell| cell.tag.is_none()) {
                return None;
            }
            let name = |tag| self.arena().symbol(tag).map(super::text::escaped);
            let names = cells.iter().map(|cell| cell.tag.and_then(name));
            return Some(names.map(|name| Some(name.unwrap_or_default())).collect());
        }
        self.attribute_texts("names")
    }

    /// The dimensions of a matrix or array; None for what is none.
    #[must_use]
    pub fn dim(&self) -> Option<Vec<u64>> {
        let arena = self.arena();
        let dim = arena.attribute(self.id(), "dim")?;
        match arena.data(dim, None).ok()? {
            Body::Integer(sizes) => sizes.iter().map(|&n| u64::try_from(n).ok()).collect(),
            _ => None,
        }
    }

    /// The class as R's `class` says: the attribute, else what the type and dimensions mean.
    #[must_use]
    pub fn class(&self) -> Vec<String> {
        if let Some(names) = self.attribute_texts("class") {
            if !names.is_empty() {
                return names.into_iter().map(Option::unwrap_or_default).collect();
            }
        }
        if let Some(dim) = self.dim() {
            let array = "array".to_string();
            return match dim.len() {
                2 => vec!["matrix".to_string(), array],
                _ => vec![array],
            };
        }
        let name = match self.kind() {
            Kind::Symbol | Kind::Mark => "name",
            Kind::Double => "numeric",
            Kind::Closure | Kind::BuiltinFunction | Kind::SpecialFunction => "function",
            Kind::Language => self.call_class(),
            kind => kind.name(),
        };
        vec![name.to_string()]
    }

    /// Calls of these are classes of their own.
    fn call_class(&self) -> &'static str {
        let first = self.arena().cells(self.id()).first();
        match first.and_then(|cell| self.arena().symbol(cell.value)) {
            Some(b"if") => "if",
            Some(b"while") => "while",
            Some(b"for") => "for",
            Some(b"=") => "=",
            Some(b"<-") => "<-",
            Some(b"(") => "(",
            Some(b"{") => "{",
            _ => "call",
        }
    }

    /// The attributes in the order of the file.
    #[must_use]
    pub fn attribute_list(&self) -> Vec<(String, RObject)> {
        let all = self.arena().attributes(self.id());
        all.map(|(name, value)| (super::text::escaped(name), self.at(value)))
            .collect()
    }

    /// The slots of an S4 object in the order of the file, its class not among them; None for
    /// other objects. A slot of `NULL` is `NULL`, not the symbol that stands for it.
    #[must_use]
    pub fn slots(&self) -> Option<Vec<(String, RObject)>> {
        let s4_bit = 1 << 4;
        if !matches!(self.node().body, Body::S4) && self.node().levels & s4_bit == 0 {
            return None;
        }
        let arena = self.arena();
        let value = |id| match arena.symbol(id) {
            Some(NULL_SLOT) => Id::NULL,
            _ => id,
        };
        let slots = arena
            .attributes(self.id())
            .filter(|(name, _)| *name != b"class");
        let named = slots.map(|(name, at)| (super::text::escaped(name), self.at(value(at))));
        Some(named.collect())
    }

    /// The bindings of an environment: names and values, sorted by name; none for other objects.
    ///
    /// A value may be a promise; the value of an active binding is the function behind it.
    #[must_use]
    pub fn bindings(&self) -> Vec<(String, RObject)> {
        let Body::Environment { frame, hashtab, .. } = self.node().body else {
            return Vec::new();
        };
        let arena = self.arena();
        let mut found = Vec::new();
        let chains = std::iter::once(frame).chain(arena.elements(hashtab).iter().copied());
        for chain in chains {
            for cell in arena.cells(chain) {
                if let Some(name) = cell.tag.and_then(|tag| arena.symbol(tag)) {
                    found.push((super::text::escaped(name), self.at(cell.value)));
                }
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// The element of a name: of a list, pairlist, environment or S4 object, the first of it.
    ///
    /// Time is linear in the number of elements: who wants many takes [`RObject::items`].
    #[must_use]
    pub fn get(&self, name: &str) -> Option<RObject> {
        let arena = self.arena();
        match &self.node().body {
            Body::Environment { frame, hashtab, .. } => {
                let chains = std::iter::once(frame).chain(arena.elements(*hashtab));
                let mut cells = chains.flat_map(|chain| arena.cells(*chain));
                cells.find_map(|cell| self.named(cell.tag?, name).then(|| self.at(cell.value)))
            }
            Body::S4 => {
                let mut slots = self.slots()?.into_iter();
                slots.find_map(|(found, value)| (found == name).then_some(value))
            }
            Body::Pairs { cells, .. } => {
                let tag = |cell: &super::Cell| cell.tag.is_some_and(|tag| self.named(tag, name));
                // A cell without a tag has an empty name, where another has one.
                let empty = name.is_empty() && cells.iter().any(|cell| cell.tag.is_some());
                let found = |cell: &&super::Cell| tag(cell) || (empty && cell.tag.is_none());
                Some(self.at(cells.iter().find(found)?.value))
            }
            _ => {
                let strings = arena.strings_of(arena.attribute(self.id(), "names")?)?;
                let recoder = Recoder::of(arena);
                let same = |text| {
                    recoder
                        .decode(text)
                        .is_some_and(|text| text.shown() == name)
                };
                self.child(strings.iter().position(same)?)
            }
        }
    }

    /// Whether a symbol is of this name.
    fn named(&self, symbol: Id, name: &str) -> bool {
        let found = self.arena().symbol(symbol);
        found.is_some_and(|bytes| {
            bytes == name.as_bytes()
                || (std::str::from_utf8(bytes).is_err() && super::text::escaped(bytes) == name)
        })
    }

    /// Names and values: bindings sorted by name, slots, or the elements of a list, pairlist or
    /// call in order; those without a name have an empty one. None for other objects.
    #[must_use]
    pub fn items(&self) -> Option<Vec<(String, RObject)>> {
        Some(match &self.node().body {
            Body::Environment { .. } => self.bindings(),
            Body::S4 => self.slots()?,
            _ => {
                let names = self.names()?.into_iter().map(Option::unwrap_or_default);
                let places = names.enumerate();
                places
                    .map_while(|(at, name)| Some((name, self.child(at)?)))
                    .collect()
            }
        })
    }

    /// Element `index`, from 0 on, of a list, expression, pairlist or call; None for others.
    #[must_use]
    pub fn child(&self, index: usize) -> Option<RObject> {
        match &self.node().body {
            Body::Pairs { cells, .. } => Some(self.at(cells.get(index)?.value)),
            _ => Some(self.at(*self.arena().elements(self.id()).get(index)?)),
        }
    }

    /// The content of a vector; that of a deferred one is made on the first call.
    ///
    /// # Errors
    /// As [`Arena::data`].
    pub fn data(&self) -> Result<&Body> {
        self.arena().data(self.id(), None)
    }

    /// Whether it is `NULL`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.node().body, Body::Special(Special::Null))
    }
}

impl RObject {
    /// A few words on a value for reports: its strings, or its type and length.
    pub(in crate::robject) fn summary(&self) -> String {
        match self.kind() {
            Kind::Character if self.length() <= 4 => {
                let texts = self.texts().unwrap_or_default();
                let shown = texts
                    .into_iter()
                    .map(|text| text.unwrap_or_else(|| "NA".into()));
                shown.collect::<Vec<_>>().join(", ")
            }
            Kind::Null => "NULL".to_string(),
            kind => format!("{} of {}", kind.name(), self.length()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, NA_INT};
    use super::*;

    #[test]
    fn the_class_of_what_has_none_is_that_of_its_type() {
        let mut build = Builder::new();
        let one = build.push(Body::Double(vec![1.0; 6])).unwrap();
        let dim = build.push(Body::Integer(vec![2, 3])).unwrap();
        let matrix = build.push(Body::Double(vec![1.0; 6])).unwrap();
        build.set_attributes(matrix, &[("dim", dim)]).unwrap();
        let object = build.finish(one);
        assert_eq!(vec!["numeric"], object.class());
        assert_eq!(vec!["matrix", "array"], object.at(matrix).class());
        assert_eq!(Some(vec![2, 3]), object.at(matrix).dim());
        assert_eq!(vec!["NULL"], object.at(Id::NULL).class());
    }

    #[test]
    fn the_first_of_a_name_is_found_and_all_are_listed() {
        let mut build = Builder::new();
        let ids = [1, 2, 3, 4].map(|n| build.push(Body::Integer(vec![n])).unwrap());
        let list = build.push(Body::List(ids.to_vec())).unwrap();
        let names = [Some("b"), Some("a"), Some("a"), None];
        let names = Body::Character(Box::new(Strings::from_iter(names)));
        let names = build.push(names).unwrap();
        build.set_attributes(list, &[("names", names)]).unwrap();
        let pairs = build
            .pairlist(&[("b", ids[0]), ("a", ids[1]), ("a", ids[2])])
            .unwrap();
        let environment = build
            .push(Body::Environment {
                locked: 0,
                enclosure: Id::NULL,
                frame: pairs,
                hashtab: Id::NULL,
            })
            .unwrap();
        let object = build.finish(list);
        for id in [list, pairs, environment] {
            let object = object.at(id);
            assert_eq!(Some(ids[1]), object.get("a").map(|found| found.id()));
            assert_eq!(Some(ids[0]), object.get("b").map(|found| found.id()));
            assert!(object.get("c").is_none());
            let items = object.items().unwrap();
            let found: Vec<Id> = items.iter().map(|(_, value)| value.id()).collect();
            let expected = if id == environment {
                vec![ids[1], ids[2], ids[0]]
            } else {
                ids[..found.len()].to_vec()
            };
            assert_eq!(expected, found);
        }
        assert_eq!(4, object.items().unwrap().len());
        assert!(object.at(ids[0]).items().is_none());
    }

    #[test]
    fn rows_are_told_by_all_forms_of_row_names() {
        for (body, expected) in [
            (Body::Integer(vec![NA_INT, -5]), 5),
            (Body::Integer(vec![NA_INT, 5]), 5),
            (Body::Integer(vec![3, 1]), 2),
            (Body::Double(vec![f64::NAN, -7.0]), 7),
            (
                Body::Character(Box::new(Strings::from_iter([Some("a")]))),
                1,
            ),
        ] {
            let mut build = Builder::new();
            let list = build.push(Body::List(Vec::new())).unwrap();
            let names = build.push(body).unwrap();
            build.set_attributes(list, &[("row.names", names)]).unwrap();
            assert_eq!(Some(expected), build.arena().rows(list));
        }
    }
}
