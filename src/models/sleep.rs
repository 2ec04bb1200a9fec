//! Submit, sleep, wake.
//!
//! Left out: park tokens that user code has touched; the flag beside the token is in the tests of the library.

use super::pool::Pool;
use super::worker::{sleeping_workers, spawn_workers};
use super::{Latch, Ring, check, join, only_the_end_is_left, spawn};
use crate::sleep::{Activity, Sleep};
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;

/// Task 0 ends only after task 1 has run, so a second worker has to be woken for it, whoever sleeps by then.
#[test]
fn a_task_does_not_wait_behind_a_long_one_beside_a_sleeper() {
    check(2, || {
        let (one_has_run, open) = (Latch::default(), AtomicU64::new(2));
        let pool = Pool::new(2, 2, move |pool, _, task| {
            if task == 0 {
                one_has_run.wait();
            } else {
                one_has_run.open();
            }
            if open.fetch_sub(1, Ordering::AcqRel) == 1 {
                only_the_end_is_left();
                pool.sleep.abort();
            }
        });
        let workers = spawn_workers(&pool);
        assert!(pool.submit(0));
        assert!(pool.submit(1));
        workers.into_iter().for_each(join);
    });
}

/// Three workers that sleep. Tasks 0 and 1 end only after task 2 has run, so each of the three has to be woken for one.
#[test]
fn each_of_three_tasks_gets_one_of_three_workers() {
    check(3, || {
        let two_has_run = Latch::default();
        let pool = Pool::new(3, 3, move |pool, _, task| {
            if task == 2 {
                only_the_end_is_left();
                two_has_run.open();
                pool.sleep.abort();
            } else {
                two_has_run.wait();
            }
        });
        let workers = sleeping_workers(&pool);
        for task in 0..3 {
            assert!(pool.submit(task));
        }
        workers.into_iter().for_each(join);
    });
}

/// One worker, so that nobody else looks: a lost wake is a deadlock.
#[test]
fn a_submit_is_seen_by_whoever_falls_asleep() {
    check(3, || {
        let pool = Pool::new(1, 1, |pool, _, _| {
            only_the_end_is_left();
            pool.sleep.abort();
        });
        let workers = spawn_workers(&pool);
        assert!(pool.submit(0));
        workers.into_iter().for_each(join);
    });
}

struct Offers {
    sleep: Sleep,
    queue: Ring,
    asleep: [Latch; 2],
}

impl Offers {
    fn fall_asleep(&self, me: usize) {
        self.sleep.sleep(me, &mut Activity::Busy, |_| {
            self.asleep[me].open();
            false
        });
    }
}

/// Two sleep, and one that searches takes task 0. Task 1 is offered meanwhile: the one who takes and the one who offers
/// both see that nobody searches, and one of the sleepers is woken.
#[test]
fn one_offer_wakes_one_worker() {
    check(3, || {
        let offers =
            Arc::new(Offers { sleep: Sleep::new(3), queue: Ring::new(2), asleep: Default::default() });
        let sleepers: Vec<_> =
            (0..2).map(|me| spawn(&offers, move |offers| offers.fall_asleep(me))).collect();
        offers.asleep.iter().for_each(Latch::wait);
        let mut activity = Activity::Busy;
        assert!(offers.sleep.try_start_searching(&mut activity, 1));
        offers.queue.push(0).expect("there is room");
        let searcher = spawn(&offers, move |offers| {
            assert_eq!(offers.queue.pop(), Some(0));
            offers.sleep.found(&mut activity, || !offers.queue.is_empty());
        });
        offers.queue.push(1).expect("there is room");
        offers.sleep.work_appeared();
        join(searcher);
        let state = offers.sleep.state();
        assert_eq!((state.sleeping(), state.searching()), (1, 1));
        only_the_end_is_left();
        offers.sleep.abort();
        sleepers.into_iter().for_each(join);
    });
}
