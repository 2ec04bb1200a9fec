//! Handles: they resolve for every outcome, when all of it is over, and whoever waits is told.

use crate::cancel::{HOUR, cancelled, in_an_hour, outcome_of, tracked, tracked_with};
use crate::support::{
    Gate, Job, LONG, Ledger, Tracked, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
    panic_quietly, plug_worker, plugged,
};
use dockhand::letter::LetterFate;
use dockhand::{
    Cause, Lane, Outcome, OverloadPolicy, RejectReason, RetryPolicy, TaskError, TaskOptions, TaskStatus,
    WorkerPool, processor_fn,
};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

#[test]
fn a_handle_tells_where_its_task_is() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(HOUR).max_delay(HOUR)));
    let plug = plug_worker(&pool);
    let before = Instant::now();
    let delayed = tracked_with(&pool, Job::ok(), in_an_hour());
    let (gate, passed) = (Gate::new(), Gate::new());
    let job = {
        let (gate, passed) = (gate.clone(), passed.clone());
        Job::new(move |cx| {
            passed.pass();
            gate.pass();
            Err(format!("attempt {}", cx.attempt()))
        })
    };
    let handle = tracked(&pool, job);
    let in_an_hour = |due: Instant| due >= before + HOUR && due <= Instant::now() + HOUR;
    assert!(matches!(delayed.status(), TaskStatus::Delayed { due } if in_an_hour(due)));
    assert_eq!(handle.status(), TaskStatus::Queued);
    plug.open();
    passed.wait_arrived(1);
    assert_eq!(handle.status(), TaskStatus::Running { attempt: 1 });
    passed.open();
    gate.open();
    eventually("it backs off", || handle.status() != TaskStatus::Running { attempt: 1 });
    assert!(matches!(handle.status(), TaskStatus::Retrying { due } if in_an_hour(due)));
    drop((cancelled(&handle), cancelled(&delayed)));
    assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Cancelled));
}

/// A running attempt has a number, from the first moment on.
#[test]
fn a_status_never_shows_an_attempt_that_is_none() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(Duration::ZERO).max_retries(2)));
    for _ in 0..crate::support::rounds(100_000, 5) {
        let handle = tracked(&pool, Job::ok_at(3));
        let mut last = 0;
        loop {
            match handle.status() {
                TaskStatus::Running { attempt } => {
                    assert!((1..=3).contains(&attempt) && attempt >= last, "{attempt} after {last}");
                    last = attempt;
                }
                TaskStatus::Ended(_) => break,
                _ => {}
            }
        }
    }
}

/// Every answer there is, and after it nothing is in use any more.
#[test]
fn a_handle_resolves_for_every_outcome() {
    let _dog = Watchdog::new();
    let lane = Lane::new("one").max_concurrency(1).queue_capacity(1).overload(OverloadPolicy::DropOldest);
    let pool = build(builder(1).lane(lane).retry(RetryPolicy::fixed(ms(0)).max_retries(1)));
    let one = pool.submitter_for("one").unwrap();
    let at_rest = || {
        let metrics = pool.metrics();
        (metrics.counts.running, metrics.lanes[0].permits_in_use) == (0, 0)
    };
    for _ in 0..500 {
        for (job, outcome) in [
            (Job::ok(), Outcome::Succeeded),
            (Job::ok_at(2), Outcome::Succeeded),
            (Job::fail(), Outcome::DeadLettered),
            (Job::panic(), Outcome::DeadLettered),
        ] {
            let result = one.submit_tracked(job).unwrap().wait();
            assert!(at_rest(), "a caller that has waited finds permits at 0");
            assert_eq!(outcome_of(&result), outcome);
        }
        drop(pool.dead_letters().drain());
    }
    let plug = plug_worker(&pool);
    let evicted = one.submit_tracked(Job::ok()).unwrap();
    let expired = one.submit_tracked_with(Job::ok(), TaskOptions::new().ttl(ms(20))).unwrap();
    assert!(matches!(evicted.wait(), Err(TaskError::Evicted)));
    assert!(matches!(expired.wait(), Err(TaskError::Expired)));
    plug.open();
    // By the sweep, and by the mark.
    let stuck = Gate::new();
    let marked = one.submit_tracked(Job::plug(&stuck)).unwrap();
    stuck.wait_arrived(1);
    let swept = [
        tracked_with(&pool, Job::ok(), in_an_hour()),
        tracked(&pool, Job::ok()),
        one.submit_tracked(Job::ok()).unwrap(),
    ];
    let report = pool.shutdown(ms(0));
    assert_eq!((report.abandoned.len(), report.still_running.len()), (3, 1));
    for handle in swept.into_iter().chain([marked]) {
        assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Abandoned));
        let start = Instant::now();
        assert!(matches!(handle.wait(), Err(TaskError::Abandoned)));
        assert!(start.elapsed() < Duration::from_secs(1), "every handle has its outcome");
    }
    assert_eq!(one.submit_tracked(Job::ok()).unwrap_err().reason(), RejectReason::Closed);
    stuck.open();
    eventually("it comes back", || pool.metrics().live_workers == 0);
    assert_rest(&pool);
    assert_eq!(pool.metrics().counts.succeeded, 1000 + 1, "a late success counts for nothing");
}

