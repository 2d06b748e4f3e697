//! The numbers that columns hold.

use super::codec::Packing;
use super::packing::{
    largest, pack_bytes, pack_logicals, pack_shorts, unpack_bytes, unpack_logicals, unpack_shorts,
};
use super::shuffle::{shuffle4, shuffle8, unshuffle4, unshuffle8};

/// A number of a column, in little-endian order in a file.
pub(super) trait Element: Copy + Default + Send + Sync + 'static {
    /// Bytes of one.
    const SIZE: usize;
    /// From its first `SIZE` bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Its bytes, appended.
    fn store(self, into: &mut Vec<u8>);
    /// Its bytes at the start of `into`.
    fn store_at(self, into: &mut [u8]);
    /// As many as `into` has place for; the caller has checked that the packing fits the form.
    fn unpack(packing: Packing, bytes: &[u8], into: &mut [Self]);
    /// Appended in a packing; the caller has checked that the values fit.
    fn pack(packing: Packing, values: &[Self], into: &mut Vec<u8>);
    /// Its bytes in the low bytes of a word.
    fn word(self) -> u64;
    /// The packing that takes the least room for some integers.
    fn narrowest(_values: &[Self]) -> Packing {
        Packing::Plain
    }
}

macro_rules! element {
    ($kind:ty, $($narrowest:path)?; $($packing:ident => $unpack:path, $pack:path;)*) => {
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

            #[inline]
            fn store_at(self, into: &mut [u8]) {
                if let Some(place) = into.first_chunk_mut() {
                    *place = self.to_le_bytes();
                }
            }

            fn unpack(packing: Packing, bytes: &[u8], into: &mut [Self]) {
                match packing {
                    $(Packing::$packing => $unpack(bytes, into),)*
                    _ => load(bytes, into),
                }
            }

            fn pack(packing: Packing, values: &[Self], into: &mut Vec<u8>) {
                match packing {
                    $(Packing::$packing => $pack(values, into),)*
                    _ => store(values, into),
                }
            }

            $(fn narrowest(values: &[Self]) -> Packing {
                $narrowest(values)
            })?

            #[inline]
            fn word(self) -> u64 {
                let mut word = [0; 8];
                if let Some(low) = word.first_chunk_mut() {
                    *low = self.to_le_bytes();
                }
                u64::from_le_bytes(word)
            }
        }
    };
}

element!(u8,;);
element!(i32, narrowest;
    Sh4 => unshuffle4, shuffle4;
    Logical => unpack_logicals, pack_logicals;
    Byte => unpack_bytes, pack_bytes;
    Short => unpack_shorts, pack_shorts;
);
element!(i64,; Sh8 => unshuffle8, shuffle8;);
element!(f64,; Sh8 => unshuffle8, shuffle8;);

/// Bytes or shorts where all values fit: bit 7 or 15 means NA, so that 128 does not fit a byte.
fn narrowest(values: &[i32]) -> Packing {
    match largest(values) {
        Some(0..=127) => Packing::Byte,
        Some(0..=32_767) => Packing::Short,
        _ => Packing::Sh4,
    }
}

/// Numbers in the plain order of their bytes, appended.
pub(super) fn store<T: Element>(values: &[T], into: &mut Vec<u8>) {
    let start = into.len();
    let len = values.len().saturating_mul(T::SIZE);
    into.resize(start.saturating_add(len), 0);
    let place = into.get_mut(start..).unwrap_or_default();
    for (bytes, value) in place.chunks_exact_mut(T::SIZE).zip(values) {
        value.store_at(bytes);
    }
}

/// Numbers in the plain order of their bytes.
pub(super) fn load<T: Element>(bytes: &[u8], into: &mut [T]) {
    for (value, bytes) in into.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
        *value = T::load(bytes);
    }
}
