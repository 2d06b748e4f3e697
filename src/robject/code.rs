//! Compiled code of R, kept as it stands.

use super::model::Id;

/// A constant of compiled code: the type int in front of it, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// 21: code inside code, by its position in [`Bytecode::codes`].
    Code(u32),
    /// A cell of [`Bytecode::cells`], by position.
    Cell(u32),
    /// An ordinary item, with the int that stood in front of it.
    Item(i32, Id),
}

/// One piece of compiled code: its instructions and constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The instructions, an integer vector.
    pub code: Id,
    /// Its constants in order.
    pub constants: Vec<Constant>,
}

/// A pair inside compiled code, which may be shared by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeCell {
    /// 243: the pair of this number.
    Ref(i32),
    /// 244 in front, or none: a pair.
    Pair {
        /// Its number, where 244 gives it one.
        number: Option<i32>,
        /// 6 or 2; 240 or 239 with attributes.
        code: i32,
        /// Its attributes, where the code says that it has them.
        attributes: Option<Id>,
        /// Its name, an item.
        tag: Id,
        /// The value.
        car: Constant,
        /// What follows.
        cdr: Constant,
    },
}

/// Compiled code, kept as it stands: never run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytecode {
    /// The size of the table of numbered pairs, as the file has it.
    pub reps: i32,
    /// Pieces of code; the first is the outermost.
    pub codes: Vec<Code>,
    /// Pairs.
    pub cells: Vec<CodeCell>,
}
