//! Any bytes as a qdata file, and as what is inside one.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("qdata", data));
