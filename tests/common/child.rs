//! Tests that run in a child of their own, to which the system gives little memory.

use std::process::Command;

use crate::common::soak::soak;

/// The name of the variable that tells the child from its parent.
const CHILD: &str = "TARE_TEST_CHILD";

/// Runs the test of this name in a child that has a gibibyte of addresses, and gives what it said
/// to the parent; None in the child, which does the test itself.
pub fn in_a_gibibyte(name: &str, test: fn()) -> Option<String> {
    if std::env::var_os(CHILD).is_some() {
        test();
        return None;
    }
    let script =
        format!("ulimit -v 1048576 && exec \"$0\" --exact {name} --nocapture --test-threads=1");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let fault = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{said}\n{fault}",
        output.status
    );
    assert!(said.contains("1 passed"), "{said}");
    if soak() {
        // libtest's own words may stand before them in a line.
        for line in said.lines() {
            if let Some(at) = line.find("soak: ") {
                println!("{}", &line[at..]);
            }
        }
    }
    Some(said.into_owned())
}
