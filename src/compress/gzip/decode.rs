//! Decoding what is there whole: batches of BGZF members, and one buffer.

use libdeflater::{crc32, Decompressor as Inflate};

use super::header::{bgzf_bytes, has_checksum, MARKER, TRAILER_BYTES};
use super::serial::Serial;
use super::walk::Members;
use crate::compress::container::{Step, Unit, UnitDecoder, Walker};
use crate::compress::input::{Input, Slice};
use crate::compress::output::Output;
use crate::compress::{believed_bytes, ReadOptions};
use crate::{Error, ErrorKind, Result};

/// Plain bytes asked for when the place is full.
const PROBE_BYTES: usize = 4096;
/// Fixed bytes of a header, among which no trailer is looked for.
const HEAD_BYTES: usize = 10;

/// The plain size as trailers have it: of all BGZF members from the first on, else of the last
/// member, modulo 2^32.
pub(in crate::compress) fn expect(data: &[u8]) -> Option<u64> {
    let mut sum = 0_u64;
    let mut input = Slice::new(data);
    while let Ok(Some(size)) = bgzf_bytes(&mut input, 0) {
        sum = sum.saturating_add(plain_size(input.ahead(size).ok()?)?);
        input.advance(size);
    }
    let rest = input.some().ok()?;
    if rest.is_empty() {
        return Some(sum);
    }
    sum.checked_add(plain_size(rest)?)
}

/// RFC 1952, 2.3.1, ISIZE.
fn plain_size(member: &[u8]) -> Option<u64> {
    let size = member.last_chunk::<4>()?;
    Some(u64::from(u32::from_le_bytes(*size)))
}

/// Decodes all members of one buffer.
pub(in crate::compress) fn decode(data: &[u8], output: &mut Output<'_>) -> Result<()> {
    if decode_lone(data, output)? {
        return Ok(());
    }
    let mut walk = Members::new(&ReadOptions::default());
    let mut batches = BatchDecoder::new();
    let mut input = Slice::new(data);
    let mut plain = Vec::new();
    loop {
        match walk.step(&mut input)? {
            Step::Unit(unit) => {
                output.check(unit.bound as u64, unit.start)?;
                plain.clear();
                batches.decode(&unit, input.ahead(unit.stored)?, &mut plain)?;
                input.advance(unit.stored);
                output.copy(&plain, unit.start)?;
            }
            Step::Serial => decode_serial(&mut walk, &mut input, output)?,
            Step::Passed | Step::Wait => {}
            Step::End => return Ok(()),
        }
    }
}

/// Decodes one ordinary member, straight into the place that is there.
fn decode_serial(walk: &mut Members, input: &mut Slice<'_>, output: &mut Output<'_>) -> Result<()> {
    let mut probe = [0; PROBE_BYTES];
    loop {
        let at = input.offset();
        let (_, place) = output.place(0, at)?;
        let made = if place.is_empty() {
            // Only if more comes is more place needed than was lent.
            let made = walk.serial(input, &mut probe)?;
            output.copy(probe.get(..made).unwrap_or_default(), at)?;
            made
        } else {
            let made = walk.serial(input, place)?;
            output.commit(made);
            made
        };
        if made == 0 {
            return Ok(());
        }
        if output.over() {
            return Err(output.exceeded(at));
        }
    }
}

/// Decodes a buffer that is one ordinary member; false if it is not, or not surely.
fn decode_lone(data: &[u8], output: &mut Output<'_>) -> Result<bool> {
    let claim = plain_size(data).filter(|&claim| claim <= output.room());
    let size = claim.map(|claim| believed_bytes(claim, data.len()));
    let Some(size) = size.filter(|&size| Some(size as u64) == claim) else {
        return Ok(false);
    };
    if bgzf_bytes(&mut Slice::new(data), 0).map_or(true, |bgzf| bgzf.is_some()) {
        return Ok(false);
    }
    let (_, place) = output.place(size, 0)?;
    let Some(place) = place.get_mut(..size) else {
        return Ok(false);
    };
    let surely = fills(&mut Inflate::new(), data, place);
    if surely {
        output.commit(size);
    }
    Ok(surely)
}

