//! A9: cancellation at any moment, by rounds that race.

use crate::a09_ends::{Round, Told, spin};
use crate::cancel::outcome_of;
use crate::support::{
    Job, LONG, Ledger, Pool, Rng, Runs, Watchdog, assert_rest, build, builder, eventually, rounds,
};
use dockhand::{
    CancelOutcome, Lane, Outcome, PoolBuilder, RejectReason, RetryPolicy, TaskHandle, TaskId, TaskOptions,
    TaskStatus, TaskSubmitter,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The tasks whose payload came back, and those that ended as cancelled while they ran.
#[derive(Debug, Default)]
struct Sums {
    back: u64,
    stopped: u64,
    others: u64,
}

struct Race<'a> {
    pool: &'a Pool,
    told: &'a Told,
    ledger: &'a Ledger,
    has_listener: bool,
}

impl Race<'_> {
    /// Offers a task by each call of `offer`, cancels it after a while, and looks at what came of it.
    fn run(
        &self,
        rounds: usize,
        patience: u64,
        mut offer: impl FnMut(&mut Rng, &Arc<Round>) -> Option<TaskHandle<Runs>>,
    ) -> Sums {
        let (mut rng, mut sums, mut open) = (Rng::new(rounds as u64 + patience), Sums::default(), Vec::new());
        for n in 0..rounds {
            let round = Arc::<Round>::default();
            let Some(handle) = offer(&mut rng, &round) else { continue };
            spin(rng.below(patience));
            let (id, answer) = (handle.id(), handle.cancel());
            let expected = match answer {
                CancelOutcome::Cancelled(job) => {
                    round.answered.store(true, Ordering::SeqCst);
                    assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Cancelled));
                    assert!(job.tracked.is_some());
                    sums.back += 1;
                    Some(Outcome::Cancelled)
                }
                CancelOutcome::Requested => None,
                CancelOutcome::TooLate => {
                    let TaskStatus::Ended(outcome) = handle.status() else { panic!("{handle:?}") };
                    assert_ne!(outcome, Outcome::Cancelled, "nobody else cancels");
                    Some(outcome)
                }
            };
            let outcome = outcome_of(&handle.wait());
            assert!(expected.is_none_or(|expected| expected == outcome), "{expected:?} but {outcome:?}");
            match (expected, outcome) {
                (None, Outcome::Cancelled) => sums.stopped += 1,
                (None, Outcome::Succeeded) => sums.others += 1,
                (None, other) => panic!("asked to stop, and {other}"),
                (Some(Outcome::Cancelled), _) => {}
                _ => sums.others += 1,
            }
            open.push((id, outcome, round));
            if n % 256 == 255 {
                self.settle(&mut open);
            }
        }
        self.settle(&mut open);
        let counts = self.pool.metrics().counts;
        assert_eq!(counts.cancelled, sums.back + sums.stopped);
        assert_eq!(self.told.shed.load(Ordering::SeqCst), sums.stopped, "to on_shed, once each");
        sums
    }

    fn settle(&self, open: &mut Vec<(TaskId, Outcome, Arc<Round>)>) {
        self.pool.wait_idle(LONG).unwrap();
        assert_rest(self.pool);
        assert!(self.pool.metrics().lanes.iter().all(|lane| lane.permits_in_use == 0));
        drop(self.pool.dead_letters().drain());
        assert_eq!(self.ledger.alive(), 0, "each payload is gone");
        let mut ended = std::mem::take(&mut *self.told.ended.lock().unwrap());
        for (id, outcome, round) in open.drain(..) {
            assert!(!round.late.load(Ordering::SeqCst), "processed after it was cancelled");
            if self.has_listener {
                assert_eq!(ended.remove(&id), Some(vec![outcome]));
            }
        }
    }
}

/// Once without a listener and once with one: what is told takes other paths.
fn race(
    build_on: impl Fn(PoolBuilder<Runs>) -> PoolBuilder<Runs>,
    patience: u64,
    offer: impl Fn(&Pool, &mut Rng, &Arc<Round>, Job) -> Option<TaskHandle<Runs>>,
    shape: impl Fn(&mut Rng, &Arc<Round>) -> Job,
) -> Sums {
    let sums = [false, true].map(|has_listener| {
        let (told, ledger) = (Told::default(), Ledger::new());
        let pool = build(told.builder(build_on(builder(2)), has_listener));
        let sums = Race { pool: &pool, told: &told, ledger: &ledger, has_listener }.run(
            rounds(100_000, 20),
            patience,
            |rng, round| {
                let job = shape(rng, round).track(ledger.track());
                offer(&pool, rng, round, job)
            },
        );
        ledger.assert_all_gone();
        assert!(pool.shutdown(LONG).is_clean());
        sums
    });
    let of = |count: fn(&Sums) -> u64| sums.iter().map(count).sum::<u64>();
    Sums { back: of(|sums| sums.back), stopped: of(|sums| sums.stopped), others: of(|sums| sums.others) }
}

