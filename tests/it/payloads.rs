//! Drop semantics: each payload is dropped, or handed back, exactly once on every path. A13: and not later.

use crate::support::{
    Job, LONG, Ledger, POLICIES, Tracked, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
    plugged,
};
use dockhand::letter::LetterFate;
use dockhand::{BuildError, OverloadPolicy, Processor, RetryPolicy, TaskContext, WorkerPool, processor_fn};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A payload, an output and an error that are counted.
struct Counting {
    outputs: Ledger,
    errors: Ledger,
}

impl Processor for Counting {
    type Payload = (u32, Tracked);
    type Output = Tracked;
    type Error = Error;

    fn process(
        &self,
        load: &mut Self::Payload,
        cx: &TaskContext<'_, Self::Payload>,
    ) -> Result<Tracked, Error> {
        if cx.attempt() <= load.0 { Err(Error(self.errors.track())) } else { Ok(self.outputs.track()) }
    }
}

struct Error(Tracked);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error {}", self.0.id)
    }
}

#[test]
fn a13_payload_output_and_errors_go_with_the_outcome() {
    let _dog = Watchdog::new();
    let [payloads, outputs, errors] = [(); 3].map(|()| Ledger::new());
    let processor = Counting { outputs: outputs.clone(), errors: errors.clone() };
    let pool = WorkerPool::builder(processor).workers(2).retry(RetryPolicy::fixed(ms(0)).max_retries(2));
    let pool = build(pool);
    for n in 0..200 {
        pool.submit((n % 5, payloads.track())).into_result().unwrap();
    }
    pool.wait_idle(LONG).unwrap();
    // Three of five succeed in the end; the others are letters, each with its last error only.
    assert_eq!((outputs.dropped(), outputs.alive()), (120, 0));
    assert_eq!((payloads.alive(), errors.alive()), (80, 80));
    assert!(pool.dead_letters().list().iter().all(|info| info.error.starts_with("error ")));
    let half: Vec<_> = pool.dead_letters().list().iter().take(40).map(|info| info.task.id).collect();
    for id in half {
        drop(pool.dead_letters().take(id));
    }
    assert_eq!((payloads.alive(), errors.alive()), (40, 40));
    drop(pool.dead_letters().drain());
    for ledger in [payloads, outputs, errors] {
        ledger.assert_all_gone();
    }
    assert_rest(&pool);
}

/// Nothing of an ended task stays behind in a slot, a heap or a thread, while the pool goes on.
#[test]
fn a13_nothing_is_kept_in_queues_heaps_or_threads() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let ledger = Ledger::new();
        let retry = RetryPolicy::fixed(Duration::from_micros(50)).max_retries(1);
        let builder = builder(3).queue_capacity(32).overload(policy).retry(retry);
        let pool = build(builder.dead_letter_sink(|_| LetterFate::Discard));
        for _ in 0..10 {
            for n in 0..500 {
                let job = [Job::ok, Job::fail, Job::panic][n % 3]();
                drop(pool.submit(job.track(ledger.track())));
            }
            pool.wait_idle(LONG).unwrap();
            assert_eq!(ledger.alive(), 0, "{policy:?}");
        }
        assert_rest(&pool);
        ledger.assert_all_gone();
    }
}

#[test]
fn a_refused_payload_comes_back() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let (pool, plug) = plugged(builder(1).queue_capacity(1));
    accepted(&pool, Job::ok().track(ledger.track()));
    for policy in [OverloadPolicy::Reject, OverloadPolicy::DropIncoming] {
        let submitter = pool.submitter().with_overload(policy);
        let answers = [
            submitter.submit(Job::ok().track(ledger.track())),
            submitter.submit_timeout(Job::ok().track(ledger.track()), ms(1)),
        ];
        for answer in answers {
            let before = ledger.alive();
            let payload = answer.into_payload().expect("it comes back");
            assert_eq!((payload.tracked.as_ref().map(|t| t.id > 1), ledger.alive()), (Some(true), before));
        }
    }
    plug.open();
    pool.wait_idle(LONG).unwrap();
    ledger.assert_all_gone();
}

