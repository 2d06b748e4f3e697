//! One form of all values that R's `identical()` calls the same, to be hashed.
//!
//! It is a serialization, version 3 as XDR, that R reads. What does not make two values different is
//! left out or chosen once: attributes stand in the order of their names; general purpose bits are cleared
//! but for S4, the marks of strings and active bindings; deferred vectors are their values, and automatic
//! row names the number of them; there is one NaN, one NA and one zero; strings are UTF-8 unless they are
//! marked as bytes; compiled code is what it was made from, without references to its source; an
//! environment's bindings stand in the order of their names.

mod bytes;

use std::collections::HashMap;

use super::code::{Bytecode, CodeCell, Constant};
use super::identical::automatic;
use super::model::{Arena, Body, Cell, Id, Node, RObject, NA_INT};
use super::strings::{Text, TextEncoding};
use super::text::Recoder;
use crate::{Error, ErrorKind, Result};
use bytes::marked;

/// `X`, version 3, written by R 4.2.2, for R 3.5.0 and later, in UTF-8.
const HEADER: &[u8] = b"X\n\0\0\0\x03\0\x04\x02\x02\0\x03\x05\0\0\0\0\x05UTF-8";
const OBJECT: i32 = 1 << 8;
const ATTRIBUTES: i32 = 1 << 9;
const TAG: i32 = 1 << 10;
/// What ends a pairlist.
const NULL: i32 = 254;
/// The bit of an S4 object.
const S4: u16 = 1 << 4;
/// The bit of a binding that is a function call.
const ACTIVE: u16 = 1 << 15;
/// Steps that an object may take beside some for each of its values: one that is shared counts each time.
const STEPS: u64 = 1 << 26;

/// Gives the canonical bytes of an object to `sink`, part after part, in little memory.
///
/// Two values that [`RObject::identical`] calls the same have the same bytes, whatever file they came
/// from; what R has by reference is told by what it holds.
///
/// # Errors
/// `Limit` for deferred vectors beyond the budget, and for values that share so much that they would
/// take hours; `Usage` for a value that lies in itself where only environments may.
///
/// # Example
/// ```
/// use tare::robject::{canonical_bytes, Body, Builder};
///
/// let mut build = Builder::new();
/// let zero = build.push(Body::Double(vec![0.0, f64::NAN]))?;
/// let minus = build.push(Body::Double(vec![-0.0, -f64::NAN]))?;
/// let object = build.finish(zero);
/// let bytes = |of| -> tare::Result<Vec<u8>> {
///     let mut bytes = Vec::new();
///     canonical_bytes(&object.at(of), |part| bytes.extend_from_slice(part))?;
///     Ok(bytes)
/// };
/// assert_eq!(bytes(zero)?, bytes(minus)?);
/// # Ok::<(), tare::Error>(())
/// ```
pub fn canonical_bytes(object: &RObject, mut sink: impl FnMut(&[u8])) -> Result<()> {
    let arena = object.arena();
    let mut out = Canonical {
        arena,
        recoder: Recoder::of(arena),
        buffer: HEADER.to_vec(),
        sink: &mut sink,
        stack: vec![Task::Item(object.id())],
        symbols: HashMap::new(),
        references: HashMap::new(),
        known: 0,
    };
    out.run()?;
    let rest = std::mem::take(&mut out.buffer);
    (out.sink)(&rest);
    Ok(())
}

