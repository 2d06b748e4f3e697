//! What `c` makes: one buffer, typed anew where a value of a higher type comes.

use super::super::double_text::double_text;
use super::super::model::{is_na, Body, Id, NA_INT, NA_REAL};
use super::super::{Builder, Strings, TextEncoding};
use super::lex::Text;
use crate::{Error, ErrorKind, Result};

/// A value of one element that has no node yet.
#[derive(Debug)]
pub(super) enum Scalar<'a> {
    Null,
    Logical(i32),
    Integer(i32),
    Double(f64),
    Complex([f64; 2]),
    Text(Option<Text<'a>>),
}

impl Scalar<'_> {
    pub(super) fn body(self) -> Option<Body> {
        Some(match self {
            Self::Null => return None,
            Self::Logical(value) => Body::Logical(vec![value]),
            Self::Integer(value) => Body::Integer(vec![value]),
            Self::Double(value) => Body::Double(vec![value]),
            Self::Complex(value) => Body::Complex(vec![value]),
            Self::Text(text) => {
                let mut strings = Strings::default();
                push_text(&mut strings, text.as_ref());
                Body::Character(Box::new(strings))
            }
        })
    }
}

pub(super) fn push_text(strings: &mut Strings, text: Option<&Text<'_>>) {
    match text {
        None => strings.push_na(),
        Some(text) => strings.push(text.bytes(), encoding(text).levels()),
    }
}

pub(super) fn encoding(text: &Text<'_>) -> TextEncoding {
    match text {
        Text::Bytes(_) => TextEncoding::Native,
        Text::Plain(text) if text.is_ascii() => TextEncoding::Ascii,
        Text::Escaped(text) if text.is_ascii() => TextEncoding::Ascii,
        Text::Plain(_) | Text::Escaped(_) => TextEncoding::Utf8,
    }
}

/// The elements so far, in R's order of types.
#[derive(Debug, Default)]
pub(super) enum Values {
    #[default]
    None,
    Raw(Vec<u8>),
    Logical(Vec<i32>),
    Integer(Vec<i32>),
    Double(Vec<f64>),
    Complex(Vec<[f64; 2]>),
    Character(Box<Strings>),
    List(Vec<Id>),
}

impl Values {
    /// The values of a body; None for one that `c` does not take.
    pub(super) fn of(body: Body) -> Option<Self> {
        Some(match body {
            Body::Special(super::super::Special::Null) => Self::None,
            Body::Raw(values) => Self::Raw(values),
            Body::Logical(values) => Self::Logical(values),
            Body::Integer(values) => Self::Integer(values),
            Body::Double(values) => Self::Double(values),
            Body::Complex(values) => Self::Complex(values),
            Body::Character(values) => Self::Character(values),
            Body::List(values) => Self::List(values),
            _ => return None,
        })
    }

