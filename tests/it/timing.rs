//! Wait and run times, ages, and what `Timing` leaves out.

use crate::support::{Job, Runs, Watchdog, accepted, assert_rest, build, builder, ms, rounds};
use dockhand::metrics::LaneMetrics;
use dockhand::{
    CancelOutcome, Lane, ManualClock, ManualPool, OverloadPolicy, PoolBuilder, RetryPolicy, SubmitResult,
    TaskOptions, Timing,
};
use std::time::Duration;

fn on_clock(builder: PoolBuilder<Runs>) -> (ManualPool<Runs>, ManualClock) {
    let clock = ManualClock::new();
    (builder.build_manual_on(&clock).unwrap(), clock)
}

/// A job that takes so long by the clock.
fn takes(clock: &ManualClock, time: Duration) -> Job {
    let clock = clock.clone();
    Job::run(move || clock.advance(time))
}

fn lane(pool: &ManualPool<Runs>) -> LaneMetrics {
    pool.metrics().lanes.pop().unwrap()
}

#[track_caller]
fn assert_close(seen: Duration, exact: Duration) {
    let off = seen.abs_diff(exact).as_secs_f64() / exact.as_secs_f64();
    assert!(off <= 0.05, "{seen:?} for {exact:?}");
}

#[test]
fn full_timing_knows_every_wait_and_run() {
    let _dog = Watchdog::new();
    let (pool, clock) = on_clock(builder(1).timing(Timing::Full));
    for n in 1..=100_u64 {
        accepted(&pool, takes(&clock, Duration::from_secs(n)));
        clock.advance(ms(n));
        assert!(pool.run_one());
    }
    let lane = lane(&pool);
    assert_eq!((lane.wait.count(), lane.run.count(), lane.caller_run.count()), (100, 100, 0));
    assert_eq!((lane.wait.sum(), lane.run.sum()), (ms(5050), Duration::from_secs(5050)));
    for (q, n) in [(0.0, 1), (0.01, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)] {
        assert_close(lane.wait.quantile(q), ms(n));
        assert_close(lane.run.quantile(q), Duration::from_secs(n));
    }
    // Between a microsecond and an hour.
    for time in [Duration::from_nanos(1100), Duration::from_micros(33), Duration::from_secs(3600)] {
        let (pool, clock) = on_clock(builder(1).timing(Timing::Full));
        accepted(&pool, takes(&clock, time));
        pool.run_one();
        let lane = self::lane(&pool);
        assert_close(lane.run.quantile(0.5), time);
        assert_eq!(lane.run.sum(), time);
    }
}

#[test]
fn a_wait_begins_at_the_due_time_and_a_retry_has_none() {
    let _dog = Watchdog::new();
    let (pool, clock) = on_clock(builder(1).timing(Timing::Full).retry(RetryPolicy::fixed(ms(10))));
    let later = TaskOptions::new().delay(Duration::from_secs(60));
    pool.submitter().submit_with(takes(&clock, ms(3)), later).into_result().unwrap();
    clock.advance(Duration::from_secs(61));
    pool.run_one();
    assert_eq!((lane(&pool).wait.sum(), lane(&pool).run.sum()), (Duration::from_secs(1), ms(3)));
    accepted(&pool, Job::ok_at(3));
    pool.wait_idle(Duration::MAX).unwrap();
    let lane = lane(&pool);
    assert_eq!((lane.wait.count(), lane.run.count()), (2, 4));
    assert_eq!(lane.wait.sum(), Duration::from_secs(1));
}

#[test]
fn caller_runs_are_timed_apart() {
    let _dog = Watchdog::new();
    let policy = OverloadPolicy::CallerRuns;
    let (pool, clock) = on_clock(builder(1).timing(Timing::Full).queue_capacity(1).overload(policy));
    accepted(&pool, takes(&clock, ms(5)));
    for _ in 0..3 {
        assert!(matches!(pool.submit(takes(&clock, ms(100))), SubmitResult::CallerRun(_)));
    }
    pool.run_until_idle();
    let lane = lane(&pool);
    assert_eq!((lane.caller_run.count(), lane.run.count(), lane.wait.count()), (3, 1, 1));
    assert_eq!((lane.caller_run.sum(), lane.run.sum(), lane.wait.sum()), (ms(300), ms(5), ms(300)));
}

#[test]
fn nothing_is_timed_when_timing_is_off() {
    let _dog = Watchdog::new();
    for timing in [Timing::Off, Timing::Sampled(0)] {
        let build = builder(1).timing(timing).queue_capacity(4).retry(RetryPolicy::none());
        let (pool, clock) = on_clock(build.overload(OverloadPolicy::CallerRuns));
        for _ in 0..4 {
            accepted(&pool, takes(&clock, ms(100)));
        }
        assert!(matches!(pool.submit(takes(&clock, ms(100))), SubmitResult::CallerRun(_)));
        assert_eq!(lane(&pool).oldest, None);
        pool.run_until_idle();
        accepted(&pool, Job::fail());
        pool.run_until_idle();
        let lane = lane(&pool);
        assert_eq!((lane.wait.count(), lane.run.count(), lane.caller_run.count()), (0, 0, 0));
        assert_eq!(lane.run.quantile(0.5), Duration::ZERO);
        assert_eq!(pool.dead_letters().list()[0].age, None);
    }
}

