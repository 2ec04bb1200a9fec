//! What a cancel does to a task that runs, to its lane, and to whoever waits.

use crate::support::{
    Gate, Job, LONG, Ledger, Pool, Runs, Watchdog, accepted, assert_rest, build, builder, ms, rounds,
};
use dockhand::{
    CancelOutcome, Interrupted, Lane, Outcome, PoolBuilder, RejectReason, RetryPolicy, Shed, TaskError,
    TaskHandle, TaskOptions, TaskStatus, WaitError, WorkerPool,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn in_an_hour() -> TaskOptions {
    TaskOptions::new().delay(HOUR)
}

/// Offers a job to the lane "default" that is sure to find room.
#[track_caller]
pub(crate) fn tracked(pool: &WorkerPool<Runs>, job: Job) -> TaskHandle<Runs> {
    tracked_with(pool, job, TaskOptions::new())
}

#[track_caller]
pub(crate) fn tracked_with(pool: &WorkerPool<Runs>, job: Job, options: TaskOptions) -> TaskHandle<Runs> {
    pool.submitter().submit_tracked_with(job, options).unwrap()
}

/// How it ended, as its handle says.
pub(crate) fn outcome_of<O, E>(result: &Result<O, TaskError<E>>) -> Outcome {
    match result {
        Ok(_) => Outcome::Succeeded,
        Err(TaskError::Failed(_)) => Outcome::DeadLettered,
        Err(TaskError::Cancelled) => Outcome::Cancelled,
        Err(TaskError::Expired) => Outcome::Expired,
        Err(TaskError::Evicted) => Outcome::Evicted,
        Err(TaskError::Abandoned) => Outcome::Abandoned,
        Err(other) => panic!("no outcome: {other:?}"),
    }
}

/// Cancels a task that waits; its payload.
#[track_caller]
pub(crate) fn cancelled(handle: &TaskHandle<Runs>) -> Job {
    match handle.cancel() {
        CancelOutcome::Cancelled(job) => job,
        other => panic!("it does not wait: {other:?}"),
    }
}

type ShedList = Arc<Mutex<Vec<Shed<Job>>>>;

/// A pool that keeps what it sheds.
fn shedding(builder: PoolBuilder<Runs>) -> (Pool, ShedList) {
    let shed = ShedList::default();
    let keep = Arc::clone(&shed);
    (build(builder.on_shed(move |shed| keep.lock().unwrap().push(shed))), shed)
}

/// Runs until it is told to stop, then ends as `end` says.
fn stubborn(
    running: &Gate,
    end: impl Fn(Interrupted) -> Result<(), String> + Send + 'static,
) -> (Job, Arc<AtomicU32>) {
    let (attempts, counted) = (Arc::new(AtomicU32::new(0)), Arc::<AtomicU32>::default());
    let (running, count) = (running.clone(), Arc::clone(&counted));
    let job = Job::new(move |cx| {
        count.store(attempts.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        running.pass();
        loop {
            if let Err(interrupted) = cx.checkpoint() {
                assert!(cx.is_interrupted());
                return end(interrupted);
            }
            std::thread::yield_now();
        }
    });
    (job, counted)
}

/// A cancelled task keeps its place until a worker passes it, which may be after the pool has come to rest.
#[test]
fn the_counts_are_right_while_a_worker_passes_what_was_cancelled() {
    let _dog = Watchdog::new();
    let pool = build(builder(2));
    for _ in 0..rounds(100_000, 10) {
        // What keeps its place may leave none for this one.
        let submit = |_| pool.submitter().submit_tracked(Job::ok()).ok();
        let handles: Vec<_> = (0..4).filter_map(submit).collect();
        handles.iter().for_each(|handle| drop(handle.cancel()));
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
    }
}

#[test]
fn a09_a_running_task_that_was_cancelled_is_never_retried() {
    let _dog = Watchdog::new();
    type End = fn(Interrupted) -> Result<(), String>;
    let ends: [(&str, End); 3] = [
        ("Err", |why| Err(why.into())),
        ("panic", |_| crate::support::panic_quietly()),
        ("GiveUp", |_| Err("give up".to_string())),
    ];
    for (name, end) in ends {
        let retries = RetryPolicy::fixed(ms(0)).max_retries(5);
        let classify = |cause: dockhand::Cause<'_, String>| match cause {
            dockhand::Cause::Error(text) if text == "give up" => dockhand::RetryDecision::GiveUp,
            _ => dockhand::RetryDecision::Retry,
        };
        let (pool, shed) = shedding(builder(1).retry(retries).classify(classify));
        let running = Gate::new();
        let (job, attempts) = stubborn(&running, end);
        let handle = tracked(&pool, job.number(7));
        running.wait_arrived(1);
        assert_eq!(handle.status(), TaskStatus::Running { attempt: 1 });
        assert!(matches!(handle.cancel(), CancelOutcome::Requested));
        assert!(matches!(handle.cancel(), CancelOutcome::Requested), "it may be asked for twice");
        running.open();
        assert_eq!(outcome_of(&handle.wait()), Outcome::Cancelled, "{name}");
        let shed = std::mem::take(&mut *shed.lock().unwrap());
        assert_eq!(shed.len(), 1, "{name}");
        assert_eq!((shed[0].outcome, shed[0].payload.number), (Outcome::Cancelled, 7));
        assert_eq!((shed[0].was, shed[0].task.attempt), (TaskStatus::Running { attempt: 1 }, 1));
        pool.wait_idle(LONG).unwrap();
        let counts = pool.metrics().counts;
        assert_eq!((counts.cancelled, counts.retries, counts.dead_lettered), (1, 0, 0));
        assert_eq!((counts.panics, attempts.load(Ordering::SeqCst)), (u64::from(name == "panic"), 1));
        assert!(pool.dead_letters().is_empty());
        assert_rest(&pool);
    }
}

/// `Ok` in time is a success, whatever was asked; `Ok` after the timeout is none.
#[test]
fn a09_a_cancelled_task_that_comes_back_with_ok() {
    let _dog = Watchdog::new();
    for limit in [None, Some(ms(1))] {
        let builder = limit.map_or(builder(1), |limit| builder(1).attempt_timeout(limit));
        let (pool, shed) = shedding(builder.retry(RetryPolicy::fixed(ms(0)).max_retries(5)));
        let running = Gate::new();
        let passed = running.clone();
        let job = Job::new(move |cx| {
            passed.pass();
            while limit.is_some() && cx.checkpoint() != Err(Interrupted::Cancelled) {}
            // Cancelled goes before TimedOut, so the time is waited for by the clock.
            let start = std::time::Instant::now();
            while limit.is_some_and(|limit| start.elapsed() <= limit) {}
            Ok(())
        });
        let handle = tracked(&pool, job);
        running.wait_arrived(1);
        assert!(matches!(handle.cancel(), CancelOutcome::Requested));
        running.open();
        let expected = limit.map_or(Outcome::Succeeded, |_| Outcome::Cancelled);
        assert_eq!(outcome_of(&handle.wait()), expected);
        assert_eq!(shed.lock().unwrap().len(), usize::from(limit.is_some()));
        let counts = pool.metrics().counts;
        assert_eq!((counts.attempts, counts.timeouts), (1, u64::from(limit.is_some())));
    }
}

/// A cancel goes before the timeout.
#[test]
fn a09_what_a_checkpoint_says_first() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).attempt_timeout(Duration::from_nanos(1)));
    let (gate, seen) = (Gate::new(), Arc::new(Mutex::new(Vec::new())));
    let (passed, see) = (gate.clone(), Arc::clone(&seen));
    let job = Job::new(move |cx| {
        see.lock().unwrap().push(cx.checkpoint());
        passed.pass();
        while cx.checkpoint() == Err(Interrupted::TimedOut) {}
        see.lock().unwrap().push(cx.checkpoint());
        Ok(cx.checkpoint()?)
    });
    let handle = tracked(&pool, job);
    gate.wait_arrived(1);
    assert!(matches!(handle.cancel(), CancelOutcome::Requested));
    gate.open();
    assert_eq!(outcome_of(&handle.wait()), Outcome::Cancelled);
    assert_eq!(*seen.lock().unwrap(), [Err(Interrupted::TimedOut), Err(Interrupted::Cancelled)]);
}

