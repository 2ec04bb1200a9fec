//! `status()`: what each worker does, for how long, and whether it gives signs of life.

use crate::cancel::tracked_with;
use crate::support::{
    Gate, Job, LONG, Pool, Watchdog, accepted, build, builder, eventually, ms, plug_worker,
};
use dockhand::metrics::WorkerStatus;
use dockhand::{Lane, OverloadPolicy, RetryPolicy, TaskOptions, Timing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn worker(pool: &Pool) -> WorkerStatus {
    pool.status().workers.into_iter().next().unwrap()
}

#[test]
fn a_status_names_the_task_its_lane_its_attempt_and_its_key() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(1);
    let pool = build(builder(1).name("dock").retry(retry).lane(Lane::new("urgent")));
    assert!(worker(&pool).task.is_none());
    let gate = Gate::new();
    let passed = gate.clone();
    let job = Job::new(move |cx| {
        if cx.attempt() == 1 {
            return Err("planned".to_string());
        }
        passed.pass();
        Ok(())
    });
    let urgent = pool.submitter_for("urgent").unwrap();
    let id = urgent.submit_with(job, TaskOptions::new().key("it")).into_result().unwrap();
    gate.wait_arrived(1);
    let status = worker(&pool);
    let task = status.task.unwrap();
    assert_eq!((status.name.as_str(), task.id, &*task.lane, task.attempt), ("dock-0", id, "urgent", 2));
    assert_eq!(task.key.as_deref(), Some("it"));
    gate.open();
    pool.wait_idle(LONG).unwrap();
    assert!(worker(&pool).task.is_none() && worker(&pool).running_for.is_none());
    // Another one without a key has none.
    let plug = plug_worker(&pool);
    assert_eq!(worker(&pool).task.unwrap().key, None);
    plug.open();
}

/// Both run; one of them gives signs of life.
#[test]
fn busy_is_told_from_stuck() {
    let _dog = Watchdog::new();
    for timing in [Timing::Full, Timing::Off] {
        let pool = build(builder(2).timing(timing));
        let (done, reported) = (Arc::new(AtomicBool::new(false)), Gate::new());
        let (is_done, reports) = (Arc::clone(&done), reported.clone());
        reported.open();
        let busy = accepted(
            &pool,
            Job::new(move |cx| {
                cx.report_progress(0, 0);
                reports.pass();
                while !is_done.load(Ordering::Relaxed) {
                    cx.report_progress(1, 0);
                    std::thread::yield_now();
                }
                Ok(())
            }),
        );
        reported.wait_arrived(1);
        let (stuck, start) = (Gate::new(), Instant::now());
        let stuck_id = accepted(&pool, Job::plug(&stuck));
        stuck.wait_arrived(1);
        drop(pool.status());
        let seen = Instant::now();
        let of = |id| {
            let status = pool.status();
            let found = status.workers.into_iter().find(|worker| worker.task.as_ref().unwrap().id == id);
            found.unwrap()
        };
        eventually("it runs for a while", || of(stuck_id).running_for.unwrap() >= ms(50));
        assert!(start.elapsed() >= ms(50));
        let after = of(stuck_id).running_for.unwrap();
        assert!(after <= start.elapsed() && after >= ms(50), "{after:?}");
        assert!(timing == Timing::Off || after + ms(5) >= seen.elapsed());
        assert_eq!(of(stuck_id).since_progress, None);
        // On a busy machine one look may come late; that it is ever fresh tells it from the stuck one.
        eventually("it gives signs of life", || of(busy).since_progress.unwrap() < ms(20));
        assert!(of(busy).running_for.unwrap() >= ms(50));
        done.store(true, Ordering::Relaxed);
        stuck.open();
        pool.wait_idle(LONG).unwrap();
    }
}

/// A report of an earlier attempt, or of an earlier task, is none of this one.
#[test]
fn progress_is_the_attempts_own() {
    let _dog = Watchdog::new();
    let pool = build(builder(1));
    accepted(
        &pool,
        Job::new(|cx| {
            cx.report_progress(1, 1);
            Ok(())
        }),
    );
    pool.wait_idle(LONG).unwrap();
    let plug = plug_worker(&pool);
    assert_eq!(worker(&pool).since_progress, None);
    plug.open();
}

/// While a worker gives away what has expired it is busy with that, not with what it ran before.
#[test]
fn a_worker_that_sheds_names_what_it_sheds() {
    let _dog = Watchdog::new();
    let hook = Gate::new();
    let passes = hook.clone();
    let pool = build(builder(1).on_shed(move |_| passes.pass()));
    let plug = plug_worker(&pool);
    let options = TaskOptions::new().ttl(ms(1));
    let expires = pool.submitter().submit_with(Job::ok(), options).into_result().unwrap();
    let start = Instant::now();
    while start.elapsed() < ms(2) {
        std::hint::spin_loop();
    }
    plug.open();
    hook.wait_arrived(1);
    let status = worker(&pool);
    assert!(status.task.as_ref().is_none_or(|task| task.id == expires), "{status:?}");
    assert_eq!(pool.metrics().counts.running, 0);
    hook.open();
    pool.wait_idle(LONG).unwrap();
}

/// The report names what still runs, as the status does, with its key.
#[test]
fn a_report_names_what_still_runs() {
    let _dog = Watchdog::new();
    let builder = builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns);
    let pool = build(builder);
    let stuck = Gate::new();
    let handle = tracked_with(&pool, Job::plug(&stuck), TaskOptions::new().key("it"));
    stuck.wait_arrived(1);
    let report = pool.shutdown(ms(0));
    let task = report.still_running[0].task.clone().unwrap();
    assert_eq!((task.id, task.attempt, task.key.as_deref()), (handle.id(), 1, Some("it")));
    stuck.open();
    eventually("it comes back", || pool.metrics().live_workers == 0);
    assert!(worker(&pool).task.is_none());
}
