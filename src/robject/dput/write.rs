//! Writing R code that R reads the same value from.

use super::super::kind::Kind;
use super::super::model::{is_na, Arena, Body, Id, NA_INT};
use super::super::text::Decoded;
use super::super::{walk, Loss, LossKind, Losses, RObject, Recoder, Strings};
use super::number::whole;
use super::tables::syntactic;
use crate::{Error, ErrorKind, Result};

/// Where a line may end, once it is so long.
const WIDTH: usize = 70;

/// What is still to be written, the next one last.
enum Task {
    Value(Id),
    /// Text that stands together.
    Text(&'static str),
    /// A comma, behind which the line may end.
    Comma,
    /// The name of an argument and its `=`.
    Tag(String),
}

/// The code, and what it does not keep.
///
/// With `data_only` code and promises are written as `NULL`, which the report says.
pub(super) fn object(object: &RObject, data_only: bool) -> Result<(String, Vec<Loss>)> {
    let mut writer = Writer {
        arena: object.arena(),
        recoder: Recoder::of(object.arena()),
        losses: Losses::new(false),
        out: String::new(),
        line: 0,
        data_only,
        tasks: vec![Task::Value(object.id())],
    };
    // A ring of lists, which no file holds, would be written without end.
    let mut most = (object.arena().len() as u64).saturating_mul(1 << 10);
    while let Some(task) = writer.tasks.pop() {
        most = most.checked_sub(1).ok_or_else(|| {
            let text = "a value inside itself, or too often inside others";
            Error::new(ErrorKind::Limit, text).with_format("dput")
        })?;
        match task {
            Task::Value(id) => writer.value(id)?,
            Task::Text(text) => writer.out.push_str(text),
            Task::Comma => writer.comma(),
            Task::Tag(tag) => {
                writer.out.push_str(&tag);
                writer.out.push_str(" = ");
            }
        }
    }
    writer.out.push('\n');
    let mut losses = writer.losses.into_list();
    if data_only {
        losses.extend(walk::losses(object, true, false));
    }
    Ok((writer.out, losses))
}

struct Writer<'a> {
    arena: &'a Arena,
    recoder: Recoder,
    losses: Losses,
    out: String,
    /// Where the line at hand begins.
    line: usize,
    data_only: bool,
    tasks: Vec<Task>,
}

#[cold]
fn unsupported(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, text).with_format("dput")
}

