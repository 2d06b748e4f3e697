//! A column of texts.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use super::internal;
use crate::blit::{cut, escape, plain_end, wrong};
use crate::{Error, ErrorKind, Result};

/// Bytes of all texts, where each ends, and which are null.
#[derive(Debug)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
    valid: NullBufferBuilder,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            offsets: vec![0],
            valid: NullBufferBuilder::new(0),
        }
    }

    /// Takes the text behind a quote; gives where the line goes on behind the one that ends it.
    #[inline]
    pub(super) fn take(&mut self, text: &[u8], at: usize) -> Result<usize> {
        let after = append(&mut self.bytes, text, at)?;
        self.offsets.push(offset(self.bytes.len())?);
        self.valid.append_non_null();
        Ok(after)
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.offsets.push(offset(self.bytes.len())?);
        self.valid.append_null();
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let mut room = Vec::with_capacity(self.offsets.len());
        room.push(0);
        let offsets = std::mem::replace(&mut self.offsets, room);
        let room = Vec::with_capacity(self.bytes.len());
        let bytes = std::mem::replace(&mut self.bytes, room);
        let array = StringArray::try_new(
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            Buffer::from_vec(bytes),
            self.valid.finish(),
        );
        Ok(Arc::new(array.map_err(|error| internal(&error))?))
    }
}

/// Appends what a string stands for; gives where the text goes on behind its last quote.
///
/// # Errors
/// `Malformed` or `Truncated`: no string, no UTF-8, or half of a surrogate pair.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, text: &[u8], start: usize) -> Result<usize> {
    let (end, high) = plain_end(text, start);
    let run = text.get(start..end).unwrap_or_default();
    if text.get(end) != Some(&b'"') {
        return escaped(out, text, start);
    }
    if high {
        check(run, start)?;
    }
    out.extend_from_slice(run);
    Ok(end.wrapping_add(1))
}

/// A string with escapes, or one that does not end.
#[inline(never)]
fn escaped(out: &mut Vec<u8>, text: &[u8], start: usize) -> Result<usize> {
    let from = out.len();
    let mut halves = false;
    let mut at = start;
    let last = loop {
        let (end, _) = plain_end(text, at);
        let run = text.get(at..end).unwrap_or_default();
        check(run, at)?;
        out.extend_from_slice(run);
        at = match text.get(end) {
            Some(b'"') => break end,
            Some(b'\\') => escape(text, end, out, from, &mut halves)?,
            Some(_) => return Err(wrong("a control character in a string", end)),
            None => return Err(cut(text.len())),
        };
    };
    let made = out.get(from..).unwrap_or_default();
    if halves && std::str::from_utf8(made).is_err() {
        return Err(wrong("half of a surrogate pair, which is no text", start));
    }
    Ok(last.wrapping_add(1))
}

fn check(run: &[u8], at: usize) -> Result<()> {
    match std::str::from_utf8(run) {
        Ok(_) => Ok(()),
        Err(error) => {
            let at = at.saturating_add(error.valid_up_to());
            Err(wrong("bytes that are not UTF-8", at))
        }
    }
}

/// A place in a column as Arrow has it.
///
/// # Errors
/// `Limit`.
#[inline]
pub(super) fn offset(place: usize) -> Result<i32> {
    i32::try_from(place).map_err(|_| full())
}

#[cold]
fn full() -> Error {
    let text = "a column of 2^31 bytes of text or values of lists in one block of lines; read smaller blocks";
    Error::new(ErrorKind::Limit, text).with_format("ndjson")
}
