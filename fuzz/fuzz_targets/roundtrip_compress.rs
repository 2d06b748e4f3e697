//! Any bytes, compressor, layout and cuts come back.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("roundtrip_compress", data));
