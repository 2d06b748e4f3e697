//! The items of a serialization into an arena, with a stack of its own.

use crate::robject::{Altrep, Body, Builder, Header, Id, Node, ReadOptions, Special, Strings};
use crate::{Error, ErrorKind, Result};

use super::budget::Budget;
use super::code::CodeFrame;
use super::frame::{Frame, Pairs, Parts, Place};
use super::input::{reserve, Form, Input, Texts};
use super::wanted::Wanted;
use super::window::Window;
use super::{code, has_attributes, has_tag, is_object, levels, unsigned};

/// Reads the items of one serialization.
pub(super) struct Parser<'a, W> {
    pub(super) input: Input<W>,
    build: &'a mut Builder,
    /// What items refer to by number, from 1 on.
    table: Vec<Id>,
    stack: Vec<Frame>,
    /// Whether symbols are those that the builder made before.
    shared: bool,
    /// The elements of the outermost list that are kept; None for all.
    pub(super) wanted: Option<Wanted>,
}

/// Items between questions whether to stop.
const PATIENCE: u32 = 1 << 12;

impl<'a, W: Window> Parser<'a, W> {
    pub(super) fn new(
        window: W,
        form: Form,
        build: &'a mut Builder,
        options: &ReadOptions,
        shared: bool,
    ) -> Self {
        Self {
            input: Input {
                window,
                form,
                hex: false,
                budget: Budget::new(options),
            },
            build,
            table: Vec::new(),
            stack: Vec::new(),
            shared,
            wanted: None,
        }
    }

    /// What stands behind the first two bytes.
    pub(super) fn header(&mut self) -> Result<Header> {
        let version = self.input.int()?;
        if !matches!(version, 2 | 3) {
            let text = format!("serialization version {version}; 2 and 3 are read");
            return Err(self.at(Error::new(ErrorKind::Unsupported, text)));
        }
        let (r_version, min_reader) = (self.input.int()?, self.input.int()?);
        let mut native_encoding = None;
        if version == 3 {
            let length = self.input.int()?;
            let Some(length) = u64::try_from(length).ok().filter(|length| *length <= 63) else {
                let text = format!("the name of the native encoding has {length} bytes");
                return Err(self.input.malformed(text));
            };
            let mut name = Vec::new();
            self.input.text(length, &mut name)?;
            native_encoding = Some(name.into_boxed_slice());
        }
        Ok(Header {
            encoding: self.input.encoding(),
            version,
            r_version,
            min_reader,
            native_encoding,
        })
    }

    /// Nodes made, and values in the table.
    pub(super) fn made(&self) -> (usize, usize) {
        (self.build.arena().len(), self.table.len())
    }

    pub(super) fn give_up(&mut self, from: usize) {
        self.build.forget(from);
    }

    pub(super) fn give_up_elements(&mut self, id: Id) {
        self.build.empty(id);
    }

    fn at(&self, error: Error) -> Error {
        error.with_offset(self.input.window.offset())
    }

    /// One item with all in it.
    pub(super) fn item(&mut self, options: &ReadOptions) -> Result<Id> {
        let mut patience = PATIENCE;
        loop {
            let flags = self.input.int()?;
            let Some(mut done) = self.open(flags)? else {
                self.input
                    .budget
                    .check_depth(self.stack.len())
                    .map_err(|e| self.at(e))?;
                continue;
            };
            patience = patience.saturating_sub(1);
            if patience == 0 {
                patience = PATIENCE;
                if options
                    .cancel
                    .as_ref()
                    .is_some_and(crate::compress::CancelToken::is_cancelled)
                {
                    return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
                }
            }
            loop {
                let Some(frame) = self.stack.pop() else {
                    return Ok(done);
                };
                match self.feed(frame, done)? {
                    Some(id) => done = id,
                    None => break,
                }
            }
        }
    }

    /// The node of a body and flags; complete unless it has attributes, which come next.
    fn node(&mut self, body: Body, flags: i32) -> Result<Option<Id>> {
        self.input
            .budget
            .charge(size_of::<Node>() as u64)
            .map_err(|e| self.at(e))?;
        let id = self.build.push_node(Node {
            body,
            attributes: Id::NULL,
            levels: levels(flags),
            is_object: is_object(flags),
        })?;
        Ok(self.attributed(id, flags))
    }

    fn attributed(&mut self, id: Id, flags: i32) -> Option<Id> {
        if has_attributes(flags) {
            self.stack.push(Frame::Attributes(id));
            return None;
        }
        Some(id)
    }

