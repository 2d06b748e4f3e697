//! Strings: a length byte below 253, `FD` and two bytes, `FE` and four, or `FF` for NA.

use super::super::account::Account;
use super::super::plain::Plain;
use super::super::texts;
use super::super::{Strings, TextEncoding};
use crate::{ErrorKind, Result};

/// A string that is no NA, into `text`.
pub(super) fn name(plain: &mut Plain<'_>, text: &mut Vec<u8>) -> Result<()> {
    let Some(length) = length(plain)? else {
        return Err(plain.error(ErrorKind::Malformed, "an attribute named NA"));
    };
    bytes(plain, length, text)
}

/// `count` strings.
pub(super) fn vector(plain: &mut Plain<'_>, count: u64, account: &mut Account) -> Result<Strings> {
    let mut text = Vec::new();
    texts::read(plain, count, account, whole, |plain, strings| {
        match length(plain)? {
            None => strings.push_na(),
            Some(length) => {
                bytes(plain, length, &mut text)?;
                strings.push(&text, TextEncoding::guess(&text).levels());
            }
        }
        Ok(())
    })
}

/// The length in front of a string; None for NA.
fn length(plain: &mut Plain<'_>) -> Result<Option<u64>> {
    Ok(match plain.byte()? {
        0xFF => None,
        0xFE => Some(u64::from(u32::from_le_bytes(plain.array()?))),
        0xFD => Some(u64::from(u16::from_le_bytes(plain.array()?))),
        length => Some(u64::from(length)),
    })
}

fn bytes(plain: &mut Plain<'_>, length: u64, text: &mut Vec<u8>) -> Result<()> {
    plain.expect(length)?;
    text.clear();
    plain.runs(length, |run| text.extend_from_slice(run))
}

/// Takes the strings that lie whole in `run`, `most` at most; how many, and their bytes.
fn whole(run: &[u8], most: u64, strings: &mut Strings) -> (u64, usize) {
    let mut rest = run;
    let mut taken = 0_u64;
    while taken < most {
        let (used, count) = strings.take_short(rest, most.saturating_sub(taken));
        rest = rest.get(used..).unwrap_or_default();
        taken = taken.saturating_add(count);
        if taken >= most {
            break;
        }
        let Some((text, behind)) = one(rest) else {
            break;
        };
        match text {
            Some(text) => strings.push(text, TextEncoding::guess(text).levels()),
            None => strings.push_na(),
        }
        rest = behind;
        taken = taken.saturating_add(1);
    }
    (taken, run.len().saturating_sub(rest.len()))
}

/// The first string of `run`, None inside for NA; what is behind it.
#[inline]
fn one(run: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (first, rest) = run.split_first()?;
    let (length, rest) = match *first {
        0xFF => return Some((None, rest)),
        0xFE => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        0xFD => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        length => (usize::from(length), rest),
    };
    let (text, rest) = rest.split_at_checked(length)?;
    Some((Some(text), rest))
}
