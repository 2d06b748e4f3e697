//! Compiled code: constants and pairs that may be shared by number, kept as they stand.

use crate::robject::{Bytecode, Code, CodeCell, Constant, Id};
use crate::{Error, ErrorKind, Result};

use super::input::Input;
use super::window::Window;

// What stands in front of constants and pairs.
pub(super) const NESTED: i32 = 21;
pub(super) const CALL: i32 = 6;
pub(super) const LIST: i32 = 2;
pub(super) const CALL_ATTRIBUTES: i32 = 240;
pub(super) const LIST_ATTRIBUTES: i32 = 239;
pub(super) const NUMBER_OF: i32 = 243;
pub(super) const NUMBERED: i32 = 244;

/// Compiled code that is begun.
pub(super) struct CodeFrame {
    pub(super) flags: i32,
    made: Bytecode,
    work: Vec<Task>,
}

/// What the next item or int is for.
enum Task {
    /// The instructions of a piece of code.
    Instructions(u32),
    /// So many constants more.
    Constants {
        code: u32,
        left: i32,
    },
    /// An ordinary item behind its int.
    Item(i32),
    /// The items of a pair; `first` is the one that the chain of them began with.
    Attributes {
        first: u32,
        cell: u32,
    },
    Tag {
        first: u32,
        cell: u32,
    },
    Value {
        first: u32,
        cell: u32,
    },
    Tail {
        first: u32,
        cell: u32,
    },
}

impl CodeFrame {
    /// Reads up to the first item.
    pub(super) fn begin<W: Window>(flags: i32, input: &mut Input<W>) -> Result<Self> {
        let reps = input.int()?;
        if reps < 0 {
            return Err(input.malformed(format!("{reps} shared pairs in compiled code")));
        }
        let mut frame = Self {
            flags,
            made: Bytecode {
                reps,
                ..Bytecode::default()
            },
            work: Vec::new(),
        };
        frame.begin_code()?;
        Ok(frame)
    }

    fn begin_code(&mut self) -> Result<u32> {
        let at = place(self.made.codes.len())?;
        self.made.codes.push(Code {
            code: Id::NULL,
            constants: Vec::new(),
        });
        self.work.push(Task::Instructions(at));
        Ok(at)
    }

    /// Takes an item, and reads up to the next; the code once it is complete.
    pub(super) fn feed<W: Window>(
        &mut self,
        item: Id,
        depth: usize,
        input: &mut Input<W>,
    ) -> Result<Option<Bytecode>> {
        match self.work.pop() {
            Some(Task::Instructions(code)) => {
                if let Some(one) = self.code(code) {
                    one.code = item;
                }
                let left = input.int()?;
                if left < 0 {
                    return Err(input.malformed(format!("{left} constants of compiled code")));
                }
                self.work.push(Task::Constants { code, left });
            }
            Some(Task::Item(number)) => self.deliver(Constant::Item(number, item)),
            Some(Task::Attributes { first, cell }) => {
                if let Some(CodeCell::Pair { attributes, .. }) = self.cell(cell) {
                    *attributes = Some(item);
                }
                self.work.push(Task::Tag { first, cell });
            }
            Some(Task::Tag { first, cell }) => {
                if let Some(CodeCell::Pair { tag, .. }) = self.cell(cell) {
                    *tag = item;
                }
                self.work.push(Task::Value { first, cell });
            }
            _ => return Err(mixed_up()),
        }
        self.advance(depth, input)
    }

    fn code(&mut self, at: u32) -> Option<&mut Code> {
        self.made.codes.get_mut(at as usize)
    }

    fn cell(&mut self, at: u32) -> Option<&mut CodeCell> {
        self.made.cells.get_mut(at as usize)
    }

