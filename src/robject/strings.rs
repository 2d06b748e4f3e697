//! The strings of a character vector: one run of bytes, with their marks.

use super::model::Id;

mod take;

/// How R marked the bytes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// Bytes below 128 alone.
    Ascii,
    /// UTF-8.
    Utf8,
    /// ISO 8859-1; R on Windows means CP1252.
    Latin1,
    /// Bytes that are no text.
    Bytes,
    /// No mark: the encoding of the writer, which version 3 names in its header.
    Native,
}

impl TextEncoding {
    /// The bits of a CHARSXP's levels that say so.
    #[must_use]
    pub const fn levels(self) -> u16 {
        match self {
            Self::Bytes => 1 << 1,
            Self::Latin1 => 1 << 2,
            Self::Utf8 => 1 << 3,
            Self::Ascii => 1 << 6,
            Self::Native => 0,
        }
    }

    /// What unmarked bytes are: ASCII, else UTF-8, else no text.
    #[must_use]
    pub fn guess(bytes: &[u8]) -> Self {
        if bytes.is_ascii() {
            Self::Ascii
        } else if simdutf8::basic::from_utf8(bytes).is_ok() {
            Self::Utf8
        } else {
            Self::Bytes
        }
    }

    /// What the levels of a CHARSXP say.
    #[must_use]
    pub const fn of(levels: u16) -> Self {
        if levels & (1 << 1) != 0 {
            Self::Bytes
        } else if levels & (1 << 2) != 0 {
            Self::Latin1
        } else if levels & (1 << 3) != 0 {
            Self::Utf8
        } else if levels & (1 << 6) != 0 {
            Self::Ascii
        } else {
            Self::Native
        }
    }
}

/// One string of a vector: its bytes (None for NA) and the levels its CHARSXP has in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// The stored bytes; None for `NA_character_`.
    pub bytes: Option<&'a [u8]>,
    /// The general purpose bits of the flags, bits 12 to 27 of a file's flags.
    pub levels: u16,
}

impl Text<'_> {
    /// How its bytes are marked.
    #[must_use]
    pub fn encoding(&self) -> TextEncoding {
        TextEncoding::of(self.levels)
    }
}

/// The body of a character vector.
///
/// The bytes of all strings lie behind each other; NA has none. Marks are kept in runs, so that a
/// vector of one encoding needs one. NA has levels 0 and does not end a run.
///
/// # Example
/// ```
/// use tare::robject::{Strings, TextEncoding};
///
/// let mut strings = Strings::default();
/// strings.push(b"weighed", TextEncoding::Ascii.levels());
/// strings.push_na();
/// assert_eq!(2, strings.len());
/// assert_eq!(Some(&b"weighed"[..]), strings.get(0).and_then(|text| text.bytes));
/// assert_eq!(None, strings.get(1).and_then(|text| text.bytes));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Strings {
    /// Where each string ends in `bytes`.
    ends: Ends,
    bytes: Vec<u8>,
    /// Bit k of byte k / 8 is set where string k is not NA; empty while none is.
    validity: Vec<u8>,
    /// Runs of levels: where each ends, exclusive, and its levels.
    runs: Vec<(u64, u16)>,
    /// Attributes of single CHARSXPs, by position: read, kept and written, else without meaning.
    attributes: Vec<(u64, Id)>,
}

/// Ends in 32 bits, and in 64 once one needs them.
#[derive(Clone, Debug)]
enum Ends {
    Short(Vec<i32>),
    Long(Vec<i64>),
}

impl Default for Ends {
    fn default() -> Self {
        Self::Short(vec![0])
    }
}

