//! A closed pool: what was accepted is run, what comes too late is refused, and all workers leave.

use super::pool::Pool;
use super::worker::spawn_workers;
use super::{Latch, check, join, spawn};
use crate::clock::Moment;
use std::sync::Arc;

fn close_against_a_submit(preemptions: usize, workers: usize) {
    check(preemptions, move || {
        let pool = Pool::new(workers, 1, |_, _, _| {});
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, |pool| pool.submit(0));
        pool.close();
        let accepted = join(submitter);
        workers.into_iter().for_each(join);
        pool.assert_account(0, accepted);
        assert!(pool.drain.is_finalized());
    });
}

#[test]
fn a_late_submit_is_run_or_refused_by_one_worker() {
    close_against_a_submit(3, 1);
}

#[test]
fn a_late_submit_is_run_or_refused_by_two_workers() {
    close_against_a_submit(1, 2);
}

/// Both workers stay in the closed pool for a task that is not due yet. One of them is woken for it.
#[test]
fn workers_leave_one_after_another() {
    check(2, || {
        let pool = Pool::new(2, 1, |_, _, _| {});
        let due = Moment::from_nanos(1);
        pool.insert(0, due, 0);
        let workers = spawn_workers(&pool);
        pool.close();
        pool.pass_time_to(due);
        pool.sleep.work_appeared();
        workers.into_iter().for_each(join);
        pool.assert_account(0, true);
    });
}

/// The worker stays in the closed pool for a task that is not due yet, and is woken for a submit that saw the pool open
/// at its start.
#[test]
fn a_late_submit_wakes_a_worker_that_stays() {
    check(2, || {
        let has_run = Arc::new(Latch::default());
        let opened = Arc::clone(&has_run);
        let pool = Pool::new(1, 1, move |_, _, _| opened.open());
        let due = Moment::from_nanos(1);
        pool.insert(0, due, 1);
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, move |pool| {
            let accepted = pool.submit(0);
            if accepted {
                has_run.wait();
            }
            accepted
        });
        pool.close();
        let accepted = join(submitter);
        pool.pass_time_to(due);
        pool.sleep.work_appeared();
        workers.into_iter().for_each(join);
        pool.assert_account(0, accepted);
        pool.assert_account(1, true);
    });
}
