//! Compares an R object with the typed tree that R printed of it, as golden files have it.
//!
//! Every key of the tree is compared, or is named here as left out: the deparsed text of code,
//! which only R can print. What is not expected is a fault too: unknown keys, attributes or names.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    clippy::format_collect,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "each test file uses some of it, and a test stops at once"
)]

use std::collections::HashMap;
use std::fmt::Debug;

use serde_json::{Map, Value};
use tare::robject::{Arena, Body, Id, RObject, Special, NA_INT};

#[path = "r_vector.rs"]
mod r_vector;

use r_vector::vector;

/// What is compared where the tree leaves a choice.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether every vector must have its digest, and all its values up to 40 alone.
    pub digests: bool,
    /// Whether row names stand in full where the file has their number.
    pub full_row_names: bool,
    /// Whether calls have their parts, not their text alone.
    pub calls: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            digests: true,
            full_row_names: false,
            calls: true,
        }
    }
}

/// What a comparison saw.
#[derive(Debug, Default)]
pub struct Report {
    /// What differs, with its path; empty if nothing does.
    pub faults: Vec<String>,
    /// Nodes of the tree that were compared.
    pub nodes: usize,
    /// Digests that were compared.
    pub digests: usize,
    /// Promises that the file holds unforced where R printed the value.
    pub unforced: usize,
}

impl Report {
    /// Stops the test if anything differs.
    pub fn assert_same(&self, name: &str) {
        assert!(
            self.faults.is_empty(),
            "{name}:\n{}",
            self.faults.join("\n")
        );
        assert!(self.nodes > 0, "{name}: nothing was compared");
    }
}

/// The faults of a report as one text.
pub fn verdict(report: &Report) -> Result<(), String> {
    match report.faults.first() {
        None if report.nodes > 0 => Ok(()),
        None => Err("nothing was compared".to_string()),
        Some(_) => Err(report.faults.join("\n    ")),
    }
}

/// Compares an object with a tree by the rules of the fixtures.
pub fn compare(object: &RObject, expected: &Value) -> Report {
    compare_by(Rules::default(), object, expected)
}

/// Compares an object with a tree.
pub fn compare_by(rules: Rules, object: &RObject, expected: &Value) -> Report {
    let mut walk = Walk {
        arena: object.arena(),
        rules,
        stack: vec![("$".to_string(), expected, object.id())],
        places: HashMap::new(),
        numbers: HashMap::new(),
        report: Report::default(),
    };
    while let Some((path, expected, id)) = walk.stack.pop() {
        walk.report.nodes += 1;
        if let Err(fault) = walk.visit(&path, expected, id) {
            walk.fault(&path, &fault);
        }
        if walk.report.faults.len() > 20 {
            break;
        }
    }
    walk.report
}

type Checked = Result<(), String>;

struct Walk<'a> {
    arena: &'a Arena,
    rules: Rules,
    stack: Vec<(String, &'a Value, Id)>,
    /// The environment of each number of the tree, and back: both must be one to one.
    places: HashMap<u64, Id>,
    numbers: HashMap<Id, u64>,
    report: Report,
}

impl<'a> Walk<'a> {
    fn fault(&mut self, path: &str, fault: &str) {
        self.report.faults.push(format!("{path}: {fault}"));
    }

