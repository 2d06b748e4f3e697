//! Code, promises and references below a value, each with the path R would write to it.

use super::altrep::Deferred;
use super::loss::{Loss, LossKind, Losses};
use super::{Arena, Body, Cell, Id, RObject};

/// Something in a file that is more than data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// A value that R would compute when it is touched, with code from the file.
    Promise,
    /// A function.
    Closure,
    /// Compiled code.
    Bytecode,
    /// A variable that is a function call.
    ActiveBinding,
    /// An address of the process that wrote the file.
    ExternalPointer,
    /// A deferred vector of a class that is not of base R.
    UnknownAltrep,
    /// A deferred vector that lies in another file, which R would open.
    MmapAltrep,
    /// A name that R would hand to a function of the reader.
    ReferenceHook,
}

impl FindingKind {
    /// All of them, in the order of the documentation.
    pub const ALL: [FindingKind; 8] = [
        Self::Promise,
        Self::Closure,
        Self::Bytecode,
        Self::ActiveBinding,
        Self::ExternalPointer,
        Self::UnknownAltrep,
        Self::MmapAltrep,
        Self::ReferenceHook,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Promise => "promise",
            Self::Closure => "closure",
            Self::Bytecode => "bytecode",
            Self::ActiveBinding => "active binding",
            Self::ExternalPointer => "external pointer",
            Self::UnknownAltrep => "unknown ALTREP",
            Self::MmapAltrep => "mmap ALTREP",
            Self::ReferenceHook => "reference hook",
        }
    }

    /// What leaving it out is called.
    fn loss(self) -> Option<LossKind> {
        match self {
            Self::Promise => Some(LossKind::PromiseOpaque),
            Self::Closure | Self::Bytecode | Self::ActiveBinding | Self::ExternalPointer => {
                Some(LossKind::CodeOpaque)
            }
            _ => None,
        }
    }
}

/// One thing found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Where, as R would write it: `$fit$terms@.Environment`; empty for the object itself.
    pub path: String,
}

/// What a walk came by.
enum Met {
    Finding(FindingKind),
    /// A deferred vector of base R.
    Deferred,
}

/// A step from a value to one in it.
enum Step<'a> {
    Value(Id),
    Cells {
        cells: &'a [Cell],
        tail: Id,
        named: bool,
    },
    Items {
        ids: &'a [Id],
        at: usize,
        names: Option<Id>,
    },
    Leave,
    Name(&'a [u8], Id),
    Attribute(&'a [u8], Id),
}

/// An active binding's bit in the levels of a cell.
const ACTIVE: u16 = 1 << 15;

/// What is found below a value, at most [`Losses::MOST`] of it; each value is looked at once.
///
/// # Example
/// ```
/// use tare::robject::{findings, Builder};
///
/// let mut build = Builder::new();
/// let data = build.strings(["no code"])?;
/// assert!(findings(&build.finish(data)).is_empty());
/// # Ok::<(), tare::Error>(())
/// ```
#[must_use]
pub fn findings(object: &RObject) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut path = Losses::new(false);
    walk(object, &mut path, |met, path| {
        if let (Met::Finding(kind), true) = (met, found.len() < Losses::MOST) {
            found.push(Finding {
                kind,
                path: path.path().to_owned(),
            });
        }
    });
    found
}

/// What writing leaves out (`data_only`) or expands (`expand`).
pub(super) fn losses(object: &RObject, data_only: bool, expand: bool) -> Vec<Loss> {
    let mut found: Vec<Loss> = Vec::new();
    let mut path = Losses::new(false);
    walk(object, &mut path, |met, path| {
        let (kind, r, kept) = match met {
            Met::Finding(kind) => match kind.loss().filter(|_| data_only) {
                Some(loss) => (loss, kind.name(), "NULL"),
                None => return,
            },
            Met::Deferred if expand => (LossKind::AltrepExpanded, "deferred vector", "its values"),
            Met::Deferred => return,
        };
        if found.len() < Losses::MOST {
            found.push(Loss {
                path: path.path().to_owned(),
                kind,
                r: r.to_owned(),
                kept: kept.to_owned(),
                count: 1,
            });
        }
    });
    found
}

