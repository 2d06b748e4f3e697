//! Lines and arrays as columns whose types are found on the way, held against serde_json.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("ndjson_columns", data));
