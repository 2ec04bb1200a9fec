//! A5: shutdown accounts for what waits.

use crate::support::{
    Gate, Job, LONG, Ledger, POLICIES, SLACK, Watchdog, accepted, assert_conserved, assert_rest,
    assert_threads, build, builder, eventually, ms, plug_worker, unique,
};
use dockhand::letter::DeadLetterReason;
use dockhand::metrics::Phase;
use dockhand::{IdleStrategy, Lane, Outcome, RetryPolicy, TaskStatus};
use std::time::{Duration, Instant};

const FAR: Duration = Duration::from_secs(30);

/// Ten in a backoff, three queued behind a plug, and the plug.
#[test]
fn a05_shutdown_reports_each_task_that_waits_once() {
    let _dog = Watchdog::new();
    for (workers, idle) in [(1, IdleStrategy::Park), (3, IdleStrategy::SpinThenPark(ms(1)))] {
        let pool = build(builder(workers).idle(idle).retry(RetryPolicy::fixed(FAR)).lane(Lane::new("a")));
        let ledger = Ledger::new();
        for n in 0..10 {
            let lane = ["a", "default"][n % 2];
            pool.submitter_for(lane)
                .unwrap()
                .submit(Job::fail().track(ledger.track()))
                .into_result()
                .unwrap();
        }
        eventually("all back off", || pool.metrics().counts.delayed == 10);
        let plug = Gate::new();
        for n in 1..=workers {
            accepted(&pool, Job::plug(&plug).track(ledger.track()));
            plug.wait_arrived(n);
        }
        for _ in 0..3 {
            accepted(&pool, Job::ok().track(ledger.track()));
        }
        let start = Instant::now();
        let report = pool.shutdown(ms(300));
        assert!(start.elapsed() >= ms(300), "{:?}", start.elapsed());
        assert!(start.elapsed() < ms(600) * SLACK, "{:?}", start.elapsed());
        assert!(report.took <= start.elapsed());
        let places =
            |of: fn(&TaskStatus) -> bool| report.abandoned.iter().filter(|shed| of(&shed.was)).count();
        assert_eq!(report.abandoned.len(), 13);
        assert_eq!(places(|was| matches!(was, TaskStatus::Retrying { due } if *due > Instant::now())), 10);
        assert_eq!(places(|was| *was == TaskStatus::Queued), 3);
        for shed in &report.abandoned {
            let retrying = matches!(shed.was, TaskStatus::Retrying { .. });
            assert_eq!(shed.outcome, Outcome::Abandoned);
            assert_eq!(shed.task.attempt, u32::from(retrying));
            assert_eq!(shed.last_error.as_deref(), retrying.then_some("attempt 1"));
        }
        assert_eq!(report.still_running.len(), workers);
        assert!(report.still_running.iter().all(|worker| worker.task.is_some()));
        assert_eq!(report.counts.abandoned, 13 + workers as u64);
        assert_rest(&pool);
        // Late results change nothing, and what was told is not told again.
        plug.open();
        eventually("the plugs are gone", || ledger.alive() == 13 && pool.metrics().live_workers == 0);
        let again = pool.shutdown(LONG);
        assert!(again.is_clean(), "{again:?}");
        assert_eq!(again.counts, report.counts);
        drop((report, pool));
        ledger.assert_all_gone();
    }
}

#[test]
fn a05_a_window_does_not_wait_for_what_cannot_come_in_time() {
    let _dog = Watchdog::new();
    for window in [Duration::ZERO, ms(100), Duration::from_secs(20)] {
        let pool = build(builder(2).retry(RetryPolicy::fixed(FAR)));
        accepted(&pool, Job::fail());
        eventually("it backs off", || pool.metrics().counts.delayed == 1);
        let start = Instant::now();
        let report = pool.shutdown(window);
        assert!(start.elapsed() < ms(250) * SLACK, "{window:?}: {:?}", start.elapsed());
        assert_eq!(report.abandoned.len(), 1);
        assert_rest(&pool);
    }
}