    fn visit(&mut self, path: &str, expected: &'a Value, id: Id) -> Checked {
        let map = expected.as_object().ok_or("the tree has no object here")?;
        let kind = text_of(map, "type")?;
        let arena = self.arena;
        let body = arena.data(id, None).map_err(|error| error.to_string())?;
        if let (Body::Promise { value, .. }, true) = (body, kind != "promise") {
            self.promise(path, expected, *value);
            return Ok(());
        }
        let allowed: &[&str] = match (kind, body) {
            ("NULL", Body::Special(Special::Null))
            | ("globalenv", Body::Special(Special::GlobalEnv))
            | ("baseenv", Body::Special(Special::BaseEnv))
            | ("emptyenv", Body::Special(Special::EmptyEnv))
            | ("missing-arg", Body::Special(Special::MissingArg)) => &["type"],
            ("logical", Body::Logical(_))
            | ("integer", Body::Integer(_))
            | ("double", Body::Double(_))
            | ("complex", Body::Complex(_))
            | ("character", Body::Character(_))
            | ("raw", Body::Raw(_)) => {
                if self.is_full_row_names(path, body) {
                    return row_names(map, body);
                }
                self.report.digests += usize::from(map.contains_key("md5"));
                vector(self.rules, arena, map, body)?;
                self.attributes(path, map, id);
                &[
                    "type",
                    "length",
                    "md5",
                    "xdr_md5",
                    "first",
                    "values",
                    "head",
                    "tail",
                    "bits_be",
                    "encoding",
                    "bytes_hex",
                    "attributes",
                ]
            }
            ("list", Body::List(items)) => {
                self.elements(path, map, items)?;
                let of_time = arena.attribute(id, "class").is_some_and(|class| {
                    matches!(&arena.node(class).body, Body::Character(names)
                        if names.iter().any(|name| name.bytes == Some(b"POSIXlt")))
                });
                // R says of times in parts how many times there are.
                same(
                    "length",
                    number(map, "length")?,
                    if of_time { 1 } else { items.len() },
                )?;
                self.attributes(path, map, id);
                &["type", "length", "elements", "attributes"]
            }
            ("expression", Body::Expression(items)) => {
                self.elements(path, map, items)?;
                same("length", number(map, "length")?, items.len())?;
                self.attributes(path, map, id);
                &["type", "length", "deparse", "elements", "attributes"]
            }
            ("pairlist", Body::Pairs { cells, .. }) if cells[0].code == 2 => {
                same("length", number(map, "length")?, cells.len())?;
                self.cells(path, map, id)?;
                &["type", "length", "tags", "elements"]
            }
            ("language", Body::Pairs { cells, .. }) if cells[0].code == 6 && !self.rules.calls => {
                &["type", "deparse"]
            }
            ("language", Body::Pairs { cells, .. }) if cells[0].code == 6 => {
                self.cells(path, map, id)?;
                self.attributes(path, map, id);
                &["type", "deparse", "tags", "elements", "attributes"]
            }
            ("symbol", Body::Symbol(_)) => {
                let name = arena.symbol(id).unwrap_or_default();
                same("name", text_of(map, "name")?, &lossy(name))?;
                &["type", "name"]
            }
            (
                "closure",
                Body::Closure {
                    environment,
                    formals,
                    ..
                },
            ) => {
                self.below(path, map, "env", *environment)?;
                self.below(path, map, "formals", *formals)?;
                self.attributes(path, map, id);
                &["type", "deparse", "env", "formals", "attributes"]
            }
            ("builtin" | "special", Body::Builtin { special, name }) => {
                same("special", kind == "special", *special)?;
                same("name", text_of(map, "name")?, &lossy(name))?;
                &["type", "name"]
            }
            ("namespace", Body::Named { code: 249, names })
            | ("package", Body::Named { code: 248, names }) => {
                let first = names.first().and_then(|name| arena.char(*name));
                same(
                    "name",
                    text_of(map, "name")?,
                    &lossy(first.unwrap_or_default()),
                )?;
                &["type", "name"]
            }
            ("environment", Body::Environment { .. }) => {
                self.environment(path, map, id)?;
                &["type", "id", "locked", "bindings", "parent"]
            }
            ("ref", Body::Environment { .. }) => {
                self.number(map, id)?;
                &["type", "id"]
            }
            ("S4", Body::S4) => {
                self.slots(path, map, id)?;
                &["type", "class", "package", "slots"]
            }
            ("externalptr", Body::ExternalPtr { .. }) | ("weakref", Body::WeakRef) => {
                self.attributes(path, map, id);
                &["type", "attributes"]
            }
            (kind, body) => return Err(format!("expected {kind}, found {body:.60?}")),
        };
        for key in map.keys() {
            if !allowed.contains(&key.as_str()) {
                return Err(format!("nobody compares {key:?}"));
            }
        }
        Ok(())
    }

    /// R prints the value of a promise, which it forces; a file may hold it unforced.
    fn promise(&mut self, path: &str, expected: &'a Value, value: Id) {
        if matches!(self.arena.node(value).body, Body::Special(Special::Unbound)) {
            self.report.unforced += 1;
        } else {
            self.stack.push((path.to_string(), expected, value));
        }
    }

