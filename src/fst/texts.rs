//! The strings of a column or of a factor's levels.

/// How the bytes of a column's strings are to be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// The encoding of the writer's machine, which the file does not name; mostly ASCII.
    Native,
    /// ISO 8859-1; R on Windows means CP1252.
    Latin1,
    /// UTF-8.
    #[default]
    Utf8,
}

/// Where strings begin and end in their bytes, as Arrow has it: one more than strings, the first 0.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// All bytes together are fewer than 2 GiB.
    Short(Vec<i32>),
    /// They are more.
    Long(Vec<i64>),
}

/// Strings, some of them missing, in one encoding.
///
/// What bytes lie under a missing string means nothing: fst stores `NA` there.
///
/// # Example
/// ```
/// use tare::fst::Texts;
///
/// let texts: Texts = [Some("JFK"), None, Some("")].into_iter().collect();
/// assert_eq!(3, texts.len());
/// assert_eq!(Some(&b"JFK"[..]), texts.get(0));
/// assert_eq!(None, texts.get(1));
/// assert_eq!(Some(&b""[..]), texts.get(2));
/// ```
#[derive(Clone, Debug)]
pub struct Texts {
    pub(super) offsets: Offsets,
    pub(super) bytes: Vec<u8>,
    pub(super) validity: Option<Vec<u8>>,
    pub(super) encoding: TextEncoding,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            offsets: Offsets::Short(vec![0]),
            bytes: Vec::new(),
            validity: None,
            encoding: TextEncoding::Utf8,
        }
    }
}

impl Offsets {
    fn get(&self, index: usize) -> Option<usize> {
        match self {
            Self::Short(offsets) => usize::try_from(*offsets.get(index)?).ok(),
            Self::Long(offsets) => usize::try_from(*offsets.get(index)?).ok(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Short(offsets) => offsets.len(),
            Self::Long(offsets) => offsets.len(),
        }
    }
}

impl Texts {
    /// No strings yet, in an encoding.
    #[must_use]
    pub fn new(encoding: TextEncoding) -> Self {
        Self {
            encoding,
            ..Self::default()
        }
    }

    /// How many strings, missing ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How all of them are encoded.
    #[must_use]
    pub fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// Whether string `index` is missing; false behind the last.
    #[must_use]
    pub fn is_na(&self, index: usize) -> bool {
        let Some(validity) = &self.validity else {
            return false;
        };
        let byte = validity.get(index / 8).copied().unwrap_or(0xff);
        byte & (1 << (index % 8)) == 0 && index < self.len()
    }

