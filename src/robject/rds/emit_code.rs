//! Compiled code as it stood in the file it was read from.

use crate::robject::{Bytecode, CodeCell, Constant, Id};
use crate::Result;

use super::code::{NESTED, NUMBERED, NUMBER_OF};
use super::emit::{Emitter, Task};

/// A part of compiled code that is left to be written.
#[derive(Clone, Copy, Debug)]
pub(super) enum CodeTask {
    /// A piece of code.
    Code(u32),
    /// The number of its constants.
    Count(u32),
    /// Its constants from number `at` on.
    Constants { code: u32, at: usize },
    /// A constant, or what a pair holds.
    Constant(Constant),
    /// A pair behind its attributes.
    Pair(u32),
}

impl<'a> Emitter<'a, '_> {
    pub(super) fn code(&mut self, code: &'a Bytecode, task: CodeTask) -> Result<()> {
        let later = |task| Task::Code(code, task);
        match task {
            CodeTask::Code(at) => {
                let instructions = code.codes.get(at as usize).map_or(Id::NULL, |one| one.code);
                self.push(later(CodeTask::Count(at)));
                self.push(Task::Item(instructions));
            }
            CodeTask::Count(at) => {
                let count = code
                    .codes
                    .get(at as usize)
                    .map_or(0, |one| one.constants.len());
                self.out.length(count)?;
                self.push(later(CodeTask::Constants { code: at, at: 0 }));
            }
            CodeTask::Constants { code: piece, at } => {
                let piece_code = code.codes.get(piece as usize);
                if let Some(one) = piece_code.and_then(|code| code.constants.get(at)) {
                    let at = at.saturating_add(1);
                    self.push(later(CodeTask::Constants { code: piece, at }));
                    self.push(later(CodeTask::Constant(*one)));
                }
            }
            CodeTask::Constant(Constant::Item(number, id)) => {
                self.out.int(number)?;
                self.push(Task::Item(id));
            }
            CodeTask::Constant(Constant::Code(at)) => {
                self.out.int(NESTED)?;
                self.push(later(CodeTask::Code(at)));
            }
            CodeTask::Constant(Constant::Cell(at)) => self.code_cell(code, at)?,
            CodeTask::Pair(at) => {
                if let Some(CodeCell::Pair { tag, car, cdr, .. }) = code.cells.get(at as usize) {
                    self.push(later(CodeTask::Constant(*cdr)));
                    self.push(later(CodeTask::Constant(*car)));
                    self.push(Task::Item(*tag));
                }
            }
        }
        Ok(())
    }

    fn code_cell(&mut self, code: &'a Bytecode, at: u32) -> Result<()> {
        match code.cells.get(at as usize) {
            Some(CodeCell::Ref(number)) => {
                self.out.int(NUMBER_OF)?;
                self.out.int(*number)
            }
            Some(CodeCell::Pair {
                number,
                code: kind,
                attributes,
                ..
            }) => {
                if let Some(number) = number {
                    self.out.int(NUMBERED)?;
                    self.out.int(*number)?;
                }
                self.out.int(*kind)?;
                self.push(Task::Code(code, CodeTask::Pair(at)));
                if let Some(attributes) = attributes {
                    self.push(Task::Item(*attributes));
                }
                Ok(())
            }
            None => Ok(()),
        }
    }
}
