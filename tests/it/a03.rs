//! A3: work that comes back finds room or a grave. A14: attempts.

use crate::support::{
    Gate, Job, LONG, Ledger, POLICIES, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
};
use dockhand::letter::DeadLetterReason;
use dockhand::{Lane, OverloadPolicy, RetryDecision, RetryPolicy, TaskContext, WorkerPool, processor_fn};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn a03_a_retry_runs_beside_a_lane_that_is_kept_full() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let retry = RetryPolicy::fixed(ms(5));
        let pool = build(builder(1).queue_capacity(1).retry(retry));
        let (done, end) = channel();
        let retried = Job::new(move |cx| {
            if cx.attempt() == 1 {
                return Err("once".to_string());
            }
            done.send(()).unwrap();
            Ok(())
        });
        pool.submit(retried).into_result().unwrap();
        eventually("it has failed", || pool.metrics().counts.retries == 1);
        // The lane never runs empty while the retry waits, and no offer is lost.
        let filler = pool.submitter().with_overload(policy);
        let start = Instant::now();
        while end.try_recv().is_err() {
            assert!(start.elapsed() < LONG, "{policy:?}: the retry starves");
            let _ = filler.submit(Job::ok());
        }
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
        assert_eq!(pool.metrics().counts.retries, 1);
    }
}

#[test]
fn a03_a_thousand_failing_tasks_have_one_outcome_each() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let retry = RetryPolicy::fixed(Duration::from_micros(200)).max_retries(2);
        let pool =
            build(builder(2).queue_capacity(4).overload(policy).retry(retry).dead_letter_capacity(2000));
        let ledger = Ledger::new();
        for _ in 0..1000 {
            let _ = pool.submit(Job::fail().track(ledger.track()));
        }
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
        let counts = pool.metrics().counts;
        assert_eq!(counts.submitted, 1000);
        assert_eq!(counts.dead_lettered + counts.evicted, counts.accepted + counts.caller_run);
        let letters = pool.dead_letters().list();
        assert_eq!(letters.len() as u64, counts.dead_lettered);
        for letter in letters {
            let attempts = letter.task.attempt;
            match letter.reason {
                DeadLetterReason::RetriesExhausted => assert_eq!(attempts, 3),
                DeadLetterReason::DelayFull => assert!((1..3).contains(&attempts), "{attempts}"),
                other => panic!("{other:?}"),
            }
        }
        // Delays still fire.
        accepted(&pool, Job::ok_at(2));
        pool.wait_idle(LONG).unwrap();
        assert_eq!(pool.metrics().counts.succeeded, 1);
        drop(pool);
        ledger.assert_all_gone();
    }
}

#[test]
fn a03_a_retry_without_room_becomes_a_letter() {
    let _dog = Watchdog::new();
    for capacity in [0, 1, 3] {
        let lane = Lane::new("slow").delay_capacity(capacity).queue_capacity(20);
        let pool = build(builder(2).lane(lane).retry(RetryPolicy::fixed(Duration::from_secs(60))));
        let slow = pool.submitter_for("slow").unwrap();
        assert_eq!(slow.submit_batch((0..10).map(|n| Job::fail().number(n))).accepted, 10);
        eventually("those that find room wait", || {
            let counts = pool.metrics().lanes[0].counts;
            (counts.delayed, counts.retries) == (capacity as u64, capacity as u64)
        });
        eventually("the others are letters", || pool.dead_letters().len() == 10 - capacity);
        assert!(pool.dead_letters().list().iter().all(|l| l.reason == DeadLetterReason::DelayFull));
        // Another lane's delay queue is another one.
        accepted(&pool, Job::fail());
        eventually("it waits", || pool.metrics().lanes[1].counts.delayed == 1);
        let report = pool.shutdown(Duration::ZERO);
        assert_eq!(report.abandoned.len(), capacity + 1);
        assert_rest(&pool);
    }
}

