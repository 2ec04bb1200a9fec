//! The pool without threads: time by hand, waiting is running.

use crate::limits::Notes;
use crate::support::{Job, LONG, Ledger, Runs, Watchdog, accepted, assert_rest, builder, ms, panic_quietly};
use dockhand::metrics::Phase;
use dockhand::{
    BuildError, Event, Lane, ManualClock, ManualPool, OverloadPolicy, RejectReason, RetryPolicy,
    SubmitResult, TaskError, TaskOptions, TaskStatus, Timing, WaitError,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn later(delay: Duration) -> TaskOptions {
    TaskOptions::new().delay(delay)
}

/// A pool whose attempts note when they start.
fn noting(retry: RetryPolicy) -> (ManualPool<Runs>, impl Fn(u32) -> Job, Notes<Duration>) {
    let clock = ManualClock::new();
    let pool = builder(1).retry(retry).build_manual_on(&clock).unwrap();
    let (notes, began) = (Notes::new(), clock.now());
    let told = notes.clone();
    let job = move |ok_at| {
        let (clock, notes) = (clock.clone(), notes.clone());
        Job::new(move |cx| {
            notes.add(clock.now() - began);
            if cx.attempt() < ok_at { Err("not yet".into()) } else { Ok(()) }
        })
    };
    (pool, job, told)
}

#[test]
fn a04_a14_a_backoff_of_hours_is_kept_to_the_nanosecond() {
    let _dog = Watchdog::new();
    let real = Instant::now();
    let (pool, job, starts) = noting(RetryPolicy::exponential(secs(1)).max_retries(9));
    accepted(&pool, job(u32::MAX));
    pool.wait_idle(Duration::MAX).unwrap();
    let due = [0, 1, 3, 7, 15, 31, 63, 123, 183, 243].map(secs);
    assert_eq!(starts.all(), due);
    let hours = [1, 6, 24].map(|hours| secs(hours * 3600));
    let (pool, job, starts) = noting(RetryPolicy::schedule(hours).max_retries(5));
    accepted(&pool, job(6));
    assert_eq!(pool.run_until_idle(), 1);
    for hours in [1, 6, 24, 24, 24] {
        // Not a nanosecond before.
        pool.advance(secs(hours * 3600) - Duration::from_nanos(1));
        assert!(!pool.run_one());
        assert_eq!(pool.advance_to_next_due(), Some(Duration::from_nanos(1)));
        assert!(pool.run_one());
    }
    assert_eq!(starts.all(), [0, 1, 7, 31, 55, 79].map(|hours| secs(hours * 3600)));
    assert_eq!((pool.advance_to_next_due(), pool.metrics().counts.succeeded), (None, 1));
    assert!(real.elapsed() < LONG / 2);
    assert_rest(&pool);
}

#[test]
fn a14_attempts_are_counted_and_nothing_comes_after_the_letter() {
    let _dog = Watchdog::new();
    for n in [0, 1, 2, 5] {
        let (pool, job, starts) = noting(RetryPolicy::fixed(secs(60)).max_retries(n));
        accepted(&pool, job(u32::MAX));
        // During the backoff others run.
        pool.run_until_idle();
        for _ in 0..10 {
            accepted(&pool, Job::ok());
        }
        assert_eq!(pool.run_until_idle(), 10);
        pool.wait_idle(Duration::MAX).unwrap();
        pool.advance(secs(1_000_000));
        assert_eq!(pool.run_until_idle(), 0);
        let letters = pool.dead_letters().list();
        assert_eq!((letters.len(), letters[0].task.attempt, starts.all().len() as u32), (1, n + 1, n + 1));
        assert_rest(&pool);
    }
}

#[test]
fn jitter_stays_within_its_share_and_the_cap() {
    let _dog = Watchdog::new();
    let policy = RetryPolicy::fixed(secs(50)).max_retries(200).jitter(0.5).max_delay(secs(60));
    let (pool, job, starts) = noting(policy);
    accepted(&pool, job(201));
    pool.wait_idle(Duration::MAX).unwrap();
    let starts = starts.all();
    let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (secs(25)..=secs(60)).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap < secs(40)) && gaps.contains(&secs(60)), "it spreads");
}

#[test]
fn the_clock_moves_only_when_it_is_told_to() {
    let _dog = Watchdog::new();
    let pool = builder(1).retry(RetryPolicy::fixed(secs(1))).build_manual().unwrap();
    let began = pool.now();
    accepted(&pool, Job::ok());
    pool.submitter().submit_with(Job::ok(), later(secs(5))).into_result().unwrap();
    assert_eq!((pool.run_until_idle(), pool.run_one(), pool.now()), (1, false, began));
    assert_eq!(pool.wait_idle(secs(4)), Err(WaitError::TimedOut));
    assert_eq!(pool.now(), began + secs(4), "it has waited");
    assert_eq!(pool.wait_idle(secs(4)), Ok(()));
    assert_eq!(pool.now(), began + secs(5), "it waits no longer than it must");
    assert_eq!(pool.wait_idle(Duration::ZERO), Ok(()));
    // As far as can be counted, and not beyond.
    pool.advance(Duration::MAX);
    pool.advance(Duration::MAX);
    let end = pool.now();
    assert!(end > began + secs(3600 * 24 * 365 * 500));
    accepted(&pool, Job::ok_at(2));
    assert_eq!(pool.run_until_idle(), 1);
    assert_eq!(pool.wait_idle(Duration::MAX), Err(WaitError::TimedOut), "it is due when no clock comes to");
    assert_eq!(pool.shutdown(Duration::MAX).abandoned.len(), 1);
    assert_rest(&pool);
}

