//! `wait_idle`.
//!
//! Left out: what a cancel leaves in a queue, which is in `cancel`; a wait with a timeout.

use super::pool::Pool;
use super::worker::{Worker, spawn_workers};
use super::{check, join, only_the_end_is_left, spawn};
use crate::sync::{Ordering, fence};

/// A task submits another one to a pool of two workers: a wait for rest ends after both, their drops included.
#[test]
fn a_follow_up_task_is_waited_for() {
    check(2, || {
        let pool = Pool::new(2, 2, |pool, _, task| {
            if task == 0 {
                assert!(pool.submit(1));
            }
        });
        pool.put(0, 0);
        fence(Ordering::SeqCst);
        let workers = spawn_workers(&pool);
        pool.wait_idle();
        assert!(pool.is_dropped(0), "task 0 is out");
        assert!(pool.is_dropped(1), "task 1 is out");
        only_the_end_is_left();
        pool.sleep.abort();
        workers.into_iter().for_each(join);
    });
}

/// A worker that spins for ever tells the waiter that it has found nothing.
#[test]
fn a_worker_that_never_sleeps_tells_the_waiter() {
    check(2, || {
        let pool = Pool::new(1, 1, |_, _, _| {});
        let worker = spawn(&pool, |pool| Worker::spinning(pool, 0).run());
        assert!(pool.submit(0));
        pool.wait_idle();
        assert!(pool.is_dropped(0));
        only_the_end_is_left();
        pool.sleep.abort();
        join(worker);
    });
}

/// A wait for rest beside a submit ends, and one after the submit ends after the task.
#[test]
fn a_submit_from_outside_may_come_at_any_moment() {
    check(2, || {
        let pool = Pool::new(1, 1, |_, _, _| {});
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, |pool| pool.submit(0));
        pool.wait_idle();
        assert!(join(submitter));
        pool.wait_idle();
        assert!(pool.is_dropped(0));
        only_the_end_is_left();
        pool.sleep.abort();
        workers.into_iter().for_each(join);
    });
}

/// The displacing submit leaves the gate without telling anybody, after a worker may have run what it pushed.
#[test]
fn a_displacing_submit_does_not_keep_the_waiter() {
    check(1, || {
        let pool = Pool::new(1, 1, |_, _, _| {});
        pool.put(0, 0);
        fence(Ordering::SeqCst);
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, |pool| pool.displace_oldest(1));
        pool.wait_idle();
        assert!(pool.is_dropped(0), "task 0 is run, or displaced and shed");
        assert!(join(submitter));
        only_the_end_is_left();
        pool.sleep.abort();
        workers.into_iter().for_each(join);
    });
}

/// The look and the take of `worker.rs`, without sleep.
fn take_one(pool: &Pool, me: usize) {
    let runner = &pool.runners[me];
    runner.word.look();
    if let Some(task) = pool.lanes[0].queue.pop() {
        fence(Ordering::SeqCst);
        pool.attempt(runner, task);
    }
    runner.word.idle();
}

/// One scan, while a task and its follow-up are carried past it in whatever direction. The scan is the last thread: loom
/// does not see the race of a load with a later store if the storing thread loads first, but it tries every stale value.
#[test]
fn no_task_is_carried_past_a_scan() {
    check(2, || {
        let pool = Pool::new(2, 2, |pool, _, task| {
            if task == 0 {
                pool.put(0, 1);
            }
        });
        pool.put(0, 0);
        let worker = |me| {
            spawn(&pool, move |pool| {
                take_one(pool, me);
                take_one(pool, me);
            })
        };
        let threads = [
            worker(0),
            worker(1),
            spawn(&pool, |pool| {
                if pool.is_idle() {
                    assert!(pool.is_dropped(0), "task 0 is out");
                    assert!(pool.is_dropped(1), "task 1 is out");
                }
            }),
        ];
        threads.into_iter().for_each(join);
    });
}
