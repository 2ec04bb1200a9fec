//! A10: the pool can be used and ended from any thread, its own included.

use crate::support::{
    Gate, Job, LONG, Ledger, Pool, Runs, SLACK, Watchdog, accepted, assert_rest, assert_threads, build,
    builder, eventually, ms, plug_worker, unique,
};
use dockhand::letter::LetterFate;
use dockhand::metrics::Counts;
use dockhand::{OverloadPolicy, PoolBuilder, RejectReason, RetryPolicy, SubmitResult, WorkerPool};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

type Slot = Arc<OnceLock<Weak<WorkerPool<Runs>>>>;

/// What a shutdown from inside came to.
struct Seen {
    took: Duration,
    abandoned: usize,
    still_running: usize,
    counts: Counts,
}

fn shut(slot: &Slot, window: Duration, tell: &Sender<Seen>) {
    let pool = slot.get().and_then(Weak::upgrade).unwrap();
    let start = Instant::now();
    let report = pool.shutdown(window);
    let seen = Seen {
        took: start.elapsed(),
        abandoned: report.abandoned.len(),
        still_running: report.still_running.len(),
        counts: report.counts,
    };
    tell.send(seen).unwrap();
}

fn known(slot: &Slot, builder: PoolBuilder<Runs>) -> Pool {
    let pool = build(builder);
    assert!(slot.set(Arc::downgrade(&pool)).is_ok());
    pool
}

/// After any end from inside: a call from outside finds everything done, and no thread is left.
fn finish(pool: &Pool, name: &str) {
    let start = Instant::now();
    let report = pool.shutdown(Duration::from_secs(5));
    assert!(report.is_clean(), "{report:?}");
    assert!(start.elapsed() < Duration::from_secs(1) * SLACK);
    assert_rest(pool);
    assert_threads(name, 0);
    assert!(
        pool.submit(Job::ok()).into_result().is_err_and(|refused| refused.reason() == RejectReason::Closed)
    );
}

#[test]
fn a10_a_task_may_end_the_pool() {
    let _dog = Watchdog::new();
    for workers in [1, 2, 4] {
        for window in [Duration::ZERO, ms(100), Duration::from_secs(2), Duration::MAX] {
            let (name, slot) = (unique("in"), Slot::default());
            let pool = known(&slot, builder(workers).name(&name));
            let (tell, told) = channel();
            accepted(&pool, Job::run(move || shut(&slot, window, &tell)));
            let seen = told.recv_timeout(LONG).unwrap();
            assert!(seen.took < ms(250) * SLACK, "waits for itself: {:?}", seen.took);
            assert_eq!((seen.abandoned, seen.still_running), (0, 1));
            assert_eq!(seen.counts.running, 1);
            finish(&pool, &name);
            assert_eq!(pool.metrics().counts.succeeded, 1, "its own attempt ends as it will");
        }
    }
}

/// All workers at once, each from its own task, with more behind them.
#[test]
fn a10_all_workers_may_end_the_pool_at_once() {
    let _dog = Watchdog::new();
    for workers in [1, 2, 4] {
        for window in [Duration::ZERO, Duration::from_secs(3), Duration::MAX] {
            let (name, slot) = (unique("all"), Slot::default());
            let pool = known(&slot, builder(workers).name(&name));
            let (tell, told) = channel();
            let gate = Gate::new();
            for _ in 0..workers {
                let (gate, tell, slot) = (gate.clone(), tell.clone(), Arc::clone(&slot));
                let job = Job::run(move || {
                    gate.pass();
                    shut(&slot, window, &tell);
                });
                accepted(&pool, job);
            }
            gate.wait_arrived(workers);
            for _ in 0..5 {
                accepted(&pool, Job::ok());
            }
            gate.open();
            let mut handed_out = 0;
            for _ in 0..workers {
                let seen = told.recv_timeout(LONG).unwrap();
                assert!(seen.took < ms(250) * SLACK, "{:?}", seen.took);
                assert!(seen.still_running >= 1);
                handed_out += seen.abandoned;
            }
            pool.wait_idle(LONG).unwrap();
            let report = pool.shutdown(LONG);
            let counts = report.counts;
            assert_eq!(counts.succeeded + counts.abandoned, workers as u64 + 5);
            let swept = if window.is_zero() { 5 } else { 0 };
            assert_eq!(handed_out + report.abandoned.len(), swept);
            // A worker that comes to its own call 100 ms after another's is given up by that one.
            assert!(counts.abandoned == swept as u64 || window.is_zero());
            eventually("all have left", || pool.metrics().live_workers == 0);
            drop(report);
            finish(&pool, &name);
        }
    }
}

/// A call from inside drains what others can run, but waits for nobody who waits for it.
#[test]
fn a10_a_task_that_ends_the_pool_drains_the_others() {
    let _dog = Watchdog::new();
    let (name, slot) = (unique("dr"), Slot::default());
    let pool = known(&slot, builder(2).name(&name).retry(RetryPolicy::fixed(ms(50))));
    let (tell, told) = channel();
    let gate = Gate::new();
    let job = {
        let gate = gate.clone();
        Job::run(move || {
            gate.pass();
            shut(&slot, Duration::from_secs(20), &tell);
        })
    };
    accepted(&pool, job);
    gate.wait_arrived(1);
    for n in 0..50 {
        accepted(&pool, Job::ok_at(1 + n % 2));
    }
    gate.open();
    let seen = told.recv_timeout(LONG).unwrap();
    assert_eq!((seen.counts.succeeded, seen.counts.running, seen.abandoned), (50, 1, 0));
    finish(&pool, &name);
}

