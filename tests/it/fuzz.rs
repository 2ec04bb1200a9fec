//! Bad input: any bytes become settings, options and times, zero, the largest, negative, infinite and not a number among
//! them. Every combination is an error of the build, a typed refusal, or works: no panic, no early start, no hang, and
//! no memory for what is refused.
//!
//! `PROPTEST_CASES` asks for more of them: some 500,000 in a release build take ten minutes.

mod asked;
mod bytes;
mod run;
mod threads;

use crate::support::Watchdog;
use asked::Asked;
use dockhand::{BuildError, Lane, WorkerPool, processor_fn};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases };
    let rng_algorithm = RngAlgorithm::XorShift;
    ProptestConfig { cases, rng_algorithm, failure_persistence: None, max_shrink_iters: 3000, ..asked }
}

/// Runs it, and names what was asked for if it panics.
fn without_panic(asked: &Asked, run: impl FnOnce(&Asked)) -> Result<(), TestCaseError> {
    let ran = catch_unwind(AssertUnwindSafe(|| run(asked)));
    ran.map_err(|panic| TestCaseError::fail(format!("{}\n{asked:#?}", text(&*panic))))
}

fn text(panic: &dyn Any) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn any_bytes_are_refused_or_work(bytes in vec(any::<u8>(), 0..300)) {
        let _dog = Watchdog::new();
        without_panic(&Asked::from_bytes(&bytes), run::run)?;
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn any_bytes_are_refused_or_work_on_threads(bytes in vec(any::<u8>(), 0..300)) {
        let _dog = Watchdog::new();
        without_panic(&Asked::from_bytes(&bytes), threads::run)?;
    }
}

/// The high-water mark of this process's memory, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_capacity_beyond_all_memory_is_refused_and_costs_none() {
    let _dog = Watchdog::new();
    let before = peak();
    for capacity in [usize::MAX, usize::MAX - 1, usize::MAX / 2, isize::MAX as usize / 64, 1 << 56, 1 << 48] {
        let new = || WorkerPool::builder(processor_fn(|_: &mut [u8; 64], _cx| Ok::<(), String>(())));
        let lane = Lane::new("huge").queue_capacity(capacity);
        for built in [new().queue_capacity(capacity).build(), new().lane(lane).build()] {
            assert!(matches!(built, Err(BuildError::CapacityTooLarge { .. })), "{capacity}: {built:?}");
        }
    }
    // What other tests allocate at the same time is far below this.
    assert!(peak() - before < 1 << 20, "{} KiB more", peak() - before);
}
