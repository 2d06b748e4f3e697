//! Memory of an arena as Arrow buffers, without a copy.

use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use bytes::Bytes;

use super::super::model::{is_na, Arena, Body, Id, NA_INT};
use super::super::strings::Offsets;

/// A part of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Numbers or bytes; the bytes of strings.
    Values,
    /// Where strings end.
    Ends,
    /// Which strings are there.
    Validity,
}

/// A part of a vector of an arena, which it keeps alive.
struct Held {
    arena: Arc<Arena>,
    id: Id,
    part: Part,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        let Ok(body) = self.arena.data(self.id, None) else {
            return &[];
        };
        match (body, self.part) {
            (Body::Logical(values) | Body::Integer(values), _) => bytemuck::cast_slice(values),
            (Body::Double(values), _) => bytemuck::cast_slice(values),
            (Body::Complex(values), _) => bytemuck::cast_slice(values),
            (Body::Raw(values), _) => values,
            (Body::Character(strings), Part::Values) => strings.bytes(),
            (Body::Character(strings), Part::Ends) => match strings.offsets() {
                Offsets::Short(ends) => bytemuck::cast_slice(ends),
                Offsets::Long(ends) => bytemuck::cast_slice(ends),
            },
            (Body::Character(strings), Part::Validity) => strings.validity().unwrap_or_default(),
            _ => &[],
        }
    }
}

/// A part of a vector, lent for as long as the buffer lives; a deferred one was made before.
pub fn buffer(arena: &Arc<Arena>, id: Id, part: Part) -> Buffer {
    let held = Held {
        arena: Arc::clone(arena),
        id,
        part,
    };
    if held.as_ref().is_empty() {
        return Buffer::from_vec(Vec::<u64>::new()); // aligned for any type
    }
    Buffer::from(Bytes::from_owner(held))
}

/// The values of a vector, lent.
pub fn values<T: ArrowNativeType>(arena: &Arc<Arena>, id: Id) -> ScalarBuffer<T> {
    let buffer = buffer(arena, id, Part::Values);
    let length = buffer.len().checked_div(size_of::<T>()).unwrap_or(0);
    ScalarBuffer::new(buffer, 0, length)
}

/// Which integers are not NA; None where none is.
pub fn present_integers(values: &[i32]) -> Option<NullBuffer> {
    present(values, |value| value == NA_INT)
}

/// Which doubles are not NA.
pub fn present_doubles(values: &[f64]) -> Option<NullBuffer> {
    present(values, is_na)
}

/// Which values are not missing; None where none is, found without making a bitmap.
pub fn present<T: Copy>(values: &[T], missing: impl Fn(T) -> bool) -> Option<NullBuffer> {
    // Folds of a chunk are free of branches, which lets them be vectors.
    let any = values
        .chunks(4096)
        .any(|chunk| chunk.iter().fold(false, |any, value| any | missing(*value)));
    if !any {
        return None;
    }
    let bits = BooleanBuffer::collect_bool(values.len(), |at| {
        values.get(at).is_some_and(|value| !missing(*value))
    });
    Some(NullBuffer::new(bits))
}
