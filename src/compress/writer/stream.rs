//! A stream that cannot be cut into chunks, encoded on the calling thread.

use std::io::Write;

use super::sink::Sink;
use crate::compress::chunked::Stop;
use crate::compress::container::StreamEncoder;
use crate::Result;

/// Plain bytes that an encoder is given at once: always as many, because what some libraries
/// write depends on how their input is cut.
const PART_BYTES: usize = 128 << 10;

/// An encoder, and the part of its input that is not full yet.
pub(super) struct Stream {
    encoder: Box<dyn StreamEncoder>,
    part: Vec<u8>,
    stored: Vec<u8>,
}

impl Stream {
    pub(super) fn new(encoder: Box<dyn StreamEncoder>) -> Self {
        Self {
            encoder,
            part: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// Bytes that buffers take.
    pub(super) fn buffer_bytes(&self) -> usize {
        let part = self.part.capacity();
        part.saturating_add(self.stored.capacity())
    }

    pub(super) fn take<W: Write>(
        &mut self,
        plain: &[u8],
        sink: &mut Sink<W>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let mut rest = plain;
        while !rest.is_empty() {
            if self.part.is_empty() {
                if let Some((whole, later)) = rest.split_at_checked(PART_BYTES) {
                    self.encode(whole, sink, stop)?;
                    rest = later;
                    continue;
                }
            }
            let room = PART_BYTES.saturating_sub(self.part.len());
            let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.part.extend_from_slice(now);
            rest = later;
            if self.part.len() == PART_BYTES {
                self.encode_part(sink, stop)?;
            }
        }
        Ok(())
    }

    /// Lets a reader have everything so far.
    pub(super) fn flush<W: Write>(&mut self, sink: &mut Sink<W>, stop: &Stop<'_>) -> Result<()> {
        self.encode_part(sink, stop)?;
        self.encoder.flush(&mut self.stored, stop)?;
        self.write(sink)
    }

    pub(super) fn end<W: Write>(&mut self, sink: &mut Sink<W>, stop: &Stop<'_>) -> Result<()> {
        self.encode_part(sink, stop)?;
        self.encoder.finish(&mut self.stored, stop)?;
        self.write(sink)
    }

    fn encode_part<W: Write>(&mut self, sink: &mut Sink<W>, stop: &Stop<'_>) -> Result<()> {
        let mut part = std::mem::take(&mut self.part);
        let result = self.encode(&part, sink, stop);
        part.clear();
        self.part = part;
        result
    }

    fn encode<W: Write>(&mut self, part: &[u8], sink: &mut Sink<W>, stop: &Stop<'_>) -> Result<()> {
        self.encoder.write(part, &mut self.stored, stop)?;
        self.write(sink)
    }

    fn write<W: Write>(&mut self, sink: &mut Sink<W>) -> Result<()> {
        let result = sink.write(&self.stored, 0);
        self.stored.clear();
        result
    }
}