    fn below(&mut self, path: &str, map: &'a Map<String, Value>, key: &str, id: Id) -> Checked {
        let expected = map
            .get(key)
            .ok_or_else(|| format!("the tree has no {key:?}"))?;
        self.stack.push((format!("{path}.{key}"), expected, id));
        Ok(())
    }

    fn elements(&mut self, path: &str, map: &'a Map<String, Value>, items: &[Id]) -> Checked {
        let expected = list(map, "elements")?;
        same("number of elements", expected.len(), items.len())?;
        for (at, (expected, id)) in expected.iter().zip(items).enumerate() {
            self.stack.push((format!("{path}[{at}]"), expected, *id));
        }
        Ok(())
    }

    /// Tags and values of a pairlist or call.
    fn cells(&mut self, path: &str, map: &'a Map<String, Value>, id: Id) -> Checked {
        let arena = self.arena;
        let cells = arena.cells(id);
        let tags = cells.iter().map(|cell| match cell.tag {
            Some(tag) => lossy(arena.symbol(tag).unwrap_or(b"<no symbol>")),
            None => String::new(),
        });
        let tags: Vec<String> = tags.collect();
        match map.get("tags") {
            Some(expected) => {
                let expected: Vec<&str> = texts(expected)?;
                same("tags", expected, tags.iter().map(String::as_str).collect())?;
            }
            None if map["type"] == "language" => {
                same(
                    "tags",
                    vec![""; cells.len()],
                    tags.iter().map(String::as_str).collect(),
                )?;
            }
            None => return Err("the tree has no tags".to_string()),
        }
        if let Body::Pairs { tail, .. } = &arena.node(id).body {
            same("end", Id::NULL, *tail)?;
        }
        let values: Vec<Id> = cells.iter().map(|cell| cell.value).collect();
        self.elements(path, map, &values)
    }

    fn attributes(&mut self, path: &str, map: &'a Map<String, Value>, id: Id) {
        if let Err(fault) = self.try_attributes(path, map, id) {
            self.fault(path, &fault);
        }
    }

    /// Names in order, and their values.
    fn try_attributes(&mut self, path: &str, map: &'a Map<String, Value>, id: Id) -> Checked {
        let expected: &[Value] = match map.get("attributes") {
            Some(expected) => expected.as_array().ok_or("attributes are no list")?,
            None => &[],
        };
        let found: Vec<(String, Id)> = self
            .arena
            .attributes(id)
            .map(|(name, id)| (lossy(name), id))
            .collect();
        let mut names = Vec::new();
        for one in expected {
            let one = one.as_object().ok_or("an attribute is no object")?;
            same("keys of an attribute", 2, one.len())?;
            names.push(text_of(one, "name")?);
        }
        let had = found.iter().map(|(name, _)| name.as_str()).collect();
        same("attributes", names, had)?;
        for (one, (name, id)) in expected.iter().zip(found) {
            let one = one.as_object().ok_or("an attribute is no object")?;
            let value = one.get("value").ok_or("an attribute has no value")?;
            self.stack.push((format!("{path}@{name}"), value, id));
        }
        Ok(())
    }

    /// The number of an environment: each has one, and each number one environment.
    fn number(&mut self, map: &Map<String, Value>, id: Id) -> Checked {
        let number = number(map, "id")? as u64;
        let place = *self.places.entry(number).or_insert(id);
        same("environment of the number", place, id)?;
        same(
            "number of the environment",
            *self.numbers.entry(id).or_insert(number),
            number,
        )
    }

