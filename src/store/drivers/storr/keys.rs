//! Names: keys as file names and back, key files, and what R's storr cannot hold.

use std::borrow::Cow;
use std::ffi::OsStr;

use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, PAD};
use base64::Engine as _;

use crate::store::{Algorithm, Hash, Key};
use crate::{Error, ErrorKind, Result};

/// Most bytes of a file name, of every file system that R's stores lie on.
const NAME_BYTES: usize = 255;
/// Most bytes of a key file that is read.
pub(super) const KEY_FILE_BYTES: u64 = 4096;

/// How keys become file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Naming {
    pub(super) mangle: bool,
    pub(super) pad: bool,
}

impl Naming {
    /// The file name of a key.
    pub(super) fn name(self, key: &str) -> Cow<'_, str> {
        if self.mangle {
            Cow::Owned(mangle(key, self.pad))
        } else {
            Cow::Borrowed(key)
        }
    }

    /// The key of a file name; None for one that no key has.
    pub(super) fn key(self, name: &OsStr) -> Option<String> {
        let name = name.to_str()?;
        let key = if self.mangle {
            unmangle(name)?
        } else {
            name.to_string()
        };
        // What does not lead back to the name could be listed and not be got.
        (!key.is_empty() && self.name(&key) == name).then_some(key)
    }
}

/// The file name of a key in a store with mangled keys: base64 of its UTF-8 bytes, in the alphabet for
/// URLs (RFC 4648, 5), with `=` at the end if `pad`.
///
/// # Example
/// ```
/// use tare::store::drivers::storr::{mangle, unmangle};
///
/// assert_eq!("Zm9vL2Jhcg==", mangle("foo/bar", true));
/// assert_eq!("Zm9vL2Jhcg", mangle("foo/bar", false));
/// assert_eq!(Some("foo/bar".to_string()), unmangle("Zm9vL2Jhcg"));
/// ```
#[must_use]
pub fn mangle(key: &str, pad: bool) -> String {
    let config = if pad { PAD } else { NO_PAD };
    GeneralPurpose::new(&URL_SAFE, config).encode(key)
}

/// The key of a mangled file name, padded or not; None for a name that is none, and for one whose
/// bytes are not UTF-8.
#[must_use]
pub fn unmangle(name: &str) -> Option<String> {
    let digits = name.trim_end_matches('=');
    let bytes = GeneralPurpose::new(&URL_SAFE, NO_PAD).decode(digits).ok()?;
    String::from_utf8(bytes).ok()
}

/// The hash that a key file holds; None if it holds none.
///
/// As many characters are used as a hash of the algorithm has; an end of line, or anything else
/// behind them, is not. Capital digits are none.
///
/// # Example
/// ```
/// use tare::store::drivers::storr::parse_key;
/// use tare::store::Algorithm;
///
/// let hash = parse_key(b"7b410007\r\n", Algorithm::Crc32).unwrap();
/// assert_eq!("7b410007", hash.hex());
/// assert!(parse_key(b"7B410007\n", Algorithm::Crc32).is_none());
/// assert!(parse_key(b"7b410007\n", Algorithm::Md5).is_none());
/// ```
#[must_use]
pub fn parse_key(bytes: &[u8], algorithm: Algorithm) -> Option<Hash> {
    let digits = bytes.get(..algorithm.bytes().checked_mul(2)?)?;
    Hash::parse(std::str::from_utf8(digits).ok()?)
}

/// What a key file holds.
pub(super) fn key_text(hash: &Hash) -> String {
    let mut text = hash.hex();
    text.push('\n');
    text
}

/// The hash that the name of an object's file says; None for a file that is no object.
pub(super) fn object_hash(name: &OsStr, algorithm: Algorithm) -> Option<Hash> {
    let digits = name.to_str()?.strip_suffix(".rds")?;
    let hash = Hash::parse(digits)?;
    (hash.as_bytes().len() == algorithm.bytes()).then_some(hash)
}

/// The parts of a namespace that may be read; None for one that would lead elsewhere.
pub(super) fn namespace_parts(namespace: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = namespace.split('/').collect();
    parts.iter().all(|part| is_name(part)).then_some(parts)
}

/// Whether a text can be a file's name.
pub(super) fn is_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && text.len() <= NAME_BYTES && !text.contains(['/', '\0'])
}

/// Refuses what could not be got again, or what R would lose.
pub(super) fn check(naming: Naming, key: Key<'_>, dots: bool) -> Result<()> {
    let folder = key.namespace;
    let name = naming.name(key.key);
    let problem = if !is_name(folder) {
        let why = "a folder's name of 1 to 255 bytes without a slash";
        format!("the namespace {:?} is no {why}", shown(folder))
    } else if name.len() > NAME_BYTES {
        format!(
            "the key {:?} makes a file name of {} bytes of at most {NAME_BYTES}",
            shown(key.key),
            name.len()
        )
    } else if !is_name(&name) {
        let why = "mangle_key=true at creation takes any key";
        format!("the key {:?} is no file name; {why}", shown(key.key))
    } else if !dots && name.starts_with('.') {
        let why = "R does not list it and deletes its object; allow_dot_keys takes it all the same";
        format!("the key {:?} begins with a dot: {why}", shown(key.key))
    } else if !dots && folder.starts_with('.') {
        let why =
            "R does not list it and deletes its objects; allow_dot_keys takes it all the same";
        format!(
            "the namespace {:?} begins with a dot: {why}",
            shown(key.namespace)
        )
    } else {
        return Ok(());
    };
    Err(invalid(problem, key))
}