impl Writer<'_> {
    fn comma(&mut self) {
        if self.out.len().saturating_sub(self.line) > WIDTH {
            self.out.push_str(",\n");
            self.line = self.out.len();
        } else {
            self.out.push_str(", ");
        }
    }

    /// A value; the parts of a list become tasks.
    fn value(&mut self, id: Id) -> Result<()> {
        let kind = self.arena.kind(id);
        let list = matches!(kind, Kind::Null | Kind::Pairlist | Kind::List);
        let vector = matches!(
            kind,
            Kind::Logical
                | Kind::Integer
                | Kind::Double
                | Kind::Complex
                | Kind::Character
                | Kind::Raw
        );
        let code = matches!(
            kind,
            Kind::Closure | Kind::Promise | Kind::Bytecode | Kind::ExternalPtr
        );
        if code && self.data_only {
            self.out.push_str("NULL");
            return Ok(());
        }
        if !list && !vector {
            let text = format!(
                "no code makes a value of type {}: as data alone (--data-only) it is left out",
                kind.name()
            );
            return Err(unsupported(text));
        }
        let names = self.nice_names(id, kind);
        let skipped = usize::from(names.is_some() && kind != Kind::Pairlist);
        let mut attributes = Vec::new();
        for (name, value) in self.arena.attributes(id).skip(skipped) {
            if value.is_null() {
                // No attribute of R is NULL: structure() would take it away.
                let place = format!("@{}", super::super::text::escaped(name));
                let kind = LossKind::AttributeDropped;
                self.losses.add_at(&place, kind, "NULL", "", 1)?;
                continue;
            }
            if self.arena.kind(value) == Kind::ExternalPtr && !self.data_only {
                // A pointer of the process that wrote the file, as of every data.table.
                if name == b".internal.selfref" {
                    self.losses.add_selfref()?;
                } else {
                    let place = format!("@{}", super::super::text::escaped(name));
                    let kind = LossKind::AttributeDropped;
                    self.losses.add_at(&place, kind, "externalptr", "", 1)?;
                }
                continue;
            }
            if name == b"dim" && !self.is_whole(value)? {
                return Err(unsupported("dim of other than whole numbers"));
            }
            attributes.push((attribute_name(name)?, value));
        }
        if !attributes.is_empty() {
            self.out.push_str("structure(");
            self.tasks.push(Task::Text(")"));
            for (name, value) in attributes.into_iter().rev() {
                self.tasks.push(Task::Value(value));
                self.tasks.push(Task::Tag(name));
                self.tasks.push(Task::Comma);
            }
        }
        match kind {
            Kind::List => {
                if let Body::List(items) = self.arena.data(id, None)? {
                    self.parts("list(", items.iter().copied(), names.as_deref());
                }
                Ok(())
            }
            Kind::Pairlist => {
                let cells = self.arena.cells(id);
                let values = cells.iter().map(|cell| cell.value);
                self.parts("pairlist(", values, names.as_deref());
                Ok(())
            }
            _ => self.vector(id, names.as_deref()),
        }
    }

    /// The parts of a list, as tasks.
    fn parts(
        &mut self,
        call: &str,
        parts: impl DoubleEndedIterator<Item = Id> + ExactSizeIterator,
        names: Option<&[String]>,
    ) {
        self.out.push_str(call);
        self.tasks.push(Task::Text(")"));
        for (at, value) in parts.enumerate().rev() {
            self.tasks.push(Task::Value(value));
            let name = names.and_then(|names| names.get(at));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                self.tasks.push(Task::Tag(name.clone()));
            }
            if at > 0 {
                self.tasks.push(Task::Comma);
            }
        }
    }

    /// Whether a value holds no numbers with a fraction: R takes none in `dim`.
    fn is_whole(&self, id: Id) -> Result<bool> {
        Ok(match self.arena.data(id, None)? {
            Body::Double(values) => values.iter().all(|one| whole(*one).is_some()),
            _ => true,
        })
    }

    /// Names that stand in front of the elements: those of a plain `names` attribute that comes
    /// first, some not empty. Quoted as they are written; empty where there is none.
    fn nice_names(&self, id: Id, kind: Kind) -> Option<Vec<String>> {
        if kind == Kind::Pairlist {
            let cells = self.arena.cells(id).iter();
            let name = |id| tag(self.arena.symbol(id)?);
            let names = cells.map(|cell| cell.tag.and_then(name).unwrap_or_default());
            return Some(names.collect());
        }
        let (name, value) = self.arena.attributes(id).next()?;
        if name != b"names" || !self.arena.node(value).attributes.is_null() {
            return None;
        }
        let Body::Character(strings) = &self.arena.node(value).body else {
            return None;
        };
        if strings.len() != self.arena.length(id) || kind == Kind::Complex || kind == Kind::Raw {
            return None;
        }
        let mut names = Vec::with_capacity(strings.len());
        let mut any = false;
        for text in strings.iter() {
            let bytes = text.bytes?;
            // What R would take for an argument of c().
            let argument = [&b"recursive"[..], b"use.names"].contains(&bytes);
            if argument && kind != Kind::List && !bytes.is_empty() {
                return None;
            }
            any |= !bytes.is_empty();
            names.push(match self.recoder.decode(text)? {
                Decoded::Same("") => String::new(),
                Decoded::Same(text) => tag(text.as_bytes())?,
                Decoded::Recoded(text) => tag(text.as_bytes())?,
                Decoded::Bytes(_) => return None,
            });
        }
        any.then_some(names)
    }

    fn vector(&mut self, id: Id, names: Option<&[String]>) -> Result<()> {
        match self.arena.data(id, None)? {
            Body::Logical(values) => {
                let text = |out: &mut String, value: &i32| {
                    out.push_str(match *value {
                        NA_INT => "NA",
                        0 => "FALSE",
                        _ => "TRUE",
                    });
                };
                self.elements(values, names, "logical(0)", text);
            }
            Body::Integer(values) => self.integers(values, names),
            Body::Double(values) => {
                let whole = self.arena.inherits(id, "integer64");
                self.doubles(values, names, whole)?;
            }
            Body::Complex(values) => {
                let (re, im): (Vec<f64>, Vec<f64>) =
                    values.iter().map(|[re, im]| (*re, *im)).unzip();
                if values.is_empty() {
                    self.out.push_str("complex(0)");
                    return Ok(());
                }
                self.out.push_str("complex(real = ");
                self.doubles(&re, None, false)?;
                self.out.push_str(", imaginary = ");
                self.doubles(&im, None, false)?;
                self.out.push(')');
            }
            Body::Raw(values) => {
                if values.is_empty() {
                    self.out.push_str("raw(0)");
                    return Ok(());
                }
                self.out.push_str("as.raw(");
                let text = |out: &mut String, value: &u8| hex_byte(out, *value);
                self.elements(values, None, "", text);
                self.out.push(')');
            }
            Body::Character(strings) => self.strings(strings, names)?,
            _ => self.out.push_str("NULL"),
        }
        Ok(())
    }

    /// Elements between the parentheses of `c`, or one alone.
    fn elements<T>(
        &mut self,
        values: &[T],
        names: Option<&[String]>,
        none: &str,
        text: impl Fn(&mut String, &T),
    ) {
        if values.is_empty() {
            self.out.push_str(none);
            return;
        }
        let call = values.len() > 1 || names.is_some();
        if call {
            self.out.push_str("c(");
        }
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.comma();
            }
            self.name(names, at);
            text(&mut self.out, value);
        }
        if call {
            self.out.push(')');
        }
    }

    fn name(&mut self, names: Option<&[String]>, at: usize) {
        let name = names.and_then(|names| names.get(at));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.out.push_str(name);
            self.out.push_str(" = ");
        }
    }

    fn integers(&mut self, values: &[i32], names: Option<&[String]>) {
        let rises = values.windows(2).all(|pair| match pair {
            [one, two] => one.checked_add(1) == Some(*two) && *one != NA_INT,
            _ => false,
        });
        if let ([first, .., last], true, None) = (values, rises, names) {
            let mut place = itoa::Buffer::new();
            self.out.push_str(place.format(*first));
            self.out.push(':');
            self.out.push_str(place.format(*last));
            return;
        }
        let na = if values.iter().all(|value| *value == NA_INT) {
            "NA_integer_"
        } else {
            "NA"
        };
        self.elements(values, names, "integer(0)", |out, value| {
            if *value == NA_INT {
                out.push_str(na);
                return;
            }
            out.push_str(itoa::Buffer::new().format(*value));
            out.push('L');
        });
    }

    /// Doubles; of `integer64` every bit of them counts, of which `NaN` and `NA_real_` have one pattern each.
    fn doubles(&mut self, values: &[f64], names: Option<&[String]>, integers: bool) -> Result<()> {
        let payload = |value: &&f64| {
            let bits = value.to_bits();
            let plain = if integers {
                [0x7FF8_0000_0000_0000, 0x7FF0_0000_0000_07A2]
            } else {
                [0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0000]
            };
            value.is_nan() && (integers || !is_na(**value)) && !plain.contains(&bits)
        };
        let odd = values.iter().filter(payload).count() as u64;
        let kind = LossKind::NanPayload;
        self.losses.add(kind, "NaN with other bits", "NaN", odd)?;
        let na = if values.iter().all(|value| is_na(*value)) {
            "NA_real_"
        } else {
            "NA"
        };
        self.elements(values, names, "numeric(0)", |out, value| {
            if is_na(*value) {
                out.push_str(na);
            } else {
                double(out, *value);
            }
        });
        Ok(())
    }

    fn strings(&mut self, strings: &Strings, names: Option<&[String]>) -> Result<()> {
        let all_na = (0..strings.len()).all(|at| strings.is_na(at));
        let call = strings.len() > 1 || names.is_some();
        if strings.is_empty() {
            self.out.push_str("character(0)");
            return Ok(());
        }
        if call {
            self.out.push_str("c(");
        }
        let mut lost = 0_u64;
        for (at, text) in strings.iter().enumerate() {
            if at > 0 {
                self.comma();
            }
            self.name(names, at);
            if text.bytes.is_some_and(|bytes| bytes.contains(&0)) {
                return Err(unsupported(
                    "a string with a zero byte, which no code makes",
                ));
            }
            match self.recoder.decode(text) {
                None if all_na => self.out.push_str("NA_character_"),
                None => self.out.push_str("NA"),
                Some(Decoded::Same(text)) => quoted(&mut self.out, text, '"'),
                Some(Decoded::Recoded(text)) => quoted(&mut self.out, &text, '"'),
                Some(Decoded::Bytes(bytes)) => {
                    lost = lost.saturating_add(1);
                    self.out.push('"');
                    for byte in bytes {
                        self.out.push_str("\\x");
                        hex_digits(&mut self.out, *byte);
                    }
                    self.out.push('"');
                }
            }
        }
        if call {
            self.out.push(')');
        }
        let kind = LossKind::BytesString;
        self.losses.add(
            kind,
            "string that is no text",
            "its bytes without the mark",
            lost,
        )
    }
}

