//! Names and small files of R's stores: mangled keys, key files, settings.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("store_names", data));
