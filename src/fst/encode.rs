//! Blocks of numbers and strings as they are written.

use std::ops::Range;

use zstd_safe::CCtx;

use super::codec::{Codec, Method, Packing};
use super::element::Element;
use super::fault::FORMAT;
use super::kind::Form;
use super::strings::PER;
use super::texts::{TextEncoding, Texts};
use crate::{Error, ErrorKind, Result};

/// An acceleration with which LZ4 does little more than copy.
const NO_SEARCH: i32 = 1000;

/// What an option `compress` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Packings alone.
    Packed,
    /// LZ4 with an acceleration.
    Lz4(i32),
    /// zstd with a level.
    Zstd(i32),
}

impl Family {
    /// The family of 0 to 100.
    pub(super) fn of(compress: u8) -> Result<Self> {
        let within = i32::from(compress);
        match compress {
            0 => Ok(Self::Packed),
            1..=50 => Ok(Self::Lz4(51_i32.saturating_sub(within))),
            51..=100 => {
                let above = within.saturating_sub(51);
                Ok(Self::Zstd(
                    above.saturating_mul(18).div_euclid(49).saturating_add(1),
                ))
            }
            _ => {
                let text = format!("compress {compress}, expected 0 to 100");
                Err(Error::new(ErrorKind::Usage, text).with_format(FORMAT))
            }
        }
    }

    fn method(self) -> Method {
        match self {
            Self::Packed => Method::None,
            Self::Lz4(_) => Method::Lz4,
            Self::Zstd(_) => Method::Zstd,
        }
    }
}

/// What one thread uses again for each block.
#[derive(Default)]
pub(super) struct Press {
    packed: Vec<u8>,
    sizes: Vec<i32>,
    text: Vec<u8>,
    zstd: Option<CCtx<'static>>,
}

/// What the index says of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Its bytes.
    pub(super) len: u64,
    /// Its codec; that of the sizes for strings.
    pub(super) code: u16,
    /// The codec of the text, and the bytes of the sizes.
    pub(super) text: u16,
    pub(super) sizes: u32,
}

/// Blocks behind each other.
#[derive(Default)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
}

fn failed(text: &str) -> Error {
    Error::new(ErrorKind::Internal, text).with_format(FORMAT)
}

/// Appends what a family makes of `plain`.
fn compress(
    family: Family,
    plain: &[u8],
    zstd: &mut Option<CCtx<'static>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let bound = match family {
        Family::Packed => plain.len(),
        Family::Lz4(_) => lz4::block::compress_bound(plain.len())
            .map_err(|_| failed("a block too long for LZ4"))?,
        Family::Zstd(_) => zstd_safe::compress_bound(plain.len()),
    };
    out.resize(start.saturating_add(bound), 0);
    let into = out.get_mut(start..).unwrap_or_default();
    let made = match family {
        Family::Packed => {
            into.copy_from_slice(plain);
            Some(plain.len())
        }
        Family::Lz4(speed) => {
            let mode = lz4::block::CompressionMode::FAST(speed);
            lz4::block::compress_to_buffer(plain, Some(mode), false, into).ok()
        }
        Family::Zstd(level) => {
            let context = zstd.get_or_insert_with(CCtx::create);
            context.compress(into, plain, level).ok()
        }
    };
    let made = made.ok_or_else(|| failed("a block that cannot be compressed"))?;
    out.truncate(start.saturating_add(made));
    Ok(())
}

/// Appends blocks of the numbers in `values`.
pub(super) fn numbers<T: Element>(
    family: Family,
    form: Form,
    values: &[T],
    press: &mut Press,
) -> Result<Encoded> {
    let mut out = Encoded::default();
    out.bytes.reserve(values.len().saturating_mul(T::SIZE));
    for block in values.chunks(form.per_block()) {
        // Those that fst's own files have for columns of this kind, and no others.
        let packing = match (form, family) {
            (Form::Logical, _) => Packing::Logical,
            (Form::Factor, _) => T::narrowest(block),
            (Form::Int, Family::Lz4(_) | Family::Zstd(_)) => Packing::Sh4,
            (Form::Int64, Family::Lz4(_) | Family::Zstd(_)) => Packing::Sh8,
            _ => Packing::Plain,
        };
        let start = out.bytes.len();
        let code = number_block(family, packing, block, press, &mut out.bytes)?;
        let len = out.bytes.len().saturating_sub(start) as u64;
        out.entries.push(Entry {
            len,
            code,
            ..Entry::default()
        });
    }
    Ok(out)
}

/// Appends one block; gives its code.
fn number_block<T: Element>(
    family: Family,
    packing: Packing,
    block: &[T],
    press: &mut Press,
    out: &mut Vec<u8>,
) -> Result<u16> {
    // No file is known whose blocks are shorts without compression: fst itself uses LZ4 for them.
    let (family, packing) = match (family, packing) {
        (Family::Packed, Packing::Short) => (Family::Lz4(NO_SEARCH), packing),
        (Family::Packed, Packing::Sh4 | Packing::Sh8) => (family, Packing::Plain),
        other => other,
    };
    press.packed.clear();
    T::pack(packing, block, &mut press.packed);
    let start = out.len();
    compress(family, &press.packed, &mut press.zstd, out)?;
    let mut codec = Codec {
        method: family.method(),
        packing,
    };
    // What gains nothing is stored packed where fst's files have such blocks; it has no others that
    // are not compressed beside ones that are.
    let gained = out.len().saturating_sub(start) < press.packed.len();
    if codec.method != Method::None
        && !gained
        && matches!(packing, Packing::Byte | Packing::Logical)
    {
        out.truncate(start);
        codec.method = Method::None;
        out.extend_from_slice(&press.packed);
    }
    codec.code().ok_or_else(|| failed("a codec without a code"))
}

