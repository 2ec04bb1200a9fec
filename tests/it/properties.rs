//! Random scripts against the conservation law: pools of all settings, submits of every form, failures, panics,
//! replays, and an end at a random point while somebody still submits.
//!
//! `PROPTEST_CASES` asks for more of them.

mod book;
mod run;
mod script;

use crate::support::Watchdog;
use proptest::prelude::*;

/// Few enough for every run of the tests.
const CASES: u32 = 400;

fn config() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { CASES };
    // What fails depends on threads too, so a seed alone does not repeat it.
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 300, ..asked }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_payload_ends_once_and_every_count_is_right(script in script::any_script()) {
        let _watchdog = Watchdog::new();
        run::run(&script);
    }
}
