//! Writing: the structure in pre-order, then the data by type.

use super::super::kind::Kind;
use super::super::model::{Arena, Body, Id};
use super::super::pack::Packer;
use super::super::text::Decoded;
use super::super::{LossKind, Losses, RObject, Recoder, Strings};
use crate::{Error, ErrorKind, Result};

/// Values inside each other, at most: an arena may hold rings of lists, which no file does.
const MAX_DEPTH: usize = 10_000_000;

/// Where a vector's elements are.
#[derive(Clone, Copy)]
enum Texts {
    /// In a character vector.
    Of(Id),
    /// The names of the cells of a pairlist.
    Tags(Id),
}

/// A value that others belong to, and how many of them are written.
enum Open {
    Attributes { id: Id, next: usize },
    Elements { id: Id, next: usize },
    Cells { id: Id, next: usize },
}

/// Writes the object.
pub(super) fn object(
    packer: &mut Packer<'_, '_>,
    object: &RObject,
    losses: &mut Losses,
) -> Result<()> {
    let mut writer = Writer {
        packer,
        arena: object.arena(),
        recoder: Recoder::of(object.arena()),
        losses,
        recoded: 0,
        bytes: 0,
        strings: Vec::new(),
        complex: Vec::new(),
        doubles: Vec::new(),
        integers: Vec::new(),
        raw: Vec::new(),
    };
    writer.structure(object.id())?;
    writer.data()?;
    let Writer { recoded, bytes, .. } = writer;
    losses.add(
        LossKind::EncodingChanged,
        "latin1 or native",
        "UTF-8",
        recoded,
    )?;
    let kept = "its bytes without the mark";
    losses.add(LossKind::BytesString, "string that is no text", kept, bytes)
}

struct Writer<'w, 'a, 'l> {
    packer: &'w mut Packer<'a, 'l>,
    arena: &'w Arena,
    recoder: Recoder,
    losses: &'w mut Losses,
    /// Strings that are not UTF-8 in R, and strings that are no text.
    recoded: u64,
    bytes: u64,
    strings: Vec<Texts>,
    complex: Vec<Id>,
    doubles: Vec<Id>,
    integers: Vec<Id>,
    raw: Vec<Id>,
}

