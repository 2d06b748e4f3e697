//! The values that segments lead to, one after the other, with a stack of what is open.

use super::query::{Segment, Selector};
use super::{below, columns, filter, NodePath, NodeStep, Search};
use crate::blit::layout::{broken, MAX_DEPTH};
use crate::blit::list::{Body, List};
use crate::blit::view::{key_text, value, ArrayView, ObjectView, Value};
use crate::{ErrorKind, Result};

/// Rows whose filter is worked out at a time.
const CHUNK: usize = 4096;
/// Shorter arrays are looked at one by one.
const WORTHWHILE: usize = 4;

/// What is left of a search below one value.
pub(super) struct Matches<'v> {
    segments: &'v [Segment],
    /// The value itself, until it was looked at.
    first: Option<Value<'v>>,
    open: Vec<Open<'v>>,
    /// The steps from the innermost open value to the one that was found.
    last: [Option<Place>; 2],
}

/// A step, before its name is looked up.
#[derive(Clone, Copy)]
enum Place {
    Element(usize),
    /// The id of a name.
    Key(usize),
}

/// A value that a segment is being applied to.
struct Open<'v> {
    node: Node<'v>,
    /// How it was reached.
    place: Option<Place>,
    segment: usize,
    selector: usize,
    at: At,
    /// The column of a table that the next segment leads to, once it was looked for.
    column: Option<Column<'v>>,
    /// Of a row, which columns may hold what a search of descendants looks for.
    columns: Option<below::Columns>,
}

/// Where the values of a name lie, of all rows of a table.
#[derive(Clone, Copy)]
struct Column<'v> {
    id: usize,
    /// None if the table has no such column.
    list: Option<List<'v>>,
    /// The element of the column that belongs to the first row of the array.
    first: usize,
}

