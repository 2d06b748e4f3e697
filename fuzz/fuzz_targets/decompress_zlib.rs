//! Any bytes into the zlib decompressor: every way of reading agrees.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("decompress_zlib", data));
