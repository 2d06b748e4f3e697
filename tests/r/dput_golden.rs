//! R code that `dput` wrote makes the values that it was written of; code that is none is refused.

use tare::robject::{dput, ReadOptions};
use tare::ErrorKind;

use crate::r_expected;
use crate::r_files;

use r_expected::compare;
use r_files::group;

/// What dput with its own settings, or even with the exact ones, writes otherwise than it was.
const OTHER: &[(&str, bool)] = &[("dbl", false), ("cplx", false), ("cplx", true)];
const INTEGER64: &str = "integer64";
const CODE: &[&str] = &["closure_global", "formula", "call"];

#[test]
fn every_fixture_has_the_values_it_was_written_of() {
    let Some(files) = group("dput") else {
        return;
    };
    assert_eq!(44, files.len());
    let mut same = 0;
    for file in files {
        let exact = file.name.contains("_exact");
        let object = file.text("object");
        let text = std::str::from_utf8(&file.bytes).unwrap();
        let parsed = dput::parse(text, &ReadOptions::default());
        if CODE.contains(&object) {
            let error = parsed.unwrap_err();
            assert_eq!(ErrorKind::Unsupported, error.kind(), "{}", file.name);
            assert!(error.to_string().contains("line 1 column"), "{error}");
            continue;
        }
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", file.name));
        if object == INTEGER64 || OTHER.contains(&(object, exact)) {
            let report = compare(&parsed, &file.expected());
            assert!(!report.faults.is_empty(), "{} is kept after all", file.name);
            continue;
        }
        compare(&parsed, &file.expected()).assert_same(&file.name);
        same += 1;
        let (code, losses) = dput::write(&parsed).unwrap();
        assert!(losses.is_empty(), "{}: {losses:?}", file.name);
        let again = dput::parse(&code, &ReadOptions::default());
        let again = again.unwrap_or_else(|error| panic!("{}: {error}\n{code}", file.name));
        compare(&again, &file.expected()).assert_same(&file.name);
    }
    assert_eq!(33, same);
}
