//! A closed pool: what was accepted is run, what comes too late is refused, and all workers leave.
//!
//! Left out: spinning workers, and caller-runs, which are in `gate`.

use super::pool::Pool;
use super::worker::{sleeping_workers, spawn_workers};
use super::{Latch, check, join, spawn};
use crate::clock::Moment;
use loom::thread::JoinHandle;
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

/// A submit beside a close, with one worker: an accepted task is run, a refused one is not, and the pool is
/// finalized.
#[test]
fn a_late_submit_is_run_or_refused_by_one_worker() {
    close_against_a_submit(3, 1);
}

/// As above, with two workers, of which the last one finalizes.
#[test]
fn a_late_submit_is_run_or_refused_by_two_workers() {
    close_against_a_submit(1, 2);
}

fn leave_one_after_another(preemptions: usize, workers: usize, start: fn(&Arc<Pool>) -> Vec<JoinHandle<()>>) {
    check(preemptions, move || {
        let pool = Pool::new(workers, 1, |_, _, _| {});
        let due = Moment::from_nanos(1);
        pool.insert(0, due, 0);
        let workers = start(&pool);
        pool.close();
        pool.pass_time_to(due);
        pool.sleep.work_appeared();
        workers.into_iter().for_each(join);
        pool.assert_account(0, true);
    });
}

/// Both workers stay in the closed pool for a task that is not due yet. One of them is woken for it.
#[test]
fn workers_leave_one_after_another() {
    leave_one_after_another(2, 2, spawn_workers);
}

/// As above, of three that sleep.
#[test]
fn three_workers_leave_one_after_another() {
    leave_one_after_another(1, 3, sleeping_workers);
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
