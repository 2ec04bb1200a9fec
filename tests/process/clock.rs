//! Times at the end of what can be counted, in every place that takes one. Where one wraps, waiting has no end.

use crate::child::Start;
use crate::support::{Job, LONG, Ledger, Runs, accepted, assert_rest, builder};
use dockhand::{
    IdleStrategy, Lane, ManualClock, ManualPool, Outcome, PoolBuilder, RejectReason, RetryPolicy,
    TaskOptions, TaskStatus, Timing, WaitError,
};
use std::time::{Duration, Instant};

const NANO: Duration = Duration::from_nanos(1);

#[test]
fn every_time_may_be_the_longest() {
    for which in ["duration", "seconds", "nanos"] {
        let Some(ended) = Start::given(which).run(use_the_longest_everywhere) else { return };
        ended.assert_code(0);
    }
}

fn longest(which: &str) -> Duration {
    match which {
        "duration" => Duration::MAX,
        "seconds" => Duration::from_secs(u64::MAX),
        _ => Duration::from_nanos(u64::MAX),
    }
}

/// A pool that is given `time` in every place.
fn all_of(time: Duration) -> PoolBuilder<Runs> {
    let retry = RetryPolicy::exponential(time).factor(f64::MAX).max_delay(time).jitter(1.0).budget(1.0, 1.0);
    builder(2)
        .queue_capacity_for(time, time)
        .retry(retry.max_retries(u32::MAX))
        .attempt_timeout(time)
        .slow_after(time)
        .drop_timeout(time)
        .progress_every(time, u64::MAX)
        .idle(IdleStrategy::SpinThenPark(time))
        .timing(Timing::Full)
        .lane(Lane::new("default").ttl(time).attempt_timeout(time).slow_after(time))
}

fn use_the_longest_everywhere(which: &str) {
    let time = longest(which);
    let (pool, ledger) = (all_of(time).build().unwrap(), Ledger::new());
    let submitter = pool.submitter();
    let job = || Job::ok().track(ledger.track());
    let far =
        (0..64).rev().find_map(|bits| Instant::now().checked_add(Duration::from_secs(1 << bits))).unwrap();
    let lasting = TaskOptions::new().ttl(time).deadline(far);
    let mut handle = submitter.submit_tracked_with(job(), lasting).unwrap();
    assert!(matches!(handle.wait_timeout(time), Some(Ok(()))));
    assert!(submitter.submit_timeout(job(), time).into_result().is_ok());
    assert_eq!(pool.wait_idle(time), Ok(()));
    let never = submitter.submit_tracked_with(job(), TaskOptions::new().delay(time)).unwrap();
    assert!(matches!(never.status(), TaskStatus::Delayed { due } if due > Instant::now() + 1000 * LONG));
    assert!(pool.shutdown(time).abandoned.iter().all(|shed| shed.outcome == Outcome::Abandoned));
    assert_eq!((pool.metrics().counts.succeeded, pool.metrics().counts.abandoned), (2, 1));
    assert_rest(&pool);
    drop(pool);
    ledger.assert_all_gone();
}

#[test]
fn a_retry_after_the_longest_time_is_not_waited_for() {
    let Some(ended) = Start::default().run(fail_and_drop_the_pool) else { return };
    ended.assert_code(0);
}

fn fail_and_drop_the_pool(_: &str) {
    let (retry, ledger) = (RetryPolicy::fixed(Duration::MAX).max_delay(Duration::MAX), Ledger::new());
    let pool = builder(1).retry(retry).drop_timeout(Duration::MAX).build().unwrap();
    accepted(&pool, Job::fail().track(ledger.track()));
    assert_eq!(pool.wait_idle(10 * NANO), Err(WaitError::TimedOut));
    drop(pool);
    ledger.assert_all_gone();
}

/// Moments end there: what would be due, expire or time out later does so never, and what is due now is due.
#[test]
fn a_pool_works_at_the_end_of_its_clock() {
    for start in ["built there", "moved there", "moved there by a task"] {
        let Some(ended) = Start::given(start).run(live_at_the_end_of_time) else { return };
        ended.assert_code(0);
    }
}

fn live_at_the_end_of_time(start: &str) {
    let clock = ManualClock::new();
    if start == "built there" {
        clock.advance(Duration::MAX);
    }
    let retry = RetryPolicy::schedule([Duration::ZERO, NANO]).budget(1.0, 10.0);
    let builder = builder(1).retry(retry).attempt_timeout(NANO).slow_after(NANO).timing(Timing::Full);
    let pool = builder.build_manual_on(&clock).unwrap();
    match start {
        "moved there" => pool.advance(Duration::MAX),
        "moved there by a task" => be_moved_by_a_task(&pool, &clock),
        _ => {}
    }
    let (end, before) = (pool.now(), pool.metrics().counts);
    let submitter = pool.submitter();
    let submit = |job: Job, options: TaskOptions| submitter.submit_tracked_with(job, options);
    let runs = [
        submit(Job::ok(), TaskOptions::new().ttl(NANO)),
        submit(Job::ok(), TaskOptions::new().delay(Duration::ZERO)),
        submit(Job::ok(), TaskOptions::new().ttl(Duration::MAX)),
        submit(Job::ok_at(2), TaskOptions::new()),
    ];
    for past in [end, end - NANO] {
        let refused = submit(Job::ok(), TaskOptions::new().deadline(past)).unwrap_err();
        assert_eq!(refused.reason(), RejectReason::Expired);
    }
    let waits =
        [submit(Job::ok(), TaskOptions::new().delay(NANO)), submit(Job::ok_at(3), TaskOptions::new())];
    pool.advance(Duration::MAX);
    assert_eq!((pool.now(), pool.advance_to_next_due()), (end, None));
    assert_eq!(pool.wait_idle(Duration::MAX), Err(WaitError::TimedOut));
    assert!(
        runs.map(Result::unwrap)
            .iter()
            .all(|handle| handle.status() == TaskStatus::Ended(Outcome::Succeeded))
    );
    assert!(waits.map(Result::unwrap).iter().all(|handle| !matches!(handle.status(), TaskStatus::Ended(_))));
    assert_eq!(pool.shutdown(Duration::MAX).abandoned.len() as u64, 2 + before.delayed);
    assert_eq!(pool.metrics().counts.timeouts, before.timeouts);
    assert_rest(&pool);
}

/// The attempt in which the clock moves takes too long, and its retry, at once, does not.
fn be_moved_by_a_task(pool: &ManualPool<Runs>, clock: &ManualClock) {
    let clock = clock.clone();
    accepted(pool, Job::run(move || clock.advance(Duration::MAX)));
    assert_eq!(pool.run_until_idle(), 2);
    let counts = pool.metrics().counts;
    assert_eq!((counts.timeouts, counts.succeeded), (1, 1));
}
