//! Listeners that use the pool, that block, and what they are told of the pool itself.

use crate::cancel::{cancelled, in_an_hour, outcome_of, tracked};
use crate::events::{Log, assert_in_order};
use crate::support::{
    Gate, Job, LONG, Runs, Watchdog, accepted, assert_rest, build, builder, eventually, ms, plug_worker,
    rounds,
};
use dockhand::{
    CancelOutcome, Event, Lane, Outcome, OverloadPolicy, RejectReason, RetryPolicy, TaskOptions, WorkerPool,
};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// A listener that submits on a refusal is not called for ever.
#[test]
fn a_refusal_deep_inside_is_not_told() {
    let _dog = Watchdog::new();
    let (slot, log) = (Arc::<OnceLock<Weak<WorkerPool<Runs>>>>::default(), Log::default());
    let known = Arc::clone(&slot);
    let pool = log.listen(builder(1).queue_capacity(1)).on_event(move |event| {
        if let (Event::Refused { .. }, Some(pool)) = (event, known.get().and_then(Weak::upgrade)) {
            assert_eq!(pool.submit(Job::ok()).into_result().unwrap_err().reason(), RejectReason::QueueFull);
        }
    });
    let pool = build(pool);
    slot.set(Arc::downgrade(&pool)).unwrap();
    let plug = plug_worker(&pool);
    accepted(&pool, Job::ok());
    assert!(pool.submit(Job::ok()).into_result().is_err());
    let told = log.of_pool().iter().filter(|text| *text == "refused default QueueFull").count();
    assert_eq!((told, pool.metrics().hook_panics), (8, 0));
    assert_eq!(pool.metrics().counts.rejected, 9);
    plug.open();
    pool.wait_idle(LONG).unwrap();
    // Each refusal with its reason, one event each.
    let refused = [
        (TaskOptions::new().ttl(Duration::ZERO), RejectReason::Expired),
        (in_an_hour(), RejectReason::DelayFull),
    ];
    let log = Log::default();
    let full = Lane::new("full").delay_capacity(1);
    let pool = build(log.listen(builder(1).lane(full)));
    let full = pool.submitter_for("full").unwrap();
    let first = full.submit_tracked_with(Job::ok(), in_an_hour().key("it")).unwrap();
    for (options, reason) in refused {
        assert_eq!(full.submit_with(Job::ok(), options).into_result().unwrap_err().reason(), reason);
        assert_eq!(log.of_pool().last().unwrap(), &format!("refused full {reason:?}"));
    }
    let twice = full.submit_tracked_with(Job::ok(), TaskOptions::new().key("it")).unwrap_err();
    assert_eq!(twice.reason(), RejectReason::Duplicate(first.id()));
    pool.begin_shutdown();
    drop(full.submit_batch([Job::ok()]));
    drop(cancelled(&first));
    assert!(pool.shutdown(LONG).is_clean());
    let told = log.of_pool().into_iter().filter(|text| text.starts_with("refused"));
    let duplicate = format!("refused full {:?}", RejectReason::Duplicate(first.id()));
    let closed = "refused full Closed".to_string();
    let before = ["refused full Expired", "refused full DelayFull"].map(String::from);
    assert_eq!(told.collect::<Vec<_>>(), [before.as_slice(), &[duplicate, closed]].concat());
}

/// The example of A10: a listener that submits, cancels, reads and at last shuts down.
#[test]
fn a10_a_listener_may_use_the_pool() {
    let _dog = Watchdog::new();
    let full = rounds(10_000, 10);
    let slot = Arc::<OnceLock<Weak<WorkerPool<Runs>>>>::default();
    let (known, calls) = (Arc::clone(&slot), std::sync::atomic::AtomicUsize::new(0));
    let retry = RetryPolicy::fixed(Duration::from_micros(10)).max_retries(1);
    let log = Log::default();
    let pool = builder(2).queue_capacity(16).overload(OverloadPolicy::DropOldest).retry(retry);
    let pool = build(log.listen(pool).on_event(move |event| {
        let Some(pool) = known.get().and_then(Weak::upgrade) else { return };
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let _ = (pool.metrics(), pool.status(), format!("{event:?}"));
        match call % 4 {
            0 if call < full => {
                drop(pool.submitter().submit_tracked(Job::fail()).map(|handle| handle.cancel()));
            }
            1 => drop(pool.submitter().submit_tracked_with(Job::ok(), in_an_hour()).map(|handle| {
                assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
                assert!(handle.wait().is_err());
            })),
            2 => drop(pool.dead_letters().drain()),
            _ => assert!(pool.wait_idle(LONG).is_err()),
        }
        if call == full * 2 {
            drop(pool.shutdown(Duration::from_secs(2)));
        }
    }));
    slot.set(Arc::downgrade(&pool)).unwrap();
    for n in 0..full {
        drop(pool.submit(if n % 2 == 0 { Job::ok() } else { Job::fail() }));
    }
    let report = pool.shutdown(LONG);
    assert!(report.still_running.is_empty(), "{report:?}");
    assert_eq!(pool.metrics().hook_panics, 0);
    log.by_task().values().for_each(|events| assert_in_order(events));
    assert_rest(&pool);
}

