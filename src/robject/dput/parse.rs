//! Values of R code, one after the other, with an explicit stack of open calls.

use super::super::account::Account;
use super::super::altrep::Deferred;
use super::super::kind::Special;
use super::super::model::{Body, Id, Node, NA_INT, NA_REAL};
use super::super::{Altrep, Builder, RObject, ReadOptions, Strings, TextEncoding};
use super::calls::{self, Call};
use super::gather::{Gather, Scalar, Values};
use super::lex::{Lexer, Token};
use super::number::{whole, Number};
use crate::compress::CancelToken;
use crate::{Error, ErrorKind, Result};

/// Ranges of more elements are deferred vectors, as they are in R.
const DEFERRED: u64 = 1 << 20;
/// Bytes of memory for vectors that a few letters stand for, and for each byte of the text.
const SHORT_TEXTS: u64 = 256 << 20;
const TEXT_RATIO: u64 = 64;

/// A value: one element without a node, or a node.
pub(super) enum Value<'a> {
    Scalar(Scalar<'a>),
    Range(i32, i32),
    Node(Id),
}

/// The name in front of `=`.
pub(super) type Tag = Option<Box<[u8]>>;

/// A call, or a parenthesis, that is not closed.
struct Open {
    call: Call,
    /// Where it begins.
    start: usize,
    tag: Tag,
    /// What `c` has so far, and the names of its elements once one has any.
    gather: Gather,
    names: Option<Strings>,
    /// A long range that is the only argument of `c` so far.
    alone: Option<(i32, i32)>,
    /// Arguments of other calls.
    arguments: Vec<(Tag, Id)>,
}

pub(super) struct Parser<'a, 'o> {
    pub(super) lexer: Lexer<'a>,
    pub(super) build: Builder,
    pub(super) account: Account,
    options: &'o ReadOptions,
    stack: Vec<Open>,
    /// Elements that `c` may still copy out of values inside it.
    copies: u64,
}

/// The value that the text is.
pub(super) fn object(text: &str, options: &ReadOptions) -> Result<RObject> {
    let mut bounded = options.clone();
    let most = (text.len() as u64).saturating_mul(TEXT_RATIO);
    let budget = &mut bounded.memory_budget;
    budget.get_or_insert(most.saturating_add(SHORT_TEXTS));
    let mut parser = Parser {
        lexer: Lexer::new(text),
        build: Builder::reading(&bounded),
        account: Account::new(&bounded, "dput"),
        options,
        stack: Vec::new(),
        copies: (text.len() as u64)
            .saturating_mul(8)
            .saturating_add(1 << 20),
    };
    let root = parser.whole()?;
    Ok(parser.build.finish(root))
}