#[test]
fn a05_a_task_that_fails_during_the_drain_reaches_a_letter_or_the_report() {
    let _dog = Watchdog::new();
    for (window, delay) in
        [(LONG, ms(60_000)), (LONG, ms(5)), (Duration::MAX, ms(5)), (Duration::ZERO, ms(5))]
    {
        let pool = build(builder(1).retry(RetryPolicy::fixed(delay).max_retries(2)));
        let gate = Gate::new();
        let fails = {
            let gate = gate.clone();
            Job::new(move |_| {
                gate.pass();
                Err("late".to_string())
            })
        };
        accepted(&pool, fails);
        gate.wait_arrived(1);
        accepted(&pool, Job::fail());
        let report = std::thread::scope(|scope| {
            let shutdown = scope.spawn(|| pool.shutdown(window));
            if window.is_zero() {
                eventually("the queue is swept", || pool.metrics().counts.abandoned == 1);
            } else {
                eventually("it drains", || pool.status().phase == Phase::Draining);
            }
            gate.open();
            shutdown.join().unwrap()
        });
        assert_rest(&pool);
        let letters = pool.dead_letters().list();
        // On a slow machine the grace may be over before the gate opens.
        let given_up = report.still_running.len();
        assert!(given_up == 0 || window.is_zero(), "{report:?}");
        assert_eq!(letters.len() + report.abandoned.len() + given_up, 2);
        let in_time = !window.is_zero() && delay == ms(5);
        let expected = in_time.then_some((DeadLetterReason::RetriesExhausted, 3));
        assert_eq!(letters.is_empty(), expected.is_none(), "{letters:?}");
        for letter in letters {
            assert_eq!(Some((letter.reason, letter.task.attempt)), expected);
        }
    }
}

#[test]
fn a05_what_falls_due_within_the_window_runs() {
    let _dog = Watchdog::new();
    for workers in [1, 2, 4] {
        let pool = build(builder(workers).retry(RetryPolicy::fixed(ms(100)).max_retries(2)));
        for _ in 0..20 {
            accepted(&pool, Job::ok_at(3));
        }
        let start = Instant::now();
        let report = pool.shutdown(LONG);
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((report.counts.succeeded, report.counts.attempts), (20, 60));
        assert!(start.elapsed() >= ms(200));
        assert!(start.elapsed() < ms(500) * SLACK, "returns when nothing is left");
    }
}

#[test]
fn a05_begin_shutdown_alone_runs_everything_and_the_workers_leave() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        for workers in [1, 3] {
            let name = unique("bs");
            let retry = RetryPolicy::fixed(ms(2)).max_retries(5);
            let pool = build(builder(workers).name(&name).overload(policy).retry(retry));
            let plug = plug_worker(&pool);
            for n in 0..50 {
                accepted(&pool, Job::ok_at(1 + n % 4));
            }
            pool.begin_shutdown();
            pool.begin_shutdown();
            assert_eq!(pool.status().phase, Phase::Draining);
            plug.open();
            eventually("all workers have left", || pool.metrics().live_workers == 0);
            assert_eq!(pool.status().phase, Phase::Stopped);
            assert_eq!(pool.metrics().counts.succeeded, 51);
            assert_rest(&pool);
            assert_eq!(pool.wait_idle(Duration::ZERO), Ok(()));
            assert!(pool.shutdown(Duration::ZERO).is_clean());
            assert_threads(&name, 0);
        }
    }
}

#[test]
fn a05_the_earliest_end_of_several_shutdowns_holds() {
    let _dog = Watchdog::new();
    let pool = build(builder(1));
    let plug = plug_worker(&pool);
    let ledger = Ledger::new();
    for _ in 0..100 {
        accepted(&pool, Job::ok().track(ledger.track()));
    }
    let start = Instant::now();
    let windows = [Duration::MAX, LONG, ms(200), LONG];
    let reports: Vec<_> = std::thread::scope(|scope| {
        let calls = windows.map(|window| {
            let pool = &pool;
            scope.spawn(move || pool.shutdown(window))
        });
        calls.map(|call| call.join().unwrap()).into()
    });
    assert!(start.elapsed() >= ms(200) && start.elapsed() < ms(500) * SLACK, "{:?}", start.elapsed());
    let mut ids: Vec<_> =
        reports.iter().flat_map(|r| &r.abandoned).map(|shed| shed.task.id.to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 100);
    assert_eq!(reports.iter().map(|report| report.abandoned.len()).sum::<usize>(), 100, "each once");
    assert!(reports.iter().all(|report| report.counts.abandoned == 101));
    assert!(reports.iter().all(|report| report.still_running.len() == 1));
    assert_conserved(&pool);
    plug.open();
    drop(reports);
    assert!(pool.shutdown(LONG).abandoned.is_empty());
    ledger.assert_all_gone();
}
