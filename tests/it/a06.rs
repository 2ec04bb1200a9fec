//! A6: user code may panic anywhere: the processor and the hooks.

use crate::support::{
    Gate, Job, LONG, Ledger, Pool, Watchdog, accepted, assert_rest, assert_threads, build, builder,
    panic_quietly, plug_worker, unique,
};
use dockhand::letter::{DeadLetterReason, LetterFate};
use dockhand::{
    BuildError, Cause, Closures, OverloadPolicy, RetryDecision, RetryPolicy, SubmitResult, WorkerPool,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// All workers can still work, at the same time.
fn assert_alive(pool: &Pool, workers: usize) {
    assert_eq!(pool.metrics().live_workers, workers);
    let meeting = Arc::new(Barrier::new(workers + 1));
    for _ in 0..workers {
        let meeting = Arc::clone(&meeting);
        let job = Job::run(move || {
            meeting.wait();
        });
        accepted(pool, job);
    }
    meeting.wait();
    pool.wait_idle(LONG).unwrap();
    assert_rest(pool);
}

#[test]
fn a06_user_code_may_panic_in_the_processor() {
    let _dog = Watchdog::new();
    for workers in [1, 4] {
        let pool = build(builder(workers).dead_letter_capacity(1000));
        for n in 0..1000 {
            let job = if n % 2 == 0 { Job::panic() } else { Job::ok() };
            pool.submitter().submit_timeout(job, LONG).into_result().unwrap();
        }
        pool.wait_idle(LONG).unwrap();
        let counts = pool.metrics().counts;
        assert_eq!((counts.panics, counts.succeeded, counts.dead_lettered), (500, 500, 500));
        assert_alive(&pool, workers);
        assert_eq!(pool.metrics().hook_panics, 0);
        for letter in pool.dead_letters().drain() {
            assert_eq!(letter.info.reason, DeadLetterReason::NotRetryable);
            assert_eq!(&*letter.info.error, "panicked: as planned");
            assert!(matches!(letter.failure.cause(), Cause::Panicked("as planned")));
        }
    }
}

#[test]
fn a06_user_code_may_panic_in_a_closure() {
    let _dog = Watchdog::new();
    let pool = build(WorkerPool::builder(Closures).workers(1).retry(RetryPolicy::fixed(Duration::ZERO)));
    for _ in 0..10 {
        pool.execute(|| panic_quietly()).into_result().unwrap();
        pool.submitter().execute(|| ()).into_result().unwrap();
    }
    pool.wait_idle(LONG).unwrap();
    let counts = pool.metrics().counts;
    assert_eq!((counts.panics, counts.succeeded, counts.attempts), (10, 10, 20));
}

#[test]
fn a06_user_code_may_panic_in_the_classifier() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(9);
    let pool = build(builder(2).retry(retry).classify(|_| panic_quietly()));
    for n in 0..100 {
        let job = if n % 2 == 0 { Job::fail() } else { Job::panic() };
        accepted(&pool, job);
    }
    pool.wait_idle(LONG).unwrap();
    let metrics = pool.metrics();
    assert_eq!((metrics.hook_panics, metrics.counts.attempts, metrics.letters), (100, 100, 100));
    assert!(pool.dead_letters().list().iter().all(|l| l.reason == DeadLetterReason::NotRetryable));
    assert_alive(&pool, 2);
}

#[test]
fn a06_user_code_may_panic_in_the_sink() {
    let _dog = Watchdog::new();
    let calls = AtomicUsize::new(0);
    let pool = build(builder(2).dead_letter_sink(move |_| {
        if calls.fetch_add(1, Ordering::Relaxed) < 3 { panic_quietly() } else { LetterFate::Discard }
    }));
    for _ in 0..10 {
        accepted(&pool, Job::fail());
    }
    pool.wait_idle(LONG).unwrap();
    let metrics = pool.metrics();
    assert_eq!((metrics.hook_panics, metrics.letters, metrics.counts.dead_lettered), (3, 3, 10));
    assert_alive(&pool, 2);
}