/// Decodes `member` into `place`; whether it is surely one whole member that fills it.
///
/// libdeflate verifies the trailer behind the deflate data, but does not say where that ended.
/// Bytes between it and the end of `member` would go unseen if they ended like a trailer again:
/// so the checksum must be at the end of `member`, and nowhere before.
fn fills(inflate: &mut Inflate, member: &[u8], place: &mut [u8]) -> bool {
    if has_checksum(member) || inflate.gzip_decompress(member, place) != Ok(place.len()) {
        return false;
    }
    let crc = crc32(place).to_le_bytes();
    let end = member.len().saturating_sub(TRAILER_BYTES);
    let Some((before, trailer)) = member.split_at_checked(end) else {
        return false;
    };
    // Three bytes of the trailer more: an earlier one could overlap it.
    let until = end.saturating_add(crc.len()).saturating_sub(1);
    let searched = member
        .get(HEAD_BYTES.min(before.len())..until)
        .unwrap_or(member);
    trailer.starts_with(&crc) && !holds(searched, crc)
}

/// Whether four bytes occur in others; without branches, since it is asked for each member.
fn holds(bytes: &[u8], [a, b, c, d]: [u8; 4]) -> bool {
    let from = |at: usize| bytes.get(at..).unwrap_or_default().chunks(256);
    let blocks = bytes.chunks(256).zip(from(1)).zip(from(2)).zip(from(3));
    for (((one, two), three), four) in blocks {
        let fours = one.iter().zip(two).zip(three).zip(four);
        let found = fours.fold(0_u8, |found, (((w, x), y), z)| {
            found | u8::from((w ^ a) | (x ^ b) | (y ^ c) | (z ^ d) == 0)
        });
        if found != 0 {
            return true;
        }
    }
    false
}

/// Decodes batches of BGZF members.
pub(super) struct BatchDecoder {
    inflate: Inflate,
    /// For members that libdeflate refuses or that may hold other bytes: it says what is wrong.
    serial: Option<Serial>,
    /// Plain bytes that the member which failed says it holds.
    lost: Option<u64>,
}

impl BatchDecoder {
    pub(super) fn new() -> Self {
        Self {
            inflate: Inflate::new(),
            serial: None,
            lost: None,
        }
    }

    fn member(&mut self, member: &[u8], at: u64, plain: &mut Vec<u8>) -> Result<()> {
        if *member == MARKER {
            return Ok(());
        }
        let start = plain.len();
        let size = plain_size(member).and_then(|size| usize::try_from(size).ok());
        plain.resize(start.saturating_add(size.unwrap_or_default()), 0);
        let place = plain.get_mut(start..).unwrap_or_default();
        if fills(&mut self.inflate, member, place) {
            return Ok(());
        }
        let serial = self.serial.get_or_insert_with(Serial::new);
        let result = decode_slowly(serial, member, at, place);
        if result.is_err() {
            // What is left is given out: the members before this one.
            plain.truncate(start);
            self.lost = size.map(|size| size as u64);
        }
        result
    }
}

/// Decodes a BGZF member into the place that its trailer asks for; says what is wrong with it.
fn decode_slowly(serial: &mut Serial, member: &[u8], at: u64, place: &mut [u8]) -> Result<()> {
    let wrong = |text: &str| Err(Error::new(ErrorKind::Malformed, text).with_offset(at));
    let mut input = Slice::from(member, at);
    serial.begin(&mut input)?;
    let mut rest = place;
    let mut probe = [0];
    loop {
        // One byte more than there may be, so that a longer content shows.
        let full = rest.is_empty();
        let into = if full { &mut probe[..] } else { &mut *rest };
        let made = serial.decode(&mut input, into)?;
        if made == 0 {
            break;
        }
        if full {
            return wrong("a BGZF member holds more than its trailer says");
        }
        rest = rest.get_mut(made..).unwrap_or_default();
    }
    if input.offset() != at.saturating_add(member.len() as u64) || !rest.is_empty() {
        return wrong("a BGZF member that is not as long as its header says");
    }
    Ok(())
}

impl UnitDecoder for BatchDecoder {
    fn decode(&mut self, unit: &Unit, stored: &[u8], plain: &mut Vec<u8>) -> Result<()> {
        self.lost = None;
        plain.try_reserve_exact(unit.bound).map_err(|_| {
            let text = format!("no memory for BGZF members of {} bytes", unit.bound);
            Error::new(ErrorKind::Limit, text).with_offset(unit.start)
        })?;
        let mut input = Slice::from(stored, unit.start);
        let mut number = unit.tag;
        loop {
            number = number.saturating_add(1);
            let at = input.offset();
            let Some(size) = bgzf_bytes(&mut input, 0)? else {
                return Ok(());
            };
            let member = input.ahead(size)?;
            self.member(member, at, plain)
                .map_err(|error| error.within(&format!("member {number}: "), ""))?;
            input.advance(size);
        }
    }

    fn lost(&self) -> Option<u64> {
        self.lost
    }
}
