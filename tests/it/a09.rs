//! A9: cancellation of what waits, and after the end.

use crate::cancel::{HOUR, cancelled, in_an_hour, outcome_of, tracked, tracked_with};
use crate::support::{
    Gate, Job, LONG, Ledger, Pool, Runs, SLACK, Watchdog, accepted, assert_rest, build, builder, eventually,
    ms, plug_worker,
};
use dockhand::{
    CancelOutcome, Lane, Outcome, OverloadPolicy, RejectReason, RetryPolicy, TaskError, TaskHandle,
    TaskOptions, TaskStatus, WorkerPool, processor_fn,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A task that waits, with the pool it waits in and how often it has run.
struct Waits {
    pool: Pool,
    handle: TaskHandle<Runs>,
    runs: Arc<AtomicU32>,
    /// Lets the worker go on.
    plug: Option<Gate>,
}

fn keyed() -> TaskOptions {
    TaskOptions::new().key("it")
}

fn waiting(place: &str, has_listener: bool) -> Waits {
    let retry = RetryPolicy::fixed(HOUR).max_delay(HOUR);
    let builder = builder(1).retry(retry).lane(Lane::new("held").max_concurrency(1));
    let pool = build(if has_listener { builder.on_event(|_| {}) } else { builder });
    let runs = Arc::<AtomicU32>::default();
    let count = Arc::clone(&runs);
    let job = Job::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Err("planned".to_string())
    })
    .number(7);
    let (handle, plug) = match place {
        "queued" => {
            let plug = plug_worker(&pool);
            (tracked_with(&pool, job, keyed()), Some(plug))
        }
        "held" => {
            pool.set_max_concurrency("held", 0).unwrap();
            (pool.submitter_for("held").unwrap().submit_tracked_with(job, keyed()).unwrap(), None)
        }
        "delayed" => (tracked_with(&pool, job, keyed().delay(HOUR)), None),
        _ => {
            let handle = tracked_with(&pool, job, keyed());
            eventually("it backs off", || matches!(handle.status(), TaskStatus::Retrying { .. }));
            (handle, None)
        }
    };
    Waits { pool, handle, runs, plug }
}

const PLACES: [&str; 4] = ["queued", "held", "delayed", "retrying"];

#[test]
fn a09_a_waiting_task_comes_back_once_and_is_not_processed() {
    let _dog = Watchdog::new();
    for place in PLACES {
        for has_listener in [false, true] {
            let Waits { pool, handle, runs, plug } = waiting(place, has_listener);
            let before = runs.load(Ordering::SeqCst);
            let lane = if place == "held" { "held" } else { "default" };
            let again =
                |job| pool.submitter_for(lane).unwrap().submit_with(job, keyed().delay(HOUR)).into_result();
            assert_eq!(again(Job::ok()).unwrap_err().reason(), RejectReason::Duplicate(handle.id()));
            assert_eq!(cancelled(&handle).number, 7, "{place}");
            assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Cancelled));
            assert!(matches!(handle.cancel(), CancelOutcome::TooLate));
            let counts = pool.metrics().counts;
            assert_eq!((counts.cancelled, counts.queued, counts.delayed), (1, 0, 0), "{place}");
            again(Job::ok()).expect("its key is free");
            assert!(matches!(handle.wait(), Err(TaskError::Cancelled)), "{place}");
            if let Some(plug) = plug {
                plug.open();
            }
            pool.set_max_concurrency("held", 1).unwrap();
            drop(pool.shutdown(ms(0)));
            assert_eq!(runs.load(Ordering::SeqCst), before, "processed after it was cancelled: {place}");
            assert!(pool.metrics().lanes.iter().all(|lane| lane.permits_in_use == 0));
            assert_rest(&pool);
        }
    }
}

/// Whatever it ended as: nothing of it changes.
#[test]
fn a09_after_the_end_it_is_too_late() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).queue_capacity(1).overload(OverloadPolicy::DropOldest));
    let mut ended = vec![tracked(&pool, Job::ok())];
    pool.wait_idle(LONG).unwrap();
    ended.push(tracked(&pool, Job::fail()));
    pool.wait_idle(LONG).unwrap();
    let plug = plug_worker(&pool);
    ended.push(tracked_with(&pool, Job::ok(), in_an_hour()));
    drop(cancelled(&ended[2]));
    ended.push(tracked_with(&pool, Job::ok(), TaskOptions::new().ttl(Duration::from_micros(1))));
    eventually("it has expired", || ended[3].status() == TaskStatus::Ended(Outcome::Expired));
    ended.push(tracked(&pool, Job::ok()));
    accepted(&pool, Job::ok());
    plug.open();
    pool.wait_idle(LONG).unwrap();
    ended.push(tracked_with(&pool, Job::ok(), in_an_hour()));
    let report = pool.shutdown(ms(0));
    assert_eq!(report.abandoned.len(), 1);
    let outcomes = [
        Outcome::Succeeded,
        Outcome::DeadLettered,
        Outcome::Cancelled,
        Outcome::Expired,
        Outcome::Evicted,
        Outcome::Abandoned,
    ];
    let before = format!("{:?}", pool.metrics());
    for (handle, outcome) in ended.iter().zip(outcomes) {
        assert_eq!(handle.status(), TaskStatus::Ended(outcome));
        assert!(matches!(handle.cancel(), CancelOutcome::TooLate), "{outcome}");
        assert_eq!(handle.status(), TaskStatus::Ended(outcome));
    }
    assert_eq!(format!("{:?}", pool.metrics()), before, "nothing changes");
    assert_eq!(pool.dead_letters().len(), 1);
    for (handle, outcome) in ended.into_iter().zip(outcomes) {
        assert_eq!(outcome_of(&handle.wait()), outcome);
    }
    assert_rest(&pool);
}

