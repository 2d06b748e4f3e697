//! Replays the corpora of the fuzz targets: what was found once is never let in again.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at once"
)]

use std::fs;
use std::path::Path;

include!("../fuzz/check.rs");

#[test]
fn every_input_of_the_corpora_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for name in ["zstd", "lz4", "gzip"] {
        let folder = corpora.join(format!("decompress_{name}"));
        let mut count = 0;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let data = fs::read(entry.path()).expect("the corpus can be read");
            check(name, &data);
            count += 1;
        }
        assert!(count > 0, "no corpus in {}", folder.display());
    }
}
