//! Random R objects of every kind, made from a run of bytes: fewer bytes make a smaller object.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::cast_possible_wrap,
    reason = "a test stops at once"
)]

use tare::robject::{
    Altrep, Body, Builder, Bytecode, Cell, Code, CodeCell, Constant, Id, Node, RObject, Special,
    Strings, TextEncoding, NA_INT, NA_REAL,
};

/// What a tree may have in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kinds {
    /// Everything.
    All,
    /// Vectors, lists and attributes; no cells, levels or marks of strings but UTF-8.
    Data,
}

struct Maker<'a> {
    bytes: std::slice::Iter<'a, u8>,
    build: Builder,
    /// Made and not yet part of anything: values lie in one place only.
    free: Vec<Id>,
    /// What may lie in many places.
    shared: Vec<Id>,
    environments: Vec<Id>,
    kinds: Kinds,
}

/// The object of these bytes.
pub fn tree(bytes: &[u8], kinds: Kinds) -> RObject {
    let mut build = Builder::new();
    let environments: Vec<Id> = (0..3).map(|_| build.reserve().unwrap()).collect();
    let mut shared = Special::ALL.map(Special::id).to_vec();
    if kinds == Kinds::All {
        shared.extend(&environments);
        for name in ["a", "b", "a longer name", "\u{e9}"] {
            shared.push(build.symbol(name).unwrap());
        }
    }
    let mut maker = Maker {
        bytes: bytes.iter(),
        build,
        free: Vec::new(),
        shared,
        environments,
        kinds,
    };
    while !maker.bytes.as_slice().is_empty() {
        let id = maker.one();
        maker.free.push(id);
    }
    maker.environments();
    let free = std::mem::take(&mut maker.free);
    let root = maker.build.push(Body::List(free)).unwrap();
    maker.build.finish(root)
}

