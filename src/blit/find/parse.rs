//! From the text of a query to its parts, by the grammar of RFC 9535.

use super::query::{Expr, Op, Operand, Query, Segment, Selector, Slice};
use crate::{Error, ErrorKind, Result};

/// Most filters and parentheses inside each other.
const MAX_NESTING: usize = 32;
/// Longest text of a query.
const MAX_LENGTH: usize = 1 << 16;
/// Indices are integers that every implementation of JSON has exactly.
const LARGEST_INDEX: i64 = (1 << 53) - 1;

/// Parses a whole query; gives it and its names.
///
/// # Errors
/// `Usage` for text that is no query; `Unsupported` for what is outside the subset; `Limit`.
pub(super) fn parse(text: &str) -> Result<(Query, Vec<String>)> {
    if text.len() > MAX_LENGTH {
        let text = format!("a query of more than {MAX_LENGTH} bytes");
        return Err(Error::new(ErrorKind::Limit, text).with_format("jsonpath"));
    }
    let mut parser = Parser {
        text,
        at: 0,
        nesting: 0,
        names: Vec::new(),
    };
    if !parser.take("$") {
        return Err(parser.wrong("a query begins with $"));
    }
    let segments = parser.segments()?;
    if parser.at < text.len() {
        return Err(parser.wrong("something that is no segment"));
    }
    let query = Query {
        absolute: true,
        segments,
    };
    Ok((query, parser.names))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    nesting: usize,
    names: Vec<String>,
}

