//! A4: time arithmetic cannot go wrong. A11: due times.

use crate::support::{
    Job, LONG, Rng, SLACK, Watchdog, accepted, assert_conserved, assert_rest, build, builder, eventually, ms,
    plug_worker,
};
use dockhand::{
    BuildError, Cause, IdleStrategy, Lane, RetryDecision, RetryPolicy, TaskContext, WorkerPool, processor_fn,
};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn a04_bad_factors_and_jitters_are_refused_at_build() {
    let base = RetryPolicy::exponential(ms(1));
    let factors = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 0.999, f64::MIN_POSITIVE];
    let jitters = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 1.000_001];
    let factors = factors.map(|factor| base.clone().factor(factor));
    let jitters = jitters.map(|jitter| base.clone().jitter(jitter));
    for policy in factors.into_iter().chain(jitters) {
        let whole = builder(1).retry(policy.clone()).build();
        assert!(
            matches!(whole, Err(BuildError::InvalidRetry { lane, .. }) if lane == "default"),
            "{policy:?}"
        );
        let lane = builder(1).lane(Lane::new("a").retry(policy.clone())).build();
        assert!(matches!(lane, Err(BuildError::InvalidRetry { lane, .. }) if lane == "a"), "{policy:?}");
    }
    for policy in [base.clone().factor(1.0), base.clone().factor(f64::MAX), base.jitter(1.0)] {
        assert!(builder(1).retry(policy).build().is_ok());
    }
}

/// Delays that no clock can count: the task waits, and everything else goes on.
#[test]
fn a04_no_duration_panics_wraps_or_fires_early() {
    let _dog = Watchdog::new();
    let nearly = Duration::from_nanos(u64::MAX);
    let policies = [
        RetryPolicy::schedule([Duration::MAX]),
        RetryPolicy::schedule([nearly, nearly]),
        RetryPolicy::fixed(Duration::MAX).max_delay(Duration::MAX),
        RetryPolicy::exponential(Duration::MAX).max_delay(nearly).jitter(1.0).factor(f64::MAX),
        RetryPolicy::exponential(Duration::from_secs(1 << 60)).max_delay(Duration::MAX),
        // Without the cap this would be early: 60 s at the most, and that is far away too.
        RetryPolicy::exponential(Duration::MAX).max_retries(u32::MAX),
    ];
    for policy in policies {
        let pool = build(builder(1).retry(policy.clone()));
        let id = accepted(&pool, Job::fail());
        eventually("it waits", || pool.metrics().counts.delayed == 1);
        // Others pass it, and the clock has gone on when it is looked for.
        for _ in 0..100 {
            accepted(&pool, Job::ok());
        }
        eventually("the others end", || pool.metrics().counts.succeeded == 100);
        assert_conserved(&pool);
        assert_eq!(pool.metrics().counts.attempts, 101, "{policy:?}");
        let report = pool.shutdown(Duration::ZERO);
        assert_eq!(report.abandoned.iter().map(|shed| shed.task.id).collect::<Vec<_>>(), [id]);
        assert_rest(&pool);
    }
}

/// What never comes due is not waited for, however long the window.
#[test]
fn a04_a_window_without_end_does_not_wait_for_what_never_comes() {
    let _dog = Watchdog::new();
    for delay in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        let pool = build(builder(2).retry(RetryPolicy::schedule([delay])));
        accepted(&pool, Job::fail());
        eventually("it waits", || pool.metrics().counts.delayed == 1);
        let report = pool.shutdown(Duration::MAX);
        assert_eq!((report.abandoned.len(), report.still_running.len()), (1, 0));
        assert_rest(&pool);
    }
}

#[test]
fn a04_named_delays_of_every_length_are_kept_or_given_up() {
    let _dog = Watchdog::new();
    let work = |delay: &mut Duration, cx: &TaskContext<'_, Duration>| {
        if cx.attempt() == 1 { Err(format!("{}", delay.as_nanos())) } else { Ok(()) }
    };
    let builder = WorkerPool::builder(processor_fn(work))
        .workers(1)
        .retry(RetryPolicy::fixed(Duration::from_secs(60)).max_retry_after(ms(20)).jitter(1.0))
        .classify(|cause| match cause {
            Cause::Error(text) => {
                RetryDecision::RetryAfter(Duration::from_nanos(text.parse().unwrap_or(u64::MAX)))
            }
            _ => RetryDecision::GiveUp,
        });
    let pool = build(builder);
    for delay in [Duration::ZERO, Duration::from_nanos(1), ms(20), Duration::from_secs(3600), Duration::MAX] {
        let start = Instant::now();
        pool.submit(delay).into_result().unwrap();
        pool.wait_idle(LONG).unwrap();
        assert!(start.elapsed() >= delay || delay > ms(20));
        assert!(start.elapsed() < ms(100) * SLACK, "{delay:?}: {:?}", start.elapsed());
    }
    let counts = pool.metrics().counts;
    assert_eq!((counts.succeeded, counts.dead_lettered), (3, 2));
}

#[test]
fn a04_no_timeout_panics_or_wraps() {
    let _dog = Watchdog::new();
    for forever in [Duration::MAX, Duration::from_nanos(u64::MAX), Duration::from_secs(u64::MAX / 2)] {
        let spin = IdleStrategy::SpinThenPark(forever);
        let pool = build(builder(2).queue_capacity(1).drop_timeout(forever).idle(spin));
        for _ in 0..100 {
            pool.submitter().submit_timeout(Job::ok(), forever).into_result().unwrap();
        }
        pool.wait_idle(forever).unwrap();
        accepted(&pool, Job::ok());
        assert!(pool.shutdown(forever).is_clean());
        assert_rest(&pool);
    }
}

