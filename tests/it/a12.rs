//! A12: a deadline bounds the whole life.

use crate::limits::{Notes, lane_of};
use crate::support::{
    Gate, Job, LONG, Runs, SLACK, Watchdog, accepted, assert_rest, build, builder, eventually, ms, plugged,
};
use dockhand::letter::DeadLetterReason;
use dockhand::{
    CancelOutcome, Lane, ManualPool, Outcome, OverloadPolicy, PoolBuilder, RejectReason, RetryDecision,
    RetryPolicy, SubmitResult, TaskError, TaskOptions, TaskStatus,
};
use std::time::{Duration, Instant};

/// What `on_shed` was told: number, outcome, stage, attempts, last error.
pub(crate) type Told = (u64, Outcome, TaskStatus, u32, Option<String>);

fn telling(builder: PoolBuilder<Runs>) -> (PoolBuilder<Runs>, Notes<Told>) {
    let told = Notes::new();
    let add = Notes::clone(&told);
    let builder = builder.on_shed(move |shed| {
        let last_error = shed.last_error.as_deref().map(str::to_string);
        add.add((shed.payload.number, shed.outcome, shed.was, shed.task.attempt, last_error));
    });
    (builder, told)
}

pub(crate) fn manual(builder: PoolBuilder<Runs>) -> (ManualPool<Runs>, Notes<Told>) {
    let (builder, told) = telling(builder);
    (builder.build_manual().unwrap(), told)
}

pub(crate) fn never_run() -> Job {
    Job::run(|| panic!("it was processed after its deadline"))
}

pub(crate) fn ttl(ttl: Duration) -> TaskOptions {
    TaskOptions::new().ttl(ttl)
}

#[test]
fn a12_behind_a_plug() {
    let _dog = Watchdog::new();
    let (builder, told) = telling(builder(1));
    let (pool, plug) = plugged(builder);
    let notes = Notes::new();
    let offered = Instant::now();
    let at = TaskOptions::new().deadline(offered + ms(200));
    pool.submitter().submit_with(never_run().number(1), at.clone()).into_result().unwrap();
    let asked = pool.submitter().submit_tracked_with(never_run().number(2), at).unwrap();
    accepted(&pool, notes.job(3));
    // A handle that asks hears of it at its time, though the worker is plugged.
    assert!(matches!(asked.wait(), Err(TaskError::Expired)));
    let waited = offered.elapsed();
    assert!(waited >= ms(200) && waited < ms(300) * SLACK, "{waited:?}");
    assert_eq!(told.all(), [(2, Outcome::Expired, TaskStatus::Queued, 0, None)]);
    assert_eq!((pool.metrics().counts.expired, pool.metrics().counts.queued), (1, 2));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(told.all()[1..], [(1, Outcome::Expired, TaskStatus::Queued, 0, None)]);
    assert_eq!((notes.all(), pool.metrics().counts.expired), (vec![3], 2));
    assert_eq!((pool.metrics().counts.attempts, pool.metrics().hook_panics), (2, 0));
    assert_rest(&pool);
}

/// The deadline itself is too late; a nanosecond before it is not.
#[test]
fn a12_to_the_nanosecond() {
    let _dog = Watchdog::new();
    let (pool, told) = manual(builder(1));
    let notes = Notes::new();
    pool.submitter().submit_with(notes.job(1), ttl(ms(100))).into_result().unwrap();
    pool.advance(ms(100) - Duration::from_nanos(1));
    assert!(pool.run_one());
    pool.submitter().submit_with(never_run().number(2), ttl(ms(100))).into_result().unwrap();
    pool.advance(ms(100));
    pool.run_until_idle();
    assert_eq!((notes.all(), told.all().len()), (vec![1], 1));
    assert_eq!(told.all()[0], (2, Outcome::Expired, TaskStatus::Queued, 0, None));
    assert_rest(&pool);
}

#[test]
fn a12_delayed() {
    let _dog = Watchdog::new();
    let (pool, told) = manual(builder(1));
    let due = pool.now() + ms(50);
    let options = ttl(ms(100)).delay(ms(50));
    pool.submitter().submit_with(never_run().number(1), options.clone()).into_result().unwrap();
    let handle = pool.submitter().submit_tracked_with(never_run().number(2), options.clone()).unwrap();
    let cancelled = pool.submitter().submit_tracked_with(never_run().number(3), options).unwrap();
    pool.advance(ms(100));
    assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Expired));
    assert!(matches!(handle.cancel(), CancelOutcome::TooLate));
    // One that nobody has asked about is not told yet, and can be cancelled.
    assert!(matches!(cancelled.cancel(), CancelOutcome::Cancelled(_)));
    pool.run_until_idle();
    let was = TaskStatus::Delayed { due };
    assert_eq!(told.all(), [(2, Outcome::Expired, was, 0, None), (1, Outcome::Expired, was, 0, None)]);
    assert_eq!((pool.metrics().counts.expired, pool.metrics().counts.cancelled), (2, 1));
    assert_rest(&pool);
}

#[test]
fn a12_held_back_by_a_limit() {
    let _dog = Watchdog::new();
    let (builder, told) = telling(builder(4).lane(Lane::new("a").max_concurrency(1)));
    let pool = build(builder);
    let (a, plug) = (pool.submitter_for("a").unwrap(), Gate::new());
    a.submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    let offered = Instant::now();
    a.submit_with(never_run().number(1), ttl(ms(30))).into_result().unwrap();
    a.submit_with(never_run().number(2), ttl(ms(30)).delay(ms(5))).into_result().unwrap();
    eventually("it is late", || offered.elapsed() > ms(31));
    assert_eq!((told.all().len(), lane_of(&pool, "a").counts.queued), (0, 1));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    let mut numbers: Vec<_> = told.all().iter().map(|told| (told.0, told.1)).collect();
    numbers.sort_unstable_by_key(|told| told.0);
    assert_eq!(numbers, [(1, Outcome::Expired), (2, Outcome::Expired)]);
    assert_eq!(lane_of(&pool, "a").permits_in_use, 0);
    assert_rest(&pool);
}

