//! RFC 6901 pointers.

use std::borrow::Cow;

use crate::{Error, ErrorKind, Result};

/// The steps of a pointer, unescaped: none of `""`, else one for each `/`.
pub(super) fn steps(pointer: &str) -> Result<impl Iterator<Item = Cow<'_, str>>> {
    let mut parts = pointer.split('/');
    if parts.next() != Some("") || escapes_badly(pointer) {
        let text =
            format!("{pointer:?} is no JSON pointer: it begins with /, and ~ is written ~0, / ~1");
        return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
    }
    Ok(parts.map(|part| {
        if part.contains('~') {
            Cow::Owned(part.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(part)
        }
    }))
}

fn escapes_badly(pointer: &str) -> bool {
    let mut parts = pointer.split('~');
    parts.next();
    !parts.all(|part| part.starts_with(['0', '1']))
}

/// The index that a step is: digits, without a leading zero.
pub(super) fn index(step: &str) -> Option<usize> {
    let digits = step.bytes().all(|byte| byte.is_ascii_digit());
    let leading = step.len() > 1 && step.starts_with('0');
    if !digits || leading {
        return None;
    }
    step.parse().ok()
}