/// What is overdue does not hide what lies ahead, and what was cancelled is not a due time.
#[test]
fn the_next_due_time_is_the_next_one() {
    let _dog = Watchdog::new();
    let pool = builder(1).lane(Lane::new("default").max_concurrency(1)).build_manual().unwrap();
    let submitter = pool.submitter();
    let handles = [1, 2, 3, 4].map(|n| submitter.submit_tracked_with(Job::ok(), later(secs(n))).unwrap());
    assert_eq!(pool.advance_to_next_due(), Some(secs(1)));
    assert_eq!(pool.advance_to_next_due(), Some(secs(1)), "the first one is overdue");
    assert!(matches!(handles[2].cancel(), dockhand::CancelOutcome::Cancelled(_)));
    assert_eq!(pool.advance_to_next_due(), Some(secs(2)), "the third one is gone");
    assert_eq!((pool.run_until_idle(), pool.advance_to_next_due()), (3, None));
    assert_rest(&pool);
}

/// A cancelled task's due time is nothing to wait for.
#[test]
fn a_shutdown_does_not_wait_for_what_was_cancelled() {
    let _dog = Watchdog::new();
    let pool = builder(1).build_manual().unwrap();
    let submitter = pool.submitter();
    let near = submitter.submit_tracked_with(Job::ok(), later(secs(3))).unwrap();
    for _ in 0..3 {
        submitter.submit_with(Job::ok(), later(secs(3600))).into_result().unwrap();
    }
    assert!(matches!(near.cancel(), dockhand::CancelOutcome::Cancelled(_)));
    let report = pool.shutdown(secs(10));
    assert_eq!((report.took, report.abandoned.len()), (Duration::ZERO, 3));
    assert_rest(&pool);
}

#[test]
fn waiting_is_running() {
    let _dog = Watchdog::new();
    let lane = Lane::new("default").queue_capacity(1).retry(RetryPolicy::fixed(secs(60)).max_retries(1));
    let pool = builder(1).lane(lane).build_manual().unwrap();
    let (submitter, began) = (pool.submitter(), pool.now());
    // `wait` runs what comes before it, and moves the clock for its retry.
    accepted(&pool, Job::ok());
    assert!(submitter.submit_tracked(Job::ok()).is_err(), "the lane is full");
    pool.run_one();
    submitter.submit_tracked(Job::ok_at(2)).unwrap().wait().unwrap();
    assert_eq!(pool.now(), began + secs(60));
    // `wait_timeout` moves it no further than its own timeout.
    let mut handle = submitter.submit_tracked(Job::ok_at(2)).unwrap();
    assert!(handle.wait_timeout(secs(10)).is_none());
    assert_eq!((pool.now(), pool.metrics().counts.delayed), (began + secs(70), 1));
    assert!(matches!(handle.status(), TaskStatus::Retrying { due } if due == began + secs(120)));
    assert!(matches!(handle.wait_timeout(secs(50)), Some(Ok(()))));
    assert_eq!(pool.now(), began + secs(120));
    // `submit_timeout` runs a task for its room.
    accepted(&pool, Job::ok());
    submitter.submit_timeout(Job::ok(), secs(1)).into_result().unwrap();
    assert_eq!((pool.now(), pool.metrics().counts.queued), (began + secs(120), 1));
    pool.wait_idle(Duration::ZERO).unwrap();
    // `shutdown` runs what is due in its time.
    submitter.submit_with(Job::ok(), later(secs(30))).into_result().unwrap();
    let report = pool.shutdown(secs(100));
    assert_eq!((report.took, report.counts.succeeded, report.is_clean()), (secs(30), 6, true));
    assert_eq!(pool.status().phase, Phase::Stopped);
    assert_eq!(submitter.submit(Job::ok()).into_result().unwrap_err().reason(), RejectReason::Closed);
    assert!(!pool.run_one());
    assert_rest(&pool);
}

