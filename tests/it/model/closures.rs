//! Closures: each runs once, or comes back and has not run.

use super::config;
use crate::support::{POLICIES, Watchdog, assert_rest, panic_quietly};
use dockhand::{Closures, SubmitResult, WorkerPool};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
enum Act {
    Execute,
    Panic,
    RunOne,
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_closure_runs_once_or_comes_back(
        acts in vec(select(&[Act::Execute, Act::Execute, Act::Panic, Act::RunOne][..]), 0..40),
        capacity in 1..5_usize,
        policy in select(&POLICIES[..]),
        window in 0..2_u64,
    ) {
        let _dog = Watchdog::new();
        let builder = WorkerPool::builder(Closures).queue_capacity(capacity).overload(policy);
        let pool = builder.build_manual().unwrap();
        let (ran, submitter) = (Arc::new(AtomicU64::new(0)), pool.submitter());
        let mut back = 0;
        for (n, act) in acts.into_iter().enumerate() {
            let (ran, panics) = (Arc::clone(&ran), matches!(act, Act::Panic));
            let closure = move || {
                ran.fetch_add(1, Ordering::SeqCst);
                if panics { panic_quietly() }
            };
            let answer = match act {
                Act::RunOne => {
                    pool.run_one();
                    continue;
                }
                _ if n % 2 == 0 => pool.execute(closure),
                _ => submitter.execute(closure),
            };
            if let SubmitResult::Rejected(_) | SubmitResult::Dropped(_) = answer {
                back += 1;
            }
        }
        let report = pool.shutdown(Duration::from_secs(window));
        let counts = report.counts;
        prop_assert_eq!(counts.attempts, ran.load(Ordering::SeqCst));
        prop_assert_eq!(counts.rejected + counts.dropped, back);
        prop_assert_eq!(counts.submitted, counts.attempts + back + counts.evicted + report.abandoned.len() as u64);
        assert_rest(&pool);
        drop(report);
        drop(pool);
        prop_assert_eq!(Arc::strong_count(&ran), 1, "each closure is gone");
    }
}