impl Writer<'_, '_, '_> {
    fn structure(&mut self, root: Id) -> Result<()> {
        let mut stack = Vec::new();
        self.begin(root, &mut stack)?;
        while let Some(open) = stack.last_mut() {
            let next = match open {
                Open::Attributes { id, next } => {
                    let next = step(next);
                    let attributes = self.arena.cells(self.arena.node(*id).attributes);
                    attributes.get(next).map(|cell| (cell.tag, cell.value))
                }
                Open::Elements { id, next } => {
                    let next = step(next);
                    let items = match self.arena.data(*id, None)? {
                        Body::List(items) => items.as_slice(),
                        _ => &[],
                    };
                    items.get(next).map(|value| (None, *value))
                }
                Open::Cells { id, next } => {
                    let next = step(next);
                    let cells = self.arena.cells(*id);
                    cells.get(next).map(|cell| (None, cell.value))
                }
            };
            let attribute = matches!(open, Open::Attributes { .. });
            match next {
                Some((tag, value)) => {
                    if attribute {
                        let name = tag.and_then(|tag| self.arena.symbol(tag));
                        self.text(Some(name.unwrap_or_default()))?;
                    }
                    self.begin(value, &mut stack)?;
                }
                None => self.close(&mut stack),
            }
            if stack.len() > MAX_DEPTH {
                let text = "values inside each other without end";
                return Err(Error::new(ErrorKind::Limit, text).with_format("qdata"));
            }
        }
        Ok(())
    }

    /// Writes the header of a value.
    fn begin(&mut self, id: Id, stack: &mut Vec<Open>) -> Result<()> {
        let (short, long) = match self.arena.kind(id) {
            Kind::List | Kind::Pairlist => (Some(0x20), 0x01),
            Kind::Double => (Some(0x40), 0x05),
            Kind::Integer => (Some(0x60), 0x09),
            Kind::Logical => (Some(0x80), 0x0D),
            Kind::Character => (Some(0xA0), 0x11),
            Kind::Complex => (None, 0x15),
            Kind::Raw => (None, 0x17),
            Kind::Null => return self.packer.header(&[0]),
            kind => return self.dropped(kind, LossKind::CodeOpaque, stack),
        };
        if self.arena.kind(id) != Kind::List && self.arena.data(id, None).is_err() {
            // Of an unknown class, or beyond the limit: which of them, the second call tells.
            let error = self.arena.data(id, None).err();
            return match error {
                Some(error) if error.kind() == ErrorKind::Limit => Err(error),
                _ => self.dropped(self.arena.kind(id), LossKind::ValueDropped, stack),
            };
        }
        self.told(id, stack)?;
        let mut header = Vec::with_capacity(16);
        let names = self.pairlist_names(id);
        let attributes = self.arena.cells(self.arena.node(id).attributes).len();
        let count = attributes.saturating_add(usize::from(names));
        match u32::try_from(count) {
            Ok(0) => {}
            Ok(count @ 1..=31) => header.extend([0xE0 | count.to_le_bytes()[0]]),
            Ok(count @ 32..=255) => header.extend([0x1E, count.to_le_bytes()[0]]),
            Ok(count) => {
                header.push(0x1F);
                header.extend(count.to_le_bytes());
            }
            Err(_) => {
                let text = format!("{count} attributes of one value");
                return Err(Error::new(ErrorKind::Limit, text).with_format("qdata"));
            }
        }
        length(&mut header, short, long, self.arena.length(id) as u64);
        self.packer.header(&header)?;
        if names {
            self.text(Some(b"names"))?;
            let mut header = Vec::with_capacity(16);
            length(&mut header, Some(0xA0), 0x11, self.arena.length(id) as u64);
            self.packer.header(&header)?;
            self.strings.push(Texts::Tags(id));
        }
        if attributes > 0 {
            stack.push(Open::Attributes { id, next: 0 });
            return Ok(());
        }
        self.value(id, stack);
        Ok(())
    }

    /// Puts `NULL` for what qdata has no form for.
    fn dropped(&mut self, kind: Kind, loss: LossKind, stack: &[Open]) -> Result<()> {
        let steps = self.enter(stack);
        let noted = self.losses.add(loss, kind.name(), "NULL", 1);
        (0..steps).for_each(|_| self.losses.leave());
        noted?;
        self.packer.header(&[0])
    }

    /// Notes what of a value that is written gets lost.
    fn told(&mut self, id: Id, stack: &[Open]) -> Result<()> {
        let node = self.arena.node(id);
        let pairlist = self.arena.kind(id) == Kind::Pairlist;
        // The S4 bit of R's levels.
        let s4 = node.levels & (1 << 4) != 0;
        if !pairlist && !s4 {
            return Ok(());
        }
        let steps = self.enter(stack);
        let noted = if pairlist {
            let kind = LossKind::TypeChanged;
            self.losses.add(kind, "pairlist", "list", 1)
        } else {
            let kind = LossKind::AttributeDropped;
            self.losses.add(kind, "S4 bit", "", 1)
        };
        (0..steps).for_each(|_| self.losses.leave());
        noted
    }

    /// Tells the losses where in the object the writer is.
    fn enter(&mut self, stack: &[Open]) -> usize {
        for open in stack {
            match open {
                Open::Attributes { id, next } => {
                    let cells = self.arena.cells(self.arena.node(*id).attributes);
                    let cell = cells.get(next.saturating_sub(1));
                    let name = cell.and_then(|cell| self.arena.symbol(cell.tag?));
                    let name = String::from_utf8_lossy(name.unwrap_or_default());
                    self.losses.enter_attribute(&name);
                }
                Open::Elements { id, next } => {
                    let at = next.saturating_sub(1);
                    let names = self.arena.attribute(*id, "names");
                    let name = match names.map(|names| &self.arena.node(names).body) {
                        Some(Body::Character(names)) => names.get(at).and_then(|text| text.bytes),
                        _ => None,
                    };
                    self.step(name, at);
                }
                Open::Cells { id, next } => {
                    let at = next.saturating_sub(1);
                    let cell = self.arena.cells(*id).get(at);
                    let name = cell.and_then(|cell| self.arena.symbol(cell.tag?));
                    self.step(name, at);
                }
            }
        }
        stack.len()
    }

    fn step(&mut self, name: Option<&[u8]>, at: usize) {
        match name.filter(|name| !name.is_empty()) {
            Some(name) => self.losses.enter_name(&String::from_utf8_lossy(name)),
            None => self.losses.enter_index(at),
        }
    }

    /// Whether the cells of a pairlist have names, which a list has as an attribute.
    fn pairlist_names(&self, id: Id) -> bool {
        let cells = self.arena.cells(id);
        self.arena.kind(id) == Kind::Pairlist && cells.iter().any(|cell| cell.tag.is_some())
    }

    /// What comes behind header and attributes.
    fn value(&mut self, id: Id, stack: &mut Vec<Open>) {
        match self.arena.kind(id) {
            Kind::List => stack.push(Open::Elements { id, next: 0 }),
            Kind::Pairlist => stack.push(Open::Cells { id, next: 0 }),
            Kind::Double => self.doubles.push(id),
            Kind::Integer | Kind::Logical => self.integers.push(id),
            Kind::Character => self.strings.push(Texts::Of(id)),
            Kind::Complex => self.complex.push(id),
            Kind::Raw => self.raw.push(id),
            _ => {}
        }
    }

    fn close(&mut self, stack: &mut Vec<Open>) {
        if let Some(Open::Attributes { id, .. }) = stack.pop() {
            self.value(id, stack);
        }
    }

    fn data(&mut self) -> Result<()> {
        for texts in std::mem::take(&mut self.strings) {
            match texts {
                Texts::Of(id) => {
                    if let Body::Character(strings) = self.arena.data(id, None)? {
                        self.texts(strings)?;
                    }
                }
                Texts::Tags(id) => {
                    for cell in self.arena.cells(id) {
                        let tag = cell.tag.and_then(|tag| self.arena.symbol(tag));
                        self.text(Some(tag.unwrap_or_default()))?;
                    }
                }
            }
        }
        for id in std::mem::take(&mut self.complex) {
            if let Body::Complex(values) = self.arena.data(id, None)? {
                self.packer.elements(values, pair)?;
            }
        }
        for id in std::mem::take(&mut self.doubles) {
            if let Body::Double(values) = self.arena.data(id, None)? {
                self.packer.elements(values, f64::to_le_bytes)?;
            }
        }
        for id in std::mem::take(&mut self.integers) {
            if let Body::Integer(values) | Body::Logical(values) = self.arena.data(id, None)? {
                self.packer.elements(values, i32::to_le_bytes)?;
            }
        }
        for id in std::mem::take(&mut self.raw) {
            if let Body::Raw(values) = self.arena.data(id, None)? {
                self.packer.bulk(values)?;
            }
        }
        Ok(())
    }

    fn texts(&mut self, strings: &Strings) -> Result<()> {
        let same = self.recoder.stored_as_utf8(strings);
        for text in strings.iter() {
            if same {
                self.text(text.bytes)?;
                continue;
            }
            match self.recoder.decode(text) {
                Some(Decoded::Recoded(text)) => {
                    self.recoded = self.recoded.saturating_add(1);
                    self.text(Some(text.as_bytes()))?;
                }
                Some(Decoded::Bytes(bytes)) => {
                    self.bytes = self.bytes.saturating_add(1);
                    self.text(Some(bytes))?;
                }
                Some(Decoded::Same(_)) | None => self.text(text.bytes)?,
            }
        }
        Ok(())
    }

    /// A string; None for NA.
    fn text(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        let Some(bytes) = bytes else {
            return self.packer.header(&[0xFF]);
        };
        match u32::try_from(bytes.len()) {
            Ok(length @ 0..=252) => self.packer.header(&length.to_le_bytes()[..1])?,
            Ok(length @ 253..=0xFFFF) => {
                let [low, high, ..] = length.to_le_bytes();
                self.packer.header(&[0xFD, low, high])?;
            }
            Ok(length) => {
                let [a, b, c, d] = length.to_le_bytes();
                self.packer.header(&[0xFE, a, b, c, d])?;
            }
            Err(_) => {
                let text = "a string of 4 GiB or more";
                return Err(Error::new(ErrorKind::Unsupported, text).with_format("qdata"));
            }
        }
        self.packer.bulk(bytes)
    }
}

fn step(next: &mut usize) -> usize {
    let now = *next;
    *next = now.saturating_add(1);
    now
}

fn pair([re, im]: [f64; 2]) -> [u8; 16] {
    let both = u128::from(im.to_bits()) << 64 | u128::from(re.to_bits());
    both.to_le_bytes()
}

/// A type byte with its length. Complex and raw have no `short` form, and two long ones alone.
fn length(header: &mut Vec<u8>, short: Option<u8>, long: u8, length: u64) {
    let [first, second, ..] = length.to_le_bytes();
    let code = |by: u8| long.wrapping_add(by);
    match (short, length) {
        (Some(short), 0..=31) => header.push(short | first),
        (Some(_), 32..=0xFF) => header.extend([code(0), first]),
        (Some(_), 0x100..=0xFFFF) => header.extend([code(1), first, second]),
        _ => {
            let wide = u8::from(short.is_some()).wrapping_mul(2);
            if let Ok(length) = u32::try_from(length) {
                header.push(code(wide));
                header.extend(length.to_le_bytes());
            } else {
                header.push(code(wide.wrapping_add(1)));
                header.extend(length.to_le_bytes());
            }
        }
    }
}