/// Of these names one that is this one but for capital letters.
pub(super) fn same_but_case(name: &str, others: impl Iterator<Item = String>) -> Option<String> {
    let lower = name.to_lowercase();
    let mut others = others.filter(|other| other != name);
    others.find(|other| other.to_lowercase() == lower)
}

pub(super) fn invalid(problem: String, key: Key<'_>) -> Error {
    Error::new(ErrorKind::KeyInvalid, problem)
        .with_format(super::NAME)
        .with_detail("key", key.key)
        .with_detail("namespace", key.namespace)
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Naming = Naming {
        mangle: false,
        pad: false,
    };
    const PADDED: Naming = Naming {
        mangle: true,
        pad: true,
    };
    const MANGLED: Naming = Naming {
        mangle: true,
        pad: false,
    };

    fn refused(naming: Naming, key: &str) -> bool {
        match check(naming, Key::from(key), false) {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(ErrorKind::KeyInvalid, error.kind());
                assert_eq!(Some(key), error.detail("key"));
                true
            }
        }
    }

    #[test]
    fn names_lead_back_to_their_keys() {
        let keys = [
            "a",
            "foo/bar baz",
            ".dot",
            "caf\u{e9} \u{1f600}",
            "a?b*c:d|e",
        ];
        for naming in [MANGLED, PADDED] {
            for key in keys {
                let name = naming.name(key);
                assert!(!name.contains('/'));
                assert_eq!(Some(key.to_string()), naming.key(OsStr::new(&*name)));
            }
        }
        // The other way of padding is no key of the store: it would be listed and not be got.
        assert_eq!(None, MANGLED.key(OsStr::new("YQ==")));
        assert_eq!(None, PADDED.key(OsStr::new("YQ")));
        for bad in ["a.b", "YR==", "gA==", "=", "YQ=a", "a b"] {
            assert_eq!(None, PADDED.key(OsStr::new(bad)), "{bad}");
        }
    }

    #[test]
    fn what_could_not_be_got_again_is_refused() {
        for key in ["a/b", "..", ".", ".hidden"] {
            assert!(refused(PLAIN, key), "{key}");
            assert!(!refused(MANGLED, key), "{key}");
        }
        assert!(check(PLAIN, Key::from(".hidden"), true).is_ok());
        for (naming, longest) in [(PLAIN, 255), (MANGLED, 191), (PADDED, 189)] {
            assert!(!refused(naming, &"k".repeat(longest)));
            assert!(refused(naming, &"k".repeat(longest + 1)));
        }
        for namespace in ["a/b", "..", ".n", ""] {
            assert!(check(MANGLED, Key::new(namespace, "k"), false).is_err());
        }
    }

    #[test]
    fn key_files_are_read_by_their_first_characters() {
        let digits = "35e2c0a442507b3973949a8b4fcac5f2";
        let read = |text: &str| parse_key(text.as_bytes(), Algorithm::Md5).map(|hash| hash.hex());
        for behind in ["", "\n", "\r\n", "ab\n", " and more"] {
            assert_eq!(Some(digits.to_string()), read(&format!("{digits}{behind}")));
        }
        let capitals = digits.to_uppercase();
        for bad in ["", "nothex\n", &digits[1..], capitals.as_str(), "\n"] {
            assert_eq!(None, read(bad), "{bad}");
        }
        assert_eq!(None, read(&format!(" {digits}")));
    }

    #[test]
    fn only_files_of_a_whole_hash_are_objects() {
        let hash = |name: &str| object_hash(OsStr::new(name), Algorithm::Crc32);
        assert!(hash("7b410007.rds").is_some());
        for name in ["7b410007", "7b4100.rds", "7B410007.rds", "7b410007.rds~"] {
            assert!(hash(name).is_none(), "{name}");
        }
    }

    #[test]
    fn names_that_differ_by_case_are_found() {
        let others = || ["upper".to_string(), "x".to_string()].into_iter();
        assert_eq!(Some("upper".to_string()), same_but_case("UPPER", others()));
        assert_eq!(None, same_but_case("upper", others()));
    }

    #[test]
    fn namespaces_lead_nowhere_else() {
        assert_eq!(Some(vec!["a", "b"]), namespace_parts("a/b"));
        for bad in ["", "a/", "/a", "a//b", "../a", "a/.."] {
            assert_eq!(None, namespace_parts(bad), "{bad}");
        }
    }
}