fn walk(object: &RObject, path: &mut Losses, mut meet: impl FnMut(Met, &Losses)) {
    let arena = &**object.arena();
    let mut seen = vec![false; arena.len()];
    let mut stack = vec![Step::Value(object.id())];
    while let Some(step) = stack.pop() {
        match step {
            Step::Leave => path.leave(),
            Step::Name(name, id) => {
                path.enter_name(&String::from_utf8_lossy(name));
                stack.push(Step::Leave);
                stack.push(Step::Value(id));
            }
            Step::Attribute(name, id) => {
                path.enter_attribute(&String::from_utf8_lossy(name));
                stack.push(Step::Leave);
                stack.push(Step::Value(id));
            }
            Step::Items { ids, at, names } => {
                let Some(id) = ids.get(at) else { continue };
                let next = at.saturating_add(1);
                stack.push(Step::Items {
                    ids,
                    at: next,
                    names,
                });
                if let Some(name) = name_of(arena, names, at) {
                    stack.push(Step::Name(name, *id));
                } else {
                    path.enter_index(at);
                    stack.push(Step::Leave);
                    stack.push(Step::Value(*id));
                }
            }
            Step::Cells { cells, tail, named } => {
                let Some((cell, rest)) = cells.split_first() else {
                    stack.push(Step::Value(tail));
                    continue;
                };
                stack.push(Step::Cells {
                    cells: rest,
                    tail,
                    named,
                });
                let name = cell.tag.and_then(|tag| arena.symbol(tag));
                let name = name.unwrap_or(if named { b"" } else { b"[[]]" });
                if cell.levels & ACTIVE != 0 {
                    path.enter_name(&String::from_utf8_lossy(name));
                    meet(Met::Finding(FindingKind::ActiveBinding), path);
                    path.leave();
                }
                if !cell.attributes.is_null() {
                    stack.push(Step::Value(cell.attributes));
                }
                stack.push(Step::Name(name, cell.value));
            }
            Step::Value(id) => {
                let Some(mark) = seen.get_mut(id.index()) else {
                    continue;
                };
                if std::mem::replace(mark, true) {
                    continue;
                }
                if let Some(met) = met(arena, id) {
                    meet(met, path);
                }
                open(arena, id, &mut stack);
            }
        }
    }
}

fn name_of(arena: &Arena, names: Option<Id>, at: usize) -> Option<&[u8]> {
    match &arena.node(names?).body {
        Body::Character(names) => names.get(at)?.bytes.filter(|name| !name.is_empty()),
        _ => None,
    }
}

fn met(arena: &Arena, id: Id) -> Option<Met> {
    Some(Met::Finding(match &arena.node(id).body {
        Body::Promise { .. } => FindingKind::Promise,
        Body::Closure { .. } => FindingKind::Closure,
        Body::Bytecode(_) => FindingKind::Bytecode,
        Body::ExternalPtr { .. } => FindingKind::ExternalPointer,
        Body::Named { code: 247, .. } => FindingKind::ReferenceHook,
        Body::Altrep(_) => match (arena.deferred(id), arena.altrep_class(id)) {
            (Some(Deferred::Unknown) | None, Some((class, _))) if class.starts_with(b"mmap") => {
                FindingKind::MmapAltrep
            }
            (Some(Deferred::Unknown) | None, _) => FindingKind::UnknownAltrep,
            _ => return Some(Met::Deferred),
        },
        _ => return None,
    }))
}

/// Puts what lies in a value on the stack, the first on top.
fn open<'a>(arena: &'a Arena, id: Id, stack: &mut Vec<Step<'a>>) {
    let node = arena.node(id);
    if !matches!(node.body, Body::Pairs { .. }) {
        for cell in arena.cells(node.attributes).iter().rev() {
            if let Some(name) = cell.tag.and_then(|tag| arena.symbol(tag)) {
                stack.push(Step::Attribute(name, cell.value));
            }
        }
    }
    match &node.body {
        Body::List(ids) | Body::Expression(ids) => {
            let names = arena.attribute(id, "names");
            stack.push(Step::Items { ids, at: 0, names });
        }
        Body::Pairs { cells, tail } => stack.push(Step::Cells {
            cells,
            tail: *tail,
            named: true,
        }),
        Body::Environment {
            enclosure,
            frame,
            hashtab,
            ..
        } => {
            stack.push(Step::Attribute(b"enclosure", *enclosure));
            // Chains of a hash table are no steps of a path.
            if let Body::List(chains) = &arena.node(*hashtab).body {
                stack.extend(chains.iter().rev().map(|chain| Step::Value(*chain)));
            }
            stack.push(Step::Value(*frame));
        }
        Body::Closure {
            environment,
            formals,
            body,
        } => {
            stack.push(Step::Attribute(b"environment", *environment));
            stack.push(Step::Attribute(b"body", *body));
            stack.push(Step::Attribute(b"formals", *formals));
        }
        Body::Promise {
            environment,
            value,
            expression,
        } => {
            if let Some(environment) = environment {
                stack.push(Step::Attribute(b"environment", *environment));
            }
            stack.push(Step::Attribute(b"value", *value));
            stack.push(Step::Attribute(b"expression", *expression));
        }
        Body::ExternalPtr { protected, tag } => {
            stack.push(Step::Attribute(b"tag", *tag));
            stack.push(Step::Attribute(b"protected", *protected));
        }
        Body::Altrep(altrep) => stack.push(Step::Attribute(b"state", altrep.state)),
        Body::Bytecode(code) => {
            let items = code.codes.iter().flat_map(|one| &one.constants);
            for constant in items {
                if let super::Constant::Item(_, id) = constant {
                    stack.push(Step::Value(*id));
                }
            }
        }
        _ => {}
    }
}