/// The name of an attribute as an argument of `structure`, which takes some for its own.
fn attribute_name(name: &[u8]) -> Result<String> {
    let own = [".Names", ".Dim", ".Dimnames", ".Tsp", ".Label"];
    let own = own.iter().any(|own| own.as_bytes() == name);
    if own || name.is_empty() || b".Data".starts_with(name) {
        let shown = String::from_utf8_lossy(name).into_owned();
        return Err(unsupported(format!(
            "structure() makes no attribute {shown:?}"
        )));
    }
    tag(name).ok_or_else(|| unsupported("the name of an attribute that is no text"))
}

fn hex_digits(out: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 15] {
        out.extend(char::from_digit(u32::from(digit), 16));
    }
}

fn hex_byte(out: &mut String, byte: u8) {
    out.push_str("0x");
    hex_digits(out, byte);
}

/// The name of an argument as it is written; None for bytes that are no text.
fn tag(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    if name.contains(&0) {
        return None;
    }
    if syntactic(name) {
        return Some(text.to_string());
    }
    let mut tag = String::new();
    quoted(&mut tag, text, '`');
    Some(tag)
}

/// Text between quotes. Characters stand as they are; what cannot be seen, in octal.
fn quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !(byte < b' ' || byte == 0x7F || byte == b'\\' || char::from(byte) == quote) {
            continue;
        }
        out.push_str(text.get(from..at).unwrap_or_default());
        from = at.saturating_add(1);
        out.push('\\');
        match byte {
            b'\n' => out.push('n'),
            b'\t' => out.push('t'),
            b'\r' => out.push('r'),
            b'\\' => out.push('\\'),
            _ if char::from(byte) == quote => out.push(quote),
            _ => {
                for shift in [6, 3, 0] {
                    let digit = u32::from(byte >> shift & 7);
                    out.extend(char::from_digit(digit, 8));
                }
            }
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.push(quote);
}

/// A double that is no NA: whole numbers of up to 15 digits in decimal, others in hexadecimal,
/// which alone R reads exactly.
fn double(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
        return;
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    let value = value.abs();
    if value.is_infinite() {
        out.push_str("Inf");
        return;
    }
    if value < 1e15 && value.fract() == 0.0 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, from 0 to 1e15"
        )]
        out.push_str(itoa::Buffer::new().format(value as u64));
        return;
    }
    let bits = value.to_bits();
    let (mut digits, biased) = (bits & ((1 << 52) - 1), bits >> 52);
    let exponent = i64::try_from(biased.max(1))
        .unwrap_or_default()
        .saturating_sub(1023);
    out.push_str(if biased == 0 { "0x0" } else { "0x1" });
    if digits != 0 {
        out.push('.');
        // The 52 bits are 13 digits; zeros behind the last one stand for nothing.
        while digits != 0 {
            let digit = u32::try_from(digits >> 48 & 15).unwrap_or_default();
            out.extend(char::from_digit(digit, 16));
            digits = digits << 4 & ((1 << 52) - 1);
        }
    }
    out.push('p');
    if exponent >= 0 {
        out.push('+');
    }
    out.push_str(itoa::Buffer::new().format(exponent));
}
