//! Any bytes as a blob of `compress_fst`.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("fst_blob", data));
