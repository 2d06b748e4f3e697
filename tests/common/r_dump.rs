//! An R object as lines, each node with everything it has: two objects are equal if their lines are.

#![allow(dead_code, clippy::unwrap_used, reason = "a test stops at once")]

use std::collections::HashMap;

use tare::robject::{is_na, Arena, Body, Cell, CodeCell, Constant, Id, RObject, NA_REAL};

/// What two ways of writing need not share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loose {
    /// All NA are one, and all NaN: text has no others.
    pub nan: bool,
    /// Doubles are what 16 decimal digits say of them.
    pub decimal: bool,
    /// Deferred vectors are what they stand for.
    pub expand: bool,
}

enum Task {
    Node(Id),
    Line(&'static str),
    Cell(Cell),
    Code(Id, u32),
    Constant(Id, Constant),
}

/// All lines of an object, in the order of the nodes.
pub fn dump(object: &RObject, loose: Loose) -> Vec<String> {
    let mut dump = Dump {
        arena: object.arena(),
        loose,
        lines: Vec::new(),
        numbers: HashMap::new(),
        stack: vec![Task::Node(object.id())],
    };
    while let Some(task) = dump.stack.pop() {
        match task {
            Task::Node(id) => dump.node(id),
            Task::Line(line) => dump.lines.push(line.to_string()),
            Task::Cell(cell) => dump.cell(cell),
            Task::Code(id, at) => dump.code(id, at),
            Task::Constant(id, constant) => dump.constant(id, constant),
        }
    }
    dump.lines
}

struct Dump<'a> {
    arena: &'a Arena,
    loose: Loose,
    lines: Vec<String>,
    /// References by the order in which they come.
    numbers: HashMap<Id, usize>,
    stack: Vec<Task>,
}

