//! R's values as Arrow arrays and back, as the Arrow columnar format defines them.
//!
//! Integers, doubles, texts and their marks of missing values are lent to Arrow where they lie:
//! an array keeps the arena alive. What Arrow has no type for is reported, never left out in
//! silence. Attributes go into the schema's key `r`, where R's own arrow package finds them; what
//! that package would stumble over goes into keys of the field that begin with `tare:`: names of
//! rows among them, which no longer fit once the table was filtered or sorted.

// Lengths and codes of arrays and keys come from other programs.
#![deny(clippy::indexing_slicing)]

mod extra;
mod flat;
mod from;
mod from_nested;
mod from_numbers;
mod key;
mod keyed;
mod lent;
mod lists;
mod rows;
mod texts;
mod times;
mod to;
mod widths;

pub use from::{from_arrow, from_batches, FromArrow, Int64};
pub use key::read_r_key;
pub use to::{to_arrow, Arrowed, ToArrow};

/// What a field's metadata says of the R type behind it, where the Arrow type does not tell.
pub(super) const TYPE_KEY: &str = "tare:r";
/// Attributes that R's arrow package would not put back, in R's ascii serialization.
pub(super) const ATTRIBUTES_KEY: &str = "tare:attributes";
/// Levels inside each other: what the C data interface lets readers refuse beyond.
const MOST_DEPTH: usize = 60;