/// On each path to it: evicted, pushed out of the store, abandoned by the drop of the pool, come back late.
#[test]
fn a06_user_code_may_panic_in_on_shed() {
    let _dog = Watchdog::new();
    let (ledger, calls) = (Ledger::new(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&calls);
    let pool = builder(1)
        .queue_capacity(1)
        .overload(OverloadPolicy::DropOldest)
        .dead_letter_capacity(1)
        .drop_timeout(Duration::ZERO)
        .on_shed(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            panic_quietly()
        });
    let pool = build(pool);
    let plug = Gate::new();
    let submit = |job: Job| {
        let answer = pool.submit(job.track(ledger.track()));
        assert!(matches!(answer, SubmitResult::Accepted(_)), "{answer:?}");
    };
    submit(Job::plug(&plug));
    plug.wait_arrived(1);
    submit(Job::ok());
    submit(Job::ok());
    assert_eq!((pool.metrics().hook_panics, pool.metrics().counts.evicted), (1, 1));
    plug.open();
    for _ in 0..2 {
        pool.wait_idle(LONG).unwrap();
        submit(Job::fail());
    }
    pool.wait_idle(LONG).unwrap();
    assert_eq!((pool.metrics().hook_panics, pool.metrics().letters_evicted), (2, 1));
    assert_alive(&pool, 1);
    let stuck = Gate::new();
    submit(Job::plug(&stuck));
    stuck.wait_arrived(1);
    submit(Job::ok());
    drop(pool);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    stuck.open();
    crate::support::eventually("the late one is shed", || calls.load(Ordering::Relaxed) == 4);
    crate::support::eventually("its payload is gone", || ledger.alive() == 0);
    ledger.assert_all_gone();
}

#[test]
fn a06_user_code_may_panic_as_workers_start_and_stop() {
    let _dog = Watchdog::new();
    for bad in 0..3 {
        let (name, stopped) = (unique("st"), Arc::new(AtomicUsize::new(0)));
        let stops = Arc::clone(&stopped);
        let result = builder(3)
            .name(&name)
            .on_worker_start(move |me| {
                if me == bad {
                    panic_quietly()
                }
            })
            .on_worker_stop(move |_| {
                stops.fetch_add(1, Ordering::Relaxed);
            })
            .build();
        assert!(matches!(result, Err(BuildError::StartHookPanicked { worker }) if worker == bad));
        assert_threads(&name, 0);
        assert_eq!(stopped.load(Ordering::Relaxed), 2, "those that had started are told to stop");
    }
    let name = unique("st");
    let pool = build(builder(3).name(&name).on_worker_stop(|_| panic_quietly()));
    assert_alive(&pool, 3);
    assert!(pool.shutdown(LONG).is_clean());
    assert_eq!(pool.metrics().hook_panics, 3);
    assert_threads(&name, 0);
}

#[test]
fn a06_a_panic_does_not_unwind_into_the_caller_that_runs_it() {
    let _dog = Watchdog::new();
    for (retries, outcome) in [(0, Some(dockhand::Outcome::DeadLettered)), (2, None)] {
        let pool = build(
            builder(1)
                .queue_capacity(1)
                .overload(OverloadPolicy::CallerRuns)
                .retry(RetryPolicy::fixed(Duration::ZERO).max_retries(retries))
                .classify(|_| RetryDecision::Retry),
        );
        let plug = plug_worker(&pool);
        accepted(&pool, Job::ok());
        let answer = pool.submit(Job::panic());
        let SubmitResult::CallerRun(run) = answer else { panic!("{answer:?}") };
        assert_eq!(run.outcome, outcome);
        plug.open();
        pool.wait_idle(LONG).unwrap();
        let letters = pool.dead_letters().list();
        assert_eq!((letters.len(), letters[0].task.id, letters[0].task.attempt), (1, run.id, retries + 1));
        assert_eq!(pool.metrics().counts.panics, u64::from(retries) + 1);
        assert_alive(&pool, 1);
    }
}

/// Everything at once, for a while.
#[test]
fn a06_all_hooks_panic_all_the_time() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let pool = build(
        builder(3)
            .queue_capacity(4)
            .overload(OverloadPolicy::DropOldest)
            .dead_letter_capacity(2)
            .retry(RetryPolicy::fixed(Duration::from_micros(50)).max_retries(1))
            .classify(
                |cause| if cause.to_string().ends_with('1') { RetryDecision::Retry } else { panic_quietly() },
            )
            .dead_letter_sink(|_| panic_quietly())
            .on_shed(|_| panic_quietly())
            .on_worker_stop(|_| panic_quietly()),
    );
    for n in 0..3000 {
        let job = [Job::ok, Job::fail, Job::panic][n % 3]().track(ledger.track());
        accepted(&pool, job);
    }
    pool.wait_idle(LONG).unwrap();
    let metrics = pool.metrics();
    assert_eq!(metrics.letters_evicted + metrics.letters as u64, metrics.counts.dead_lettered);
    assert_eq!(ledger.alive(), metrics.letters as u64);
    assert_alive(&pool, 3);
    assert!(pool.shutdown(LONG).is_clean());
    drop(pool);
    ledger.assert_all_gone();
}
