//! Blocks: how one is compressed and packed, and back.

use super::element::Element;
use super::fault::malformed;
use super::kind::Form;
use super::packing::{byte_bytes, logical_bytes, short_bytes};
use crate::Result;
use zstd_safe::DCtx;

/// What compresses a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Nothing.
    None,
    /// A raw LZ4 block.
    Lz4,
    /// A zstd frame.
    Zstd,
}

/// How numbers are laid out below that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// As they are.
    Plain,
    /// Shuffled by 4 bytes.
    Sh4,
    /// Shuffled by 8 bytes.
    Sh8,
    /// 2-bit logicals.
    Logical,
    /// Integers as bytes.
    Byte,
    /// Integers as shorts.
    Short,
}

/// A codec of a block: its code in a file means these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codec {
    pub(super) method: Method,
    pub(super) packing: Packing,
}

/// Codecs by their code.
const CODECS: [(Method, Packing); 16] = [
    (Method::None, Packing::Plain),
    (Method::Lz4, Packing::Plain),
    (Method::Lz4, Packing::Sh4),
    (Method::Zstd, Packing::Plain),
    (Method::Zstd, Packing::Sh4),
    (Method::Lz4, Packing::Sh8),
    (Method::Zstd, Packing::Sh8),
    (Method::Lz4, Packing::Logical),
    (Method::None, Packing::Logical),
    (Method::Zstd, Packing::Logical),
    (Method::Lz4, Packing::Byte),
    (Method::Lz4, Packing::Short),
    (Method::None, Packing::Byte),
    (Method::None, Packing::Short),
    (Method::Zstd, Packing::Byte),
    (Method::Zstd, Packing::Short),
];

impl Codec {
    /// The codec of a code.
    pub(super) fn of(code: u16) -> Option<Self> {
        let (method, packing) = CODECS.get(usize::from(code)).copied()?;
        Some(Self { method, packing })
    }

    /// Its code, where it has one.
    pub(super) fn code(self) -> Option<u16> {
        let found = CODECS
            .iter()
            .position(|codec| *codec == (self.method, self.packing));
        found.and_then(|code| u16::try_from(code).ok())
    }

    /// Whether a column of a form may have such blocks.
    pub(super) fn fits(self, form: Form) -> bool {
        match self.packing {
            Packing::Plain => true,
            Packing::Sh4 => matches!(form, Form::Int | Form::Factor | Form::Logical),
            Packing::Sh8 => matches!(form, Form::Double | Form::Int64),
            Packing::Logical => form == Form::Logical,
            Packing::Byte | Packing::Short => matches!(form, Form::Int | Form::Factor),
        }
    }
}

impl Packing {
    /// Bytes of `count` numbers of `size` bytes.
    pub(super) fn bytes(self, count: usize, size: usize) -> usize {
        match self {
            Self::Plain | Self::Sh4 | Self::Sh8 => count.saturating_mul(size),
            Self::Logical => logical_bytes(count),
            Self::Byte => byte_bytes(count),
            Self::Short => short_bytes(count),
        }
    }
}

/// What one thread uses again for each block.
#[derive(Default)]
pub(super) struct Scratch {
    /// Bytes of the file.
    pub(super) stored: Vec<u8>,
    /// A block without its compression.
    pub(super) plain: Vec<u8>,
    pub(super) zstd: Zstd,
    /// Where the strings of a block end.
    pub(super) ends: Vec<i32>,
}

/// A zstd context that is made when it is needed.
#[derive(Default)]
pub(super) struct Zstd(Option<DCtx<'static>>);

impl Method {
    /// Whether `stored` bytes can be `plain` bytes: asked before any are taken.
    pub(super) fn plausible(self, stored: u64, plain: u64) -> bool {
        match self {
            Self::None => stored == plain,
            Self::Lz4 => plain <= stored.saturating_mul(255),
            // A frame has a header of 2 bytes or more behind its magic; each of its blocks takes
            // 3 or more and makes 128 KiB at most.
            Self::Zstd => plain <= stored.saturating_sub(6).div_ceil(3).saturating_mul(1 << 17),
        }
    }

    /// Fills `into` with what `stored` holds, exactly.
    ///
    /// # Errors
    /// `Malformed` where it holds more, less, or nothing that this method made.
    pub(super) fn expand(
        self,
        stored: &[u8],
        into: &mut [u8],
        zstd: &mut Zstd,
        at: u64,
    ) -> Result<()> {
        let made = match self {
            Self::None => {
                if stored.len() == into.len() {
                    into.copy_from_slice(stored);
                }
                Some(stored.len())
            }
            _ if into.is_empty() && stored.is_empty() => Some(0),
            Self::Lz4 => lz4_flex::block::decompress_into(stored, into).ok(),
            Self::Zstd => zstd
                .0
                .get_or_insert_with(DCtx::create)
                .decompress(into, stored)
                .ok(),
        };
        if made == Some(into.len()) {
            return Ok(());
        }
        let name = match self {
            Self::None => "plain",
            Self::Lz4 => "LZ4",
            Self::Zstd => "zstd",
        };
        let text = format!(
            "a damaged {name} block of {} bytes, expected one that holds {} bytes",
            stored.len(),
            into.len()
        );
        Err(malformed(text, at))
    }
}

/// Numbers of one block.
///
/// # Errors
/// `Malformed` where the block is none of `into.len()` numbers.
pub(super) fn decode<T: Element>(
    codec: Codec,
    stored: &[u8],
    into: &mut [T],
    (plain, zstd): (&mut Vec<u8>, &mut Zstd),
    at: u64,
) -> Result<()> {
    let len = codec.packing.bytes(into.len(), T::SIZE);
    if codec.method == Method::None {
        if stored.len() != len {
            let text = format!("a block of {} bytes, expected {len}", stored.len());
            return Err(malformed(text, at));
        }
        T::unpack(codec.packing, stored, into);
        return Ok(());
    }
    if !codec.method.plausible(stored.len() as u64, len as u64) {
        let text = format!("a block of {} bytes for {len} plain ones", stored.len());
        return Err(malformed(text, at));
    }
    if plain.len() < len {
        plain.resize(len, 0);
    }
    let bytes = plain.get_mut(..len).unwrap_or_default();
    codec.method.expand(stored, bytes, zstd, at)?;
    T::unpack(codec.packing, bytes, into);
    Ok(())
}
