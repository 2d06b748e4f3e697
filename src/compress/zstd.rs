//! Zstandard frames, as defined in RFC 8878, by libzstd.

use zstd_safe::zstd_sys::ZSTD_ErrorCode as Code;
use zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer};

use super::{Compressor, Output};
use crate::{Error, ErrorKind, Result};

pub(super) const COMPRESSOR: Compressor = Compressor {
    name: "zstd",
    levels: Some((-7, 22)),
    default_level: Some(3),
    extension: ".zst",
    magic: b"\x28\xb5\x2f\xfd", // RFC 8878, 3.1.1
    encode,
    decode,
};

/// Decoded bytes made place for at once when the frame does not say its size.
const STEP: usize = 128 << 10;

/// A claimed content size is believed up to this many bytes, or this many per stored byte.
const BELIEVED_BYTES: u64 = 64 << 20;
const BELIEVED_RATIO: u64 = 256;

fn encode(data: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut context = CCtx::try_create()
        .ok_or_else(|| Error::new(ErrorKind::Limit, "no memory for a zstd context"))?;
    let mut packed = Vec::with_capacity(zstd_safe::compress_bound(data.len()));
    context
        .set_parameter(CParameter::CompressionLevel(level))
        .and_then(|_| context.set_parameter(CParameter::ContentSizeFlag(true)))
        .and_then(|_| context.set_parameter(CParameter::ChecksumFlag(true)))
        .and_then(|_| context.compress2(&mut packed, data))
        .map_err(|code| {
            let text = format!("libzstd failed: {}", zstd_safe::get_error_name(code));
            Error::new(ErrorKind::Internal, text).with_format("zstd")
        })?;
    Ok(packed)
}

fn decode(data: &[u8], output: &mut Output) -> Result<()> {
    let mut context = DCtx::try_create()
        .ok_or_else(|| Error::new(ErrorKind::Limit, "no memory for a zstd context"))?;
    let mut rest = data;
    loop {
        let start = data.len().saturating_sub(rest.len()) as u64;
        let frame = split_frame(rest, start, data.len())?;
        if !frame.skippable {
            decode_frame(&mut context, frame.bytes, start, output)?;
        }
        rest = frame.rest;
        if rest.is_empty() {
            return Ok(());
        }
    }
}

struct Frame<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    skippable: bool,
}

/// Cuts the frame at the start of `rest` off, without decoding it.
fn split_frame(rest: &[u8], start: u64, whole: usize) -> Result<Frame<'_>> {
    let truncated = || {
        let text = if start == whole as u64 {
            "the input is empty".to_string()
        } else {
            format!("the input ends inside the frame that starts at byte {start}")
        };
        Error::new(ErrorKind::Truncated, text).with_offset(whole as u64)
    };
    let head = rest.get(..4).unwrap_or(rest);
    let skippable = is_skippable(head);
    if !skippable && !COMPRESSOR.magic.starts_with(head) {
        return Err(no_frame(head, start));
    }
    if head.len() < 4 {
        return Err(truncated());
    }
    let size = zstd_safe::find_frame_compressed_size(rest).map_err(|code| {
        if is(code, Code::ZSTD_error_srcSize_wrong) {
            truncated()
        } else {
            failed(code, start)
        }
    })?;
    let (bytes, rest) = rest.split_at_checked(size).ok_or_else(truncated)?;
    Ok(Frame {
        bytes,
        rest,
        skippable,
    })
}

/// RFC 8878, 3.1.2: 50 to 5F, then 2A 4D 18.
fn is_skippable(head: &[u8]) -> bool {
    matches!(
        head,
        [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]
    )
}

fn no_frame(head: &[u8], start: u64) -> Error {
    // Formats before 0.8 had magics of their own: 1E B5 2F FD, then 22 to 27 B5 2F FD.
    if let [version @ (0x1e | 0x22..=0x27), 0xb5, 0x2f, 0xfd] = head {
        let minor = version.saturating_sub(0x20).max(1);
        let text = format!("a frame of zstd 0.{minor}; only 0.8 and later are read");
        return Error::new(ErrorKind::Unsupported, text).with_offset(start);
    }
    let text = if start == 0 {
        "not a zstd file: it does not start with 28 B5 2F FD"
    } else {
        "bytes after the last frame that are no zstd frame"
    };
    Error::new(ErrorKind::Malformed, text).with_offset(start)
}

fn decode_frame(
    context: &mut DCtx<'_>,
    frame: &[u8],
    start: u64,
    output: &mut Output,
) -> Result<()> {
    let claim = zstd_safe::get_frame_content_size(frame)
        .map_err(|error| Error::new(ErrorKind::Malformed, error.to_string()).with_offset(start))?;
    let believed = (frame.len() as u64)
        .saturating_mul(BELIEVED_RATIO)
        .max(BELIEVED_BYTES);
    let mut step = STEP;
    if let Some(claim) = claim {
        output.check(claim, start)?;
        // With place for the whole content libzstd decodes straight into it, without a window.
        step = usize::try_from(claim.min(believed)).unwrap_or(STEP).max(1);
    }
    context.init().map_err(|code| failed(code, start))?;
    let mut input = InBuffer::around(frame);
    loop {
        output.reserve(step, start)?;
        step = STEP;
        let (taken, made) = (input.pos, output.bytes.len());
        let mut place = OutBuffer::around_pos(&mut output.bytes, made);
        let hint = context
            .decompress_stream(&mut place, &mut input)
            .map_err(|code| failed(code, start))?;
        if output.over() {
            return Err(output.exceeded(start));
        }
        if hint == 0 {
            return Ok(());
        }
        if input.pos == taken && output.bytes.len() == made {
            let text = format!("the frame that starts at byte {start} has no end");
            return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
        }
    }
}

fn is(code: usize, what: Code) -> bool {
    // libzstd returns errors as the negated enumerator.
    u32::try_from(0usize.wrapping_sub(code)).is_ok_and(|number| number == what as u32)
}

fn failed(code: usize, start: u64) -> Error {
    let (kind, text) = if is(code, Code::ZSTD_error_checksum_wrong) {
        (ErrorKind::ChecksumMismatch, "the checksum does not match")
    } else if is(code, Code::ZSTD_error_dictionary_wrong) {
        (ErrorKind::Unsupported, "the frame needs a dictionary")
    } else if is(code, Code::ZSTD_error_frameParameter_windowTooLarge) {
        (ErrorKind::Limit, "the frame needs a window above 128 MiB")
    } else if is(code, Code::ZSTD_error_memory_allocation) {
        (ErrorKind::Limit, "no memory for the frame's window")
    } else {
        (ErrorKind::Malformed, zstd_safe::get_error_name(code))
    };
    let text = format!("{text} (frame that starts at byte {start})");
    Error::new(kind, text).with_offset(start)
}
