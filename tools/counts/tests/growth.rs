//! Instruction counts against those that are kept in `expected.txt`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

/// What is counted is what users run, so the command is built with optimisation whatever this test is built with.
#[test]
fn no_operation_takes_over_fifteen_percent_more_instructions_than_expected() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--release", "--package", "counts", "--", "--check"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{failed}");
}