    fn wait(&mut self, frame: Frame) -> Option<Id> {
        self.stack.push(frame);
        None
    }

    /// Begins an item; its id if it is complete already.
    fn open(&mut self, flags: i32) -> Result<Option<Id>> {
        let waits = match code(flags) {
            1 => return self.symbol(flags),
            2 | 6 | 17 => Frame::Pairs(Pairs::new(flags)),
            3 | 5 => return self.function(flags),
            4 => Frame::Parts(self.environment(flags)?),
            7 | 8 => return self.builtin(flags),
            9 => {
                let bytes = self.input.char()?;
                return self.node(Body::Char(bytes), flags);
            }
            10 | 13 | 14 | 15 | 24 => return self.vector(flags),
            16 => {
                let left = self.input.length()?;
                let least = if self.input.form == Form::Text { 5 } else { 8 };
                let room = self.input.room(left, least, 4)?;
                let made = Box::new(Strings::with_capacity(room, 0));
                return self.texts(flags, left, made);
            }
            19 | 20 => {
                let left = self.input.length()?;
                let room =
                    self.input
                        .room(left, if self.input.form == Form::Text { 2 } else { 4 }, 4)?;
                let made = reserve(room)?;
                if left == 0 {
                    return self.items(flags, made);
                }
                if self.stack.is_empty() {
                    self.mark();
                }
                Frame::Items { flags, left, made }
            }
            21 => Frame::Code(Box::new(CodeFrame::begin(flags, &mut self.input)?)),
            22 => {
                let mut parts = Parts::new(flags, 0, 2);
                parts.id = self.enter_reserved()?;
                Frame::Parts(parts)
            }
            23 => {
                let id = self.enter_reserved()?;
                self.fill(id, Body::WeakRef, flags);
                return Ok(self.attributed(id, flags));
            }
            25 => return self.node(Body::S4, flags),
            238 => Frame::Parts(Parts::new(flags, 0, 3)),
            247..=249 => return self.named(flags),
            255 => return self.reference(flags).map(Some),
            other => return self.special(other).map(Some),
        };
        Ok(self.wait(waits))
    }

    fn special(&mut self, code: u8) -> Result<Id> {
        Ok(match code {
            254 => Id::NULL,
            253 => Special::GlobalEnv.id(),
            252 => Special::Unbound.id(),
            251 => Special::MissingArg.id(),
            250 => Special::BaseNamespace.id(),
            242 => Special::EmptyEnv.id(),
            241 => Special::BaseEnv.id(),
            _ => {
                let text = format!("an item of type {code}, which R does not write");
                return Err(self.at(Error::new(ErrorKind::Unsupported, text)));
            }
        })
    }

    fn symbol(&mut self, flags: i32) -> Result<Option<Id>> {
        let name = self.input.int()?;
        if code(name) != 9 {
            let text = format!("the name of a symbol is an item of type {}", code(name));
            return Err(self.input.malformed(text));
        }
        self.stack.push(Frame::Symbol(flags));
        let bytes = self.input.char()?;
        let char = self.node(Body::Char(bytes), name)?;
        match (char, char.and_then(|_| self.stack.pop())) {
            (Some(char), Some(_)) => self.named_symbol(flags, char),
            _ => Ok(None),
        }
    }

    fn named_symbol(&mut self, flags: i32, char: Id) -> Result<Option<Id>> {
        let known = self.shared.then(|| self.build.known_symbol(char)).flatten();
        let id = if let Some(id) = known {
            id
        } else {
            let id = self.build.push_node(Node {
                body: Body::Symbol(char),
                attributes: Id::NULL,
                levels: levels(flags),
                is_object: is_object(flags),
            })?;
            self.build.know_symbol(char, id);
            id
        };
        self.enter(id);
        Ok(Some(id))
    }

    fn enter(&mut self, id: Id) {
        self.table.push(id);
    }

    fn enter_reserved(&mut self) -> Result<Id> {
        self.input
            .budget
            .charge(size_of::<Node>() as u64)
            .map_err(|e| self.at(e))?;
        let id = self.build.reserve()?;
        self.enter(id);
        Ok(id)
    }

    fn fill(&mut self, id: Id, body: Body, flags: i32) {
        let node = Node {
            body,
            attributes: Id::NULL,
            levels: levels(flags),
            is_object: is_object(flags),
        };
        self.build.fill(id, node);
    }

