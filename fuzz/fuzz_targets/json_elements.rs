//! Lines into arrays and arrays into lines, by their own text, held against serde_json.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("json_elements", data));
