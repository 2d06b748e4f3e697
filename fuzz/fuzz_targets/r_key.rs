//! Keys `r` of Arrow schemas: text of R, or a raw vector with it in gzip or zlib.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("r_key", data));
