//! What a column holds: the codes of a file and their meaning.

/// What a column is in R: the attribute code of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum ColumnKind {
    /// Strings.
    Character = 2,
    /// Codes with levels.
    Factor = 3,
    /// Codes with levels in an order.
    Ordered = 4,
    /// 32-bit integers.
    Integer = 5,
    /// `POSIXct` on integers.
    PosixctInt = 6,
    /// `difftime` on integers.
    DifftimeInt = 7,
    /// `IDate`: `Date` on integers.
    DateInt = 8,
    /// `ITime` on integers.
    ItimeInt = 9,
    /// 64-bit floats.
    Double = 10,
    /// `Date`.
    Date = 11,
    /// `POSIXct`.
    Posixct = 12,
    /// `difftime`.
    Difftime = 13,
    /// `ITime` on floats.
    Itime = 14,
    /// TRUE, FALSE and NA.
    Logical = 15,
    /// `integer64` of package bit64.
    Integer64 = 16,
    /// `nanotime`: nanoseconds since 1970 in 64 bits.
    Nanotime = 17,
    /// Bytes.
    Raw = 18,
}

/// How the values of a column are laid out: the column type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Form {
    Text = 6,
    Factor = 7,
    Int = 8,
    Double = 9,
    Logical = 10,
    Int64 = 11,
    Byte = 12,
}

impl ColumnKind {
    /// Every kind.
    pub const ALL: [Self; 17] = [
        Self::Character,
        Self::Factor,
        Self::Ordered,
        Self::Integer,
        Self::PosixctInt,
        Self::DifftimeInt,
        Self::DateInt,
        Self::ItimeInt,
        Self::Double,
        Self::Date,
        Self::Posixct,
        Self::Difftime,
        Self::Itime,
        Self::Logical,
        Self::Integer64,
        Self::Nanotime,
        Self::Raw,
    ];

    /// Its code in a file.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The kind of a code.
    #[must_use]
    pub fn of(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// R's classes of such a column; empty where R gives it none.
    #[must_use]
    pub const fn classes(self) -> &'static [&'static str] {
        match self {
            Self::Factor => &["factor"],
            Self::Ordered => &["ordered", "factor"],
            Self::PosixctInt | Self::Posixct => &["POSIXct", "POSIXt"],
            Self::DifftimeInt | Self::Difftime => &["difftime"],
            Self::DateInt => &["IDate", "Date"],
            Self::Date => &["Date"],
            Self::ItimeInt | Self::Itime => &["ITime"],
            Self::Integer64 => &["integer64"],
            Self::Nanotime => &["nanotime"],
            Self::Character | Self::Integer | Self::Double | Self::Logical | Self::Raw => &[],
        }
    }

    /// What `typeof` says of it in R.
    #[must_use]
    pub const fn type_name(self) -> &'static str {
        match self.form() {
            Form::Text => "character",
            Form::Factor | Form::Int => "integer",
            Form::Double | Form::Int64 => "double",
            Form::Logical => "logical",
            Form::Byte => "raw",
        }
    }

    /// How its values are laid out.
    pub(super) const fn form(self) -> Form {
        match self {
            Self::Character => Form::Text,
            Self::Factor | Self::Ordered => Form::Factor,
            Self::Integer
            | Self::PosixctInt
            | Self::DifftimeInt
            | Self::DateInt
            | Self::ItimeInt => Form::Int,
            Self::Double | Self::Date | Self::Posixct | Self::Difftime | Self::Itime => {
                Form::Double
            }
            Self::Logical => Form::Logical,
            Self::Integer64 | Self::Nanotime => Form::Int64,
            Self::Raw => Form::Byte,
        }
    }

    /// Whether a time zone may stand with it.
    #[must_use]
    pub const fn has_zone(self) -> bool {
        matches!(self, Self::PosixctInt | Self::Posixct)
    }
}

impl Form {
    /// The column type of a file.
    pub(super) const fn code(self) -> u16 {
        self as u16
    }

    /// The base type of a file.
    pub(super) const fn base(self) -> u16 {
        self.code().wrapping_sub(4)
    }

    /// Bytes of a number; of a code for factors, 0 for strings.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Text => 0,
            Self::Factor | Self::Int | Self::Logical => 4,
            Self::Double | Self::Int64 => 8,
            Self::Byte => 1,
        }
    }

    /// Numbers in a block: 16 KiB of them.
    pub(super) const fn per_block(self) -> usize {
        match self {
            Self::Text => 2047,
            Self::Factor | Self::Int | Self::Logical => 4096,
            Self::Double | Self::Int64 => 2048,
            Self::Byte => 16_384,
        }
    }
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum TimeScale {
    /// No unit: not a time, or one whose class says it.
    #[default]
    None = 0,
    /// Nanoseconds.
    Nanoseconds = 1,
    /// Microseconds.
    Microseconds = 2,
    /// Milliseconds.
    Milliseconds = 3,
    /// Seconds.
    Seconds = 4,
    /// Minutes.
    Minutes = 5,
    /// Hours.
    Hours = 6,
    /// Days.
    Days = 7,
}

impl TimeScale {
    const ALL: [Self; 8] = [
        Self::None,
        Self::Nanoseconds,
        Self::Microseconds,
        Self::Milliseconds,
        Self::Seconds,
        Self::Minutes,
        Self::Hours,
        Self::Days,
    ];

    /// Its code in a file.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The scale of a code.
    #[must_use]
    pub fn of(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|scale| scale.code() == code)
    }

    /// R's word for it in the attribute `units` of a `difftime`, where R has one.
    #[must_use]
    pub const fn units(self) -> Option<&'static str> {
        match self {
            Self::Seconds => Some("secs"),
            Self::Minutes => Some("mins"),
            Self::Hours => Some("hours"),
            Self::Days => Some("days"),
            Self::None | Self::Nanoseconds | Self::Microseconds | Self::Milliseconds => None,
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::indexing_slicing,
    reason = "a test stops at once"
)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_layout() {
        let codes: Vec<_> = ColumnKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!((2..=18).collect::<Vec<u16>>(), codes);
        for kind in ColumnKind::ALL {
            assert_eq!(Some(kind), ColumnKind::of(kind.code()));
            assert_eq!(kind.form().code() - 4, kind.form().base());
        }
        assert_eq!(None, ColumnKind::of(1));
        assert_eq!(None, ColumnKind::of(19));
        assert_eq!(Some(TimeScale::Days), TimeScale::of(7));
        assert_eq!(None, TimeScale::of(8));
    }
}
