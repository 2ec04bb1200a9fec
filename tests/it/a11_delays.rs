//! A11: due times of delayed tasks. A5: what still waits is reported.

use crate::limits::Notes;
use crate::support::{
    Gate, Job, LONG, Ledger, POLICIES, Rng, SLACK, Watchdog, accepted, assert_rest, build, builder,
    eventually, ms, plugged, pool, rounds,
};
use dockhand::{
    CancelOutcome, Lane, RejectReason, RetryPolicy, SubmitResult, TaskOptions, TaskStatus, WaitError,
};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn after(delay: Duration) -> TaskOptions {
    TaskOptions::new().delay(delay)
}

#[test]
fn a11_nothing_starts_early() {
    let _dog = Watchdog::new();
    for workers in [1, 3] {
        let pool = pool(workers, 8);
        let (starts, started) = channel();
        let (mut rng, mut offers) = (Rng::new(3), Vec::new());
        let few = build(builder(workers).lane(Lane::new("default").delay_capacity(200)));
        for n in 0..200_u64 {
            let delay = Duration::from_micros(rng.below(60_000));
            let starts = starts.clone();
            let job = Job::run(move || starts.send((n, Instant::now())).unwrap());
            let offered = Instant::now();
            few.submitter().submit_with(job, after(delay)).into_result().unwrap();
            offers.push((offered, delay));
        }
        for _ in 0..200 {
            let (n, start) = started.recv_timeout(LONG).expect("a due time was missed");
            let (offered, delay) = offers[n as usize];
            assert!(start - offered >= delay, "{n}: {:?} early", delay - (start - offered));
            assert!(start - offered < delay + ms(500) * SLACK, "{n}: {:?} late", start - offered - delay);
        }
        few.wait_idle(LONG).unwrap();
        assert_rest(&few);
        drop(pool);
    }
}

#[test]
fn a11_an_earlier_one_is_not_held_up_by_a_later_one() {
    let _dog = Watchdog::new();
    let pool = pool(2, 8);
    let offered = Instant::now();
    pool.submitter().submit_with(Job::ok(), after(Duration::from_secs(10))).into_result().unwrap();
    eventually("all sleep", || pool.metrics().sleeping_workers == 2);
    let (starts, started) = channel();
    let job = Job::run(move || starts.send(Instant::now()).unwrap());
    let second = Instant::now();
    pool.submitter().submit_with(job, after(ms(50))).into_result().unwrap();
    let took = started.recv_timeout(LONG).unwrap() - second;
    assert!(took >= ms(50) && took < ms(150) * SLACK, "{took:?}");
    // The first one is reported with its time, and nobody waits for it.
    let report = pool.shutdown(Duration::from_secs(5));
    assert!(report.took < ms(500) * SLACK, "{:?}", report.took);
    let [ref shed] = report.abandoned[..] else { panic!("{report:?}") };
    let TaskStatus::Delayed { due } = shed.was else { panic!("{shed:?}") };
    assert!(due >= offered + Duration::from_secs(10) && due < offered + Duration::from_secs(15));
    assert_eq!((shed.task.attempt, &shed.last_error), (0, &None));
    assert_rest(&pool);
}

#[test]
fn a11_a_thousand_in_descending_order_come_out_ascending() {
    let _dog = Watchdog::new();
    let pool = builder(1).lane(Lane::new("default").delay_capacity(1000)).build_manual().unwrap();
    let notes = Notes::new();
    for n in (0..1000).rev() {
        pool.submitter().submit_with(notes.job(n), after(ms(n + 1))).into_result().unwrap();
    }
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(notes.all(), (0..1000).collect::<Vec<_>>());
    assert_rest(&pool);
}

#[test]
fn a11_ties_keep_the_order_of_submits_and_removals_change_nothing() {
    let _dog = Watchdog::new();
    let pool = builder(1).lane(Lane::new("default").delay_capacity(100)).build_manual().unwrap();
    let (notes, mut handles) = (Notes::new(), Vec::new());
    for n in 0..60 {
        let handle = pool.submitter().submit_tracked_with(notes.job(n), after(ms(n % 3))).unwrap();
        handles.push(handle);
    }
    // Two of three go, so that the heap is compacted on the way.
    for n in (0..60).filter(|n| n % 9 > 2) {
        assert!(matches!(handles[n].cancel(), CancelOutcome::Cancelled(_)), "{n}");
    }
    pool.wait_idle(Duration::MAX).unwrap();
    let mut expected: Vec<_> = (0..60).filter(|n| n % 9 <= 2).collect();
    expected.sort_by_key(|n| (n % 3, *n));
    assert_eq!(notes.all(), expected);
    assert_rest(&pool);
}

