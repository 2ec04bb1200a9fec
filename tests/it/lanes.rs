//! Lanes: priority with its rotation, order within a lane, alternation with what is due; A7 for retries.

use crate::support::{
    Gate, Job, LONG, Pool, SLACK, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
};
use dockhand::{Lane, OverloadPolicy, RejectReason, RetryPolicy, TaskContext};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Log = Arc<Mutex<Vec<(String, u64)>>>;

/// A job that writes its lane and number down.
fn note(log: &Log, number: u64) -> Job {
    let log = Arc::clone(log);
    Job::new(move |cx| {
        log.lock().unwrap().push((cx.lane().to_string(), number));
        Ok(())
    })
}

/// With the only worker plugged in lane `lane`.
fn plug_lane(pool: &Pool, lane: &str) -> Gate {
    let plug = Gate::new();
    pool.submitter_for(lane).unwrap().submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    plug
}

/// The lanes that one worker takes from, by the rule: the most urgent that has something, but every 64th take starts
/// at the next lane in turn and goes round.
fn by_the_rule(mut waiting: Vec<u64>, mut takes: u64) -> Vec<usize> {
    let lanes = waiting.len();
    let (mut order, mut turn) = (Vec::new(), 0);
    while waiting.iter().sum::<u64>() > 0 {
        let mut first = 0;
        if (takes + 1) % 64 == 0 {
            turn = (turn + 1) % lanes;
            first = turn;
        }
        let lane = (0..lanes).map(|step| (first + step) % lanes).find(|&lane| waiting[lane] > 0).unwrap();
        waiting[lane] -= 1;
        takes += 1;
        order.push(lane);
    }
    order
}

#[test]
fn urgent_lanes_come_first_but_none_starves() {
    let _dog = Watchdog::new();
    for sizes in [[300, 300, 300], [1000, 5, 5], [10, 400, 1], [0, 200, 200]] {
        let names = ["high", "middle", "default"];
        let lanes = builder(1).queue_capacity(1000).lane(Lane::new("high")).lane(Lane::new("middle"));
        let pool = build(lanes);
        let log = Log::default();
        let plug = plug_lane(&pool, "default");
        // The least urgent are offered first.
        for lane in [2, 1, 0] {
            let submitter = pool.submitter_for(names[lane]).unwrap();
            for n in 0..sizes[lane] {
                submitter.submit(note(&log, n)).into_result().unwrap();
            }
        }
        plug.open();
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
        let log = log.lock().unwrap();
        let order: Vec<_> = log.iter().map(|(lane, _)| lane.as_str()).collect();
        // The plug was the first take.
        let expected: Vec<_> = by_the_rule(sizes.to_vec(), 1).into_iter().map(|lane| names[lane]).collect();
        assert_eq!(order, expected, "{sizes:?}");
        for lane in names {
            let numbers = log.iter().filter(|(of, _)| of == lane).map(|(_, number)| number);
            assert!(numbers.is_sorted(), "first in, first out within {lane}");
        }
    }
}

/// Lanes that are kept full all the time: the others get their share all the same.
#[test]
fn no_lane_starves_beside_one_that_is_never_empty() {
    let _dog = Watchdog::new();
    let pool = build(builder(2).queue_capacity(4).lane(Lane::new("high")).lane(Lane::new("middle")));
    let low = pool.submitter();
    let start = Instant::now();
    for submitter in [low, pool.submitter_for("middle").unwrap()] {
        assert_eq!(submitter.submit_batch((0..4).map(|_| Job::ok())).accepted, 4);
    }
    let high = pool.submitter_for("high").unwrap();
    let ended = |lane: usize| pool.metrics().lanes[lane].counts.succeeded;
    while ended(1) + ended(2) < 8 {
        assert!(start.elapsed() < LONG, "a lane starves");
        for _ in 0..100 {
            let _ = high.submit(Job::ok());
        }
    }
}

#[test]
fn a_full_lane_costs_the_others_nothing() {
    let _dog = Watchdog::new();
    let lane = Lane::new("full").queue_capacity(1);
    let pool = build(builder(1).lane(lane).queue_capacity(3));
    let plug = plug_lane(&pool, "full");
    let full = pool.submitter_for("full").unwrap();
    full.submit(Job::ok()).into_result().unwrap();
    for _ in 0..5 {
        assert!(full.submit(Job::ok()).into_result().is_err_and(|r| r.reason() == RejectReason::QueueFull));
    }
    for _ in 0..3 {
        accepted(&pool, Job::ok());
    }
    plug.open();
    pool.wait_idle(LONG).unwrap();
    let lanes = pool.metrics().lanes;
    assert_eq!((lanes[0].counts.rejected, lanes[1].counts.rejected), (5, 0));
    assert_rest(&pool);
}

