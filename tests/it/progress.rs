//! Progress: kept in the handle, passed on at a pace, the last value always, nothing after the end.

use crate::cancel::{outcome_of, tracked};
use crate::events::Log;
use crate::support::{Gate, Job, LONG, Watchdog, accepted, build, builder, eventually, ms};
use dockhand::{Outcome, RetryPolicy, TaskStatus};
use std::time::{Duration, Instant};

/// Reports `1..=n`.
fn counts_to(n: u64) -> Job {
    Job::new(move |cx| {
        (1..=n).for_each(|done| cx.report_progress(done, n));
        Ok(())
    })
}

#[test]
fn reports_are_passed_on_at_a_pace_and_the_last_one_always() {
    let _dog = Watchdog::new();
    // By steps, by default and as set; the first and the last are always told.
    for (interval, steps, n, expected) in [
        (None, 500, 1200, vec![1, 501, 1001, 1200]),
        (Some(Duration::MAX), 10, 25, vec![1, 11, 21, 25]),
        (Some(Duration::MAX), 10, 21, vec![1, 11, 21]),
        (Some(Duration::MAX), u64::MAX, 1, vec![1]),
        (Some(Duration::MAX), u64::MAX, 1000, vec![1, 1000]),
        (Some(Duration::MAX), 1, 4, vec![1, 2, 3, 4]),
        (Some(Duration::ZERO), u64::MAX, 4, vec![1, 2, 3, 4]),
    ] {
        let log = Log::default();
        let pool = log.listen(builder(1));
        let pool = build(match interval {
            // A slow machine may take more than the second that is the default.
            None => pool.progress_every(Duration::from_secs(3600), steps),
            Some(interval) => pool.progress_every(interval, steps),
        });
        let id = accepted(&pool, counts_to(n));
        pool.wait_idle(LONG).unwrap();
        let mut told = vec!["started 1".to_string()];
        told.extend(expected.iter().map(|done| format!("progress {done}/{n}")));
        told.push("ended Succeeded 1".to_string());
        assert_eq!(log.of(id), told, "{interval:?} or {steps} of {n}");
    }
}

/// The default pace is a second or 500 steps.
#[test]
fn the_default_pace() {
    let _dog = Watchdog::new();
    let log = Log::default();
    let pool = build(log.listen(builder(1)));
    let job = Job::new(|cx| {
        let start = Instant::now();
        cx.report_progress(0, 0);
        while start.elapsed() < ms(1100) {
            cx.report_progress(200, 0);
            std::thread::yield_now();
        }
        cx.report_progress(400, 0);
        Ok(())
    });
    let id = accepted(&pool, job);
    pool.wait_idle(LONG).unwrap();
    // At the start, once after a second (no steps since), and at the end: never 500 steps apart.
    let told = ["started 1", "progress 0/0", "progress 200/0", "progress 400/0", "ended Succeeded 1"];
    assert_eq!(log.of(id), told);
}

/// However the attempt ends; before its failure is told, and anew for each attempt.
#[test]
fn the_last_report_is_told_whatever_comes_of_the_attempt() {
    let _dog = Watchdog::new();
    let log = Log::default();
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(1);
    let pool = build(log.listen(builder(1)).retry(retry).progress_every(Duration::MAX, u64::MAX));
    let id = accepted(
        &pool,
        Job::new(|cx| {
            let from = u64::from(cx.attempt()) * 10;
            (from..from + 3).for_each(|done| cx.report_progress(done, 99));
            if cx.attempt() == 2 {
                crate::support::panic_quietly();
            }
            Err("planned".to_string())
        }),
    );
    pool.wait_idle(LONG).unwrap();
    let told = [
        "started 1",
        "progress 10/99",
        "progress 12/99",
        "failed 1: planned",
        "retry 1",
        "started 2",
        "progress 20/99",
        "progress 22/99",
        "failed 2: panicked: as planned",
        "ended DeadLettered 2",
    ];
    assert_eq!(log.of(id), told);
}

/// Asked to stop by a shutdown, it comes back in its grace: told as any other.
#[test]
fn the_last_report_of_what_a_shutdown_stops_is_told() {
    let _dog = Watchdog::new();
    let log = Log::default();
    let pool = build(log.listen(builder(1)).progress_every(Duration::MAX, u64::MAX));
    let began = Gate::new();
    began.open();
    let passed = began.clone();
    let handle = tracked(
        &pool,
        Job::new(move |cx| {
            cx.report_progress(1, 3);
            cx.report_progress(2, 3);
            passed.pass();
            while cx.checkpoint().is_ok() {
                std::thread::yield_now();
            }
            Ok(cx.checkpoint()?)
        }),
    );
    began.wait_arrived(1);
    let report = pool.shutdown(ms(0));
    assert_eq!(report.abandoned.len(), 1);
    let shown = handle.progress().map(|progress| (progress.done, progress.total));
    assert_eq!(shown, Some((2, 3)));
    let told = log.of(handle.id());
    assert_eq!(told[..3], ["started 1", "progress 1/3", "progress 2/3"].map(String::from));
    assert_eq!(told.last().unwrap(), "ended Abandoned 1");
    assert!(told[3].starts_with("failed 1: "), "{told:?}");
}

#[test]
fn a_handle_shows_the_attempt_that_runs_or_ran_last() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(Duration::ZERO).max_retries(1)));
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let passed = gates.clone();
    let handle = tracked(
        &pool,
        Job::new(move |cx| {
            if cx.attempt() == 1 {
                cx.report_progress(5, 10);
                passed[0].pass();
                return Err("planned".to_string());
            }
            passed[1].pass();
            cx.report_progress(7, 10);
            cx.report_progress(6, 9);
            passed[2].pass();
            Ok(())
        }),
    );
    let shown = || handle.progress().map(|progress| (progress.done, progress.total));
    gates[0].wait_arrived(1);
    assert_eq!(shown(), Some((5, 10)));
    gates[0].open();
    gates[1].wait_arrived(1);
    assert_eq!((shown(), handle.status()), (None, TaskStatus::Running { attempt: 2 }), "starts at none");
    gates[1].open();
    gates[2].wait_arrived(1);
    assert_eq!(shown(), Some((6, 9)), "what it says, and nothing else");
    gates[2].open();
    eventually("it ends", || handle.status() == TaskStatus::Ended(Outcome::Succeeded));
    assert_eq!(shown(), Some((6, 9)));
    assert_eq!(outcome_of(&handle.wait()), Outcome::Succeeded);
}

/// What was given up says nothing more, though it still reports.
#[test]
fn nothing_is_reported_after_the_end() {
    let _dog = Watchdog::new();
    let log = Log::default();
    let pool = build(log.listen(builder(1)).progress_every(Duration::ZERO, 1));
    let gate = Gate::new();
    let passed = gate.clone();
    let handle = tracked(
        &pool,
        Job::new(move |cx| {
            cx.report_progress(1, 2);
            passed.pass();
            cx.report_progress(2, 2);
            Ok(())
        }),
    );
    gate.wait_arrived(1);
    drop(pool.shutdown(ms(0)));
    gate.open();
    eventually("it comes back", || pool.metrics().live_workers == 0);
    assert_eq!(handle.progress().map(|progress| progress.done), Some(1));
    assert_eq!(log.of(handle.id()), ["started 1", "progress 1/2", "ended Abandoned 1"]);
}
