//! gzip members of any header and BSIZE, held against zlib-rs.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("header_bgzf", data));