#[derive(Clone)]
enum Node<'v> {
    Array(ArrayView<'v>),
    Object(ObjectView<'v>),
}

/// How far a selector has come.
#[derive(Default)]
struct At {
    /// Elements or names that it has looked at.
    i: usize,
    rows: Rows,
}

/// The rows of a chunk that a filter takes: one byte each, from `from` on.
#[derive(Default)]
struct Rows {
    from: usize,
    taken: Vec<u8>,
}

/// What an open value gives next.
enum Next<'v> {
    Found(Place, Value<'v>),
    /// Found by the segment behind this one too.
    Further(Place, Place, Value<'v>),
    /// To be searched by the same segment.
    Inner(Place, Node<'v>),
    Nothing,
}

/// The name that a segment takes, if it takes nothing else.
fn name_of(segment: &Segment) -> Option<usize> {
    match segment.selectors.as_slice() {
        [Selector::Name(name)] if !segment.descendant => Some(*name),
        _ => None,
    }
}

impl<'v> Node<'v> {
    fn of(value: &Value<'v>) -> Option<Self> {
        match value {
            Value::Array(array) => Some(Self::Array(*array)),
            Value::Object(object) => Some(Self::Object(*object)),
            _ => None,
        }
    }

    /// Whether this or anything in it may have one of a segment's names.
    fn may_have(&self, segment: &Segment, search: &Search<'v>) -> Result<bool> {
        let (list, row) = match self {
            Self::Array(array) => (array.list, array.row),
            Self::Object(object) => match object.list {
                Some(_) if below::has_name(search, segment, &object.shape) => return Ok(true),
                Some(list) => (list, object.row),
                None => return Ok(false),
            },
        };
        if row.is_none() {
            return search.below.may_be(search, segment, &list, 0);
        }
        let columns = search.below.columns(search, segment, &list, 0)?;
        Ok(columns.contains(&true))
    }
}

impl<'v> Matches<'v> {
    pub(super) fn new(segments: &'v [Segment], value: Value<'v>) -> Self {
        Self {
            segments,
            first: Some(value),
            open: Vec::new(),
            last: [None; 2],
        }
    }

    /// The next value; nothing comes after an error.
    pub(super) fn next(&mut self, search: &Search<'v>) -> Option<Result<Value<'v>>> {
        let next = self.advance(search).transpose();
        if matches!(next, Some(Err(_))) {
            self.open.clear();
        }
        next
    }

    fn advance(&mut self, search: &Search<'v>) -> Result<Option<Value<'v>>> {
        if let Some(value) = self.first.take() {
            search.budget.spend(1)?;
            if self.segments.is_empty() {
                return Ok(Some(value));
            }
            if let Some(node) = Node::of(&value) {
                self.push(None, node, 0)?;
            }
        }
        while let Some(open) = self.open.last_mut() {
            let segment = open.segment;
            let Some(applied) = self.segments.get(segment) else {
                return Ok(None);
            };
            let behind = self.segments.get(segment.saturating_add(1));
            match open.next(applied, behind.and_then(name_of), search)? {
                Next::Further(place, key, value) => {
                    search.budget.spend(2)?;
                    let next = segment.saturating_add(2);
                    if next >= self.segments.len() {
                        self.last = [Some(place), Some(key)];
                        return Ok(Some(value));
                    }
                    // The row is opened as if it were searched to its end.
                    if let Some(node) = Node::of(&value) {
                        let row = open.row_of(place)?;
                        self.push(Some(place), row, segment.saturating_add(1))?;
                        if let Some(row) = self.open.last_mut() {
                            (row.selector, row.at.i) = (1, 0);
                        }
                        self.push(Some(key), node, next)?;
                    }
                }
                Next::Nothing => {
                    self.open.pop();
                }
                Next::Inner(place, node) => self.push(Some(place), node, segment)?,
                Next::Found(place, value) => {
                    search.budget.spend(1)?;
                    let next = segment.saturating_add(1);
                    if next >= self.segments.len() {
                        self.last = [Some(place), None];
                        return Ok(Some(value));
                    }
                    if let Some(node) = Node::of(&value) {
                        self.push(Some(place), node, next)?;
                    }
                }
            }
        }
        Ok(None)
    }

    fn push(&mut self, place: Option<Place>, node: Node<'v>, segment: usize) -> Result<()> {
        if self.open.len() > MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(broken(ErrorKind::Limit, "V30", &text, 0));
        }
        self.open.push(Open {
            node,
            place,
            segment,
            selector: 0,
            at: At::default(),
            column: None,
            columns: None,
        });
        Ok(())
    }

    /// The path of the value that was found last.
    ///
    /// # Errors
    /// `Malformed` for a name that is none.
    pub(super) fn path(&self, search: &Search<'v>) -> Result<NodePath<'v>> {
        let mut steps = Vec::with_capacity(self.open.len().saturating_add(1));
        let places = self.open.iter().map(|open| open.place);
        for place in places.chain(self.last).flatten() {
            steps.push(match place {
                Place::Element(i) => NodeStep::Index(i),
                Place::Key(id) => NodeStep::Name(key_text(search.doc, id)?),
            });
        }
        Ok(NodePath(steps))
    }
}

impl<'v> Open<'v> {
    fn next(
        &mut self,
        segment: &'v Segment,
        behind: Option<usize>,
        search: &Search<'v>,
    ) -> Result<Next<'v>> {
        while let Some(selector) = segment.selectors.get(self.selector) {
            if let (Node::Array(array), Some(name)) = (&self.node, behind) {
                let array = *array;
                if let Some(column) = self.column(&array, name, search)? {
                    if let Some(next) = self.of_column(&array, &column, selector, search)? {
                        return Ok(next);
                    }
                    self.selector = self.selector.saturating_add(1);
                    self.at = At::default();
                    continue;
                }
            }
            let found = match &self.node {
                Node::Array(array) => self.at.of_array(array, selector, search)?,
                Node::Object(object) => self.at.of_object(object, selector, search)?,
            };
            if let Some((place, value)) = found {
                return Ok(Next::Found(place, value));
            }
            self.selector = self.selector.saturating_add(1);
            self.at = At::default();
        }
        if segment.descendant {
            return self.inner(segment, search);
        }
        Ok(Next::Nothing)
    }

    /// The next array or object inside this one that may hold what the segment looks for.
    fn inner(&mut self, segment: &'v Segment, search: &Search<'v>) -> Result<Next<'v>> {
        let (list, first, n, row) = match &self.node {
            Node::Array(array) => (Some(&array.list), array.from, array.len(), array.row),
            Node::Object(object) => (object.list.as_ref(), 0, object.slots(), object.row),
        };
        let Some(list) = list else {
            return Ok(Next::Nothing);
        };
        let by_name = below::by_name(segment);
        if self.at.i == 0 {
            let columns = &mut self.columns;
            if !may_be_below(segment, by_name, (list, row), columns, search)? {
                return Ok(Next::Nothing);
            }
        }
        while self.at.i < n {
            let next = |i: usize| below::next_container(list, first.saturating_add(i));
            let i = match row {
                None => next(self.at.i).saturating_sub(first),
                Some(_) => self.at.i,
            };
            let looked = i.saturating_sub(self.at.i).saturating_add(1);
            search.budget.spend(looked as u64)?;
            self.at.i = i.saturating_add(1);
            if i >= n {
                break;
            }
            let left_out = self.columns.as_ref().and_then(|columns| columns.get(i)) == Some(&false);
            if left_out {
                continue;
            }
            let item = match row {
                None => list.get(search.doc, first.saturating_add(i))?,
                Some(row) => list.column(search.doc, i)?.get(search.doc, row)?,
            };
            if !below::holds_others(&item) {
                continue;
            }
            let Some(node) = value(search.doc, item)?.as_ref().and_then(Node::of) else {
                continue;
            };
            if by_name && !node.may_have(segment, search)? {
                continue;
            }
            let place = match &self.node {
                Node::Array(_) => Place::Element(i),
                Node::Object(object) => Place::Key(object.key_id(i)),
            };
            return Ok(Next::Inner(place, node));
        }
        Ok(Next::Nothing)
    }

    /// The column of a name, where the array is rows of a table.
    fn column(
        &mut self,
        array: &ArrayView<'v>,
        name: usize,
        search: &Search<'v>,
    ) -> Result<Option<Column<'v>>> {
        if self.column.is_none() {
            let Some((list, first)) = array.elements() else {
                return Ok(None);
            };
            let (Body::Table { shape, .. }, Some(id)) = (list.body, search.id(name)) else {
                return Ok(None);
            };
            let slot = search.doc.shapes.get(shape)?.slot(id);
            let list = slot.map(|slot| list.column(search.doc, slot)).transpose()?;
            self.column = Some(Column { id, list, first });
        }
        Ok(self.column)
    }

    /// The next value of a column, of the rows that a selector takes.
    fn of_column(
        &mut self,
        array: &ArrayView<'v>,
        column: &Column<'v>,
        selector: &'v Selector,
        search: &Search<'v>,
    ) -> Result<Option<Next<'v>>> {
        let Some(list) = column.list else {
            return Ok(None);
        };
        while let Some(i) = self.at.index(array, selector, search)? {
            let item = list.get(search.doc, column.first.saturating_add(i))?;
            if let Some(value) = value(search.doc, item)? {
                let key = Place::Key(column.id);
                return Ok(Some(Next::Further(Place::Element(i), key, value)));
            }
            search.budget.spend(1)?;
        }
        Ok(None)
    }

    /// The row at a place of this array.
    fn row_of(&self, place: Place) -> Result<Node<'v>> {
        let row = match (&self.node, place) {
            (Node::Array(array), Place::Element(i)) => Node::of(&array.get(i)?),
            _ => None,
        };
        Ok(row.unwrap_or_else(|| self.node.clone()))
    }
}

