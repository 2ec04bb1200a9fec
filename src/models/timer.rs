//! The timer wakes for what becomes due.
//!
//! The main thread is a busy worker whose failed attempt leaves a retry behind. The clock moves when it says so, and a
//! wait of the timer ends only if the clock has reached its deadline.
//!
//! Left out: time itself; a wait ends when a model has moved the clock there, and no sooner.

use super::lane::Lane;
use super::pool::Pool;
use super::tracked::{Delayed, Tracked};
use super::worker::Worker;
use super::{Latch, check, join, only_the_end_is_left, spawn};
use crate::clock::Moment;
use crate::stage::Stage;
use std::sync::Arc;

fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

/// One latch for each task; and a pool that opens it when the task runs.
fn pool_with_latches() -> (Arc<Pool>, Arc<[Latch; 2]>) {
    let has_run = Arc::new(<[Latch; 2]>::default());
    let opened = Arc::clone(&has_run);
    (Pool::new(1, 1, move |_, _, task| opened[task as usize].open()), has_run)
}

/// Runs `busy` beside the timer and a worker, which is searching at the start or about to sleep.
fn beside_the_timer(pool: &Arc<Pool>, searching: bool, busy: impl FnOnce()) {
    let timer = spawn(pool, |pool| pool.timer.run(pool));
    let worker =
        spawn(
            pool,
            move |pool| {
                if searching { Worker::searching(pool, 0).run() } else { Worker::new(pool, 0).run() }
            },
        );
    busy();
    only_the_end_is_left();
    pool.sleep.abort();
    pool.timer.stop();
    join(worker);
    join(timer);
}

/// Task 0 is due at 1, and task 1 at 2.
fn one_after_the_other(pool: &Pool, has_run: &[Latch; 2]) {
    for (task, due) in [(0, 1), (1, 2)] {
        pool.pass_time_to(at(due));
        has_run[task].wait();
    }
}

fn one_retry(preemptions: usize, searching: bool) {
    check(preemptions, move || {
        let (pool, has_run) = pool_with_latches();
        beside_the_timer(&pool, searching, || {
            pool.insert(0, at(1), 0);
            pool.pass_time_to(at(1));
            has_run[0].wait();
        });
    });
}

/// A retry beside a worker that falls asleep.
#[test]
fn a_sleeper_is_woken_for_what_is_due() {
    one_retry(2, false);
}

/// A retry beside a worker that searches.
#[test]
fn a_searcher_finds_what_becomes_due_or_is_woken() {
    one_retry(2, true);
}

/// A retry that is due before the one that the timer waits for.
#[test]
fn an_earlier_due_time_arms_the_timer_again() {
    check(2, || {
        let (pool, has_run) = pool_with_latches();
        pool.insert(0, at(3), 1);
        beside_the_timer(&pool, false, || {
            pool.insert(0, at(1), 0);
            pool.pass_time_to(at(1));
            has_run[0].wait();
        });
    });
}

/// The timer was armed for the first of two entries; who takes that one arms it for the second.
#[test]
fn a_take_arms_the_timer_for_the_entry_behind_it() {
    check(2, || {
        let (pool, has_run) = pool_with_latches();
        pool.insert(0, at(1), 0);
        pool.insert(0, at(2), 1);
        beside_the_timer(&pool, false, || one_after_the_other(&pool, &has_run));
    });
}

/// Two lanes, so that no take uncovers the second entry: the timer itself must go on to it, also if its time comes
/// between the fire for the first one and the look for the next.
#[test]
fn what_becomes_due_while_the_timer_fires_is_not_passed_over() {
    check(2, || {
        let has_run = Arc::new(<[Latch; 2]>::default());
        let opened = Arc::clone(&has_run);
        let lanes = vec![Lane::new(1), Lane::new(1)];
        let pool = Pool::with_lanes(1, lanes, move |_, _, task| opened[task as usize].open());
        pool.insert(0, at(1), 0);
        pool.insert(1, at(2), 1);
        beside_the_timer(&pool, false, || one_after_the_other(&pool, &has_run));
    });
}

/// Task 0 is due, but its lane is at its limit; it covers task 1. With its cancel nobody but the canceller can arm the
/// timer for that one.
#[test]
fn a_cancel_arms_the_timer_for_the_entry_behind_it() {
    check(2, || {
        let has_run = Arc::new(Latch::default());
        let opened = Arc::clone(&has_run);
        let pool = Pool::with_lanes(1, vec![Lane::limited(1)], move |_, _, task| {
            assert_eq!(task, 1, "the other one is cancelled");
            opened.open();
        });
        assert!(pool.lanes[0].try_acquire());
        let tracked = Tracked::new(Stage::Delayed);
        pool.insert(0, at(1), Delayed { task: 0, tracked: Some(Arc::clone(&tracked)) });
        pool.insert(0, at(2), 1);
        beside_the_timer(&pool, false, || {
            pool.pass_time_to(at(1));
            assert!(pool.cancel_delayed(0, &tracked));
            assert!(pool.lanes[0].release());
            pool.permit_appeared(0);
            pool.pass_time_to(at(2));
            has_run.wait();
        });
    });
}
