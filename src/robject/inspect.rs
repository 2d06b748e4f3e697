//! What a file is and holds, without its values.

use std::collections::HashSet;
use std::io::Read;
use std::sync::{Arc, Mutex};

use crate::compress::Kind as Wrapper;
use crate::Result;

use super::options::Format;
use super::read::load;
use super::source::Source;
use super::tap::{Tap, Tapped};
use super::walk::{findings, Finding};
use super::{Body, Encoding, Id, Kind, RObject, ReadOptions};

/// The most lines of [`Inspection::tree`].
const LINES: usize = 1000;
/// Most of what is listed of one value: one line more than there can be.
const MOST: usize = LINES + 1;
/// The deepest of them.
const DEPTH: usize = 16;

/// What a file is and holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The format.
    pub format: Format,
    /// The compressor around it.
    pub wrapper: Wrapper,
    /// The version of the serialization; None for formats that have none.
    pub version: Option<i32>,
    /// The R that wrote it: major, minor, patch; None for formats that do not say.
    pub writer: Option<[u8; 3]>,
    /// The first R that reads it.
    pub min_reader: Option<[u8; 3]>,
    /// How numbers are written.
    pub encoding: Option<Encoding>,
    /// The writer's own encoding of text.
    pub native_encoding: Option<String>,
    /// Bytes of the file.
    pub stored_bytes: u64,
    /// Bytes once the compressor around the format is undone; those of the file where there is none.
    pub plain_bytes: u64,
    /// What the blocks of qs2 and qdata become, in bytes; None for other formats.
    pub payload_bytes: Option<u64>,
    /// Whether the file has a checksum of its own: false for qs2 and qdata files that hold 0 in its
    /// place, and qs files without one. None for formats that have none.
    pub checked: Option<bool>,
    /// Nodes of the object: values, names and pairs.
    pub nodes: usize,
    /// The structure, each value before those in it; at most 1,000 lines and 16 levels.
    ///
    /// Elements, bindings of environments, slots, parts of functions and promises, and attributes:
    /// but for names, class and row names.
    pub tree: Vec<Branch>,
    /// Whether the tree is cut.
    pub cut: bool,
    /// Code, promises and references: what R would run or open.
    pub findings: Vec<Finding>,
}

/// One value of the structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// How deep it lies; 0 for the object.
    pub depth: usize,
    /// Its name, or `[[1]]`; `@name` for a slot, an attribute or a part of a function; empty for the
    /// object.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Its class.
    pub class: Vec<String>,
    /// How many elements it has.
    pub length: usize,
    /// Whether it is an environment or address whose content stands further up.
    pub again: bool,
}

/// Says what a file is and holds. It is read whole, and nothing in it is evaluated or opened.
///
/// # Errors
/// As [`read()`](super::read()).
///
/// # Example
/// ```
/// use tare::robject::{inspect, rds, Builder, ReadOptions, WriteOptions};
///
/// let mut build = Builder::new();
/// let root = build.strings(["a", "b"])?;
/// let plain = rds::serialize(&build.finish(root), &WriteOptions::default())?;
/// let found = inspect(&plain, &ReadOptions::default())?;
/// assert_eq!((Some(3), Some([4, 2, 2])), (found.version, found.writer));
/// assert_eq!(("character", 2), (found.tree[0].kind.name(), found.tree[0].length));
/// assert_eq!((plain.len() as u64, None), (found.stored_bytes, found.checked));
/// assert!(found.findings.is_empty());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn inspect<'a>(source: impl Into<Source<'a>>, options: &ReadOptions) -> Result<Inspection> {
    let tap = Arc::new(Mutex::new(Tap::default()));
    let source = match source.into() {
        Source::Bytes(bytes) => {
            if let Ok(mut tap) = tap.lock() {
                tap.feed(bytes);
            }
            Source::Bytes(bytes)
        }
        Source::Stream(stream) => tapped(stream, &tap),
        Source::File(file) => tapped(file, &tap),
    };
    let loaded = load(source, options)?;
    let tap = tap.lock().map(|tap| tap.clone()).unwrap_or_default();
    let object = &loaded.object;
    let header = object.arena().header();
    let serialized = matches!(loaded.format, Format::Rds | Format::Rdata | Format::Qs2);
    let name = header.native_encoding.as_deref();
    let name = name.filter(|_| serialized && header.version == 3);
    let (tree, cut) = tree(object);
    Ok(Inspection {
        format: loaded.format,
        wrapper: loaded.wrapper,
        version: serialized.then_some(header.version),
        writer: serialized.then(|| version(header.r_version)),
        min_reader: serialized.then(|| version(header.min_reader)),
        encoding: serialized.then_some(header.encoding),
        native_encoding: name.map(|name| String::from_utf8_lossy(name).into_owned()),
        stored_bytes: tap.stored,
        plain_bytes: loaded.plain,
        payload_bytes: tap.payload(),
        checked: tap.checked(),
        nodes: object.arena().len(),
        tree,
        cut,
        findings: findings(object),
    })
}