#[test]
fn a09_a_cancelled_task_keeps_its_place_until_a_worker_passes_it() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).lane(Lane::new("held").queue_capacity(3).max_concurrency(0)));
    let held = pool.submitter_for("held").unwrap();
    let handles: Vec<_> = (0..3).map(|_| held.submit_tracked(Job::ok()).unwrap()).collect();
    let refused = |job| held.submit(job).into_result().unwrap_err().reason();
    assert_eq!(refused(Job::ok()), RejectReason::QueueFull);
    drop(cancelled(&handles[1]));
    assert_eq!(refused(Job::ok()), RejectReason::QueueFull, "the place is still taken");
    assert_eq!(pool.metrics().lanes[0].counts.queued, 2);
    pool.set_max_concurrency("held", 1).unwrap();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(pool.metrics().lanes[0].permits_in_use, 0);
    for _ in 0..3 {
        accepted_in(&held);
    }
    pool.wait_idle(LONG).unwrap();
    assert_eq!((pool.metrics().counts.succeeded, pool.metrics().counts.cancelled), (5, 1));
    assert_rest(&pool);
}

#[track_caller]
fn accepted_in(lane: &dockhand::TaskSubmitter<Runs>) {
    lane.submit(Job::ok()).into_result().unwrap();
}

#[test]
fn a09_what_was_cancelled_behind_a_paused_lane_is_no_work() {
    let _dog = Watchdog::new();
    let pool = build(builder(2).lane(Lane::new("held").max_concurrency(0)));
    let held = pool.submitter_for("held").unwrap();
    let handles: Vec<_> = (0..50).map(|_| held.submit_tracked(Job::ok()).unwrap()).collect();
    assert_eq!(pool.wait_idle(ms(20)), Err(WaitError::TimedOut), "they wait");
    std::thread::scope(|scope| {
        // A waiter that waits already is told by the last cancel.
        let waiter = scope.spawn(|| pool.wait_idle(LONG));
        handles.iter().for_each(|handle| drop(cancelled(handle)));
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
    assert_eq!(pool.wait_idle(LONG), Ok(()));
    assert_rest(&pool);
    let report = pool.shutdown(LONG);
    assert!(report.is_clean() && report.took < LONG / 2, "{report:?}");
}

#[test]
fn a09_a_handle_that_cancels_on_drop() {
    let _dog = Watchdog::new();
    let (pool, shed) = shedding(builder(1));
    let (ledger, running) = (Ledger::new(), Gate::new());
    let (job, _) = stubborn(&running, |why| Err(why.into()));
    let runs = tracked(&pool, job.track(ledger.track())).cancel_on_drop();
    running.wait_arrived(1);
    let queued = tracked(&pool, Job::ok().track(ledger.track())).cancel_on_drop();
    let delayed = tracked_with(&pool, Job::ok().track(ledger.track()), in_an_hour()).cancel_on_drop();
    let detached = tracked(&pool, Job::ok().track(ledger.track()));
    drop((queued, delayed));
    assert_eq!((ledger.dropped(), pool.metrics().counts.cancelled), (2, 2), "their payloads go at once");
    drop((runs, detached));
    running.open();
    pool.wait_idle(LONG).unwrap();
    let counts = pool.metrics().counts;
    assert_eq!((counts.cancelled, counts.succeeded), (3, 1), "what is merely dropped goes on");
    assert_eq!(shed.lock().unwrap().len(), 1);
    // After the end it does nothing.
    let mut done = tracked(&pool, Job::ok()).cancel_on_drop();
    assert!(done.wait_timeout(LONG).unwrap().is_ok());
    drop(done);
    assert_eq!(pool.metrics().counts.cancelled, 3);
    shed.lock().unwrap().clear();
    ledger.assert_all_gone();
}

/// A shutdown finds what was cancelled: no report, no second end; and what waits beyond the window is no letter.
#[test]
fn a09_a_shutdown_after_cancels_has_nothing_to_report() {
    let _dog = Watchdog::new();
    let retries = RetryPolicy::fixed(HOUR).max_delay(HOUR);
    let pool = build(builder(1).retry(retries).lane(Lane::new("held").max_concurrency(0)));
    let held = pool.submitter_for("held").unwrap();
    let retrying = tracked(&pool, Job::fail());
    let stays = tracked(&pool, Job::fail());
    crate::support::eventually("both back off", || pool.metrics().counts.delayed == 2);
    assert!(matches!(retrying.status(), TaskStatus::Retrying { .. }));
    let waiting =
        [retrying, tracked_with(&pool, Job::ok(), in_an_hour()), held.submit_tracked(Job::ok()).unwrap()];
    waiting.iter().for_each(|handle| drop(cancelled(handle)));
    accepted(&pool, Job::ok());
    let report = pool.shutdown(ms(100));
    assert_eq!((report.abandoned.len(), report.counts.cancelled, report.counts.abandoned), (1, 3, 1));
    assert_eq!(report.abandoned[0].task.id, stays.id());
    assert!(report.counts.is_conserved(), "{:?}", report.counts);
    for handle in waiting {
        assert!(matches!(handle.cancel(), CancelOutcome::TooLate));
        assert_eq!(outcome_of(&handle.wait()), Outcome::Cancelled);
    }
    assert_eq!(outcome_of(&stays.wait()), Outcome::Abandoned);
    assert!(pool.dead_letters().is_empty());
    assert_rest(&pool);
}