    pub(super) fn body(self) -> Option<Body> {
        Some(match self {
            Self::None => return None,
            Self::Raw(values) => Body::Raw(values),
            Self::Logical(values) => Body::Logical(values),
            Self::Integer(values) => Body::Integer(values),
            Self::Double(values) => Body::Double(values),
            Self::Complex(values) => Body::Complex(values),
            Self::Character(values) => Body::Character(values),
            Self::List(values) => Body::List(values),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Raw(values) => values.len(),
            Self::Logical(values) | Self::Integer(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Complex(values) => values.len(),
            Self::Character(values) => values.len(),
            Self::List(values) => values.len(),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Raw(_) => 1,
            Self::Logical(_) => 2,
            Self::Integer(_) => 3,
            Self::Double(_) => 4,
            Self::Complex(_) => 5,
            Self::Character(_) => 6,
            Self::List(_) => 7,
        }
    }

    /// One type up, as R does it.
    fn raised(self, build: &mut Builder) -> Result<Self> {
        Ok(match self {
            Self::None => Self::Raw(Vec::new()),
            Self::Raw(values) => Self::Logical(
                values
                    .into_iter()
                    .map(|byte| i32::from(byte != 0))
                    .collect(),
            ),
            Self::Logical(values) => Self::Integer(values),
            Self::Integer(values) => Self::Double(values.into_iter().map(real).collect()),
            Self::Double(values) => Self::Complex(values.into_iter().map(complex).collect()),
            other => Self::List(other.nodes(build)?),
        })
    }

    /// Whether raising changes how elements are printed, so that the type they had is still needed.
    fn tells(&self) -> bool {
        match self {
            Self::Raw(values) => !values.is_empty(),
            Self::Logical(values) | Self::Integer(values) => values.iter().any(|v| *v != NA_INT),
            Self::Double(values) => values.iter().any(|v| !is_na(*v)),
            _ => false,
        }
    }

    /// Raises to a rank.
    fn raise(&mut self, rank: u8, build: &mut Builder) -> Result<()> {
        while self.rank() < rank {
            let now = std::mem::take(self);
            *self = match (now.rank(), rank) {
                (0, _) => empty(rank),
                // What raw bytes become in numbers are their values, not whether they are 0.
                (1, 3..) => match now {
                    Self::Raw(values) => Self::Integer(values.into_iter().map(i32::from).collect()),
                    other => other,
                },
                (_, 6) => Self::Character(Box::new(now.texts())),
                (_, 7) => Self::List(now.nodes(build)?),
                _ => now.raised(build)?,
            };
        }
        Ok(())
    }

    /// As strings, as `as.character` makes them.
    pub(super) fn texts(self) -> Strings {
        let mut strings = Strings::with_capacity(self.len(), 0);
        match self {
            Self::Logical(values) => {
                for value in values {
                    match value {
                        NA_INT => strings.push_na(),
                        0 => strings.push_str("FALSE"),
                        _ => strings.push_str("TRUE"),
                    }
                }
            }
            Self::Integer(values) => {
                let mut place = itoa::Buffer::new();
                for value in values {
                    match value {
                        NA_INT => strings.push_na(),
                        _ => strings.push_str(place.format(value)),
                    }
                }
            }
            Self::Double(values) => {
                for value in values {
                    if is_na(value) {
                        strings.push_na();
                    } else {
                        strings.push_str(&double_text(value, 0, "."));
                    }
                }
            }
            Self::Complex(values) => {
                for [re, im] in values {
                    if is_na(re) || is_na(im) {
                        strings.push_na();
                        continue;
                    }
                    let sign = if im < 0.0 { "" } else { "+" };
                    let (re, im) = (double_text(re, 0, "."), double_text(im, 0, "."));
                    strings.push_str(&format!("{re}{sign}{im}i"));
                }
            }
            Self::Character(values) => return *values,
            Self::Raw(values) => {
                for value in values {
                    strings.push_str(&format!("{value:02x}"));
                }
            }
            Self::None | Self::List(_) => {}
        }
        strings
    }

    /// A node for each element.
    fn nodes(self, build: &mut Builder) -> Result<Vec<Id>> {
        let mut ids = Vec::with_capacity(self.len());
        match self {
            Self::None => {}
            Self::Raw(values) => {
                for value in values {
                    ids.push(build.push(Body::Raw(vec![value]))?);
                }
            }
            Self::Logical(values) => {
                for value in values {
                    ids.push(build.push(Body::Logical(vec![value]))?);
                }
            }
            Self::Integer(values) => {
                for value in values {
                    ids.push(build.push(Body::Integer(vec![value]))?);
                }
            }
            Self::Double(values) => {
                for value in values {
                    ids.push(build.push(Body::Double(vec![value]))?);
                }
            }
            Self::Complex(values) => {
                for value in values {
                    ids.push(build.push(Body::Complex(vec![value]))?);
                }
            }
            Self::Character(values) => {
                for text in values.iter() {
                    let mut one = Strings::default();
                    match text.bytes {
                        Some(bytes) => one.push(bytes, text.levels),
                        None => one.push_na(),
                    }
                    ids.push(build.push(Body::Character(Box::new(one)))?);
                }
            }
            Self::List(values) => ids = values,
        }
        Ok(ids)
    }
}

/// What `c` has so far.
#[derive(Debug, Default)]
pub(super) struct Gather {
    pub(super) values: Values,
    /// Whether elements were of different types, which only those before text may be.
    mixed: bool,
}

impl Gather {
    pub(super) fn of(values: Values) -> Self {
        let mixed = false;
        Self { values, mixed }
    }

    fn raise(&mut self, rank: u8, build: &mut Builder) -> Result<()> {
        let tells = self.values.rank() < rank && self.values.tells();
        if rank >= 6 && self.mixed && self.values.rank() < 6 {
            let text = "numbers of several types and then text in one c(), which is not read";
            return Err(Error::new(ErrorKind::Unsupported, text).with_format("dput"));
        }
        self.mixed |= tells;
        self.values.raise(rank, build)
    }

    /// Adds one element.
    pub(super) fn push(&mut self, scalar: Scalar<'_>, build: &mut Builder) -> Result<()> {
        let rank = match &scalar {
            Scalar::Null => return Ok(()),
            Scalar::Logical(_) => 2,
            Scalar::Integer(_) => 3,
            Scalar::Double(_) => 4,
            Scalar::Complex(_) => 5,
            Scalar::Text(_) => 6,
        };
        if self.values.rank() < rank {
            self.raise(rank, build)?;
        }
        match (&mut self.values, scalar) {
            (Values::Logical(values), Scalar::Logical(value))
            | (Values::Integer(values), Scalar::Integer(value)) => values.push(value),
            (Values::Double(values), Scalar::Double(value)) => values.push(value),
            (Values::Complex(values), Scalar::Complex(value)) => values.push(value),
            (Values::Character(values), Scalar::Text(text)) => push_text(values, text.as_ref()),
            (_, scalar) => {
                let one = scalar.body().and_then(Values::of).unwrap_or_default();
                self.append(one, build)?;
            }
        }
        Ok(())
    }

    /// Adds all elements of others.
    pub(super) fn append(&mut self, mut other: Values, build: &mut Builder) -> Result<()> {
        let rank = self.values.rank().max(other.rank());
        self.raise(rank, build)?;
        self.mixed |= other.rank() < rank && other.tells();
        other.raise(rank, build)?;
        match (&mut self.values, other) {
            (Values::Raw(values), Values::Raw(more)) => values.extend(more),
            (Values::Logical(values), Values::Logical(more))
            | (Values::Integer(values), Values::Integer(more)) => values.extend(more),
            (Values::Double(values), Values::Double(more)) => values.extend(more),
            (Values::Complex(values), Values::Complex(more)) => values.extend(more),
            (Values::List(values), Values::List(more)) => values.extend(more),
            (Values::Character(values), Values::Character(more)) => {
                for text in more.iter() {
                    match text.bytes {
                        Some(bytes) => values.push(bytes, text.levels),
                        None => values.push_na(),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn empty(rank: u8) -> Values {
    match rank {
        0 => Values::None,
        1 => Values::Raw(Vec::new()),
        2 => Values::Logical(Vec::new()),
        3 => Values::Integer(Vec::new()),
        4 => Values::Double(Vec::new()),
        5 => Values::Complex(Vec::new()),
        6 => Values::Character(Box::default()),
        _ => Values::List(Vec::new()),
    }
}

pub(super) fn real(value: i32) -> f64 {
    if value == NA_INT {
        f64::from_bits(NA_REAL)
    } else {
        f64::from(value)
    }
}

fn complex(value: f64) -> [f64; 2] {
    if is_na(value) {
        [value, value]
    } else {
        [value, 0.0]
    }
}
