//! A table in memory.

use super::kind::{ColumnKind, Form, TimeScale};
use super::texts::Texts;

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Data {
    /// 0, 1, or the smallest `i32` for NA.
    Logical(Vec<i32>),
    /// 32-bit integers; the smallest is NA.
    Int(Vec<i32>),
    /// 64-bit floats; NA is a NaN whose low word is 1954, and every NaN keeps its bits.
    Double(Vec<f64>),
    /// 64-bit integers; the smallest is NA.
    Int64(Vec<i64>),
    /// Bytes.
    Raw(Vec<u8>),
    /// Strings.
    Text(Texts),
    /// Codes from 1 on, the smallest `i32` for NA, and what they stand for.
    Factor {
        /// One for each row.
        codes: Vec<i32>,
        /// One for each code.
        levels: Texts,
    },
}

impl Data {
    /// How many values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Logical(values) | Self::Int(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Raw(values) => values.len(),
            Self::Text(texts) => texts.len(),
            Self::Factor { codes, .. } => codes.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The form that holds such values.
    pub(super) fn form(&self) -> Form {
        match self {
            Self::Logical(_) => Form::Logical,
            Self::Int(_) => Form::Int,
            Self::Double(_) => Form::Double,
            Self::Int64(_) => Form::Int64,
            Self::Raw(_) => Form::Byte,
            Self::Text(_) => Form::Text,
            Self::Factor { .. } => Form::Factor,
        }
    }
}

/// Equal values; doubles by their bits, so that NA is not NaN and each equals itself.
impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Logical(one), Self::Logical(two)) | (Self::Int(one), Self::Int(two)) => {
                one == two
            }
            (Self::Double(one), Self::Double(two)) => {
                let bits =
                    |values: &[f64]| values.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
                one.len() == two.len() && bits(one) == bits(two)
            }
            (Self::Int64(one), Self::Int64(two)) => one == two,
            (Self::Raw(one), Self::Raw(two)) => one == two,
            (Self::Text(one), Self::Text(two)) => one == two,
            (
                Self::Factor { codes, levels },
                Self::Factor {
                    codes: other_codes,
                    levels: other_levels,
                },
            ) => codes == other_codes && levels == other_levels,
            _ => false,
        }
    }
}

/// A column: its name, what it is in R, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; may be empty, and may stand more than once in a table.
    pub name: String,
    /// What it is in R.
    pub kind: ColumnKind,
    /// The unit of times.
    pub scale: TimeScale,
    /// The time zone of a `POSIXct`; None where R's attribute `tzone` is absent.
    pub zone: Option<String>,
    /// Its values.
    pub data: Data,
}

impl Column {
    /// A column without a time zone, of the kind that its values have by themselves.
    ///
    /// # Example
    /// ```
    /// use tare::fst::{Column, ColumnKind, Data};
    ///
    /// let column = Column::new("distance", Data::Double(vec![1089.5]));
    /// assert_eq!(ColumnKind::Double, column.kind);
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, data: Data) -> Self {
        let kind = match data.form() {
            Form::Text => ColumnKind::Character,
            Form::Factor => ColumnKind::Factor,
            Form::Int => ColumnKind::Integer,
            Form::Double => ColumnKind::Double,
            Form::Logical => ColumnKind::Logical,
            Form::Int64 => ColumnKind::Integer64,
            Form::Byte => ColumnKind::Raw,
        };
        Self {
            name: name.into(),
            kind,
            scale: TimeScale::None,
            zone: None,
            data,
        }
    }

    /// The unit that is written: a kind of times without one has that of its class.
    pub(super) fn stored_scale(&self) -> TimeScale {
        match (self.scale, self.kind) {
            (TimeScale::None, ColumnKind::Nanotime) => TimeScale::Nanoseconds,
            (
                TimeScale::None,
                ColumnKind::Difftime
                | ColumnKind::DifftimeInt
                | ColumnKind::Itime
                | ColumnKind::ItimeInt,
            ) => TimeScale::Seconds,
            (scale, _) => scale,
        }
    }
}

/// A table: columns of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns in order.
    pub columns: Vec<Column>,
    /// How many rows; a table without columns has some too.
    pub rows: u64,
    /// The columns by which the rows are sorted, by position, the first sorting first.
    pub keys: Vec<usize>,
}

impl Table {
    /// The first column of a name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}
