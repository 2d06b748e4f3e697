//! Character vectors as Arrow strings, lent where they are stored as UTF-8.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, GenericBinaryArray, GenericStringArray, LargeStringArray,
    OffsetSizeTrait, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use super::super::loss::LossKind;
use super::super::model::Id;
use super::super::strings::{Offsets, Strings, TextEncoding};
use super::super::text::Decoded;
use super::flat::refused;
use super::lent::{self, Part};
use super::to::{Column, To};
use crate::Result;

/// What is said of strings of which nothing tells the encoding.
const UNMARKED: &str = "text without a mark of its encoding that is not UTF-8 (encoding= names it)";
/// From this many bytes on offsets are 64-bit.
const LARGE_BYTES: usize = i32::MAX as usize;

impl To<'_> {
    /// A character vector: lent, recoded, or as bytes where some is no text.
    pub(super) fn texts(&mut self, id: Id, strings: &Strings) -> Result<Column> {
        if self.recoder.stored_as_utf8(strings) {
            if let Some(array) = self.lent_texts(id, strings) {
                return Ok(Column {
                    array,
                    ..Column::default()
                });
            }
        }
        self.decoded(strings)
    }

    fn decoded(&mut self, strings: &Strings) -> Result<Column> {
        let (mut bytes_total, mut recoded, mut no_text) = (0_usize, 0_u64, 0_u64);
        let mut unmarked = false;
        for text in strings.iter() {
            match self.recoder.decode(text) {
                Some(Decoded::Same(text)) => bytes_total = bytes_total.saturating_add(text.len()),
                Some(Decoded::Recoded(text)) => {
                    bytes_total = bytes_total.saturating_add(text.len());
                    recoded = recoded.saturating_add(1);
                }
                Some(Decoded::Bytes(_)) => {
                    no_text = no_text.saturating_add(1);
                    unmarked |= text.encoding() == TextEncoding::Native;
                }
                None => {}
            }
        }
        if no_text > 0 {
            let r = if unmarked {
                UNMARKED
            } else {
                "string that is no text"
            };
            let kept = "all strings as bytes";
            self.losses.add(LossKind::BytesString, r, kept, no_text)?;
            return text_bytes(strings).map(|column| column.of("character"));
        }
        self.losses.add(
            LossKind::EncodingChanged,
            "latin1 or native",
            "UTF-8",
            recoded,
        )?;
        let array: ArrayRef = if bytes_total > LARGE_BYTES {
            Arc::new(self.recoded::<i64>(strings))
        } else {
            Arc::new(self.recoded::<i32>(strings))
        };
        Ok(Column {
            array,
            ..Column::default()
        })
    }

    /// Strings of the conversion's own.
    pub(super) fn own_texts(&mut self, strings: &Strings) -> Result<ArrayRef> {
        Ok(self.decoded(strings)?.array)
    }

    /// The strings where they lie; None where their bytes are not valid.
    fn lent_texts(&self, id: Id, strings: &Strings) -> Option<ArrayRef> {
        let (nulls, bytes) = (self.lent_nulls(id, strings), self.lent(id, Part::Values));
        Some(match strings.offsets() {
            Offsets::Short(ends) => {
                Arc::new(StringArray::try_new(self.ends::<i32>(id, ends.len()), bytes, nulls).ok()?)
            }
            Offsets::Long(ends) => Arc::new(
                LargeStringArray::try_new(self.ends::<i64>(id, ends.len()), bytes, nulls).ok()?,
            ),
        })
    }

    fn recoded<O: OffsetSizeTrait>(&self, strings: &Strings) -> GenericStringArray<O> {
        let recoder = self.recoder;
        let texts = strings.iter().map(|text| recoder.decode(text)?.text());
        texts.collect()
    }

    fn lent(&self, id: Id, part: Part) -> Buffer {
        lent::buffer(self.arena, id, part)
    }

    fn lent_nulls(&self, id: Id, strings: &Strings) -> Option<NullBuffer> {
        strings.validity()?;
        let bits = BooleanBuffer::new(self.lent(id, Part::Validity), 0, strings.len());
        Some(NullBuffer::new(bits))
    }

    /// Offsets, which `Strings` keeps ascending from 0 on.
    fn ends<O: OffsetSizeTrait>(&self, id: Id, length: usize) -> OffsetBuffer<O> {
        OffsetBuffer::new(ScalarBuffer::new(self.lent(id, Part::Ends), 0, length))
    }
}

/// The stored bytes of all strings.
fn text_bytes(strings: &Strings) -> Result<Column> {
    let nulls = strings.validity().map(|bits| {
        let bits = BooleanBuffer::new(Buffer::from(bits), 0, strings.len());
        NullBuffer::new(bits)
    });
    let bytes = Buffer::from(strings.bytes());
    let array: ArrayRef = match strings.offsets() {
        Offsets::Short(ends) => {
            let ends = OffsetBuffer::new(ScalarBuffer::from(ends.to_vec()));
            let array = BinaryArray::try_new(ends, bytes, nulls);
            Arc::new(array.map_err(|error| refused(&error))?)
        }
        Offsets::Long(ends) => {
            let ends = OffsetBuffer::new(ScalarBuffer::from(ends.to_vec()));
            let array = GenericBinaryArray::<i64>::try_new(ends, bytes, nulls);
            Arc::new(array.map_err(|error| refused(&error))?)
        }
    };
    Ok(Column {
        array,
        ..Column::default()
    })
}
