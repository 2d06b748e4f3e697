//! The checksum of frames: crc32c (Castagnoli), as iSCSI (RFC 3720, B.4) has it.

/// The checksum of `bytes`.
pub(super) fn of(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The checksum of what `sum` stands for, followed by `bytes`.
pub(super) fn more(sum: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(sum, bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_castagnoli() {
        assert_eq!(0xE306_9283, super::of(b"123456789"));
        assert_eq!(0xE306_9283, super::more(super::of(b"1234"), b"56789"));
    }
}
