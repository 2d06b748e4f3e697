//! Frames of one buffer, decoded one after the other.

use zstd_safe::zstd_sys::ZSTD_ErrorCode as Code;
use zstd_safe::{DCtx, InBuffer, OutBuffer};

use super::header::Header;
use super::spare;
use super::walk::measure;
use crate::compress::input::{ends, Input, Slice};
use crate::compress::options::MAX_WINDOW;
use crate::compress::output::Output;
use crate::compress::seek_table::{self, Check};
use crate::compress::{believed_bytes, Kind};
use crate::{Error, ErrorKind, Result};

const MAGIC_BYTES: usize = 4;

/// Decoded bytes made place for at once when the frame does not say its size.
const STEP: usize = 128 << 10;

pub(in crate::compress) fn new_context() -> Result<DCtx<'static>> {
    DCtx::try_create().ok_or_else(|| Error::new(ErrorKind::Limit, "no memory for a zstd context"))
}

pub(in crate::compress) fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    let mut context = spare::decoder()?;
    let result = decode_frames(&mut context, data, output);
    spare::keep_decoder(context);
    result
}

fn decode_frames(context: &mut DCtx<'_>, data: &[u8], output: &mut Output<'_>) -> Result<()> {
    let mut rest = data;
    // What a seek table is held against; nothing is kept where no more frames follow.
    let mut run = Check::of(Kind::Zstd);
    loop {
        let start = data.len().saturating_sub(rest.len()) as u64;
        let frame = split_frame(data, rest)?;
        let before = output.len();
        if frame.skippable {
            check_table(&mut run, frame.bytes, start)?;
        } else {
            decode_frame(context, frame.bytes, start, output)?;
        }
        rest = frame.rest;
        if rest.is_empty() {
            return Ok(());
        }
        if !frame.skippable {
            let made = output.len().saturating_sub(before) as u64;
            run.unit(frame.bytes.len() as u64, Some(made));
        }
    }
}

/// Holds a skippable frame that is a seek table against the frames before it.
fn check_table(run: &mut Check, frame: &[u8], start: u64) -> Result<()> {
    let (head, content) = frame
        .split_at_checked(seek_table::HEAD_BYTES)
        .unwrap_or((frame, &[]));
    if head.starts_with(&seek_table::MAGIC.to_le_bytes()) {
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let table = run.table(&mut Slice::new(content), size);
        return table.map(|_| ()).map_err(|error| error.with_offset(start));
    }
    run.skipped(frame.len() as u64);
    Ok(())
}

/// Whether one frame is all there is, so that nothing can be decoded in parallel.
pub(in crate::compress) fn is_one_frame(data: &[u8]) -> bool {
    zstd_safe::find_frame_compressed_size(data) == Ok(data.len())
}

/// Refuses a window above `most` bytes, however short the frame: what a file needs must not
/// depend on how it is read.
pub(super) fn check_window(header: &Header, most: u64, start: u64) -> Result<()> {
    if header.window <= most {
        return Ok(());
    }
    let text = format!(
        "the frame needs a window of {} bytes: raise max_window to that, and it takes as much memory",
        header.window
    );
    Err(Error::new(ErrorKind::Limit, text).with_offset(start))
}

struct Frame<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    skippable: bool,
}

/// Cuts off the frame at the start of `rest`, the end of `data`, without decoding it.
fn split_frame<'a>(data: &[u8], rest: &'a [u8]) -> Result<Frame<'a>> {
    let before = data.len().saturating_sub(rest.len());
    let start = before as u64;
    let skippable = check_head(rest.get(..MAGIC_BYTES).unwrap_or(rest), start)?;
    let cut = || truncated(start, data.len() as u64);
    let size = if skippable {
        skippable_bytes(rest).ok_or_else(cut)?
    } else {
        let header = Header::read(rest).map_err(|error| error.with_offset(start))?;
        let header = header.ok_or_else(cut)?;
        check_window(&header, MAX_WINDOW, start)?;
        let mut input = Slice::new(data);
        input.advance(before);
        let measured = measure(&mut input, &header, u64::MAX)?;
        measured.map_or(rest.len(), |(stored, _)| stored)
    };
    let (bytes, rest) = rest.split_at_checked(size).ok_or_else(cut)?;
    Ok(Frame {
        bytes,
        rest,
        skippable,
    })
}