/// What is left to be written.
enum Task<'a> {
    Item(Id),
    Items(&'a [Id]),
    /// The cells of a pairlist or call.
    Cells(&'a [Cell], Id),
    /// A named value: a cell of attributes or of an environment.
    Named(i32, Option<Id>, Id),
    /// The attribute of automatic row names, of so many rows.
    RowNames(Id, i32),
    /// Their value.
    Rows(i32),
    /// What ends attributes and bindings.
    End,
    /// A constant of compiled code.
    Constant(&'a Bytecode, Constant),
}

struct Canonical<'a, 's> {
    arena: &'a Arena,
    recoder: Recoder,
    buffer: Vec<u8>,
    sink: &'s mut dyn FnMut(&[u8]),
    stack: Vec<Task<'a>>,
    /// The numbers of names in the table of references.
    symbols: HashMap<Vec<u8>, i32>,
    /// The numbers of what R has by reference.
    references: HashMap<Id, i32>,
    known: i32,
}

impl<'a> Canonical<'a, '_> {
    fn run(&mut self) -> Result<()> {
        let values = self.arena.len() as u64;
        let most = values.saturating_mul(64).saturating_add(STEPS);
        let deepest = values.saturating_mul(8).saturating_add(1 << 16);
        let mut steps = 0_u64;
        while let Some(task) = self.stack.pop() {
            steps += 1;
            if steps > most {
                let text = format!("more than {most} values, most of them the same ones again");
                return Err(Error::new(ErrorKind::Limit, text));
            }
            if self.stack.len() as u64 > deepest {
                let text = "a value that lies in itself; only environments may";
                return Err(Error::new(ErrorKind::Usage, text));
            }
            match task {
                Task::Item(id) => self.value(id)?,
                Task::Items(ids) => {
                    if let Some((first, rest)) = ids.split_first() {
                        self.stack.push(Task::Items(rest));
                        self.value(*first)?;
                    }
                }
                Task::Cells(cells, tail) => self.cells(cells, tail),
                Task::Named(flags, tag, value) => {
                    self.int(flags | if tag.is_some() { TAG } else { 0 });
                    self.stack.push(Task::Item(value));
                    self.stack.extend(tag.map(Task::Item));
                }
                Task::RowNames(tag, rows) => {
                    self.int(2 | TAG);
                    self.stack.push(Task::Rows(rows));
                    self.stack.push(Task::Item(tag));
                }
                Task::Rows(rows) => {
                    self.int(13);
                    self.ints(&[NA_INT, -rows]);
                }
                Task::End => self.int(NULL),
                Task::Constant(code, constant) => self.constant(code, constant),
            }
        }
        Ok(())
    }

    /// Writes a value, or its beginning.
    fn value(&mut self, id: Id) -> Result<()> {
        let arena = self.arena;
        let node = arena.node(id);
        if let Some(number) = self.references.get(&id) {
            let number = *number;
            self.reference(number);
            return Ok(());
        }
        match &node.body {
            Body::Special(special) => self.int(i32::from(*special as u8)),
            Body::Symbol(name) => self.symbol(*name),
            Body::Char(bytes) => {
                let (bytes, levels) = (bytes.as_deref(), node.levels);
                self.text(Text { bytes, levels });
            }
            Body::Pairs { cells, tail } => self.stack.push(Task::Cells(cells, *tail)),
            Body::Environment {
                locked,
                enclosure,
                frame,
                hashtab,
            } => {
                self.enter(id);
                self.int(self.flags(4, node, false) & !ATTRIBUTES);
                self.int(*locked);
                self.attributes_or_end(node);
                self.stack.push(Task::End); // no hash table: bindings are sorted
                self.bindings(*frame, *hashtab);
                self.stack.push(Task::Item(*enclosure));
            }
            Body::Closure {
                environment,
                formals,
                body,
            } => self.function(3, node, &[Some(*environment), Some(*formals), Some(*body)]),
            Body::Promise {
                environment,
                value,
                expression,
            } => self.function(5, node, &[*environment, Some(*value), Some(*expression)]),
            Body::Builtin { special, name } => {
                self.attributes(node, false);
                self.int(self.flags(if *special { 7 } else { 8 }, node, false));
                self.length(name.len());
                self.bytes(name);
            }
            Body::Bytecode(code) => match source_of(code, 0) {
                Some(constant) => self.stack.push(Task::Constant(code, constant)),
                None => self.int(NULL),
            },
            Body::ExternalPtr { protected, tag } => {
                self.enter(id);
                self.int(self.flags(22, node, false));
                self.attributes(node, false);
                self.stack.push(Task::Item(*tag));
                self.stack.push(Task::Item(*protected));
            }
            Body::WeakRef => {
                self.enter(id);
                self.int(self.flags(23, node, false));
                self.attributes(node, false);
            }
            Body::S4 => {
                self.int(self.flags(25, node, false));
                self.attributes(node, false);
            }
            Body::Named { code, names } => {
                self.enter(id);
                self.int(i32::from(*code));
                self.int(0);
                self.length(names.len());
                self.stack.push(Task::Items(names));
            }
            Body::Altrep(altrep) => match arena.data(id, None) {
                Ok(body) => return self.vector(node, body),
                // Of a class that is not made here: what it keeps.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    self.int(self.flags(238, node, false) & !ATTRIBUTES);
                    self.attributes_or_end(node);
                    self.stack.push(Task::Item(altrep.state));
                    self.stack.push(Task::Item(altrep.info));
                }
                Err(error) => return Err(error),
            },
            body => return self.vector(node, body),
        }
        Ok(())
    }

    fn vector(&mut self, node: &'a Node, body: &'a Body) -> Result<()> {
        let code = match body {
            Body::Logical(_) => 10,
            Body::Integer(_) => 13,
            Body::Double(_) => 14,
            Body::Complex(_) => 15,
            Body::Character(_) => 16,
            Body::List(_) => 19,
            Body::Expression(_) => 20,
            Body::Raw(_) => 24,
            _ => {
                let text = "a deferred vector that stands for no vector";
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
        };
        let code_itself = code == 20;
        self.int(self.flags(code, node, code_itself));
        self.attributes(node, code_itself);
        match body {
            Body::Logical(all) | Body::Integer(all) => self.ints(all),
            Body::Double(all) => self.doubles(all.len(), all),
            Body::Complex(all) => self.doubles(all.len(), all.as_flattened()),
            Body::Character(all) => self.texts(all),
            Body::List(all) | Body::Expression(all) => {
                self.length(all.len());
                self.stack.push(Task::Items(all));
            }
            Body::Raw(all) => {
                self.length(all.len());
                self.bytes(all);
            }
            _ => {}
        }
        Ok(())
    }

    /// The flags of a node. Of code, attributes that lead to its source do not count.
    fn flags(&self, code: u8, node: &Node, is_code: bool) -> i32 {
        let mut flags = i32::from(code) | i32::from(node.levels & S4) << 12;
        if node.is_object {
            flags |= OBJECT;
        }
        if !self.sorted(node.attributes, is_code).is_empty() {
            flags |= ATTRIBUTES;
        }
        flags
    }

    /// Attributes in the order of their names: name and cell.
    fn sorted(&self, attributes: Id, is_code: bool) -> Vec<(Vec<u8>, &'a Cell)> {
        let cells = self.arena.cells(attributes).iter();
        let mut sorted: Vec<_> = cells
            .map(|cell| (self.name_of(cell), cell))
            .filter(|(name, _)| !is_code || !is_source(name))
            .collect();
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        sorted
    }

    fn name_of(&self, cell: &Cell) -> Vec<u8> {
        match cell.tag.map(|tag| &self.arena.node(tag).body) {
            Some(Body::Symbol(name)) => self.plain(*name).0,
            _ => Vec::new(),
        }
    }

    /// Attributes later, if there are any.
    fn attributes(&mut self, node: &Node, is_code: bool) {
        let sorted = self.sorted(node.attributes, is_code);
        if !sorted.is_empty() {
            self.push_attributes(&sorted);
        }
    }

    /// Attributes later, or the end of none.
    fn attributes_or_end(&mut self, node: &Node) {
        let sorted = self.sorted(node.attributes, false);
        self.push_attributes(&sorted);
    }

    fn push_attributes(&mut self, sorted: &[(Vec<u8>, &'a Cell)]) {
        self.stack.push(Task::End);
        for (name, cell) in sorted.iter().rev() {
            let rows = if name == b"row.names" {
                self.rows(cell.value)
            } else {
                None
            };
            match (rows, cell.tag) {
                (Some(rows), Some(tag)) => self.stack.push(Task::RowNames(tag, rows)),
                _ => self.stack.push(Task::Named(2, cell.tag, cell.value)),
            }
        }
    }

    /// How many rows automatic row names name; None for other names.
    fn rows(&self, names: Id) -> Option<i32> {
        if !automatic(self.arena, names) {
            return None;
        }
        match self.arena.data(names, None) {
            Ok(Body::Integer(values)) => match values.as_slice() {
                [NA_INT, rows] => rows.checked_abs(),
                all => i32::try_from(all.len()).ok(),
            },
            Ok(Body::Double(values)) => {
                let rows = values.get(1).copied().unwrap_or(0.0).abs();
                let whole = rows.fract() == 0.0 && rows <= f64::from(i32::MAX);
                #[allow(clippy::cast_possible_truncation, reason = "a whole number in range")]
                whole.then_some(rows as i32)
            }
            _ => None,
        }
    }

    /// The bindings of an environment, in the order of their names, later.
    fn bindings(&mut self, frame: Id, hashtab: Id) {
        let arena = self.arena;
        let mut lists = vec![frame];
        if let Body::List(chains) = &arena.node(hashtab).body {
            lists.extend_from_slice(chains);
        }
        let cells = lists.iter().flat_map(|list| arena.cells(*list));
        let mut sorted: Vec<_> = cells.map(|cell| (self.name_of(cell), cell)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.stack.push(Task::End);
        for (_, cell) in sorted.iter().rev() {
            let flags = 2 | i32::from(cell.levels & ACTIVE) << 12;
            self.stack.push(Task::Named(flags, cell.tag, cell.value));
        }
    }

    fn function(&mut self, code: u8, node: &Node, parts: &[Option<Id>]) {
        let tag = match parts {
            [Some(_), ..] => TAG,
            _ => 0,
        };
        self.int(self.flags(code, node, true) | tag);
        let parts = parts.iter().rev().flatten();
        self.stack.extend(parts.map(|part| Task::Item(*part)));
        self.attributes(node, true);
    }

    /// A cell, and the ones behind it later.
    fn cells(&mut self, cells: &'a [Cell], tail: Id) {
        let Some((cell, rest)) = cells.split_first() else {
            self.stack.push(Task::Item(tail));
            return;
        };
        self.stack.push(Task::Cells(rest, tail));
        let sorted = self.sorted(cell.attributes, cell.code == 6);
        self.pair(
            cell.code,
            cell.is_object,
            cell.levels,
            cell.tag,
            &sorted,
            Task::Item(cell.value),
        );
    }

    fn pair(
        &mut self,
        code: u8,
        is_object: bool,
        levels: u16,
        tag: Option<Id>,
        attributes: &[(Vec<u8>, &'a Cell)],
        value: Task<'a>,
    ) {
        let mut flags = i32::from(code) | i32::from(levels & S4) << 12;
        if is_object {
            flags |= OBJECT;
        }
        if tag.is_some() {
            flags |= TAG;
        }
        self.stack.push(value);
        self.stack.extend(tag.map(Task::Item));
        if !attributes.is_empty() {
            flags |= ATTRIBUTES;
            self.push_attributes(attributes);
        }
        self.int(flags);
    }

    /// A constant of compiled code as the code that it was made from.
    fn constant(&mut self, code: &'a Bytecode, constant: Constant) {
        match constant {
            Constant::Item(_, id) => self.stack.push(Task::Item(id)),
            Constant::Code(at) => match source_of(code, at) {
                Some(constant) => self.stack.push(Task::Constant(code, constant)),
                None => self.int(NULL),
            },
            Constant::Cell(at) => {
                let cell = match code.cells.get(at as usize) {
                    Some(CodeCell::Ref(wanted)) => code.cells.iter().find(
                        |cell| matches!(cell, CodeCell::Pair { number, .. } if *number == Some(*wanted)),
                    ),
                    found => found,
                };
                let Some(CodeCell::Pair {
                    code: kind,
                    attributes,
                    tag,
                    car,
                    cdr,
                    ..
                }) = cell
                else {
                    return self.int(NULL);
                };
                let kind = if matches!(kind, 6 | 240) { 6 } else { 2 };
                let attributes = attributes.unwrap_or(Id::NULL);
                let sorted = self.sorted(attributes, kind == 6);
                let tag = Some(*tag).filter(|tag| !tag.is_null());
                self.stack.push(Task::Constant(code, *cdr));
                self.pair(kind, false, 0, tag, &sorted, Task::Constant(code, *car));
            }
        }
    }

    fn symbol(&mut self, name: Id) {
        let (bytes, levels) = self.plain(name);
        if let Some(number) = self.symbols.get(&bytes) {
            let number = *number;
            return self.reference(number);
        }
        self.known = self.known.saturating_add(1);
        self.int(1);
        self.char(&bytes, levels);
        self.symbols.insert(bytes, self.known);
    }

    fn enter(&mut self, id: Id) {
        self.known = self.known.saturating_add(1);
        self.references.insert(id, self.known);
    }

    fn reference(&mut self, number: i32) {
        if number > 0x007f_ffff {
            self.int(255);
            return self.int(number);
        }
        self.int(number << 8 | 255);
    }

    /// The bytes and the mark of a name.
    fn plain(&self, name: Id) -> (Vec<u8>, u16) {
        let levels = self.arena.node(name).levels;
        let bytes = self.arena.char(name);
        let text = Text { bytes, levels };
        match self.recoder.decode(text) {
            None => (b"NA".to_vec(), TextEncoding::Ascii.levels()),
            Some(decoded) => {
                let (bytes, mark) = marked(&decoded, text.encoding());
                (bytes.to_vec(), mark)
            }
        }
    }
}

/// What a piece of compiled code was made from: its first constant.
fn source_of(code: &Bytecode, at: u32) -> Option<Constant> {
    let first = code.codes.get(at as usize)?.constants.first()?;
    // Code whose first constant is itself would have no end.
    (*first != Constant::Code(at)).then_some(*first)
}

/// Whether an attribute of code says where it was written.
fn is_source(name: &[u8]) -> bool {
    matches!(name, b"srcref" | b"srcfile" | b"wholeSrcref")
}
