//! Replays the corpora of the fuzz targets: what was found once is never let in again.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_lossless,
    clippy::needless_pass_by_value,
    clippy::match_same_arms,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test stops at once"
)]

use std::fs;
use std::path::Path;

include!("../fuzz/check.rs");

#[test]
fn every_input_of_the_corpora_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let mut failed = Vec::new();
    for target in TARGETS {
        let folder = corpora.join(target);
        let mut count = 0;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let data = fs::read(&path).expect("the corpus can be read");
            if std::panic::catch_unwind(|| check(target, &data)).is_err() {
                failed.push(path);
            }
            count += 1;
        }
        assert!(count > 0, "no corpus in {}", folder.display());
    }
    assert!(failed.is_empty(), "these do not hold: {failed:?}");
}
