//! The arena: every node of an R object behind one id, without recursion.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use super::code::Bytecode;
use super::kind::{Kind, Special};
use super::strings::Strings;

/// R's missing integer and logical.
pub const NA_INT: i32 = i32::MIN;

/// The bits of R's missing double as R writes them.
pub const NA_REAL: u64 = 0x7FF0_0000_0000_07A2;

/// Whether a double is R's NA: a NaN whose low word is 1954; sign and quiet bit say nothing.
///
/// # Example
/// ```
/// use tare::robject::{is_na, NA_REAL};
///
/// assert!(is_na(f64::from_bits(NA_REAL)));
/// assert!(!is_na(f64::NAN));
/// ```
#[must_use]
#[inline]
pub fn is_na(value: f64) -> bool {
    value.is_nan() && value.to_bits() & 0xFFFF_FFFF == 1954
}

/// The place of a node in its arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(super) u32);

impl Id {
    /// `NULL`, the same in every arena.
    pub const NULL: Id = Id(0);

    /// Whether this is `NULL`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self == Self::NULL
    }

    /// Its position in the arena.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// One cell of a pairlist, call or `...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The type code of the cell: 2 list, 6 call, 17 dots; 5 is [`Body::Promise`] where it stands alone.
    pub code: u8,
    /// Whether R dispatches on it.
    pub is_object: bool,
    /// The general purpose bits.
    pub levels: u16,
    /// Attributes of this very cell, a pairlist; those of the first are also its node's.
    pub attributes: Id,
    /// Its name, a symbol; None where the file has none.
    pub tag: Option<Id>,
    /// Its value.
    pub value: Id,
}

/// What a deferred vector is made from; the value is made when it is asked for.
#[derive(Debug)]
pub struct Altrep {
    /// A pairlist of the class, its package and the integer type of the vector.
    pub info: Id,
    /// What the class keeps.
    pub state: Id,
    /// The vector, once it was asked for.
    pub(super) expanded: OnceLock<Box<Body>>,
}

impl Altrep {
    /// A deferred vector that nobody asked for yet.
    #[must_use]
    pub fn new(info: Id, state: Id) -> Self {
        Self {
            info,
            state,
            expanded: OnceLock::new(),
        }
    }
}

/// What a node holds beside its attributes.
#[derive(Debug)]
pub enum Body {
    /// One of the values that R has one of.
    Special(Special),
    /// A name: its [`Body::Char`].
    Symbol(Id),
    /// One string, None for NA; its marks are the node's levels.
    Char(Option<Box<[u8]>>),
    /// `TRUE` is 1, `FALSE` 0, NA [`NA_INT`]; other values may stand in files.
    Logical(Vec<i32>),
    /// NA is [`NA_INT`].
    Integer(Vec<i32>),
    /// NA is a NaN with the low word 1954; all 64 bits are kept.
    Double(Vec<f64>),
    /// Real and imaginary parts.
    Complex(Vec<[f64; 2]>),
    /// Bytes.
    Raw(Vec<u8>),
    /// Strings.
    Character(Box<Strings>),
    /// Values.
    List(Vec<Id>),
    /// Calls.
    Expression(Vec<Id>),
    /// Cells in order; `tail` is what the last one points to, `NULL` but in odd files.
    ///
    /// The levels, the object bit and the attributes of the node are those of the first cell.
    Pairs {
        /// At least one.
        cells: Vec<Cell>,
        /// Behind the last.
        tail: Id,
    },
    /// Bindings by name.
    Environment {
        /// Whether no binding may be added: the int of the file.
        locked: i32,
        /// Where names are looked up next.
        enclosure: Id,
        /// Bindings in a pairlist.
        frame: Id,
        /// Bindings in a list of pairlists by hash, or `NULL`: kept as it stands.
        hashtab: Id,
    },
    /// A function.
    Closure {
        /// Where its free names are looked up.
        environment: Id,
        /// Its arguments, a pairlist.
        formals: Id,
        /// Its body.
        body: Id,
    },
    /// A value not yet asked for, or already; never evaluated here.
    Promise {
        /// Where it would be evaluated; None once it was.
        environment: Option<Id>,
        /// Its value, [`Special::Unbound`] before.
        value: Id,
        /// Its expression.
        expression: Id,
    },
    /// A primitive, by name.
    Builtin {
        /// Whether it evaluates its own arguments (type 7).
        special: bool,
        /// Its name.
        name: Box<[u8]>,
    },
    /// Compiled code.
    Bytecode(Box<Bytecode>),
    /// An address, not kept; what it protects and its tag are.
    ExternalPtr {
        /// What it keeps alive.
        protected: Id,
        /// Its tag.
        tag: Id,
    },
    /// A weak reference; files hold nothing of it.
    WeakRef,
    /// An S4 object; the slots are the attributes. A slot of `NULL` is the symbol `\001NULL\001`.
    S4,
    /// A namespace (249), the environment of a package (248) or what a hook named (247): strings.
    Named {
        /// 249, 248 or 247.
        code: u8,
        /// Its names, each a [`Body::Char`].
        names: Vec<Id>,
    },
    /// A deferred vector.
    Altrep(Box<Altrep>),
}

