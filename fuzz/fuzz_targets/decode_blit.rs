//! Documents of any bytes: validated, then read to the end.
//!
//! Half of the changes are to one section, after which the trailer says its new length and has
//! the right checksum: what lies behind the first checks is reached.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("decode_blit", data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        if let Some(new) = in_a_section(&data[..size], max_size, seed / 2) {
            data[..new.len()].copy_from_slice(&new);
            return new.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
});

/// A document with one section changed; None if its trailer does not say where they are.
fn in_a_section(document: &[u8], max_size: usize, seed: u32) -> Option<Vec<u8>> {
    let trailer = document.len().checked_sub(usize::from(*document.get(document.len().checked_sub(3)?)?))?;
    let mut at = document.len().checked_sub(6)?;
    let fixed = document.get(at..)?.to_vec();
    let flags = fixed[1];
    let mut fields = Vec::new();
    for _ in 0..if flags & 2 == 0 { 4 } else { 6 } {
        let mut value = 0_u64;
        for shift in (0..63).step_by(7) {
            at = at.checked_sub(1)?;
            let byte = *document.get(at)?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
        }
        fields.push(usize::try_from(value).ok()?);
    }
    let pool = trailer.checked_sub(fields.get(5).copied().unwrap_or(0))?;
    let shapes = pool.checked_sub(fields[3])?;
    let keys = shapes.checked_sub(fields[1])?;
    let bounds = [4, keys, shapes, pool, trailer];
    let mut sections = Vec::new();
    for pair in bounds.windows(2) {
        sections.push(document.get(pair[0]..pair[1])?.to_vec());
    }
    // Mostly the root, where most of the rules are.
    let which = [0, 0, 0, 0, 1, 2, 3, 4][seed as usize % 8];
    if which == 4 {
        let field = seed as usize / 8 % fields.len();
        fields[field] = fields[field].wrapping_add(seed as usize / 64 % 5).wrapping_sub(2) & 0xFFFF;
    } else {
        let section = &mut sections[which];
        let room = max_size.checked_sub(document.len())?.min(64);
        let size = section.len();
        if size + room == 0 {
            return None;
        }
        section.resize(size + room, 0);
        let new = fuzzer_mutate(section, size, size + room);
        section.truncate(new);
        for (section, field) in [(1, 1), (2, 3), (3, 5)] {
            if let Some(field) = fields.get_mut(field) {
                *field = sections[section].len();
            }
        }
    }
    let mut out = b"BLT1".to_vec();
    sections.iter().for_each(|section| out.extend(section));
    let start = out.len();
    for field in fields.iter().rev() {
        push_rv(&mut out, *field);
    }
    out.extend(&fixed[..3]);
    let sum = if flags & 1 == 0 { 0 } else { 8 };
    out.push(u8::try_from(out.len() - start + 3 + sum).ok()?);
    out.extend(b"BT");
    if sum > 0 {
        let hash = xxhash_rust::xxh3::xxh3_64(&out).to_le_bytes();
        out.splice(start..start, hash);
    }
    (out.len() <= max_size).then_some(out)
}

fn push_rv(out: &mut Vec<u8>, value: usize) {
    let mut groups = vec![(value & 0x7F) as u8];
    let mut rest = value >> 7;
    while rest > 0 {
        groups.push((rest & 0x7F) as u8);
        rest >>= 7;
    }
    // The lowest group is last; all but the first in memory go on before themselves.
    for (i, group) in groups.iter().rev().enumerate() {
        out.push(group | if i == 0 { 0 } else { 0x80 });
    }
}
