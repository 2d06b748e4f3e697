//! The data of vectors: numbers, by byte planes where the file says so, and strings.

use super::super::account::Account;
use super::super::plain::Plain;
use super::super::shuffle::{unshuffle_4, unshuffle_8};
use super::super::texts;
use super::super::{Strings, TextEncoding};
use crate::{ErrorKind, Result};

/// Vectors of fewer bytes are read whole before their planes are turned.
const SMALL: u64 = 8 << 20;

/// Integers or logicals.
pub(super) fn integers(plain: &mut Plain<'_>, count: u64, shuffled: bool) -> Result<Vec<i32>> {
    let bytes = count.saturating_mul(4);
    if !shuffled || bytes <= 4 {
        return plain.elements(count, i32::from_le_bytes);
    }
    if bytes > SMALL {
        let values = planes(plain, count, 4)?;
        let low = |value: u64| {
            let [a, b, c, d, ..] = value.to_le_bytes();
            i32::from_le_bytes([a, b, c, d])
        };
        return Ok(values.into_iter().map(low).collect());
    }
    let turned = turned(plain, bytes, unshuffle_4)?;
    Ok(elements(&turned, i32::from_le_bytes))
}

/// Doubles.
pub(super) fn doubles(plain: &mut Plain<'_>, count: u64, shuffled: bool) -> Result<Vec<f64>> {
    let bytes = count.saturating_mul(8);
    if !shuffled || bytes <= 4 {
        return plain.elements(count, f64::from_le_bytes);
    }
    if bytes > SMALL {
        let values = planes(plain, count, 8)?;
        return Ok(values.into_iter().map(f64::from_bits).collect());
    }
    let turned = turned(plain, bytes, unshuffle_8)?;
    Ok(elements(&turned, f64::from_le_bytes))
}

/// Pairs of doubles.
pub(super) fn complex(plain: &mut Plain<'_>, count: u64, shuffled: bool) -> Result<Vec<[f64; 2]>> {
    if !shuffled {
        return plain.elements(count, |bytes: [u8; 16]| {
            let both = u128::from_le_bytes(bytes);
            [both, both >> 64].map(half)
        });
    }
    let doubles = doubles(plain, count.saturating_mul(2), true)?;
    let pairs = doubles.chunks_exact(2);
    let pair = |pair: &[f64]| pair.first_chunk().copied().unwrap_or_default();
    Ok(pairs.map(pair).collect())
}

fn half(both: u128) -> f64 {
    let [low @ .., _, _, _, _, _, _, _, _] = both.to_le_bytes();
    f64::from_le_bytes(low)
}

fn elements<const N: usize, T>(bytes: &[u8], element: impl Fn([u8; N]) -> T) -> Vec<T> {
    let arrays = bytes.chunks_exact(N);
    let array = |bytes: &[u8]| bytes.first_chunk().copied().unwrap_or([0; N]);
    arrays.map(|bytes| element(array(bytes))).collect()
}

/// All bytes of a vector, turned from planes to elements.
fn turned(plain: &mut Plain<'_>, bytes: u64, turn: impl Fn(&[u8], &mut [u8])) -> Result<Vec<u8>> {
    let planes = plain.elements(bytes, |[byte]: [u8; 1]| byte)?;
    let mut turned = vec![0; planes.len()];
    turn(&planes, &mut turned);
    Ok(turned)
}

/// A long vector, plane by plane: no second place for all its bytes.
fn planes(plain: &mut Plain<'_>, count: u64, width: u32) -> Result<Vec<u64>> {
    plain.expect(count.saturating_mul(u64::from(width)))?;
    let mut values: Vec<u64> = Vec::new();
    plain.runs(count, |run| {
        values.extend(run.iter().map(|b| u64::from(*b)));
    })?;
    for plane in 1..width {
        let mut rest = values.as_mut_slice();
        let shift = plane.saturating_mul(8);
        plain.runs(count, |run| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(run.len());
            for (value, byte) in now.iter_mut().zip(run) {
                *value |= u64::from(*byte).wrapping_shl(shift);
            }
            rest = later;
        })?;
    }
    Ok(values)
}

/// The header of a string: its length, None for NA, and how it is marked.
pub(super) fn text_head(plain: &mut Plain<'_>) -> Result<(Option<u64>, TextEncoding)> {
    let byte = plain.byte()?;
    let encoding = encoding(byte);
    let length = match byte & 0x3F {
        short @ 0x20..=0x3F => u64::from(short & 0x1F),
        0x01 => u64::from(plain.byte()?),
        0x02 => u64::from(u16::from_le_bytes(plain.array()?)),
        0x03 => u64::from(u32::from_le_bytes(plain.array()?)),
        0x0F => return Ok((None, encoding)),
        _ => {
            let text = format!("{byte:#04X}, which begins no string");
            return Err(plain.error(ErrorKind::Malformed, text));
        }
    };
    Ok((Some(length), encoding))
}

/// A string into `text`; None for NA.
pub(super) fn text(plain: &mut Plain<'_>, text: &mut Vec<u8>) -> Result<Option<TextEncoding>> {
    let (length, encoding) = text_head(plain)?;
    let Some(length) = length else {
        return Ok(None);
    };
    plain.expect(length)?;
    text.clear();
    plain.runs(length, |run| text.extend_from_slice(run))?;
    Ok(Some(mark(text, encoding)))
}

/// The first two bits of a string's head.
fn encoding(head: u8) -> TextEncoding {
    match head >> 6 {
        0 => TextEncoding::Native,
        1 => TextEncoding::Utf8,
        2 => TextEncoding::Latin1,
        _ => TextEncoding::Bytes,
    }
}

/// R marks no ASCII string otherwise.
fn mark(text: &[u8], encoding: TextEncoding) -> TextEncoding {
    if text.is_ascii() {
        TextEncoding::Ascii
    } else {
        encoding
    }
}

/// `count` strings.
pub(super) fn texts(plain: &mut Plain<'_>, count: u64, account: &mut Account) -> Result<Strings> {
    let mut place = Vec::new();
    texts::read(plain, count, account, whole, |plain, strings| {
        match text(plain, &mut place)? {
            Some(encoding) => strings.push(&place, encoding.levels()),
            None => strings.push_na(),
        }
        Ok(())
    })
}

/// Takes the short strings that lie whole in `run`, `most` at most; how many, and their bytes.
fn whole(run: &[u8], most: u64, strings: &mut Strings) -> (u64, usize) {
    let mut rest = run;
    let mut taken = 0_u64;
    while taken < most {
        let Some((first, behind)) = rest.split_first() else {
            break;
        };
        if *first & 0x20 != 0 {
            let Some((text, behind)) = behind.split_at_checked(usize::from(*first & 0x1F)) else {
                break;
            };
            let encoding = encoding(*first);
            strings.push(text, mark(text, encoding).levels());
            rest = behind;
        } else if *first & 0x3F == 0x0F {
            strings.push_na();
            rest = behind;
        } else {
            break;
        }
        taken = taken.saturating_add(1);
    }
    (taken, run.len().saturating_sub(rest.len()))
}