fn tapped<'a>(stream: impl Read + Send + 'a, tap: &Arc<Mutex<Tap>>) -> Source<'a> {
    let tap = Arc::clone(tap);
    Source::stream(Tapped { stream, tap })
}

/// Major, minor and patch of a version in one int.
fn version(packed: i32) -> [u8; 3] {
    let [patch, minor, major, _] = packed.to_le_bytes();
    [major, minor, patch]
}

fn tree(object: &RObject) -> (Vec<Branch>, bool) {
    let (mut lines, mut cut) = (Vec::new(), false);
    let mut seen = HashSet::new();
    let mut stack = vec![(0, String::new(), object.id())];
    while let Some((depth, name, id)) = stack.pop() {
        if lines.len() >= LINES {
            cut = true;
            break;
        }
        let value = object.at(id);
        let body = &value.node().body;
        // What may lie in itself is opened once.
        let reference = matches!(body, Body::Environment { .. } | Body::ExternalPtr { .. });
        let again = reference && !seen.insert(id);
        lines.push(Branch {
            depth,
            name,
            kind: value.kind(),
            class: value.class(),
            length: value.length(),
            again,
        });
        if again {
            continue;
        }
        let within = inside(&value);
        if depth >= DEPTH {
            cut |= !within.is_empty();
            continue;
        }
        let next = depth.saturating_add(1);
        let from = stack.len();
        stack.extend(within.into_iter().map(|(name, id)| (next, name, id)));
        if let Some(added) = stack.get_mut(from..) {
            added.reverse();
        }
    }
    (lines, cut)
}

/// What lies in a value, with its names: one more than can be shown says that there are more.
fn inside(value: &RObject) -> Vec<(String, Id)> {
    let mut parts = match &value.node().body {
        Body::List(ids) | Body::Expression(ids) => named(value, ids.iter().copied()),
        Body::Pairs { cells, .. } => named(value, cells.iter().map(|cell| cell.value)),
        Body::Environment { enclosure, .. } => {
            let bindings = value.bindings().into_iter().take(MOST);
            let mut parts: Vec<_> = bindings.map(|(name, value)| (name, value.id())).collect();
            let own = matches!(value.at(*enclosure).node().body, Body::Environment { .. });
            parts.extend(own.then(|| part("enclosure", *enclosure)));
            parts
        }
        Body::Closure {
            environment,
            formals,
            body,
        } => vec![
            part("formals", *formals),
            part("body", *body),
            part("environment", *environment),
        ],
        Body::Promise {
            environment,
            value,
            expression,
        } => {
            let mut parts = vec![part("value", *value), part("expression", *expression)];
            parts.extend(environment.map(|id| part("environment", id)));
            parts
        }
        Body::ExternalPtr { protected, tag } => {
            vec![part("protected", *protected), part("tag", *tag)]
        }
        _ => Vec::new(),
    };
    let attributes = value.attribute_list().into_iter().take(MOST);
    let told = |name: &str| matches!(name, "names" | "class" | "row.names");
    let shown = attributes.filter(|(name, _)| !told(name));
    parts.extend(shown.map(|(name, value)| part(&name, value.id())));
    parts
}

fn part(name: &str, id: Id) -> (String, Id) {
    (format!("@{name}"), id)
}

/// Elements with their names.
fn named(value: &RObject, ids: impl Iterator<Item = Id>) -> Vec<(String, Id)> {
    let mut names = value.names().unwrap_or_default().into_iter();
    let listed = ids.take(MOST).enumerate().map(|(at, id)| {
        let name = names.next().flatten().filter(|name| !name.is_empty());
        let place = || format!("[[{}]]", at.saturating_add(1));
        (name.unwrap_or_else(place), id)
    });
    listed.collect()
}
