//! A pool without threads that several threads step.

use crate::support::{Gate, Job, LONG, Ledger, Watchdog, assert_rest, builder, ms, rounds};
use dockhand::{Lane, OverloadPolicy, RetryPolicy, TaskOptions};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Each waits for what it has offered, whoever runs it.
#[test]
fn several_threads_may_step_one_pool() {
    let _dog = Watchdog::new();
    let lane = Lane::new("default").queue_capacity(3).delay_capacity(16).max_concurrency(1);
    let retry = RetryPolicy::fixed(ms(1)).max_retries(2);
    let pool = builder(1).lane(lane.retry(retry)).build_manual().unwrap();
    let (busy, each) = (Arc::new(AtomicUsize::new(0)), rounds(4000, 20));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (pool, busy) = (&pool, &busy);
            scope.spawn(move || {
                for n in 0..each {
                    let busy = Arc::clone(busy);
                    let job = Job::new(move |cx| {
                        assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                        std::thread::yield_now();
                        busy.fetch_sub(1, Ordering::SeqCst);
                        if cx.attempt() < 3 { Err("again".into()) } else { Ok(()) }
                    });
                    match (thread + n) % 4 {
                        0 => drop(pool.submitter().submit_timeout(job, LONG).into_result().unwrap()),
                        1 => {
                            let later = TaskOptions::new().delay(ms(n as u64 % 5));
                            if let Ok(handle) = pool.submitter().submit_tracked_with(job, later) {
                                handle.wait().unwrap();
                            }
                        }
                        2 => {
                            if let Ok(handle) = pool.submitter().submit_tracked(job) {
                                handle.wait().unwrap();
                            }
                        }
                        _ => pool.wait_idle(Duration::MAX).unwrap(),
                    }
                }
            });
        }
    });
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.metrics().counts.dead_lettered, 0);
    assert_rest(&pool);
}

/// What another thread is in the middle of may leave work, or end what is waited for.
#[test]
fn a_wait_without_an_end_outlasts_the_caller_run_of_another_thread() {
    let _dog = Watchdog::new();
    let pool = builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns).build_manual().unwrap();
    let (held, stepped) = (Gate::new(), Gate::new());
    stepped.open();
    assert!(pool.submit(Job::plug(&stepped)).into_result().is_ok());
    std::thread::scope(|scope| {
        scope.spawn(|| pool.submit(Job::plug(&held)).into_result().unwrap());
        held.wait_arrived(1);
        let waiter = scope.spawn(|| pool.wait_idle(Duration::MAX));
        stepped.wait_arrived(1);
        // It has run what there is, and has time to give up.
        (0..1000).for_each(|_| std::thread::yield_now());
        held.open();
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
    assert_rest(&pool);
}

/// Its worker rests between two steps, and nobody will take another one.
#[test]
fn a_manual_pool_that_a_caller_run_drops_is_gone() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let held = ledger.track();
    let builder = builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns).drop_timeout(ms(1));
    let pool = builder
        .on_worker_stop(move |_| {
            let _ = &held;
        })
        .build_manual()
        .unwrap();
    let submitter = pool.submitter();
    assert!(submitter.submit(Job::ok().track(ledger.track())).into_result().is_ok());
    let pool = Mutex::new(Some(pool));
    let drop_it = move || drop(pool.lock().unwrap().take());
    assert!(submitter.submit(Job::run(drop_it).track(ledger.track())).into_result().is_ok());
    drop(submitter);
    ledger.assert_all_gone();
}
