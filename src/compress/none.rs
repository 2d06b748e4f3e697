//! No compression: the bytes themselves.

use std::sync::Arc;

use super::chunked::Stop;
use super::container::{Make, Step, StreamEncoder, Unit, UnitDecoder, Walker};
use super::input::Input;
use super::output::Output;
use super::{Completeness, ReadOptions};
use crate::Result;

/// Passes on what it is given.
struct Copy;

pub(super) fn stream() -> Box<dyn StreamEncoder> {
    Box::new(Copy)
}

impl StreamEncoder for Copy {
    fn write(&mut self, plain: &[u8], stored: &mut Vec<u8>, stop: &Stop<'_>) -> Result<()> {
        stop.check()?;
        stored.extend_from_slice(plain);
        Ok(())
    }

    fn flush(&mut self, _stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, _stored: &mut Vec<u8>, _stop: &Stop<'_>) -> Result<()> {
        Ok(())
    }
}

/// One buffer is its own content.
pub(super) fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    output.copy(data, 0)
}

/// A stream that is one part without an end of its own.
#[derive(Default)]
pub(super) struct Walk {
    ended: bool,
}

impl Walk {
    pub(super) fn new(_options: &ReadOptions) -> Self {
        Self::default()
    }
}

impl Walker for Walk {
    fn decoder(&self) -> Arc<Make<dyn UnitDecoder>> {
        Arc::new(|| Ok(Box::new(Copy)))
    }

    fn step(&mut self, _input: &mut dyn Input) -> Result<Step> {
        Ok(if self.ended { Step::End } else { Step::Serial })
    }

    fn serial(&mut self, input: &mut dyn Input, into: &mut [u8]) -> Result<usize> {
        let held = input.some()?;
        let size = held.len().min(into.len());
        if let (Some(from), Some(to)) = (held.get(..size), into.get_mut(..size)) {
            to.copy_from_slice(from);
        }
        input.advance(size);
        self.ended = size == 0;
        Ok(size)
    }

    fn delivered(&mut self, _unit: &Unit, _plain: &[u8]) -> Result<()> {
        Ok(())
    }

    fn completeness(&self) -> Completeness {
        Completeness::Unproven
    }
}

impl UnitDecoder for Copy {
    fn decode(&mut self, _unit: &Unit, stored: &[u8], plain: &mut Vec<u8>) -> Result<()> {
        plain.extend_from_slice(stored);
        Ok(())
    }
}
