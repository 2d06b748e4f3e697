//! Making an arena: ids in the order of pushing, symbols once each.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

use super::altrep::EXPANDED_BYTES;
use super::kind::Special;
use super::model::{Arena, Body, Cell, Header, Id, Node, RObject};
use super::options::ReadOptions;
use super::strings::{Strings, TextEncoding};
use crate::{Error, ErrorKind, Result};

/// Makes the nodes of an object.
///
/// Nodes may name each other in any order: [`Builder::reserve`] gives the id of one that is
/// filled later, as environments with cycles need it.
///
/// # Example
/// ```
/// use tare::robject::{Body, Builder, Strings};
///
/// let mut build = Builder::new();
/// let one = build.push(Body::Integer(vec![1, 2, 3]))?;
/// let two = build.push(Body::Character(Box::new(Strings::from_iter([Some("a"), None]))))?;
/// let list = build.push(Body::List(vec![one, two]))?;
/// let names = build.strings(["x", "y"])?;
/// build.set_attributes(list, &[("names", names)])?;
/// let object = build.finish(list);
/// assert_eq!(Some(names), object.arena().attribute(object.id(), "names"));
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    arena: Arena,
    symbols: HashMap<Box<[u8]>, Id>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// An arena with the special values alone.
    #[must_use]
    pub fn new() -> Self {
        let nodes = Special::ALL
            .iter()
            .map(|one| Node::new(Body::Special(*one)));
        Self {
            arena: Arena {
                nodes: nodes.collect(),
                odd_texts: Vec::new(),
                header: Header::default(),
                unmarked: None,
                expanded_most: EXPANDED_BYTES,
                expanded_bytes: AtomicU64::new(0),
            },
            symbols: HashMap::new(),
        }
    }

    /// As [`Builder::new`], for what is read with these options: their budget holds for deferred
    /// vectors too, whenever they are made.
    pub(super) fn reading(options: &ReadOptions) -> Self {
        let mut build = Self::new();
        build.arena.unmarked.clone_from(&options.encoding);
        build.arena.expanded_most = options.memory_budget.unwrap_or(EXPANDED_BYTES);
        build
    }

    /// Adds a node without attributes.
    ///
    /// # Errors
    /// `Limit` beyond 2^32 nodes.
    pub fn push(&mut self, body: Body) -> Result<Id> {
        self.push_node(Node::new(body))
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `Limit` beyond 2^32 nodes.
    pub fn push_node(&mut self, node: Node) -> Result<Id> {
        let at = u32::try_from(self.arena.nodes.len()).map_err(|_| {
            let text = "more than 4,294,967,295 values in one object";
            Error::new(ErrorKind::Limit, text)
        })?;
        self.arena.nodes.push(node);
        Ok(Id(at))
    }

    /// Adds a node that [`Builder::fill`] gives its content.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn reserve(&mut self) -> Result<Id> {
        self.push(Body::Special(Special::Null))
    }

    /// Gives a node another content; the special values keep theirs.
    pub fn fill(&mut self, id: Id, node: Node) {
        if id.index() >= Special::ALL.len() {
            if let Some(place) = self.arena.nodes.get_mut(id.index()) {
                *place = node;
            }
        }
    }

    /// Gives up the nodes from number `from` on, which nothing may name; none of them a symbol.
    pub(super) fn forget(&mut self, from: usize) {
        let from = from.max(Special::ALL.len());
        self.arena.nodes.truncate(from);
        self.arena.odd_texts.retain(|(id, ..)| id.index() < from);
    }

    /// Gives up the elements of a vector.
    pub(super) fn empty(&mut self, id: Id) {
        self.arena.empty(id);
        self.arena.odd_texts.retain(|(odd, ..)| *odd != id);
    }

    /// A node made so far.
    #[must_use]
    pub fn node(&self, id: Id) -> &Node {
        self.arena.node(id)
    }

    /// A node made so far, to change it; None for an id of another arena.
    pub fn node_mut(&mut self, id: Id) -> Option<&mut Node> {
        (id.index() >= Special::ALL.len())
            .then(|| self.arena.nodes.get_mut(id.index()))
            .flatten()
    }

    /// The arena so far.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// The symbol of a name, made once.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn symbol(&mut self, name: &str) -> Result<Id> {
        self.symbol_bytes(name.as_bytes())
    }

    /// The symbol of a name that may be no text: marked ASCII, UTF-8 or bytes, as it is.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn symbol_bytes(&mut self, name: &[u8]) -> Result<Id> {
        if let Some(id) = self.symbols.get(name) {
            return Ok(*id);
        }
        let mut node = Node::new(Body::Char(Some(Box::from(name))));
        node.levels = TextEncoding::guess(name).levels();
        let char = self.push_node(node)?;
        let id = self.push(Body::Symbol(char))?;
        self.symbols.insert(Box::from(name), id);
        Ok(id)
    }

    /// The symbol that was made of this name before, if one was.
    pub(super) fn known_symbol(&self, char: Id) -> Option<Id> {
        self.symbols.get(self.arena.char(char)?).copied()
    }

    /// Makes a symbol the one of its name, unless one is.
    pub(super) fn know_symbol(&mut self, char: Id, symbol: Id) {
        if let Some(name) = self.arena.char(char) {
            self.symbols.entry(Box::from(name)).or_insert(symbol);
        }
    }

    /// A single string, marked ASCII or UTF-8.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn char(&mut self, text: &str) -> Result<Id> {
        let encoding = if text.is_ascii() {
            TextEncoding::Ascii
        } else {
            TextEncoding::Utf8
        };
        let mut node = Node::new(Body::Char(Some(Box::from(text.as_bytes()))));
        node.levels = encoding.levels();
        self.push_node(node)
    }

    /// A character vector without NA.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn strings<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Result<Id> {
        let strings: Strings = texts.into_iter().map(Some).collect();
        self.push(Body::Character(Box::new(strings)))
    }

    /// A pairlist of names and values; `NULL` for none.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn pairlist(&mut self, pairs: &[(&str, Id)]) -> Result<Id> {
        if pairs.is_empty() {
            return Ok(Id::NULL);
        }
        let mut cells = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            cells.push(Cell {
                code: 2,
                is_object: false,
                levels: 0,
                attributes: Id::NULL,
                tag: Some(self.symbol(name)?),
                value: *value,
            });
        }
        let tail = Id::NULL;
        self.push(Body::Pairs { cells, tail })
    }

    /// Gives a node these attributes, in this order, in place of any it has; `class` makes it an
    /// object.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn set_attributes(&mut self, id: Id, pairs: &[(&str, Id)]) -> Result<()> {
        let attributes = self.pairlist(pairs)?;
        if let Some(node) = self.node_mut(id) {
            node.attributes = attributes;
            node.is_object = pairs.iter().any(|(name, _)| *name == "class");
        }
        Ok(())
    }

    /// Says how the file was written that the object was read from.
    pub fn set_header(&mut self, header: Header) {
        self.arena.header = header;
    }

    /// Keeps the text of an ascii double that its value does not print as.
    pub(super) fn keep_text(&mut self, id: Id, element: u64, text: &str) {
        self.arena.odd_texts.push((id, element, Box::from(text)));
    }

    /// The object whose root is `root`.
    #[must_use]
    pub fn finish(self, root: Id) -> RObject {
        RObject::new(Arc::new(self.arena), root)
    }
}