    fn environment(&mut self, path: &str, map: &'a Map<String, Value>, id: Id) -> Checked {
        self.number(map, id)?;
        let arena = self.arena;
        let Body::Environment {
            locked,
            enclosure,
            frame,
            hashtab,
        } = &arena.node(id).body
        else {
            return Err("no environment".to_string());
        };
        same(
            "locked",
            map.get("locked"),
            Some(&Value::Bool(*locked != 0)),
        )?;
        self.below(path, map, "parent", *enclosure)?;
        let mut lists = vec![*frame];
        match &arena.node(*hashtab).body {
            Body::List(chains) => lists.extend(chains),
            Body::Special(Special::Null) => {}
            other => return Err(format!("a hash table of {other:.60?}")),
        }
        let mut found = Vec::new();
        for chain in lists {
            for cell in arena.cells(chain) {
                let name = cell.tag.and_then(|tag| arena.symbol(tag));
                found.push((lossy(name.ok_or("a binding has no name")?), cell.value));
            }
        }
        found.sort();
        let expected = map.get("bindings").and_then(Value::as_object);
        let expected = expected.ok_or("the tree has no bindings")?;
        let names: Vec<&str> = expected.keys().map(String::as_str).collect();
        same(
            "bindings",
            names,
            found.iter().map(|(name, _)| name.as_str()).collect(),
        )?;
        for ((name, id), expected) in found.iter().zip(expected.values()) {
            self.stack.push((format!("{path}${name}"), expected, *id));
        }
        Ok(())
    }

    /// The class, its package and the slots, which are the other attributes in order.
    fn slots(&mut self, path: &str, map: &'a Map<String, Value>, id: Id) -> Checked {
        let arena = self.arena;
        let class = arena.attribute(id, "class").ok_or("no class")?;
        same(
            "class",
            vec![text_of(map, "class")?.to_string()],
            self.plain(class)?,
        )?;
        let package = arena.attribute(class, "package");
        let package = package.map(|id| self.plain(id)).transpose()?;
        let expected = map
            .get("package")
            .map(|name| vec![name.as_str().unwrap_or("?").to_string()]);
        same("package", expected, package)?;
        let slots = map.get("slots").and_then(Value::as_object);
        let slots = slots.ok_or("the tree has no slots")?;
        let found: Vec<(String, Id)> = arena
            .attributes(id)
            .filter(|(name, _)| *name != b"class")
            .map(|(name, id)| (lossy(name), id))
            .collect();
        let names: Vec<&str> = slots.keys().map(String::as_str).collect();
        same(
            "slots",
            names,
            found.iter().map(|(name, _)| name.as_str()).collect(),
        )?;
        for ((name, id), expected) in found.iter().zip(slots.values()) {
            self.stack.push((format!("{path}@{name}"), expected, *id));
        }
        Ok(())
    }

    fn plain(&self, id: Id) -> Result<Vec<String>, String> {
        match &self.arena.node(id).body {
            Body::Character(strings) => Ok(strings
                .iter()
                .map(|text| lossy(text.bytes.unwrap_or(b"NA")))
                .collect()),
            other => Err(format!("expected character, found {other:.60?}")),
        }
    }

    fn is_full_row_names(&self, path: &str, body: &Body) -> bool {
        self.rules.full_row_names
            && path.ends_with("@row.names")
            && matches!(body, Body::Integer(parts) if parts.len() == 2 && parts[0] == NA_INT)
    }
}

/// The numbers 1 to n against the compact form (NA, n or -n).
fn row_names(map: &Map<String, Value>, body: &Body) -> Checked {
    let Body::Integer(parts) = body else {
        return Err("no integers".to_string());
    };
    let count = i64::from(parts[1]).abs();
    let expected: Vec<i64> = list(map, "values")?
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    same("row names", expected, (1..=count).collect())
}

fn same<T: PartialEq + Debug>(what: &str, expected: T, found: T) -> Checked {
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "{what}: expected {expected:.300?}, found {found:.300?}"
    ))
}

fn text_of<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    let text = map.get(key).and_then(Value::as_str);
    text.ok_or_else(|| format!("the tree has no text {key:?}"))
}

fn number(map: &Map<String, Value>, key: &str) -> Result<usize, String> {
    let number = map.get(key).and_then(Value::as_u64);
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| format!("the tree has no number {key:?}"))
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a Vec<Value>, String> {
    let list = map.get(key).and_then(Value::as_array);
    list.ok_or_else(|| format!("the tree has no list {key:?}"))
}

fn texts(list: &Value) -> Result<Vec<&str>, String> {
    let list = list.as_array().ok_or("no list")?.iter().map(Value::as_str);
    list.collect::<Option<_>>()
        .ok_or_else(|| "no text".to_string())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes as hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
