//! What cannot be retried any more because a shutdown's window is over has one end: abandoned.

use crate::cancel::{outcome_of, tracked};
use crate::limits::Notes;
use crate::support::{
    Gate, Job, LONG, Pool, Watchdog, accepted, assert_rest, build, builder, eventually, ms, plug_worker,
};
use dockhand::metrics::Phase;
use dockhand::{Event, ManualClock, Outcome, RetryPolicy, Shed, TaskStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

fn hourly() -> RetryPolicy {
    RetryPolicy::fixed(HOUR).max_delay(HOUR)
}

/// Fails behind a gate.
fn fails_behind(gate: &Gate) -> Job {
    let gate = gate.clone();
    Job::new(move |cx| {
        gate.pass();
        Err(format!("attempt {}", cx.attempt()))
    })
}

#[track_caller]
fn assert_abandoned_after(shed: &Shed<Job>, attempt: u32) {
    assert_eq!((shed.outcome, shed.task.attempt), (Outcome::Abandoned, attempt));
    assert_eq!(shed.last_error.as_deref(), Some(&*format!("attempt {attempt}")));
}

/// One attempt takes 4 ms of a window of 10 ms: the third one is the last, or the second, or the first.
#[test]
fn a_backoff_that_no_longer_fits_is_abandoned_however_long_it_is() {
    let _dog = Watchdog::new();
    for (backoff, attempts) in [(ms(0), 3), (ms(1), 2), (ms(5), 2), (ms(6), 1), (HOUR, 1)] {
        let clock = ManualClock::new();
        let retry = RetryPolicy::fixed(backoff).max_delay(HOUR).max_retries(9);
        let pool = builder(1).retry(retry).build_manual_on(&clock).unwrap();
        let began = pool.now();
        let works = Job::new(move |cx| {
            clock.advance(ms(4));
            Err(format!("attempt {}", cx.attempt()))
        });
        let handle = pool.submitter().submit_tracked(works).unwrap();
        let report = pool.shutdown(ms(10));
        assert_eq!(report.abandoned.len(), 1, "{backoff:?}");
        assert_abandoned_after(&report.abandoned[0], attempts);
        let due = began + (ms(4) + backoff) * attempts;
        assert_eq!(report.abandoned[0].was, TaskStatus::Retrying { due }, "{backoff:?}");
        assert!(!report.is_clean() && pool.dead_letters().is_empty(), "{backoff:?}");
        assert_eq!(outcome_of(&handle.wait()), Outcome::Abandoned);
        assert_rest(&pool);
    }
}

/// One had failed before the shutdown began, one fails while it drains: nobody can tell them apart.
#[test]
fn a_failure_before_the_window_and_one_in_it_end_alike() {
    let _dog = Watchdog::new();
    let (told, shed) = (Notes::new(), Notes::new());
    let (events, sheds) = (told.clone(), shed.clone());
    let pool = build(
        builder(1)
            .retry(hourly())
            .on_event(move |event| {
                if let Event::Ended { task, outcome, .. } = event {
                    events.add((task.id, *outcome));
                }
            })
            .on_shed(move |shed| sheds.add(shed.outcome)),
    );
    let before = tracked(&pool, Job::fail());
    eventually("it backs off", || pool.metrics().counts.delayed == 1);
    let plug = Gate::new();
    let within = tracked(&pool, fails_behind(&plug));
    plug.wait_arrived(1);
    let start = Instant::now();
    let report = std::thread::scope(|scope| {
        let shutdown = scope.spawn(|| pool.shutdown(HOUR / 2));
        eventually("it drains", || pool.status().phase == Phase::Draining);
        plug.open();
        shutdown.join().unwrap()
    });
    assert!(start.elapsed() < LONG, "it does not wait for what cannot come in time");
    assert_eq!(report.abandoned.len(), 2);
    for shed in &report.abandoned {
        assert_abandoned_after(shed, 1);
        assert!(matches!(shed.was, TaskStatus::Retrying { .. }), "{:?}", shed.was);
    }
    let ended = told.all();
    assert_eq!(ended.len(), 2);
    assert!([before.id(), within.id()].iter().all(|id| ended.contains(&(*id, Outcome::Abandoned))));
    assert_eq!([outcome_of(&before.wait()), outcome_of(&within.wait())], [Outcome::Abandoned; 2]);
    assert!(shed.all().is_empty() && pool.dead_letters().is_empty());
    assert_rest(&pool);
}

/// An attempt that fails in the grace is in the report as well; one that comes back after the report goes to the hook.
#[test]
fn a_failure_after_the_window_is_reported_or_shed() {
    let _dog = Watchdog::new();
    let shed = Notes::new();
    let sheds = shed.clone();
    let hook = move |shed: Shed<Job>| {
        sheds.add((shed.outcome, shed.task.attempt, shed.last_error.as_deref() == Some("attempt 1")));
    };
    let pool = build(builder(2).retry(hourly()).on_shed(hook));
    let plug = Gate::new();
    accepted(&pool, fails_behind(&plug));
    plug.wait_arrived(1);
    let running = Gate::new();
    let told = running.clone();
    let fails_when_told = Job::new(move |cx| {
        told.pass();
        while !cx.is_interrupted() {
            std::thread::yield_now();
        }
        Err(format!("attempt {}", cx.attempt()))
    });
    running.open();
    accepted(&pool, fails_when_told);
    running.wait_arrived(1);
    let report = pool.shutdown(Duration::ZERO);
    assert_eq!((report.abandoned.len(), report.still_running.len()), (1, 1));
    assert_abandoned_after(&report.abandoned[0], 1);
    plug.open();
    eventually("it is given away", || !shed.all().is_empty());
    assert_eq!(shed.all(), [(Outcome::Abandoned, 1, true)]);
    assert!(pool.shutdown(LONG).is_clean() && pool.dead_letters().is_empty());
    assert_rest(&pool);
}

/// A call from inside leaves while the window is open; what fails later is in the next report.
#[test]
fn what_fails_after_a_call_from_inside_is_in_the_report_of_the_next() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(hourly()));
    let plug = plug_worker(&pool);
    let weak = Arc::downgrade(&pool);
    let closes = Job::new(move |cx| {
        let pool: Pool = weak.upgrade().ok_or("gone")?;
        let report = pool.shutdown(HOUR / 2);
        assert_eq!((report.abandoned.len(), report.still_running.len()), (0, 1));
        Err(format!("attempt {}", cx.attempt()))
    });
    accepted(&pool, closes);
    plug.open();
    eventually("it has failed", || pool.metrics().counts.delayed == 1);
    let report = pool.shutdown(HOUR);
    assert_eq!(report.abandoned.len(), 1);
    assert_abandoned_after(&report.abandoned[0], 1);
    assert!(pool.dead_letters().is_empty());
    assert_rest(&pool);
}
