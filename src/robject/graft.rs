//! Data copied from one arena into another.

use std::collections::HashMap;

use super::kind::Special;
use super::model::{Arena, Body, Cell, Id, Node, RObject};
use super::{Altrep, Builder, Recoder};
use crate::Result;

/// What of an object is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graft {
    /// Vectors, lists, pairlists, calls and names; what else there is becomes `NULL`.
    Data,
    /// Everything.
    All,
}

impl Builder {
    /// Copies a value of another arena, and all below it, each node once.
    ///
    /// Says with the id how many values were left out: code, environments and addresses, where
    /// only data is wanted.
    ///
    /// # Errors
    /// `Limit` beyond 2^32 nodes.
    ///
    /// # Example
    /// ```
    /// use tare::robject::{Body, Builder, Graft};
    ///
    /// let mut build = Builder::new();
    /// let one = build.push(Body::Integer(vec![1]))?;
    /// let object = build.finish(one);
    /// let mut other = Builder::new();
    /// let (copy, left_out) = other.graft(&object, Graft::Data)?;
    /// assert_eq!(0, left_out);
    /// assert!(object.identical(&other.finish(copy))?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn graft(&mut self, object: &RObject, what: Graft) -> Result<(Id, u64)> {
        self.graft_into(object, what, &mut HashMap::new())
    }

    /// As [`Builder::graft`], of several values of one arena: what they share stays one.
    ///
    /// `places` says where the nodes of that arena went before, and is filled further.
    ///
    /// # Errors
    /// As [`Builder::graft`].
    pub fn graft_into(
        &mut self,
        object: &RObject,
        what: Graft,
        places: &mut HashMap<Id, Id>,
    ) -> Result<(Id, u64)> {
        let arena = object.arena();
        let mut work = Work {
            build: self,
            arena,
            recoder: Recoder::of(arena),
            what,
            places,
            open: Vec::new(),
            left_out: 0,
        };
        let root = work.place(object.id())?;
        while let Some((from, to)) = work.open.pop() {
            let node = work.copy(from)?;
            work.build.fill(to, node);
        }
        Ok((root, work.left_out))
    }
}

struct Work<'a> {
    build: &'a mut Builder,
    arena: &'a Arena,
    recoder: Recoder,
    what: Graft,
    places: &'a mut HashMap<Id, Id>,
    open: Vec<(Id, Id)>,
    left_out: u64,
}

