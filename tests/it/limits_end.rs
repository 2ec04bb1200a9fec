//! Limits of lanes at the end: of a pool, and of a task that never started.

use crate::limits::{in_use, lane_of, limited, plug_in};
use crate::support::{Job, LONG, SLACK, Watchdog, accepted, assert_rest, eventually, ms};
use dockhand::metrics::Phase;
use dockhand::{CancelOutcome, RejectReason, TaskError, TaskOptions, TaskStatus};
use std::time::{Duration, Instant};

#[test]
fn what_a_paused_lane_holds_is_handed_back() {
    let _dog = Watchdog::new();
    let (pool, a) = limited(2, 0, 8);
    let handle = a.submit_tracked(Job::ok()).unwrap();
    for _ in 0..2 {
        a.submit(Job::ok()).into_result().unwrap();
    }
    a.submit_with(Job::ok(), TaskOptions::new().delay(Duration::from_nanos(1))).into_result().unwrap();
    accepted(&pool, Job::ok());
    let started = Instant::now();
    let report = pool.shutdown(LONG);
    assert!(started.elapsed() < ms(500) * SLACK, "{:?}", started.elapsed());
    assert_eq!((report.abandoned.len(), report.counts.abandoned, report.counts.succeeded), (4, 4, 1));
    let queued = report.abandoned.iter().filter(|shed| shed.was == TaskStatus::Queued).count();
    assert_eq!((queued, report.still_running.len()), (3, 0));
    assert!(matches!(handle.wait(), Err(TaskError::Abandoned)));
    assert_rest(&pool);
}

#[test]
fn a_pause_while_draining_ends_the_wait_and_a_raise_goes_on() {
    let _dog = Watchdog::new();
    for raise in [false, true] {
        let (pool, a) = limited(2, 1, 8);
        let plug = plug_in(&a);
        for _ in 0..3 {
            a.submit(Job::ok()).into_result().unwrap();
        }
        if raise {
            pool.set_max_concurrency("a", 0).unwrap();
            pool.begin_shutdown();
            plug.open();
            eventually("it ended", || in_use(&pool, "a") == 0);
            pool.set_max_concurrency("a", 1).unwrap();
            pool.wait_idle(LONG).unwrap();
        }
        let report = std::thread::scope(|scope| {
            let shutdown = scope.spawn(|| pool.shutdown(LONG));
            eventually("it drains", || pool.status().phase != Phase::Open);
            plug.open();
            if !raise {
                pool.set_max_concurrency("a", 0).unwrap();
            }
            shutdown.join().unwrap()
        });
        assert!(report.took < LONG / 2, "{:?}", report.took);
        if raise {
            assert!(report.is_clean());
        }
        assert_eq!(report.counts.succeeded + report.counts.abandoned, 4);
        assert_rest(&pool);
    }
}

#[test]
fn the_permit_of_one_that_does_not_come_back_stays_in_use() {
    let _dog = Watchdog::new();
    let (pool, a) = limited(1, 1, 8);
    let plug = plug_in(&a);
    let report = pool.shutdown(Duration::ZERO);
    assert_eq!((report.still_running.len(), in_use(&pool, "a")), (1, 1));
    plug.open();
    eventually("it came back", || in_use(&pool, "a") == 0);
    assert_rest(&pool);
}

#[test]
fn a_cancelled_task_gives_its_place_up_when_its_turn_comes_and_takes_no_permit() {
    let _dog = Watchdog::new();
    let (pool, a) = limited(1, 1, 2);
    let plug = plug_in(&a);
    let handles = [1, 2].map(|n| a.submit_tracked(Job::ok().number(n)).unwrap());
    assert_eq!(a.submit(Job::ok()).into_result().unwrap_err().reason(), RejectReason::QueueFull);
    for (n, handle) in handles.iter().enumerate() {
        assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(job) if job.number == n as u64 + 1));
    }
    assert_eq!((lane_of(&pool, "a").counts.queued, in_use(&pool, "a")), (0, 1));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    eventually("its turn came", || a.submit(Job::ok()).into_result().is_ok());
    pool.wait_idle(LONG).unwrap();
    assert_eq!(in_use(&pool, "a"), 0);
    assert_rest(&pool);
}