#[test]
fn sampled_timing_knows_its_share() {
    let _dog = Watchdog::new();
    for (n, rounded) in [(1, 1), (2, 2), (3, 4), (8, 8), (16, 16), (1000, 1024)] {
        let pool = build(builder(2).timing(Timing::Sampled(n)));
        let tasks = rounds(200_000, 10) as u64;
        for _ in 0..tasks {
            pool.submitter().submit_timeout(Job::ok(), Duration::MAX).into_result().unwrap();
        }
        pool.wait_idle(crate::support::LONG).unwrap();
        let lane = pool.metrics().lanes.pop().unwrap();
        let (timed, share) = (lane.run.count(), tasks / rounded);
        assert!(timed.abs_diff(share) <= 2 + share / 50, "one in {n}: {timed} of {tasks}");
        assert_eq!((lane.wait.count(), lane.oldest), (timed, None));
        assert_rest(&pool);
    }
}

#[test]
fn a_letter_knows_its_age() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::schedule([10, 20].map(Duration::from_secs));
    let (pool, clock) = on_clock(builder(1).timing(Timing::Full).retry(retry));
    accepted(&pool, Job::fail());
    clock.advance(ms(500));
    pool.wait_idle(Duration::MAX).unwrap();
    let letter = pool.dead_letters().list().pop().unwrap();
    assert_eq!(letter.age, Some(ms(30_500)));
    // Offered again it is a new task.
    clock.advance(Duration::from_secs(9));
    pool.dead_letters().requeue(letter.task.id).unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.dead_letters().list()[0].age, Some(Duration::from_secs(30)));
}

/// By every way into and out of a lane.
#[test]
fn the_oldest_queued_task_is_known() {
    let _dog = Watchdog::new();
    let lanes = Lane::new("default").queue_capacity(3).max_concurrency(1);
    let (pool, clock) = on_clock(builder(1).timing(Timing::Full).lane(lanes));
    let oldest = || lane(&pool).oldest;
    let secs = Duration::from_secs;
    let next = |offer: &dyn Fn()| {
        offer();
        clock.advance(secs(1));
    };
    assert_eq!(oldest(), None);
    // Delayed tasks do not wait in the queue.
    let later = TaskOptions::new().delay(secs(1000));
    pool.submitter().submit_with(Job::ok(), later).into_result().unwrap();
    assert_eq!(oldest(), None);
    next(&|| assert!(pool.submit(Job::ok()).into_result().is_ok()));
    next(&|| assert!(pool.submitter().submit_tracked(Job::ok()).is_ok()));
    next(&|| assert_eq!(pool.submitter().submit_batch([Job::ok()]).accepted, 1));
    assert_eq!(oldest(), Some(secs(3)));
    // A refused one changes nothing; one that displaces does.
    drop(pool.submit(Job::ok()));
    assert_eq!(oldest(), Some(secs(3)));
    let push = pool.submitter().with_overload(OverloadPolicy::DropOldest);
    next(&|| assert!(push.submit(Job::ok()).into_result().is_ok()));
    assert_eq!(oldest(), Some(secs(3)));
    assert!(pool.run_one());
    assert_eq!(oldest(), Some(secs(2)));
    next(&|| assert!(pool.submitter().submit_timeout(Job::ok(), ms(1)).into_result().is_ok()));
    let expired = TaskOptions::new().ttl(ms(1));
    pool.run_one();
    assert_eq!(oldest(), Some(secs(2)));
    next(&|| assert!(pool.submitter().submit_with(Job::ok(), expired.clone()).into_result().is_ok()));
    pool.run_one();
    pool.run_one();
    assert_eq!(oldest(), Some(secs(1)));
    pool.run_one();
    assert_eq!((oldest(), pool.metrics().counts.expired), (None, 1));
    // What a pause holds grows old.
    pool.set_max_concurrency("default", 0).unwrap();
    next(&|| assert!(pool.submit(Job::ok()).into_result().is_ok()));
    pool.run_until_idle();
    assert_eq!(oldest(), Some(secs(1)));
    drop(pool.shutdown(Duration::ZERO));
    assert_eq!(oldest(), None);
    assert_rest(&pool);
}

/// A cancelled task keeps its place in the lane, but it does not wait.
#[test]
fn a_cancelled_task_is_not_the_oldest() {
    let _dog = Watchdog::new();
    let (pool, clock) = on_clock(builder(1).timing(Timing::Full));
    let handle = pool.submitter().submit_tracked(Job::ok()).unwrap();
    clock.advance(Duration::from_secs(5));
    assert_eq!(lane(&pool).oldest, Some(Duration::from_secs(5)));
    assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
    assert_eq!((lane(&pool).counts.queued, lane(&pool).oldest), (0, None));
    pool.run_until_idle();
    accepted(&pool, Job::ok());
    clock.advance(Duration::from_secs(1));
    assert_eq!(lane(&pool).oldest, Some(Duration::from_secs(1)));
}