#[test]
fn a14_at_most_one_attempt_more_than_retries() {
    let _dog = Watchdog::new();
    for n in [0, 1, 2, 5] {
        let pool = build(builder(2).retry(RetryPolicy::fixed(Duration::from_micros(100)).max_retries(n)));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let job = Job::new(move |cx| {
            seen.lock().unwrap().push(cx.attempt());
            Err("always".to_string())
        });
        let id = accepted(&pool, job);
        pool.wait_idle(LONG).unwrap();
        assert_eq!(*calls.lock().unwrap(), (1..=n + 1).collect::<Vec<_>>());
        let letters = pool.dead_letters().list();
        assert_eq!(letters.len(), 1);
        assert_eq!((letters[0].task.id, letters[0].task.attempt), (id, n + 1));
        assert_eq!(letters[0].reason, DeadLetterReason::RetriesExhausted);
        let counts = pool.metrics().counts;
        assert_eq!((counts.attempts, counts.retries), (u64::from(n) + 1, u64::from(n)));
        assert_rest(&pool);
    }
}

#[test]
fn a14_a_waiting_retry_holds_no_worker() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(ms(200))));
    let order = Arc::new(Mutex::new(Vec::new()));
    let write = |n: u64| {
        let order = Arc::clone(&order);
        Job::new(move |cx| {
            order.lock().unwrap().push((n, cx.attempt()));
            if n == 0 && cx.attempt() == 1 { Err("once".to_string()) } else { Ok(()) }
        })
    };
    for n in 0..=10 {
        pool.submit(write(n)).into_result().unwrap();
    }
    pool.wait_idle(LONG).unwrap();
    let mut expected: Vec<_> = (0..=10).map(|n| (n, 1)).collect();
    expected.push((0, 2));
    assert_eq!(*order.lock().unwrap(), expected);
}

#[test]
fn a14_an_attempt_that_never_started_is_not_counted() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(Duration::from_secs(60))));
    let plug = Gate::new();
    accepted(&pool, Job::fail());
    eventually("it waits", || pool.metrics().counts.delayed == 1);
    accepted(&pool, Job::plug(&plug));
    plug.wait_arrived(1);
    accepted(&pool, Job::ok());
    let report = std::thread::scope(|scope| {
        let shutdown = scope.spawn(|| pool.shutdown(Duration::ZERO));
        eventually("the window is over", || pool.metrics().counts.abandoned == 2);
        plug.open();
        shutdown.join().unwrap()
    });
    let mut attempts: Vec<u32> = report.abandoned.iter().map(|shed| shed.task.attempt).collect();
    attempts.sort_unstable();
    assert_eq!(attempts, [0, 1]);
    assert_eq!(pool.metrics().counts.attempts, 2);
    assert_rest(&pool);
}

/// By kind of failure: what the classifier sees, and what comes of its answer.
#[test]
fn a14_the_classifier_decides_on_each_attempt() {
    let _dog = Watchdog::new();
    let asked = Arc::new(AtomicU32::new(0));
    let asks = Arc::clone(&asked);
    let work = |n: &mut i32, cx: &TaskContext<'_, i32>| match *n {
        -1 => panic!("planned"),
        n if i64::from(cx.attempt()) > i64::from(n) => Ok(()),
        n => Err(n),
    };
    let builder = WorkerPool::builder(processor_fn(work))
        .workers(1)
        .overload(OverloadPolicy::Reject)
        .retry(RetryPolicy::fixed(Duration::from_secs(60)).max_retries(3).max_delay(ms(1)))
        .classify(move |cause| {
            asks.fetch_add(1, Ordering::Relaxed);
            match cause {
                dockhand::Cause::Panicked(_) => RetryDecision::Retry,
                dockhand::Cause::Error(2) => RetryDecision::RetryAfter(ms(2)),
                dockhand::Cause::Error(9) => RetryDecision::GiveUp,
                _ => RetryDecision::RetryAfter(Duration::ZERO),
            }
        });
    let pool = build(builder);
    for (payload, attempts, succeeds) in
        [(-1, 4, false), (2, 3, true), (9, 1, false), (3, 4, true), (4, 4, false)]
    {
        let before = pool.metrics().counts;
        pool.submit(payload).into_result().unwrap();
        pool.wait_idle(LONG).unwrap();
        let after = pool.metrics().counts;
        assert_eq!(after.attempts - before.attempts, attempts, "payload {payload}");
        assert_eq!(after.succeeded - before.succeeded, u64::from(succeeds), "payload {payload}");
    }
    let counts = pool.metrics().counts;
    assert_eq!(u64::from(asked.load(Ordering::Relaxed)), counts.retries + counts.dead_lettered);
    assert_eq!(counts.panics, 4);
    assert_rest(&pool);
}
