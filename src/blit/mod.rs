//! `blit`: documents that are read without being parsed.
//!
//! The layout is specified in `docs/specs/blit.md`.

mod account;
pub mod collection;
mod column;
mod cursor;
mod decimal;
mod digits;
mod doc;
mod edit;
mod emit;
mod find;
mod json_in;
mod json_out;
mod keys;
mod layout;
mod lens;
mod lexical;
mod list;
mod lz4;
mod make;
mod make_count;
mod make_lists;
mod merge;
mod node;
mod number;
mod patch;
mod path;
mod place;
mod same;
mod shapes;
mod stack;
mod strings;
mod surrogates;
mod validate;
mod view;
mod visit;
mod walk;
mod writer;

pub use account::Account;
pub use column::{Chunk, Codes, Numbers as ColumnNumbers, Packed};
pub use edit::{Changes, Current, CurrentArray, CurrentObject, Edit, Tree};
pub use emit::Layout;
pub use find::{Find, FindOptions, JsonPath, NodePath, NodeStep};
pub use json_in::{from_json, from_ndjson};
pub use json_out::{JsonOptions, KeyOrder, NonFinite};
pub use keys::Duplicates;
pub use make::{Column as MadeColumn, Maker};
pub use patch::patch;
pub use path::{Path, Prepared};
pub use place::Place;
pub use validate::Summary;
pub use view::{ArrayView, ObjectView, Value, View};
pub use visit::{Scalar, Text, TextKind, Visitor, WalkOptions};
use writer::Mark;
pub use writer::{Checksum, Name, Number, Numbers, Options, Room, Step, Surrogates, Writer};
