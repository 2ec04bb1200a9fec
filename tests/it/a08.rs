//! A8: a lane at its limit costs the others nothing. A15: permits balance on every exit.

use crate::limits::{Notes, lane_of};
use crate::support::{
    Gate, Job, LONG, Rng, SLACK, STRATEGIES, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
    panic_quietly, rounds,
};
use dockhand::{Lane, OverloadPolicy, RejectReason, RetryDecision, RetryPolicy, SubmitResult, TaskOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a08_a_lane_at_its_limit_costs_the_others_no_worker() {
    let _dog = Watchdog::new();
    let pool = build(builder(2).lane(Lane::new("a").max_concurrency(1).queue_capacity(100)));
    let a = pool.submitter_for("a").unwrap();
    let plug = Gate::new();
    a.submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    for _ in 0..99 {
        a.submit(Job::ok()).into_result().unwrap();
    }
    let b = Gate::new();
    accepted(&pool, Job::plug(&b));
    assert!(b.arrived_within(1, ms(500) * SLACK), "the limited lane holds the free worker");
    assert_eq!(lane_of(&pool, "a").counts.queued, 99);
    b.open();
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(lane_of(&pool, "a").permits_in_use, 0);
    assert_rest(&pool);
}

#[test]
fn a08_a_limited_lane_empties_itself_without_a_further_offer() {
    let _dog = Watchdog::new();
    for idle in STRATEGIES {
        for limit in [1, 2] {
            let pool = build(builder(4).idle(idle).lane(Lane::new("a").max_concurrency(limit)));
            let a = pool.submitter_for("a").unwrap();
            let start = Instant::now();
            for _ in 0..50 {
                // The work takes that long; nobody waits for it.
                a.submit(Job::run(|| std::thread::sleep(ms(5)))).into_result().unwrap();
            }
            pool.wait_idle(LONG).unwrap();
            assert!(start.elapsed() < ms(1000) * SLACK, "{:?}", start.elapsed());
            assert_rest(&pool);
        }
    }
}

#[test]
fn a08_what_is_held_back_keeps_its_place_and_its_capacity() {
    let _dog = Watchdog::new();
    let pool = build(builder(3).lane(Lane::new("a").max_concurrency(1).queue_capacity(5)));
    let (a, plug, notes) = (pool.submitter_for("a").unwrap(), Gate::new(), Notes::new());
    a.submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    for n in 0..5 {
        a.submit(notes.job(n)).into_result().unwrap();
    }
    eventually("the others sleep", || pool.metrics().sleeping_workers == 2);
    assert_eq!(a.submit(notes.job(5)).into_result().unwrap_err().reason(), RejectReason::QueueFull);
    assert_eq!(lane_of(&pool, "a").counts.queued, 5);
    // In a full lane the oldest is displaced, not one that a worker holds.
    let push = a.with_overload(OverloadPolicy::DropOldest);
    push.submit(notes.job(6)).into_result().unwrap();
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(notes.all(), [1, 2, 3, 4, 6]);
    assert_rest(&pool);
}

/// How many run at a time, and how many were allowed to.
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    fn new() -> Arc<Self> {
        Arc::new(Crowd { now: AtomicUsize::new(0), most: AtomicUsize::new(0) })
    }

    fn enter(self: &Arc<Self>) -> Inside {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Inside(Arc::clone(self))
    }

    fn most(&self) -> usize {
        assert_eq!(self.now.load(Ordering::SeqCst), 0);
        self.most.load(Ordering::SeqCst)
    }
}

struct Inside(Arc<Crowd>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Copy)]
enum End {
    Ok,
    Err,
    Panic,
    /// Fails once.
    Retry,
    /// Runs until it is told to stop.
    Cancel,
}

fn job(crowd: &Arc<Crowd>, end: End) -> Job {
    let crowd = Arc::clone(crowd);
    Job::new(move |cx| {
        let _inside = crowd.enter();
        (0..30).for_each(|_| std::hint::spin_loop());
        match end {
            End::Ok => Ok(()),
            End::Err => Err("as planned".into()),
            End::Panic => panic_quietly(),
            End::Retry if cx.attempt() > 1 => Ok(()),
            End::Retry => Err("again".into()),
            End::Cancel => {
                while cx.checkpoint().is_ok() {
                    std::thread::yield_now();
                }
                Ok(cx.checkpoint()?)
            }
        }
    })
}

