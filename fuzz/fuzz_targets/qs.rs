//! Any bytes as a qs file, and as what is inside one.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("qs", data));
