//! Lists as Arrow lists, where their elements are of one type.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{make_array, Array, ArrayRef, BinaryArray, ListArray, NullArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, Fields};

use super::super::kind::Kind;
use super::super::loss::LossKind;
use super::super::model::{is_na, Body, Id, NA_INT, NA_REAL};
use super::super::{rds, Strings, WriteOptions};
use super::extra::{self, Meaning};
use super::flat::refused;
use super::from::{from_arrow, FromArrow};
use super::to::{too_deep, Column, To};
use super::{MOST_DEPTH, TYPE_KEY};
use crate::{Error, ErrorKind, Result};

/// What the elements of a list are, where all are alike.
enum Alike {
    /// `NULL`, all of them.
    Nothing,
    /// Bytes.
    Raw,
    /// Logicals, integers or doubles without attributes, and the type that holds all.
    Numbers(Kind),
    /// Character vectors without attributes, and logicals that are NA.
    Strings,
    /// Lists with these names each.
    Records(Vec<String>),
    /// Lists without names.
    Lists,
    /// Vectors of any other kind: of one Arrow type, if the arrays show it.
    Vectors,
    /// Nothing that one type holds.
    Mixed,
}

impl To<'_> {
    /// A list in a data frame: one value an element; kept as bytes where no type holds all.
    pub(super) fn list_column(&mut self, children: &[Id]) -> Result<Column> {
        let before = self.losses.real();
        if let Some(array) = self.counted_values(children)? {
            let mut column = list_of_values(array);
            if children.is_empty() && !self.options.metadata {
                // No note says that it is a list.
                column.array = listed(column.array, &[], None)?;
            }
            if self.elements.is_none() && self.losses.real() == before {
                self.note_changed(children, &column)?;
            }
            return Ok(column);
        }
        self.losses.add(
            LossKind::CodeOpaque,
            "list of values of different types",
            "each as R's serialization",
            children.len() as u64,
        )?;
        let options = WriteOptions::default();
        let mut stored = Vec::with_capacity(children.len());
        for child in children {
            stored.push(rds::serialize(&self.object.at(*child), &options)?);
        }
        let array = BinaryArray::from_iter_values(stored);
        Ok(Column::new(array).of("list=rds"))
    }

    /// Reports elements that R would get back as others: one type of Arrow holds them all, which may not be that of
    /// each, as of integers beside doubles, or factors with levels of their own.
    fn note_changed(&mut self, children: &[Id], column: &Column) -> Result<()> {
        if self.is_uniform(children) {
            return Ok(());
        }
        let options = FromArrow {
            metadata: self.options.metadata,
            ..FromArrow::default()
        };
        let fields = Fields::from(vec![column.field("x", self.options.metadata)]);
        let columns = vec![Arc::clone(&column.array)];
        let table = StructArray::try_new(fields.clone(), columns, None);
        let table: ArrayRef = Arc::new(table.map_err(|error| refused(&error))?);
        let field = Field::new("", DataType::Struct(fields), false);
        // What R would not take at all, such as text with a zero byte, comes back as nothing.
        let back = from_arrow(&field, &[table], &options).ok();
        let back = back.and_then(|(frame, _)| frame.child(0));
        let mut changed = 0_u64;
        for (at, child) in children.iter().enumerate() {
            let same = match back.as_ref().and_then(|list| list.child(at)) {
                Some(back) => back.identical(&self.object.at(*child))?,
                None => false,
            };
            changed = changed.saturating_add(u64::from(!same));
        }
        let (r, kept) = ("types, levels or classes of elements", "those of all");
        self.losses
            .add_at("[[]]", LossKind::IdentityLost, r, kept, changed)
    }

    /// Whether the elements are vectors of one type without attributes, or `NULL`, which an array holds as they are.
    fn is_uniform(&self, children: &[Id]) -> bool {
        let mut kinds = children.iter().filter(|id| !id.is_null()).map(|id| {
            let node = self.arena.node(*id);
            let plain = node.attributes.is_null() && !node.is_object;
            plain.then(|| node.body.kind())
        });
        let Some(first) = kinds.next() else {
            return false;
        };
        let vector = matches!(
            first,
            Some(Kind::Logical | Kind::Integer | Kind::Double | Kind::Character | Kind::Raw)
        );
        vector && kinds.all(|kind| kind == first)
    }

    /// The values of elements, with what they lost counted together.
    fn counted_values(&mut self, children: &[Id]) -> Result<Option<ArrayRef>> {
        if self.elements.is_some() {
            return self.values(children);
        }
        self.elements = Some(Vec::new());
        let made = self.values(children);
        for (kind, name, count) in self.elements.take().unwrap_or_default() {
            self.losses.add_at("[[]]", kind, &name, "", count)?;
        }
        made
    }

    /// One Arrow value for each R value: a vector is a list of its elements, a list with names a
    /// struct, `NULL` missing. None where no type holds all.
    pub(super) fn values(&mut self, ids: &[Id]) -> Result<Option<ArrayRef>> {
        if self.depth >= MOST_DEPTH {
            return Err(too_deep());
        }
        self.depth = self.depth.saturating_add(1);
        let outermost = self.elements.is_none();
        let _ = self.elements.get_or_insert_default();
        let made = self.values_inside(ids);
        if outermost {
            for (kind, name, count) in self.elements.take().unwrap_or_default() {
                self.losses.add_at("[[]]", kind, &name, "", count)?;
            }
        }
        self.depth = self.depth.saturating_sub(1);
        made
    }

    fn values_inside(&mut self, ids: &[Id]) -> Result<Option<ArrayRef>> {
        let nulls: Vec<bool> = ids.iter().map(|id| !id.is_null()).collect();
        let nulls = Some(NullBuffer::from(nulls)).filter(|nulls| nulls.null_count() > 0);
        Ok(Some(match self.alike(ids) {
            Alike::Nothing => Arc::new(NullArray::new(ids.len())),
            Alike::Raw => Arc::new(self.binaries(ids)),
            Alike::Numbers(kind) => self.number_lists(ids, kind, nulls)?,
            Alike::Strings => self.string_lists(ids, nulls)?,
            Alike::Records(names) => return self.records(ids, &names, nulls),
            Alike::Lists => {
                for id in ids {
                    self.note_attributes(*id, false)?;
                }
                let children = ids.iter().map(|id| self.arena.elements(*id));
                let all: Vec<Id> = children.clone().flatten().copied().collect();
                let lengths = children.map(<[Id]>::len).collect::<Vec<_>>();
                let Some(items) = self.values(&all)? else {
                    return Ok(None);
                };
                listed(items, &lengths, nulls)?
            }
            Alike::Vectors => return self.vectors(ids, nulls),
            Alike::Mixed => return Ok(None),
        }))
    }

    fn alike(&self, ids: &[Id]) -> Alike {
        let mut alike = Alike::Nothing;
        for id in ids.iter().copied().filter(|id| !id.is_null()) {
            alike = match (alike, self.one(id)) {
                (Alike::Nothing, one) => one,
                (Alike::Raw, Alike::Raw) => Alike::Raw,
                (Alike::Numbers(a), Alike::Numbers(b)) => Alike::Numbers(wider(a, b)),
                (Alike::Strings, Alike::Strings | Alike::Numbers(Kind::Null))
                | (Alike::Numbers(Kind::Null), Alike::Strings) => Alike::Strings,
                (Alike::Records(a), Alike::Records(b)) if a == b => Alike::Records(a),
                (Alike::Lists, Alike::Lists) => Alike::Lists,
                (Alike::Vectors, Alike::Vectors) => Alike::Vectors,
                _ => return Alike::Mixed,
            };
        }
        alike
    }

    fn one(&self, id: Id) -> Alike {
        let arena = self.arena;
        let meaning = extra::meaning(arena, id);
        if meaning != Meaning::Plain || arena.attribute(id, "dim").is_some() {
            return Alike::Vectors;
        }
        match arena.data(id, None) {
            Ok(Body::Raw(_)) => Alike::Raw,
            // A logical that is NA alone stands for NA of any type; `Null` says so.
            Ok(Body::Logical(values)) if values.iter().all(|v| *v == NA_INT) => {
                Alike::Numbers(Kind::Null)
            }
            Ok(Body::Logical(_)) => Alike::Numbers(Kind::Logical),
            Ok(Body::Integer(_)) => Alike::Numbers(Kind::Integer),
            Ok(Body::Double(_)) => Alike::Numbers(Kind::Double),
            Ok(Body::Character(_)) => Alike::Strings,
            Ok(Body::Complex(_)) => Alike::Vectors,
            Ok(Body::List(children)) => match self.distinct_names(id) {
                Some(names) => Alike::Records(names),
                None if children.is_empty() => Alike::Lists,
                None if self.object.at(id).names().is_none() => Alike::Lists,
                None => Alike::Mixed,
            },
            _ => Alike::Mixed,
        }
    }

    /// The names of a list, where every element has one and no two are the same.
    pub(super) fn distinct_names(&self, id: Id) -> Option<Vec<String>> {
        let names = self.object.at(id).names()?;
        let names: Option<Vec<String>> = names.into_iter().collect();
        let names = names.filter(|names| names.iter().all(|name| !name.is_empty()))?;
        let distinct: std::collections::HashSet<&String> = names.iter().collect();
        let all = distinct.len() == names.len() && names.len() == self.arena.elements(id).len();
        (all && !names.is_empty()).then_some(names)
    }

    fn binaries(&mut self, ids: &[Id]) -> BinaryArray {
        let arena = self.arena;
        let bytes = |id: &Id| match arena.data(*id, None) {
            Ok(Body::Raw(bytes)) => Some(bytes.as_slice()),
            _ => None,
        };
        ids.iter().map(bytes).collect()
    }

    fn number_lists(
        &mut self,
        ids: &[Id],
        kind: Kind,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let arena = self.arena;
        let kind = if kind == Kind::Null {
            Kind::Logical
        } else {
            kind
        };
        let mut lengths = Vec::with_capacity(ids.len());
        let mut changed = 0_u64;
        let (mut integers, mut doubles) = (Vec::new(), Vec::new());
        for id in ids {
            self.note_attributes(*id, false)?;
            let before = integers.len().saturating_add(doubles.len());
            match arena.data(*id, None)? {
                Body::Logical(values) | Body::Integer(values) if kind != Kind::Double => {
                    integers.extend_from_slice(values);
                }
                Body::Logical(values) | Body::Integer(values) => {
                    let wide = |value: &i32| match *value {
                        NA_INT => f64::from_bits(NA_REAL),
                        value => f64::from(value),
                    };
                    doubles.extend(values.iter().map(wide));
                }
                Body::Double(values) => doubles.extend_from_slice(values),
                _ => {}
            }
            changed = changed.saturating_add(u64::from(!id.is_null() && arena.kind(*id) != kind));
            let after = integers.len().saturating_add(doubles.len());
            lengths.push(after.saturating_sub(before));
        }
        let (r, kept) = ("vectors of several types of number", kind.name());
        self.losses.add(LossKind::TypeChanged, r, kept, changed)?;
        let items = match kind {
            Kind::Logical => self.logicals(&integers)?.array,
            Kind::Integer => {
                let nulls = super::lent::present_integers(&integers);
                Arc::new(arrow_array::Int32Array::new(
                    ScalarBuffer::from(integers),
                    nulls,
                ))
            }
            _ => self.own_doubles(doubles)?,
        };
        listed(items, &lengths, nulls)
    }

    /// Doubles of the conversion's own.
    fn own_doubles(&mut self, doubles: Vec<f64>) -> Result<ArrayRef> {
        let mut nulls = super::lent::present(&doubles, is_na);
        if self.options.nan {
            let count = nulls.as_ref().map_or(0, NullBuffer::null_count);
            self.losses
                .add(LossKind::NaToNan, "NA", "NaN", count as u64)?;
            nulls = None;
        }
        Ok(Arc::new(arrow_array::Float64Array::new(
            ScalarBuffer::from(doubles),
            nulls,
        )))
    }

    fn string_lists(&mut self, ids: &[Id], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let arena = self.arena;
        let mut lengths = Vec::with_capacity(ids.len());
        let mut all = Strings::default();
        for id in ids {
            self.note_attributes(*id, false)?;
            let before = all.len();
            match arena.data(*id, None)? {
                Body::Character(strings) => {
                    for text in strings.iter() {
                        match text.bytes {
                            Some(bytes) => all.push(bytes, text.levels),
                            None => all.push_na(),
                        }
                    }
                }
                Body::Logical(values) => values.iter().for_each(|_| all.push_na()),
                _ => {}
            }
            lengths.push(all.len().saturating_sub(before));
        }
        let items = self.own_texts(&all)?;
        listed(items, &lengths, nulls)
    }

    /// Lists with the same names: a struct with a column for each name.
    fn records(
        &mut self,
        ids: &[Id],
        names: &[String],
        nulls: Option<NullBuffer>,
    ) -> Result<Option<ArrayRef>> {
        let arena = self.arena;
        for id in ids {
            self.note_attributes(*id, true)?;
        }
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (at, name) in names.iter().enumerate() {
            let child = |id: &Id| arena.elements(*id).get(at).copied().unwrap_or(Id::NULL);
            let children: Vec<Id> = ids.iter().map(child).collect();
            self.losses.enter_name(name);
            let column = self.values(&children)?;
            self.losses.leave();
            let Some(column) = column else {
                return Ok(None);
            };
            fields.push(noted(name, &column));
            columns.push(column);
        }
        let array = StructArray::try_new(Fields::from(fields), columns, nulls);
        Ok(Some(Arc::new(array.map_err(|error| refused(&error))?)))
    }

    /// Vectors of any kind, each made on its own, joined where all are of one type.
    fn vectors(&mut self, ids: &[Id], nulls: Option<NullBuffer>) -> Result<Option<ArrayRef>> {
        let mut made: Vec<ArrayRef> = Vec::new();
        let mut lengths = Vec::with_capacity(ids.len());
        let mut ordered = false;
        for id in ids {
            if id.is_null() {
                lengths.push(0);
                continue;
            }
            let column = self.column(*id)?;
            ordered |= column.ordered;
            lengths.push(column.array.len());
            let alike = made
                .first()
                .is_none_or(|a| a.data_type() == column.array.data_type());
            if !alike {
                return Ok(None);
            }
            made.push(column.array);
        }
        let data: Vec<_> = made.iter().map(arrow_array::Array::to_data).collect();
        let total = lengths
            .iter()
            .fold(0_usize, |sum, n| sum.saturating_add(*n));
        let mut joined = MutableArrayData::new(data.iter().collect(), false, total);
        for (at, data) in data.iter().enumerate() {
            let step = joined.try_extend(at, 0, data.len());
            step.map_err(|error| refused(&error))?;
        }
        let items = make_array(joined.freeze());
        let item = Field::new("item", items.data_type().clone(), true);
        let item = match items.data_type() {
            DataType::Dictionary(..) => item.with_dict_is_ordered(ordered),
            _ => item,
        };
        list_of(item, items, &lengths, nulls).map(Some)
    }

    /// Attributes of an element, which its place in a list has no room for; names are in a record.
    fn note_attributes(&mut self, id: Id, record: bool) -> Result<()> {
        if self.arena.node(id).attributes.is_null() {
            return Ok(());
        }
        let all = self.arena.attributes(id);
        let found: Vec<_> = all
            .filter(|(name, _)| !record || *name != b"names")
            .collect();
        for (name, value) in found {
            self.dropped(name, value, Meaning::Plain)?;
        }
        Ok(())
    }
}