/// `None` if the lane is full of what was cancelled, because no worker has had a turn to pass it.
#[track_caller]
fn offer(lane: &TaskSubmitter<Runs>, job: Job, options: TaskOptions) -> Option<TaskHandle<Runs>> {
    let refused = match lane.submit_tracked_with(job, options) {
        Ok(handle) => return Some(handle),
        Err(refused) => refused,
    };
    assert_eq!(refused.reason(), RejectReason::QueueFull);
    std::thread::yield_now();
    None
}

#[track_caller]
fn submit(pool: &Pool, job: Job, options: TaskOptions) -> Option<TaskHandle<Runs>> {
    offer(&pool.submitter(), job, options)
}

/// As `submit`, and waits until it runs.
#[track_caller]
fn submit_and_see(pool: &Pool, round: &Round, job: Job) -> Option<TaskHandle<Runs>> {
    let handle = submit(pool, job, TaskOptions::new())?;
    eventually("it runs", || round.running.load(Ordering::SeqCst));
    Some(handle)
}

#[test]
fn a09_cancelled_while_it_starts() {
    let _dog = Watchdog::new();
    let sums = race(
        |builder| builder,
        400,
        |pool, _, _, job| submit(pool, job, TaskOptions::new()),
        |rng, round| round.job(rng.below(50), 1, false),
    );
    assert!(sums.others > 0, "{sums:?}");
}

#[test]
fn a09_cancelled_while_it_is_queued() {
    let _dog = Watchdog::new();
    let busy = |pool: &Pool, rng: &mut Rng| {
        for _ in 0..3 {
            let spins = rng.below(300);
            drop(pool.submit(Job::run(move || spin(spins))));
        }
    };
    let sums = race(
        |builder| builder.workers(1),
        600,
        |pool, rng, _, job| {
            busy(pool, rng);
            let options = TaskOptions::new();
            // A key has it take the lock of the keys too.
            submit(pool, job, if rng.below(2) == 0 { options } else { options.key("it") })
        },
        |rng, round| round.job(rng.below(50), 1, false),
    );
    assert!(sums.back > 0, "{sums:?}");
}

#[test]
fn a09_cancelled_while_it_is_held() {
    let _dog = Watchdog::new();
    let sums = race(
        |builder| builder.lane(Lane::new("held").max_concurrency(1)),
        500,
        |pool, rng, _, job| {
            let held = pool.submitter_for("held").unwrap();
            let spins = rng.below(300);
            drop(held.submit(Job::run(move || spin(spins))));
            offer(&held, job, TaskOptions::new())
        },
        |rng, round| round.job(rng.below(50), 1, false),
    );
    assert!(sums.back > 0, "{sums:?}");
}

#[test]
fn a09_cancelled_while_it_is_delayed() {
    let _dog = Watchdog::new();
    let sums = race(
        |builder| builder,
        800,
        |pool, rng, _, job| {
            submit(pool, job, TaskOptions::new().delay(Duration::from_nanos(rng.below(20_000))))
        },
        |rng, round| round.job(rng.below(50), 1, false),
    );
    assert!(sums.back > 0, "{sums:?}");
}

/// Until it runs, and then at any moment up to its end: `Ok`, an error or a panic, with and without retries.
#[test]
fn a09_cancelled_while_it_runs_and_finishes() {
    let _dog = Watchdog::new();
    for retries in [0, 1] {
        let sums = race(
            |builder| builder.retry(RetryPolicy::fixed(Duration::ZERO).max_retries(retries)),
            1000,
            |pool, _, round, job| submit_and_see(pool, round, job),
            |rng, round| round.job(rng.below(2000), 1 + rng.below(2) as u32, rng.below(2) == 0),
        );
        assert!(sums.stopped + sums.others > 0, "{sums:?}");
    }
}

#[test]
fn a09_cancelled_while_it_backs_off() {
    let _dog = Watchdog::new();
    let delays = [0, 1, 5, 20].map(Duration::from_micros);
    let sums = race(
        |builder| builder.retry(RetryPolicy::schedule(delays)),
        1500,
        |pool, _, round, job| submit_and_see(pool, round, job),
        |rng, round| round.job(rng.below(30), 2 + rng.below(4) as u32, false),
    );
    assert!(sums.back + sums.stopped > 0, "{sums:?}");
}
