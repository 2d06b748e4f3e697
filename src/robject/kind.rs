//! What kinds of values R has: the types of its serialization, and the values it has one of.

use super::model::Id;

/// What R keeps one of: written as a code alone, never twice in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Special {
    /// `NULL`.
    Null = 254,
    /// The global environment.
    GlobalEnv = 253,
    /// The mark of an unbound variable.
    Unbound = 252,
    /// The mark of a missing argument.
    MissingArg = 251,
    /// The namespace of package base.
    BaseNamespace = 250,
    /// The empty environment.
    EmptyEnv = 242,
    /// The environment of package base.
    BaseEnv = 241,
}

impl Special {
    /// All of them; the position of each is its id in every arena.
    pub const ALL: [Special; 7] = [
        Self::Null,
        Self::GlobalEnv,
        Self::Unbound,
        Self::MissingArg,
        Self::BaseNamespace,
        Self::EmptyEnv,
        Self::BaseEnv,
    ];

    /// Its node, the same in every arena.
    #[must_use]
    pub fn id(self) -> Id {
        let at = Self::ALL.iter().position(|one| *one == self);
        Id(u32::try_from(at.unwrap_or_default()).unwrap_or_default())
    }
}

/// The type of a node, named as R's `typeof` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `NULL`.
    Null,
    /// A name.
    Symbol,
    /// Cells of tag and value.
    Pairlist,
    /// A call.
    Language,
    /// The arguments behind `...`.
    Dots,
    /// A function.
    Closure,
    /// Bindings by name.
    Environment,
    /// A value that is not there before it is asked for.
    Promise,
    /// A primitive that evaluates its own arguments.
    SpecialFunction,
    /// A primitive.
    BuiltinFunction,
    /// One string alone; parts of other nodes only.
    Char,
    /// `TRUE`, `FALSE` and NA.
    Logical,
    /// 32 bits, the smallest for NA.
    Integer,
    /// 64-bit floats.
    Double,
    /// Pairs of them.
    Complex,
    /// Strings.
    Character,
    /// A vector of any values.
    List,
    /// A vector of calls.
    Expression,
    /// Compiled code.
    Bytecode,
    /// An address that meant something to the writer.
    ExternalPtr,
    /// A reference that keeps nothing alive.
    WeakRef,
    /// Bytes.
    Raw,
    /// An object whose slots are its attributes.
    S4,
    /// A name that a hook of the writer gave out.
    Persist,
    /// Marks such as a missing argument.
    Mark,
}

impl Kind {
    /// R's word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Symbol | Self::Mark => "symbol",
            Self::Pairlist => "pairlist",
            Self::Language => "language",
            Self::Dots => "...",
            Self::Closure => "closure",
            Self::Environment => "environment",
            Self::Promise => "promise",
            Self::SpecialFunction => "special",
            Self::BuiltinFunction => "builtin",
            Self::Char => "char",
            Self::Logical => "logical",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Complex => "complex",
            Self::Character => "character",
            Self::List => "list",
            Self::Expression => "expression",
            Self::Bytecode => "bytecode",
            Self::ExternalPtr => "externalptr",
            Self::WeakRef => "weakref",
            Self::Raw => "raw",
            Self::S4 => "S4",
            Self::Persist => "persist",
        }
    }
}
