//! A document into a writer, value by value.

use crate::blit::{Scalar, View, Visitor, WalkOptions, Writer};
use crate::Result;

/// Hands all of a document to a writer.
///
/// # Errors
/// Those of the writer; `Malformed` where the document is not what it says; `Limit`.
pub(super) fn copy(view: &View<'_>, writer: &mut Writer<'static>) -> Result<()> {
    view.walk(&WalkOptions::default(), &mut Copy { view, writer })
}

struct Copy<'w, 'v> {
    view: &'w View<'v>,
    writer: &'w mut Writer<'static>,
}

impl Visitor for Copy<'_, '_> {
    fn scalar(&mut self, value: Scalar<'_>) -> Result<()> {
        match value {
            Scalar::Null => self.writer.null(),
            Scalar::Bool(value) => self.writer.bool(value),
            Scalar::Int(value) => self.writer.int(value),
            Scalar::Uint(value) => self.writer.uint(value),
            Scalar::Float(value) => self.writer.float(value),
            Scalar::NumText(text) => self.writer.number_text(text),
            Scalar::Text(text) => self.writer.wtf8(text.bytes),
            Scalar::Bytes(bytes) => self.writer.bytes(bytes),
        }
    }

    fn begin_array(&mut self, _n: usize) -> Result<()> {
        self.writer.begin_array()
    }

    fn end_array(&mut self) -> Result<()> {
        self.writer.end()
    }

    fn begin_object(&mut self, _most: usize, _shape: usize) -> Result<()> {
        self.writer.begin_object()
    }

    fn key(&mut self, id: usize) -> Result<()> {
        self.writer.key_wtf8(self.view.doc.keys.name(id)?)
    }

    fn end_object(&mut self) -> Result<()> {
        self.writer.end()
    }
}
