//! Values from the plain bytes, with an explicit stack.

use std::collections::HashMap;

use super::super::account::Account;
use super::super::kind::Special;
use super::super::model::{Body, Cell, Id, Node};
use super::super::plain::Plain;
use super::super::{rds, Builder, RObject, ReadOptions};
use super::container::Shuffles;
use super::head::{head, Class, Head};
use super::open::{cell, is_object, levels, Open, Parts};
use super::vectors;
use crate::{Error, ErrorKind, Result};

/// The bit of R's levels that S4 objects have.
const S4: u16 = 1 << 4;

/// The object that the plain bytes are.
pub(super) fn object(
    plain: &mut Plain<'_>,
    shuffles: Shuffles,
    options: &ReadOptions,
) -> Result<RObject> {
    let mut reader = Reader {
        plain,
        shuffles,
        options,
        build: Builder::reading(options),
        account: Account::new(options, "qs"),
        stack: Vec::new(),
        environments: HashMap::new(),
        text: Vec::new(),
    };
    let root = reader.value()?;
    while let Some(open) = reader.stack.pop() {
        reader.step(open)?;
        if reader.stack.len() > options.max_depth {
            return Err(reader.too_deep());
        }
    }
    reader.plain.finish()?;
    Ok(reader.build.finish(root))
}

struct Reader<'r, 'a> {
    plain: &'r mut Plain<'a>,
    shuffles: Shuffles,
    options: &'r ReadOptions,
    build: Builder,
    account: Account,
    stack: Vec<Open>,
    /// By the numbers that references use.
    environments: HashMap<u32, Id>,
    text: Vec<u8>,
}

impl Reader<'_, '_> {
    #[cold]
    fn too_deep(&self) -> Error {
        let text = format!(
            "more than {} values inside each other: raise max_depth to read on",
            self.options.max_depth
        );
        self.plain.error(ErrorKind::Limit, text)
    }

    #[cold]
    fn malformed(&self, text: impl Into<String>) -> Error {
        self.plain.error(ErrorKind::Malformed, text)
    }

