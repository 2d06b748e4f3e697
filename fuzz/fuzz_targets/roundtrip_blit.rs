//! Documents of any values: what is read is what was written.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("roundtrip_blit", data));