/// The type of numbers that holds both.
fn wider(a: Kind, b: Kind) -> Kind {
    let rank = |kind| match kind {
        Kind::Null => 0,
        Kind::Logical => 1,
        Kind::Integer => 2,
        _ => 3,
    };
    if rank(a) < rank(b) {
        b
    } else {
        a
    }
}

fn listed(items: ArrayRef, lengths: &[usize], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    list_of(noted("item", &items), items, lengths, nulls)
}

/// Values of a list: what has not a list's own type says what it is.
pub(super) fn list_of_values(array: ArrayRef) -> Column {
    let own = !matches!(array.data_type(), DataType::Struct(_) | DataType::Null);
    let column = Column {
        array,
        ..Column::default()
    };
    if own {
        column
    } else {
        column.of("list")
    }
}

/// The field of values, where a struct is a list with names and nothing but missing is `NULL`.
fn noted(name: &str, values: &ArrayRef) -> Field {
    let field = Field::new(name, values.data_type().clone(), true);
    match values.data_type() {
        DataType::Struct(_) | DataType::Null => {
            field.with_metadata(HashMap::from([(TYPE_KEY.to_string(), "list".to_string())]))
        }
        _ => field,
    }
}

fn list_of(
    item: Field,
    items: ArrayRef,
    lengths: &[usize],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if i32::try_from(items.len()).is_err() {
        let text = "a list column with more than 2,147,483,647 elements in all";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let ends = OffsetBuffer::from_lengths(lengths.iter().copied());
    let array = ListArray::try_new(Arc::new(item), ends, items, nulls);
    Ok(Arc::new(array.map_err(|error| refused(&error))?))
}
