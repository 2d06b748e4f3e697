//! Any text as R code of data: an error with its place, or a value that is written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("dput", data));