#[test]
fn a_wait_that_nothing_can_end_says_so() {
    let _dog = Watchdog::new();
    let pool = builder(1)
        .lane(Lane::new("a").max_concurrency(0).queue_capacity(1).overload(OverloadPolicy::DropIncoming))
        .build_manual()
        .unwrap();
    let (a, began) = (pool.submitter_for("a").unwrap(), pool.now());
    let held = a.submit_tracked(Job::ok()).unwrap();
    assert_eq!(pool.wait_idle(Duration::MAX), Err(WaitError::TimedOut));
    assert!(matches!(a.submit_timeout(Job::ok(), Duration::MAX), SubmitResult::Dropped(_)));
    assert!(matches!(held.wait(), Err(TaskError::WouldDeadlock)));
    let never = pool.submitter().submit_tracked_with(Job::ok(), later(Duration::MAX)).unwrap();
    assert!(matches!(never.wait(), Err(TaskError::WouldDeadlock)));
    assert_eq!(pool.now(), began);
    // A deadline ends it.
    let mut late = a.with_overload(OverloadPolicy::DropOldest);
    let ends = late.submit_tracked_with(Job::ok(), TaskOptions::new().ttl(secs(7))).unwrap();
    assert!(matches!(ends.wait(), Err(TaskError::Expired)));
    assert_eq!(pool.now(), began + secs(7));
    late = pool.submitter();
    // From inside it does not run others.
    accepted(
        &pool,
        Job::new(move |_| {
            let inner = late.submit_tracked(Job::ok()).unwrap();
            match inner.wait() {
                Err(TaskError::WouldDeadlock) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        }),
    );
    assert_eq!((pool.run_until_idle(), pool.dead_letters().len()), (2, 0));
    let report = pool.shutdown(Duration::MAX);
    // The one that never comes; the ones in "a" have ended.
    assert_eq!(report.abandoned.len(), 1);
    assert_rest(&pool);
}

#[test]
fn it_is_built_and_ended_as_any_pool() {
    let _dog = Watchdog::new();
    assert!(matches!(builder(0).build_manual(), Err(BuildError::NoWorkers)));
    assert!(matches!(builder(1).queue_capacity(0).build_manual(), Err(BuildError::NoCapacity { .. })));
    assert!(matches!(builder(usize::MAX).build_manual(), Err(BuildError::TooManyWorkers { .. })));
    let sized = builder(8).queue_capacity_for(secs(8), secs(10)).build_manual().unwrap();
    assert_eq!(sized.metrics().lanes[0].queue_capacity, 10, "as `build` does it for eight workers");
    let twice = builder(1).lane(Lane::new("a")).lane(Lane::new("a")).build_manual();
    assert!(matches!(twice, Err(BuildError::DuplicateLane { .. })));
    let jitter = builder(1).retry(RetryPolicy::fixed(ms(1)).jitter(7.0)).build_manual();
    assert!(matches!(jitter, Err(BuildError::InvalidRetry { .. })));
    let panics = builder(1).on_worker_start(|_| panic_quietly()).build_manual();
    assert!(matches!(panics, Err(BuildError::StartHookPanicked { worker: 0 })));
    let (notes, ledger) = (Notes::new(), Ledger::new());
    let (start, stop, events) = (notes.clone(), notes.clone(), notes.clone());
    let build = builder(8)
        .on_worker_start(move |worker| start.add(format!("start {worker}")))
        .on_worker_stop(move |worker| stop.add(format!("stop {worker}")))
        .on_event(move |event| {
            if let Event::WorkerStarted { .. } | Event::WorkerStopped { .. } | Event::ShutdownEnded = event {
                events.add(format!("{event:?}"));
            }
        });
    let pool = build.build_manual().unwrap();
    assert_eq!(pool.metrics().live_workers, 1);
    accepted(&pool, Job::ok().track(ledger.track()));
    pool.submitter().submit_with(Job::ok().track(ledger.track()), later(secs(9))).into_result().unwrap();
    // Its drop is a shutdown of five seconds: one task runs, the other is given away.
    drop(pool);
    ledger.assert_all_gone();
    let expected = ["start 0", "WorkerStarted(0)", "stop 0", "WorkerStopped(0)", "ShutdownEnded"];
    assert_eq!(notes.all(), expected);
}

/// The processor moves the clock; the pool that runs it shows for how long, from its very first moment on.
#[test]
fn a_processor_can_move_the_clock() {
    let _dog = Watchdog::new();
    let (clock, shown) = (ManualClock::new(), Notes::new());
    let lane = Lane::new("default").ttl(secs(15));
    let pool = builder(1).timing(Timing::Full).lane(lane).build_manual_on(&clock).unwrap();
    let pool = Arc::new(pool);
    for _ in 0..3 {
        let (weak, clock, shown) = (Arc::downgrade(&pool), clock.clone(), shown.clone());
        let job = Job::new(move |cx| {
            clock.advance(secs(4));
            cx.report_progress(1, 2);
            clock.advance(secs(6));
            let status = weak.upgrade().unwrap().status().workers.remove(0);
            shown.add((status.running_for, status.since_progress));
            Ok(())
        });
        accepted(&pool, job);
    }
    assert_eq!(pool.run_until_idle(), 3);
    // The third one is too late by then.
    assert_eq!(shown.all(), [(Some(secs(10)), Some(secs(6))); 2]);
    assert_eq!((pool.metrics().counts.expired, clock.now()), (1, pool.now()));
    // Two pools on one clock.
    let other = builder(1).build_manual_on(&clock).unwrap();
    other.submitter().submit_with(Job::ok(), later(secs(5))).into_result().unwrap();
    pool.advance(secs(5));
    assert!(other.run_one());
    assert_rest(&other);
    assert_rest(&**pool);
}