/// A submit that waits while the pool is closed, or comes to its end, gets its payload back.
#[test]
fn a_payload_that_waits_for_room_comes_back_when_the_pool_closes() {
    let _dog = Watchdog::new();
    for begin_only in [true, false] {
        let ledger = Ledger::new();
        let (pool, plug) = plugged(builder(1).queue_capacity(1));
        accepted(&pool, Job::ok().track(ledger.track()));
        let (start, started) = channel();
        std::thread::scope(|scope| {
            let waiters = [0; 3].map(|_| {
                let (pool, ledger, start) = (&pool, &ledger, start.clone());
                scope.spawn(move || {
                    let job = Job::ok().track(ledger.track());
                    start.send(()).unwrap();
                    pool.submitter().submit_timeout(job, Duration::MAX)
                })
            });
            (0..3).for_each(|_| started.recv().unwrap());
            let report = if begin_only {
                pool.begin_shutdown();
                None
            } else {
                Some(pool.shutdown(Duration::ZERO))
            };
            for waiter in waiters {
                let refused = waiter.join().unwrap().into_result().unwrap_err();
                assert_eq!(refused.reason(), dockhand::RejectReason::Closed);
            }
            assert_eq!(report.map_or(0, |report| report.abandoned.len()), usize::from(!begin_only));
        });
        plug.open();
        eventually("the worker has left", || pool.metrics().live_workers == 0);
        assert_rest(&pool);
        ledger.assert_all_gone();
    }
}

#[test]
fn a_displaced_or_pushed_out_payload_goes_once() {
    let _dog = Watchdog::new();
    for with_hook in [true, false] {
        let ledger = Ledger::new();
        let (give, given) = channel();
        let mut builder =
            builder(1).queue_capacity(2).overload(OverloadPolicy::DropOldest).dead_letter_capacity(1);
        if with_hook {
            builder = builder.on_shed(move |shed| give.send(shed).unwrap());
        }
        let (pool, plug) = plugged(builder);
        for _ in 0..6 {
            accepted(&pool, Job::fail().track(ledger.track()));
        }
        let kept = given.try_iter().collect::<Vec<_>>();
        assert_eq!((kept.len(), ledger.alive()), if with_hook { (4, 6) } else { (0, 2) });
        plug.open();
        pool.wait_idle(LONG).unwrap();
        let more = given.try_iter().collect::<Vec<_>>();
        assert_eq!((more.len(), ledger.alive()), if with_hook { (1, 6) } else { (0, 1) });
        drop((kept, more));
        assert_eq!(ledger.alive(), 1, "the letter");
        drop(pool);
        ledger.assert_all_gone();
    }
}

#[test]
fn a_caller_run_payload_goes_once() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let (pool, plug) = plugged(builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns));
    accepted(&pool, Job::ok().track(ledger.track()));
    for (job, alive) in [(Job::ok(), 1), (Job::fail(), 2), (Job::panic(), 3)] {
        assert!(pool.submit(job.track(ledger.track())).into_result().is_ok());
        assert_eq!(ledger.alive(), alive, "used up here, or a letter");
    }
    plug.open();
    assert!(pool.shutdown(LONG).is_clean());
    drop(pool);
    ledger.assert_all_gone();
}

/// A builder that fails has taken the user's code; it is dropped, once.
#[test]
fn a_pool_that_is_not_built_lets_go_of_the_users_code() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let with = |code: Arc<Tracked>| {
        let hook = Arc::clone(&code);
        WorkerPool::builder(processor_fn(move |_: &mut (), _cx| {
            let _ = &code;
            Ok::<(), String>(())
        }))
        .on_shed(move |_| drop(Arc::clone(&hook)))
    };
    let new = || with(Arc::new(ledger.track()));
    let failed = [
        new().workers(0).build().err(),
        new().queue_capacity(0).build().err(),
        new().stack_size(usize::MAX / 2).build().err(),
        new().on_worker_start(|_| crate::support::panic_quietly()).build().err(),
    ];
    assert!(matches!(failed[0], Some(BuildError::NoWorkers)));
    assert!(failed.iter().all(Option::is_some));
    ledger.assert_all_gone();
}