#[test]
fn a_full_delay_queue_refuses_under_every_policy() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let lane = Lane::new("default").queue_capacity(4).delay_capacity(1).overload(policy);
        let pool = build(builder(1).lane(lane));
        let submitter = pool.submitter();
        submitter.submit_with(Job::ok(), after(Duration::from_secs(3600))).into_result().unwrap();
        let refused = submitter.submit_with(Job::ok().number(3), after(ms(1))).into_result().unwrap_err();
        assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::DelayFull, 3));
        let refused = submitter.submit_tracked_with(Job::ok().number(4), after(ms(1))).unwrap_err();
        assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::DelayFull, 4));
        let keyed = after(ms(1)).key("k");
        let refused = submitter.submit_with(Job::ok().number(5), keyed.clone()).into_result().unwrap_err();
        assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::DelayFull, 5));
        // Its key is free.
        let refused = submitter.submit_with(Job::ok(), keyed).into_result().unwrap_err();
        assert_eq!(refused.reason(), RejectReason::DelayFull);
        // A delay of nothing is none.
        submitter.submit_with(Job::ok(), after(Duration::ZERO)).into_result().unwrap();
        eventually("it ran", || pool.metrics().counts.succeeded == 1);
        assert_eq!((pool.metrics().counts.rejected, pool.metrics().counts.delayed), (4, 1));
    }
}

#[test]
fn retries_and_delays_share_the_room() {
    let _dog = Watchdog::new();
    let lane = Lane::new("default").delay_capacity(1).retry(RetryPolicy::fixed(ms(1)));
    let pool = builder(1).lane(lane).build_manual().unwrap();
    let handle = pool.submitter().submit_tracked_with(Job::ok(), after(LONG)).unwrap();
    accepted(&pool, Job::fail());
    assert_eq!(pool.run_until_idle(), 1);
    let letters = pool.dead_letters().drain();
    assert_eq!(letters[0].info.reason, dockhand::letter::DeadLetterReason::DelayFull);
    // The place of one that was cancelled is free.
    assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
    accepted(&pool, Job::ok_at(2));
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.metrics().counts.succeeded, 1);
    assert_rest(&pool);
}

#[test]
fn a_delayed_task_needs_no_room_in_a_full_lane_and_takes_turns_with_fresh_ones() {
    let _dog = Watchdog::new();
    let lane = Lane::new("default").queue_capacity(4).delay_capacity(4);
    let pool = builder(1).lane(lane).build_manual().unwrap();
    let notes = Notes::new();
    for n in 0..4 {
        accepted(&pool, notes.job(('f', n)));
    }
    for n in 0..4 {
        pool.submitter()
            .submit_with(notes.job(('d', n)), after(ms(n)))
            .into_result()
            .map(drop)
            .or_else(|refused| {
                assert_eq!((n, refused.reason()), (0, RejectReason::QueueFull), "a delay of nothing is none");
                pool.submitter()
                    .submit_with(refused.into_payload(), after(Duration::from_nanos(1)))
                    .into_result()
                    .map(drop)
            })
            .unwrap();
    }
    pool.advance(ms(10));
    assert_eq!(pool.run_until_idle(), 8);
    let kinds: String = notes.all().iter().map(|(kind, _)| *kind).collect();
    assert!(kinds == "dfdfdfdf" || kinds == "fdfdfdfd", "{kinds}");
    for kind in ['d', 'f'] {
        let numbers: Vec<_> =
            notes.all().into_iter().filter(|note| note.0 == kind).map(|note| note.1).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
    assert_rest(&pool);
}

#[test]
fn what_is_never_due_holds_nobody_up() {
    let _dog = Watchdog::new();
    let pool = pool(2, 8);
    for delay in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_nanos(u64::MAX)] {
        pool.submitter().submit_with(Job::ok(), after(delay)).into_result().unwrap();
    }
    let mut handle = pool.submitter().submit_tracked_with(Job::ok(), after(Duration::MAX)).unwrap();
    assert!(matches!(handle.status(), TaskStatus::Delayed { .. }));
    accepted(&pool, Job::ok());
    pool.submitter().submit_with(Job::ok(), after(ms(1))).into_result().unwrap();
    eventually("both ran", || pool.metrics().counts.succeeded == 2);
    assert_eq!(pool.wait_idle(ms(5)), Err(WaitError::TimedOut));
    assert!(handle.wait_timeout(ms(5)).is_none());
    let report = pool.shutdown(Duration::MAX);
    assert!(report.took < LONG / 2);
    assert_eq!(report.abandoned.len(), 4);
    assert!(report.abandoned.iter().all(|shed| matches!(shed.was, TaskStatus::Delayed { .. })));
    assert!(handle.wait_timeout(Duration::ZERO).is_some());
    assert_rest(&pool);
}

