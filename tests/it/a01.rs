//! A1: no task disappears.

use crate::support::{
    Job, LONG, Ledger, POLICIES, Pool, Rng, STRATEGIES, Watchdog, assert_rest, build, builder, ms, rounds,
};
use dockhand::metrics::Counts;
use dockhand::{
    IdleStrategy, Lane, OverloadPolicy, RejectReason, RetryPolicy, ShutdownReport, SubmitResult, TaskStatus,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// What producers were answered.
#[derive(Default, Debug, PartialEq, Eq)]
struct Answers {
    accepted: u64,
    caller_run: u64,
    rejected: u64,
    dropped: u64,
}

impl Answers {
    fn of(counts: &Counts) -> Self {
        let Counts { accepted, caller_run, rejected, dropped, .. } = *counts;
        Answers { accepted, caller_run, rejected, dropped }
    }

    fn count(&mut self, answer: &SubmitResult<Job>) {
        *match answer {
            SubmitResult::Accepted(_) => &mut self.accepted,
            SubmitResult::CallerRun(_) => &mut self.caller_run,
            SubmitResult::Rejected(_) => &mut self.rejected,
            SubmitResult::Dropped(_) => &mut self.dropped,
        } += 1;
    }

    fn add(mut self, other: Answers) -> Self {
        self.accepted += other.accepted;
        self.caller_run += other.caller_run;
        self.rejected += other.rejected;
        self.dropped += other.dropped;
        self
    }
}

/// How one round of the storm goes.
struct Storm {
    policy: OverloadPolicy,
    workers: usize,
    capacity: usize,
    idle: IdleStrategy,
    producers: u64,
    offers: u64,
    /// At how many offers of the first producer the pool is closed.
    close_at: u64,
    window: Duration,
}

/// A job that counts how often it was processed; every seventh fails at first.
fn counted(n: u64, runs: &Arc<AtomicU64>) -> Job {
    let runs = Arc::clone(runs);
    Job::new(move |cx| {
        runs.fetch_add(1, Ordering::Relaxed);
        if n % 7 == 0 && cx.attempt() == 1 { Err("at first".to_string()) } else { Ok(()) }
    })
}

fn produce(
    pool: &Pool,
    storm: &Storm,
    ledger: &Ledger,
    runs: &Arc<AtomicU64>,
    close: Option<&Barrier>,
) -> Answers {
    let submitter = pool.submitter();
    let mut answers = Answers::default();
    for n in 0..storm.offers {
        if let Some(close) = close.filter(|_| n == storm.close_at) {
            close.wait();
        }
        answers.count(&submitter.submit(counted(n, runs).track(ledger.track())));
    }
    answers
}

/// False if the system has kept a thread from running for longer than the grace, so that its attempt was given up.
fn run_storm(storm: &Storm) -> bool {
    let builder = builder(storm.workers)
        .queue_capacity(storm.capacity)
        .overload(storm.policy)
        .idle(storm.idle)
        .retry(RetryPolicy::fixed(Duration::from_micros(50)));
    let pool = build(builder);
    let (ledger, runs) = (Ledger::new(), Arc::new(AtomicU64::new(0)));
    let close = Barrier::new(2);
    let (told, report): (Answers, ShutdownReport<Job>) = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..storm.producers)
            .map(|me| {
                let close = (me == 0).then_some(&close);
                let (pool, ledger, runs) = (&pool, &ledger, &runs);
                scope.spawn(move || produce(pool, storm, ledger, runs, close))
            })
            .collect();
        close.wait();
        let report = pool.shutdown(storm.window);
        let told = producers.into_iter().map(|producer| producer.join().unwrap());
        (told.fold(Answers::default(), Answers::add), report)
    });
    let counts = pool.metrics().counts;
    assert_rest(&pool);
    assert_eq!(told, Answers::of(&counts), "what was told is what was counted");
    if !report.still_running.is_empty() {
        assert!(report.took >= storm.window.saturating_add(ms(100)), "given up within the grace: {report:?}");
        return false;
    }
    assert_eq!(counts.attempts, runs.load(Ordering::Relaxed));
    let failed_at_the_end =
        report.abandoned.iter().filter(|shed| matches!(shed.was, TaskStatus::Running { .. })).count() as u64;
    let ends = counts.succeeded + counts.retries + counts.dead_lettered + failed_at_the_end;
    assert_eq!(counts.attempts, ends, "each attempt ended in one way");
    let handed_back = report.abandoned.len() as u64;
    assert_eq!(handed_back, counts.abandoned);
    assert_eq!(ledger.alive(), handed_back + pool.metrics().letters as u64);
    assert!(
        pool.submit(Job::ok()).into_result().is_err_and(|refused| refused.reason() == RejectReason::Closed)
    );
    drop((report, pool));
    ledger.assert_all_gone();
    true
}