impl Dump<'_> {
    fn later(&mut self, ids: &[Id]) {
        self.stack
            .extend(ids.iter().rev().map(|id| Task::Node(*id)));
    }

    fn node(&mut self, id: Id) {
        let arena = self.arena;
        let node = arena.node(id);
        let body = match &node.body {
            Body::Altrep(_) if self.loose.expand => arena.data(id, None).unwrap(),
            body => body,
        };
        let by_reference = matches!(
            body,
            Body::Symbol(_)
                | Body::Environment { .. }
                | Body::ExternalPtr { .. }
                | Body::WeakRef
                | Body::Named { .. }
        );
        if by_reference {
            let next = self.numbers.len();
            if let Some(number) = self.numbers.get(&id) {
                self.lines.push(format!("again {number}"));
                return;
            }
            self.numbers.insert(id, next);
        }
        let (levels, object) = (node.levels, u8::from(node.is_object));
        let start = format!("levels {levels} object {object}");
        if !node.attributes.is_null() && !matches!(body, Body::Pairs { .. }) {
            self.stack.push(Task::Node(node.attributes));
            self.stack.push(Task::Line("attributes"));
        }
        let line = self.line(id, body, &start);
        self.lines.push(line);
    }

    /// The line of a node, with what is below it left for later.
    fn line(&mut self, id: Id, body: &Body, start: &str) -> String {
        let arena = self.arena;
        match body {
            Body::Special(special) => format!("{special:?}"),
            Body::Symbol(name) => {
                let marks = arena.node(*name);
                let marks = (marks.levels, marks.is_object);
                format!("symbol {:?} marks {marks:?} {start}", arena.char(*name))
            }
            Body::Char(bytes) => format!("char {bytes:?} {start}"),
            Body::List(items) => {
                self.later(items);
                format!("list {} {start}", items.len())
            }
            Body::Expression(items) => {
                self.later(items);
                format!("expression {} {start}", items.len())
            }
            Body::Pairs { cells, tail } => {
                self.stack.push(Task::Node(*tail));
                self.stack.push(Task::Line("tail"));
                self.stack
                    .extend(cells.iter().rev().map(|cell| Task::Cell(*cell)));
                format!("cells {}", cells.len())
            }
            Body::Environment {
                locked,
                enclosure,
                frame,
                hashtab,
            } => {
                self.later(&[*enclosure, *frame, *hashtab]);
                format!("environment locked {locked} {start}")
            }
            Body::Closure {
                environment,
                formals,
                body,
            } => {
                self.later(&[*environment, *formals, *body]);
                format!("closure {start}")
            }
            Body::Promise {
                environment,
                value,
                expression,
            } => {
                self.later(&[environment.unwrap_or(Id::NULL), *value, *expression]);
                format!("promise {} {start}", environment.is_some())
            }
            Body::Builtin { special, name } => format!("builtin {special} {name:?} {start}"),
            Body::Bytecode(code) => {
                self.stack.push(Task::Code(id, 0));
                format!("bytecode {} {start}", code.reps)
            }
            Body::ExternalPtr { protected, tag } => {
                self.later(&[*protected, *tag]);
                format!("pointer {start}")
            }
            Body::WeakRef => format!("weak {start}"),
            Body::S4 => format!("S4 {start}"),
            Body::Named { code, names } => {
                self.later(names);
                format!("named {code} {start}")
            }
            Body::Altrep(altrep) => {
                self.later(&[altrep.info, altrep.state]);
                format!("deferred {start}")
            }
            vector => self.vector(vector, start),
        }
    }

    /// The line of a vector without nodes below it.
    fn vector(&self, body: &Body, start: &str) -> String {
        match body {
            Body::Logical(values) => format!("logical {values:?} {start}"),
            Body::Integer(values) => format!("integer {values:?} {start}"),
            Body::Double(values) => {
                let bits: Vec<u64> = values.iter().map(|one| self.bits(*one)).collect();
                format!("double {bits:x?} {start}")
            }
            Body::Complex(values) => {
                let bits: Vec<_> = values
                    .iter()
                    .map(|one| one.map(|one| self.bits(one)))
                    .collect();
                format!("complex {bits:x?} {start}")
            }
            Body::Raw(bytes) => format!("raw {bytes:?} {start}"),
            Body::Character(strings) => {
                let texts: Vec<_> = strings.iter().map(|one| (one.bytes, one.levels)).collect();
                format!("character {texts:?} {start}")
            }
            other => unreachable!("{other:?} is no vector"),
        }
    }

    fn bits(&self, value: f64) -> u64 {
        match (self.loose.nan, is_na(value), value.is_nan()) {
            (true, true, _) => NA_REAL,
            (true, false, true) => 0x7ff8_0000_0000_0000,
            _ if self.loose.decimal => {
                let decimal: f64 = format!("{value:.15e}").parse().unwrap();
                decimal.to_bits()
            }
            _ => value.to_bits(),
        }
    }

    fn cell(&mut self, cell: Cell) {
        let (levels, object) = (cell.levels, u8::from(cell.is_object));
        let tag = cell.tag.is_some();
        self.lines.push(format!(
            "cell {} tag {tag} levels {levels} object {object}",
            cell.code
        ));
        self.later(&[cell.attributes, cell.tag.unwrap_or(Id::NULL), cell.value]);
    }

    fn code(&mut self, id: Id, at: u32) {
        let Body::Bytecode(code) = &self.arena.node(id).body else {
            return;
        };
        let piece = &code.codes[at as usize];
        self.lines
            .push(format!("code of {}", piece.constants.len()));
        let constants = piece.constants.iter().rev();
        self.stack
            .extend(constants.map(|one| Task::Constant(id, *one)));
        self.stack.push(Task::Node(piece.code));
    }

    fn constant(&mut self, id: Id, constant: Constant) {
        let Body::Bytecode(code) = &self.arena.node(id).body else {
            return;
        };
        match constant {
            Constant::Code(at) => self.stack.push(Task::Code(id, at)),
            Constant::Item(kind, item) => {
                self.lines.push(format!("item {kind}"));
                self.stack.push(Task::Node(item));
            }
            Constant::Cell(at) => match &code.cells[at as usize] {
                CodeCell::Ref(number) => self.lines.push(format!("pair {number} again")),
                CodeCell::Pair {
                    number,
                    code,
                    attributes,
                    tag,
                    car,
                    cdr,
                } => {
                    self.lines.push(format!("pair {number:?} {code}"));
                    self.stack.push(Task::Constant(id, *cdr));
                    self.stack.push(Task::Constant(id, *car));
                    self.later(&[attributes.unwrap_or(Id::NULL), *tag]);
                }
            },
        }
    }
}
