//! Serializations of R of any bytes: read, written in every encoding, read again.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("rds_xdr", data));