fn storms(policy: OverloadPolicy) {
    let _dog = Watchdog::new();
    let mut rng = Rng::new(policy as u64 + 1);
    let all = rounds(200, 10);
    let mut whole = 0;
    for round in 0..all {
        let offers = rounds(20_000, 40) as u64;
        whole += usize::from(run_storm(&Storm {
            policy,
            workers: 1 + rng.below(4) as usize,
            capacity: [1, 2, 7, 64][rng.below(4) as usize],
            idle: STRATEGIES[rng.below(3) as usize],
            producers: 1 + rng.below(8),
            offers,
            close_at: rng.below(offers),
            window: [Duration::ZERO, ms(1), Duration::from_secs(10), Duration::MAX][round % 4],
        }));
    }
    assert!(whole * 2 >= all, "{whole} of {all} rounds without an attempt that was given up");
}

#[test]
fn a01_no_task_disappears_when_full_lanes_reject() {
    storms(OverloadPolicy::Reject);
}

#[test]
fn a01_no_task_disappears_when_callers_run() {
    storms(OverloadPolicy::CallerRuns);
}

#[test]
fn a01_no_task_disappears_when_incoming_are_dropped() {
    storms(OverloadPolicy::DropIncoming);
}

#[test]
fn a01_no_task_disappears_when_the_oldest_are_dropped() {
    storms(OverloadPolicy::DropOldest);
}

/// The close alone, with tasks that are pushed while the workers leave one after another.
#[test]
fn a01_no_task_disappears_around_a_close() {
    let _dog = Watchdog::new();
    let mut rng = Rng::new(77);
    for _ in 0..rounds(20_000, 40) {
        let policy = POLICIES[rng.below(4) as usize];
        let pool = build(builder(1 + rng.below(2) as usize).queue_capacity(2).overload(policy));
        let runs = Arc::new(AtomicU64::new(0));
        let start = Barrier::new(3);
        let told = std::thread::scope(|scope| {
            let producers = [0, 1].map(|_| {
                scope.spawn(|| {
                    let mut answers = Answers::default();
                    start.wait();
                    for _ in 0..3 {
                        let runs = Arc::clone(&runs);
                        let job = Job::run(move || {
                            runs.fetch_add(1, Ordering::Relaxed);
                        });
                        answers.count(&pool.submit(job));
                    }
                    answers
                })
            });
            start.wait();
            pool.begin_shutdown();
            producers
                .map(|producer| producer.join().unwrap())
                .into_iter()
                .fold(Answers::default(), Answers::add)
        });
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
        let counts = pool.metrics().counts;
        assert_eq!(told, Answers::of(&counts));
        // A closed pool without a window runs all that it took in.
        assert_eq!(runs.load(Ordering::Relaxed), counts.succeeded);
        assert_eq!(counts.abandoned, 0);
        // With time for the workers to leave.
        let report = pool.shutdown(LONG);
        assert!(report.is_clean(), "{report:?}");
    }
}

#[test]
fn a01_a_closed_pool_refuses_under_every_policy_and_runs_nothing() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let pool = build(builder(2).overload(policy).lane(Lane::new("other")));
        pool.begin_shutdown();
        let ledger = Ledger::new();
        let refused = |answer: SubmitResult<Job>| match answer {
            SubmitResult::Rejected(refused) => {
                assert_eq!(refused.reason(), RejectReason::Closed);
                assert!(refused.into_payload().tracked.is_some());
            }
            other => panic!("{policy:?}: {other:?}"),
        };
        let job = || Job::run(|| panic!("a refused task was run")).track(ledger.track());
        for policy in POLICIES {
            for lane in ["default", "other"] {
                let submitter = pool.submitter_for(lane).unwrap().with_overload(policy);
                refused(submitter.submit(job()));
                refused(submitter.submit_timeout(job(), LONG));
                for rejection in submitter.submit_batch((0..40).map(|_| job())).refused {
                    refused(SubmitResult::Rejected(rejection));
                }
            }
        }
        assert!(pool.shutdown(LONG).is_clean());
        refused(pool.submit(job()));
        assert_rest(&pool);
        assert_eq!(pool.metrics().counts.rejected, 4 * 2 * 42 + 1);
        ledger.assert_all_gone();
    }
}
