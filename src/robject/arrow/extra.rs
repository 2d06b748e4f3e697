//! Which attributes Arrow's own types already say, and which are kept beside them.

use super::super::kind::Kind;
use super::super::model::{Arena, Body, Id};

/// The bit of the levels that says that R takes a vector for an S4 object.
pub const S4_BIT: u16 = 1 << 4;
/// Its name among attributes that are kept.
pub const S4: &str = "tare:S4";

/// What a column is by its class: decides its Arrow type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Plain,
    Factor,
    Date,
    Time,
    Duration,
    Hms,
    Integer64,
    Nanotime,
    Frame,
    LongTime,
}

/// The meaning of a node by its class and type.
pub fn meaning(arena: &Arena, id: Id) -> Meaning {
    if arena.attribute(id, "class").is_none() {
        return Meaning::Plain;
    }
    let number = matches!(arena.kind(id), Kind::Integer | Kind::Double);
    let double = arena.kind(id) == Kind::Double;
    let list = arena.kind(id) == Kind::List;
    let is = |class| arena.inherits(id, class);
    match () {
        () if list && is("data.frame") => Meaning::Frame,
        () if list && is("POSIXlt") => Meaning::LongTime,
        () if number && is("factor") && arena.attribute(id, "levels").is_some() => Meaning::Factor,
        () if number && is("Date") => Meaning::Date,
        () if number && is("POSIXct") => Meaning::Time,
        () if number && is("hms") => Meaning::Hms,
        () if number && is("difftime") => Meaning::Duration,
        () if double && is("nanotime") => Meaning::Nanotime,
        () if double && is("integer64") => Meaning::Integer64,
        () => Meaning::Plain,
    }
}

/// The attributes that R's arrow package makes anew from the Arrow type.
fn remade(arena: &Arena, id: Id, meaning: Meaning) -> &'static [&'static [u8]] {
    match meaning {
        Meaning::Plain | Meaning::Nanotime | Meaning::LongTime => &[],
        Meaning::Factor => &[b"class", b"levels"],
        Meaning::Date | Meaning::Integer64 => &[b"class"],
        Meaning::Time => &[b"class", b"tzone"],
        Meaning::Duration | Meaning::Hms => &[b"class", b"units"],
        Meaning::Frame if class_is(arena, id, &["tbl_df", "tbl", "data.frame"]) => {
            &[b"class", b"names", b"row.names"]
        }
        Meaning::Frame => &[b"names", b"row.names"],
    }
}

/// Whether the class attribute is exactly this.
pub fn class_is(arena: &Arena, id: Id, classes: &[&str]) -> bool {
    let strings = arena
        .attribute(id, "class")
        .and_then(|at| arena.strings_of(at));
    strings.is_some_and(|strings| {
        strings.len() == classes.len()
            && strings
                .iter()
                .zip(classes)
                .all(|(text, class)| text.bytes == Some(class.as_bytes()))
    })
}

/// Attributes of a column that go into the key `r`.
pub fn kept(arena: &Arena, id: Id, meaning: Meaning) -> Vec<(&[u8], Id)> {
    let remade = remade(arena, id, meaning);
    let all = arena.attributes(id);
    all.filter(|(name, _)| !remade.contains(name) && !own(arena, id, name))
        .collect()
}

/// Attributes that arrow could not put on a column, and those that it makes anew from the type in
/// another form than they have here.
pub fn own_attributes(arena: &Arena, id: Id, meaning: Meaning) -> Vec<(&[u8], Id)> {
    let usual: &[&str] = match meaning {
        Meaning::Factor if arena.inherits(id, "ordered") => &["ordered", "factor"],
        Meaning::Factor => &["factor"],
        Meaning::Date => &["Date"],
        Meaning::Time => &["POSIXct", "POSIXt"],
        Meaning::Duration => &["difftime"],
        Meaning::Hms => &["hms", "difftime"],
        Meaning::Integer64 => &["integer64"],
        _ => &[],
    };
    let odd_class = !usual.is_empty() && !class_is(arena, id, usual);
    let odd_zone = meaning == Meaning::Time && zone(arena, id).is_none();
    let all = arena.attributes(id);
    all.filter(|(name, _)| {
        own(arena, id, name) || (odd_class && *name == b"class") || (odd_zone && *name == b"tzone")
    })
    .collect()
}

/// Dimensions of a column: its values are lists for Arrow, which no dimensions can be put on.
fn own(arena: &Arena, id: Id, name: &[u8]) -> bool {
    (name == b"dim" || name == b"dimnames") && arena.attribute(id, "dim").is_some()
}

/// The time zone, where it is one string that is not empty and has no zero byte.
pub fn zone(arena: &Arena, id: Id) -> Option<&str> {
    let Ok(Body::Character(strings)) = arena.data(arena.attribute(id, "tzone")?, None) else {
        return None;
    };
    let zone = strings.get(0)?.bytes?;
    let zone = std::str::from_utf8(zone).ok()?;
    // The C data interface ends a type at its first zero byte.
    let fits = !zone.is_empty() && !zone.contains('\0');
    (strings.len() == 1 && fits).then_some(zone)
}
