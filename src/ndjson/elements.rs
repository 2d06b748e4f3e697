//! Values of JSON with their own text: lines become the elements of an array, and an array becomes lines.

use serde::de::IgnoredAny;

use super::{placed, space};
use crate::blit::{cut, wrong};
use crate::Result;

/// Lines of JSON, checked and without white space between their tokens, with a separator between them.
///
/// Numbers and strings keep their spelling, objects their names in order. Blank lines are left out.
///
/// # Errors
/// `Malformed`: a line is invalid JSON; with the byte offset in the text.
///
/// # Example
/// ```
/// let (text, count) = tare::ndjson::elements(b"{\"a\": 1.50}\n\n[1, 2]\n", b",")?;
/// assert_eq!((&b"{\"a\":1.50},[1,2]"[..], 2), (&text[..], count));
/// # Ok::<(), tare::Error>(())
/// ```
pub fn elements(lines: &[u8], separator: &[u8]) -> Result<(Vec<u8>, u64)> {
    let mut out = Vec::with_capacity(lines.len());
    let (mut count, mut start) = (0_u64, 0);
    let ends = memchr::memchr_iter(b'\n', lines).chain([lines.len()]);
    for end in ends {
        let line = lines.get(start..end).unwrap_or_default();
        if space(line, 0) < line.len() {
            check(line).map_err(|error| placed(error, start))?;
            if count > 0 {
                out.extend_from_slice(separator);
            }
            compact(line, &mut out);
            count = count.wrapping_add(1);
        }
        start = end.wrapping_add(1);
    }
    Ok((out, count))
}

/// Whether a text is one value of JSON; half of a surrogate pair is an escape as any other (RFC 8259, 8.2).
fn check(line: &[u8]) -> Result<()> {
    let valid =
        |error: serde_json::Error| wrong(&error.to_string(), error.column().saturating_sub(1));
    let text = std::str::from_utf8(line).map_err(|error| wrong("no UTF-8", error.valid_up_to()))?;
    serde_json::from_str::<IgnoredAny>(text).map_err(valid)?;
    Ok(())
}

/// Appends a valid text without the white space that stands outside of its strings.
fn compact(text: &[u8], out: &mut Vec<u8>) {
    let (mut start, mut at) = (0, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                out.extend_from_slice(text.get(start..at).unwrap_or_default());
                start = at.wrapping_add(1);
            }
            b'"' => {
                at = string_end(text, at.wrapping_add(1)).unwrap_or(text.len());
                continue;
            }
            _ => {}
        }
        at = at.wrapping_add(1);
    }
    out.extend_from_slice(text.get(start..).unwrap_or_default());
}

/// Where a string ends from a place within it, behind its quote; none if the text ends first.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let found = memchr::memchr2(b'"', b'\\', rest)?;
        let here = at.wrapping_add(found);
        if rest.get(found) == Some(&b'"') {
            return Some(here.wrapping_add(1));
        }
        at = here.wrapping_add(2);
    }
}

/// Cuts the text of an array into a line for each element, in pieces of any size.
///
/// What is within the elements is not checked: [`elements`] does that.
///
/// # Example
/// ```
/// use tare::ndjson::ArrayLines;
///
/// let mut array = ArrayLines::default();
/// let mut lines = array.pass(b"[{\"a\":\n 1}, {\"a")?;
/// lines.extend(array.pass(b"\": 2}]\n")?);
/// array.end()?;
/// assert_eq!(&b"{\"a\":  1}\n {\"a\": 2}\n"[..], &lines[..]);
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ArrayLines {
    place: Place,
    /// Brackets that are open within the element.
    level: u64,
    text: Text,
    /// Whether the element has more than white space so far, and whether one stood before it.
    begun: bool,
    some: bool,
    held: Vec<u8>,
    /// Bytes passed before.
    passed: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Within,
    Behind,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash that escapes the next byte.
    Escaped,
}