/// What stands at one side of a comparison, or alone.
enum Term {
    Literal(Operand),
    Query(Query),
    Function(Operand),
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at = self.at.saturating_add(token.len());
        }
        found
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at = self.at.saturating_add(1);
        }
    }

    #[cold]
    fn wrong(&self, text: &str) -> Error {
        Error::new(ErrorKind::Usage, format!("{text} in a JSONPath query"))
            .with_format("jsonpath")
            .with_offset(self.at as u64)
    }

    fn enter(&mut self) -> Result<()> {
        self.nesting = self.nesting.saturating_add(1);
        if self.nesting <= MAX_NESTING {
            return Ok(());
        }
        let text = format!("more than {MAX_NESTING} filters and parentheses inside each other");
        let error = Error::new(ErrorKind::Limit, text).with_format("jsonpath");
        Err(error.with_offset(self.at as u64))
    }

    fn leave(&mut self) {
        self.nesting = self.nesting.saturating_sub(1);
    }

    // --- segments and selectors ---

    fn segments(&mut self) -> Result<Vec<Segment>> {
        let mut segments = Vec::new();
        loop {
            let before = self.at;
            self.space();
            match self.peek() {
                Some(b'[') => {
                    let selectors = self.bracketed()?;
                    segments.push(Segment::child(selectors));
                }
                Some(b'.') => segments.push(self.dotted()?),
                _ => {
                    // Space belongs to a segment only if one follows.
                    self.at = before;
                    return Ok(segments);
                }
            }
        }
    }

    fn dotted(&mut self) -> Result<Segment> {
        let descendant = self.take("..");
        if !descendant {
            self.take(".");
        }
        let selectors = if self.take("*") {
            vec![Selector::Wildcard]
        } else if descendant && self.peek() == Some(b'[') {
            self.bracketed()?
        } else {
            let name = self.shorthand()?;
            vec![self.name(name)]
        };
        Ok(Segment {
            selectors,
            descendant,
        })
    }

    fn shorthand(&mut self) -> Result<String> {
        let rest = self.rest();
        let first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        if !rest.starts_with(first) {
            return Err(self.wrong("a name, * or [ is missing"));
        }
        let end = rest.find(|c: char| !first(c) && !c.is_ascii_digit());
        let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let name = name.to_string();
        self.at = self.at.saturating_add(name.len());
        Ok(name)
    }

    fn name(&mut self, name: String) -> Selector {
        let known = self.names.iter().position(|known| *known == name);
        Selector::Name(known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len().saturating_sub(1)
        }))
    }

    fn bracketed(&mut self) -> Result<Vec<Selector>> {
        self.take("[");
        let mut selectors = Vec::new();
        loop {
            self.space();
            selectors.push(self.selector()?);
            self.space();
            if self.take("]") {
                return Ok(selectors);
            }
            if !self.take(",") {
                return Err(self.wrong("',' or ']' is missing"));
            }
        }
    }

    fn selector(&mut self) -> Result<Selector> {
        match self.peek() {
            Some(b'*') => {
                self.take("*");
                Ok(Selector::Wildcard)
            }
            Some(b'\'' | b'"') => {
                let name = self.string()?;
                Ok(self.name(name))
            }
            Some(b'?') => {
                self.take("?");
                self.space();
                self.enter()?;
                let expr = self.or()?;
                self.leave();
                Ok(Selector::Filter(expr))
            }
            Some(b'-' | b'0'..=b'9' | b':') => self.index_or_slice(),
            _ => Err(self.wrong("no selector")),
        }
    }

    fn index_or_slice(&mut self) -> Result<Selector> {
        let start = self.optional_integer()?;
        let behind = self.at;
        self.space();
        if !self.take(":") {
            self.at = behind;
            let index = start.ok_or_else(|| self.wrong("no selector"))?;
            return Ok(Selector::Index(index));
        }
        self.space();
        let end = self.optional_integer()?;
        let behind = self.at;
        self.space();
        let mut step = None;
        if self.take(":") {
            let behind = self.at;
            self.space();
            step = self.optional_integer()?;
            if step.is_none() {
                self.at = behind;
            }
        } else {
            self.at = behind;
        }
        Ok(Selector::Slice(Slice {
            start,
            end,
            step: step.unwrap_or(1),
        }))
    }

    fn optional_integer(&mut self) -> Result<Option<i64>> {
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return Ok(None);
        }
        let digits = |c: char| !c.is_ascii_digit();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let unsigned = rest.get(sign..).unwrap_or_default();
        let unsigned = unsigned
            .get(..unsigned.find(digits).unwrap_or(unsigned.len()))
            .unwrap_or_default();
        let end = sign.saturating_add(unsigned.len());
        let leading = unsigned.len() > 1 && unsigned.starts_with('0');
        if unsigned.is_empty() || leading || (sign > 0 && unsigned == "0") {
            return Err(self.wrong("no integer"));
        }
        let value = rest.get(..end).and_then(|text| text.parse::<i64>().ok());
        match value.filter(|value| value.unsigned_abs() <= LARGEST_INDEX.unsigned_abs()) {
            Some(value) => {
                self.at = self.at.saturating_add(end);
                Ok(Some(value))
            }
            None => Err(self.wrong("an index beyond 2^53 - 1")),
        }
    }

    // --- filters ---

    fn or(&mut self) -> Result<Expr> {
        self.list("||", Self::and, Expr::Or)
    }

    fn and(&mut self) -> Result<Expr> {
        self.list("&&", Self::basic, Expr::And)
    }

    /// One or more of a kind between equal signs.
    fn list(
        &mut self,
        sign: &str,
        one: fn(&mut Self) -> Result<Expr>,
        all: fn(Vec<Expr>) -> Expr,
    ) -> Result<Expr> {
        let first = one(self)?;
        let mut others = Vec::new();
        loop {
            let before = self.at;
            self.space();
            if !self.take(sign) {
                self.at = before;
                break;
            }
            self.space();
            others.push(one(self)?);
        }
        if others.is_empty() {
            return Ok(first);
        }
        others.insert(0, first);
        Ok(all(others))
    }

    fn basic(&mut self) -> Result<Expr> {
        let negated = self.peek() == Some(b'!');
        if negated {
            self.take("!");
            self.space();
        }
        let expr = if self.take("(") {
            self.enter()?;
            self.space();
            let expr = self.or()?;
            self.space();
            if !self.take(")") {
                return Err(self.wrong("')' is missing"));
            }
            self.leave();
            expr
        } else {
            self.comparison_or_test(negated)?
        };
        Ok(if negated {
            Expr::Not(Box::new(expr))
        } else {
            expr
        })
    }

    fn comparison_or_test(&mut self, negated: bool) -> Result<Expr> {
        let left = self.term()?;
        let before = self.at;
        self.space();
        let op = self.op();
        let Some(op) = op.filter(|_| !negated) else {
            self.at = before;
            return match left {
                Term::Query(query) => Ok(Expr::Exists(query)),
                Term::Literal(_) => Err(self.wrong("a literal that is compared with nothing")),
                Term::Function(_) => Err(self.wrong("a function that is compared with nothing")),
            };
        };
        self.space();
        let right = self.term()?;
        Ok(Expr::Compare(
            op,
            Box::new([self.comparable(left)?, self.comparable(right)?]),
        ))
    }

    fn op(&mut self) -> Option<Op> {
        let signs = [
            ("==", Op::Equal),
            ("!=", Op::NotEqual),
            ("<=", Op::AtMost),
            (">=", Op::AtLeast),
            ("<", Op::Less),
            (">", Op::Greater),
        ];
        let found = signs.iter().find(|(sign, _)| self.take(sign));
        found.map(|&(_, op)| op)
    }

    fn comparable(&self, term: Term) -> Result<Operand> {
        match term {
            Term::Literal(operand) | Term::Function(operand) => Ok(operand),
            Term::Query(query) if query.is_singular() => Ok(Operand::Query(query)),
            Term::Query(_) => Err(self.wrong("a query of several values that is compared")),
        }
    }

    fn term(&mut self) -> Result<Term> {
        match self.peek() {
            Some(b'@' | b'$') => {
                let absolute = self.take("$");
                if !absolute {
                    self.take("@");
                }
                let segments = self.segments()?;
                Ok(Term::Query(Query { absolute, segments }))
            }
            Some(b'\'' | b'"') => Ok(Term::Literal(Operand::Text(self.string()?))),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z') => self.word(),
            _ => Err(self.wrong("no value that can be compared or tested")),
        }
    }

    fn number(&mut self) -> Result<Term> {
        let Some(token) = crate::blit::number::token(self.rest().as_bytes()) else {
            return Err(self.wrong("no number"));
        };
        let text = self.rest().get(..token.len).unwrap_or_default();
        let text = text.to_string();
        self.at = self.at.saturating_add(token.len);
        if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong("a number with a leading zero"));
        }
        Ok(Term::Literal(Operand::number(&text)))
    }

    fn word(&mut self) -> Result<Term> {
        let rest = self.rest();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().to_string();
        let start = self.at;
        self.at = self.at.saturating_add(end);
        if self.take("(") {
            return self.function(&word, start);
        }
        let literal = match word.as_str() {
            "true" => Operand::Bool(true),
            "false" => Operand::Bool(false),
            "null" => Operand::Null,
            _ => {
                self.at = start;
                return Err(self.wrong("no value that can be compared or tested"));
            }
        };
        Ok(Term::Literal(literal))
    }

    fn function(&mut self, name: &str, start: usize) -> Result<Term> {
        match name {
            "length" | "count" => {}
            "match" | "search" | "value" => {
                let text = format!("the function {name}() of JSONPath: length() and count() are");
                let error = Error::new(ErrorKind::Unsupported, text).with_format("jsonpath");
                return Err(error.with_offset(start as u64));
            }
            _ => {
                self.at = start;
                return Err(self.wrong("a function that does not exist"));
            }
        }
        self.enter()?;
        self.space();
        let argument = self.term()?;
        self.space();
        if !self.take(")") {
            return Err(self.wrong("one argument and ')' are expected"));
        }
        self.leave();
        let operand = match (name, argument) {
            ("count", Term::Query(query)) => Operand::Count(query),
            ("count", _) => return Err(self.wrong("count() of what is no query")),
            (_, argument) => Operand::Length(Box::new(self.comparable(argument)?)),
        };
        Ok(Term::Function(operand))
    }

    // --- strings ---

    fn string(&mut self) -> Result<String> {
        let quote = if self.take("'") { '\'' } else { '"' };
        if quote == '"' {
            self.take("\"");
        }
        let mut out = String::new();
        loop {
            let mut rest = self.rest().chars();
            let Some(c) = rest.next() else {
                return Err(self.wrong("a string that does not end"));
            };
            if c < ' ' {
                return Err(self.wrong("a control character in a string"));
            }
            self.at = self.at.saturating_add(c.len_utf8());
            match c {
                _ if c == quote => return Ok(out),
                '\\' => out.push(self.escape(quote)?),
                _ => out.push(c),
            }
        }
    }

    fn escape(&mut self, quote: char) -> Result<char> {
        let Some(c) = self.rest().chars().next() else {
            return Err(self.wrong("a string that does not end"));
        };
        let made = match c {
            'b' => '\u{8}',
            'f' => '\u{C}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '/' | '\\' => c,
            'u' => {
                self.at = self.at.saturating_add(1);
                return self.unicode();
            }
            _ if c == quote => c,
            _ => return Err(self.wrong("an escape that strings do not have")),
        };
        self.at = self.at.saturating_add(c.len_utf8());
        Ok(made)
    }

    fn unicode(&mut self) -> Result<char> {
        let unit = self.hex()?;
        let whole = if (0xD800..=0xDBFF).contains(&unit) {
            if !self.take("\\u") {
                return Err(self.wrong("half of a surrogate pair"));
            }
            let low = self.hex()?;
            if !(0xDC00..=0xDFFF).contains(&low) {
                return Err(self.wrong("half of a surrogate pair"));
            }
            // The twenty bits of a pair count from the first character that needs one.
            ((unit & 0x3FF) << 10 | low & 0x3FF).saturating_add(0x1_0000)
        } else {
            unit
        };
        char::from_u32(whole).ok_or_else(|| self.wrong("half of a surrogate pair"))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.rest().get(..4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at = self.at.saturating_add(4);
                Ok(unit)
            }
            None => Err(self.wrong("\\u without four hexadecimal digits")),
        }
    }
}
