//! UTF-8 that may hold halves of surrogate pairs, as three bytes each; never a pair.

/// Whether `text` is such, a pair being one character of four bytes.
pub(super) fn is_wtf8(text: &[u8]) -> bool {
    let mut rest = text;
    let mut after_high = false;
    loop {
        let valid = match std::str::from_utf8(rest) {
            Ok(_) => return true,
            Err(error) => error.valid_up_to(),
        };
        after_high &= valid == 0;
        let Some(&[0xED, second @ 0xA0..=0xBF, 0x80..=0xBF]) =
            rest.get(valid..).and_then(|rest| rest.first_chunk::<3>())
        else {
            return false;
        };
        let high = second < 0xB0;
        if after_high && !high {
            return false;
        }
        after_high = high;
        rest = rest.get(valid.saturating_add(3)..).unwrap_or_default();
    }
}

/// Appends half of a pair; together with the other half right before it, their character.
pub(super) fn push(out: &mut Vec<u8>, from: usize, unit: u16) {
    let low = (0xDC00..0xE000).contains(&unit);
    let before = out.len().checked_sub(3).filter(|&at| at >= from);
    let high = before.and_then(|at| out.get(at..)).and_then(unit_of);
    if let (true, Some(high @ 0xD800..=0xDBFF), Some(at)) = (low, high, before) {
        out.truncate(at);
        let pair = [high, unit];
        for character in char::decode_utf16(pair).flatten() {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        return;
    }
    let [high, low] = unit.to_le_bytes();
    let unit = u32::from(high) | u32::from(low) << 8;
    #[allow(clippy::cast_possible_truncation, reason = "six bits")]
    let six = |shift: u32| 0x80 | (unit >> shift & 0x3F) as u8;
    out.extend([0xED, six(6), six(0)]);
}

/// The half of a pair that three bytes are.
pub(super) fn unit_of(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF] => {
            Some(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_three_bytes_and_pairs_are_characters() {
        let mut out = Vec::new();
        push(&mut out, 0, 0xD83D);
        assert_eq!([0xED, 0xA0, 0xBD], out[..]);
        assert_eq!(Some(0xD83D), unit_of(&out));
        assert!(is_wtf8(&out));
        push(&mut out, 0, 0xDE00);
        assert_eq!("\u{1F600}".as_bytes(), out);
        push(&mut out, 0, 0xDE00);
        assert!(is_wtf8(&out));
        assert!(!is_wtf8(b"\xED\xA0\xBD\xED\xB8\x80"));
        assert!(!is_wtf8(b"\xED\xA0"));
        assert!(!is_wtf8(b"\xFF"));
        assert!(is_wtf8(b"\xED\xA0\xBD\xED\xA0\xBDx\xED\xB8\x80"));
        assert!(is_wtf8(b""));
    }
}
