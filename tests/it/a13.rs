//! A13: once a task has its outcome the pool holds nothing of its payload, output or error, whatever asked for it.

use crate::cancel::{HOUR, in_an_hour};
use crate::futures::{Counts, block_on};
use crate::support::{
    Gate, LONG, Ledger, Rng, Tracked, Watchdog, assert_rest, build, eventually, ms, panic_quietly, rounds,
};
use dockhand::letter::LetterFate;
use dockhand::{
    CancelOutcome, Lane, OverloadPolicy, PoolBuilder, Processor, RetryPolicy, TaskContext, TaskError,
    TaskOptions, TaskSubmitter, WorkerPool,
};
use std::sync::Arc;
use std::time::Duration;

/// What the task is to do, with a value that is counted.
struct Load {
    plan: Plan,
    _tracked: Tracked,
}

enum Plan {
    Succeed,
    SucceedAt(u32),
    Fail,
    Panic,
    Block(Gate),
}

struct Error(#[expect(dead_code, reason = "it is counted")] Tracked);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("planned")
    }
}

#[derive(Clone, Default)]
struct Books {
    payloads: Ledger,
    outputs: Ledger,
    errors: Ledger,
}

impl Books {
    fn load(&self, plan: Plan) -> Load {
        Load { plan, _tracked: self.payloads.track() }
    }

    fn alive(&self) -> [u64; 3] {
        [&self.payloads, &self.outputs, &self.errors].map(Ledger::alive)
    }

    fn builder(&self) -> PoolBuilder<Books> {
        let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(2);
        WorkerPool::builder(self.clone()).workers(1).retry(retry)
    }
}

impl Processor for Books {
    type Payload = Load;
    type Output = Tracked;
    type Error = Error;

    fn process(&self, load: &mut Load, cx: &TaskContext<'_, Load>) -> Result<Tracked, Error> {
        let failed = || Err(Error(self.errors.track()));
        match &load.plan {
            Plan::Succeed => Ok(self.outputs.track()),
            Plan::SucceedAt(n) if cx.attempt() >= *n => Ok(self.outputs.track()),
            Plan::SucceedAt(_) | Plan::Fail => failed(),
            Plan::Panic => panic_quietly(),
            Plan::Block(gate) => {
                gate.pass();
                cx.checkpoint().map_or_else(|_| failed(), |()| Ok(self.outputs.track()))
            }
        }
    }
}

const NOTHING: [u64; 3] = [0, 0, 0];

/// Without a key and with one.
fn options() -> [TaskOptions; 2] {
    [TaskOptions::new(), TaskOptions::new().key("it")]
}

#[test]
fn a13_nothing_is_left_of_a_task_that_was_waited_for() {
    let _dog = Watchdog::new();
    let books = Books::default();
    let pool = build(books.builder());
    let submitter = pool.submitter();
    for round in 0..50 {
        for options in options() {
            let submit = |plan| submitter.submit_tracked_with(books.load(plan), options.clone()).unwrap();
            let output = submit(Plan::SucceedAt(1 + round % 3)).wait();
            assert_eq!(books.alive(), [0, 1, 0], "the output is the caller's");
            drop(output);
            assert_eq!(books.alive(), NOTHING);
            // The letter keeps the payload and shares the error of the last attempt.
            let handle = submit(Plan::Fail);
            let id = handle.id();
            let result = handle.wait();
            assert_eq!(books.alive(), [1, 0, 1]);
            drop(result);
            assert_eq!(books.alive(), [1, 0, 1], "the letter's");
            let letter = pool.dead_letters().take(id).unwrap();
            assert_eq!(pool.dead_letters().len(), 0);
            drop(letter);
            assert_eq!(books.alive(), NOTHING);
            drop(submit(Plan::Panic).wait());
            drop(pool.dead_letters().drain());
            assert_eq!(books.alive(), NOTHING);
        }
    }
    assert_rest(&pool);
}

/// Nobody asks: a dropped handle, or a key alone.
#[test]
fn a13_nothing_is_left_of_a_task_that_nobody_asks_for() {
    let _dog = Watchdog::new();
    let books = Books::default();
    let pool = build(books.builder().dead_letter_sink(|_| LetterFate::Discard));
    for n in 0..100 {
        for options in options() {
            let plan = || match n % 4 {
                0 => Plan::Succeed,
                1 => Plan::SucceedAt(2),
                2 => Plan::Fail,
                _ => Plan::Panic,
            };
            drop(pool.submitter().submit_tracked_with(books.load(plan()), options.clone()).unwrap());
            pool.wait_idle(LONG).unwrap();
            pool.submitter().submit_with(books.load(plan()), options).into_result().unwrap();
            pool.wait_idle(LONG).unwrap();
            assert_eq!(books.alive(), NOTHING);
        }
    }
}

