//! Messages inside a `MessagePack` `bin` each. Layout: <https://github.com/msgpack/msgpack/blob/master/spec.md>.

/// What the bytes at the start of a message are.
pub(in crate::message) enum Start {
    /// Bytes of the head, and those behind it.
    Whole {
        head: usize,
        length: u32,
    },
    /// So many bytes are missing.
    Short(u64),
    Bad(&'static str),
}

/// Reads the head of a `bin` or `str`.
pub(in crate::message) fn read(bytes: &[u8]) -> Start {
    let short = |more: usize| {
        Start::Short(
            (more as u64)
                .saturating_add(1)
                .saturating_sub(bytes.len() as u64),
        )
    };
    match *bytes {
        [] => short(0),
        [first @ 0xA0..=0xBF, ..] => Start::Whole {
            head: 1,
            length: u32::from(first & 31),
        },
        [0xC4 | 0xD9, a, ..] => Start::Whole {
            head: 2,
            length: u32::from(a),
        },
        [0xC5 | 0xDA, a, b, ..] => Start::Whole {
            head: 3,
            length: u32::from_le_bytes([b, a, 0, 0]),
        },
        [0xC6 | 0xDB, a, b, c, d, ..] => Start::Whole {
            head: 5,
            length: u32::from_le_bytes([d, c, b, a]),
        },
        [0xC4 | 0xD9, ..] => short(1),
        [0xC5 | 0xDA, ..] => short(2),
        [0xC6 | 0xDB, ..] => short(4),
        _ => Start::Bad("expected a msgpack bin or str that holds a message"),
    }
}

/// The head of a `bin`: its bytes, and how many of them count.
pub(in crate::message) fn head(length: u32) -> ([u8; 5], usize) {
    let [a, b, c, d] = length.to_le_bytes();
    match length {
        0..0x100 => ([0xC4, a, 0, 0, 0], 2),
        0x100..0x1_0000 => ([0xC5, b, a, 0, 0], 3),
        _ => ([0xC6, d, c, b, a], 5),
    }
}
