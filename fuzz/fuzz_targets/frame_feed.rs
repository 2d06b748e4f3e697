//! Frames, and messages wrapped in msgpack, cut anywhere.

#![no_main]

use libfuzzer_sys::fuzz_target;

include!("../check.rs");

fuzz_target!(|data: &[u8]| check("frame_feed", data));
