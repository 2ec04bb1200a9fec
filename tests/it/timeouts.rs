//! Attempt timeouts: cooperative, and counted however the attempt comes back.

use crate::limits::{Notes, lane_of};
use crate::support::{
    Gate, Job, LONG, Ledger, Tracked, Watchdog, assert_rest, build, builder, eventually, ms, panic_quietly,
};
use dockhand::letter::DeadLetterReason;
use dockhand::{
    CancelOutcome, Cause, Interrupted, Lane, ManualClock, ManualPool, PoolBuilder, ProcessorFn,
    RetryDecision, RetryPolicy, TaskContext, TaskError, WorkerPool, processor_fn,
};
use std::time::Duration;

/// What each attempt takes, and how it ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Ok,
    Err,
    Panic,
    /// As the checkpoint says.
    Checkpoint,
}

struct Work {
    attempts: Vec<(Duration, End)>,
    ledger: Ledger,
}

type Times = ProcessorFn<Work, Tracked, String>;

fn work(ledger: &Ledger, attempts: &[(u64, End)]) -> Work {
    let attempts = attempts.iter().map(|(millis, end)| (ms(*millis), *end)).collect();
    Work { attempts, ledger: ledger.clone() }
}

/// A pool whose processor moves the clock.
fn timed(set: impl Fn(PoolBuilder<Times>) -> PoolBuilder<Times>) -> ManualPool<Times> {
    let clock = ManualClock::new();
    let moved = clock.clone();
    let process = move |work: &mut Work, cx: &TaskContext<'_, Work>| {
        let (takes, end) = work.attempts[cx.attempt() as usize - 1];
        let too_late = if cx.lane() == "zero" { Err(Interrupted::TimedOut) } else { Ok(()) };
        assert_eq!(cx.checkpoint(), too_late, "it has just begun");
        moved.advance(takes);
        match end {
            End::Ok => Ok(work.ledger.track()),
            End::Err => Err("its own".to_string()),
            End::Panic => panic_quietly(),
            End::Checkpoint => {
                cx.checkpoint()?;
                Ok(work.ledger.track())
            }
        }
    };
    let retry = RetryPolicy::fixed(ms(1)).max_retries(2);
    let builder = WorkerPool::builder(processor_fn(process)).attempt_timeout(ms(100)).retry(retry);
    set(builder).build_manual_on(&clock).unwrap()
}

fn told(cause: Cause<'_, String>) -> String {
    match cause {
        Cause::Error(error) => error.clone(),
        Cause::Panicked(what) => format!("panic: {what}"),
        Cause::TimedOut => "timed out".into(),
        other => format!("{other}"),
    }
}

#[test]
fn an_ok_in_time_is_delivered_and_a_late_one_is_retried_and_is_not() {
    let _dog = Watchdog::new();
    let (ledger, causes) = (Ledger::new(), Notes::new());
    let asked = causes.clone();
    let pool = timed(|builder| {
        let asked = asked.clone();
        builder.classify(move |cause| {
            asked.add(told(cause));
            RetryDecision::Retry
        })
    });
    let offer = |attempts: &[(u64, End)]| pool.submitter().submit_tracked(work(&ledger, attempts)).unwrap();
    let output = offer(&[(99, End::Ok)]).wait().unwrap();
    assert_eq!((output.id, pool.metrics().counts.timeouts, causes.all().len()), (1, 0, 0));
    drop(output);
    // Late twice, then in time: only the last output is delivered, the others are gone.
    let output = offer(&[(101, End::Ok), (5000, End::Ok), (1, End::Ok)]).wait().unwrap();
    assert_eq!((output.id, ledger.alive()), (4, 1));
    assert_eq!((causes.all(), pool.metrics().counts.timeouts), (vec!["timed out".to_string(); 2], 2));
    // Late each time.
    match offer(&[(101, End::Ok); 3]).wait() {
        Err(TaskError::Failed(failure)) => assert!(matches!(failure.cause(), Cause::TimedOut)),
        other => panic!("{:?}", other.map(drop)),
    }
    let letter = pool.dead_letters().drain().pop().unwrap();
    assert_eq!((letter.info.reason, letter.info.task.attempt), (DeadLetterReason::RetriesExhausted, 3));
    assert!(matches!(letter.failure.cause(), Cause::TimedOut));
    let counts = pool.metrics().counts;
    assert_eq!((counts.timeouts, counts.succeeded, counts.dead_lettered, counts.retries), (5, 2, 1, 4));
    drop((output, letter));
    assert_rest(&pool);
    ledger.assert_all_gone();
}

#[test]
fn a_late_error_or_panic_keeps_its_own_cause() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    for (end, cause, timeouts) in [
        (End::Err, "its own", 0),
        (End::Panic, "panic: as planned", 0),
        (End::Checkpoint, "the attempt has run for too long", 0),
        (End::Ok, "timed out", 1),
    ] {
        let pool = timed(|builder| builder.retry(RetryPolicy::none()));
        pool.submit(work(&ledger, &[(150, end)])).into_result().unwrap();
        pool.wait_idle(Duration::MAX).unwrap();
        let letter = pool.dead_letters().drain().pop().unwrap();
        assert_eq!(told(letter.failure.cause()), cause, "{end:?}");
        assert_eq!(pool.metrics().counts.timeouts, timeouts, "{end:?}");
        assert_rest(&pool);
    }
    // Without a classifier a timeout is retried, a panic is not.
    let pool = timed(|builder| builder);
    pool.submit(work(&ledger, &[(150, End::Ok), (1, End::Checkpoint)])).into_result().unwrap();
    pool.submit(work(&ledger, &[(150, End::Panic)])).into_result().unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    let counts = pool.metrics().counts;
    assert_eq!((counts.succeeded, counts.dead_lettered, counts.attempts), (1, 1, 3));
    let pool = timed(|builder| builder.classify(|_| RetryDecision::GiveUp));
    pool.submit(work(&ledger, &[(150, End::Ok)])).into_result().unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.dead_letters().list()[0].reason, DeadLetterReason::NotRetryable);
    ledger.assert_all_gone();
}