#[test]
fn a10_hooks_may_end_the_pool() {
    let _dog = Watchdog::new();
    for which in ["sink", "classify", "on_shed", "on_worker_stop"] {
        let (name, slot) = (unique("hk"), Slot::default());
        let (tell, told) = channel();
        let once = {
            let slot = Arc::clone(&slot);
            let tell = Mutex::new(Some(tell));
            move || {
                if let Some(tell) = tell.lock().unwrap().take() {
                    shut(&slot, Duration::from_secs(2), &tell);
                }
            }
        };
        let builder = builder(2).name(&name).queue_capacity(1).overload(OverloadPolicy::DropOldest);
        let pool = known(
            &slot,
            match which {
                "sink" => builder.dead_letter_sink(move |_| {
                    once();
                    LetterFate::Keep
                }),
                "classify" => builder.classify(move |_| {
                    once();
                    dockhand::RetryDecision::GiveUp
                }),
                "on_shed" => builder.on_shed(move |_| once()),
                _ => builder.on_worker_stop(move |_| once()),
            },
        );
        if which == "on_shed" {
            let plugs = Gate::new();
            for n in 1..=2 {
                accepted(&pool, Job::plug(&plugs));
                plugs.wait_arrived(n);
            }
            accepted(&pool, Job::ok());
            std::thread::scope(|scope| {
                scope.spawn(|| pool.submit(Job::ok()).into_result().unwrap());
                eventually("it is closed", || pool.status().phase == dockhand::metrics::Phase::Draining);
                plugs.open();
            });
        } else {
            accepted(&pool, Job::fail());
        }
        if which == "on_worker_stop" {
            pool.wait_idle(LONG).unwrap();
            pool.begin_shutdown();
        }
        let seen = told.recv_timeout(LONG).unwrap();
        assert!(seen.took < Duration::from_secs(2) * SLACK, "{which}: {:?}", seen.took);
        eventually("it comes to rest", || pool.metrics().busy_workers == 0);
        finish(&pool, &name);
        assert_eq!(pool.metrics().hook_panics, 0, "{which}");
    }
}

#[test]
fn a10_a_caller_run_may_end_the_pool() {
    let _dog = Watchdog::new();
    for window in [Duration::ZERO, ms(100)] {
        let (name, slot) = (unique("cr"), Slot::default());
        let builder = builder(1).name(&name).queue_capacity(1).overload(OverloadPolicy::CallerRuns);
        let pool = known(&slot, builder);
        let plug = plug_worker(&pool);
        accepted(&pool, Job::ok());
        let (tell, told) = channel();
        let answer = pool.submit(Job::run(move || shut(&slot, window, &tell)));
        assert!(
            matches!(answer, SubmitResult::CallerRun(run) if run.outcome == Some(dockhand::Outcome::Succeeded))
        );
        let seen = told.try_recv().unwrap();
        // The plug is told and given its grace, and then named beside the caller.
        assert!(seen.took >= window && seen.took < (window + ms(250)) * SLACK, "{:?}", seen.took);
        assert_eq!((seen.abandoned, seen.still_running, seen.counts.abandoned), (1, 2, 2));
        plug.open();
        eventually("the plug is gone", || pool.metrics().live_workers == 0);
        finish(&pool, &name);
    }
}

/// Hooks and tasks that use everything there is to use, on many threads.
#[test]
fn a10_user_code_runs_under_no_lock() {
    let _dog = Watchdog::new();
    let (slot, ledger) = (Slot::default(), Ledger::new());
    let with_pool = |slot: &Slot, round: usize| {
        let Some(pool) = slot.get().and_then(Weak::upgrade) else { return };
        let _ = (pool.metrics(), pool.status(), pool.dead_letters().list(), format!("{pool:?}"));
        match round % 4 {
            0 => drop(pool.submit(Job::ok())),
            1 => pool
                .dead_letters()
                .drain()
                .into_iter()
                .for_each(|letter| pool.dead_letters().put_back(letter)),
            2 => drop(pool.dead_letters().requeue_all()),
            _ => drop(pool.submitter().submit_batch([Job::ok(), Job::fail()])),
        }
    };
    let uses = |shift: usize| {
        let (slot, rounds) = (Arc::clone(&slot), std::sync::atomic::AtomicUsize::new(shift));
        move || with_pool(&slot, rounds.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    };
    let (sink, shed, classify, work) = (uses(0), uses(1), uses(2), Arc::new(uses(3)));
    let builder = builder(2)
        .queue_capacity(4)
        .overload(OverloadPolicy::DropOldest)
        .dead_letter_capacity(4)
        .retry(RetryPolicy::fixed(Duration::from_micros(20)).max_retries(1))
        .classify(move |_| {
            classify();
            dockhand::RetryDecision::Retry
        })
        .dead_letter_sink(move |_| {
            sink();
            LetterFate::Keep
        })
        .on_shed(move |_| shed());
    let pool = known(&slot, builder);
    for n in 0..crate::support::rounds(10_000, 20) {
        let work = Arc::clone(&work);
        let job = Job::new(move |_| {
            work();
            if n % 3 == 0 { Err("planned".to_string()) } else { Ok(()) }
        });
        drop(pool.submit(job.track(ledger.track())));
    }
    let report = pool.shutdown(LONG);
    assert!(report.still_running.is_empty(), "{report:?}");
    assert_rest(&pool);
    assert_eq!(pool.metrics().hook_panics, 0);
    drop((report, pool));
    ledger.assert_all_gone();
}