/// A retry that would start too late ends at once, also if the classifier names the delay; one that is due in time and
/// held up expires when its turn comes.
#[test]
fn a12_retries() {
    let _dog = Watchdog::new();
    let hour = Duration::from_secs(3600);
    let (pool, told) = manual(builder(1).retry(RetryPolicy::fixed(hour).max_delay(hour)));
    let handle = pool.submitter().submit_tracked_with(Job::fail().number(1), ttl(hour)).unwrap();
    pool.run_one();
    assert!(matches!(handle.wait(), Err(TaskError::Expired)));
    let failed = Some("attempt 1".to_string());
    let was = TaskStatus::Running { attempt: 1 };
    assert_eq!(told.all(), [(1, Outcome::Expired, was, 1, failed.clone())]);
    assert_eq!((pool.metrics().counts.retries, pool.metrics().counts.delayed), (0, 0));
    // In time, by a nanosecond; then held up.
    let due = pool.now() + hour;
    let options = ttl(hour + Duration::from_nanos(1));
    pool.submitter().submit_with(Job::fail().number(2), options).into_result().unwrap();
    pool.run_one();
    assert_eq!(pool.metrics().counts.delayed, 1);
    pool.advance(hour * 2);
    pool.run_one();
    assert_eq!(told.all()[1], (2, Outcome::Expired, TaskStatus::Retrying { due }, 1, failed));
    assert_rest(&pool);
    let named =
        builder(1).retry(RetryPolicy::fixed(ms(1))).classify(move |_| RetryDecision::RetryAfter(hour));
    let (pool, told) = manual(named.retry(RetryPolicy::fixed(ms(1)).max_delay(Duration::MAX)));
    pool.submitter().submit_with(Job::fail().number(3), ttl(ms(60))).into_result().unwrap();
    pool.run_one();
    assert_eq!(told.all().len(), 1);
    // Without retries left it is a letter, deadline or not.
    let (pool, told) = manual(builder(1).retry(RetryPolicy::none()));
    pool.submitter().submit_with(Job::fail(), ttl(ms(60))).into_result().unwrap();
    pool.run_one();
    assert_eq!(pool.dead_letters().list()[0].reason, DeadLetterReason::RetriesExhausted);
    assert_eq!((told.all().len(), pool.metrics().counts.expired), (0, 0));
    assert_rest(&pool);
}

/// Who waits since the attempt ran hears of the deadline at its time all the same, when the retry is held up.
#[test]
fn a12_a_handle_that_waits_since_the_attempt_hears_of_it() {
    let _dog = Watchdog::new();
    let lane = Lane::new("default").retry(RetryPolicy::fixed(ms(20)));
    let pool = build(builder(1).lane(lane));
    let (first, second) = (Gate::new(), Gate::new());
    let held = first.clone();
    let job = Job::new(move |_| {
        held.pass();
        Err("again".into())
    });
    let offered = Instant::now();
    let mut handle = pool.submitter().submit_tracked_with(job, ttl(ms(500))).unwrap();
    first.wait_arrived(1);
    accepted(&pool, Job::plug(&second));
    let (answer, waited) = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let answer = handle.wait_timeout(LONG);
            (answer, offered.elapsed())
        });
        // It waits by then, or has not begun yet: both must do.
        (0..100_000).for_each(|_| std::hint::spin_loop());
        first.open();
        second.wait_arrived(1);
        waiter.join().unwrap()
    });
    assert!(matches!(answer, Some(Err(TaskError::Expired))), "{answer:?}");
    assert!(waited >= ms(500) && waited < ms(600) * SLACK, "{waited:?}");
    second.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}

#[test]
fn a12_run_by_the_caller() {
    let _dog = Watchdog::new();
    for policy in [OverloadPolicy::CallerRuns, OverloadPolicy::Reject, OverloadPolicy::DropIncoming] {
        let lane = Lane::new("default").queue_capacity(1).ttl(ms(20)).overload(policy);
        let (pool, plug) = (build(builder(1).lane(lane)), Gate::new());
        // The lane's ttl is not for the plug: this thread may be held up as well.
        pool.submitter().submit_with(Job::plug(&plug), ttl(LONG)).into_result().unwrap();
        plug.wait_arrived(1);
        pool.submit(never_run()).into_result().unwrap();
        let answer = pool.submitter().submit_timeout(never_run().number(4), ms(60));
        match (policy, answer) {
            (OverloadPolicy::CallerRuns, SubmitResult::Rejected(refused)) => {
                assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::Expired, 4));
            }
            (OverloadPolicy::Reject, SubmitResult::Rejected(refused)) => {
                assert_eq!(refused.reason(), RejectReason::QueueFull);
            }
            (OverloadPolicy::DropIncoming, SubmitResult::Dropped(job)) => assert_eq!(job.number, 4),
            (_, other) => panic!("{other:?}"),
        }
        plug.open();
        pool.wait_idle(LONG).unwrap();
        assert_eq!((pool.metrics().counts.expired, pool.metrics().counts.attempts), (1, 1));
        assert_rest(&pool);
    }
}