impl Work<'_> {
    /// Where a node goes: it is filled later.
    fn place(&mut self, id: Id) -> Result<Id> {
        let body = &self.arena.node(id).body;
        if let Body::Special(special) = body {
            return Ok(special.id());
        }
        if let Some(place) = self.places.get(&id) {
            return Ok(*place);
        }
        if self.what == Graft::Data && !is_data(body) {
            self.left_out = self.left_out.saturating_add(1);
            self.places.insert(id, Id::NULL);
            return Ok(Id::NULL);
        }
        let place = if let Some(Ok(name)) = self.arena.symbol(id).map(std::str::from_utf8) {
            self.build.symbol(name)?
        } else {
            let place = self.build.reserve()?;
            self.open.push((id, place));
            place
        };
        self.places.insert(id, place);
        Ok(place)
    }

    fn all(&mut self, ids: &[Id]) -> Result<Vec<Id>> {
        ids.iter().map(|id| self.place(*id)).collect()
    }

    fn copy(&mut self, id: Id) -> Result<Node> {
        let node = self.arena.node(id);
        let body = match &node.body {
            Body::Special(special) => Body::Special(*special),
            Body::Symbol(name) => Body::Symbol(self.place(*name)?),
            Body::Char(bytes) => Body::Char(bytes.clone()),
            Body::Logical(values) => Body::Logical(values.clone()),
            Body::Integer(values) => Body::Integer(values.clone()),
            Body::Double(values) => Body::Double(values.clone()),
            Body::Complex(values) => Body::Complex(values.clone()),
            Body::Raw(values) => Body::Raw(values.clone()),
            Body::Character(strings) => Body::Character(Box::new(self.recoder.portable(strings))),
            Body::List(values) => Body::List(self.all(values)?),
            Body::Expression(values) => Body::Expression(self.all(values)?),
            Body::Pairs { cells, tail } => self.pairs(cells, *tail)?,
            Body::Altrep(altrep) => {
                let (info, state) = (self.place(altrep.info)?, self.place(altrep.state)?);
                Body::Altrep(Box::new(Altrep::new(info, state)))
            }
            Body::S4 => Body::S4,
            Body::WeakRef => Body::WeakRef,
            other => self.code(other)?,
        };
        Ok(Node {
            body,
            attributes: self.place(node.attributes)?,
            levels: node.levels,
            is_object: node.is_object,
        })
    }

    fn pairs(&mut self, cells: &[Cell], tail: Id) -> Result<Body> {
        let mut copies = Vec::with_capacity(cells.len());
        for cell in cells {
            copies.push(Cell {
                attributes: self.place(cell.attributes)?,
                tag: cell.tag.map(|tag| self.place(tag)).transpose()?,
                value: self.place(cell.value)?,
                ..*cell
            });
        }
        let tail = self.place(tail)?;
        Ok(Body::Pairs {
            cells: copies,
            tail,
        })
    }

    fn code(&mut self, body: &Body) -> Result<Body> {
        Ok(match body {
            Body::Environment {
                locked,
                enclosure,
                frame,
                hashtab,
            } => Body::Environment {
                locked: *locked,
                enclosure: self.place(*enclosure)?,
                frame: self.place(*frame)?,
                hashtab: self.place(*hashtab)?,
            },
            Body::Closure {
                environment,
                formals,
                body,
            } => Body::Closure {
                environment: self.place(*environment)?,
                formals: self.place(*formals)?,
                body: self.place(*body)?,
            },
            Body::Promise {
                environment,
                value,
                expression,
            } => Body::Promise {
                environment: environment.map(|at| self.place(at)).transpose()?,
                value: self.place(*value)?,
                expression: self.place(*expression)?,
            },
            Body::Builtin { special, name } => Body::Builtin {
                special: *special,
                name: name.clone(),
            },
            Body::Bytecode(code) => {
                let mut code = code.clone();
                self.bytecode(&mut code)?;
                Body::Bytecode(code)
            }
            Body::ExternalPtr { protected, tag } => Body::ExternalPtr {
                protected: self.place(*protected)?,
                tag: self.place(*tag)?,
            },
            Body::Named { code, names } => Body::Named {
                code: *code,
                names: self.all(names)?,
            },
            _ => Body::Special(Special::Null),
        })
    }

    fn bytecode(&mut self, code: &mut super::Bytecode) -> Result<()> {
        use super::{CodeCell, Constant};
        for piece in &mut code.codes {
            piece.code = self.place(piece.code)?;
            for constant in &mut piece.constants {
                if let Constant::Item(_, id) = constant {
                    *id = self.place(*id)?;
                }
            }
        }
        for cell in &mut code.cells {
            let CodeCell::Pair {
                attributes,
                tag,
                car,
                cdr,
                ..
            } = cell
            else {
                continue;
            };
            *tag = self.place(*tag)?;
            if let Some(attributes) = attributes {
                *attributes = self.place(*attributes)?;
            }
            for part in [car, cdr] {
                if let Constant::Item(_, id) = part {
                    *id = self.place(*id)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a value means the same wherever it is loaded.
fn is_data(body: &Body) -> bool {
    !matches!(
        body,
        Body::Environment { .. }
            | Body::Closure { .. }
            | Body::Promise { .. }
            | Body::Builtin { .. }
            | Body::Bytecode(_)
            | Body::ExternalPtr { .. }
            | Body::WeakRef
            | Body::Named { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Header, RObject, Strings, TextEncoding};
    use super::*;

    #[test]
    fn what_several_values_share_stays_one() {
        let mut build = Builder::new();
        let environment = build
            .push(Body::Environment {
                locked: 0,
                enclosure: Id::NULL,
                frame: Id::NULL,
                hashtab: Id::NULL,
            })
            .unwrap();
        let lists = [0, 1].map(|_| build.push(Body::List(vec![environment])).unwrap());
        let object = build.finish(lists[0]);
        let (mut other, mut places) = (Builder::new(), HashMap::new());
        let copies = lists.map(|list| {
            let list = object.at(list);
            other.graft_into(&list, Graft::All, &mut places).unwrap().0
        });
        let inside = copies.map(|copy| other.arena().elements(copy)[0]);
        assert_ne!(copies[0], copies[1]);
        assert_eq!(inside[0], inside[1]);
    }

    #[test]
    fn text_without_a_mark_is_marked_where_its_file_named_the_encoding() {
        let mut strings = Strings::default();
        strings.push(b"fa\xe7ile", TextEncoding::Native.levels());
        let mut build = Builder::new();
        let id = build.push(Body::Character(Box::new(strings))).unwrap();
        build.set_header(Header {
            native_encoding: Some(Box::from(&b"CP1252"[..])),
            ..Header::default()
        });
        let object: RObject = build.finish(id);
        let mut other = Builder::new();
        let (copy, _) = other.graft(&object, Graft::Data).unwrap();
        let copy = other.finish(copy);
        assert_eq!(Some(vec![Some("fa\u{e7}ile".to_string())]), copy.texts());
        assert!(object.identical(&copy).unwrap());
    }
}
