//! What stands in front of a value: prefixes, its type and its length.

use super::super::plain::Plain;
use crate::{ErrorKind, Result};

/// What a type byte, or two, begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Null,
    List(u64),
    Double(u64),
    Integer(u64),
    Logical(u64),
    Character(u64),
    /// Pairs of doubles.
    Complex(u64),
    Raw(u64),
    Symbol,
    /// An R serialization of so many bytes.
    Embedded(u64),
    S4,
    /// Cells, with flags each or without.
    Pairlist {
        count: u32,
        flagged: bool,
    },
    /// A single cell: its type in R's serialization, with flags in front or without.
    Cell {
        code: u8,
        flagged: bool,
    },
    Environment {
        locked: bool,
        number: u32,
    },
    Reference(u32),
}

/// What is told of a value before its own bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) class: Class,
    pub(super) attributes: u32,
    /// Whether R's S4 bit is set, of a value that need not be an S4 object.
    pub(super) s4: bool,
}

/// Reads what stands in front of a value.
pub(super) fn head(plain: &mut Plain<'_>) -> Result<Head> {
    let (mut attributes, mut s4) = (None, false);
    loop {
        let byte = plain.byte()?;
        let count = match byte {
            0xE0..=0xFF => u32::from(byte & 0x1F),
            0x1E => u32::from(plain.byte()?),
            0x1F => u32::from_le_bytes(plain.array()?),
            0x1C => {
                let second = plain.byte()?;
                if second == 2 && !s4 {
                    s4 = true;
                    continue;
                }
                let class = extended(plain, second)?;
                let attributes = attributes.unwrap_or_default();
                return Ok(Head {
                    class,
                    attributes,
                    s4,
                });
            }
            _ => {
                let class = class(plain, byte)?;
                let attributes = attributes.unwrap_or_default();
                return Ok(Head {
                    class,
                    attributes,
                    s4,
                });
            }
        };
        if attributes.replace(count).is_some() {
            return Err(plain.error(ErrorKind::Malformed, "two counts of attributes"));
        }
    }
}

fn u32_of(plain: &mut Plain<'_>) -> Result<u32> {
    Ok(u32::from_le_bytes(plain.array()?))
}

fn u64_of(plain: &mut Plain<'_>) -> Result<u64> {
    Ok(u64::from_le_bytes(plain.array()?))
}

/// A length that the low bits of a type byte say how to read.
fn length(plain: &mut Plain<'_>, width: u8) -> Result<u64> {
    match width {
        0 => Ok(u64::from(plain.byte()?)),
        1 => Ok(u64::from(u16::from_le_bytes(plain.array()?))),
        2 => Ok(u64::from(u32_of(plain)?)),
        _ => u64_of(plain),
    }
}

fn class(plain: &mut Plain<'_>, byte: u8) -> Result<Class> {
    let short = u64::from(byte & 0x1F);
    Ok(match byte {
        0x00 => Class::Null,
        0x20..=0x3F => Class::List(short),
        0x40..=0x5F => Class::Double(short),
        0x60..=0x7F => Class::Integer(short),
        0x80..=0x9F => Class::Logical(short),
        0xA0..=0xBF => Class::Character(short),
        0x01..=0x04 => Class::List(length(plain, byte.wrapping_sub(0x01))?),
        0x05..=0x08 => Class::Double(length(plain, byte.wrapping_sub(0x05))?),
        0x09..=0x0C => Class::Integer(length(plain, byte.wrapping_sub(0x09))?),
        0x0D..=0x10 => Class::Logical(length(plain, byte.wrapping_sub(0x0D))?),
        0x11..=0x14 => Class::Character(length(plain, byte.wrapping_sub(0x11))?),
        0x15 => Class::Complex(u64::from(u32_of(plain)?)),
        0x16 => Class::Complex(u64_of(plain)?),
        0x17 => Class::Raw(u64::from(u32_of(plain)?)),
        0x18 => Class::Raw(u64_of(plain)?),
        0x19 => Class::Embedded(u64::from(u32_of(plain)?)),
        0x1A => Class::Embedded(u64_of(plain)?),
        0x1D => Class::Symbol,
        _ => {
            let text = format!("type byte {byte:#04X}, which begins no value");
            return Err(plain.error(ErrorKind::Malformed, text));
        }
    })
}

/// What stands behind `1C`.
fn extended(plain: &mut Plain<'_>, byte: u8) -> Result<Class> {
    let cell = |code, flagged| Class::Cell { code, flagged };
    Ok(match byte {
        0x01 => Class::S4,
        0x03 | 0x11 => Class::Pairlist {
            count: u32_of(plain)?,
            flagged: byte == 0x11,
        },
        0x04 | 0x12 => cell(6, byte == 0x12),
        0x05 | 0x13 => cell(3, byte == 0x13),
        0x06 | 0x14 => cell(5, byte == 0x14),
        0x07 | 0x15 => cell(17, byte == 0x15),
        0x08 | 0x09 => Class::Environment {
            locked: byte == 0x09,
            number: u32_of(plain)?,
        },
        0x10 => Class::Reference(u32_of(plain)?),
        _ => {
            let text = format!("type bytes 0x1C {byte:#04X}, which begin no value");
            return Err(plain.error(ErrorKind::Malformed, text));
        }
    })
}
