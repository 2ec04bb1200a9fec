//! A2: no wakeup is lost.

use crate::support::{
    Gate, Job, LONG, Pool, Rng, SLACK, STRATEGIES, Watchdog, accepted, build, builder, eventually, ms,
    plug_worker, pool, rounds,
};
use dockhand::{IdleStrategy, Lane, OverloadPolicy, RetryPolicy};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// {all idle; offer one; wait}, with `offer`; none may take long.
fn round_trips<T>(pool: &Pool, count: usize, offer: impl Fn(Job) -> T) {
    let (done, ends) = channel();
    for round in 0..count {
        let done = done.clone();
        let start = Instant::now();
        offer(Job::run(move || done.send(()).unwrap()));
        ends.recv_timeout(LONG).expect("a wake was lost");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(1) * SLACK, "round {round}: {took:?}");
    }
    pool.wait_idle(LONG).unwrap();
}

#[test]
fn a02_no_wakeup_is_lost_when_one_worker_parks() {
    let _dog = Watchdog::new();
    let pool = pool(1, 8);
    round_trips(&pool, rounds(200_000, 20), |job| accepted(&pool, job));
}

#[test]
fn a02_no_wakeup_is_lost_when_four_workers_park() {
    let _dog = Watchdog::new();
    let pool = pool(4, 8);
    round_trips(&pool, rounds(200_000, 20), |job| accepted(&pool, job));
}

#[test]
fn a02_no_wakeup_is_lost_around_the_end_of_a_spin() {
    let _dog = Watchdog::new();
    for micros in [0, 1, 10, 50] {
        let spin = IdleStrategy::SpinThenPark(Duration::from_micros(micros));
        let pool = build(builder(2).queue_capacity(8).idle(spin));
        let rng = std::sync::Mutex::new(Rng::new(micros + 1));
        round_trips(&pool, rounds(50_000, 20), |job| {
            // About as long as the spin, so that the offer meets its end.
            let pause = Duration::from_nanos(rng.lock().unwrap().below(2000 * (micros + 1)));
            let start = Instant::now();
            while start.elapsed() < pause {
                std::hint::spin_loop();
            }
            accepted(&pool, job);
        });
    }
}

#[test]
fn a02_no_wakeup_is_lost_by_batches_and_waiting_submits() {
    let _dog = Watchdog::new();
    let pool = pool(2, 1);
    let submitter = pool.submitter();
    round_trips(&pool, rounds(20_000, 20), |job| assert_eq!(submitter.submit_batch([job]).accepted, 1));
    round_trips(&pool, rounds(20_000, 20), |job| {
        submitter.submit_timeout(job, LONG).into_result().unwrap();
    });
}

#[test]
fn a02_no_wakeup_is_lost_beside_a_plug() {
    let _dog = Watchdog::new();
    for idle in STRATEGIES {
        let pool = build(builder(2).idle(idle));
        let plug = plug_worker(&pool);
        let (started, starts) = channel();
        for _ in 0..rounds(10_000, 10) {
            let (started, offered) = (started.clone(), Instant::now());
            accepted(&pool, Job::run(move || started.send(offered.elapsed()).unwrap()));
            let wait = starts.recv_timeout(LONG).unwrap();
            assert!(wait < ms(100) * SLACK, "{wait:?}");
        }
        plug.open();
    }
}

/// A task that is taken wakes the next worker before it runs: W plugs meet although they came as one batch.
#[test]
fn a02_no_wakeup_is_lost_in_the_chain_of_workers() {
    let _dog = Watchdog::new();
    for idle in STRATEGIES {
        let pool = build(builder(4).idle(idle));
        for round in 0..rounds(5_000, 25) {
            let meeting = Arc::new(Barrier::new(4));
            let meet = || {
                let meeting = Arc::clone(&meeting);
                Job::run(move || {
                    meeting.wait();
                })
            };
            if round % 2 == 0 {
                assert_eq!(pool.submitter().submit_batch((0..4).map(|_| meet())).accepted, 4);
            } else {
                for _ in 0..4 {
                    accepted(&pool, meet());
                }
            }
            pool.wait_idle(LONG).unwrap();
        }
    }
}

/// User code that plays with its thread's park token, as channels and locks of the user's do.
#[test]
fn a02_no_wakeup_is_lost_after_user_code_used_the_park_token() {
    let _dog = Watchdog::new();
    let pool = pool(1, 8);
    for _ in 0..rounds(20_000, 20) {
        accepted(&pool, Job::run(|| std::thread::current().unpark()));
        accepted(
            &pool,
            Job::run(|| {
                std::thread::current().unpark();
                std::thread::park();
            }),
        );
        pool.wait_idle(LONG).unwrap();
    }
}

#[test]
fn a02_no_wakeup_is_lost_when_a_retry_falls_due() {
    let _dog = Watchdog::new();
    for workers in [1, 4] {
        let retry = RetryPolicy::fixed(Duration::from_micros(300));
        let pool = build(builder(workers).retry(retry).lane(Lane::new("other")));
        for round in 0..rounds(5_000, 10) {
            let lane = ["other", "default"][round % 2];
            pool.submitter_for(lane).unwrap().submit(Job::ok_at(3)).into_result().unwrap();
            let start = Instant::now();
            pool.wait_idle(LONG).unwrap();
            assert!(start.elapsed() < ms(100) * SLACK, "{:?}", start.elapsed());
        }
    }
}

/// A retry that a caller-run leaves behind wakes a worker that has slept all along.
#[test]
fn a02_no_wakeup_is_lost_after_a_caller_run() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(Duration::from_micros(200));
    let pool = build(builder(2).queue_capacity(1).overload(OverloadPolicy::CallerRuns).retry(retry));
    for _ in 0..rounds(2_000, 10) {
        let plugs = Gate::new();
        for n in 1..=2 {
            accepted(&pool, Job::plug(&plugs));
            plugs.wait_arrived(n);
        }
        accepted(&pool, Job::ok());
        accepted(&pool, Job::ok_at(2));
        plugs.open();
        pool.wait_idle(LONG).unwrap();
    }
    assert_eq!(pool.metrics().counts.caller_run, rounds(2_000, 10) as u64);
}

#[test]
fn a02_no_wakeup_is_lost_between_two_producers_and_sleepers() {
    let _dog = Watchdog::new();
    let pool = pool(2, 64);
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            let pool = &pool;
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                for _ in 0..rounds(50_000, 10) {
                    let (done, end) = channel();
                    accepted(pool, Job::run(move || done.send(()).unwrap()));
                    end.recv_timeout(LONG).expect("a wake was lost");
                    (0..rng.below(200)).for_each(|_| std::hint::spin_loop());
                }
            });
        }
    });
    eventually("all sleep", || pool.metrics().sleeping_workers == 2);
}
