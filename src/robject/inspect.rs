//! What a file is and holds, without its values.

use crate::compress::Kind as Wrapper;
use crate::Result;

use super::options::Format;
use super::read::load;
use super::source::Source;
use super::walk::{findings, Finding};
use super::{Body, Encoding, Id, Kind, RObject, ReadOptions};

/// The most lines of [`Inspection::tree`].
const LINES: usize = 1000;
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
    /// Nodes of the object: values, names and pairs.
    pub nodes: usize,
    /// The structure, each value before those in it; at most 1,000 lines and 16 levels.
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
    /// Its name, or `[[1]]`; empty for the object.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Its class.
    pub class: Vec<String>,
    /// How many elements it has.
    pub length: usize,
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
/// assert!(found.findings.is_empty());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn inspect<'a>(source: impl Into<Source<'a>>, options: &ReadOptions) -> Result<Inspection> {
    let loaded = load(source.into(), options)?;
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
        nodes: object.arena().len(),
        tree,
        cut,
        findings: findings(object),
    })
}

/// Major, minor and patch of a version in one int.
fn version(packed: i32) -> [u8; 3] {
    let [patch, minor, major, _] = packed.to_le_bytes();
    [major, minor, patch]
}

fn tree(object: &RObject) -> (Vec<Branch>, bool) {
    let (mut lines, mut cut) = (Vec::new(), false);
    let mut stack = vec![(0, String::new(), object.id())];
    while let Some((depth, name, id)) = stack.pop() {
        if lines.len() >= LINES {
            cut = true;
            break;
        }
        let value = object.at(id);
        lines.push(Branch {
            depth,
            name,
            kind: value.kind(),
            class: value.class(),
            length: value.length(),
        });
        let within = inside(&value);
        if depth >= DEPTH {
            cut |= !within.is_empty();
            continue;
        }
        let next = depth.saturating_add(1);
        // One line more than can be shown says that there are more.
        let shown = within.into_iter().take(LINES.saturating_add(1));
        let from = stack.len();
        stack.extend(shown.map(|(name, id)| (next, name, id)));
        if let Some(added) = stack.get_mut(from..) {
            added.reverse();
        }
    }
    (lines, cut)
}

/// The elements of a value, with their names.
fn inside(value: &RObject) -> Vec<(String, Id)> {
    let ids: Vec<Id> = match &value.node().body {
        Body::List(ids) | Body::Expression(ids) => ids.iter().copied().take(LINES + 1).collect(),
        Body::Pairs { cells, .. } => cells
            .iter()
            .map(|cell| cell.value)
            .take(LINES + 1)
            .collect(),
        _ => return Vec::new(),
    };
    let names = value.names().unwrap_or_default();
    let listed = ids.into_iter().enumerate().map(|(at, id)| {
        let name = names
            .get(at)
            .cloned()
            .flatten()
            .filter(|name| !name.is_empty());
        (
            name.unwrap_or_else(|| format!("[[{}]]", at.saturating_add(1))),
            id,
        )
    });
    listed.collect()
}