#[test]
fn a_lanes_own_timeout_goes_before_the_builders_and_max_is_none() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let pool = timed(|builder| {
        builder
            .lane(Lane::new("short").attempt_timeout(ms(10)))
            .lane(Lane::new("never").attempt_timeout(Duration::MAX))
            .lane(Lane::new("zero").attempt_timeout(Duration::ZERO).retry(RetryPolicy::none()))
            .retry(RetryPolicy::none())
    });
    for (lane, takes, timeouts) in [
        ("short", 9, 0),
        ("short", 11, 1),
        ("never", 3_600_000_000, 0),
        ("default", 99, 0),
        ("default", 101, 1),
        ("zero", 1, 1),
    ] {
        let before = pool.metrics().counts.timeouts;
        pool.submitter_for(lane).unwrap().submit(work(&ledger, &[(takes, End::Ok)])).into_result().unwrap();
        pool.wait_idle(Duration::MAX).unwrap();
        assert_eq!(pool.metrics().counts.timeouts - before, timeouts, "{lane}, {takes} ms");
    }
    assert_rest(&pool);
}

/// Nothing is interrupted: worker and permit stay in use, and the task is still running.
#[test]
fn worker_and_permit_stay_in_use_until_the_attempt_is_back() {
    let _dog = Watchdog::new();
    let lane = Lane::new("a").max_concurrency(1).attempt_timeout(ms(5)).retry(RetryPolicy::none());
    let pool = build(builder(2).lane(lane));
    let (a, gate, notes) = (pool.submitter_for("a").unwrap(), Gate::new(), Notes::new());
    let (held, seen) = (gate.clone(), notes.clone());
    let job = Job::new(move |cx| {
        eventually("it is too late", || cx.is_interrupted());
        seen.add(cx.checkpoint().unwrap_err());
        held.pass();
        Ok(())
    });
    let mut handle = a.submit_tracked(job).unwrap();
    gate.wait_arrived(1);
    a.submit(Job::ok()).into_result().unwrap();
    eventually("the other sleeps", || pool.metrics().sleeping_workers == 1);
    let lane = lane_of(&pool, "a");
    assert_eq!((lane.permits_in_use, lane.counts.running, lane.counts.queued), (1, 1, 1));
    assert_eq!((notes.all(), lane.counts.timeouts), (vec![Interrupted::TimedOut], 0));
    assert!(handle.wait_timeout(ms(1)).is_none());
    gate.open();
    match handle.wait() {
        Err(TaskError::Failed(failure)) => assert!(matches!(failure.cause(), Cause::TimedOut)),
        other => panic!("{other:?}"),
    }
    pool.wait_idle(LONG).unwrap();
    let lane = lane_of(&pool, "a");
    assert_eq!((lane.permits_in_use, lane.counts.timeouts, lane.counts.succeeded), (0, 1, 1));
    assert_rest(&pool);
}

/// Cancelled goes before shut down, and that before timed out; a late `Ok` after a cancel is `Cancelled`.
#[test]
fn a_requested_cancel_goes_before_the_timeout() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).attempt_timeout(ms(1)));
    let (first, second, notes) = (Gate::new(), Gate::new(), Notes::new());
    let (one, two, seen) = (first.clone(), second.clone(), notes.clone());
    let job = Job::new(move |cx| {
        eventually("it is too late", || cx.is_interrupted());
        seen.add(cx.checkpoint().unwrap_err());
        one.pass();
        seen.add(cx.checkpoint().unwrap_err());
        two.pass();
        Ok(())
    });
    let handle = pool.submitter().submit_tracked(job).unwrap();
    first.wait_arrived(1);
    assert!(matches!(handle.cancel(), CancelOutcome::Requested));
    first.open();
    second.wait_arrived(1);
    second.open();
    assert!(matches!(handle.wait(), Err(TaskError::Cancelled)));
    assert_eq!(notes.all(), [Interrupted::TimedOut, Interrupted::Cancelled]);
    pool.wait_idle(LONG).unwrap();
    let counts = pool.metrics().counts;
    assert_eq!((counts.cancelled, counts.succeeded, counts.dead_lettered), (1, 0, 0));
    assert_rest(&pool);
}

/// Each attempt has its own time; the backoff does not count.
#[test]
fn each_attempt_has_the_whole_time() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let pool = timed(|builder| builder.retry(RetryPolicy::fixed(LONG).max_retries(2)));
    let handle =
        pool.submitter().submit_tracked(work(&ledger, &[(90, End::Err), (90, End::Err), (90, End::Ok)]));
    let began = pool.now();
    handle.unwrap().wait().unwrap();
    assert_eq!((pool.now() - began, pool.metrics().counts.timeouts), (LONG * 2 + ms(270), 0));
    assert_rest(&pool);
}
