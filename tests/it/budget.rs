//! Retry budgets: retries are a share of the work, whatever a single task may still do.

use crate::support::{Job, Runs, Watchdog, accepted, assert_rest, builder, ms};
use dockhand::letter::DeadLetterReason;
use dockhand::{BuildError, Lane, ManualPool, OverloadPolicy, RetryDecision, RetryPolicy, SubmitResult};
use std::time::Duration;

fn pool(policy: RetryPolicy) -> ManualPool<Runs> {
    builder(1).queue_capacity(2000).dead_letter_capacity(2000).retry(policy).build_manual().unwrap()
}

fn count(pool: &ManualPool<Runs>, reason: DeadLetterReason) -> usize {
    pool.dead_letters().list().iter().filter(|letter| letter.reason == reason).count()
}

#[test]
fn retries_are_a_share_of_the_fresh_tasks() {
    let _dog = Watchdog::new();
    for (ratio, share) in [(0.1, 100), (0.25, 250), (1.0, 1000), (0.0, 0)] {
        let pool = pool(RetryPolicy::fixed(ms(1)).max_retries(3).budget(ratio, 0.0));
        for _ in 0..1000 {
            accepted(&pool, Job::fail());
        }
        pool.wait_idle(Duration::MAX).unwrap();
        let counts = pool.metrics().counts;
        assert_eq!((counts.retries, counts.attempts), (share, 1000 + share), "{ratio}");
        let exhausted = count(&pool, DeadLetterReason::BudgetExhausted);
        assert_eq!(exhausted + count(&pool, DeadLetterReason::RetriesExhausted), 1000);
        // Attempts and letters agree.
        let attempts: u32 = pool.dead_letters().list().iter().map(|letter| letter.task.attempt).sum();
        assert_eq!(u64::from(attempts), counts.attempts);
        assert_rest(&pool);
    }
}

#[test]
fn a_few_failures_among_many_tasks_are_all_retried() {
    let _dog = Watchdog::new();
    let pool = pool(RetryPolicy::fixed(ms(1)).budget(0.2, 0.0));
    for n in 0..1000 {
        accepted(&pool, if n % 10 == 9 { Job::ok_at(2) } else { Job::ok() });
    }
    pool.wait_idle(Duration::MAX).unwrap();
    let counts = pool.metrics().counts;
    assert_eq!((counts.succeeded, counts.retries, counts.dead_lettered), (1000, 100, 0));
    assert_rest(&pool);
}

#[test]
fn the_reserve_comes_back_with_time() {
    let _dog = Watchdog::new();
    // Two a second, over ten seconds.
    let pool = pool(RetryPolicy::fixed(ms(1)).max_retries(1).budget(0.0, 2.0));
    for round in 1..=3 {
        for _ in 0..50 {
            accepted(&pool, Job::ok_at(2));
        }
        pool.wait_idle(Duration::MAX).unwrap();
        let counts = pool.metrics().counts;
        assert_eq!((counts.retries, counts.succeeded), (20 * round, 20 * round));
        assert_eq!(count(&pool, DeadLetterReason::BudgetExhausted) as u64, 30 * round);
        pool.advance(Duration::from_secs(11));
    }
    assert_rest(&pool);
}

/// A retry of an hour's backoff pays when it is scheduled, with what is there then.
#[test]
fn the_window_moves_with_the_clock() {
    let _dog = Watchdog::new();
    let pool = pool(RetryPolicy::fixed(Duration::from_secs(3600)).max_retries(5).budget(1.0, 0.0));
    accepted(&pool, Job::fail());
    pool.run_until_idle();
    assert_eq!(pool.metrics().counts.retries, 1);
    // An hour later the task that was fresh then counts no more.
    pool.wait_idle(Duration::MAX).unwrap();
    let letters = pool.dead_letters().list();
    assert_eq!((letters[0].reason, letters[0].task.attempt), (DeadLetterReason::BudgetExhausted, 2));
    assert_rest(&pool);
}

#[test]
fn each_lane_has_its_own() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(ms(1)).max_retries(1);
    let pool = builder(1)
        .lane(Lane::new("poor").retry(retry.clone().budget(0.0, 0.0)))
        .lane(Lane::new("rich").retry(retry.clone().budget(1.0, 0.0)))
        .retry(retry)
        .build_manual()
        .unwrap();
    for (lane, retries) in [("poor", 0), ("rich", 1), ("default", 1)] {
        let before = pool.metrics().counts.retries;
        pool.submitter_for(lane).unwrap().submit(Job::fail()).into_result().unwrap();
        pool.wait_idle(Duration::MAX).unwrap();
        assert_eq!(pool.metrics().counts.retries - before, retries, "{lane}");
    }
    assert_eq!(count(&pool, DeadLetterReason::BudgetExhausted), 1);
    assert_rest(&pool);
}

/// What cannot be retried anyway takes nothing from the others; a delay that the classifier names does; a caller-run
/// counts on both sides.
#[test]
fn what_pays_and_what_does_not() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(ms(1)).max_retries(1).budget(0.5, 0.0);
    let build = builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns).retry(retry);
    let pool = build
        .classify(|cause| match cause {
            dockhand::Cause::Panicked(_) => RetryDecision::GiveUp,
            _ => RetryDecision::RetryAfter(ms(7)),
        })
        .build_manual()
        .unwrap();
    accepted(&pool, Job::panic());
    assert!(matches!(pool.submit(Job::panic()), SubmitResult::CallerRun(_)));
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(count(&pool, DeadLetterReason::NotRetryable), 2);
    // Two were fresh, so one may be retried; its second failure asks for nothing.
    accepted(&pool, Job::ok());
    assert!(matches!(pool.submit(Job::fail()), SubmitResult::CallerRun(run) if run.outcome.is_none()));
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(count(&pool, DeadLetterReason::RetriesExhausted), 1);
    // Five are fresh, two may be retried, one was.
    accepted(&pool, Job::fail());
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(count(&pool, DeadLetterReason::RetriesExhausted), 2);
    accepted(&pool, Job::ok());
    pool.wait_idle(Duration::MAX).unwrap();
    accepted(&pool, Job::fail());
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(count(&pool, DeadLetterReason::RetriesExhausted), 3);
    assert_rest(&pool);
}

#[test]
fn a04_a_budget_that_makes_no_sense_is_refused() {
    let _dog = Watchdog::new();
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, -f64::MIN_POSITIVE];
    for (ratio, reserve) in bad.into_iter().flat_map(|bad| [(bad, 1.0), (0.1, bad), (bad, bad)]) {
        let policy = RetryPolicy::fixed(ms(1)).budget(ratio, reserve);
        let built = builder(1).retry(policy.clone()).build_manual();
        assert!(
            matches!(built, Err(BuildError::InvalidRetry { ref lane, .. }) if lane == "default"),
            "{ratio}"
        );
        let built = builder(1).lane(Lane::new("a").retry(policy)).build();
        assert!(matches!(built, Err(BuildError::InvalidRetry { ref lane, .. }) if lane == "a"), "{ratio}");
    }
    // As much as can be said is no error.
    let pool = pool(RetryPolicy::fixed(ms(1)).max_retries(2).budget(f64::MAX, f64::MAX));
    accepted(&pool, Job::fail());
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.metrics().counts.retries, 2);
    let zero = builder(1).retry(RetryPolicy::none().budget(-0.0, 0.0)).build_manual();
    assert!(zero.is_ok());
}