impl ArrayLines {
    /// Passes over more of the text; gives the lines of the elements that end in it.
    ///
    /// # Errors
    /// `Malformed`: no array, an element is missing, or something stands behind it; with the byte offset in all of the text.
    pub fn pass(&mut self, text: &[u8]) -> Result<Vec<u8>> {
        let mut out = std::mem::take(&mut self.held);
        out.reserve(text.len());
        let (mut whole, mut at) = (0, 0);
        while let Some(&byte) = text.get(at) {
            if self.text != Text::Outside {
                at = self.string(text, at, &mut out);
                continue;
            }
            let place = self.passed.saturating_add(at);
            at = at.wrapping_add(1);
            match (self.place, byte) {
                (Place::Within, b' ' | b'\t' | b'\r' | b'\n') => out.push(b' '),
                (_, b' ' | b'\t' | b'\r' | b'\n') => {}
                (Place::Before, b'[') => self.place = Place::Within,
                (Place::Before, _) => return Err(wrong("no array", place)),
                (Place::Behind, _) => return Err(wrong("something after the array", place)),
                (Place::Within, b',' | b']') if self.level == 0 => {
                    if self.begun {
                        out.push(b'\n');
                        whole = out.len();
                    } else if self.some || byte == b',' {
                        return Err(wrong("an element is missing", place));
                    }
                    if byte == b']' {
                        out.truncate(whole);
                        self.place = Place::Behind;
                    }
                    (self.some, self.begun) = (true, false);
                }
                (Place::Within, byte) => {
                    match byte {
                        b'[' | b'{' => self.level = self.level.saturating_add(1),
                        b']' | b'}' => {
                            let left = self.level.checked_sub(1);
                            self.level = left.ok_or_else(|| wrong("'}' without its '{'", place))?;
                        }
                        b'"' => self.text = Text::Inside,
                        _ => {}
                    }
                    self.begun = true;
                    out.push(byte);
                }
            }
        }
        self.passed = self.passed.saturating_add(text.len());
        self.held = out.split_off(whole);
        Ok(out)
    }

    /// Ends the text.
    ///
    /// # Errors
    /// `Truncated`: the array has not ended.
    pub fn end(self) -> Result<()> {
        match self.place {
            Place::Behind => Ok(()),
            _ => Err(cut(self.passed)),
        }
    }

    /// Copies what is within a string up to its end, or up to a backslash and what that escapes; gives where it goes on.
    fn string(&mut self, text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
        let from = at.wrapping_add(usize::from(self.text == Text::Escaped));
        self.text = Text::Inside;
        let rest = text.get(from..).unwrap_or_default();
        let end = match memchr::memchr2(b'"', b'\\', rest) {
            None => text.len(),
            Some(found) => {
                let is_quote = rest.get(found) == Some(&b'"');
                self.text = if is_quote {
                    Text::Outside
                } else {
                    Text::Escaped
                };
                from.wrapping_add(found).wrapping_add(1)
            }
        };
        out.extend_from_slice(text.get(at..end).unwrap_or_default());
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &[u8]) -> Result<Vec<u8>> {
        let mut array = ArrayLines::default();
        let lines = array.pass(text)?;
        array.end()?;
        Ok(lines)
    }

    #[test]
    fn a_value_keeps_its_spelling() {
        let line =
            br#"{"b": 1.50, "a": [-0, 1E+2, 12345678901234567890123], "b": "\u00e9 \/ \"\\"}"#;
        let (text, count) = elements(line, b",").expect("it is JSON");
        let compact = br#"{"b":1.50,"a":[-0,1E+2,12345678901234567890123],"b":"\u00e9 \/ \"\\"}"#;
        assert_eq!((&compact[..], 1), (&text[..], count));
    }

    #[test]
    fn what_is_no_json_is_an_error_at_its_byte() {
        let cases: [(&[u8], u64); 5] = [
            (b"{}\n{\"a\": NaN}\n", 9),
            (b"{}\n{\"a\": 1} 2\n", 12),
            (b"\"\xff\"", 1),
            (b"1\n\x0c\n", 2),
            (b"[1,]", 3),
        ];
        for (text, at) in cases {
            let error = elements(text, b",").expect_err("it is no JSON");
            assert_eq!(
                (crate::ErrorKind::Malformed, Some(at)),
                (error.kind(), error.offset()),
                "{error}"
            );
        }
        assert!(elements(br#""\ud83d\ude00 \ud800""#, b",").is_ok());
    }

    #[test]
    fn an_array_is_cut_where_its_elements_end() {
        let text = b" [ {\"a\":\r\n[1, \"],\\\"\"]}, [], 3 ]\n";
        let lines = b" {\"a\":  [1, \"],\\\"\"]}\n []\n 3 \n";
        let found = lines_of(text).expect("it is an array");
        assert_eq!(&lines[..], &found[..]);
        assert!(lines_of(b"[ ]").expect("it is an array").is_empty());
        let wrong: [&[u8]; 7] = [b"{}", b"[1,]", b"[,1]", b"[1,,2]", b"[1] 2", b"[}]", b"[1"];
        for text in wrong {
            assert!(lines_of(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
