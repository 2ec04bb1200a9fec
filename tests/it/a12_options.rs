//! A12: deadlines that make no sense, that never come, and that a lane gives.

use crate::a12::{manual, never_run, ttl};
use crate::limits::Notes;
use crate::support::{Job, LONG, Watchdog, accepted, assert_rest, builder, ms};
use dockhand::{Lane, RejectReason, RetryPolicy, TaskOptions};
use std::time::Duration;

#[test]
fn a12_what_makes_no_sense_is_refused() {
    let _dog = Watchdog::new();
    let (pool, told) = manual(builder(1).lane(Lane::new("zero").ttl(Duration::ZERO)));
    let submitter = pool.submitter();
    pool.advance(ms(10));
    let late = [
        ttl(Duration::ZERO),
        TaskOptions::new().deadline(pool.now()),
        TaskOptions::new().deadline(pool.now() - ms(1)),
        TaskOptions::new().deadline(pool.now() - ms(10)).ttl(LONG),
        ttl(ms(5)).delay(ms(5)),
        ttl(ms(5)).delay(Duration::MAX),
        ttl(Duration::ZERO).deadline(pool.now() + LONG),
    ];
    for options in late {
        let refused =
            submitter.submit_with(never_run().number(6), options.clone()).into_result().unwrap_err();
        assert_eq!(
            (refused.reason(), refused.into_payload().number),
            (RejectReason::Expired, 6),
            "{options:?}"
        );
        let refused = submitter.submit_tracked_with(never_run(), options.key("k")).unwrap_err();
        assert_eq!(refused.reason(), RejectReason::Expired);
    }
    let zero = pool.submitter_for("zero").unwrap();
    assert_eq!(zero.submit(never_run()).into_result().unwrap_err().reason(), RejectReason::Expired);
    assert_eq!(zero.submit_batch([never_run(), never_run()]).refused.len(), 2);
    let answer = zero.submit_timeout(never_run(), ms(1)).into_result();
    assert_eq!(answer.unwrap_err().reason(), RejectReason::Expired);
    zero.submit_with(Job::ok(), ttl(ms(1))).into_result().unwrap();
    assert_eq!((pool.run_until_idle(), told.all().len()), (1, 0));
    assert_eq!((pool.metrics().counts.rejected, pool.metrics().counts.succeeded), (18, 1));
    assert_rest(&pool);
}

#[test]
fn a12_a_time_beyond_counting_is_never() {
    let _dog = Watchdog::new();
    let (pool, told) = manual(builder(1).lane(Lane::new("max").ttl(Duration::MAX)));
    let years = Duration::from_secs(3600 * 24 * 365 * 1000);
    let far = pool.now().checked_add(years).unwrap_or_else(|| pool.now() + Duration::from_secs(1 << 40));
    let seen = Notes::new();
    let look = |seen: &Notes<bool>| {
        let seen = seen.clone();
        Job::new(move |cx| {
            seen.add(cx.deadline().is_some());
            Ok(())
        })
    };
    for options in [ttl(Duration::MAX), TaskOptions::new().deadline(far), ttl(years).deadline(far)] {
        pool.submitter().submit_with(look(&seen), options).into_result().unwrap();
    }
    pool.submitter_for("max").unwrap().submit(look(&seen)).into_result().unwrap();
    pool.advance(Duration::from_secs(3600 * 24 * 365 * 300));
    assert_eq!(pool.run_until_idle(), 4);
    assert_eq!((seen.all(), told.all().len()), (vec![false; 4], 0));
    assert_rest(&pool);
}

#[test]
fn a12_a_lanes_ttl_is_what_a_task_has_that_names_none() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(ms(1));
    let (pool, told) = manual(builder(1).lane(Lane::new("a").ttl(ms(100)).retry(retry)));
    let (a, began, seen) = (pool.submitter_for("a").unwrap(), pool.now(), Notes::new());
    let look = |number: u64| {
        let seen = seen.clone();
        Job::new(move |cx| {
            seen.add((number, cx.deadline().map(|at| at - began)));
            Ok(())
        })
    };
    a.submit(look(1)).into_result().unwrap();
    a.submit_with(look(2), ttl(ms(500))).into_result().unwrap();
    a.submit_with(look(3), TaskOptions::new().deadline(began + ms(700))).into_result().unwrap();
    a.submit_with(look(4), ttl(ms(900)).deadline(began + ms(800))).into_result().unwrap();
    a.submit_with(look(5), TaskOptions::new().delay(ms(99))).into_result().unwrap();
    let refused = a.submit_with(look(6), TaskOptions::new().delay(ms(100))).into_result().unwrap_err();
    assert_eq!(refused.reason(), RejectReason::Expired);
    a.submit_timeout(look(7), ms(1)).into_result().unwrap();
    assert_eq!(a.submit_batch([look(8)]).accepted, 1);
    accepted(&pool, look(9));
    pool.advance(ms(99));
    pool.run_until_idle();
    let mut all = seen.all();
    all.sort_unstable();
    let at = |millis| Some(ms(millis));
    let expected =
        [(1, at(100)), (2, at(500)), (3, at(700)), (4, at(800)), (5, at(100)), (7, at(100)), (8, at(100))];
    assert_eq!((&all[..7], all[7], told.all().len()), (&expected[..], (9, None), 0));
    // A letter that is offered again is a new task with a new time.
    a.submit(Job::ok_at(9)).into_result().unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    let id = pool.dead_letters().list()[0].task.id;
    pool.advance(ms(500));
    pool.dead_letters().requeue(id).unwrap();
    pool.advance(ms(100));
    assert_eq!((pool.run_until_idle(), pool.metrics().counts.expired), (1, 1));
    assert_rest(&pool);
}