    /// The bytes of string `index`; None where it is missing, and behind the last.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        if self.is_na(index) {
            return None;
        }
        let start = self.offsets.get(index)?;
        let end = self.offsets.get(index.checked_add(1)?)?;
        self.bytes.get(start..end)
    }

    /// All strings in order, None for a missing one.
    #[must_use = "an iterator does nothing by itself"]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Where the text of some strings begins, and how long it is.
    pub(super) fn run(&self, rows: &std::ops::Range<usize>) -> Option<(usize, usize)> {
        let start = self.offsets.get(rows.start)?;
        Some((start, self.offsets.get(rows.end)?.checked_sub(start)?))
    }

    /// Adds a string; bytes of the encoding that was chosen.
    pub fn push(&mut self, text: Option<&[u8]>) {
        self.bytes.extend_from_slice(text.unwrap_or_default());
        let end = self.bytes.len();
        match (&mut self.offsets, i32::try_from(end)) {
            (Offsets::Short(offsets), Ok(end)) => offsets.push(end),
            (Offsets::Long(offsets), _) => offsets.push(i64::try_from(end).unwrap_or(i64::MAX)),
            (Offsets::Short(offsets), Err(_)) => {
                let mut long: Vec<i64> = offsets.iter().map(|end| i64::from(*end)).collect();
                long.push(i64::try_from(end).unwrap_or(i64::MAX));
                self.offsets = Offsets::Long(long);
            }
        }
        if text.is_none() || self.validity.is_some() {
            self.mark(text.is_some());
        }
    }

    /// The bit of the string that was just added.
    fn mark(&mut self, valid: bool) {
        let at = self.len().saturating_sub(1);
        let validity = self.validity.get_or_insert_with(|| {
            let mut bits = vec![0xff; at / 8];
            bits.push((1_u8 << (at % 8)).wrapping_sub(1));
            bits
        });
        if at / 8 >= validity.len() {
            validity.push(0);
        }
        if let (true, Some(byte)) = (valid, validity.get_mut(at / 8)) {
            *byte |= 1 << (at % 8);
        }
    }

    /// The bytes of all strings behind each other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where they begin and end.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// A bit for each string, least significant first, set where it is there; None if all are.
    #[must_use]
    pub fn validity(&self) -> Option<&[u8]> {
        self.validity.as_deref()
    }

    /// Offsets, bytes and validity, given away: the buffers of an Arrow array.
    #[must_use]
    pub fn into_parts(self) -> (Offsets, Vec<u8>, Option<Vec<u8>>) {
        (self.offsets, self.bytes, self.validity)
    }

    /// From the buffers of an Arrow array; None where they do not belong together.
    ///
    /// Offsets must begin at 0 or later, never fall, and end within the bytes; the validity, where
    /// given, has a bit for each string.
    #[must_use]
    pub fn from_parts(
        offsets: Offsets,
        bytes: Vec<u8>,
        validity: Option<Vec<u8>>,
        encoding: TextEncoding,
    ) -> Option<Self> {
        let sound = match &offsets {
            Offsets::Short(all) => all.is_sorted() && all.first().is_some_and(|one| *one >= 0),
            Offsets::Long(all) => all.is_sorted() && all.first().is_some_and(|one| *one >= 0),
        };
        let len = offsets.len().checked_sub(1)?;
        let inside = offsets.get(len)? <= bytes.len();
        let covered = validity
            .as_ref()
            .is_none_or(|bits| bits.len() >= len.div_ceil(8));
        (sound && inside && covered).then_some(Self {
            offsets,
            bytes,
            validity,
            encoding,
        })
    }
}

/// The same strings, whatever lies under the missing ones; the encoding counts where it matters.
impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        let same = self.encoding == other.encoding || self.bytes.is_ascii();
        same && self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a> FromIterator<Option<&'a str>> for Texts {
    fn from_iter<T: IntoIterator<Item = Option<&'a str>>>(texts: T) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.push(text.map(str::as_bytes));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_at_every_place_is_told_from_the_empty_string() {
        for len in 1..40 {
            for na in 0..len {
                let texts: Texts = (0..len).map(|at| (at != na).then_some("")).collect();
                for at in 0..len {
                    assert_eq!(at == na, texts.is_na(at), "{at} of {len}, missing {na}");
                    assert_eq!(at == na, texts.get(at).is_none());
                }
                assert_eq!(len, texts.iter().len());
            }
        }
    }

    #[test]
    fn buffers_that_do_not_belong_together_are_refused() {
        let of = |offsets: &[i32], bytes: &[u8], validity: Option<Vec<u8>>| {
            let offsets = Offsets::Short(offsets.to_vec());
            Texts::from_parts(offsets, bytes.to_vec(), validity, TextEncoding::Utf8)
        };
        assert!(of(&[0, 1, 3], b"abc", None).is_some());
        assert!(of(&[0, 1, 3], b"abc", Some(vec![3])).is_some());
        assert!(of(&[], b"abc", None).is_none());
        assert!(of(&[-1, 3], b"abc", None).is_none());
        assert!(of(&[0, 2, 1], b"abc", None).is_none());
        assert!(of(&[0, 4], b"abc", None).is_none());
        assert!(of(&[0, 1], b"abc", Some(vec![])).is_none());
    }
}