impl Maker<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn few(&mut self) -> usize {
        usize::from(self.byte() % 5)
    }

    /// Something to lie inside another: what was made last, or what may lie anywhere.
    fn part(&mut self) -> Id {
        let pick = self.byte();
        match self.free.pop() {
            Some(id) if pick % 4 != 0 => id,
            other => {
                self.free.extend(other);
                match self.kinds {
                    Kinds::All => self.shared[usize::from(pick / 4) % self.shared.len()],
                    Kinds::Data => Id::NULL,
                }
            }
        }
    }

    fn parts(&mut self) -> Vec<Id> {
        (0..self.few()).map(|_| self.part()).collect()
    }

    fn double(&mut self) -> f64 {
        let others = [
            0.0,
            -0.0,
            1.5,
            -1e300,
            5e-324,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::from_bits(NA_REAL),
            f64::from_bits(0xfff8_0000_0000_07a2),
            0.1,
            1.0 / 3.0,
            1e15,
            123_456_789.0,
            f64::from_bits(0x7ff8_0000_0000_0001),
        ];
        let pick = self.byte();
        match others.get(usize::from(pick)) {
            Some(one) => *one,
            None => f64::from(pick) * 0.37 - 40.0,
        }
    }

    fn int(&mut self) -> i32 {
        let pick = self.byte();
        let others = [NA_INT, 0, 1, -1, i32::MAX, -i32::MAX, 255, 65_536];
        let other = others.get(usize::from(pick)).copied();
        other.unwrap_or_else(|| i32::from(pick) * 7 - 900)
    }

    fn text(&mut self, strings: &mut Strings) {
        match (self.byte() % 8, self.kinds) {
            (0, _) => strings.push_na(),
            (1, _) => strings.push_str(""),
            (2, _) => strings.push_str("NA"),
            (3, _) => strings.push_str("\u{e9}\u{4e2d}\u{1f600}"),
            (4, Kinds::All) => strings.push(b"\xe9\x01", TextEncoding::Latin1.levels()),
            (5, Kinds::All) => strings.push(b"\xff\0\xfe", TextEncoding::Bytes.levels()),
            (6, Kinds::All) => strings.push(b"native", TextEncoding::Native.levels()),
            (7, _) => strings.push_str("tab\t nl\n\r\x0b\x08\x0c\x07\\ ? ' \" \x7f \x1b"),
            _ => strings.push_str(&"long ".repeat(40)),
        }
    }

    fn cells(&mut self, first: u8) -> Body {
        let mut cells = Vec::new();
        for at in 0..=self.few() {
            let tag = self.byte();
            let tags = [7, 8, 9].map(|place| self.shared.get(place + 3).copied());
            cells.push(Cell {
                code: if at == 0 { first } else { 2 },
                is_object: false,
                levels: if tag > 250 { 1 << 14 } else { 0 },
                attributes: Id::NULL,
                tag: (tag % 2 == 0)
                    .then(|| tags[usize::from(tag / 2) % 3])
                    .flatten(),
                value: self.part(),
            });
        }
        let tail = Id::NULL;
        Body::Pairs { cells, tail }
    }

    fn one(&mut self) -> Id {
        let count = match self.kinds {
            Kinds::All => 26,
            Kinds::Data => 10,
        };
        let body = match self.byte() % count {
            0 => {
                let values = (0..self.few()).map(|_| [NA_INT, 0, 1][usize::from(self.byte() % 3)]);
                Body::Logical(values.collect::<Vec<_>>())
            }
            1 => Body::Integer((0..self.few()).map(|_| self.int()).collect()),
            2 | 9 => Body::Double((0..self.few()).map(|_| self.double()).collect()),
            3 => Body::Complex(
                (0..self.few())
                    .map(|_| [self.double(), self.double()])
                    .collect(),
            ),
            4 => Body::Raw((0..self.few()).map(|_| self.byte()).collect()),
            5 | 8 => {
                let mut strings = Strings::default();
                for _ in 0..self.few() {
                    self.text(&mut strings);
                }
                Body::Character(Box::new(strings))
            }
            6 | 7 | 10 => Body::List(self.parts()),
            11 => Body::Expression(self.parts()),
            12 => self.cells(2),
            13 => self.cells(6),
            14 => self.cells(17),
            15 => {
                let pick = usize::from(self.byte() % 3);
                Body::Closure {
                    environment: self.environments[pick],
                    formals: Id::NULL,
                    body: self.part(),
                }
            }
            16 => Body::Promise {
                environment: (self.byte() % 2 == 0).then_some(Special::GlobalEnv.id()),
                value: Special::Unbound.id(),
                expression: self.part(),
            },
            17 => Body::Builtin {
                special: self.byte() % 2 == 0,
                name: Box::from(&b"sum"[..]),
            },
            18 => {
                let id = self.build.reserve().unwrap();
                let (protected, tag) = (self.part(), self.part());
                let body = Body::ExternalPtr { protected, tag };
                self.build.fill(id, Node::new(body));
                self.shared.push(id);
                return id;
            }
            19 => {
                let id = self.build.push(Body::WeakRef).unwrap();
                self.shared.push(id);
                return id;
            }
            20 => Body::S4,
            21 => {
                let name = self.build.char("stats").unwrap();
                let version = self.build.char("4.2.2").unwrap();
                let code = 247 + self.byte() % 3;
                let names = vec![name, version];
                let id = self.build.push(Body::Named { code, names }).unwrap();
                self.shared.push(id);
                return id;
            }
            22 => return self.deferred(),
            23 => self.code(),
            24 => {
                let id = self.free.last().copied().unwrap_or(Id::NULL);
                let levels = u16::from(self.byte() & 0x30);
                if let Some(node) = self.build.node_mut(id) {
                    if !matches!(node.body, Body::Pairs { .. }) {
                        node.levels = levels;
                    }
                }
                return Id::NULL;
            }
            _ => return self.attributes(),
        };
        self.build.push(body).unwrap()
    }

    /// Gives what was made last some attributes.
    fn attributes(&mut self) -> Id {
        let Some(id) = self.free.pop() else {
            return Id::NULL;
        };
        let names = ["names", "class", "dim", "note", "note"];
        let mut pairs = Vec::new();
        for _ in 0..self.few() {
            let name = names[usize::from(self.byte() % 5)];
            let value = self.part();
            pairs.push((name, value));
        }
        let is_pairs = matches!(self.build.node(id).body, Body::Pairs { .. });
        let special = matches!(
            self.build.node(id).body,
            Body::Special(_) | Body::Symbol(_) | Body::Environment { .. } | Body::Named { .. }
        );
        if !special && !is_pairs {
            self.build.set_attributes(id, &pairs).unwrap();
        } else if is_pairs {
            let attributes = self.build.pairlist(&pairs).unwrap();
            let node = self.build.node_mut(id).unwrap();
            node.attributes = attributes;
            if let Body::Pairs { cells, .. } = &mut node.body {
                cells[0].attributes = attributes;
            }
        }
        id
    }

    fn deferred(&mut self) -> Id {
        let (class, kind) = match self.byte() % 3 {
            0 => ("compact_intseq", 13),
            1 => ("compact_realseq", 14),
            _ => ("wrap_real", 14),
        };
        let length = f64::from(self.byte());
        let state = if class == "wrap_real" {
            let values = self.build.push(Body::Double(vec![length, 2.5])).unwrap();
            let facts = self.build.push(Body::Integer(vec![0, 0])).unwrap();
            Body::List(vec![values, facts])
        } else {
            Body::Double(vec![length, 10.0, -1.0])
        };
        let state = self.build.push(state).unwrap();
        let class = self.build.symbol(class).unwrap();
        let package = self.build.symbol("base").unwrap();
        let kind = self.build.push(Body::Integer(vec![kind])).unwrap();
        let cell = |value| Cell {
            code: 2,
            is_object: false,
            levels: 0,
            attributes: Id::NULL,
            tag: None,
            value,
        };
        let cells = vec![cell(class), cell(package), cell(kind)];
        let tail = Id::NULL;
        let info = self.build.push(Body::Pairs { cells, tail }).unwrap();
        self.build
            .push(Body::Altrep(Box::new(Altrep::new(info, state))))
            .unwrap()
    }

    fn code(&mut self) -> Body {
        let instructions = |maker: &mut Self| {
            let values = vec![12, i32::from(maker.byte())];
            maker.build.push(Body::Integer(values)).unwrap()
        };
        let (outer, inner) = (instructions(self), instructions(self));
        let item = self.part();
        let tag = self.build.symbol("x").unwrap();
        let pair = |number, code, attributes, car, cdr| CodeCell::Pair {
            number,
            code,
            attributes,
            tag: if code % 2 == 0 { Id::NULL } else { tag },
            car,
            cdr,
        };
        let null = Constant::Item(254, Id::NULL);
        let note = self.build.pairlist(&[("note", Id::NULL)]).unwrap();
        let cells = vec![
            pair(Some(0), 6, None, Constant::Item(1, tag), Constant::Cell(1)),
            pair(None, 2, None, Constant::Cell(2), null),
            pair(
                Some(1),
                240,
                Some(note),
                Constant::Cell(3),
                Constant::Cell(4),
            ),
            CodeCell::Ref(0),
            pair(None, 239, Some(note), null, null),
        ];
        let constants = vec![
            Constant::Cell(0),
            Constant::Item(13, item),
            Constant::Code(1),
        ];
        let codes = vec![
            Code {
                code: outer,
                constants,
            },
            Code {
                code: inner,
                constants: vec![],
            },
        ];
        Body::Bytecode(Box::new(Bytecode {
            reps: 2,
            codes,
            cells,
        }))
    }

    /// Environments hold each other, what may lie anywhere, and what is left of their bytes.
    fn environments(&mut self) {
        if self.kinds == Kinds::Data {
            return;
        }
        let names = ["a", "b", "self"].map(|name| self.build.symbol(name).unwrap());
        for at in 0..3 {
            let mut cells = Vec::new();
            for (step, name) in names.into_iter().enumerate() {
                cells.push(Cell {
                    code: 2,
                    is_object: false,
                    levels: if step == 1 { 1 << 14 } else { 0 },
                    attributes: Id::NULL,
                    tag: Some(name),
                    value: self.environments[(at + step) % 3],
                });
            }
            let tail = Id::NULL;
            let frame = self.build.push(Body::Pairs { cells, tail }).unwrap();
            let hashtab = self.build.push(Body::List(vec![Id::NULL, frame])).unwrap();
            let hashed = at == 1;
            let body = Body::Environment {
                locked: i32::from(at == 2),
                enclosure: self
                    .environments
                    .get(at + 1)
                    .copied()
                    .unwrap_or(Special::EmptyEnv.id()),
                frame: if hashed { Id::NULL } else { frame },
                hashtab: if hashed { hashtab } else { Id::NULL },
            };
            self.build.fill(self.environments[at], Node::new(body));
        }
    }
}
