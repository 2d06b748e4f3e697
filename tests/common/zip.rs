//! Just enough of ZIP to read the archives of golden files.

use std::io::Read;
use std::path::Path;

/// The name and bytes of each file in an archive, in the order of its directory.
pub fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let data = std::fs::read(path).unwrap();
    let word = |at: usize| usize::from(u16::from_le_bytes([data[at], data[at + 1]]));
    let long = |at: usize| word(at) + (word(at + 2) << 16);
    let end = data
        .windows(4)
        .rposition(|magic| magic == b"PK\x05\x06")
        .unwrap();
    let mut at = long(end + 16);
    let mut found = Vec::new();
    for _ in 0..word(end + 10) {
        assert_eq!(b"PK\x01\x02", &data[at..at + 4]);
        let (method, stored, header) = (word(at + 10), long(at + 20), long(at + 42));
        let (name, extra, comment) = (word(at + 28), word(at + 30), word(at + 32));
        let text = String::from_utf8(data[at + 46..at + 46 + name].to_vec()).unwrap();
        let start = header + 30 + word(header + 26) + word(header + 28);
        let bytes = &data[start..start + stored];
        let plain = match method {
            0 => bytes.to_vec(),
            8 => {
                let mut plain = Vec::new();
                let mut inflate = flate2::read::DeflateDecoder::new(bytes);
                inflate.read_to_end(&mut plain).unwrap();
                plain
            }
            other => panic!("{text}: method {other}"),
        };
        if !text.ends_with('/') {
            found.push((text, plain));
        }
        at += 46 + name + extra + comment;
    }
    found
}
