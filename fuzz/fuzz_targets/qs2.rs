//! Any bytes as a qs2 file, and as the serialization inside one.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("qs2", data));
