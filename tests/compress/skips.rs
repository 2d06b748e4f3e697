//! A test that leaves something out: it says so although it passes, and fails where all is required.

use std::process::{Command, Output};

use crate::common;

#[test]
#[ignore = "`a_skip_is_printed` runs it"]
fn leaves_something_out() {
    common::skip("this is the reason");
}

#[test]
fn a_skip_is_printed() {
    let passed = run_with("0");
    assert!(passed.status.success());
    let printed = String::from_utf8_lossy(&passed.stderr).into_owned();
    assert!(
        printed.contains("skipped: skips::leaves_something_out: this is the reason"),
        "{printed}"
    );
    assert!(!run_with("1").status.success());
}

fn run_with(require_all: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "skips::leaves_something_out"])
        .env("RUST_TEST_THREADS", "2") // a single thread has no test's name
        .env("TARE_REQUIRE_ALL", require_all)
        .output()
        .unwrap()
}
