//! The store in a folder, and R's storr: what is kept, through deaths, races and full disks.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at once, and makes its own small numbers"
)]

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod folder_basics;
mod folder_faults;
mod folder_kills;
mod folder_races;
#[path = "../common/store_folder.rs"]
mod folders;
#[path = "../common/r_expected.rs"]
mod r_expected;
#[path = "../common/r_files.rs"]
mod r_files;
#[path = "../common/storr.rs"]
mod storr;
mod storr_changes;
mod storr_faults;
mod storr_fixtures;
#[path = "../common/storr_made.rs"]
mod storr_made;
mod storr_r;
