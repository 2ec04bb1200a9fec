//! `cargo test --release --test it -- --ignored`: the hard cases with all their rounds.

use std::process::Command;

/// In a process of their own, as they read from its environment how long they are to be.
#[test]
#[ignore = "takes four to eight minutes in release"]
fn each_hard_case_holds_at_full_length() {
    let mut rules = Command::new(std::env::current_exe().unwrap());
    let end = rules.args(["a0", "a1"]).env("DOCKHAND_FULL", "1").status().unwrap();
    assert!(end.success(), "{end}");
}
