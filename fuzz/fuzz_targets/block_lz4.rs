//! Blocks of any bytes: `lz4_flex` held against liblz4.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("block_lz4", data));