impl<'a> Parser<'a, '_> {
    #[cold]
    pub(super) fn malformed(&self, text: impl Into<String>) -> Error {
        self.lexer.error(ErrorKind::Malformed, text)
    }

    fn whole(&mut self) -> Result<Id> {
        loop {
            let Some(mut value) = self.value()? else {
                continue;
            };
            // What stands behind a value: the next argument, or ends of calls.
            loop {
                let Some(open) = self.stack.last() else {
                    if self.lexer.peek().is_some() {
                        self.lexer.advance();
                        let text = "more text behind the value: one value is read, no operators";
                        return Err(self.lexer.error(ErrorKind::Malformed, text));
                    }
                    return self.node(value);
                };
                let start = open.start;
                self.argument(value)?;
                match self.lexer.peek() {
                    Some(b',') => {
                        self.lexer.advance();
                        break;
                    }
                    Some(b')') => {
                        self.lexer.advance();
                        value = self.close()?;
                    }
                    None => {
                        let text = format!("inside a call from {}", self.lexer.place(start));
                        return Err(self.lexer.ended(&text));
                    }
                    Some(_) => {
                        let _ = self.lexer.next()?;
                        let text = "found something behind a value that is no , and no )";
                        return Err(self.lexer.error(ErrorKind::Unsupported, text));
                    }
                }
            }
        }
    }

    /// The next value; None where a call was opened, whose first argument is next.
    fn value(&mut self) -> Result<Option<Value<'a>>> {
        let token = self.lexer.next()?;
        match token {
            Token::Name(name) if self.is_tag() => self.tag(name.as_bytes().into()),
            Token::Quoted(name) if self.is_tag() => self.tag(name.into()),
            Token::Text(text) if self.is_tag() => self.tag(text.bytes().into()),
            Token::Name(name) => match self.constant(name)? {
                Some(scalar) => Ok(Some(scalar)),
                None => self.open(name),
            },
            Token::Text(text) => Ok(Some(Value::Scalar(Scalar::Text(Some(text))))),
            Token::Number(number) => Ok(Some(self.behind(number, false)?)),
            Token::Mark(b'-') => {
                let number = match self.lexer.next()? {
                    Token::Number(number) => number,
                    Token::Name("Inf") => Number::Double(f64::INFINITY),
                    Token::Name("NaN") => Number::Double(f64::NAN),
                    Token::End => return Err(self.lexer.ended("behind a -")),
                    _ => {
                        let text = "a - that no number follows";
                        return Err(self.lexer.error(ErrorKind::Unsupported, text));
                    }
                };
                Ok(Some(self.behind(number, true)?))
            }
            Token::Mark(b'(') => self.push(Call::Paren),
            Token::Mark(b')') => {
                let open = self.stack.last();
                let empty = open.is_some_and(|open| {
                    open.call != Call::Paren
                        && open.tag.is_none()
                        && open.arguments.is_empty()
                        && open.gather.values.len() == 0
                        && open.alone.is_none()
                });
                if !empty {
                    return Err(self.malformed("a ) where a value is missing"));
                }
                let value = self.close()?;
                Ok(Some(value))
            }
            Token::End => {
                let inside = if self.stack.is_empty() {
                    "before any value"
                } else {
                    "where a value is missing"
                };
                Err(self.lexer.ended(inside))
            }
            Token::Quoted(_) => {
                let text = "a name where a value is needed: names are not looked up";
                Err(self.lexer.error(ErrorKind::Unsupported, text))
            }
            Token::Mark(mark) => {
                let text = format!("found {} where a value is needed", char::from(mark));
                Err(self.malformed(text))
            }
        }
    }

    /// Whether the token at hand is the name of an argument.
    fn is_tag(&mut self) -> bool {
        let open = self.stack.last();
        open.is_some_and(|open| open.call != Call::Paren && open.tag.is_none())
            && self.lexer.assigns()
    }

    fn tag(&mut self, name: Box<[u8]>) -> Result<Option<Value<'a>>> {
        self.account.take(name.len() as u64, 1)?;
        if let Some(open) = self.stack.last_mut() {
            open.tag = Some(name);
        }
        Ok(None)
    }

    /// A word that stands for a value.
    fn constant(&mut self, name: &str) -> Result<Option<Value<'a>>> {
        let na = f64::from_bits(NA_REAL);
        let scalar = match name {
            "TRUE" => Scalar::Logical(1),
            "FALSE" => Scalar::Logical(0),
            "NULL" => Scalar::Null,
            "NA" => Scalar::Logical(NA_INT),
            "NA_integer_" => Scalar::Integer(NA_INT),
            "NA_real_" => Scalar::Double(na),
            "NA_character_" => Scalar::Text(None),
            "NA_complex_" => Scalar::Complex([na, na]),
            "Inf" => return self.behind(Number::Double(f64::INFINITY), false).map(Some),
            "NaN" => return self.behind(Number::Double(f64::NAN), false).map(Some),
            _ => return Ok(None),
        };
        Ok(Some(Value::Scalar(scalar)))
    }

    /// What a number becomes with its sign, and with what stands behind it.
    fn behind(&mut self, number: Number, negative: bool) -> Result<Value<'a>> {
        let signed = |value: f64| if negative { -value } else { value };
        let (integer, value) = match number {
            Number::Imaginary(value) => {
                let re = if negative { -0.0 } else { 0.0 };
                return Ok(Value::Scalar(Scalar::Complex([re, signed(value)])));
            }
            Number::Integer(value) => (true, f64::from(value)),
            Number::Double(value) => (false, value),
        };
        let value = signed(value);
        match self.lexer.peek() {
            Some(b':') => {
                self.lexer.advance();
                let to = self.signed()?;
                if let (Some(from), Some(to)) = (whole(value), whole(to)) {
                    return Ok(Value::Range(from, to));
                }
                let text = "a range of other than whole numbers of 32 bits";
                return Err(self.lexer.error(ErrorKind::Unsupported, text));
            }
            Some(sign @ (b'+' | b'-')) => {
                self.lexer.advance();
                let Token::Number(Number::Imaginary(imaginary)) = self.lexer.next()? else {
                    let text = "operators other than of complex numbers are not read";
                    return Err(self.lexer.error(ErrorKind::Unsupported, text));
                };
                let parts = if sign == b'+' {
                    [value + 0.0, 0.0 + imaginary]
                } else {
                    [value - 0.0, 0.0 - imaginary]
                };
                return Ok(Value::Scalar(Scalar::Complex(parts)));
            }
            _ => {}
        }
        Ok(Value::Scalar(match whole(value) {
            Some(whole) if integer => Scalar::Integer(whole),
            _ => Scalar::Double(value),
        }))
    }

    /// The end of a range.
    fn signed(&mut self) -> Result<f64> {
        let (token, sign) = match self.lexer.next()? {
            Token::Mark(b'-') => (self.lexer.next()?, -1.0),
            token => (token, 1.0),
        };
        match token {
            Token::Number(Number::Integer(value)) => Ok(sign * f64::from(value)),
            Token::Number(Number::Double(value)) => Ok(sign * value),
            Token::End => Err(self.lexer.ended("inside a range")),
            _ => Err(self.malformed("a range without a number behind its :")),
        }
    }

    /// A call by name.
    fn open(&mut self, name: &str) -> Result<Option<Value<'a>>> {
        let start = self.lexer.start;
        let call = Call::by_name(name);
        if let (Some(call), Some(b'(')) = (call, self.lexer.peek()) {
            self.lexer.advance();
            self.lexer.start = start;
            return self.push(call);
        }
        let shown: String = name.chars().take(40).collect();
        let text = if self.lexer.peek() == Some(b'(') {
            format!("{shown}(...) is no call that makes data: nothing is evaluated")
        } else {
            format!("{shown} is a name where a value is needed: names are not looked up")
        };
        Err(self.lexer.error_at(ErrorKind::Unsupported, start, text))
    }

    fn push(&mut self, call: Call) -> Result<Option<Value<'a>>> {
        if self.stack.len() >= self.options.max_depth {
            let text = format!(
                "more than {} values inside each other: raise max_depth to read on",
                self.options.max_depth
            );
            return Err(self.lexer.error(ErrorKind::Limit, text));
        }
        let cancel = self.options.cancel.as_ref();
        if cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
        }
        self.stack.push(Open {
            call,
            start: self.lexer.start,
            tag: None,
            gather: Gather::default(),
            names: None,
            alone: None,
            arguments: Vec::new(),
        });
        Ok(None)
    }

    /// A node for a value.
    pub(super) fn node(&mut self, value: Value<'_>) -> Result<Id> {
        let body = match value {
            Value::Node(id) => return Ok(id),
            Value::Scalar(scalar) => scalar.body(),
            Value::Range(from, to) if elements(from, to) > DEFERRED => {
                return self.deferred(from, to);
            }
            Value::Range(from, to) => Some(Body::Integer(self.range(from, to)?)),
        };
        match body {
            None => Ok(Id::NULL),
            Some(body) => self.make(body),
        }
    }

    pub(super) fn make(&mut self, body: Body) -> Result<Id> {
        self.account.node()?;
        self.account.take(1, 16)?;
        self.build.push_node(Node::new(body))
    }

    /// A range that is made when its elements are asked for: what R's serialization calls a
    /// `compact_intseq`.
    fn deferred(&mut self, from: i32, to: i32) -> Result<Id> {
        let class = self.build.symbol("compact_intseq")?;
        let package = self.build.symbol("base")?;
        let code = self.make(Body::Integer(vec![13]))?;
        let cells = [class, package, code].map(|value| calls::cell(None, value));
        let (cells, tail) = (cells.to_vec(), Id::NULL);
        let info = self.make(Body::Pairs { cells, tail })?;
        #[allow(clippy::cast_precision_loss, reason = "at most 2^32")]
        let length = elements(from, to) as f64;
        let step = if from <= to { 1.0 } else { -1.0 };
        let state = self.make(Body::Double(vec![length, f64::from(from), step]))?;
        self.make(Body::Altrep(Box::new(Altrep::new(info, state))))
    }

    fn range(&mut self, from: i32, to: i32) -> Result<Vec<i32>> {
        let taken = self.account.take(elements(from, to), 4);
        taken.map_err(|error| placed(&error, &self.lexer))?;
        Ok(if from <= to {
            (from..=to).collect()
        } else {
            (to..=from).rev().collect()
        })
    }

    /// Gives a value to the innermost call.
    fn argument(&mut self, value: Value<'a>) -> Result<()> {
        let Some(open) = self.stack.last_mut() else {
            return Ok(());
        };
        let tag = open.tag.take();
        if open.call != Call::C {
            let id = self.node(value)?;
            self.account.take(1, size_of::<(Tag, Id)>())?;
            if let Some(open) = self.stack.last_mut() {
                open.arguments.push((tag, id));
            }
            return Ok(());
        }
        let value = self.as_range(value);
        let Some(open) = self.stack.last_mut() else {
            return Ok(());
        };
        if let Value::Range(from, to) = value {
            let first = open.gather.values.len() == 0 && open.alone.is_none();
            if first && tag.is_none() && elements(from, to) > DEFERRED {
                open.alone = Some((from, to));
                return Ok(());
            }
        }
        self.gather_alone()?;
        let Some(open) = self.stack.last_mut() else {
            return Ok(());
        };
        let before = open.gather.values.len();
        match value {
            Value::Scalar(scalar) => {
                self.account.take(1, 8)?;
                let gathered = open.gather.push(scalar, &mut self.build);
                gathered.map_err(|error| placed(&error, &self.lexer))?;
            }
            Value::Range(from, to) => {
                let range = self.range(from, to)?;
                self.gather(Values::Integer(range))?;
            }
            Value::Node(id) => self.gather_node(id)?,
        }
        self.name(before, tag);
        Ok(())
    }

    /// A deferred vector as the range that it is; other values as they are.
    fn as_range(&self, value: Value<'a>) -> Value<'a> {
        let Value::Node(id) = value else {
            return value;
        };
        let arena = self.build.arena();
        let plain = arena.node(id).attributes.is_null();
        let Some(Deferred::Sequence {
            length,
            first,
            step,
            ..
        }) = arena.deferred(id).filter(|_| plain)
        else {
            return value;
        };
        #[allow(clippy::cast_precision_loss, reason = "at most 2^32")]
        let last = first + (length as f64 - 1.0) * step;
        match (whole(first), whole(last)) {
            (Some(from), Some(to)) => Value::Range(from, to),
            _ => value,
        }
    }

    /// Makes the range that was the only argument of `c`, before another one comes.
    fn gather_alone(&mut self) -> Result<()> {
        let alone = self.stack.last_mut().and_then(|open| open.alone.take());
        let Some((from, to)) = alone else {
            return Ok(());
        };
        let range = self.range(from, to)?;
        self.gather(Values::Integer(range))
    }

    /// The names of the elements from `before` on.
    fn name(&mut self, before: usize, tag: Tag) {
        let Some(open) = self.stack.last_mut() else {
            return;
        };
        if tag.is_none() && open.names.is_none() {
            return;
        }
        let added = open.gather.values.len().saturating_sub(before);
        let names = open
            .names
            .get_or_insert_with(|| (0..before).map(|_| Some("")).collect());
        let tag = tag.unwrap_or_default();
        for at in 1..=added {
            if added == 1 || tag.is_empty() {
                names.push(&tag, TextEncoding::guess(&tag).levels());
            } else {
                let name = [&tag, at.to_string().as_bytes()].concat();
                names.push(&name, TextEncoding::guess(&name).levels());
            }
        }
    }

    fn gather_node(&mut self, id: Id) -> Result<()> {
        if !self.build.node(id).attributes.is_null() {
            let text = "c() of a value with attributes, whose methods would be needed";
            return Err(self.lexer.error(ErrorKind::Unsupported, text));
        }
        let null = Body::Special(Special::Null);
        // Nothing else knows the node, which was made for this argument.
        let body = self.build.node_mut(id);
        let body = body.map_or(Body::Special(Special::Null), |node| {
            std::mem::replace(&mut node.body, null)
        });
        let Some(values) = Values::of(body) else {
            let text = "c() of a value that is neither a vector nor a list";
            return Err(self.lexer.error(ErrorKind::Unsupported, text));
        };
        self.gather(values)
    }

    fn gather(&mut self, values: Values) -> Result<()> {
        let Some(open) = self.stack.last_mut() else {
            return Ok(());
        };
        if open.gather.values.len() == 0 {
            open.gather = Gather::of(values);
            return Ok(());
        }
        let count = values.len() as u64;
        let Some(left) = self.copies.checked_sub(count) else {
            let text = "c() inside c() too often for the length of the text";
            return Err(self.lexer.error(ErrorKind::Limit, text));
        };
        self.copies = left;
        let gathered = open.gather.append(values, &mut self.build);
        gathered.map_err(|error| placed(&error, &self.lexer))
    }

    /// What the innermost call makes.
    fn close(&mut self) -> Result<Value<'a>> {
        let Some(open) = self.stack.pop() else {
            return Err(self.malformed("a ) that closes nothing"));
        };
        if let Some((from, to)) = open.alone {
            return Ok(Value::Range(from, to));
        }
        if open.call == Call::C {
            let Some(body) = open.gather.values.body() else {
                return Ok(Value::Node(Id::NULL));
            };
            let id = self.make(body)?;
            if let Some(names) = open.names {
                let names = self.make(Body::Character(Box::new(names)))?;
                self.build.set_attributes(id, &[("names", names)])?;
            }
            return Ok(Value::Node(id));
        }
        let end = self.lexer.start;
        self.lexer.start = open.start;
        let id = calls::finish(self, open.call, open.arguments)?;
        self.lexer.start = end;
        Ok(Value::Node(id))
    }
}

/// How many elements a range has.
fn elements(from: i32, to: i32) -> u64 {
    u64::from(from.abs_diff(to)).saturating_add(1)
}

/// An error of a value, with its place.
fn placed(error: &Error, lexer: &Lexer<'_>) -> Error {
    lexer.error(error.kind(), error.to_string())
}
