//! A15: counters and gauges at every instant. A17: waiting is exact. A18: idle costs nothing.

use crate::support::{
    Gate, Job, LONG, Ledger, POLICIES, Rng, SLACK, STRATEGIES, Watchdog, accepted, assert_rest, build,
    builder, cpu_of, eventually, ms, plugged, rounds, unique,
};
use dockhand::metrics::PoolMetrics;
use dockhand::{
    IdleStrategy, Lane, OverloadPolicy, RejectReason, RetryPolicy, SubmitResult, WaitError, WorkerPool,
    processor_fn,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const WORKERS: usize = 3;
const CAPACITY: usize = 8;

/// Nothing is out of range, and nothing that only grows has shrunk since `before`.
fn assert_in_bounds(now: &PoolMetrics, before: &PoolMetrics) {
    let (c, b) = (&now.counts, &before.counts);
    assert!(c.queued <= CAPACITY as u64 && c.delayed <= CAPACITY as u64, "{c:?}");
    // Two producers may be in caller-runs, eight deep.
    assert!(c.running <= WORKERS as u64 + 2 * 8, "{c:?}");
    assert!(now.live_workers == WORKERS && now.busy_workers <= WORKERS && now.sleeping_workers <= WORKERS);
    assert!(now.letters <= 4, "{now:?}");
    let grows = |m: &PoolMetrics| {
        let c = &m.counts;
        let answers =
            [c.submitted, c.accepted, c.rejected, c.caller_run, c.dropped, c.attempts, c.retries, c.panics];
        let ends = [c.succeeded, c.dead_lettered, c.evicted, c.abandoned, m.letters_evicted, m.hook_panics];
        [answers.as_slice(), &ends].concat()
    };
    assert!(grows(now).iter().zip(grows(before)).all(|(now, before)| *now >= before), "{b:?}\n{c:?}");
    let ends = c.succeeded + c.dead_lettered + c.evicted + c.abandoned;
    assert!(ends <= c.accepted + c.caller_run, "more ends than starts: {c:?}");
    assert_eq!(c.submitted, c.accepted + c.rejected + c.caller_run + c.dropped);
}

#[test]
fn a15_gauges_stay_in_bounds_at_every_instant() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let pool = build(
            builder(WORKERS)
                .queue_capacity(CAPACITY)
                .dead_letter_capacity(4)
                .overload(policy)
                .retry(RetryPolicy::fixed(Duration::from_micros(30)).max_retries(1)),
        );
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| {
                let mut before = pool.metrics();
                while !done.load(Ordering::Relaxed) {
                    let now = pool.metrics();
                    assert_in_bounds(&now, &before);
                    assert!(pool.status().workers.len() <= WORKERS + 2 * 8);
                    before = now;
                }
            });
            let producers = [1, 2].map(|seed| {
                let pool = &pool;
                scope.spawn(move || {
                    let mut rng = Rng::new(seed);
                    for _ in 0..rounds(200_000, 20) {
                        let job = [Job::ok, Job::ok, Job::fail, Job::panic][rng.below(4) as usize]();
                        drop(pool.submit(job));
                    }
                })
            });
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            done.store(true, Ordering::Relaxed);
            sampler.join().unwrap();
        });
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
    }
}

/// The sum over the lanes is a number of attempts at one moment too: never more than there are workers.
#[test]
fn a15_running_is_bounded_over_all_lanes() {
    let _dog = Watchdog::new();
    let mut builder = builder(2).queue_capacity(CAPACITY);
    for lane in 0..8 {
        builder = builder.lane(Lane::new(format!("lane-{lane}")));
    }
    let (pool, done) = (build(builder), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let lanes =
                [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| pool.submitter_for(&format!("lane-{lane}")).unwrap());
            for n in 0..rounds(1_000_000, 20) {
                // Long enough to be seen, short enough to end while the next lane is read.
                let job = Job::run(|| (0..20).for_each(|_| std::hint::spin_loop()));
                drop(lanes[n % 8].submit_timeout(job, LONG));
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let counts = pool.metrics().counts;
            assert!(counts.running <= 2, "{counts:?}");
        }
    });
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}

/// `wait_idle` does not come back before the last payload, hook and output is through, for every waiter.
#[test]
fn a17_wait_idle_is_exact() {
    let _dog = Watchdog::new();
    for idle in STRATEGIES {
        let pool =
            build(builder(2).idle(idle).retry(RetryPolicy::fixed(Duration::from_micros(20)).max_retries(1)));
        for round in 0..rounds(20_000, 20) {
            let (ledger, start) = (Ledger::new(), Barrier::new(3));
            let first = [Job::ok, Job::fail, Job::panic][round % 3]();
            let follow = ledger.track();
            let mut follow = Some(Job::ok().track(follow));
            let second = Job::new(move |cx| {
                if let Some(follow) = follow.take() {
                    drop(cx.submit("default", follow));
                }
                Ok(())
            });
            drop(pool.submit(first.track(ledger.track())));
            drop(pool.submit(second.track(ledger.track())));
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        start.wait();
                        pool.wait_idle(LONG).unwrap();
                        assert_eq!(ledger.alive(), u64::from(round % 3 != 0), "round {round}");
                        assert_eq!(pool.metrics().busy_workers, 0);
                    });
                }
                start.wait();
            });
            drop(pool.dead_letters().drain());
            ledger.assert_all_gone();
        }
        assert_rest(&pool);
    }
}

