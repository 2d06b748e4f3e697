//! Any bytes into the gzip decompressor, one-shot and as a stream.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("gzip", data));
