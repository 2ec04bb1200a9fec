//! `cargo test --release --test it -- --ignored`: the hard cases with all their rounds.

use std::process::Command;

/// In processes of their own, as each reads from its environment how long it is to be.
#[test]
#[ignore = "takes eight minutes in release"]
fn each_hard_case_holds_at_full_length() {
    for names in ["a0", "a1"] {
        let mut rules = Command::new(std::env::current_exe().unwrap());
        let end = rules.arg(names).env("DOCKHAND_FULL", "1").status().unwrap();
        assert!(end.success(), "{names}: {end}");
    }
}
