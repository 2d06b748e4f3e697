//! `blit`: documents that are read without being parsed.
//!
//! # Overview
//! - Made: [`from_json`] and [`from_ndjson`] from text, [`Writer`] from values.
//! - Read: a [`View`] is opened in nanoseconds and gives its [`Value`]s where they lie; [`Path`] is
//!   a JSON pointer, [`JsonPath`] a query, [`ArrayView::column`] one property of all elements.
//! - Given back: [`View::to_json`], in the order of the text or by name; a [`Visitor`] makes
//!   anything else of it.
//! - Changed: [`patch()`] replaces a value of the same size where it lies, [`Edit`] anything.
//! - Many in one file: [`collection`].
//!
//! What opens need not be valid: every read is bounded and checked, and [`View::validate`] looks at
//! the whole. A number that no `f64` holds, a name that stands twice, half of a surrogate pair: each
//! is refused or kept as [`Options`] say, never changed. The layout is in `docs/specs/blit.md`.
//!
//! # Example
//! ```
//! use tare::blit::{from_json, JsonOptions, JsonPath, Options, Value, View};
//!
//! let text = br#"{"flights":[{"to":"LHR","delay":5},{"to":"JFK","delay":90}]}"#;
//! let document = from_json(text, &Options::default())?;
//! let view = View::open(&document)?;
//! assert!(matches!(view.pointer("/flights/1/delay")?, Some(Value::Int(90))));
//!
//! let late = JsonPath::parse("$.flights[?@.delay > 60].to")?;
//! let found: Vec<_> = view.find(&late)?.values().collect::<tare::Result<_>>()?;
//! assert!(matches!(&found[..], [Value::Str(to)] if to == "JFK"));
//! assert_eq!(&text[..], view.to_json(&JsonOptions::default())?);
//! # Ok::<(), tare::Error>(())
//! ```

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
mod unescape;
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

// What reads JSON into something else than documents takes its tokens from here.
pub(crate) use node::Kind as NumberKind;
pub(crate) use number::{quick as quick_number, token as number_token, value as number_value};
pub(crate) use strings::plain_end;
pub(crate) use unescape::{cut, escape, wrong};