/// Taken away in every stage, while the handle is kept.
#[test]
fn a13_a_handle_keeps_nothing_of_what_was_taken_away() {
    let _dog = Watchdog::new();
    let books = Books::default();
    let retry = RetryPolicy::fixed(HOUR).max_delay(HOUR);
    let held = Lane::new("held").max_concurrency(0).queue_capacity(1).overload(OverloadPolicy::DropOldest);
    let pool = build(books.builder().retry(retry).lane(held));
    let (submitter, held) = (pool.submitter(), pool.submitter_for("held").unwrap());
    let submit = |to: &TaskSubmitter<Books>, plan, options: TaskOptions| {
        to.submit_tracked_with(books.load(plan), options.key("it")).unwrap()
    };
    let retrying = submit(&submitter, Plan::Fail, TaskOptions::new());
    eventually("it backs off", || matches!(retrying.status(), dockhand::TaskStatus::Retrying { .. }));
    assert_eq!(books.alive(), [1, 0, 1]);
    assert!(matches!(retrying.cancel(), CancelOutcome::Cancelled(_)));
    assert_eq!(books.alive(), NOTHING, "its last error too");
    let queued = submit(&held, Plan::Succeed, TaskOptions::new());
    drop(queued.cancel());
    let delayed = submit(&submitter, Plan::Succeed, in_an_hour());
    drop(delayed.cancel());
    assert_eq!(books.alive(), NOTHING);
    let expired = submit(&held, Plan::Succeed, TaskOptions::new().ttl(Duration::from_micros(1)));
    assert!(matches!(expired.wait(), Err(TaskError::Expired)));
    let evicted = submit(&held, Plan::Succeed, TaskOptions::new());
    drop(held.submit(books.load(Plan::Succeed)));
    assert_eq!(books.alive(), [1, 0, 0]);
    // While it runs: once it is asked to stop, and once it is given up.
    let gates = [Gate::new(), Gate::new()];
    let stopped = submit(&submitter, Plan::Block(gates[0].clone()), TaskOptions::new());
    gates[0].wait_arrived(1);
    assert!(matches!(stopped.cancel(), CancelOutcome::Requested));
    gates[0].open();
    eventually("it has stopped", || pool.metrics().counts.cancelled == 4 && pool.metrics().busy_workers == 0);
    assert_eq!(books.alive(), [1, 0, 0]);
    let marked = submit(&submitter, Plan::Block(gates[1].clone()), TaskOptions::new());
    gates[1].wait_arrived(1);
    let report = pool.shutdown(ms(0));
    assert_eq!(report.abandoned.len(), 1);
    drop(report);
    assert_eq!(books.alive(), [1, 0, 0], "what still runs");
    gates[1].open();
    eventually("it came back", || pool.metrics().live_workers == 0);
    assert_eq!(books.alive(), NOTHING);
    drop((retrying, queued, delayed, evicted, stopped, marked));
}

/// Weak pointers into the payload and into what a waker holds.
#[test]
fn a13_a_resolved_handle_keeps_no_waker() {
    let _dog = Watchdog::new();
    struct Wakes;
    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {}
    }
    let books = Books::default();
    let pool = build(books.builder());
    let gate = Gate::new();
    let mut handle = pool.submitter().submit_tracked(books.load(Plan::Block(gate.clone()))).unwrap();
    let wakes = Arc::new(Wakes);
    let waker = Arc::clone(&wakes).into();
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
    assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
    assert_eq!(Arc::strong_count(&wakes), 3, "the last one only");
    gate.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(Arc::strong_count(&wakes), 2);
    assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_ready());
    let again = || drop(std::pin::Pin::new(&mut handle).poll(&mut cx));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(again)).is_err(), "it has answered");
    assert_eq!(Arc::strong_count(&wakes), 2, "and keeps no waker");
    drop(handle);
    drop(waker);
    assert_eq!(Arc::strong_count(&wakes), 1);
}

/// The end of the task races with polls, with a drop, and with a waker that changes.
#[test]
fn the_end_races_with_polls_and_drops() {
    let _dog = Watchdog::new();
    let (outputs, payloads) = (Ledger::new(), Ledger::new());
    let made = outputs.clone();
    let pool =
        WorkerPool::builder(dockhand::processor_fn(move |_: &mut Tracked, _cx: &TaskContext<'_, _>| {
            Ok::<_, String>(made.track())
        }));
    let pool = build(pool.workers(1));
    let submitter = pool.submitter();
    let mut rng = Rng::new(3);
    for n in 0..rounds(200_000, 10) {
        let mut handle = submitter.submit_tracked(payloads.track()).unwrap();
        let counts = Arc::<Counts>::default();
        (0..rng.below(300)).for_each(|_| std::hint::spin_loop());
        if n % 3 == 0 {
            drop(block_on(handle).unwrap());
            continue;
        }
        let mut ready = false;
        for _ in 0..rng.below(4) {
            let waker = Arc::clone(&counts).into();
            if !ready {
                let polled =
                    std::pin::Pin::new(&mut handle).poll(&mut std::task::Context::from_waker(&waker));
                ready = polled.is_ready();
            }
        }
        if n % 3 == 1 && !ready {
            drop(handle.wait().unwrap());
        } else {
            drop(handle);
        }
    }
    pool.wait_idle(LONG).unwrap();
    outputs.assert_all_gone();
    payloads.assert_all_gone();
    assert_rest(&pool);
}