    /// A closure or promise: attributes, environment, value and expression.
    fn function(&mut self, flags: i32) -> Result<Option<Id>> {
        let first = match (has_attributes(flags), has_tag(flags)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        if code(flags) == 3 && !has_tag(flags) {
            return Err(self.input.malformed("a closure without an environment"));
        }
        let mut parts = Parts::new(flags, first, 4);
        if !has_tag(flags) {
            parts = parts.without(1);
        }
        Ok(self.wait(Frame::Parts(parts)))
    }

    fn environment(&mut self, flags: i32) -> Result<Parts> {
        let mut parts = Parts::new(flags, 0, 4);
        parts.locked = self.input.int()?;
        parts.id = self.enter_reserved()?;
        Ok(parts)
    }

    fn builtin(&mut self, flags: i32) -> Result<Option<Id>> {
        let length = self.input.int()?;
        let Ok(length) = u64::try_from(length) else {
            let text = format!("the length of a name is {length}");
            return Err(self.input.malformed(text));
        };
        let mut name = Vec::new();
        self.input.text(length, &mut name)?;
        let body = Body::Builtin {
            special: code(flags) == 7,
            name: name.into_boxed_slice(),
        };
        self.node(body, flags)
    }

    fn vector(&mut self, flags: i32) -> Result<Option<Id>> {
        let count = self.input.length()?;
        let mut odd = Vec::new();
        let body = match code(flags) {
            10 => Body::Logical(self.input.ints(count)?),
            13 => Body::Integer(self.input.ints(count)?),
            14 => Body::Double(self.input.doubles(count, &mut odd)?),
            15 => Body::Complex(self.input.complexes(count, &mut odd)?),
            _ => Body::Raw(self.input.raw(count)?),
        };
        let next = u32::try_from(self.build.arena().len()).map(Id);
        for (element, text) in odd {
            if let Ok(id) = next {
                self.build.keep_text(id, element, &text);
            }
        }
        self.node(body, flags)
    }

    fn texts(&mut self, flags: i32, mut left: u64, mut made: Box<Strings>) -> Result<Option<Id>> {
        match self.input.texts(&mut made, &mut left)? {
            Texts::Done => self.node(Body::Character(made), flags),
            Texts::Attributes => Ok(self.wait(Frame::Texts { flags, left, made })),
        }
    }

    fn items(&mut self, flags: i32, made: Vec<Id>) -> Result<Option<Id>> {
        let body = match code(flags) {
            19 => Body::List(made),
            _ => Body::Expression(made),
        };
        self.node(body, flags)
    }

    fn named(&mut self, flags: i32) -> Result<Option<Id>> {
        let (zero, count) = (self.input.int()?, self.input.int()?);
        if zero != 0 || count < 0 {
            let text = format!("{zero} and {count} in front of names");
            return Err(self.input.malformed(text));
        }
        let made = Vec::new();
        if count == 0 {
            return self.names(flags, made);
        }
        let left = count;
        Ok(self.wait(Frame::Names { flags, left, made }))
    }

    fn names(&mut self, flags: i32, names: Vec<Id>) -> Result<Option<Id>> {
        let code = code(flags);
        let id = self.node(Body::Named { code, names }, flags & !super::ATTRIBUTES)?;
        if let Some(id) = id {
            self.enter(id);
        }
        Ok(id)
    }

    fn reference(&mut self, flags: i32) -> Result<Id> {
        let number = match unsigned(flags) >> 8 {
            0 => unsigned(self.input.int()?),
            number => number,
        };
        let at = usize::try_from(number)
            .ok()
            .and_then(|at| at.checked_sub(1));
        let found = at.and_then(|at| self.table.get(at)).copied();
        found.ok_or_else(|| {
            let known = self.table.len();
            let text = format!("a reference to value {number} of {known}");
            self.input.malformed(text)
        })
    }

    /// Gives a finished item to the value that waits for it; the id of that one if it is complete.
    fn feed(&mut self, frame: Frame, item: Id) -> Result<Option<Id>> {
        match frame {
            Frame::Attributes(id) => {
                if let Some(node) = self.build.node_mut(id) {
                    node.attributes = item;
                }
                Ok(Some(id))
            }
            Frame::Symbol(flags) => self.named_symbol(flags, item),
            Frame::Pairs(pairs) => self.cell(pairs, item),
            Frame::Parts(mut parts) => {
                if parts.take(item) {
                    self.parts(&parts)
                } else {
                    Ok(self.wait(Frame::Parts(parts)))
                }
            }
            Frame::Items {
                flags,
                mut left,
                mut made,
            } => {
                let item = match &self.wanted {
                    Some(_) if self.stack.is_empty() => self.kept(made.len(), item),
                    _ => item,
                };
                made.push(item);
                left = left.saturating_sub(1);
                if left == 0 {
                    return self.items(flags, made);
                }
                Ok(self.wait(Frame::Items { flags, left, made }))
            }
            Frame::Texts {
                flags,
                left,
                mut made,
            } => {
                made.set_attributes(item);
                self.texts(flags, left, made)
            }
            Frame::Names {
                flags,
                mut left,
                mut made,
            } => {
                if !matches!(self.build.node(item).body, Body::Char(_)) {
                    return Err(self.input.malformed("a name that is no string"));
                }
                made.push(item);
                left = left.saturating_sub(1);
                if left == 0 {
                    return self.names(flags, made);
                }
                Ok(self.wait(Frame::Names { flags, left, made }))
            }
            Frame::Code(mut code) => {
                let depth = self.stack.len();
                match code.feed(item, depth, &mut self.input)? {
                    Some(body) => self.node(Body::Bytecode(Box::new(body)), code.flags),
                    None => Ok(self.wait(Frame::Code(code))),
                }
            }
        }
    }

    /// An item of a cell. The tail of the last cell is the next cell, or what ends them.
    fn cell(&mut self, mut pairs: Pairs, item: Id) -> Result<Option<Id>> {
        if pairs.place == Place::Tail {
            return self.pairs(pairs, item);
        }
        if !pairs.take(item) {
            return Ok(self.wait(Frame::Pairs(pairs)));
        }
        self.input
            .budget
            .charge(size_of::<crate::robject::Cell>() as u64)
            .map_err(|e| self.at(e))?;
        let flags = self.input.int()?;
        if matches!(code(flags), 2 | 6 | 17) {
            pairs.next(flags);
            return Ok(self.wait(Frame::Pairs(pairs)));
        }
        if code(flags) == 254 {
            return self.pairs(pairs, Id::NULL);
        }
        pairs.place = Place::Tail;
        self.stack.push(Frame::Pairs(pairs));
        let Some(tail) = self.open(flags)? else {
            return Ok(None);
        };
        // What was just pushed is at the top: nothing was opened in between.
        match self.stack.pop() {
            Some(Frame::Pairs(pairs)) => self.pairs(pairs, tail),
            _ => Err(Error::new(
                ErrorKind::Internal,
                "the stack of the reader is mixed up",
            )),
        }
    }

    fn pairs(&mut self, mut pairs: Pairs, tail: Id) -> Result<Option<Id>> {
        pairs.cells.push(pairs.cell);
        pairs.cells.shrink_to_fit();
        let first = pairs.cells.first().copied().unwrap_or(pairs.cell);
        self.input
            .budget
            .charge(size_of::<Node>() as u64)
            .map_err(|e| self.at(e))?;
        let id = self.build.push_node(Node {
            body: Body::Pairs {
                cells: pairs.cells,
                tail,
            },
            attributes: first.attributes,
            levels: first.levels,
            is_object: first.is_object,
        })?;
        Ok(Some(id))
    }

    /// A value all of whose items are there.
    fn parts(&mut self, parts: &Parts) -> Result<Option<Id>> {
        let flags = parts.flags;
        let [first, second, third, fourth] = [0, 1, 2, 3].map(|at| parts.item(at));
        let (body, attributes) = match code(flags) {
            3 => (
                Body::Closure {
                    environment: second,
                    formals: third,
                    body: fourth,
                },
                first,
            ),
            5 => (
                Body::Promise {
                    environment: has_tag(flags).then_some(second),
                    value: third,
                    expression: fourth,
                },
                first,
            ),
            4 => (
                Body::Environment {
                    locked: parts.locked,
                    enclosure: first,
                    frame: second,
                    hashtab: third,
                },
                fourth,
            ),
            22 => {
                let body = Body::ExternalPtr {
                    protected: first,
                    tag: second,
                };
                self.fill(parts.id, body, flags);
                return Ok(self.attributed(parts.id, flags));
            }
            _ => (Body::Altrep(Box::new(Altrep::new(first, second))), third),
        };
        let id = if parts.id.is_null() {
            self.node(body, flags & !super::ATTRIBUTES)?
        } else {
            self.fill(parts.id, body, flags);
            Some(parts.id)
        };
        if let Some(node) = id.and_then(|id| self.build.node_mut(id)) {
            node.attributes = attributes;
        }
        Ok(id)
    }
}
