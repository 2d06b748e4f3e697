//! Reading: the structure with an explicit stack, then the data.

use super::super::account::Account;
use super::super::kind::Special;
use super::super::model::{Body, Cell, Id, Node};
use super::super::plain::Plain;
use super::super::{Builder, RObject, ReadOptions};
use super::texts;
use crate::{Error, ErrorKind, Result};

/// A vector whose data come later.
#[derive(Clone, Copy)]
struct Later {
    id: Id,
    length: u64,
}

/// What a type byte says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Null,
    List,
    Double,
    Integer,
    Logical,
    Character,
    Complex,
    Raw,
}

/// A value whose header was read.
#[derive(Clone, Copy)]
struct Head {
    id: Id,
    class: Class,
    length: u64,
    attributes: u32,
}

/// A value that others belong to.
enum Open {
    Attributes { head: Head, cells: Vec<Cell> },
    Elements { id: Id, items: Vec<Id>, length: u64 },
}

/// The object that the plain bytes are.
pub(super) fn object(plain: &mut Plain<'_>, options: &ReadOptions) -> Result<RObject> {
    let mut reader = Reader {
        plain,
        build: Builder::new(),
        account: Account::new(options, "qdata"),
        max_depth: options.max_depth,
        text: Vec::new(),
        strings: Vec::new(),
        complex: Vec::new(),
        doubles: Vec::new(),
        integers: Vec::new(),
        raw: Vec::new(),
    };
    let root = reader.structure()?;
    reader.data()?;
    reader.plain.finish()?;
    Ok(reader.build.finish(root))
}

struct Reader<'r, 'a> {
    plain: &'r mut Plain<'a>,
    build: Builder,
    account: Account,
    max_depth: usize,
    /// An attribute's name.
    text: Vec<u8>,
    strings: Vec<Later>,
    complex: Vec<Later>,
    doubles: Vec<Later>,
    integers: Vec<(Later, bool)>,
    raw: Vec<Later>,
}

impl Reader<'_, '_> {
    fn structure(&mut self) -> Result<Id> {
        let mut stack: Vec<Open> = Vec::new();
        let mut head = self.head()?;
        let root = head.id;
        loop {
            self.begin(head, &mut stack)?;
            match self.next(&mut stack)? {
                Some(next) => head = next,
                None => return Ok(root),
            }
            if stack.len() > self.max_depth {
                return Err(self.too_deep());
            }
        }
    }

    #[cold]
    fn too_deep(&self) -> Error {
        let text = format!(
            "values inside each other deeper than max_depth of {}",
            self.max_depth
        );
        self.plain.error(ErrorKind::Limit, text)
    }

    /// What comes behind the header of a value: its attributes, or else the value itself.
    fn begin(&mut self, head: Head, stack: &mut Vec<Open>) -> Result<()> {
        if head.attributes > 0 {
            self.plain.expect(u64::from(head.attributes))?;
            let cells = Vec::new();
            stack.push(Open::Attributes { head, cells });
            return Ok(());
        }
        self.value(head, stack)
    }

    /// The value behind its attributes: its data come later, its elements now.
    fn value(&mut self, head: Head, stack: &mut Vec<Open>) -> Result<()> {
        let Head { id, length, .. } = head;
        let later = Later { id, length };
        match head.class {
            Class::Null => {}
            Class::List => {
                self.plain.expect(length)?;
                let items = Vec::new();
                stack.push(Open::Elements { id, items, length });
            }
            Class::Double => self.doubles.push(later),
            Class::Integer => self.integers.push((later, false)),
            Class::Logical => self.integers.push((later, true)),
            Class::Character => self.strings.push(later),
            Class::Complex => self.complex.push(later),
            Class::Raw => self.raw.push(later),
        }
        Ok(())
    }

    /// The header of the next value; None where all are closed.
    fn next(&mut self, stack: &mut Vec<Open>) -> Result<Option<Head>> {
        loop {
            let Some(open) = stack.last_mut() else {
                return Ok(None);
            };
            match open {
                Open::Attributes { head, cells } if cells.len() < head.attributes as usize => {
                    texts::name(self.plain, &mut self.text)?;
                    self.account.take(1, size_of::<Cell>())?;
                    let tag = self.build.symbol_bytes(&self.text)?;
                    let value = Self::read_head(self.plain, &mut self.build, &mut self.account)?;
                    cells.push(cell(tag, value.id));
                    return Ok(Some(value));
                }
                Open::Elements { items, length, .. } if (items.len() as u64) < *length => {
                    let value = Self::read_head(self.plain, &mut self.build, &mut self.account)?;
                    items.push(value.id);
                    return Ok(Some(value));
                }
                Open::Attributes { .. } | Open::Elements { .. } => self.close(stack)?,
            }
        }
    }

