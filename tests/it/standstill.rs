//! What a manual pool does with tasks that come back without end while its clock stands still.

use crate::support::{Job, LONG, Ledger, Runs, Watchdog, accepted, assert_rest, builder, ms};
use dockhand::{
    Cause, Lane, ManualClock, ManualPool, Outcome, OverloadPolicy, PoolBuilder, RejectReason, RetryDecision,
    RetryPolicy, Shed, SubmitResult, TaskContext, TaskError, TaskOptions, TaskStatus, WaitError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How often one call runs what comes back at one instant.
const ROUNDS: u64 = 1000;

fn at_once() -> PoolBuilder<Runs> {
    builder(1).retry(RetryPolicy::fixed(Duration::ZERO).max_retries(u32::MAX))
}

/// Submits itself again, `left` times, into the lanes by turns.
fn again(lanes: &'static [&'static str], left: u64) -> Job {
    Job::new(move |cx| {
        if left > 0 {
            let next = lanes[left as usize % lanes.len()];
            cx.submit(next, again(lanes, left - 1)).into_result().map_err(|refused| refused.to_string())?;
        }
        Ok(())
    })
}

const ONE: &[&str] = &["default"];
const TWO: &[&str] = &["a", "default"];

/// Pools with tasks that come back: by retries of three kinds, by themselves, and from one lane to the other.
fn endless() -> Vec<(&'static str, ManualPool<Runs>)> {
    let asked = |decision| at_once().classify(move |_: Cause<'_, String>| decision);
    let scheduled = builder(1).retry(RetryPolicy::schedule([]).max_retries(u32::MAX));
    let two = || builder(1).lane(Lane::new("a"));
    let made = [
        ("retried", at_once(), Job::fail()),
        ("by a schedule", scheduled, Job::fail()),
        ("asked for", asked(RetryDecision::RetryAfter(Duration::ZERO)), Job::fail()),
        ("itself", builder(1), again(ONE, u64::MAX)),
        ("by turns", two(), again(TWO, u64::MAX)),
    ];
    made.map(|(name, builder, job)| {
        let pool = builder.build_manual().unwrap();
        accepted(&pool, job);
        (name, pool)
    })
    .into()
}

#[test]
fn a_wait_for_rest_gives_up_what_comes_back_without_end() {
    let _dog = Watchdog::new();
    for timeout in [ms(10), Duration::MAX] {
        for (name, pool) in endless() {
            let began = pool.now();
            assert_eq!(pool.wait_idle(timeout), Err(WaitError::TimedOut), "{name}");
            assert_eq!((pool.metrics().counts.attempts, pool.now()), (ROUNDS, began), "{name}");
            // Each call has its own.
            assert_eq!(pool.wait_idle(timeout), Err(WaitError::TimedOut), "{name}");
            assert_eq!(pool.metrics().counts.attempts, 2 * ROUNDS, "{name}");
        }
    }
}

#[test]
fn a_run_until_idle_gives_up_what_comes_back_without_end() {
    let _dog = Watchdog::new();
    for (name, pool) in endless() {
        assert_eq!(pool.run_until_idle() as u64, ROUNDS, "{name}");
        assert!(pool.run_one(), "{name}: one is left");
    }
}

#[test]
fn a_shutdown_runs_what_comes_back_and_then_hands_it_back() {
    let _dog = Watchdog::new();
    for window in [ms(10), Duration::MAX] {
        for (name, pool) in endless() {
            let began = pool.now();
            let report = pool.shutdown(window);
            assert_eq!(pool.now(), began, "{name}");
            let counts = report.counts;
            if counts.retries == 0 {
                // A closed pool refuses it.
                assert_eq!((counts.attempts, counts.dead_lettered), (1, 1), "{name}");
            } else {
                assert_eq!((counts.attempts, counts.abandoned), (ROUNDS, 1), "{name}");
                let shed = &report.abandoned[0];
                assert_eq!((shed.outcome, u64::from(shed.task.attempt)), (Outcome::Abandoned, ROUNDS));
                assert_eq!(shed.last_error.as_deref(), Some("attempt 1000"));
                assert_eq!(shed.was, TaskStatus::Retrying { due: began });
            }
            assert!(report.still_running.is_empty(), "{name}");
            assert_rest(&pool);
        }
    }
}

#[test]
fn a_pool_whose_tasks_come_back_without_end_can_be_dropped() {
    let _dog = Watchdog::new();
    for (_, pool) in endless() {
        drop(pool);
    }
    let (ledger, shed) = (Ledger::new(), Arc::new(AtomicU32::new(0)));
    let seen = Arc::clone(&shed);
    let hook = move |shed: Shed<Job>| {
        seen.store(shed.task.attempt, Ordering::Relaxed);
    };
    let pool = at_once().drop_timeout(Duration::MAX).on_shed(hook).build_manual().unwrap();
    accepted(&pool, Job::fail().track(ledger.track()));
    drop(pool);
    assert_eq!(u64::from(shed.load(Ordering::Relaxed)), ROUNDS);
    ledger.assert_all_gone();
}

#[test]
fn a_handle_does_not_wait_without_end_for_what_comes_back() {
    let _dog = Watchdog::new();
    let pool = at_once().build_manual().unwrap();
    let began = pool.now();
    let mut comes_back = pool.submitter().submit_tracked(Job::fail()).unwrap();
    assert!(comes_back.wait_timeout(ms(10)).is_none());
    assert!(comes_back.wait_timeout(ms(10)).is_none());
    assert_eq!((pool.metrics().counts.attempts, pool.now()), (2 * ROUNDS, began));
    // Beside it others get their turn.
    let mut other = pool.submitter().submit_tracked(Job::ok()).unwrap();
    assert!(matches!(other.wait_timeout(ms(10)), Some(Ok(()))));
    assert!(matches!(comes_back.wait(), Err(TaskError::WouldDeadlock)));
    assert_eq!(pool.now(), began);
}

#[test]
fn a_submit_does_not_wait_without_end_for_room() {
    let _dog = Watchdog::new();
    let endings = [
        (OverloadPolicy::Reject, "rejected"),
        (OverloadPolicy::CallerRuns, "run here"),
        (OverloadPolicy::DropIncoming, "dropped"),
        (OverloadPolicy::DropOldest, "accepted"),
    ];
    for (policy, expected) in endings {
        for timeout in [ms(10), Duration::MAX] {
            let lane = Lane::new("default").queue_capacity(1).overload(policy);
            let pool = builder(1).lane(lane).build_manual().unwrap();
            accepted(&pool, again(ONE, u64::MAX));
            let answer = match pool.submitter().submit_timeout(Job::ok(), timeout) {
                SubmitResult::Accepted(_) => "accepted",
                SubmitResult::CallerRun(_) => "run here",
                SubmitResult::Dropped(_) => "dropped",
                SubmitResult::Rejected(refused) => {
                    assert_eq!(refused.reason(), RejectReason::QueueFull);
                    "rejected"
                }
            };
            assert_eq!(answer, expected);
            assert_eq!(pool.metrics().counts.attempts, ROUNDS + u64::from(expected == "run here"));
        }
    }
}

/// Chains and trees of follow-ups have an end, and are run to it.
#[test]
fn follow_ups_and_retries_that_end_are_run_to_their_end() {
    let _dog = Watchdog::new();
    let pool = builder(1).lane(Lane::new("a")).build_manual().unwrap();
    accepted(&pool, again(TWO, ROUNDS - 1));
    assert_eq!(pool.wait_idle(ms(10)), Ok(()));
    assert_eq!(pool.metrics().counts.succeeded, ROUNDS);
    let pool = at_once().build_manual().unwrap();
    accepted(&pool, Job::ok_at(1000));
    assert!(pool.shutdown(ms(10)).is_clean());
    // One task makes more than there are rounds.
    let pool = builder(1).queue_capacity(5000).build_manual().unwrap();
    accepted(
        &pool,
        Job::new(|cx| {
            let made = (0..5000).filter(|_| cx.submit("default", Job::ok()).into_result().is_ok()).count();
            assert_eq!(made, 5000);
            Ok(())
        }),
    );
    assert_eq!((pool.wait_idle(ms(10)), pool.metrics().counts.succeeded), (Ok(()), 5001));
}

/// The most urgent lane never empties: what waits in the other one has had its turn when the wait gives up.
#[test]
fn what_waits_beside_an_endless_task_is_run() {
    let _dog = Watchdog::new();
    let lanes =
        builder(1).lane(Lane::new("a").retry(RetryPolicy::fixed(Duration::ZERO).max_retries(u32::MAX)));
    let pool = lanes.queue_capacity(500).build_manual().unwrap();
    pool.submitter_for("a").unwrap().submit(Job::fail()).into_result().unwrap();
    for _ in 0..500 {
        accepted(&pool, Job::ok());
    }
    assert_eq!(pool.wait_idle(LONG), Err(WaitError::TimedOut));
    assert_eq!(pool.metrics().counts.succeeded, 500);
    assert_eq!(pool.shutdown(ms(10)).abandoned.len(), 1);
    assert_rest(&pool);
}

/// An attempt that takes time brings a new instant: the timeout ends it.
#[test]
fn time_that_moves_is_bounded_by_the_timeout_alone() {
    let _dog = Watchdog::new();
    let clock = ManualClock::new();
    let pool = at_once().drop_timeout(ms(1)).build_manual_on(&clock).unwrap();
    let takes_time = move |cx: &TaskContext<'_, Job>| {
        clock.advance(Duration::from_micros(1));
        Err(format!("attempt {}", cx.attempt()))
    };
    accepted(&pool, Job::new(takes_time));
    let began = pool.now();
    assert_eq!(pool.wait_idle(ms(5)), Err(WaitError::TimedOut));
    assert_eq!(
        (pool.metrics().counts.attempts, pool.now() - began),
        (5001, ms(5) + Duration::from_micros(1))
    );
}

/// What cannot run now is no part of it: a paused lane, and what is delayed.
#[test]
fn what_cannot_run_costs_no_rounds() {
    let _dog = Watchdog::new();
    let pool = at_once().lane(Lane::new("paused").max_concurrency(0)).build_manual().unwrap();
    let paused = pool.submitter_for("paused").unwrap();
    for _ in 0..50 {
        paused.submit(Job::ok()).into_result().unwrap();
        let later = TaskOptions::new().delay(LONG);
        pool.submitter().submit_with(Job::ok(), later).into_result().unwrap();
    }
    accepted(&pool, Job::fail());
    assert_eq!(pool.run_until_idle() as u64, ROUNDS);
}
