//! Values by a query: a subset of `JSONPath`, as defined in RFC 9535.
//!
//! All of the standard but the functions `match()`, `search()` and `value()`. Nothing is
//! materialised: a filter over the rows of a table reads the columns that it names.

#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod below;
mod columns;
pub(super) mod compare;
mod filter;
mod matches;
mod parse;
mod query;

use std::borrow::Cow;
use std::fmt;

use super::doc::Doc;
use super::view::{Value, View};
use crate::Result;
use below::Below;
use compare::Budget;
use matches::Matches;
use query::Query;

/// Most values that a search looks at, unless said.
const MAX_ELEMENTS: u64 = 1 << 28;

/// A query of RFC 9535, such as `$.flights[?@.delay > 60].carrier`.
///
/// Segments by name, index, wildcard, slice and filter, unions of them, descendants with `..`;
/// filters compare (`== != < <= > >=`), test for existence, and combine with `&& || !` and
/// parentheses; the functions are `length()` and `count()`.
///
/// # Example
/// ```
/// use tare::blit::{from_json, JsonPath, Options, Value, View};
///
/// let flights = br#"[{"to": "LHR", "delay": 5}, {"to": "JFK", "delay": 90}]"#;
/// let document = from_json(flights, &Options::default())?;
/// let view = View::open(&document)?;
/// let late = JsonPath::parse("$[?@.delay > 60].to")?;
/// for found in view.find(&late)? {
///     let (path, value) = found?;
///     assert_eq!("$[1]['to']", path.to_string());
///     assert!(matches!(value, Value::Str(to) if to == "JFK"));
/// }
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    query: Query,
    /// Names of the query, filters included, each once.
    names: Vec<String>,
}

impl JsonPath {
    /// Reads a query.
    ///
    /// # Errors
    /// `Usage` with the byte for text that is no query; `Unsupported` for `match()`, `search()` and
    /// `value()`; `Limit` beyond 64 KiB, or 32 filters and parentheses inside each other.
    pub fn parse(text: &str) -> Result<Self> {
        let (query, names) = parse::parse(text)?;
        Ok(Self { query, names })
    }
}

/// One step of a [`NodePath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeStep<'v> {
    /// An element of an array.
    Index(usize),
    /// The value of a name.
    Name(Cow<'v, str>),
}

/// Where a value lies: its steps from the root. Displays as the normalized path of RFC 9535.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePath<'v>(pub Vec<NodeStep<'v>>);

impl NodePath<'_> {
    /// The same as an RFC 6901 pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut out = String::new();
        for step in &self.0 {
            out.push('/');
            match step {
                NodeStep::Index(i) => out.push_str(&i.to_string()),
                NodeStep::Name(name) => out.push_str(&name.replace('~', "~0").replace('/', "~1")),
            }
        }
        out
    }
}

impl fmt::Display for NodePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                NodeStep::Index(i) => write!(f, "[{i}]")?,
                NodeStep::Name(name) => {
                    f.write_str("['")?;
                    for c in name.chars() {
                        match c {
                            '\u{8}' => f.write_str("\\b"),
                            '\t' => f.write_str("\\t"),
                            '\n' => f.write_str("\\n"),
                            '\u{C}' => f.write_str("\\f"),
                            '\r' => f.write_str("\\r"),
                            '\'' => f.write_str("\\'"),
                            '\\' => f.write_str("\\\\"),
                            '\0'..='\x1F' => write!(f, "\\u{:04x}", u32::from(c)),
                            _ => fmt::Write::write_char(f, c),
                        }?;
                    }
                    f.write_str("']")?;
                }
            }
        }
        Ok(())
    }
}

/// How far a search goes.
#[derive(Clone, Copy)]
pub struct FindOptions<'c> {
    /// Most values that are looked at. Default: 2^28.
    pub max_elements: u64,
    /// Called after some thousand values each time; its error ends the search. Default: none.
    pub check: Option<&'c (dyn Fn() -> Result<()> + Sync)>,
}

impl Default for FindOptions<'_> {
    fn default() -> Self {
        Self {
            max_elements: MAX_ELEMENTS,
            check: None,
        }
    }
}

