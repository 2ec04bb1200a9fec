//! `RetryAfter`: what a server asks for is a lower bound.

use crate::limits::Notes;
use crate::support::{Job, Runs, Watchdog, accepted, assert_rest, builder, ms};
use dockhand::letter::DeadLetterReason;
use dockhand::{ManualClock, ManualPool, RetryDecision, RetryPolicy, TaskError, TaskOptions};
use std::time::Duration;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A pool in which every failure is told to come back after `hint`, and jobs that fail `fails` times and note when they
/// start.
fn told(policy: RetryPolicy, hint: Duration) -> (ManualPool<Runs>, impl Fn(u32) -> Job, Notes<Duration>) {
    let clock = ManualClock::new();
    let builder = builder(1).retry(policy).classify(move |_| RetryDecision::RetryAfter(hint));
    let pool = builder.build_manual_on(&clock).unwrap();
    let (notes, began) = (Notes::new(), clock.now());
    let starts = notes.clone();
    let job = move |fails| {
        let (clock, notes) = (clock.clone(), notes.clone());
        Job::new(move |cx| {
            notes.add(clock.now() - began);
            if cx.attempt() <= fails { Err("later".into()) } else { Ok(()) }
        })
    };
    (pool, job, starts)
}

#[test]
fn a_hint_is_a_lower_bound_that_jitter_spreads_upwards() {
    let _dog = Watchdog::new();
    let policy = RetryPolicy::fixed(secs(1)).max_delay(secs(30)).jitter(0.5);
    let (pool, job, starts) = told(policy, secs(60));
    for _ in 0..100 {
        accepted(&pool, job(1));
    }
    pool.wait_idle(Duration::MAX).unwrap();
    let mut again = starts.all().split_off(100);
    assert_eq!(again.len(), 100);
    assert!(again.iter().all(|at| (secs(60)..=secs(90)).contains(at)), "{again:?}");
    // Half of them in each half, give or take; none of it by chance in the lifetime of this test.
    let early = again.iter().filter(|at| **at < secs(75)).count();
    assert!((10..=90).contains(&early), "{early} of 100 in the first half");
    again.dedup();
    assert!(again.len() > 90, "they come one by one");
    assert_rest(&pool);
}

#[test]
fn a_hint_without_jitter_is_kept_to_the_nanosecond_whatever_the_cap() {
    let _dog = Watchdog::new();
    for hint in [Duration::ZERO, Duration::from_nanos(1), secs(60) - Duration::from_nanos(1), secs(80_000)] {
        let (pool, job, starts) = told(RetryPolicy::fixed(secs(5)).max_delay(ms(20)), hint);
        accepted(&pool, job(2));
        pool.wait_idle(Duration::MAX).unwrap();
        assert_eq!(starts.all(), [Duration::ZERO, hint, hint * 2]);
    }
}

#[test]
fn a_hint_beyond_its_limit_makes_a_letter_that_says_so() {
    let _dog = Watchdog::new();
    let policy = || RetryPolicy::fixed(secs(1)).max_delay(secs(1)).jitter(1.0);
    let day = secs(24 * 3600);
    let limits = [(policy(), day), (policy().max_retry_after(secs(5)), secs(5))];
    for (policy, limit) in limits {
        let (pool, job, starts) = told(policy.clone(), limit);
        accepted(&pool, job(1));
        pool.wait_idle(Duration::MAX).unwrap();
        assert!((limit..=limit * 2).contains(&starts.all()[1]), "the limit is believed, and spread");
        for absurd in [limit + Duration::from_nanos(1), Duration::MAX] {
            let (pool, job, starts) = told(policy.clone(), absurd);
            let id = accepted(&pool, job(1));
            assert_eq!(pool.run_until_idle(), 1);
            let letter = pool.dead_letters().take(id).unwrap();
            let known = (letter.info.reason, letter.info.task.attempt, starts.all().len());
            assert_eq!(known, (DeadLetterReason::RetryAfterTooLong, 1, 1));
            assert_eq!((pool.metrics().counts.retries, pool.metrics().counts.delayed), (0, 0));
            assert_rest(&pool);
        }
    }
    // Without a limit it waits as long as it is told, and that may be for ever.
    let (pool, job, _) = told(policy().max_retry_after(Duration::MAX), Duration::MAX);
    accepted(&pool, job(1));
    assert_eq!(pool.run_until_idle(), 1);
    assert_eq!(pool.metrics().counts.delayed, 1);
    // Retries that are used up come first.
    let (pool, job, _) = told(RetryPolicy::none(), Duration::MAX);
    let id = accepted(&pool, job(1));
    pool.run_until_idle();
    assert_eq!(pool.dead_letters().take(id).unwrap().info.reason, DeadLetterReason::RetriesExhausted);
}

#[test]
fn a_hint_ends_with_the_retries_and_with_the_deadline() {
    let _dog = Watchdog::new();
    let policy = || RetryPolicy::fixed(secs(1)).max_delay(secs(1)).max_retries(2);
    let (pool, job, starts) = told(policy(), secs(60));
    let id = accepted(&pool, job(9));
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(starts.all(), [0, 60, 120].map(secs));
    let letter = pool.dead_letters().take(id).unwrap();
    assert_eq!((letter.info.reason, letter.info.task.attempt), (DeadLetterReason::RetriesExhausted, 3));
    // Due at its deadline is too late; a nanosecond before is not.
    let (pool, job, starts) = told(policy(), secs(60));
    let until = |ttl| TaskOptions::new().ttl(ttl);
    let late = pool.submitter().submit_tracked_with(job(1), until(secs(60))).unwrap();
    let in_time = until(secs(60) + Duration::from_nanos(1));
    let in_time = pool.submitter().submit_tracked_with(job(1), in_time).unwrap();
    pool.run_until_idle();
    assert!(matches!(late.wait(), Err(TaskError::Expired)));
    assert!(in_time.wait().is_ok());
    assert_eq!(starts.all(), [0, 0, 60].map(secs));
    assert_rest(&pool);
}
