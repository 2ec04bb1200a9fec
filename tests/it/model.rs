//! A model of the whole pool: random scripts of settings, offers of every form, failures, panics, cancels, limits, clock
//! moves, replays, hooks that call back, and an end at any point, from outside and from inside. The same scripts run on a
//! pool without threads, where every step is a quiet moment, and on real threads.
//!
//! What must hold is in `book.rs` (each answer, each outcome, each payload), in `starts.rs` (each start), and in the two
//! that play. `PROPTEST_CASES` asks for more scripts.

mod acts;
mod book;
mod closures;
mod counted;
mod load;
mod manual;
mod pool;
mod script;
mod settings;
mod starts;
mod strategies;
mod threads;
mod world;

use crate::support::Watchdog;
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;

/// Few enough for every run of the tests, unless more are asked for.
fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases };
    // What fails on threads depends on them too, so a seed alone does not repeat it. The usual generator takes longer to
    // make up a script than the pool takes to play it.
    let rng_algorithm = RngAlgorithm::XorShift;
    ProptestConfig { cases, rng_algorithm, failure_persistence: None, max_shrink_iters: 3000, ..asked }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_script_without_threads_keeps_every_promise_at_every_step(script in strategies::script()) {
        let _dog = Watchdog::new();
        manual::play(&script);
    }
}

proptest! {
    #![proptest_config(config(250))]

    #[test]
    fn a_script_on_threads_keeps_every_promise_where_it_rests(script in strategies::script()) {
        let _dog = Watchdog::new();
        threads::play(&script);
    }
}