struct SlowDrop(Gate);

impl Drop for SlowDrop {
    fn drop(&mut self) {
        self.0.pass();
    }
}

#[test]
fn a17_wait_idle_waits_for_drops_and_hooks() {
    let _dog = Watchdog::new();
    let pool =
        build(WorkerPool::builder(processor_fn(|_: &mut SlowDrop, _cx| Ok::<(), String>(()))).workers(2));
    let gate = Gate::new();
    pool.submit(SlowDrop(gate.clone())).into_result().unwrap();
    gate.wait_arrived(1);
    assert_eq!((pool.metrics().counts.running, pool.metrics().counts.succeeded), (0, 1));
    assert_eq!(pool.metrics().busy_workers, 1);
    let start = Instant::now();
    assert_eq!(pool.wait_idle(ms(30)), Err(WaitError::TimedOut));
    assert!(start.elapsed() >= ms(30) && start.elapsed() < ms(60) * SLACK);
    gate.open();
    pool.wait_idle(LONG).unwrap();
    // A task that was displaced is on its way through the hook.
    let gate = Gate::new();
    let hook = gate.clone();
    let builder =
        builder(1).queue_capacity(1).overload(OverloadPolicy::DropOldest).on_shed(move |_| hook.pass());
    let (pool, plug) = plugged(builder);
    accepted(&pool, Job::ok());
    std::thread::scope(|scope| {
        scope.spawn(|| pool.submit(Job::ok()).into_result().unwrap());
        gate.wait_arrived(1);
        plug.open();
        assert_eq!(pool.wait_idle(ms(30)), Err(WaitError::TimedOut));
        gate.open();
    });
    pool.wait_idle(LONG).unwrap();
}

/// One deadline, however many wakes are for others.
#[test]
fn a17_submit_timeout_has_one_deadline() {
    let _dog = Watchdog::new();
    let (pool, plug) = plugged(builder(2).queue_capacity(1));
    let (other, done) = (pool.submitter(), AtomicBool::new(false));
    other.submit(Job::ok()).into_result().unwrap();
    std::thread::scope(|scope| {
        // Keeps the lane full and the room changing hands all the time.
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = other.submit(Job::ok());
                }
            });
        }
        for timeout in [Duration::ZERO, ms(1), ms(40)] {
            for _ in 0..10 {
                let start = Instant::now();
                let answer = other.submit_timeout(Job::ok(), timeout);
                let took = start.elapsed();
                match answer.into_result() {
                    Ok(_) => {}
                    Err(refused) => {
                        assert_eq!(refused.reason(), RejectReason::QueueFull);
                        assert!(took >= timeout, "{took:?}");
                    }
                }
                assert!(took < (timeout + ms(100)) * SLACK, "{took:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}

/// Each place that becomes free wakes a waiter: all come in, and none sleeps beside free room.
#[test]
fn a17_every_waiter_for_room_comes_in() {
    let _dog = Watchdog::new();
    for capacity in [1, 3] {
        let (pool, plug) = plugged(builder(2).queue_capacity(capacity));
        let ran = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..rounds(5000, 20) {
                        let ran = Arc::clone(&ran);
                        let job = Job::run(move || {
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                        let answer = pool.submitter().submit_timeout(job, Duration::MAX);
                        assert!(matches!(answer, SubmitResult::Accepted(_)), "{answer:?}");
                    }
                });
            }
            plug.open();
        });
        pool.wait_idle(LONG).unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 6 * rounds(5000, 20));
        assert_rest(&pool);
    }
}

/// Threads that sleep use no processor time; measured on them alone, so other tests do not count.
#[test]
fn a18_idle_costs_nothing() {
    let _dog = Watchdog::new();
    let spin = IdleStrategy::SpinThenPark(Duration::from_micros(50));
    let schedule = RetryPolicy::schedule([Duration::from_secs(60), Duration::MAX]);
    let pools: Vec<_> = [(IdleStrategy::Park, 0), (IdleStrategy::Park, 10_000), (spin, 100), (spin, 0)]
        .into_iter()
        .enumerate()
        .map(|(n, (idle, tasks))| {
            let name = unique("cpu");
            let pool = build(builder(8).name(&name).idle(idle).retry(schedule.clone()));
            for _ in 0..tasks {
                pool.submitter().submit_timeout(Job::ok(), LONG).into_result().unwrap();
            }
            if n > 0 {
                // One that is due in a minute; also in a pool that is closed.
                accepted(&pool, Job::fail());
                eventually("it waits", || pool.metrics().counts.delayed == 1);
            }
            if n == 3 {
                pool.begin_shutdown();
            }
            eventually("all sleep", || pool.metrics().sleeping_workers == 8);
            (name, pool)
        })
        .collect();
    let used = || pools.iter().map(|(name, _)| cpu_of(name)).collect::<Option<Vec<_>>>();
    let Some(before) = used() else { return };
    let (_never, clock) = channel::<()>();
    // The one thing to wait for is time itself.
    assert!(clock.recv_timeout(ms(1000)).is_err());
    for ((after, before), (_, pool)) in used().unwrap().into_iter().zip(before).zip(&pools) {
        let spent = after - before;
        assert!(spent < ms(25), "{spent:?} in a second: {:?}", pool.status());
    }
    // A pool in which a retry will never come is ended all the same.
    for (_, pool) in &pools {
        drop(pool.shutdown(ms(10)));
        assert_rest(pool);
    }
}
