//! Queries, pointers, columns and changes of documents of any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("read_blit", data));