    /// Reads ints until an item comes next.
    fn advance<W: Window>(
        &mut self,
        depth: usize,
        input: &mut Input<W>,
    ) -> Result<Option<Bytecode>> {
        loop {
            let open = depth.saturating_add(self.work.len());
            let at = input.window.offset();
            input
                .budget
                .check_depth(open)
                .map_err(|e| e.with_offset(at))?;
            match self.work.pop() {
                None => return Ok(Some(std::mem::take(&mut self.made))),
                Some(Task::Constants { code, left: 0 }) => {
                    if !self.work.is_empty() {
                        self.deliver(Constant::Code(code));
                    }
                }
                Some(Task::Constants { code, left }) => {
                    let left = left.saturating_sub(1);
                    self.work.push(Task::Constants { code, left });
                    charge(input, size_of::<Constant>())?;
                    let number = input.int()?;
                    if number == NESTED {
                        charge(input, size_of::<Code>())?;
                        self.begin_code()?;
                    } else if let Some(cell) = self.begin_cell(number, input)? {
                        self.pair(cell, cell);
                    } else {
                        self.work.push(Task::Item(number));
                    }
                }
                Some(Task::Value { first, cell }) => {
                    self.work.push(Task::Value { first, cell });
                    let number = input.int()?;
                    match self.begin_cell(number, input)? {
                        Some(inner) => self.pair(inner, inner),
                        None => self.work.push(Task::Item(number)),
                    }
                }
                Some(Task::Tail { first, cell }) => {
                    let number = input.int()?;
                    if let Some(next) = self.begin_cell(number, input)? {
                        if let Some(CodeCell::Pair { cdr, .. }) = self.cell(cell) {
                            *cdr = Constant::Cell(next);
                        }
                        self.pair(first, next);
                    } else {
                        self.work.push(Task::Tail { first, cell });
                        self.work.push(Task::Item(number));
                    }
                }
                Some(waits) => {
                    self.work.push(waits);
                    return Ok(None);
                }
            }
        }
    }

    /// Waits for the items of `cell`; a reference has none and is delivered.
    fn pair(&mut self, first: u32, cell: u32) {
        match self.cell(cell) {
            Some(CodeCell::Pair { code, .. }) => {
                let with = matches!(*code, CALL_ATTRIBUTES | LIST_ATTRIBUTES);
                self.work.push(if with {
                    Task::Attributes { first, cell }
                } else {
                    Task::Tag { first, cell }
                });
            }
            _ => self.deliver(Constant::Cell(first)),
        }
    }

    /// The cell that begins with `number`; None if an ordinary item does.
    fn begin_cell<W: Window>(&mut self, number: i32, input: &mut Input<W>) -> Result<Option<u32>> {
        let cell = match number {
            NUMBER_OF => CodeCell::Ref(self.share(input)?),
            NUMBERED => {
                let shared = self.share(input)?;
                let code = input.int()?;
                if !matches!(code, CALL | LIST | CALL_ATTRIBUTES | LIST_ATTRIBUTES) {
                    return Err(input.malformed(format!("a shared pair of type {code}")));
                }
                begun(Some(shared), code)
            }
            CALL | LIST | CALL_ATTRIBUTES | LIST_ATTRIBUTES => begun(None, number),
            _ => return Ok(None),
        };
        charge(input, size_of::<CodeCell>())?;
        let at = place(self.made.cells.len())?;
        self.made.cells.push(cell);
        Ok(Some(at))
    }

    fn share<W: Window>(&self, input: &mut Input<W>) -> Result<i32> {
        let number = input.int()?;
        if !(0..self.made.reps).contains(&number) {
            let text = format!("shared pair {number} of {}", self.made.reps);
            return Err(input.malformed(text));
        }
        Ok(number)
    }

    /// Puts a constant where the task at the top wants it.
    fn deliver(&mut self, constant: Constant) {
        let mut constant = constant;
        loop {
            match self.work.pop() {
                Some(Task::Constants { code, left }) => {
                    if let Some(one) = self.code(code) {
                        one.constants.push(constant);
                    }
                    self.work.push(Task::Constants { code, left });
                }
                Some(Task::Value { first, cell }) => {
                    if let Some(CodeCell::Pair { car, .. }) = self.cell(cell) {
                        *car = constant;
                    }
                    self.work.push(Task::Tail { first, cell });
                }
                Some(Task::Tail { first, cell }) => {
                    if let Some(CodeCell::Pair { cdr, .. }) = self.cell(cell) {
                        *cdr = constant;
                    }
                    constant = Constant::Cell(first);
                    continue;
                }
                Some(other) => self.work.push(other),
                None => {}
            }
            return;
        }
    }
}

fn begun(number: Option<i32>, code: i32) -> CodeCell {
    CodeCell::Pair {
        number,
        code,
        attributes: None,
        tag: Id::NULL,
        car: Constant::Item(0, Id::NULL),
        cdr: Constant::Item(0, Id::NULL),
    }
}

fn charge<W: Window>(input: &mut Input<W>, size: usize) -> Result<()> {
    let at = input.window.offset();
    let counted = input.budget.charge(size as u64);
    counted.map_err(|e| e.with_offset(at))
}

fn place(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| {
        let text = "more than 4,294,967,295 pieces of compiled code";
        Error::new(ErrorKind::Limit, text)
    })
}

fn mixed_up() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the stack of compiled code is mixed up",
    )
}
