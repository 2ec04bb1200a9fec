//! A9: cancellation around the submits of others, and around the end of the pool.

use crate::cancel::{HOUR, outcome_of};
use crate::support::{
    Gate, Job, LONG, Ledger, Rng, Runs, Watchdog, accepted, assert_rest, build, builder, ms, panic_quietly,
    rounds,
};
use dockhand::{
    CancelOutcome, Event, IdleStrategy, Lane, Outcome, OverloadPolicy, PoolBuilder, RejectReason,
    RetryPolicy, TaskHandle, TaskId, TaskOptions, TaskStatus,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the task and the canceller of one round know of each other.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) starts: AtomicU32,
    pub(crate) running: AtomicBool,
    /// `Cancelled` was answered.
    pub(crate) answered: AtomicBool,
    /// Processing was seen after that.
    pub(crate) late: AtomicBool,
}

impl Round {
    /// A payload that fails until attempt `ok_at`, and spins before it ends.
    pub(crate) fn job(self: &Arc<Self>, spins: u64, ok_at: u32, panics: bool) -> Job {
        let round = Arc::clone(self);
        Job::new(move |cx| {
            let look = || {
                if round.answered.load(Ordering::SeqCst) {
                    round.late.store(true, Ordering::SeqCst);
                }
            };
            look();
            round.starts.fetch_add(1, Ordering::SeqCst);
            round.running.store(true, Ordering::SeqCst);
            spin(spins);
            look();
            match cx.attempt() >= ok_at {
                true => Ok(()),
                false if panics => panic_quietly(),
                false => Err("planned".to_string()),
            }
        })
    }
}

pub(crate) fn spin(times: u64) {
    (0..times).for_each(|_| std::hint::spin_loop());
}

/// Counts what the pool tells of ends.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) ended: Arc<Mutex<HashMap<TaskId, Vec<Outcome>>>>,
    pub(crate) shed: Arc<AtomicU64>,
}

impl Told {
    pub(crate) fn builder(&self, builder: PoolBuilder<Runs>, has_listener: bool) -> PoolBuilder<Runs> {
        let (ended, shed) = (Arc::clone(&self.ended), Arc::clone(&self.shed));
        let builder = builder.idle(IdleStrategy::SpinThenPark(Duration::from_micros(20)));
        let builder = builder.on_shed(move |cast| {
            shed.fetch_add(u64::from(cast.outcome == Outcome::Cancelled), Ordering::SeqCst);
        });
        if !has_listener {
            return builder;
        }
        builder.on_event(move |event| {
            if let Event::Ended { task, outcome, .. } = event {
                ended.lock().unwrap().entry(task.id).or_default().push(*outcome);
            }
        })
    }
}

/// Beside others that displace it, run it on their own thread, or find its place.
#[test]
fn a09_cancelled_around_the_submits_of_others() {
    let _dog = Watchdog::new();
    for policy in [OverloadPolicy::DropOldest, OverloadPolicy::CallerRuns] {
        let (told, ledger) = (Told::default(), Ledger::new());
        let retry = RetryPolicy::fixed(Duration::from_micros(5)).max_retries(1);
        let pool = told.builder(builder(1).queue_capacity(2).overload(policy).retry(retry), true);
        let (pool, done) = (build(pool), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    drop(pool.submit(Job::run(|| spin(20))));
                }
            });
            let (mut rng, mut back, mut cancelled) = (Rng::new(5), 0, 0);
            for _ in 0..rounds(100_000, 20) {
                let round = Arc::<Round>::default();
                let job = round.job(rng.below(50), 1 + rng.below(2) as u32, false);
                let handle = pool.submitter().submit_tracked(job.track(ledger.track()));
                let handle = match handle {
                    Ok(handle) => handle,
                    Err(refused) => panic!("{refused}"),
                };
                spin(rng.below(200));
                if let CancelOutcome::Cancelled(job) = handle.cancel() {
                    round.answered.store(true, Ordering::SeqCst);
                    back += 1;
                    drop(job);
                }
                cancelled += u64::from(outcome_of(&handle.wait()) == Outcome::Cancelled);
                assert!(!round.late.load(Ordering::SeqCst));
            }
            done.store(true, Ordering::Relaxed);
            other.join().unwrap();
            pool.wait_idle(LONG).unwrap();
            assert_eq!(pool.metrics().counts.cancelled, cancelled);
            assert_eq!(told.shed.load(Ordering::SeqCst), cancelled - back);
        });
        assert_rest(&pool);
        assert!(told.ended.lock().unwrap().values().all(|ended| ended.len() == 1));
        drop(pool);
        ledger.assert_all_gone();
    }
}

