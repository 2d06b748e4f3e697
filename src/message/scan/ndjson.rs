//! The end of a line. LF cannot stand inside a JSON text but as space between its parts.

/// What the bytes of a line came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) enum Line {
    /// No end yet.
    More,
    /// The line has `taken` bytes with its end, `length` without.
    Whole { taken: usize, length: usize },
    /// Nothing but space.
    Blank { taken: usize },
    /// Longer than is allowed: `taken` bytes, or its end is not known yet.
    TooLong { taken: Option<usize> },
}

/// Looks for the end of the line that `bytes` begin, of which `seen` hold none.
pub(in crate::message) fn scan(bytes: &[u8], seen: usize, max_message: u64) -> Line {
    let new = bytes.get(seen..).unwrap_or_default();
    let Some(found) = memchr::memchr(b'\n', new) else {
        return if content(bytes).len() as u64 > max_message {
            Line::TooLong { taken: None }
        } else {
            Line::More
        };
    };
    let end = seen.saturating_add(found);
    let taken = end.saturating_add(1);
    let line = content(bytes.get(..end).unwrap_or_default());
    if line.len() as u64 > max_message {
        return Line::TooLong { taken: Some(taken) };
    }
    if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return Line::Blank { taken };
    }
    Line::Whole {
        taken,
        length: line.len(),
    }
}

/// A line without the CR of its end.
pub(in crate::message) fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