    /// The innermost value, whose parts are all there.
    fn close(&mut self, stack: &mut Vec<Open>) -> Result<()> {
        match stack.pop() {
            Some(Open::Attributes { head, cells }) => {
                let is_object = cells.iter().any(|cell| {
                    let tag = cell.tag.and_then(|tag| self.build.arena().symbol(tag));
                    tag == Some(b"class")
                });
                let tail = Id::NULL;
                self.account.node()?;
                let attributes = self.build.push(Body::Pairs { cells, tail })?;
                if let Some(node) = self.build.node_mut(head.id) {
                    node.attributes = attributes;
                    node.is_object = is_object;
                }
                self.value(head, stack)
            }
            Some(Open::Elements { id, items, .. }) => {
                self.set(id, Body::List(items));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn set(&mut self, id: Id, body: Body) {
        if let Some(node) = self.build.node_mut(id) {
            node.body = body;
        }
    }

    fn head(&mut self) -> Result<Head> {
        Self::read_head(self.plain, &mut self.build, &mut self.account)
    }

    fn read_head(
        plain: &mut Plain<'_>,
        build: &mut Builder,
        account: &mut Account,
    ) -> Result<Head> {
        let mut byte = plain.byte()?;
        let attributes = match byte {
            0xE0..=0xFF => u32::from(byte & 0x1F),
            0x1E => u32::from(plain.byte()?),
            0x1F => u32::from_le_bytes(plain.array()?),
            _ => 0,
        };
        if matches!(byte, 0xE0..=0xFF | 0x1E | 0x1F) {
            byte = plain.byte()?;
        }
        let (class, length) = class(plain, byte)?;
        let id = if class == Class::Null && attributes == 0 {
            Id::NULL
        } else {
            account.node()?;
            build.push_node(Node::new(Body::Special(Special::Null)))?
        };
        account.take(1, size_of::<Id>())?;
        Ok(Head {
            id,
            class,
            length,
            attributes,
        })
    }

    fn data(&mut self) -> Result<()> {
        for Later { id, length } in std::mem::take(&mut self.strings) {
            self.account.take(length, 4)?;
            let strings = texts::vector(self.plain, length, &mut self.account)?;
            self.set(id, Body::Character(Box::new(strings)));
        }
        for Later { id, length } in std::mem::take(&mut self.complex) {
            self.account.take(length, 16)?;
            let complex = self.plain.elements(length, complex)?;
            self.set(id, Body::Complex(complex));
        }
        for Later { id, length } in std::mem::take(&mut self.doubles) {
            self.account.take(length, 8)?;
            let doubles = self.plain.elements(length, f64::from_le_bytes)?;
            self.set(id, Body::Double(doubles));
        }
        for (Later { id, length }, logical) in std::mem::take(&mut self.integers) {
            self.account.take(length, 4)?;
            let integers = self.plain.elements(length, i32::from_le_bytes)?;
            let body = if logical {
                Body::Logical(integers)
            } else {
                Body::Integer(integers)
            };
            self.set(id, body);
        }
        for Later { id, length } in std::mem::take(&mut self.raw) {
            self.account.take(length, 1)?;
            let raw = self.plain.elements(length, |[byte]: [u8; 1]| byte)?;
            self.set(id, Body::Raw(raw));
        }
        Ok(())
    }
}

fn cell(tag: Id, value: Id) -> Cell {
    Cell {
        code: 2,
        is_object: false,
        levels: 0,
        attributes: Id::NULL,
        tag: Some(tag),
        value,
    }
}

fn complex(bytes: [u8; 16]) -> [f64; 2] {
    let both = u128::from_le_bytes(bytes);
    let [re @ .., _, _, _, _, _, _, _, _] = both.to_le_bytes();
    let [_, _, _, _, _, _, _, _, im @ ..] = both.to_le_bytes();
    [f64::from_le_bytes(re), f64::from_le_bytes(im)]
}

/// The type and length that a type byte begins.
fn class(plain: &mut Plain<'_>, byte: u8) -> Result<(Class, u64)> {
    const SHORT: [Class; 5] = [
        Class::List,
        Class::Double,
        Class::Integer,
        Class::Logical,
        Class::Character,
    ];
    let short = SHORT.iter().zip([0x20_u8, 0x40, 0x60, 0x80, 0xA0]);
    for (class, code) in short {
        if byte & 0xE0 == code {
            return Ok((*class, u64::from(byte & 0x1F)));
        }
    }
    let long = SHORT.iter().zip([0x01_u8, 0x05, 0x09, 0x0D, 0x11]);
    for (class, code) in long {
        match byte.wrapping_sub(code) {
            0 => return Ok((*class, u64::from(plain.byte()?))),
            1 => return Ok((*class, u64::from(u16::from_le_bytes(plain.array()?)))),
            2 => return Ok((*class, u64::from(u32::from_le_bytes(plain.array()?)))),
            3 => return Ok((*class, u64::from_le_bytes(plain.array()?))),
            _ => {}
        }
    }
    match byte {
        0x00 => Ok((Class::Null, 0)),
        0x15 => Ok((
            Class::Complex,
            u64::from(u32::from_le_bytes(plain.array()?)),
        )),
        0x16 => Ok((Class::Complex, u64::from_le_bytes(plain.array()?))),
        0x17 => Ok((Class::Raw, u64::from(u32::from_le_bytes(plain.array()?)))),
        0x18 => Ok((Class::Raw, u64::from_le_bytes(plain.array()?))),
        _ => {
            let text = format!("type byte {byte:#04X}, which begins no value");
            Err(plain.error(ErrorKind::Malformed, text))
        }
    }
}