#[test]
fn workers_and_the_shutdown_are_told_once() {
    let _dog = Watchdog::new();
    let log = Log::default();
    let pool = build(log.listen(builder(3)));
    let mut started = log.of_pool();
    started.sort();
    assert_eq!(started, ["+0", "+1", "+2"]);
    pool.begin_shutdown();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(pool.shutdown(LONG)));
        }
    });
    drop(pool.shutdown(ms(0)));
    drop(pool);
    let mut told = log.of_pool();
    assert_eq!(told.last().unwrap(), "ShutdownEnded", "after the workers");
    told.sort();
    assert_eq!(told, ["+0", "+1", "+2", "-0", "-1", "-2", "ShutdownBegun", "ShutdownEnded"]);
}

/// A listener that blocks while it is told something of a task that is not over: the shutdown gives the task up, accounts
/// for it, and the listeners that come after hear nothing more of it.
#[test]
fn a05_a_shutdown_gives_up_a_task_whose_listener_blocks() {
    let _dog = Watchdog::new();
    for blocks_at in ["started 1", "progress 1/2", "slow", "failed 1", "retry 1"] {
        let (first, last, gate) = (Log::default(), Log::default(), Gate::new());
        let (passes, heard) = (gate.clone(), Log::default());
        let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(3);
        let pool = first.listen(builder(1).retry(retry).slow_after(Duration::from_nanos(1)));
        let pool = pool.on_event(move |event| {
            heard.hear(event);
            if heard.lines().pop().is_some_and(|(_, text)| text.starts_with(blocks_at)) {
                passes.pass();
            }
        });
        let pool = build(last.listen(pool));
        let job = Job::new(|cx| {
            cx.report_progress(1, 2);
            Err("planned".to_string())
        });
        let options = TaskOptions::new().key("it");
        let handle = pool.submitter().submit_tracked_with(job, options.clone()).unwrap();
        gate.wait_arrived(1);
        let report = pool.shutdown(ms(0));
        assert!(report.counts.is_conserved(), "{blocks_at}: {:?}", report.counts);
        assert_eq!((report.counts.abandoned, report.still_running.len()), (1, 1), "{blocks_at}");
        let start = Instant::now();
        let id = handle.id();
        assert_eq!(outcome_of(&handle.wait()), Outcome::Abandoned, "{blocks_at}");
        assert!(start.elapsed() < LONG / 10, "every handle has its outcome: {blocks_at}");
        gate.open();
        eventually("it comes back", || pool.metrics().live_workers == 0);
        for log in [first, last] {
            let told = log.of(id);
            assert_eq!(told.last().unwrap(), "ended Abandoned 1", "{blocks_at}: {told:?}");
            assert_eq!(told.iter().filter(|text| text.starts_with("ended")).count(), 1);
        }
        assert_rest(&pool);
    }
}

/// A cancel from a listener, at each moment of a task's life.
#[test]
fn a09_a_listener_may_cancel_the_task_it_is_told_of() {
    let _dog = Watchdog::new();
    for at in ["started 1", "progress 1/2", "failed 1", "retry 1", "started 2"] {
        type Handle = Arc<OnceLock<dockhand::TaskHandle<Runs>>>;
        let (log, heard, slot) = (Log::default(), Log::default(), Handle::default());
        let (known, gate) = (Arc::clone(&slot), Gate::new());
        let passes = gate.clone();
        let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(3);
        let pool = log.listen(builder(1).retry(retry)).on_event(move |event| {
            heard.hear(event);
            if heard.lines().pop().is_some_and(|(_, text)| text.starts_with(at)) {
                passes.pass();
                assert!(matches!(known.get().unwrap().cancel(), CancelOutcome::Requested));
            }
        });
        let pool = build(pool);
        let job = Job::new(|cx| {
            cx.report_progress(1, 2);
            Err("planned".to_string())
        });
        assert!(slot.set(tracked(&pool, job)).is_ok());
        gate.open();
        pool.wait_idle(LONG).unwrap();
        let told = log.of(slot.get().unwrap().id());
        assert_in_order(&told);
        let attempt = if at == "started 2" { 2 } else { 1 };
        assert_eq!(told.last().unwrap(), &format!("ended Cancelled {attempt}"), "{at}");
        assert_eq!((pool.metrics().hook_panics, pool.metrics().counts.cancelled), (0, 1));
        assert_rest(&pool);
    }
}

/// Whoever closes the pool tells it, also where another shutdown comes to its end meanwhile.
#[test]
fn the_begin_of_a_shutdown_is_told_however_many_there_are() {
    let _dog = Watchdog::new();
    for round in 0..rounds(20_000, 80) {
        let log = Log::default();
        let pool = build(log.listen(builder(1)));
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let closing = || {
                start.wait();
                pool.begin_shutdown();
            };
            scope.spawn(closing);
            start.wait();
            drop(pool.shutdown(Duration::ZERO));
        });
        let told = log.of_pool().into_iter().filter(|text| text.starts_with("Shutdown"));
        assert_eq!(told.collect::<Vec<_>>(), ["ShutdownBegun", "ShutdownEnded"], "round {round}");
    }
}
