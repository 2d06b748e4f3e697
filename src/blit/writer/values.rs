//! Values as they come.

use super::{too_long, Surrogates, Writer};
use crate::blit::node::{Kind, Node};
use crate::blit::stack;
use crate::blit::{strings, surrogates};
use crate::{Error, ErrorKind, Result};

/// A number of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A signed integer.
    Int(i64),
    /// A float, NaN and infinities included.
    Float(f64),
}

/// Which NaN it is carries no meaning, and equal values have equal bytes.
#[inline]
fn float(value: f64) -> Node {
    Node::float(if value.is_nan() { f64::NAN } else { value })
}

impl Writer<'_> {
    /// A null.
    ///
    /// # Errors
    /// This and all others: `Usage` for a value where none belongs; `Limit` for what is too much.
    #[inline]
    pub fn null(&mut self) -> Result<()> {
        self.push(Node::NULL)
    }

    /// A truth value.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn bool(&mut self, value: bool) -> Result<()> {
        self.push(Node::bool(value))
    }

    /// A signed integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn int(&mut self, value: i64) -> Result<()> {
        self.push(Node::int(value))
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn uint(&mut self, value: u64) -> Result<()> {
        self.push(match i64::try_from(value) {
            Ok(value) => Node::int(value),
            Err(_) => Node::uint(value),
        })
    }

    /// A float, NaN and infinities included.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn float(&mut self, value: f64) -> Result<()> {
        self.push(float(value))
    }

    /// An array of numbers, all at once; false, and nothing is written, if one of `values` is None.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    ///
    /// # Example
    /// ```
    /// use tare::blit::{Number, Options, Value, View, Writer};
    ///
    /// let mut writer = Writer::new(Options::default())?;
    /// let point = [Number::Int(8), Number::Float(47.5)];
    /// assert!(writer.numbers(point.into_iter().map(Some))?);
    /// let document = writer.finish()?;
    /// let view = View::open(&document)?;
    /// assert!(matches!(view.pointer("/1")?, Some(Value::Float(47.5))));
    /// # Ok::<(), tare::Error>(())
    /// ```
    #[inline]
    pub fn numbers(&mut self, values: impl Iterator<Item = Option<Number>>) -> Result<bool> {
        self.expect_value()?;
        self.check_depth()?;
        let nodes = values.map(|value| {
            value.map(|value| match value {
                Number::Int(value) => Node::int(value),
                Number::Float(value) => float(value),
            })
        });
        let Some(node) = self.tape.array(nodes) else {
            return Ok(false);
        };
        self.place(node);
        Ok(true)
    }

    /// A number as its JSON text, kept exactly.
    ///
    /// # Errors
    /// `Usage` if it is no JSON number; as [`null`](Self::null).
    pub fn number_text(&mut self, text: &str) -> Result<()> {
        if !crate::blit::number::is_number(text.as_bytes()) {
            let text = format!("{text:?} is no JSON number");
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        let node = self.text(Kind::NumText, text.as_bytes())?;
        self.place(node);
        Ok(())
    }

    /// A string.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn str(&mut self, text: &str) -> Result<()> {
        let node = self.text(strings::kind_of(text.as_bytes()), text.as_bytes())?;
        self.place(node);
        Ok(())
    }

    /// A string that may hold halves of surrogate pairs, as three bytes each.
    ///
    /// # Errors
    /// `Malformed` for those where they are not kept, and for what is no such text.
    pub fn wtf8(&mut self, text: &[u8]) -> Result<()> {
        self.check_wtf8(text)?;
        let kind = match std::str::from_utf8(text) {
            Ok(_) => strings::kind_of(text),
            Err(_) => Kind::Str,
        };
        let node = self.text(kind, text)?;
        self.place(node);
        Ok(())
    }

    /// Bytes that are no text.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let node = self.text(Kind::Bytes, bytes)?;
        self.place(node);
        Ok(())
    }

    /// Starts an array.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn begin_array(&mut self) -> Result<()> {
        self.begin(false)
    }

    /// Starts an object, of which names and values take turns.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn begin_object(&mut self) -> Result<()> {
        self.begin(true)
    }

    #[inline]
    fn push(&mut self, node: Node) -> Result<()> {
        self.expect_value()?;
        self.place(node);
        Ok(())
    }

    #[inline]
    fn begin(&mut self, is_object: bool) -> Result<()> {
        // Those who walk over values of their own may recurse.
        stack::check(self.open.len())?;
        self.expect_value()?;
        self.open(is_object)
    }

    /// Text where a value belongs; what may cut the tape comes before there is text on it.
    #[inline]
    fn text(&mut self, kind: Kind, text: &[u8]) -> Result<Node> {
        self.expect_value()?;
        if u32::try_from(text.len()).is_err() {
            return Err(too_long());
        }
        Ok(self.tape.text(kind, text))
    }

    /// Notes that a string has halves of surrogate pairs.
    ///
    /// # Errors
    /// `Malformed` where they are not kept.
    pub(in crate::blit) fn surrogate(&mut self) -> Result<()> {
        if self.options.surrogates == Surrogates::Error {
            let text = "half of a surrogate pair, which is no text; surrogates=\"keep\" keeps it";
            return Err(Error::new(ErrorKind::Malformed, text).with_format("blit"));
        }
        self.has_surrogates = true;
        Ok(())
    }

    pub(super) fn check_wtf8(&mut self, text: &[u8]) -> Result<()> {
        if std::str::from_utf8(text).is_ok() {
            return Ok(());
        }
        if !surrogates::is_wtf8(text) {
            return Err(
                Error::new(ErrorKind::Malformed, "text that is not UTF-8").with_format("blit")
            );
        }
        self.surrogate()
    }
}
