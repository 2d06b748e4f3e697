//! The steps of a pointer as bytes: names may hold halves of surrogate pairs, which no text does.

use crate::blit::{path, surrogates};
use crate::{Error, ErrorKind, Result};

/// The steps of a pointer, unescaped.
///
/// # Errors
/// `Usage` for what is no pointer, or no text.
pub(in crate::blit) fn steps(pointer: &[u8]) -> Result<Vec<Vec<u8>>> {
    if let Ok(text) = std::str::from_utf8(pointer) {
        let steps = path::steps(text)?;
        return Ok(steps.map(|step| step.into_owned().into_bytes()).collect());
    }
    if !surrogates::is_wtf8(pointer) {
        let text = "a pointer that is not UTF-8: two halves of a surrogate pair are one character";
        return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
    }
    // Checks `/` and `~`, which are as they were.
    path::steps(&String::from_utf8_lossy(pointer)).map(|_| ())?;
    let steps = pointer.split(|&byte| byte == b'/').skip(1);
    Ok(steps.map(unescaped).collect())
}

fn unescaped(step: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(step.len());
    let mut rest = step.iter();
    while let Some(&byte) = rest.next() {
        name.push(match (byte, byte == b'~') {
            (_, true) if rest.next() == Some(&b'1') => b'/',
            (byte, _) => byte,
        });
    }
    name
}

/// The index that a step is.
pub(in crate::blit) fn index(step: &[u8]) -> Option<usize> {
    std::str::from_utf8(step).ok().and_then(path::index)
}

/// A name as a step of a pointer.
pub(in crate::blit) fn push(pointer: &mut Vec<u8>, name: &[u8]) {
    pointer.push(b'/');
    for &byte in name {
        match byte {
            b'~' => pointer.extend(b"~0"),
            b'/' => pointer.extend(b"~1"),
            _ => pointer.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_bytes() {
        let half = b"/a~1\xED\xA0\xBD~0/0";
        let expected = vec![b"a/\xED\xA0\xBD~".to_vec(), b"0".to_vec()];
        assert_eq!(expected, steps(half).unwrap());
        assert_eq!(Some(0), index(b"0"));
        assert_eq!(None, index(b"\xED\xA0\xBD"));
        let mut pointer = Vec::new();
        for name in &expected {
            push(&mut pointer, name);
        }
        assert_eq!(&half[..], pointer);
        for wrong in [
            &b"a\xED\xA0\xBD"[..],
            b"/\xED\xA0\xBD~",
            b"/\xED\xA0\xBD\xED\xB8\x80",
            b"/\xFF",
        ] {
            assert_eq!(ErrorKind::Usage, steps(wrong).unwrap_err().kind());
        }
    }
}
