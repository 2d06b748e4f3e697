//! blit: documents, collections and queries; `blit_memory` is a program of its own, for it counts allocations.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::float_cmp,
    clippy::format_push_string,
    clippy::indexing_slicing,
    clippy::match_wildcard_for_single_variants,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::single_match_else,
    clippy::trivially_copy_pass_by_ref,
    clippy::unwrap_used,
    reason = "a test stops at once, and makes its own small numbers"
)]

mod aligned;
mod avro;
mod bytes;
mod collection;
mod collection_faults;
mod collection_files;
mod collection_rollback;
mod collection_sizes;
#[path = "../common/mod.rs"]
mod common;
mod delimited;
mod documents;
mod dropped;
mod edit;
mod faults;
mod find;
mod jsonpath_suite;
mod lines;
mod ndjson;
mod ndjson_found;
mod peers;
mod property;
mod suite;
mod vectors;
mod writer;
