//! R's files and objects: RDS, `RData`, qs, qs2, fst and deparsed text, read, written and damaged.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::format_collect,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test stops at once, and makes its own small numbers"
)]

#[path = "../common/arrow_random.rs"]
mod arrow_random;
#[path = "../common/child.rs"]
mod child;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/cpu.rs"]
#[cfg(unix)]
mod cpu;
mod dput_golden;
mod dput_r;
mod fst_codecs;
mod fst_faults;
mod fst_golden;
mod fst_read;
mod fst_vectors;
mod fst_write;
mod qs_faults;
mod qs_golden;
mod qs_vectors;
#[path = "../common/r_dump.rs"]
mod r_dump;
#[path = "../common/r_expected.rs"]
mod r_expected;
#[path = "../common/r_files.rs"]
mod r_files;
#[path = "../common/r_fst.rs"]
mod r_fst;
#[path = "../common/r_tree.rs"]
mod r_tree;
#[path = "../common/r_xdr.rs"]
mod r_xdr;
mod rds_hostile;
mod rds_identity;
mod rds_rdata;
mod rds_read;
mod rds_write;
mod robject_arrow;
mod robject_arrow_fixtures;
mod robject_arrow_lists;
mod robject_canonical;
mod robject_columns;
mod robject_cut;
mod robject_expected;
mod robject_faults;
mod robject_frame;
mod robject_golden;
mod robject_golden_qs;
mod robject_hostile;
mod robject_inspect;
mod robject_losses;
mod robject_property;
mod robject_property_arrow;
mod robject_property_tables;
mod robject_r;
mod robject_third_party;
