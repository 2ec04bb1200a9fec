//! A10, A5: ends that wait for user code: stop hooks, drops, thread-locals, other pools.

use crate::support::{
    Gate, Job, LONG, Ledger, Runs, SLACK, Tracked, Watchdog, accepted, assert_rest, assert_threads, build,
    builder, eventually, ms, plugged, unique,
};
use dockhand::{RejectReason, WaitError, WorkerPool, processor_fn};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The shortest of a few calls, so that a busy machine does not count.
fn fastest(f: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(f).take(5).min().unwrap_or_default()
}

#[test]
fn a05_graces_do_not_add_up() {
    let _dog = Watchdog::new();
    let (pool, plug) = plugged(builder(1));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(pool.shutdown(Duration::ZERO)));
        }
    });
    assert!(start.elapsed() >= ms(100) && start.elapsed() < ms(200) * SLACK, "{:?}", start.elapsed());
    let again = fastest(|| {
        let report = pool.shutdown(LONG);
        assert_eq!((report.still_running.len(), report.abandoned.len()), (1, 0));
        report.took
    });
    assert!(again < ms(50), "it is over: {again:?}");
    plug.open();
    eventually("the worker has left", || pool.metrics().live_workers == 0);
    assert_rest(&pool);
}

#[test]
fn a05_a_stop_hook_that_hangs_is_named() {
    let _dog = Watchdog::new();
    for window in [ms(50), Duration::ZERO] {
        let (name, gate) = (unique("sh"), Gate::new());
        let hook = gate.clone();
        let pool = build(builder(2).name(&name).on_worker_stop(move |me| {
            if me == 0 {
                hook.pass();
            }
        }));
        accepted(&pool, Job::ok());
        pool.wait_idle(LONG).unwrap();
        let start = Instant::now();
        let report = pool.shutdown(window);
        assert!(start.elapsed() < (window + ms(200)) * SLACK, "{:?}", start.elapsed());
        let names: Vec<_> = report.still_running.iter().map(|worker| worker.name.clone()).collect();
        assert_eq!(names, [format!("{name}-0")]);
        assert!(report.still_running[0].task.is_none());
        assert_rest(&pool);
        gate.open();
        assert_threads(&name, 0);
        assert!(pool.shutdown(LONG).is_clean());
    }
}

/// What the output of a late attempt does in its `Drop` holds up nobody.
#[test]
fn a05_the_drop_of_a_late_output_holds_up_no_shutdown() {
    struct Slow(Gate);
    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.pass();
        }
    }
    let _dog = Watchdog::new();
    let (stuck, slow, ledger) = (Gate::new(), Gate::new(), Ledger::new());
    let (wait, output) = (stuck.clone(), slow.clone());
    let pool = build(
        WorkerPool::builder(processor_fn(move |_: &mut Tracked, _cx| {
            wait.pass();
            Ok::<_, String>(Slow(output.clone()))
        }))
        .workers(1),
    );
    pool.submit(ledger.track()).into_result().unwrap();
    stuck.wait_arrived(1);
    assert_eq!(pool.shutdown(Duration::ZERO).still_running.len(), 1);
    stuck.open();
    slow.wait_arrived(1);
    assert_eq!(ledger.alive(), 0, "the payload goes first");
    let took = fastest(|| pool.shutdown(LONG).took);
    assert!(took < ms(50), "{took:?}");
    assert_rest(&pool);
    slow.open();
    eventually("the worker has left", || pool.metrics().live_workers == 0);
}

thread_local! {
    static KEPT: RefCell<Option<Arc<WorkerPool<Runs>>>> = const { RefCell::new(None) };
}

/// A worker whose thread-local owns the pool: its destructor drops the pool, or is not the last to.
#[test]
fn a10_a_thread_local_of_a_worker_may_own_the_pool() {
    let _dog = Watchdog::new();
    for end in ["begin", "shutdown", "inside"] {
        for workers in [1, 2] {
            let (name, ledger) = (unique("tl"), Ledger::new());
            let pool = Arc::new(builder(workers).name(&name).build().unwrap());
            let mut kept = Some(Arc::clone(&pool));
            let keep = Job::run(move || KEPT.set(kept.take()));
            accepted(&pool, keep.track(ledger.track()));
            pool.wait_idle(LONG).unwrap();
            let submitter = pool.submitter();
            match end {
                "begin" => pool.begin_shutdown(),
                "shutdown" => assert!(pool.shutdown(LONG).is_clean()),
                _ => {
                    let inside = Arc::clone(&pool);
                    accepted(&pool, Job::run(move || drop(inside.shutdown(Duration::ZERO))));
                }
            }
            drop(pool);
            assert_threads(&name, 0);
            assert!(submitter.submit(Job::ok()).into_payload().is_some());
            ledger.assert_all_gone();
        }
    }
}

#[test]
fn a10_waiting_from_inside_answers_at_once() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).queue_capacity(1));
    let (tell, told) = channel();
    let inside = Arc::clone(&pool);
    accepted(
        &pool,
        Job::run(move || {
            let idle = inside.wait_idle(Duration::MAX);
            accepted(&inside, Job::ok());
            let full = inside.submitter().submit_timeout(Job::ok(), Duration::MAX).into_result();
            tell.send((idle, full.map_err(|refused| refused.reason()))).unwrap();
        }),
    );
    let (idle, full) = told.recv_timeout(LONG).unwrap();
    assert_eq!((idle, full.unwrap_err()), (Err(WaitError::WouldDeadlock), RejectReason::QueueFull));
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}

/// Inside one pool is outside of another.
#[test]
fn a10_a_task_may_wait_for_and_end_another_pool() {
    let _dog = Watchdog::new();
    let outer = build(builder(1));
    let (tell, told) = channel();
    accepted(
        &outer,
        Job::run(move || {
            let inner = builder(2).build().unwrap();
            (0..20).for_each(|n| drop(inner.submit(Job::ok_at(1 + n % 2)).into_result()));
            let idle = inner.wait_idle(LONG);
            let report = inner.shutdown(LONG);
            tell.send((idle, report.is_clean(), report.counts.is_conserved())).unwrap();
        }),
    );
    assert_eq!(told.recv_timeout(LONG), Ok((Ok(()), true, true)));
    outer.wait_idle(LONG).unwrap();
    assert_eq!(outer.metrics().counts.succeeded, 1);
    // Waiting for each other: one of them is told.
    let (one, two) = (build(builder(1)), build(builder(1)));
    let (tell, told) = channel();
    let (first, second) = (Arc::clone(&one), Arc::clone(&two));
    accepted(
        &one,
        Job::run(move || {
            let (first, tell) = (Arc::clone(&first), tell.clone());
            accepted(&second, Job::run(move || tell.send(first.wait_idle(ms(20))).unwrap()));
            let _ = second.wait_idle(LONG);
        }),
    );
    assert_eq!(told.recv_timeout(LONG), Ok(Err(WaitError::TimedOut)));
    one.wait_idle(LONG).unwrap();
    assert_rest(&one);
    assert_rest(&two);
}