/// Whether there may be anything below a value of a list; of a row, remembers which columns may.
fn may_be_below<'v>(
    segment: &'v Segment,
    by_name: bool,
    (list, row): (&List<'v>, Option<usize>),
    columns: &mut Option<below::Columns>,
    search: &Search<'v>,
) -> Result<bool> {
    if !by_name {
        return Ok(row.is_some() || !columns::is_flat(list, search.doc)?);
    }
    if row.is_none() {
        return search.below.may_be(search, segment, list, 0);
    }
    let found = search.below.columns(search, segment, list, 0)?;
    let any = found.contains(&true);
    *columns = Some(found);
    Ok(any)
}

impl At {
    fn of_array<'v>(
        &mut self,
        array: &ArrayView<'v>,
        selector: &'v Selector,
        search: &Search<'v>,
    ) -> Result<Option<(Place, Value<'v>)>> {
        match self.index(array, selector, search)? {
            Some(i) => Ok(Some((Place::Element(i), array.get(i)?))),
            None => Ok(None),
        }
    }

    /// The next element that a selector takes.
    fn index<'v>(
        &mut self,
        array: &ArrayView<'v>,
        selector: &'v Selector,
        search: &Search<'v>,
    ) -> Result<Option<usize>> {
        let (n, i) = (array.len(), self.i);
        let found = match selector {
            Selector::Name(_) => None,
            Selector::Wildcard => (i < n).then_some(i),
            Selector::Index(index) => filter::at(*index, n).filter(|_| i == 0),
            Selector::Slice(slice) => {
                let (first, count) = slice.within(n);
                (i < count).then(|| slice.nth(first, i))
            }
            Selector::Filter(_) => return self.filtered(array, selector, search),
        };
        self.i = i.saturating_add(1);
        Ok(found)
    }

    /// The next element that a filter takes.
    fn filtered<'v>(
        &mut self,
        array: &ArrayView<'v>,
        selector: &'v Selector,
        search: &Search<'v>,
    ) -> Result<Option<usize>> {
        let Selector::Filter(expr) = selector else {
            return Ok(None);
        };
        let n = array.len();
        let whole = array.elements().filter(|_| n >= WORTHWHILE);
        while self.i < n {
            let i = self.i;
            if let Some((list, first)) = whole {
                let rows = &mut self.rows;
                if i >= rows.from.saturating_add(rows.taken.len()) {
                    let to = i.saturating_add(CHUNK).min(n);
                    search.budget.spend(to.saturating_sub(i) as u64)?;
                    rows.from = i;
                    let range = (first.saturating_add(i), first.saturating_add(to));
                    rows.taken = columns::select(search, &list, range, expr)?;
                }
                let within = i.saturating_sub(rows.from);
                let rest = rows.taken.get(within..).unwrap_or_default();
                let Some(next) = memchr::memchr(1, rest) else {
                    self.i = rows.from.saturating_add(rows.taken.len().max(1));
                    continue;
                };
                let i = i.saturating_add(next);
                self.i = i.saturating_add(1);
                return Ok(Some(i));
            }
            self.i = i.saturating_add(1);
            search.budget.spend(1)?;
            if filter::holds(search, expr, &array.get(i)?)? {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    fn of_object<'v>(
        &mut self,
        object: &ObjectView<'v>,
        selector: &'v Selector,
        search: &Search<'v>,
    ) -> Result<Option<(Place, Value<'v>)>> {
        match selector {
            Selector::Name(name) => {
                let first = self.i == 0;
                self.i = 1;
                let Some(id) = search.id(*name).filter(|_| first) else {
                    return Ok(None);
                };
                Ok(object.get_id(id)?.map(|value| (Place::Key(id), value)))
            }
            Selector::Wildcard | Selector::Filter(_) => {
                while self.i < object.slots() {
                    let slot = self.i;
                    self.i = slot.saturating_add(1);
                    let Some(value) = object.at(slot)? else {
                        continue;
                    };
                    search.budget.spend(1)?;
                    if let Selector::Filter(expr) = selector {
                        if !filter::holds(search, expr, &value)? {
                            continue;
                        }
                    }
                    return Ok(Some((Place::Key(object.key_id(slot)), value)));
                }
                Ok(None)
            }
            Selector::Index(_) | Selector::Slice(_) => Ok(None),
        }
    }
}