/// A13 with it: what was cancelled is dropped at once, its entry goes too, and the capacity is free.
#[test]
fn a09_cancelled_delayed_tasks_are_gone_at_once() {
    let _dog = Watchdog::new();
    const TASKS: usize = 10_000;
    let ledger = Ledger::new();
    let pool =
        WorkerPool::builder(processor_fn(|_: &mut (Box<[u8; 10_240]>, crate::support::Tracked), _cx| {
            Ok::<(), String>(())
        }));
    let lane = Lane::new("later").delay_capacity(TASKS);
    let pool = build(pool.workers(1).lane(lane));
    let later = pool.submitter_for("later").unwrap();
    for round in 0..crate::support::rounds(100, 25) {
        let handles: Vec<_> = (0..TASKS)
            .map(|_| {
                later.submit_tracked_with((Box::new([1; 10_240]), ledger.track()), in_an_hour()).unwrap()
            })
            .collect();
        let full = later.submit_with((Box::new([1; 10_240]), ledger.track()), in_an_hour());
        assert_eq!(full.into_result().unwrap_err().reason(), RejectReason::DelayFull);
        assert_eq!(pool.metrics().counts.delayed, TASKS as u64);
        let start = Instant::now();
        // From the front, from the back, and crosswise, so that the heap is compacted in every way.
        for n in 0..TASKS {
            let n = [n, TASKS - 1 - n, n * 7919 % TASKS, n * 13 % TASKS][round % 4];
            assert!(matches!(handles[n].cancel(), CancelOutcome::Cancelled(_)));
        }
        assert!(start.elapsed() < Duration::from_secs(1) * SLACK, "{:?}", start.elapsed());
        assert_eq!(ledger.alive(), 0);
        assert_rest(&pool);
        if round % 2 == 0 {
            assert!(handles.into_iter().all(|handle| handle.wait().is_err()));
        }
    }
    ledger.assert_all_gone();
    assert!(pool.shutdown(LONG).is_clean());
}

/// The capacity of what is half cancelled: exactly the places that were given up.
#[test]
fn a09_each_cancelled_delay_gives_one_place_up() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).lane(Lane::new("later").delay_capacity(8)));
    let later = pool.submitter_for("later").unwrap();
    let submit = || later.submit_tracked_with(Job::ok(), in_an_hour());
    let mut handles: Vec<_> = (0..8).map(|_| submit().unwrap()).collect();
    for round in 0..100 {
        let places = round % 8 + 1;
        for handle in handles.drain(..places) {
            drop(cancelled(&handle));
        }
        for _ in 0..places {
            handles.push(submit().unwrap());
        }
        assert_eq!(submit().unwrap_err().reason(), RejectReason::DelayFull);
        assert_eq!(pool.metrics().lanes[0].counts.delayed, 8);
    }
    drop(pool.shutdown(ms(0)));
    assert_rest(&pool);
}

/// A cancel that frees the last thing a drain waits for ends the drain.
#[test]
fn a09_a_cancel_ends_a_drain() {
    let _dog = Watchdog::new();
    for place in ["delayed", "retrying", "held"] {
        let Waits { pool, handle, .. } = waiting(place, false);
        let started = Instant::now();
        std::thread::scope(|scope| {
            let shutdown = scope.spawn(|| pool.shutdown(HOUR * 2));
            eventually("it drains", || {
                pool.status().phase == dockhand::metrics::Phase::Draining || shutdown.is_finished()
            });
            match (place, handle.cancel()) {
                // A drain does not wait for what a paused lane holds.
                (_, CancelOutcome::Cancelled(_)) | ("held", CancelOutcome::TooLate) => {}
                (place, other) => panic!("{place}: {other:?}"),
            }
            let report = shutdown.join().unwrap();
            assert!(report.counts.is_conserved(), "{report:?}");
        });
        assert!(started.elapsed() < LONG, "{place}");
        assert_rest(&pool);
    }
}
