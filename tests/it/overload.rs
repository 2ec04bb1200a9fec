//! The overload table: each policy, open, closed, full, nested and inside.

use crate::support::{
    Gate, Job, LONG, Ledger, POLICIES, Pool, SLACK, Watchdog, accepted, assert_rest, build, builder,
    eventually, ms, plugged,
};
use dockhand::{
    Outcome, OverloadPolicy, RejectReason, RetryPolicy, Shed, SubmitResult, TaskStatus, TaskSubmitter,
    WaitError,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A pool of one worker with a plug in it and `capacity` tasks in its queue, numbered from 0.
pub(crate) fn full(capacity: usize, builder: dockhand::PoolBuilder<crate::support::Runs>) -> (Pool, Gate) {
    let (pool, plug) = plugged(builder.queue_capacity(capacity));
    for n in 0..capacity {
        let answer = pool.submit(Job::ok().number(n as u64));
        assert!(
            matches!(answer, SubmitResult::Accepted(_)),
            "capacity {capacity} means {capacity}: {answer:?}"
        );
    }
    (pool, plug)
}

/// What a full lane answers: by its own policy, and by that of the submitter.
#[test]
fn a_full_lane_answers_by_its_policy() {
    let _dog = Watchdog::new();
    for own in POLICIES {
        for asked in POLICIES {
            for timeout in [None, Some(Duration::ZERO), Some(ms(20))] {
                let ledger = Ledger::new();
                let (pool, plug) = full(2, builder(1).overload(own));
                let submitter = pool.submitter().with_overload(asked);
                let start = Instant::now();
                let job = Job::ok().number(7).track(ledger.track());
                let answer = match timeout {
                    None => submitter.submit(job),
                    Some(timeout) => submitter.submit_timeout(job, timeout),
                };
                assert!(start.elapsed() >= timeout.unwrap_or_default());
                assert!(start.elapsed() < ms(120) * SLACK);
                check_answer(&pool, asked, answer);
                plug.open();
                pool.wait_idle(LONG).unwrap();
                assert_rest(&pool);
                ledger.assert_all_gone();
            }
        }
    }
}

fn check_answer(pool: &Pool, policy: OverloadPolicy, answer: SubmitResult<Job>) {
    let counts = pool.metrics().counts;
    let ends = (counts.rejected, counts.caller_run, counts.dropped, counts.evicted);
    match (policy, answer) {
        (OverloadPolicy::Reject, SubmitResult::Rejected(refused)) => {
            assert_eq!((refused.reason(), ends), (RejectReason::QueueFull, (1, 0, 0, 0)));
            assert_eq!(refused.into_payload().number, 7);
        }
        (OverloadPolicy::CallerRuns, SubmitResult::CallerRun(run)) => {
            assert_eq!((run.outcome, ends), (Some(Outcome::Succeeded), (0, 1, 0, 0)));
        }
        (OverloadPolicy::DropIncoming, SubmitResult::Dropped(payload)) => {
            assert_eq!((payload.number, ends), (7, (0, 0, 1, 0)));
        }
        (OverloadPolicy::DropOldest, SubmitResult::Accepted(_)) => assert_eq!(ends, (0, 0, 0, 1)),
        (policy, answer) => panic!("{policy:?}: {answer:?}"),
    }
}

#[test]
fn drop_oldest_displaces_exactly_the_oldest() {
    let _dog = Watchdog::new();
    for capacity in [1, 2, 5] {
        let (give, given) = channel::<Shed<Job>>();
        let here = std::thread::current().id();
        let builder = builder(1).overload(OverloadPolicy::DropOldest).on_shed(move |shed| {
            assert_eq!(std::thread::current().id(), here);
            give.send(shed).unwrap();
        });
        let (pool, plug) = full(capacity, builder);
        let ran = Arc::new(Mutex::new(Vec::new()));
        for n in 0..4 {
            let ran = Arc::clone(&ran);
            let number = capacity as u64 + n;
            let job = Job::run(move || ran.lock().unwrap().push(number)).number(number);
            accepted(&pool, job);
            let shed = given.try_recv().expect("one is displaced");
            assert!(given.try_recv().is_err(), "only one");
            assert_eq!(
                (shed.payload.number, shed.outcome, shed.was),
                (n, Outcome::Evicted, TaskStatus::Queued)
            );
            assert_eq!((shed.task.attempt, shed.last_error), (0, None));
        }
        plug.open();
        pool.wait_idle(LONG).unwrap();
        let kept: Vec<_> = (4.max(capacity as u64)..capacity as u64 + 4).collect();
        assert_eq!(*ran.lock().unwrap(), kept);
        assert_eq!(pool.metrics().counts.evicted, 4);
        assert_eq!(pool.metrics().hook_panics, 0);
        assert_rest(&pool);
    }
}

type Runs = crate::support::Runs;

/// A job that submits itself again, as deep as it is let, and says how deep that was.
fn nest(
    submitter: &TaskSubmitter<Runs>,
    depth: u64,
    deepest: &Arc<AtomicU64>,
    refused: &Arc<AtomicU64>,
) -> Job {
    let (submitter, deepest, refused) = (submitter.clone(), Arc::clone(deepest), Arc::clone(refused));
    Job::run(move || {
        deepest.fetch_max(depth, Ordering::Relaxed);
        if let SubmitResult::Rejected(rejection) =
            submitter.submit(nest(&submitter, depth + 1, &deepest, &refused))
        {
            assert_eq!(rejection.reason(), RejectReason::QueueFull);
            refused.fetch_add(1, Ordering::Relaxed);
        }
    })
}

#[test]
fn caller_runs_nest_eight_deep() {
    let _dog = Watchdog::new();
    let (pool, plug) = full(1, builder(2).overload(OverloadPolicy::CallerRuns));
    let other = Gate::new();
    // The second worker takes the queue's task, and the queue is filled again.
    pool.submitter().submit_timeout(Job::plug(&other), LONG).into_result().unwrap();
    other.wait_arrived(1);
    accepted(&pool, Job::ok());
    let (deepest, refused) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let answer = pool.submit(nest(&pool.submitter(), 1, &deepest, &refused));
    assert!(matches!(answer, SubmitResult::CallerRun(_)));
    assert_eq!((deepest.load(Ordering::Relaxed), refused.load(Ordering::Relaxed)), (8, 1));
    assert_eq!(pool.metrics().counts.caller_run, 8);
    // The depth is given back.
    assert!(matches!(pool.submit(Job::ok()), SubmitResult::CallerRun(_)));
    plug.open();
    other.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}

/// The same on a worker: its own attempt is no nesting.
#[test]
fn caller_runs_nest_eight_deep_on_a_worker() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).queue_capacity(1).overload(OverloadPolicy::CallerRuns));
    let (deepest, refused) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let submitter = pool.submitter();
    let (inner, deep, no) = (submitter.clone(), Arc::clone(&deepest), Arc::clone(&refused));
    let job = Job::run(move || {
        inner.submit(Job::ok()).into_result().unwrap();
        assert!(matches!(inner.submit(nest(&inner, 1, &deep, &no)), SubmitResult::CallerRun(_)));
    });
    accepted(&pool, job);
    pool.wait_idle(LONG).unwrap();
    assert_eq!((deepest.load(Ordering::Relaxed), refused.load(Ordering::Relaxed)), (8, 1));
    assert_eq!(pool.metrics().counts.succeeded, 10);
    assert_rest(&pool);
}

