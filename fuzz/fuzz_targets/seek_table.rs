//! Any table behind frames, any index behind blocks: no byte changes.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("seek_table", data));