    /// One step of the innermost open value: its next part, or its end.
    fn step(&mut self, mut open: Open) -> Result<()> {
        match &mut open {
            Open::Attributes { cells, left, .. } if *left > 0 => {
                *left = left.saturating_sub(1);
                let Some(tag) = self.tag()? else {
                    return Err(self.malformed("an attribute without a name"));
                };
                cells.push(cell(Some(tag), Id::NULL, 0));
            }
            Open::Elements { left, .. } if *left > 0 => *left = left.saturating_sub(1),
            Open::Cells {
                cells,
                left,
                flagged,
                ..
            } if *left > 0 => {
                *left = left.saturating_sub(1);
                let flags = if *flagged {
                    self.plain.array()?
                } else {
                    [0; 4]
                };
                let tag = self.tag()?;
                cells.push(cell(tag, Id::NULL, u32::from_le_bytes(flags)));
            }
            Open::Single { parts, .. } | Open::Environment { parts, .. }
                if parts.all().is_none() => {}
            _ => return self.close(open),
        }
        // The part's place on the stack is above this one's.
        let at = self.stack.len();
        self.stack.push(open);
        let part = self.value()?;
        match self.stack.get_mut(at) {
            Some(Open::Attributes { cells, .. } | Open::Cells { cells, .. }) => {
                if let Some(last) = cells.last_mut() {
                    last.value = part;
                }
                self.account.take(1, size_of::<Cell>())
            }
            Some(Open::Elements { items, .. }) => {
                items.push(part);
                Ok(())
            }
            Some(Open::Single { parts, .. } | Open::Environment { parts, .. }) => {
                parts.push(part);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The name of a cell or attribute; None for NA.
    fn tag(&mut self) -> Result<Option<Id>> {
        match vectors::text(self.plain, &mut self.text)? {
            Some(_) => {
                self.account.take(self.text.len() as u64, 1)?;
                Ok(Some(self.build.symbol_bytes(&self.text)?))
            }
            None => Ok(None),
        }
    }

    fn node(&mut self, body: Body) -> Result<Id> {
        self.account.node()?;
        self.build.push_node(Node::new(body))
    }

    fn reserve(&mut self) -> Result<Id> {
        self.node(Body::Special(Special::Null))
    }

    /// A value up to its parts, which the stack gets; what it will be found as.
    fn value(&mut self) -> Result<Id> {
        let head = head(self.plain)?;
        self.account.take(1, size_of::<Id>())?;
        let id = self.first(head)?;
        if head.s4 {
            if let Some(node) = self.build.node_mut(id) {
                node.levels |= S4;
                node.is_object = true;
            }
        }
        Ok(id)
    }

    fn first(&mut self, head: Head) -> Result<Id> {
        if let Some(id) = self.known(head)? {
            return Ok(id);
        }
        let id = self.reserve()?;
        if head.attributes > 0 {
            self.plain.expect(u64::from(head.attributes))?;
            self.stack.push(Open::Attributes {
                id,
                cells: Vec::new(),
                left: head.attributes,
            });
        }
        if let Some(body) = self.vector(head.class)? {
            self.set(id, body);
            return Ok(id);
        }
        match head.class {
            Class::S4 => {
                if let Some(node) = self.build.node_mut(id) {
                    node.body = Body::S4;
                    node.levels |= S4;
                    node.is_object = true;
                }
            }
            Class::List(left) => {
                self.plain.expect(left)?;
                let items = Vec::new();
                self.stack.push(Open::Elements { id, items, left });
            }
            Class::Pairlist { count, flagged } => {
                self.plain.expect(u64::from(count))?;
                self.stack.push(Open::Cells {
                    id,
                    cells: Vec::new(),
                    left: count,
                    flagged,
                });
            }
            Class::Cell { code, flagged } => {
                let flags = if flagged { self.plain.array()? } else { [0; 4] };
                self.stack.push(Open::Single {
                    id,
                    code,
                    flags: u32::from_le_bytes(flags),
                    parts: Parts::default(),
                });
            }
            Class::Environment { locked, number } => {
                if self.environments.insert(number, id).is_some() {
                    let text = format!("two environments of number {number}");
                    return Err(self.malformed(text));
                }
                let parts = Parts::default();
                self.stack.push(Open::Environment { id, locked, parts });
            }
            _ => {}
        }
        Ok(id)
    }

    /// What is no node of its own.
    fn known(&mut self, head: Head) -> Result<Option<Id>> {
        let id = match head.class {
            Class::Null => Id::NULL,
            Class::Symbol => match self.tag()? {
                Some(symbol) => symbol,
                None => self.build.symbol("NA")?,
            },
            Class::Embedded(size) => self.embedded(size)?,
            Class::Reference(number) => {
                let known = self.environments.get(&number).copied();
                known.ok_or_else(|| {
                    let text = "a reference to an environment that is not there";
                    self.malformed(format!("{text}: {number}"))
                })?
            }
            _ => return Ok(None),
        };
        if head.attributes > 0 {
            return Err(self.malformed("attributes of a value that has none of its own"));
        }
        Ok(Some(id))
    }

    /// An R serialization inside the file.
    fn embedded(&mut self, size: u64) -> Result<Id> {
        self.plain.expect(size)?;
        self.account.take(size, 1)?;
        let bytes = self.plain.elements(size, |[byte]: [u8; 1]| byte)?;
        let mut options = self.options.clone();
        options.memory_budget = self.account.left();
        let before = self.build.arena().len();
        let (id, used) = rds::parse_into(&mut self.build, &bytes, &options)
            .map_err(|error| self.inside(error))?;
        let made = self.build.arena().len().saturating_sub(before);
        self.account.take(made as u64, size_of::<Node>())?;
        if used != bytes.len() {
            return Err(self.malformed("bytes behind an R serialization inside the file"));
        }
        Ok(id)
    }

    /// The data of what is embedded are there whole: it cannot be cut, only wrong.
    fn inside(&self, error: Error) -> Error {
        let kind = match error.kind() {
            ErrorKind::Truncated => ErrorKind::Malformed,
            kind => kind,
        };
        let text = format!("an R serialization inside the file: {error}");
        self.plain.error(kind, text).with_source(error)
    }

    /// The body of a vector other than a list; None for other values.
    fn vector(&mut self, class: Class) -> Result<Option<Body>> {
        let shuffles = self.shuffles;
        Ok(Some(match class {
            Class::Double(count) => {
                self.account.take(count, 8)?;
                Body::Double(vectors::doubles(self.plain, count, shuffles.double())?)
            }
            Class::Integer(count) => {
                self.account.take(count, 4)?;
                Body::Integer(vectors::integers(self.plain, count, shuffles.integer())?)
            }
            Class::Logical(count) => {
                self.account.take(count, 4)?;
                Body::Logical(vectors::integers(self.plain, count, shuffles.logical())?)
            }
            Class::Complex(count) => {
                self.account.take(count, 16)?;
                Body::Complex(vectors::complex(self.plain, count, shuffles.complex())?)
            }
            Class::Raw(count) => {
                self.account.take(count, 1)?;
                let raw = self.plain.elements(count, |[byte]: [u8; 1]| byte)?;
                Body::Raw(raw)
            }
            Class::Character(count) => {
                self.account.take(count, 4)?;
                let strings = vectors::texts(self.plain, count, &mut self.account)?;
                Body::Character(Box::new(strings))
            }
            _ => return Ok(None),
        }))
    }

    fn set(&mut self, id: Id, body: Body) {
        if let Some(node) = self.build.node_mut(id) {
            node.body = body;
        }
    }

    /// A value whose parts are all there.
    fn close(&mut self, open: Open) -> Result<()> {
        match open {
            Open::Attributes { id, cells, .. } => self.attributes(id, cells)?,
            Open::Elements { id, items, .. } => self.set(id, Body::List(items)),
            Open::Cells { id, cells, .. } => self.pairs(id, cells, Id::NULL),
            Open::Single {
                id,
                code,
                flags,
                parts,
            } => self.single(id, code, flags, parts.all().unwrap_or([Id::NULL; 3])),
            Open::Environment { id, locked, parts } => {
                let [enclosure, frame, hashtab] = parts.all().unwrap_or([Id::NULL; 3]);
                let body = Body::Environment {
                    locked: i32::from(locked),
                    enclosure,
                    frame,
                    hashtab,
                };
                self.set(id, body);
            }
        }
        Ok(())
    }

    fn attributes(&mut self, id: Id, cells: Vec<Cell>) -> Result<()> {
        let class = cells.iter().any(|cell| {
            let tag = cell.tag.and_then(|tag| self.build.arena().symbol(tag));
            tag == Some(b"class")
        });
        let tail = Id::NULL;
        let attributes = self.node(Body::Pairs { cells, tail })?;
        if let Some(node) = self.build.node_mut(id) {
            node.attributes = attributes;
            node.is_object |= class;
            let object = node.is_object;
            if let Body::Pairs { cells, .. } = &mut node.body {
                if let Some(first) = cells.first_mut() {
                    first.attributes = attributes;
                    first.is_object = object;
                }
            }
        }
        Ok(())
    }

    /// A pairlist or call; of no cells, it is `NULL`.
    fn pairs(&mut self, id: Id, cells: Vec<Cell>, tail: Id) {
        let Some(first) = cells.first().copied() else {
            return;
        };
        if let Some(node) = self.build.node_mut(id) {
            node.levels |= first.levels;
            node.is_object |= first.is_object;
            node.body = Body::Pairs { cells, tail };
        }
    }

    /// What R keeps in three places: a call, a closure, a promise or `...`.
    fn single(&mut self, id: Id, code: u8, flags: u32, [tag, car, cdr]: [Id; 3]) {
        let some = |id: Id| (!id.is_null()).then_some(id);
        let body = match code {
            3 => Body::Closure {
                environment: tag,
                formals: car,
                body: cdr,
            },
            5 => Body::Promise {
                environment: some(tag),
                value: car,
                expression: cdr,
            },
            _ => {
                let mut first = cell(some(tag), car, flags);
                first.code = code;
                let mut cells = vec![first];
                let mut tail = cdr;
                // The arguments are a pairlist of their own in the file.
                let arguments = self.build.arena().cells(cdr);
                if arguments.first().is_some_and(|cell| cell.code == 2) {
                    cells.extend_from_slice(arguments);
                    tail = Id::NULL;
                }
                return self.pairs(id, cells, tail);
            }
        };
        if let Some(node) = self.build.node_mut(id) {
            node.body = body;
            node.levels |= levels(flags);
            node.is_object |= is_object(flags);
        }
    }
}
