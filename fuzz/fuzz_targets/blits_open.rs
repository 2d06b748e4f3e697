//! Collections of any bytes: opened, validated, read to the end.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("blits_open", data));
