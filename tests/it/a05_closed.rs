//! A5, A3: what a closed pool owes to caller-runs, and what late results may change.

use crate::support::{
    Gate, Job, LONG, Ledger, Pool, Rng, SLACK, Watchdog, accepted, assert_rest, assert_threads, build,
    builder, eventually, ms, rounds, unique,
};
use dockhand::metrics::Phase;
use dockhand::{Lane, Outcome, OverloadPolicy, RetryPolicy, Shed, SubmitResult, TaskStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// One worker, plugged, with a full queue of one task in lane "full".
fn full(lanes: usize, behind: Job) -> (Pool, Gate) {
    let mut builder = builder(1)
        .queue_capacity(1)
        .overload(OverloadPolicy::CallerRuns)
        .retry(RetryPolicy::fixed(Duration::from_micros(1)))
        .lane(Lane::new("full"));
    for n in 0..lanes {
        builder = builder.lane(Lane::new(format!("other-{n}")));
    }
    let (pool, plug) = (build(builder), Gate::new());
    let submitter = pool.submitter_for("full").unwrap();
    submitter.submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    submitter.submit(behind).into_result().unwrap();
    (pool, plug)
}

/// Fails at first, after `before`; succeeds when it is tried again.
fn once(mut before: impl FnMut() + Send + 'static) -> Job {
    Job::new(move |cx| {
        if cx.attempt() > 1 {
            return Ok(());
        }
        before();
        Err("once".to_string())
    })
}

fn caller_run(pool: &Pool, job: Job) {
    let answer = pool.submitter_for("full").unwrap().submit(job);
    assert!(matches!(answer, SubmitResult::CallerRun(run) if run.outcome.is_none()), "{answer:?}");
}

#[test]
fn a05_a_closed_pool_runs_the_retry_of_a_caller_run() {
    let _dog = Watchdog::new();
    let (pool, plug) = full(0, Job::ok());
    let inside = Gate::new();
    std::thread::scope(|scope| {
        let gate = inside.clone();
        scope.spawn(|| caller_run(&pool, once(move || gate.pass())));
        inside.wait_arrived(1);
        pool.begin_shutdown();
        plug.open();
        eventually("the worker has nothing left", || pool.metrics().counts.succeeded == 2);
        inside.open();
    });
    eventually("the worker has left", || pool.metrics().live_workers == 0);
    assert_eq!(pool.metrics().counts.succeeded, 3);
    assert_rest(&pool);
}

/// The caller-run ends just as the last worker looks whether it may leave. The many lanes make its look long.
#[test]
fn a05_a_retry_does_not_slip_past_the_last_worker() {
    let _dog = Watchdog::new();
    let mut rng = Rng::new(5);
    for round in 0..rounds(3000, 30) {
        let both = Arc::new(Barrier::new(2));
        let meet = Arc::clone(&both);
        let behind = Job::run(move || {
            meet.wait();
        });
        let (pool, plug) = full(1000, behind);
        let (inside, pause) = (Gate::new(), Duration::from_micros(rng.below(400)));
        std::thread::scope(|scope| {
            let gate = inside.clone();
            let job = once(move || {
                gate.pass();
                both.wait();
                let start = Instant::now();
                while start.elapsed() < pause {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| caller_run(&pool, job));
            inside.wait_arrived(1);
            pool.begin_shutdown();
            plug.open();
            inside.open();
        });
        eventually("the worker has left", || pool.metrics().live_workers == 0);
        let counts = pool.metrics().counts;
        assert_eq!((counts.succeeded, counts.delayed), (3, 0), "round {round}: {counts:#?}");
    }
}

/// A stuck attempt: told, given its grace, named, and then its result counts for nothing.
#[test]
fn a05_a_late_result_changes_nothing_and_its_payload_is_given_away() {
    let _dog = Watchdog::new();
    type Ending = fn() -> Result<(), String>;
    let endings: [Ending; 3] = [|| Ok(()), || Err("late".to_string()), || crate::support::panic_quietly()];
    for (n, ending) in endings.into_iter().enumerate() {
        let (name, ledger) = (unique("lt"), Ledger::new());
        let (give, given) = channel::<Shed<Job>>();
        let pool = build(
            builder(2)
                .name(&name)
                .retry(RetryPolicy::fixed(Duration::ZERO))
                .on_shed(move |shed| give.send(shed).unwrap()),
        );
        let stuck = Gate::new();
        let gate = stuck.clone();
        let job = Job::new(move |cx| {
            gate.pass();
            assert!(cx.is_interrupted());
            ending()
        });
        let id = pool.submit(job.track(ledger.track())).into_result().unwrap();
        stuck.wait_arrived(1);
        let start = Instant::now();
        let report = pool.shutdown(ms(50));
        assert!(start.elapsed() >= ms(150) && start.elapsed() < ms(300) * SLACK, "{:?}", start.elapsed());
        assert_eq!((report.abandoned.len(), report.still_running.len()), (0, 1));
        let worker = &report.still_running[0];
        assert_eq!(worker.task.as_ref().map(|task| (task.id, task.attempt)), Some((id, 1)));
        assert!(worker.name.starts_with(&name) && worker.running_for >= Some(ms(150)), "{worker:?}");
        assert_eq!(report.counts.abandoned, 1);
        assert_rest(&pool);
        assert_eq!((pool.status().phase, ledger.alive()), (Phase::Stopped, 1));
        stuck.open();
        let shed = given.recv_timeout(LONG).unwrap();
        assert_eq!((shed.task.id, shed.outcome), (id, Outcome::Abandoned));
        assert_eq!(shed.was, TaskStatus::Running { attempt: 1 });
        assert_threads(&name, 0);
        let mut counts = report.counts;
        counts.panics = u64::from(n == 2);
        assert_eq!(pool.metrics().counts, counts, "only the panic is counted");
        assert_eq!(pool.dead_letters().len(), 0);
        assert!(pool.shutdown(LONG).is_clean());
        drop(shed);
        ledger.assert_all_gone();
    }
}

/// Within the grace an attempt decides for itself: `Ok` counts, anything else is handed back.
#[test]
fn a05_an_attempt_that_is_told_may_come_back_in_time() {
    let _dog = Watchdog::new();
    for succeeds in [true, false] {
        let pool = build(builder(1).retry(RetryPolicy::fixed(Duration::ZERO)));
        let started = Gate::new();
        let gate = started.clone();
        started.open();
        let job = Job::new(move |cx| {
            gate.pass();
            while cx.checkpoint().is_ok() {
                std::thread::yield_now();
            }
            if succeeds { Ok(()) } else { Err(cx.checkpoint().unwrap_err().to_string()) }
        });
        accepted(&pool, job);
        started.wait_arrived(1);
        let start = Instant::now();
        let report = pool.shutdown(ms(20));
        assert!(start.elapsed() >= ms(20) && start.elapsed() < ms(150) * SLACK);
        assert!(report.still_running.is_empty());
        if succeeds {
            assert!(report.is_clean());
            assert_eq!(report.counts.succeeded, 1);
        } else {
            let shed = &report.abandoned[0];
            assert_eq!((shed.outcome, shed.was), (Outcome::Abandoned, TaskStatus::Running { attempt: 1 }));
            assert_eq!(shed.last_error.as_deref(), Some("the pool is shutting down"));
            assert_eq!((report.counts.abandoned, report.counts.retries), (1, 0));
        }
        assert_rest(&pool);
    }
}

/// Ends at any moment, with everything that a task can be in: each payload comes back once or is used up.
#[test]
fn a05_a_shutdown_at_any_moment_accounts_for_everything() {
    let _dog = Watchdog::new();
    let mut rng = Rng::new(55);
    for _ in 0..rounds(4000, 20) {
        let ledger = Ledger::new();
        let retry = RetryPolicy::exponential(Duration::from_micros(20)).max_retries(2);
        let pool = build(builder(1 + rng.below(3) as usize).queue_capacity(16).retry(retry));
        let ran = Arc::new(AtomicU64::new(0));
        for n in 0..16 {
            let ran = Arc::clone(&ran);
            let job = Job::new(move |cx| {
                ran.fetch_add(1, Ordering::Relaxed);
                if n % 3 > 0 && cx.attempt() <= n % 4 { Err("again".to_string()) } else { Ok(()) }
            });
            pool.submit(job.track(ledger.track())).into_result().unwrap();
        }
        let pause = Duration::from_micros(rng.below(300));
        let start = Instant::now();
        while start.elapsed() < pause {
            std::hint::spin_loop();
        }
        let windows = [Duration::ZERO, Duration::from_micros(rng.below(100))];
        let reports = std::thread::scope(|scope| {
            let calls = windows.map(|window| {
                let pool = &pool;
                scope.spawn(move || pool.shutdown(window))
            });
            calls.map(|call| call.join().unwrap())
        });
        assert_rest(&pool);
        let counts = pool.metrics().counts;
        let back: usize = reports.iter().map(|report| report.abandoned.len()).sum();
        assert_eq!(back as u64, counts.abandoned);
        assert_eq!(counts.attempts, ran.load(Ordering::Relaxed));
        assert_eq!(ledger.alive(), back as u64 + pool.dead_letters().len() as u64);
        drop((pool, reports));
        ledger.assert_all_gone();
    }
}