impl Body {
    /// Its type; of a deferred vector, see [`Arena::kind`].
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Special(Special::Null) => Kind::Null,
            Self::Special(Special::Unbound | Special::MissingArg) => Kind::Mark,
            Self::Symbol(_) => Kind::Symbol,
            Self::Char(_) => Kind::Char,
            Self::Logical(_) => Kind::Logical,
            Self::Integer(_) => Kind::Integer,
            Self::Double(_) => Kind::Double,
            Self::Complex(_) => Kind::Complex,
            Self::Raw(_) => Kind::Raw,
            Self::Character(_) => Kind::Character,
            Self::List(_) | Self::Altrep(_) => Kind::List,
            Self::Expression(_) => Kind::Expression,
            Self::Pairs { cells, .. } => match cells.first().map(|cell| cell.code) {
                Some(6) => Kind::Language,
                Some(17) => Kind::Dots,
                _ => Kind::Pairlist,
            },
            Self::Closure { .. } => Kind::Closure,
            Self::Promise { .. } => Kind::Promise,
            Self::Builtin { special: true, .. } => Kind::SpecialFunction,
            Self::Builtin { .. } => Kind::BuiltinFunction,
            Self::Bytecode(_) => Kind::Bytecode,
            Self::ExternalPtr { .. } => Kind::ExternalPtr,
            Self::WeakRef => Kind::WeakRef,
            Self::S4 => Kind::S4,
            Self::Named { code: 247, .. } => Kind::Persist,
            Self::Special(_) | Self::Environment { .. } | Self::Named { .. } => Kind::Environment,
        }
    }

    /// How many elements it has; 0 for what has none. Of a deferred vector, see [`Arena::length`].
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Logical(values) | Self::Integer(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Complex(values) => values.len(),
            Self::Raw(values) => values.len(),
            Self::Character(strings) => strings.len(),
            Self::List(ids) | Self::Expression(ids) => ids.len(),
            Self::Pairs { cells, .. } => cells.len(),
            _ => 0,
        }
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One node: its body and what every node may have.
#[derive(Debug)]
pub struct Node {
    /// The body.
    pub body: Body,
    /// Attributes: a pairlist, or `NULL`.
    pub attributes: Id,
    /// The general purpose bits, 12 to 27 of a file's flags.
    pub levels: u16,
    /// Whether R dispatches on its class.
    pub is_object: bool,
}

impl Node {
    /// A node with no attributes and no bits set.
    #[must_use]
    pub fn new(body: Body) -> Self {
        Self {
            body,
            attributes: Id::NULL,
            levels: 0,
            is_object: false,
        }
    }
}

/// How a serialization writes its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Big-endian, `X\n`.
    #[default]
    Xdr,
    /// Text with decimal doubles, `A\n`.
    Ascii,
    /// Text with hexadecimal doubles, also `A\n`.
    AsciiHex,
    /// The writer's byte order, `B\n`; little-endian here.
    Native,
}

/// What stands in front of a serialization: which version wrote it, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How numbers are written.
    pub encoding: Encoding,
    /// 2 or 3.
    pub version: i32,
    /// The writer: major << 16 | minor << 8 | patch.
    pub r_version: i32,
    /// The first R that reads it.
    pub min_reader: i32,
    /// The writer's own text encoding; version 3 alone.
    pub native_encoding: Option<Box<[u8]>>,
}

