//! The numbers that columns hold.

use super::codec::Packing;
use super::packing::{unpack_bytes, unpack_logicals, unpack_shorts};
use super::shuffle::{unshuffle4, unshuffle8};

/// A number of a column, in little-endian order in a file.
pub(super) trait Element: Copy + Default + Send + Sync + 'static {
    /// Bytes of one.
    const SIZE: usize;
    /// From its first `SIZE` bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Its bytes, appended.
    fn store(self, into: &mut Vec<u8>);
    /// As many as `into` has place for; the caller has checked that the packing fits the form.
    fn unpack(packing: Packing, bytes: &[u8], into: &mut [Self]);
}

macro_rules! element {
    ($kind:ty, $($packing:ident => $unpack:path),*) => {
        impl Element for $kind {
            const SIZE: usize = size_of::<$kind>();

            #[inline]
            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().copied().map_or(Self::default(), Self::from_le_bytes)
            }

            #[inline]
            fn store(self, into: &mut Vec<u8>) {
                into.extend_from_slice(&self.to_le_bytes());
            }

            fn unpack(packing: Packing, bytes: &[u8], into: &mut [Self]) {
                match packing {
                    $(Packing::$packing => $unpack(bytes, into),)*
                    _ => load(bytes, into),
                }
            }
        }
    };
}

element!(u8,);
element!(i32, Sh4 => unshuffle4, Logical => unpack_logicals, Byte => unpack_bytes, Short => unpack_shorts);
element!(i64, Sh8 => unshuffle8);
element!(f64, Sh8 => unshuffle8);

/// Numbers in the plain order of their bytes.
pub(super) fn load<T: Element>(bytes: &[u8], into: &mut [T]) {
    for (value, bytes) in into.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
        *value = T::load(bytes);
    }
}