#[test]
fn a_handle_resolves_when_the_pool_is_dropped() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).drop_timeout(ms(50)));
    let stuck = plug_worker(&pool);
    let handles = [tracked(&pool, Job::ok()), tracked_with(&pool, Job::ok(), in_an_hour())];
    let (tell, told) = channel();
    let waiter = {
        let handle = tracked(&pool, Job::ok());
        std::thread::spawn(move || tell.send(outcome_of(&handle.wait())))
    };
    drop(pool);
    assert_eq!(told.recv_timeout(LONG), Ok(Outcome::Abandoned), "who waits already is told");
    waiter.join().unwrap().unwrap();
    for handle in handles {
        assert_eq!(outcome_of(&handle.wait()), Outcome::Abandoned);
    }
    stuck.open();
}

/// The handle and the letter have the same failure.
#[test]
fn a_failure_is_the_same_for_the_handle_and_the_letter() {
    let _dog = Watchdog::new();
    struct Failed(Tracked);
    impl std::fmt::Display for Failed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", self.0.id)
        }
    }
    let errors = Ledger::new();
    let made = errors.clone();
    let fail = move |panics: &mut bool, _: &dockhand::TaskContext<'_, bool>| match *panics {
        true => panic_quietly(),
        false => Err::<(), _>(Failed(made.track())),
    };
    let retry = RetryPolicy::fixed(ms(0)).max_retries(2);
    let pool = build(WorkerPool::builder(processor_fn(fail)).workers(1).retry(retry));
    let handle = pool.submitter().submit_tracked(false).unwrap();
    let id = handle.id();
    let Err(TaskError::Failed(failure)) = handle.wait() else { panic!("it fails") };
    assert_eq!(errors.alive(), 1, "one error for two, and none of the attempts before");
    let letter = pool.dead_letters().take(id).unwrap();
    match (failure.cause(), letter.failure.cause()) {
        (Cause::Error(one), Cause::Error(two)) => assert!(std::ptr::eq(one, two)),
        other => panic!("{other:?}"),
    }
    assert_eq!(&*letter.info.error, failure.to_string());
    drop(letter);
    assert_eq!(errors.alive(), 1);
    drop(failure);
    errors.assert_all_gone();
    let Err(TaskError::Failed(failure)) = pool.submitter().submit_tracked(true).unwrap().wait() else {
        panic!("it panics")
    };
    assert!(matches!(failure.cause(), Cause::Panicked(_)));
    // A sink that discards leaves the handle's one.
    let made = errors.clone();
    let fail = move |_: &mut (), _: &dockhand::TaskContext<'_, ()>| Err::<(), _>(Failed(made.track()));
    let pool =
        build(WorkerPool::builder(processor_fn(fail)).workers(1).dead_letter_sink(|_| LetterFate::Discard));
    let result = pool.submitter().submit_tracked(()).unwrap().wait();
    assert_eq!((outcome_of(&result), errors.alive()), (Outcome::DeadLettered, 1));
    drop(result);
    errors.assert_all_gone();
}

/// The output is moved out; if nobody wants it, it is dropped once.
#[test]
fn an_output_has_one_owner() {
    let _dog = Watchdog::new();
    let outputs = Ledger::new();
    let made = outputs.clone();
    let pool = WorkerPool::builder(processor_fn(move |gate: &mut Option<Gate>, _cx| {
        if let Some(gate) = gate {
            gate.pass();
        }
        Ok::<_, String>(made.track())
    }));
    let pool = build(pool.workers(1));
    let submitter = pool.submitter();
    let output = submitter.submit_tracked(None).unwrap().wait().unwrap();
    assert_eq!((output.id, outputs.alive()), (1, 1));
    drop(output);
    // Dropped before the end, after the end, and after it was taken.
    let plug = Gate::new();
    drop(submitter.submit_tracked(Some(plug.clone())).unwrap());
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!((outputs.dropped(), outputs.alive()), (2, 0));
    let kept = submitter.submit_tracked(None).unwrap();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(outputs.alive(), 1, "the handle has it");
    drop(kept);
    assert_eq!(outputs.alive(), 0);
    let mut taken = submitter.submit_tracked(None).unwrap();
    assert!(taken.wait_timeout(LONG).unwrap().is_ok());
    assert!(matches!(taken.wait_timeout(Duration::ZERO), Some(Err(TaskError::AlreadyTaken))), "it is gone");
    assert!(matches!(taken.wait(), Err(TaskError::AlreadyTaken)));
    outputs.assert_all_gone();
}

/// What a handle says of a task that a full lane has its submitter run.
#[test]
fn a_caller_run_task_has_a_handle_too() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(HOUR).max_delay(HOUR);
    let (pool, plug) =
        plugged(builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns).retry(retry));
    accepted(&pool, Job::ok());
    let ended = tracked(&pool, Job::ok());
    assert_eq!(ended.status(), TaskStatus::Ended(Outcome::Succeeded));
    assert!(ended.wait().is_ok());
    let retrying = tracked(&pool, Job::fail());
    assert!(matches!(retrying.status(), TaskStatus::Retrying { .. }));
    drop(cancelled(&retrying));
    let dropping = pool.submitter().with_overload(OverloadPolicy::DropIncoming);
    assert_eq!(dropping.submit_tracked(Job::ok()).unwrap_err().reason(), RejectReason::Dropped);
    let rejecting = pool.submitter().with_overload(OverloadPolicy::Reject);
    assert_eq!(rejecting.submit_tracked(Job::ok()).unwrap_err().reason(), RejectReason::QueueFull);
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}