/// Retries that were planned for later come first if they are due first, and none is early.
#[test]
fn a11_due_times_are_kept_whatever_was_inserted_before() {
    let _dog = Watchdog::new();
    for (workers, descending) in [(1, true), (1, false), (4, true), (4, false)] {
        let delays: Vec<u64> = if descending { (0..100).rev().collect() } else { (0..100).collect() };
        let failed = Arc::new(Mutex::new(vec![None; 100]));
        let (started, starts) = channel();
        let work = {
            let failed = Arc::clone(&failed);
            move |n: &mut u64, cx: &TaskContext<'_, u64>| {
                let now = Instant::now();
                if cx.attempt() == 1 {
                    failed.lock().unwrap()[*n as usize] = Some(now);
                    return Err(n.to_string());
                }
                started.send((*n, now)).unwrap();
                Ok(())
            }
        };
        let builder = WorkerPool::builder(processor_fn(work))
            .workers(workers)
            .retry(RetryPolicy::fixed(ms(1)))
            .classify(|cause| match cause {
                // Far enough from each other and from the offers to tell the order.
                Cause::Error(text) => {
                    RetryDecision::RetryAfter(ms(200 + 4 * text.parse::<u64>().unwrap_or(0)))
                }
                _ => RetryDecision::GiveUp,
            });
        let pool = build(builder);
        assert_eq!(pool.submitter().submit_batch(delays).accepted, 100);
        pool.wait_idle(LONG).unwrap();
        let starts: Vec<_> = starts.try_iter().collect();
        assert_eq!(starts.len(), 100);
        for &(n, at) in &starts {
            let waited = at - failed.lock().unwrap()[n as usize].unwrap();
            let planned = ms(200 + 4 * n);
            assert!(waited >= planned, "{n} came early: {waited:?}");
            assert!(waited < (planned + ms(100)) * SLACK, "{n} came late: {waited:?}");
        }
        // By due time, as far as two readings of the clock can tell; the due times span 400 ms.
        let due = |n: u64| failed.lock().unwrap()[n as usize].unwrap() + ms(200 + 4 * n);
        for pair in starts.windows(2).filter(|_| workers == 1) {
            assert!(due(pair[0].0) <= due(pair[1].0) + ms(20), "{pair:?}");
        }
    }
}

#[test]
fn a11_a_short_delay_passes_a_long_one() {
    let _dog = Watchdog::new();
    let work = |millis: &mut u64, cx: &TaskContext<'_, u64>| {
        if cx.attempt() == 1 { Err(millis.to_string()) } else { Ok(()) }
    };
    let builder = WorkerPool::builder(processor_fn(work))
        .workers(1)
        .retry(RetryPolicy::fixed(ms(1)))
        .classify(|cause| match cause {
            Cause::Error(text) => RetryDecision::RetryAfter(ms(text.parse().unwrap_or(0))),
            _ => RetryDecision::GiveUp,
        });
    let pool = build(builder);
    pool.submit(60_000).into_result().unwrap();
    eventually("the long one waits", || pool.metrics().counts.delayed == 1);
    for _ in 0..5 {
        let (before, start) = (pool.metrics().counts.succeeded, Instant::now());
        pool.submit(50).into_result().unwrap();
        eventually("the short one ends", || pool.metrics().counts.succeeded > before);
        let took = start.elapsed();
        assert!(took >= ms(50), "{took:?}");
        assert!(took < ms(150) * SLACK, "{took:?}");
    }
    assert_eq!(pool.shutdown(Duration::ZERO).abandoned.len(), 1);
}

/// Random delays on several lanes and workers under load: never early, none lost.
#[test]
fn a11_no_retry_is_early_under_load() {
    let _dog = Watchdog::new();
    let early = Arc::new(Mutex::new(Vec::new()));
    let pool = build(
        builder(3)
            .lane(Lane::new("a"))
            .retry(RetryPolicy::exponential(Duration::from_micros(700)).jitter(0.5).factor(1.5)),
    );
    let mut rng = Rng::new(11);
    for n in 0..2000 {
        let (early, mut failed) = (Arc::clone(&early), None::<Instant>);
        let times = 1 + rng.below(4) as u32;
        let job = Job::new(move |cx| {
            // Half of the base, by the jitter, and never less.
            let waited = failed.map(|at| at.elapsed());
            if waited.is_some_and(|waited| waited < Duration::from_micros(350)) {
                early.lock().unwrap().push((n, cx.attempt(), waited));
            }
            if cx.attempt() < times {
                failed = Some(Instant::now());
                return Err("again".to_string());
            }
            Ok(())
        });
        let lane = if n % 2 == 0 { "a" } else { "default" };
        pool.submitter_for(lane).unwrap().submit_timeout(job, LONG).into_result().unwrap();
    }
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
    let counts = pool.metrics().counts;
    assert_eq!(counts.succeeded, 2000, "{counts:?}");
    assert!(early.lock().unwrap().is_empty(), "{:?}", early.lock().unwrap());
}

/// Delays far away cost the near ones nothing, and a plug holds back what is due only until it opens.
#[test]
fn a11_what_is_due_behind_a_plug_runs_when_it_opens() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(ms(5))));
    for _ in 0..20 {
        accepted(&pool, Job::ok_at(2));
    }
    let plug = plug_worker(&pool);
    let delayed = pool.metrics().counts.delayed;
    // Their time passes while the only worker is taken.
    let start = Instant::now();
    eventually("they are due", || start.elapsed() > ms(10));
    assert_eq!(pool.metrics().counts.delayed, delayed, "nothing runs beside the plug");
    plug.open();
    pool.wait_idle(ms(200) * SLACK).unwrap();
    assert_rest(&pool);
    assert_eq!(pool.metrics().counts.succeeded, 21);
}