impl View<'_> {
    /// The values that a query finds, in the order of the standard, each with its path.
    ///
    /// At most 2^28 values are looked at.
    ///
    /// # Errors
    /// `Malformed`; from the iterator also `Limit`. The first error is the last item.
    pub fn find<'v>(&'v self, path: &'v JsonPath) -> Result<Find<'v>> {
        self.find_within(path, MAX_ELEMENTS)
    }

    /// As [`find`](Self::find), looking at no more than `max_elements` values.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_within<'v>(&'v self, path: &'v JsonPath, max_elements: u64) -> Result<Find<'v>> {
        let options = FindOptions {
            max_elements,
            ..FindOptions::default()
        };
        self.find_in(self.root()?, path, options)
    }

    /// As [`find`](Self::find), in a value of this document as if it were the whole.
    ///
    /// # Errors
    /// As [`find`](Self::find); those of the check.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, FindOptions, JsonPath, Options, Value, View};
    ///
    /// let document = from_json(br#"{"flights": [{"to": "JFK"}]}"#, &Options::default())?;
    /// let view = View::open(&document)?;
    /// let flights = view.pointer("/flights")?.unwrap();
    /// let first = JsonPath::parse("$[0].to")?;
    /// let mut found = view.find_in(flights, &first, FindOptions::default())?.values();
    /// assert!(matches!(found.next(), Some(Ok(Value::Str(to))) if to == "JFK"));
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn find_in<'v>(
        &'v self,
        value: Value<'v>,
        path: &'v JsonPath,
        options: FindOptions<'v>,
    ) -> Result<Find<'v>> {
        let doc = &self.doc;
        let ids = path.names.iter().map(|name| find_key(doc, name));
        let search = Search {
            root: value,
            doc,
            ids: ids.collect::<Result<_>>()?,
            budget: Budget::checked(options.max_elements, options.check),
            below: Below::default(),
        };
        let matches = Matches::new(&path.query.segments, search.root.clone());
        Ok(Find { search, matches })
    }
}

fn find_key(doc: &Doc<'_>, name: &str) -> Result<Option<usize>> {
    doc.keys.find(name.as_bytes())
}

/// What is looked for, and in what: names are resolved once.
struct Search<'v> {
    doc: &'v Doc<'v>,
    root: Value<'v>,
    /// The key id of each name, if the document has it.
    ids: Vec<Option<usize>>,
    budget: Budget<'v>,
    below: Below,
}

impl Search<'_> {
    /// The key id of a name of the query.
    fn id(&self, name: usize) -> Option<usize> {
        self.ids.get(name).copied().flatten()
    }
}

/// The values that a query finds; made by [`View::find`].
pub struct Find<'v> {
    search: Search<'v>,
    matches: Matches<'v>,
}

impl<'v> Find<'v> {
    /// The values alone, which is faster.
    pub fn values(mut self) -> impl Iterator<Item = Result<Value<'v>>> {
        std::iter::from_fn(move || self.next_value())
    }

    /// The next value alone; nothing comes after an error.
    pub fn next_value(&mut self) -> Option<Result<Value<'v>>> {
        self.matches.next(&self.search)
    }
}

impl<'v> Iterator for Find<'v> {
    type Item = Result<(NodePath<'v>, Value<'v>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.matches.next(&self.search)?;
        Some(found.and_then(|value| Ok((self.matches.path(&self.search)?, value))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::blit::{from_json, Options};
    use crate::{Error, ErrorKind};

    #[test]
    fn a_check_is_asked_and_ends_a_search() {
        let text = format!("[{}0]", "0,".repeat(100_000));
        let document = from_json(text.as_bytes(), &Options::default()).unwrap();
        let view = View::open(&document).unwrap();
        let asked = AtomicU64::new(0);
        let check = || {
            if asked.fetch_add(1, Ordering::Relaxed) == 2 {
                return Err(Error::new(ErrorKind::Cancelled, "asked three times"));
            }
            Ok(())
        };
        let options = FindOptions {
            check: Some(&check),
            ..FindOptions::default()
        };
        for query in ["$[*]", "$[?@ == 1]", "$[?@.a]", "$[?length($) < 1]"] {
            asked.store(0, Ordering::Relaxed);
            let query = JsonPath::parse(query).unwrap();
            let found = view.find_in(view.root().unwrap(), &query, options).unwrap();
            let last = found.values().last().unwrap();
            assert_eq!(ErrorKind::Cancelled, last.unwrap_err().kind());
            assert_eq!(3, asked.load(Ordering::Relaxed));
        }
    }
}