/// A delayed submit is accepted and accounted for, or refused with its payload, whatever the moment.
#[test]
fn a05_a_delayed_submit_races_with_the_end() {
    let _dog = Watchdog::new();
    let mut rng = Rng::new(11);
    for round in 0..rounds(2000, 20) {
        let lane = Lane::new("default").queue_capacity(8).delay_capacity(64);
        let (pool, ledger) = (build(builder(2).lane(lane)), Ledger::new());
        let window = [Duration::ZERO, ms(1), LONG][round % 3];
        let closing = Gate::new();
        let answers: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let producers = [1, 2, 3].map(|seed| {
                let (submitter, ledger, closing) = (pool.submitter(), &ledger, &closing);
                scope.spawn(move || {
                    let (mut rng, mut accepted, mut refused) = (Rng::new(seed * 7 + round as u64), 0, 0);
                    closing.pass();
                    for _ in 0..60 {
                        let delays = [Duration::from_micros(rng.below(300)), Duration::from_secs(3600)];
                        let options = after(delays[rng.below(8) as usize / 7]);
                        let job = Job::ok().track(ledger.track());
                        match submitter.submit_with(job, options) {
                            SubmitResult::Accepted(_) => accepted += 1,
                            SubmitResult::Rejected(refusal) => {
                                assert!(refusal.into_payload().tracked.is_some());
                                refused += 1;
                            }
                            other => panic!("{other:?}"),
                        }
                    }
                    (accepted, refused)
                })
            });
            closing.wait_arrived(3);
            closing.open();
            (0..rng.below(3000)).for_each(|_| std::hint::spin_loop());
            let report = pool.shutdown(window);
            assert!(report.took < LONG / 2, "{:?}", report.took);
            drop(report);
            producers.map(|producer| producer.join().unwrap()).into()
        });
        let accepted: u64 = answers.iter().map(|answer| answer.0).sum();
        assert_eq!(pool.metrics().counts.accepted, accepted);
        drop(pool.shutdown(Duration::ZERO));
        assert_rest(&pool);
        drop(pool);
        ledger.assert_all_gone();
    }
}

/// 10 in a backoff of 30 s, 5 delayed by 1 h, 3 queued behind a plug.
#[test]
fn a05_shutdown_reports_each_stage() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(Duration::from_secs(30));
    let (pool, first) = plugged(builder(1).retry(retry));
    for _ in 0..10 {
        accepted(&pool, Job::fail());
    }
    for _ in 0..5 {
        pool.submitter().submit_with(Job::ok(), after(Duration::from_secs(3600))).into_result().unwrap();
    }
    first.open();
    eventually("all failed", || pool.metrics().counts.delayed == 15);
    let plug = crate::support::plug_worker(&pool);
    for _ in 0..3 {
        accepted(&pool, Job::ok());
    }
    let report = pool.shutdown(ms(300));
    assert!(report.took < ms(600) * SLACK, "{:?}", report.took);
    let count = |is: fn(&TaskStatus) -> bool| report.abandoned.iter().filter(|shed| is(&shed.was)).count();
    assert_eq!(count(|was| matches!(was, TaskStatus::Retrying { .. })), 10);
    assert_eq!(count(|was| matches!(was, TaskStatus::Delayed { .. })), 5);
    assert_eq!(count(|was| *was == TaskStatus::Queued), 3);
    for shed in &report.abandoned {
        let failed = matches!(shed.was, TaskStatus::Retrying { .. });
        assert_eq!((shed.task.attempt, shed.last_error.is_some()), (u32::from(failed), failed));
    }
    assert_eq!(report.still_running.len(), 1);
    plug.open();
    eventually("it came back", || pool.metrics().busy_workers == 0);
    assert_rest(&pool);
}
