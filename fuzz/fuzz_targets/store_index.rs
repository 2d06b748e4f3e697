//! The index of a folder with bytes of it changed: what is read is right, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("store_index", data));