impl Default for Header {
    /// What Tare writes: version 3, XDR, R 4.2.2, UTF-8.
    fn default() -> Self {
        Self {
            encoding: Encoding::Xdr,
            version: 3,
            r_version: 0x0004_0202,
            min_reader: 0x0003_0500,
            native_encoding: Some(Box::from(&b"UTF-8"[..])),
        }
    }
}

/// The nodes of one file, or of one object made here.
#[derive(Debug)]
pub struct Arena {
    pub(super) nodes: Vec<Node>,
    /// Ascii doubles whose text is not what their value prints as, by node and element.
    pub(super) odd_texts: Vec<(Id, u64, Box<str>)>,
    pub(super) header: Header,
    /// The encoding of strings without a mark, as the reader's caller named it.
    pub(super) unmarked: Option<String>,
    /// Bytes that deferred vectors may take when they are made, where the caller names no other.
    pub(super) expanded_most: u64,
    /// Bytes that deferred vectors took when they were made.
    pub(super) expanded_bytes: AtomicU64,
}

impl Arena {
    /// The node of an id of this arena.
    #[must_use]
    #[inline]
    pub fn node(&self, id: Id) -> &Node {
        // Ids come from this arena's own builder, which gives out none it has not pushed; NULL
        // answers for any other.
        self.nodes.get(id.index()).unwrap_or(&NULL)
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none; never so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The ids of all nodes, in the order in which they were made.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(Id)
    }

    /// How the file was written that this was read from.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The encoding that the reader's caller named for strings without a mark.
    #[must_use]
    pub fn unmarked(&self) -> Option<&str> {
        self.unmarked.as_deref()
    }

    /// The name of a symbol; None for other nodes.
    #[must_use]
    pub fn symbol(&self, id: Id) -> Option<&[u8]> {
        match self.node(id).body {
            Body::Symbol(name) => self.char(name),
            _ => None,
        }
    }

    /// The bytes of a single string; None for NA and for other nodes.
    #[must_use]
    pub fn char(&self, id: Id) -> Option<&[u8]> {
        match &self.node(id).body {
            Body::Char(bytes) => bytes.as_deref(),
            _ => None,
        }
    }

    /// The cells of a pairlist, call or `...`; none for other nodes.
    #[must_use]
    pub fn cells(&self, id: Id) -> &[Cell] {
        match &self.node(id).body {
            Body::Pairs { cells, .. } => cells,
            _ => &[],
        }
    }

    /// The attributes of a node in the order of the file: name and value.
    pub fn attributes(&self, id: Id) -> impl Iterator<Item = (&[u8], Id)> + '_ {
        let cells = self.cells(self.node(id).attributes).iter();
        cells.filter_map(|cell| Some((self.symbol(cell.tag?)?, cell.value)))
    }

    /// The first attribute of a name.
    #[must_use]
    pub fn attribute(&self, id: Id, name: &str) -> Option<Id> {
        self.attributes(id)
            .find_map(|(found, value)| (found == name.as_bytes()).then_some(value))
    }
}

static NULL: Node = Node {
    body: Body::Special(Special::Null),
    attributes: Id::NULL,
    levels: 0,
    is_object: false,
};

/// An R object: one node, and the arena that it and all below it lie in.
///
/// Clones share the arena. Parts of an object are objects of the same arena: [`RObject::at`].
#[derive(Clone, Debug)]
pub struct RObject {
    arena: Arc<Arena>,
    root: Id,
}

impl RObject {
    pub(super) fn new(arena: Arc<Arena>, root: Id) -> Self {
        Self { arena, root }
    }

    /// The same, with its strings without a mark in this encoding; of an object whose arena others share
    /// nothing changes.
    #[must_use]
    pub fn with_unmarked(mut self, encoding: Option<String>) -> Self {
        if let Some(arena) = Arc::get_mut(&mut self.arena) {
            arena.unmarked = encoding;
        }
        self
    }

    /// The arena and the id of the node in it.
    pub(super) fn into_parts(self) -> (Arc<Arena>, Id) {
        (self.arena, self.root)
    }

    /// The arena, which clones and parts share.
    #[must_use]
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// The id of this node in the arena.
    #[must_use]
    pub fn id(&self) -> Id {
        self.root
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &Node {
        self.arena.node(self.root)
    }

    /// Another node of the same arena as an object of its own.
    #[must_use]
    pub fn at(&self, id: Id) -> Self {
        Self::new(Arc::clone(&self.arena), id)
    }
}