/// Tasks in every stage, cancelled by two threads while the pool comes to its end: by a shutdown with and without a
/// window, or by a drop.
#[test]
fn a09_cancelled_around_the_shutdown() {
    let _dog = Watchdog::new();
    let mut seen = HashMap::<Outcome, usize>::new();
    for n in 0..rounds(20_000, 20) {
        let (told, ledger, mut rng) = (Told::default(), Ledger::new(), Rng::new(n as u64 + 1));
        let retry = RetryPolicy::schedule([Duration::from_micros(20), HOUR]);
        let builder = builder(2).retry(retry).lane(Lane::new("held").max_concurrency(1));
        let pool = build(told.builder(builder, true));
        let held = pool.submitter_for("held").unwrap();
        let offer = |rng: &mut Rng| {
            let round = Arc::<Round>::default();
            let job = round.job(rng.below(200), 1 + rng.below(4) as u32, rng.below(4) == 0);
            let job = job.track(ledger.track());
            let options = match rng.below(4) {
                0 => TaskOptions::new().delay(HOUR),
                1 => TaskOptions::new().delay(Duration::from_micros(rng.below(30))),
                2 => TaskOptions::new().ttl(Duration::from_micros(1 + rng.below(100))),
                _ => TaskOptions::new(),
            };
            let lane = if rng.below(3) == 0 { &held } else { &pool.submitter() };
            (lane.submit_tracked_with(job, options).unwrap(), round)
        };
        let handles: Vec<_> = (0..12).map(|_| offer(&mut rng)).collect();
        let (ids, start) = (handles.iter().map(|(handle, _)| handle.id()).collect::<Vec<_>>(), Gate::new());
        let (window, wait) = (rng.below(3), rng.below(2000));
        let (mut two, mut one) = (handles, Vec::new());
        one.extend(two.drain(..6));
        let cancel = |handles: Vec<(TaskHandle<_>, Arc<Round>)>, start: Gate, waits: u64| {
            start.pass();
            spin(waits);
            let mut back = 0;
            for (handle, round) in &handles {
                if let CancelOutcome::Cancelled(job) = handle.cancel() {
                    round.answered.store(true, Ordering::SeqCst);
                    assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Cancelled));
                    drop(job);
                    back += 1;
                }
                assert!(!matches!(handle.cancel(), CancelOutcome::Cancelled(_)), "twice");
            }
            let ends = |(handle, round): (TaskHandle<_>, Arc<Round>)| (outcome_of(&handle.wait()), round);
            (back, handles.into_iter().map(ends).collect::<Vec<_>>())
        };
        let (back, ends) = std::thread::scope(|scope| {
            let threads = [(one, rng.below(2000)), (two, rng.below(2000))].map(|(handles, waits)| {
                let (start, cancel) = (start.clone(), &cancel);
                scope.spawn(move || cancel(handles, start, waits))
            });
            start.wait_arrived(2);
            start.open();
            spin(wait);
            match window {
                0 => drop(pool.shutdown(ms(0))),
                1 => drop(pool.shutdown(ms(1))),
                _ => drop(pool.shutdown(LONG)),
            }
            let [(one, mut ends), (two, more)] = threads.map(|thread| thread.join().unwrap());
            ends.extend(more);
            (one + two, ends)
        });
        assert_rest(&pool);
        let counts = pool.metrics().counts;
        let of = |wanted| ends.iter().filter(|(outcome, _)| *outcome == wanted).count() as u64;
        assert_eq!((counts.cancelled, counts.succeeded), (of(Outcome::Cancelled), of(Outcome::Succeeded)));
        assert_eq!((counts.abandoned, counts.expired), (of(Outcome::Abandoned), of(Outcome::Expired)));
        assert_eq!(told.shed.load(Ordering::SeqCst), counts.cancelled - back);
        assert!(ends.iter().all(|(_, round)| !round.late.load(Ordering::SeqCst)));
        assert!(pool.metrics().lanes.iter().all(|lane| lane.permits_in_use == 0));
        let ended = std::mem::take(&mut *told.ended.lock().unwrap());
        assert_eq!(ended.len(), 12);
        assert!(ids.iter().all(|id| ended[id].len() == 1), "{ended:?}");
        ends.iter().for_each(|(outcome, _)| *seen.entry(*outcome).or_default() += 1);
        drop(pool);
        ledger.assert_all_gone();
    }
    assert!(seen.len() >= 4, "{seen:?}");
}

/// A submit that races with the end is refused or its handle resolves; nobody waits for ever.
#[test]
fn a09_submitted_and_cancelled_while_the_pool_ends() {
    let _dog = Watchdog::new();
    for n in 0..rounds(20_000, 20) {
        let (ledger, mut rng) = (Ledger::new(), Rng::new(n as u64 + 1));
        let pool = build(builder(1 + n % 2));
        accepted(&pool, Job::ok());
        let submitters = [1, 2].map(|seed| {
            let (submitter, ledger, mut rng) = (pool.submitter(), ledger.clone(), Rng::new(seed + n as u64));
            std::thread::spawn(move || {
                let mut accepted = 0;
                loop {
                    let delay = Duration::from_nanos(rng.below(3) * 10_000);
                    let options = TaskOptions::new().delay(delay).key(format!("{seed}"));
                    let job = Job::ok().track(ledger.track());
                    let handle = match submitter.submit_tracked_with(job, options) {
                        Ok(handle) => handle,
                        Err(refused) if refused.reason() == RejectReason::Closed => return accepted,
                        // Its key is in flight, or the lane is full of what was cancelled.
                        Err(_) => continue,
                    };
                    accepted += 1;
                    match rng.below(3) {
                        0 => drop(handle.cancel_on_drop()),
                        1 => drop(handle.cancel()),
                        _ => {
                            outcome_of(&handle.wait());
                        }
                    }
                    spin(rng.below(100));
                }
            })
        });
        spin(rng.below(20_000));
        drop(if n % 3 == 0 { pool.shutdown(ms(0)) } else { pool.shutdown(LONG) });
        let accepted: u64 = submitters.map(|thread| thread.join().unwrap()).into_iter().sum();
        assert_eq!(pool.metrics().counts.accepted, accepted + 1);
        assert_rest(&pool);
        drop(pool);
        ledger.assert_all_gone();
    }
}