/// Whether values of a column are written as one plain run: what fst does without compression for
/// all but logicals and factors, so that such files are the same byte for byte.
pub(super) fn is_run(family: Family, form: Form, levels: usize) -> bool {
    let packed = match form {
        Form::Logical => true,
        Form::Factor => levels <= 32_767,
        _ => false,
    };
    family == Family::Packed && !packed
}

/// How the strings of a column are marked: text of ASCII alone has no mark, as in R.
pub(super) fn mark(texts: &Texts) -> u32 {
    if texts.bytes().is_ascii() {
        return 0;
    }
    match texts.encoding() {
        TextEncoding::Native => 0,
        TextEncoding::Latin1 | TextEncoding::Utf8 => 2,
    }
}

/// Blocks of strings; latin1 becomes UTF-8.
pub(super) fn strings(
    family: Family,
    texts: &Texts,
    rows: Range<usize>,
    press: &mut Press,
) -> Result<Encoded> {
    let mut out = Encoded::default();
    let recode = texts.encoding() == TextEncoding::Latin1 && !texts.bytes().is_ascii();
    let per = usize::try_from(PER).unwrap_or(1);
    let mut start = rows.start;
    while start < rows.end {
        let end = start.saturating_add(per).min(rows.end);
        let before = out.bytes.len();
        let mut entry = string_block(family, texts, (start..end, recode), press, &mut out.bytes)?;
        entry.len = out.bytes.len().saturating_sub(before) as u64;
        out.entries.push(entry);
        start = end;
    }
    Ok(out)
}

fn string_block(
    family: Family,
    texts: &Texts,
    (rows, recode): (Range<usize>, bool),
    press: &mut Press,
    out: &mut Vec<u8>,
) -> Result<Entry> {
    let count = rows.end.saturating_sub(rows.start);
    let mut na = vec![0_u32; (count / 32).saturating_add(1)];
    let Press {
        packed,
        sizes,
        text,
        zstd,
        ..
    } = press;
    sizes.clear();
    text.clear();
    let whole = texts
        .run(&rows)
        .filter(|_| texts.validity().is_none() && !recode);
    if let Some((first, ends)) = whole {
        text.extend_from_slice(
            texts
                .bytes()
                .get(first..)
                .unwrap_or_default()
                .get(..ends)
                .unwrap_or_default(),
        );
    }
    for (at, row) in rows.enumerate() {
        let string = texts.get(row);
        match string {
            Some(string) if recode => {
                let mut letter = [0; 4];
                for byte in string {
                    text.extend_from_slice(char::from(*byte).encode_utf8(&mut letter).as_bytes());
                }
            }
            Some(string) if whole.is_some() => {
                let last = sizes.last().copied().unwrap_or_default();
                let len = u32::try_from(string.len()).unwrap_or(u32::MAX);
                sizes.push(signed(unsigned(last).saturating_add(len)));
                continue;
            }
            Some(string) => text.extend_from_slice(string),
            None => {
                text.extend_from_slice(b"NA");
                if let Some(word) = na.get_mut(at / 32) {
                    *word |= 1 << (at % 32);
                }
            }
        }
        sizes.push(signed(u32::try_from(text.len()).unwrap_or(u32::MAX)));
    }
    if u32::try_from(text.len()).is_err() {
        let text = "2,047 strings of more than 4 GiB together";
        return Err(Error::new(ErrorKind::Limit, text).with_format(FORMAT));
    }
    if na.iter().any(|word| *word != 0) {
        if let Some(word) = na.get_mut(count / 32) {
            *word |= 1 << (count % 32);
        }
    }
    let mut codec = Codec {
        method: family.method(),
        packing: Packing::Plain,
    };
    let mut entry = Entry {
        text: codec.code().unwrap_or_default(),
        ..Entry::default()
    };
    if family != Family::Packed {
        codec.packing = Packing::Sh4;
    }
    packed.clear();
    i32::pack(codec.packing, sizes, packed);
    let start = out.len();
    compress(family, packed, zstd, out)?;
    entry.code = codec.code().unwrap_or_default();
    entry.sizes = u32::try_from(out.len().saturating_sub(start)).unwrap_or(u32::MAX);
    for word in &na {
        out.extend_from_slice(&word.to_le_bytes());
    }
    if text.is_empty() {
        entry.text = 0;
    } else {
        compress(family, text, zstd, out)?;
    }
    Ok(entry)
}

fn signed(value: u32) -> i32 {
    i32::from_le_bytes(value.to_le_bytes())
}

fn unsigned(value: i32) -> u32 {
    u32::from_le_bytes(value.to_le_bytes())
}