/// What is due and what is fresh take turns: neither a storm of retries nor a full queue starves the other.
#[test]
fn due_and_fresh_tasks_alternate() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(Duration::ZERO)));
    let log = Arc::new(Mutex::new(Vec::new()));
    let plug = plug_lane(&pool, "default");
    for n in 0..40 {
        let log = Arc::clone(&log);
        let job = Job::new(move |cx: &TaskContext<'_, Job>| {
            log.lock().unwrap().push((cx.attempt() > 1, n));
            if n < 20 && cx.attempt() == 1 { Err("once".to_string()) } else { Ok(()) }
        });
        accepted(&pool, job);
    }
    plug.open();
    pool.wait_idle(LONG).unwrap();
    let log = log.lock().unwrap();
    let kinds: Vec<_> = log.iter().map(|(is_retry, _)| *is_retry).collect();
    // From the first failure on there is always something of both kinds, until the retries are through.
    let expected: Vec<_> = (0..40).map(|n| n % 2 == 1).collect();
    assert_eq!(kinds[..40], expected);
    let fresh: Vec<_> = log.iter().filter(|(retry, _)| !retry).map(|(_, n)| n).collect();
    let retries: Vec<_> = log.iter().filter(|(retry, _)| *retry).map(|(_, n)| n).collect();
    assert!(fresh.is_sorted() && retries.is_sorted(), "equal due times keep their order");
    assert_rest(&pool);
}

#[test]
fn lanes_have_their_own_policies_and_numbers() {
    let _dog = Watchdog::new();
    let retrying = Lane::new("retrying").retry(RetryPolicy::fixed(Duration::ZERO).max_retries(4));
    let pool =
        build(builder(2).lane(retrying).lane(Lane::new("once").overload(OverloadPolicy::DropIncoming)));
    for lane in ["retrying", "once", "default"] {
        pool.submitter_for(lane).unwrap().submit(Job::fail()).into_result().unwrap();
    }
    pool.wait_idle(LONG).unwrap();
    let attempts: Vec<_> = pool.metrics().lanes.iter().map(|l| (l.name.clone(), l.counts.attempts)).collect();
    assert_eq!(attempts, [("retrying".into(), 5), ("once".into(), 1), ("default".into(), 1)]);
    assert!(matches!(pool.submitter_for("nowhere"), Err(RejectReason::UnknownLane)));
    assert_rest(&pool);
}

#[test]
fn a_follow_up_goes_to_the_lane_it_names_or_comes_back() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).lane(Lane::new("next").queue_capacity(1)));
    let log = Log::default();
    let job = {
        let log = Arc::clone(&log);
        Job::new(move |cx| {
            assert!(cx.submit("next", note(&log, 1)).into_result().is_ok());
            let full = cx.submit("next", note(&log, 2)).into_result().unwrap_err();
            let unknown = cx.submit("nowhere", note(&log, 3)).into_result().unwrap_err();
            assert_eq!(
                (full.reason(), unknown.reason()),
                (RejectReason::QueueFull, RejectReason::UnknownLane)
            );
            Ok(())
        })
    };
    accepted(&pool, job);
    pool.wait_idle(LONG).unwrap();
    assert_eq!(*log.lock().unwrap(), [("next".to_string(), 1)]);
    let counts = pool.metrics().counts;
    assert_eq!((counts.submitted, counts.rejected, counts.succeeded), (3, 1, 2));
    assert_rest(&pool);
}

/// A7: a retry that is due runs on a worker, however the lane's offers are answered, and waits for no other.
#[test]
fn a07_retries_run_on_workers_only() {
    let _dog = Watchdog::new();
    let lane = Lane::new("default").queue_capacity(1).delay_capacity(2).overload(OverloadPolicy::CallerRuns);
    let pool = build(builder(2).lane(lane).retry(RetryPolicy::fixed(ms(30))));
    let threads = Arc::new(Mutex::new(Vec::new()));
    let job = |slow: Option<Gate>| {
        let threads = Arc::clone(&threads);
        Job::new(move |cx| {
            let name = std::thread::current().name().unwrap_or_default().to_string();
            threads.lock().unwrap().push((cx.attempt(), name));
            match (cx.attempt(), &slow) {
                (1, _) => return Err("once".to_string()),
                (_, Some(gate)) => gate.pass(),
                _ => {}
            }
            Ok(())
        })
    };
    let plugs = Gate::new();
    for n in 1..=2 {
        accepted(&pool, Job::plug(&plugs));
        plugs.wait_arrived(n);
    }
    accepted(&pool, Job::ok());
    // Both run here, fail here, and come due while nobody is free.
    let slow = Gate::new();
    pool.submit(job(Some(slow.clone()))).into_result().unwrap();
    pool.submit(job(None)).into_result().unwrap();
    let start = Instant::now();
    eventually("they are due", || start.elapsed() > ms(40));
    plugs.open();
    slow.wait_arrived(1);
    eventually("the other waits for no slow one", || pool.metrics().counts.succeeded == 4);
    assert!(start.elapsed() < ms(500) * SLACK);
    slow.open();
    pool.wait_idle(LONG).unwrap();
    let here = std::thread::current().name().unwrap_or_default().to_string();
    for (attempt, thread) in threads.lock().unwrap().iter() {
        assert_eq!(*thread == here, *attempt == 1, "attempt {attempt} on {thread}");
    }
    assert_rest(&pool);
}
