//! An array over that of a document: runs of its elements, and others between them.

use super::over::{release, Over};
use crate::blit::{Place, Value, View};
use crate::Result;

/// Pieces that are kept side by side; more are cut in two.
const BLOCK: usize = 64;

/// The elements of an array, as pieces in blocks, so that one is found without counting them all.
#[derive(Clone, Debug, Default)]
pub(in crate::blit) struct Pieces {
    pub(super) base: Option<Place>,
    blocks: Vec<Block>,
    n: usize,
}

#[derive(Clone, Debug, Default)]
struct Block {
    n: usize,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Elements of the base.
    Run {
        from: usize,
        n: usize,
    },
    One(Over),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Run { n, .. } => *n,
            Self::One(_) => 1,
        }
    }
}

/// Where an element is: block, piece, and how many of the piece come before it.
type At = (usize, usize, usize);

impl Pieces {
    pub(super) fn over(base: Place, n: usize) -> Self {
        let mut pieces = Self::default();
        pieces.base = Some(base);
        if n > 0 {
            pieces.push(Piece::Run { from: 0, n });
        }
        pieces
    }

    pub(super) fn push(&mut self, piece: Piece) {
        let n = piece.len();
        self.n = self.n.saturating_add(n);
        match self.blocks.last_mut() {
            Some(block) if block.pieces.len() < BLOCK => {
                block.n = block.n.saturating_add(n);
                block.pieces.push(piece);
            }
            _ => self.blocks.push(Block {
                n,
                pieces: vec![piece],
            }),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// All pieces in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.blocks.iter().flat_map(|block| &block.pieces)
    }

    fn find(&self, i: usize) -> Option<At> {
        let mut left = i;
        for (b, block) in self.blocks.iter().enumerate() {
            if left >= block.n {
                left = left.saturating_sub(block.n);
                continue;
            }
            for (p, piece) in block.pieces.iter().enumerate() {
                if left < piece.len() {
                    return Some((b, p, left));
                }
                left = left.saturating_sub(piece.len());
            }
        }
        None
    }

    fn piece(&self, at: At) -> Option<&Piece> {
        self.blocks.get(at.0)?.pieces.get(at.1)
    }

    /// The piece that element `i` is in, and its number there.
    pub(super) fn get(&self, i: usize) -> Option<(&Piece, usize)> {
        let at = self.find(i)?;
        Some((self.piece(at)?, at.2))
    }

    /// Element `i`, to be changed.
    pub(super) fn get_mut(&mut self, view: &View<'_>, i: usize) -> Result<Option<&mut Over>> {
        let Some(mut at) = self.find(i) else {
            return Ok(None);
        };
        if let Some(&Piece::Run { from, n }) = self.piece(at) {
            let over = self.in_base(view, from.saturating_add(at.2))?;
            self.replace(at, cut(from, n, at.2, 1, Some(over)));
            let Some(found) = self.find(i) else {
                return Ok(None);
            };
            at = found;
        }
        let block = self.blocks.get_mut(at.0);
        Ok(match block.and_then(|block| block.pieces.get_mut(at.1)) {
            Some(Piece::One(over)) => Some(over),
            _ => None,
        })
    }

    /// Puts a value before element `i`, or behind the last; false if there are fewer.
    pub(super) fn insert(&mut self, i: usize, over: Over) -> bool {
        if i == self.n {
            self.push(Piece::One(over));
            return true;
        }
        let Some(at) = self.find(i) else {
            return false;
        };
        match self.piece(at) {
            Some(&Piece::Run { from, n }) => self.replace(at, cut(from, n, at.2, 0, Some(over))),
            _ => {
                if let Some(block) = self.blocks.get_mut(at.0) {
                    block.pieces.insert(at.1, Piece::One(over));
                    block.n = block.n.saturating_add(1);
                    self.n = self.n.saturating_add(1);
                    self.split(at.0);
                }
            }
        }
        true
    }

    /// Takes element `i` away.
    pub(super) fn remove(&mut self, view: &View<'_>, i: usize) -> Result<Option<Over>> {
        let Some(at) = self.find(i) else {
            return Ok(None);
        };
        if let Some(&Piece::Run { from, n }) = self.piece(at) {
            let over = self.in_base(view, from.saturating_add(at.2))?;
            self.replace(at, cut(from, n, at.2, 1, None));
            return Ok(Some(over));
        }
        let Some(block) = self.blocks.get_mut(at.0) else {
            return Ok(None);
        };
        let piece = block.pieces.remove(at.1);
        block.n = block.n.saturating_sub(1);
        self.n = self.n.saturating_sub(1);
        if block.pieces.is_empty() {
            self.blocks.remove(at.0);
        }
        Ok(match piece {
            Piece::One(over) => Some(over),
            Piece::Run { .. } => None,
        })
    }

    fn in_base(&self, view: &View<'_>, i: usize) -> Result<Over> {
        let base = self.base.map(|place| view.at(place)).transpose()?;
        match base {
            Some(Value::Array(array)) => Ok(Over::of(&array.get(i)?)),
            _ => Ok(Over::of(&Value::Null)),
        }
    }

    /// Puts others where a piece is.
    fn replace(&mut self, at: At, others: Vec<Piece>) {
        let Some(block) = self.blocks.get_mut(at.0) else {
            return;
        };
        let new: usize = others.iter().map(Piece::len).sum();
        let end = at.1.saturating_add(1).min(block.pieces.len());
        let old = block.pieces.splice(at.1.min(end)..end, others);
        let old: usize = old.map(|piece| piece.len()).sum();
        block.n = block.n.saturating_add(new).saturating_sub(old);
        self.n = self.n.saturating_add(new).saturating_sub(old);
        self.split(at.0);
    }

    /// Cuts a block in two where it has too many pieces; takes it away where it has none.
    fn split(&mut self, b: usize) {
        let Some(block) = self.blocks.get_mut(b) else {
            return;
        };
        if block.pieces.is_empty() {
            self.blocks.remove(b);
        } else if block.pieces.len() > BLOCK {
            let pieces = block.pieces.split_off(BLOCK / 2);
            let n = pieces.iter().map(Piece::len).sum();
            block.n = block.n.saturating_sub(n);
            self.blocks.insert(b.saturating_add(1), Block { n, pieces });
        }
    }

    pub(super) fn empty(&mut self) -> Vec<Over> {
        let pieces = std::mem::take(&mut self.blocks)
            .into_iter()
            .flat_map(|block| block.pieces);
        let ones = pieces.filter_map(|piece| match piece {
            Piece::One(over) => Some(over),
            Piece::Run { .. } => None,
        });
        ones.collect()
    }
}

/// A run without `gone` elements behind its first `before`, and a value in their place.
fn cut(from: usize, n: usize, before: usize, gone: usize, with: Option<Over>) -> Vec<Piece> {
    let skipped = before.saturating_add(gone);
    let head = Piece::Run { from, n: before };
    let tail = Piece::Run {
        from: from.saturating_add(skipped),
        n: n.saturating_sub(skipped),
    };
    let middle = with.map(Piece::One);
    let all = [Some(head), middle, Some(tail)].into_iter().flatten();
    all.filter(|piece| piece.len() > 0).collect()
}

impl Drop for Pieces {
    fn drop(&mut self) {
        release(self.empty());
    }
}