fn skippable_bytes(rest: &[u8]) -> Option<usize> {
    let size = rest.get(MAGIC_BYTES..)?.first_chunk()?;
    let size = usize::try_from(u32::from_le_bytes(*size)).unwrap_or(usize::MAX);
    Some(size.saturating_add(seek_table::HEAD_BYTES))
}

/// Whether a frame that starts with `head` is to be skipped.
///
/// # Errors
/// `Truncated` if `head` is the beginning of a magic number, `Malformed` or `Unsupported` if
/// it is of no frame that is read here.
pub(in crate::compress) fn check_head(head: &[u8], start: u64) -> Result<bool> {
    let skippable = is_skippable(head);
    if !skippable && !Kind::Zstd.magic().starts_with(head) {
        return Err(no_frame(head, start));
    }
    if head.len() < MAGIC_BYTES {
        return Err(ends(start, head.len(), MAGIC_BYTES));
    }
    Ok(skippable)
}

pub(in crate::compress) fn truncated(start: u64, end: u64) -> Error {
    let text = format!("the input ends inside the frame that starts at byte {start}");
    Error::new(ErrorKind::Truncated, text).with_offset(end)
}

/// RFC 8878, 3.1.2: 50 to 5F, then 2A 4D 18.
fn is_skippable(head: &[u8]) -> bool {
    matches!(
        head,
        [0x50..=0x5f]
            | [0x50..=0x5f, 0x2a]
            | [0x50..=0x5f, 0x2a, 0x4d]
            | [0x50..=0x5f, 0x2a, 0x4d, 0x18]
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
    output: &mut Output<'_>,
) -> Result<()> {
    let claim = content_size(frame, start)?;
    let before = output.len();
    let mut step = STEP;
    if let Some(claim) = claim {
        output.check(claim, start)?;
        // With place for the whole content libzstd decodes straight into it, without a window.
        step = believed_bytes(claim, frame.len());
    }
    context.init().map_err(|code| failed(code, start))?;
    let mut input = InBuffer::around(frame);
    loop {
        let taken = input.pos;
        let (_, place) = output.place(step, start)?;
        step = STEP;
        let mut place = OutBuffer::around(place);
        let hint = context
            .decompress_stream(&mut place, &mut input)
            .map_err(|code| failed(code, start))?;
        let made = place.pos();
        output.commit(made);
        if output.over() {
            return Err(output.exceeded(start));
        }
        if hint == 0 {
            let made = output.len().saturating_sub(before);
            return check_content_size(claim, made as u64, start);
        }
        if input.pos == taken && made == 0 {
            let text = format!("the frame that starts at byte {start} has no end");
            return Err(Error::new(ErrorKind::Malformed, text).with_offset(start));
        }
    }
}

/// The content sizes of all frames, as their headers have them.
pub(in crate::compress) fn expect(data: &[u8]) -> Option<u64> {
    let mut rest = data;
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let size = zstd_safe::find_frame_compressed_size(rest).ok()?;
        if !is_skippable(rest.get(..MAGIC_BYTES)?) {
            let claim = zstd_safe::get_frame_content_size(rest).ok()??;
            sum = sum.saturating_add(claim);
        }
        rest = rest.get(size..)?;
    }
    Some(sum)
}

fn content_size(frame: &[u8], start: u64) -> Result<Option<u64>> {
    zstd_safe::get_frame_content_size(frame)
        .map_err(|error| Error::new(ErrorKind::Malformed, error.to_string()).with_offset(start))
}

/// libzstd does not look at the claim when the last block is empty (1.5.7).
pub(in crate::compress) fn check_content_size(
    claim: Option<u64>,
    made: u64,
    start: u64,
) -> Result<()> {
    match claim {
        Some(claim) if claim != made => {
            let text = format!("the frame holds {made} bytes, its header says {claim}");
            Err(Error::new(ErrorKind::Malformed, text).with_offset(start))
        }
        _ => Ok(()),
    }
}

fn is(code: usize, what: Code) -> bool {
    // libzstd returns errors as the negated enumerator.
    u32::try_from(0usize.wrapping_sub(code)).is_ok_and(|number| number == what as u32)
}

pub(in crate::compress) fn failed(code: usize, start: u64) -> Error {
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