/// 2,000 tasks of every kind over two limited lanes; a sampler sees no value out of range.
#[test]
fn a15_permits_balance_on_every_exit() {
    const LIMITS: [usize; 2] = [2, 1];
    let _dog = Watchdog::new();
    for policy in [OverloadPolicy::CallerRuns, OverloadPolicy::DropOldest, OverloadPolicy::Reject] {
        let lanes = ["a", "b"].map(|name| Lane::new(name).queue_capacity(6).overload(policy));
        let [a, b] = lanes;
        let retry = RetryPolicy::fixed(Duration::from_micros(100)).max_retries(1);
        let builder = builder(4).lane(a.max_concurrency(LIMITS[0])).lane(b.max_concurrency(LIMITS[1]));
        let pool = build(builder.retry(retry).classify(|_| RetryDecision::Retry));
        let crowds = [Crowd::new(), Crowd::new()];
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let metrics = pool.metrics();
                    for (lane, limit) in metrics.lanes.iter().zip(LIMITS) {
                        assert!(lane.permits_in_use <= limit, "{lane:?}");
                        assert!(lane.counts.queued <= 6 && lane.counts.delayed <= 6, "{lane:?}");
                    }
                }
            });
            let producers = [1, 2].map(|seed| {
                let (pool, crowds) = (&pool, &crowds);
                scope.spawn(move || {
                    let mut rng = Rng::new(seed);
                    let lanes = ["a", "b"].map(|name| pool.submitter_for(name).unwrap());
                    for _ in 0..rounds(20_000, 20) {
                        let lane = rng.below(2) as usize;
                        let (submitter, crowd) = (&lanes[lane], &crowds[lane]);
                        let micros = Duration::from_micros(rng.below(200) + 1);
                        let later = TaskOptions::new().delay(micros);
                        match rng.below(9) {
                            0 => drop(submitter.submit_with(job(crowd, End::Ok), later)),
                            1 => drop(
                                submitter.submit_with(job(crowd, End::Retry), TaskOptions::new().ttl(micros)),
                            ),
                            2 => drop(submitter.submit_timeout(job(crowd, End::Err), micros)),
                            3 => drop(submitter.submit(job(crowd, End::Panic))),
                            4 => drop(submitter.submit(job(crowd, End::Retry))),
                            5 => {
                                let handle = submitter.submit_tracked(job(crowd, End::Retry));
                                drop(handle.map(|handle| handle.cancel()));
                            }
                            6 => {
                                // Not as a caller-run: nobody could cancel it.
                                let polite = submitter.with_overload(OverloadPolicy::Reject);
                                if let Ok(handle) = polite.submit_tracked(job(crowd, End::Cancel)) {
                                    (0..rng.below(500)).for_each(|_| std::hint::spin_loop());
                                    drop(handle.cancel());
                                }
                            }
                            7 => drop(
                                submitter
                                    .submit_tracked_with(job(crowd, End::Err), later)
                                    .map(|h| h.cancel()),
                            ),
                            _ => drop(submitter.submit(job(crowd, End::Ok))),
                        }
                    }
                })
            });
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            pool.wait_idle(LONG).unwrap();
            done.store(true, Ordering::Relaxed);
            sampler.join().unwrap();
        });
        assert_rest(&pool);
        for ((crowd, lane), limit) in crowds.iter().zip(["a", "b"]).zip(LIMITS) {
            let lane = lane_of(&pool, lane);
            assert_eq!((lane.permits_in_use, lane.max_concurrency), (0, limit));
            assert!(crowd.most() <= limit, "{} at once under a limit of {limit}", crowd.most());
        }
        // Both permits are there.
        let (a, gate) = (pool.submitter_for("a").unwrap(), Gate::new());
        for _ in 0..2 {
            a.submit(Job::plug(&gate)).into_result().unwrap();
        }
        gate.wait_arrived(2);
        gate.open();
        pool.wait_idle(LONG).unwrap();
    }
}

/// The limit changes all the time; nothing is forgotten at any of its values.
#[test]
fn a15_a_limit_that_changes_under_load_loses_nothing() {
    let _dog = Watchdog::new();
    let pool = build(builder(4).lane(Lane::new("a").max_concurrency(1).queue_capacity(16)));
    let (a, crowd, done) = (pool.submitter_for("a").unwrap(), Crowd::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = Rng::new(5);
            while !done.load(Ordering::Relaxed) {
                pool.set_max_concurrency("a", rng.below(4) as usize).unwrap();
                std::thread::yield_now();
            }
        });
        let mut refused = 0;
        for _ in 0..rounds(200_000, 20) {
            match a.submit_timeout(job(&crowd, End::Ok), LONG) {
                SubmitResult::Accepted(_) => {}
                _ => refused += 1,
            }
        }
        assert_eq!(refused, 0);
        done.store(true, Ordering::Relaxed);
    });
    pool.set_max_concurrency("a", 1).unwrap();
    pool.wait_idle(LONG).unwrap();
    assert!(crowd.most() <= 3);
    assert_eq!(lane_of(&pool, "a").permits_in_use, 0);
    assert_rest(&pool);
}

/// Single offers to a limited lane whose one permit comes and goes: none is left lying.
#[test]
fn a08_an_offer_that_races_with_the_return_of_a_permit_is_seen() {
    let _dog = Watchdog::new();
    for workers in [1, 2, 4] {
        let pool = build(builder(workers).lane(Lane::new("a").max_concurrency(1)));
        let (a, mut rng) = (pool.submitter_for("a").unwrap(), Rng::new(9));
        for _ in 0..rounds(40_000, 20) {
            a.submit(Job::ok()).into_result().unwrap();
            (0..rng.below(60)).for_each(|_| std::hint::spin_loop());
            let start = Instant::now();
            a.submit_tracked(Job::ok()).unwrap().wait().unwrap();
            assert!(start.elapsed() < ms(1000) * SLACK, "a wake was lost");
        }
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
    }
}
