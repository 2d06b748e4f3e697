//! An arena's nodes as items, with a stack of its own.

use std::collections::HashMap;

use crate::robject::{Arena, Body, Bytecode, Cell, Encoding, Id, Node, Text, TextEncoding};
use crate::{Error, ErrorKind, Result};

use super::emit_code::CodeTask;
use super::output::Output;
use super::{signed, ATTRIBUTES, OBJECT, TAG};

/// What is left to be written.
pub(super) enum Task<'a> {
    Item(Id),
    /// Cells of a node from `at` on.
    Cells {
        cells: &'a [Cell],
        tail: Id,
    },
    /// The value of a cell whose attributes are written.
    Rest(&'a Cell),
    /// Items in order.
    Items(&'a [Id]),
    /// Strings from number `at` on.
    Texts {
        id: Id,
        at: usize,
    },
    /// A value enters the table.
    Enter(Id),
    /// Compiled code.
    Code(&'a Bytecode, CodeTask),
}

/// Writes items of one arena.
pub(super) struct Emitter<'a, 'o> {
    arena: &'a Arena,
    pub(super) out: Output<'o>,
    /// The number of each value in the table, 0 for those that are not.
    numbers: Vec<u32>,
    known: u32,
    /// The numbers of other arenas' values.
    others: HashMap<*const Arena, Vec<u32>>,
    /// The numbers of symbols by name, where there are several arenas or names of no arena.
    names: HashMap<&'a [u8], u32>,
    by_name: bool,
    stack: Vec<Task<'a>>,
    /// Texts of doubles that do not print as they were read.
    odd: HashMap<(Id, u64), &'a str>,
    rules: Rules,
}

/// How what cannot stay is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Version 2 has no deferred vectors.
    pub(super) expand: bool,
    /// Code, promises, active bindings and external pointers become `NULL` or are left out.
    pub(super) data_only: bool,
}

/// An active binding's bit in the levels of a cell.
const ACTIVE: u16 = 1 << 15;

impl<'a, 'o> Emitter<'a, 'o> {
    pub(super) fn new(arena: &'a Arena, out: Output<'o>, rules: Rules) -> Self {
        let odd = odd_texts(arena, out.encoding());
        Self {
            arena,
            others: HashMap::new(),
            names: HashMap::new(),
            by_name: false,
            out,
            numbers: vec![0; arena.len()],
            known: 0,
            stack: Vec::new(),
            odd,
            rules,
        }
    }

    /// One item with all in it.
    pub(super) fn item(&mut self, root: Id) -> Result<()> {
        self.stack.push(Task::Item(root));
        self.run()
    }

    /// A cell of a pairlist: a name, and a value of the arena at hand.
    pub(super) fn cell(&mut self, name: &'a str, value: Id) -> Result<()> {
        self.out.int(2 | TAG)?;
        if let Some(number) = self.names.get(name.as_bytes()).copied() {
            self.reference(number)?;
        } else {
            self.known = self.known.saturating_add(1);
            self.names.insert(name.as_bytes(), self.known);
            self.out.int(1)?;
            let encoding = if name.is_ascii() {
                TextEncoding::Ascii
            } else {
                TextEncoding::Utf8
            };
            let text = Text {
                bytes: Some(name.as_bytes()),
                levels: encoding.levels(),
            };
            self.out.char(text, 0)?;
        }
        self.item(value)
    }

    /// Goes on with the values of this arena; symbols are those of all before, by name.
    pub(super) fn enter_arena(&mut self, arena: &'a Arena) {
        self.by_name = true;
        if std::ptr::eq(arena, self.arena) {
            return;
        }
        let left = std::mem::replace(&mut self.arena, arena);
        let numbers = std::mem::take(&mut self.numbers);
        self.others.insert(std::ptr::from_ref(left), numbers);
        let known = self.others.remove(&std::ptr::from_ref(arena));
        self.numbers = known.unwrap_or_else(|| vec![0; arena.len()]);
        self.odd = odd_texts(arena, self.out.encoding());
    }

    fn run(&mut self) -> Result<()> {
        // No value lies deeper than there are values, unless one lies in itself.
        let most = self.arena.len().saturating_mul(4).saturating_add(64);
        while let Some(task) = self.stack.pop() {
            if self.stack.len() > most {
                let text = "a value that lies in itself; only environments may";
                return Err(Error::new(ErrorKind::Usage, text));
            }
            match task {
                Task::Item(id) => self.value(id)?,
                Task::Cells { cells, tail } => self.cells(cells, tail)?,
                Task::Rest(cell) => self.rest(cell),
                Task::Items(ids) => self.items(ids)?,
                Task::Texts { id, at } => self.texts(id, at)?,
                Task::Enter(id) => self.enter(id),
                Task::Code(code, task) => self.code(code, task)?,
            }
        }
        Ok(())
    }

    pub(super) fn push(&mut self, task: Task<'a>) {
        self.stack.push(task);
    }

    fn enter(&mut self, id: Id) {
        self.known = self.known.saturating_add(1);
        if let Some(name) = self.arena.symbol(id).filter(|_| self.by_name) {
            self.names.insert(name, self.known);
        }
        if let Some(number) = self.numbers.get_mut(id.index()) {
            *number = self.known;
        }
    }

    fn items(&mut self, ids: &'a [Id]) -> Result<()> {
        let mut rest = ids;
        while let Some((first, more)) = rest.split_first() {
            rest = more;
            let before = self.stack.len();
            self.stack.push(Task::Items(rest));
            self.value(*first)?;
            if self.stack.len() > before.saturating_add(1) {
                return Ok(());
            }
            // The value is written whole.
            self.stack.pop();
        }
        Ok(())
    }

    /// Writes a value, or its beginning.
    #[allow(clippy::too_many_lines, reason = "one arm for each type of the format")]
    fn value(&mut self, id: Id) -> Result<()> {
        let arena = self.arena;
        let node = arena.node(id);
        if let Some(number) = self.numbers.get(id.index()).filter(|number| **number != 0) {
            return self.reference(*number);
        }
        if self.rules.data_only && is_code(&node.body) {
            return self.out.int(254);
        }
        let code = match &node.body {
            Body::Special(special) => return self.out.int(i32::from(*special as u8)),
            Body::Pairs { cells, tail } => {
                self.stack.push(Task::Cells { cells, tail: *tail });
                return Ok(());
            }
            Body::Altrep(altrep) if !self.rules.expand => {
                self.out.int(flags_of(238, node) & !ATTRIBUTES)?;
                self.stack.push(Task::Item(node.attributes));
                self.stack.push(Task::Item(altrep.state));
                self.stack.push(Task::Item(altrep.info));
                return Ok(());
            }
            Body::Altrep(_) => {
                let body = arena.data(id, None)?;
                return self.vector(id, node, body);
            }
            Body::Symbol(char) => {
                if let Some(number) = self.named(*char) {
                    return self.reference(number);
                }
                self.out.int(flags_of(1, node) & !ATTRIBUTES)?;
                self.stack.push(Task::Enter(id));
                self.stack.push(Task::Item(*char));
                return Ok(());
            }
            Body::Environment {
                locked,
                enclosure,
                frame,
                hashtab,
            } => {
                self.out.int(flags_of(4, node) & !ATTRIBUTES)?;
                self.out.int(*locked)?;
                self.enter(id);
                for part in [node.attributes, *hashtab, *frame, *enclosure] {
                    self.stack.push(Task::Item(part));
                }
                return Ok(());
            }
            Body::Closure {
                environment,
                formals,
                body,
            } => {
                let parts = [Some(*environment), Some(*formals), Some(*body)];
                return self.function(3, node, parts);
            }
            Body::Promise {
                environment,
                value,
                expression,
            } => {
                let parts = [*environment, Some(*value), Some(*expression)];
                return self.function(5, node, parts);
            }
            Body::Named { code, names } => {
                self.out.int(flags_of(*code, node) & !ATTRIBUTES)?;
                self.out.int(0)?;
                self.out.length(names.len())?;
                self.stack.push(Task::Enter(id));
                self.stack.push(Task::Items(names));
                return Ok(());
            }
            Body::ExternalPtr { protected, tag } => {
                self.enter(id);
                self.stack_attributes(node);
                self.stack.push(Task::Item(*tag));
                self.stack.push(Task::Item(*protected));
                22
            }
            Body::WeakRef => {
                self.enter(id);
                self.stack_attributes(node);
                23
            }
            Body::S4 => {
                self.stack_attributes(node);
                25
            }
            Body::Char(bytes) => {
                self.stack_attributes(node);
                let text = Text {
                    bytes: bytes.as_deref(),
                    levels: node.levels,
                };
                return self.out.char(text, flags_of(9, node));
            }
            Body::Builtin { special, name } => {
                self.stack_attributes(node);
                self.out.int(flags_of(if *special { 7 } else { 8 }, node))?;
                self.out.length(name.len())?;
                return self.out.text(name);
            }
            Body::Bytecode(code) => {
                self.stack_attributes(node);
                self.out.int(flags_of(21, node))?;
                self.out.int(code.reps)?;
                self.stack.push(Task::Code(code, CodeTask::Code(0)));
                return Ok(());
            }
            body => return self.vector(id, node, body),
        };
        self.out.int(flags_of(code, node))
    }

    /// The number of the symbol of this name, where it was written for another arena or by name.
    fn named(&self, char: Id) -> Option<u32> {
        let name = self.arena.char(char).filter(|_| self.by_name)?;
        self.names.get(name).copied()
    }

    fn stack_attributes(&mut self, node: &Node) {
        if !node.attributes.is_null() {
            self.stack.push(Task::Item(node.attributes));
        }
    }

    fn reference(&mut self, number: u32) -> Result<()> {
        // What does not fit beside the code stands behind it.
        if number > 0x007f_ffff {
            self.out.int(255)?;
            return self.out.int(signed(number));
        }
        self.out.int(signed(number << 8 | 255))
    }

    fn function(&mut self, code: u8, node: &Node, parts: [Option<Id>; 3]) -> Result<()> {
        let [first, ..] = parts;
        let tag = if first.is_some() { TAG } else { 0 };
        self.out.int(flags_of(code, node) | tag)?;
        for part in parts.into_iter().rev().flatten() {
            self.stack.push(Task::Item(part));
        }
        self.stack_attributes(node);
        Ok(())
    }

    /// A vector; `body` is that of the node, or what it stands for.
    fn vector(&mut self, id: Id, node: &'a Node, body: &'a Body) -> Result<()> {
        let odd = &self.odd;
        let text = |at: u64| -> Option<&'a str> {
            if odd.is_empty() {
                return None;
            }
            odd.get(&(id, at)).copied()
        };
        let flags = |code: u8| flags_of(code, node);
        match body {
            Body::Logical(all) => {
                self.out.int(flags(10))?;
                self.out.ints(all)?;
            }
            Body::Integer(all) => {
                self.out.int(flags(13))?;
                self.out.ints(all)?;
            }
            Body::Double(all) => {
                self.out.int(flags(14))?;
                self.out.doubles(all, text)?;
            }
            Body::Complex(all) => {
                self.out.int(flags(15))?;
                self.out.complexes(all, text)?;
            }
            Body::Raw(all) => {
                self.out.int(flags(24))?;
                self.out.raw(all)?;
            }
            Body::Character(all) => {
                self.out.int(flags(16))?;
                self.out.length(all.len())?;
                self.stack_attributes(node);
                return self.texts(id, 0);
            }
            Body::List(all) | Body::Expression(all) => {
                let code = if matches!(body, Body::List(_)) {
                    19
                } else {
                    20
                };
                self.out.int(flags(code))?;
                self.out.length(all.len())?;
                self.stack_attributes(node);
                self.stack.push(Task::Items(all));
                return Ok(());
            }
            _ => {
                let text = "a deferred vector that stands for no vector";
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
        }
        self.stack_attributes(node);
        Ok(())
    }

    /// Strings from number `at` on, up to one with attributes.
    fn texts(&mut self, id: Id, at: usize) -> Result<()> {
        let body = if self.rules.expand {
            self.arena.data(id, None)?
        } else {
            &self.arena.node(id).body
        };
        let Body::Character(all) = body else {
            return Ok(());
        };
        let attributes = all.attributes();
        if attributes.is_empty() {
            return all.iter().try_for_each(|text| self.out.char(text, 0));
        }
        for at in at..all.len() {
            let Some(text) = all.get(at) else {
                return Ok(());
            };
            let found = attributes.binary_search_by_key(&(at as u64), |(at, _)| *at);
            let found = found.ok().and_then(|found| attributes.get(found));
            let Some((_, attributes)) = found else {
                self.out.char(text, 0)?;
                continue;
            };
            self.out.char(text, ATTRIBUTES)?;
            let next = at.saturating_add(1);
            self.stack.push(Task::Texts { id, at: next });
            self.stack.push(Task::Item(*attributes));
            return Ok(());
        }
        Ok(())
    }

    /// A cell, and the ones behind it later.
    fn cells(&mut self, cells: &'a [Cell], tail: Id) -> Result<()> {
        let Some((cell, rest)) = cells.split_first() else {
            self.stack.push(Task::Item(tail));
            return Ok(());
        };
        self.stack.push(Task::Cells { cells: rest, tail });
        if self.rules.data_only && cell.levels & ACTIVE != 0 {
            return Ok(());
        }
        let mut flags = i32::from(cell.code) | i32::from(cell.levels) << 12;
        if cell.is_object {
            flags |= OBJECT;
        }
        if cell.tag.is_some() {
            flags |= TAG;
        }
        if cell.attributes.is_null() {
            self.out.int(flags)?;
            self.rest(cell);
            return Ok(());
        }
        self.out.int(flags | ATTRIBUTES)?;
        self.stack.push(Task::Rest(cell));
        self.stack.push(Task::Item(cell.attributes));
        Ok(())
    }

    fn rest(&mut self, cell: &'a Cell) {
        self.stack.push(Task::Item(cell.value));
        if let Some(tag) = cell.tag {
            self.stack.push(Task::Item(tag));
        }
    }
}

/// The flags of a node.
fn flags_of(code: u8, node: &Node) -> i32 {
    let mut flags = i32::from(code) | i32::from(node.levels) << 12;
    if node.is_object {
        flags |= OBJECT;
    }
    if !node.attributes.is_null() {
        flags |= ATTRIBUTES;
    }
    flags
}

/// What is left out where data alone are written.
pub(super) fn is_code(body: &Body) -> bool {
    matches!(
        body,
        Body::Promise { .. } | Body::Closure { .. } | Body::Bytecode(_) | Body::ExternalPtr { .. }
    )
}

fn odd_texts(arena: &Arena, encoding: Encoding) -> HashMap<(Id, u64), &str> {
    let same = arena.header().encoding == encoding;
    let odd = arena.odd_texts.iter().filter(|_| same);
    odd.map(|(id, at, text)| ((*id, *at), &**text)).collect()
}