/// The offsets of the strings as Arrow has them: one more than there are strings, the first 0.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// All bytes together are fewer than 2 GiB.
    Short(&'a [i32]),
    /// They are more.
    Long(&'a [i64]),
}

impl Strings {
    /// No strings yet, with place for `strings` of `bytes` bytes together.
    #[must_use]
    pub fn with_capacity(strings: usize, bytes: usize) -> Self {
        let mut ends = Vec::with_capacity(strings.saturating_add(1));
        ends.push(0);
        Self {
            ends: Ends::Short(ends),
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// How many strings, NA included.
    #[must_use]
    pub fn len(&self) -> usize {
        let ends = match &self.ends {
            Ends::Short(ends) => ends.len(),
            Ends::Long(ends) => ends.len(),
        };
        ends.saturating_sub(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a string with the levels of its CHARSXP.
    #[inline]
    pub fn push(&mut self, bytes: &[u8], levels: u16) {
        self.bytes.extend_from_slice(bytes);
        self.end_one(true);
        let len = self.len() as u64;
        match self.runs.last_mut() {
            Some((end, same)) if *same == levels => *end = len,
            _ => self.runs.push((len, levels)),
        }
    }

    /// Adds `NA_character_`.
    #[inline]
    pub fn push_na(&mut self) {
        if self.validity.is_empty() {
            self.begin_validity();
        }
        self.end_one(false);
    }

    /// Adds UTF-8 text, marked ASCII or UTF-8 as R does.
    pub fn push_str(&mut self, text: &str) {
        let encoding = if text.is_ascii() {
            TextEncoding::Ascii
        } else {
            TextEncoding::Utf8
        };
        self.push(text.as_bytes(), encoding.levels());
    }

    /// Adds a string whose bytes `fill` appends, with the levels of its CHARSXP.
    ///
    /// # Errors
    /// Those of `fill`.
    pub(super) fn push_with(
        &mut self,
        levels: u16,
        fill: impl FnOnce(&mut Vec<u8>) -> crate::Result<()>,
    ) -> crate::Result<()> {
        fill(&mut self.bytes)?;
        self.push(&[], levels);
        Ok(())
    }

    /// The string pushed last has these levels: its run may be another than that before it.
    fn begin_run(&mut self, levels: u16) {
        let len = self.len() as u64;
        match self.runs.last_mut() {
            Some((_, same)) if *same == levels => {}
            last => {
                if let Some((end, _)) = last {
                    *end = len.saturating_sub(1);
                }
                self.runs.push((len, levels));
            }
        }
    }

    fn end_one(&mut self, valid: bool) {
        let end = self.bytes.len();
        match &mut self.ends {
            Ends::Short(ends) => match i32::try_from(end) {
                Ok(end) => ends.push(end),
                Err(_) => self.lengthen(),
            },
            Ends::Long(ends) => ends.push(i64::try_from(end).unwrap_or(i64::MAX)),
        }
        if !self.validity.is_empty() {
            self.mark(valid);
        }
    }

    /// From 32 to 64 bits, with the end at hand.
    #[cold]
    fn lengthen(&mut self) {
        if let Ends::Short(ends) = &self.ends {
            let mut long: Vec<i64> = ends.iter().map(|end| i64::from(*end)).collect();
            long.push(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX));
            self.ends = Ends::Long(long);
        }
    }

    /// A bit for each string so far, all set, and place for the next.
    #[cold]
    fn begin_validity(&mut self) {
        let len = self.len();
        self.validity = vec![0xff; len / 8 + 1];
        if let Some(last) = self.validity.last_mut() {
            *last = (1_u8 << (len % 8)).wrapping_sub(1);
        }
    }

    /// The bit of the string that was just ended.
    fn mark(&mut self, valid: bool) {
        let at = self.len().saturating_sub(1);
        if at / 8 >= self.validity.len() {
            self.validity.push(0);
        }
        if let (true, Some(byte)) = (valid, self.validity.get_mut(at / 8)) {
            *byte |= 1 << (at % 8);
        }
    }

    /// Where string `index` lies in the bytes.
    fn range(&self, index: usize) -> Option<(usize, usize)> {
        let next = index.checked_add(1)?;
        match &self.ends {
            Ends::Short(ends) => Some((
                usize::try_from(*ends.get(index)?).ok()?,
                usize::try_from(*ends.get(next)?).ok()?,
            )),
            Ends::Long(ends) => Some((
                usize::try_from(*ends.get(index)?).ok()?,
                usize::try_from(*ends.get(next)?).ok()?,
            )),
        }
    }

    /// Whether string `index` is NA; false behind the last.
    #[must_use]
    pub fn is_na(&self, index: usize) -> bool {
        let byte = self.validity.get(index / 8).copied().unwrap_or(0xff);
        byte & (1 << (index % 8)) == 0 && index < self.len()
    }

    /// String `index`; None behind the last.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Text<'_>> {
        let (start, end) = self.range(index)?;
        if self.is_na(index) {
            return Some(Text {
                bytes: None,
                levels: 0,
            });
        }
        let run = self.runs.partition_point(|(end, _)| *end <= index as u64);
        Some(Text {
            bytes: Some(self.bytes.get(start..end)?),
            levels: self.runs.get(run).map_or(0, |(_, levels)| *levels),
        })
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = Text<'_>> + '_ {
        let mut run = 0;
        (0..self.len()).map_while(move |index| {
            let (start, end) = self.range(index)?;
            if self.is_na(index) {
                return Some(Text {
                    bytes: None,
                    levels: 0,
                });
            }
            while self
                .runs
                .get(run)
                .is_some_and(|(end, _)| *end <= index as u64)
            {
                run = usize::saturating_add(run, 1);
            }
            Some(Text {
                bytes: Some(self.bytes.get(start..end)?),
                levels: self.runs.get(run).map_or(0, |(_, levels)| *levels),
            })
        })
    }

    /// The bytes of all strings.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where they begin and end, as Arrow has it.
    #[must_use]
    pub fn offsets(&self) -> Offsets<'_> {
        match &self.ends {
            Ends::Short(ends) => Offsets::Short(ends),
            Ends::Long(ends) => Offsets::Long(ends),
        }
    }

    /// A bit for each string, least significant first, set where it is not NA; None if none is.
    #[must_use]
    pub fn validity(&self) -> Option<&[u8]> {
        (!self.validity.is_empty()).then_some(&self.validity)
    }

    /// The runs of levels: where each ends, exclusive, and its levels. NA stand in any run.
    #[must_use]
    pub fn runs(&self) -> &[(u64, u16)] {
        &self.runs
    }

    /// Keeps the attributes of the CHARSXP that was pushed last.
    pub fn set_attributes(&mut self, attributes: Id) {
        let at = self.len().saturating_sub(1) as u64;
        self.attributes.push((at, attributes));
    }

    /// A copy without the attributes of single CHARSXPs, which name nodes of their own arena.
    #[must_use]
    pub fn without_attributes(&self) -> Self {
        Self {
            attributes: Vec::new(),
            ..self.clone()
        }
    }

    /// The attributes of single CHARSXPs, by position, ascending.
    #[must_use]
    pub fn attributes(&self) -> &[(u64, Id)] {
        &self.attributes
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let ends = match &self.ends {
            Ends::Short(ends) => ends.capacity().saturating_mul(4),
            Ends::Long(ends) => ends.capacity().saturating_mul(8),
        };
        ends.saturating_add(self.bytes.capacity())
            .saturating_add(self.validity.capacity())
            .saturating_add(self.runs.capacity().saturating_mul(16))
    }
}

impl<'a> FromIterator<Option<&'a str>> for Strings {
    fn from_iter<T: IntoIterator<Item = Option<&'a str>>>(texts: T) -> Self {
        let mut strings = Self::default();
        for text in texts {
            match text {
                Some(text) => strings.push_str(text),
                None => strings.push_na(),
            }
        }
        strings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn na_at_every_place_is_told_from_the_empty_string() {
        for len in 1..40 {
            for na in 0..len {
                let strings: Strings = (0..len).map(|at| (at != na).then_some("")).collect();
                for at in 0..len {
                    let text = strings.get(at).unwrap();
                    assert_eq!(at == na, text.bytes.is_none(), "{at} of {len}, NA {na}");
                }
                assert_eq!(len, strings.iter().count());
                assert_eq!(None, strings.get(len));
            }
        }
    }

    #[test]
    fn marks_are_kept_in_runs_that_na_does_not_end() {
        let mut strings = Strings::default();
        strings.push_str("a");
        strings.push_na();
        strings.push_str("b");
        strings.push_str("\u{e4}");
        strings.push(b"\xe4", TextEncoding::Latin1.levels());
        assert_eq!(3, strings.runs().len());
        let seen: Vec<_> = strings.iter().map(|text| text.levels).collect();
        assert_eq!(vec![64, 0, 64, 8, 4], seen);
        let got: Vec<_> = (0..5).map(|at| strings.get(at).unwrap().levels).collect();
        assert_eq!(seen, got);
    }
}
