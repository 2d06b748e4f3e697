//! Frames of any bytes, held against liblz4.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("walk_lz4", data));