/// An `on_shed` that offers again what a full lane displaced comes to an end.
#[test]
fn on_shed_hooks_nest_eight_deep() {
    let _dog = Watchdog::new();
    let back = Arc::new(OnceLock::<TaskSubmitter<Runs>>::new());
    let (refused, calls) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let (to, no, count) = (Arc::clone(&back), Arc::clone(&refused), Arc::clone(&calls));
    let ledger = Ledger::new();
    let hook = move |shed: Shed<Job>| {
        count.fetch_add(1, Ordering::Relaxed);
        let Some(to) = to.get() else { return };
        if let SubmitResult::Rejected(rejection) = to.submit(shed.payload) {
            assert_eq!(rejection.reason(), RejectReason::QueueFull);
            no.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (pool, plug) = full(1, builder(1).overload(OverloadPolicy::DropOldest).on_shed(hook));
    assert!(back.set(pool.submitter()).is_ok());
    accepted(&pool, Job::ok().track(ledger.track()));
    assert_eq!((calls.load(Ordering::Relaxed), refused.load(Ordering::Relaxed)), (8, 1));
    assert_eq!(pool.metrics().counts.evicted, 8);
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
    // The hook owns a submitter; that is a circle until the shutdown only.
    assert!(pool.shutdown(LONG).is_clean());
    ledger.assert_all_gone();
}

#[test]
fn a_caller_run_that_fails_is_a_failure_like_any_other() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(ms(1)).max_retries(2);
    let (pool, plug) = full(1, builder(1).overload(OverloadPolicy::CallerRuns).retry(retry));
    let SubmitResult::CallerRun(run) = pool.submit(Job::fail()) else { panic!("the lane is full") };
    assert_eq!(run.outcome, None, "it will be tried again");
    let SubmitResult::CallerRun(none) = pool.submit(Job::fail()) else { panic!("the lane is full") };
    assert_eq!(none.outcome, Some(Outcome::DeadLettered), "one retry may wait");
    let counts = pool.metrics().counts;
    assert_eq!((counts.delayed, counts.retries, counts.attempts), (1, 1, 3));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    let attempts: Vec<_> = pool.dead_letters().list().iter().map(|info| info.task.attempt).collect();
    assert_eq!(attempts, [1, 3]);
    assert_rest(&pool);
}

/// In a caller-run as in any task: nothing waits.
#[test]
fn a_caller_run_is_inside() {
    let _dog = Watchdog::new();
    let (pool, plug) = full(1, builder(1).overload(OverloadPolicy::CallerRuns));
    let waits = Arc::clone(&pool);
    let job = Job::run(move || {
        assert_eq!(waits.wait_idle(LONG), Err(WaitError::WouldDeadlock));
        let rejecting = waits.submitter().with_overload(OverloadPolicy::Reject);
        let answer = rejecting.submit_timeout(Job::ok(), LONG).into_result();
        assert!(answer.is_err_and(|refused| refused.reason() == RejectReason::QueueFull));
        let status = waits.status();
        assert_eq!(status.workers.iter().filter(|worker| worker.task.is_some()).count(), 2);
    });
    let SubmitResult::CallerRun(run) = pool.submit(job) else { panic!("the lane is full") };
    assert_eq!(run.outcome, Some(Outcome::Succeeded));
    plug.open();
    eventually("it comes to rest", || pool.metrics().counts.succeeded == 3);
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}
