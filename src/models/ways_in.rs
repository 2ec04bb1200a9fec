//! The ways in, in the library itself, against its workers and a close.
//!
//! Left out: batches, which push in a loop; the policies of a full lane, which are in `gate`.

use super::library::{
    Library, assert_conserved, lane, pass_time, pool, start, start_asleep, with_lane_before,
};
use super::{Latch, check, join, only_the_end_is_left, spawn};
use crate::config::{Lane, OverloadPolicy};
use crate::error::SubmitResult;
use crate::options::TaskOptions;
use crate::shutdown::Caller;
use std::sync::Arc;
use std::time::Duration;

fn submit(pool: &Library, task: u64) -> bool {
    matches!(pool.submit(0, task, OverloadPolicy::Reject), SubmitResult::Accepted(_))
}

fn assert_run(pool: &Library, tasks: usize) {
    assert_conserved(pool);
    assert_eq!(pool.counts().succeeded, tasks as u64, "accepted, and not run");
    assert_eq!(pool.drain.collect().len(), 0);
}

/// One worker, so that nobody else looks.
#[test]
fn a_submit_wakes_a_worker_that_sleeps() {
    check(3, || {
        let has_run = Arc::new(Latch::default());
        let opened = Arc::clone(&has_run);
        let pool = pool(1, lane(), move |task, _| {
            opened.open();
            Ok(task)
        });
        let workers = start_asleep(&pool);
        assert!(submit(&pool, 1));
        has_run.wait();
        only_the_end_is_left();
        pool.close();
        workers.into_iter().for_each(join);
        assert_run(&pool, 1);
    });
}

/// A submit beside a close: an accepted task is run, and the pool is finalized.
#[test]
fn a_late_submit_is_run_or_refused() {
    check(3, || {
        let pool = pool(1, lane(), |task, _| Ok(task));
        let workers = start(&pool);
        let submitter = spawn(&pool, |pool| submit(pool, 1));
        pool.close();
        let accepted = join(submitter);
        workers.into_iter().for_each(join);
        assert!(pool.drain.is_finalized());
        assert_run(&pool, usize::from(accepted));
    });
}

/// A delayed submit beside the end of a window: whoever sweeps its task finds it counted.
#[test]
fn a_delayed_submit_is_counted_before_it_is_swept() {
    check(3, || {
        let pool = pool(1, lane(), |task, _| Ok(task));
        let submitter = spawn(&pool, |pool| {
            let later = TaskOptions::new().delay(Duration::from_secs(3600));
            matches!(pool.submit_with(0, 1, OverloadPolicy::Reject, later), SubmitResult::Accepted(_))
        });
        pool.close();
        pool.end_window(&Caller::Outside);
        assert_conserved(&pool);
        let accepted = join(submitter);
        assert_conserved(&pool);
        assert_eq!(pool.drain.collect().len(), usize::from(accepted));
    });
}

/// The lane is full until the worker takes from it.
#[test]
fn a_submit_that_waits_for_room_gets_it() {
    check(2, || {
        let has_run = Arc::new(Latch::default());
        let opened = Arc::clone(&has_run);
        let pool = pool(1, lane().queue_capacity(1), move |task, _| {
            if task == 2 {
                opened.open();
            }
            Ok(task)
        });
        assert!(submit(&pool, 1));
        let workers = start(&pool);
        let answer = pool.submit_timeout(0, 2, OverloadPolicy::Reject, Duration::MAX);
        assert!(matches!(answer, SubmitResult::Accepted(_)));
        has_run.wait();
        only_the_end_is_left();
        pool.close();
        workers.into_iter().for_each(join);
        assert_run(&pool, 2);
    });
}

/// The lane is paused and full, so nothing but the close ends the wait.
#[test]
fn a_submit_that_waits_for_room_is_refused_by_a_close() {
    check(3, || {
        let pool = pool(1, lane().queue_capacity(1).max_concurrency(0), |_, _| panic!("the lane is paused"));
        assert!(submit(&pool, 1));
        let wait = |pool: &Library| pool.submit_timeout(0, 2, OverloadPolicy::Reject, Duration::MAX);
        let waiter = spawn(&pool, move |pool| wait(pool).into_payload());
        pool.close();
        assert_eq!(join(waiter), Some(2), "the task comes back");
        assert_eq!(pool.lanes[0].queued(), 1);
    });
}

/// A delayed task may have run before its submit leaves the gate, in a pool that was closed meanwhile.
#[test]
fn a_worker_leaves_after_a_delayed_submit_in_the_gate() {
    check(2, || {
        let pool = pool(1, lane(), |task, _| Ok(task));
        let moment = Duration::from_nanos(1);
        let submitter = spawn(&pool, move |pool| {
            let soon = TaskOptions::new().delay(moment);
            matches!(pool.submit_with(0, 1, OverloadPolicy::Reject, soon), SubmitResult::Accepted(_))
        });
        let timer = spawn(&pool, |pool| pool.timer.run(pool));
        let workers = start(&pool);
        pool.close();
        pass_time(&pool, moment);
        let accepted = join(submitter);
        workers.into_iter().for_each(join);
        assert_run(&pool, usize::from(accepted));
        pool.timer.stop();
        join(timer);
    });
}

/// A task of a lane with a limit falls due while the worker's round has read the clock for the lane before it.
#[test]
fn a_task_that_falls_due_in_a_round_is_taken() {
    check(2, || {
        let first = Lane::new("first").queue_capacity(1);
        let pool = with_lane_before(first, lane().max_concurrency(1), |task, _| Ok(task));
        let [hour, moment] = [Duration::from_secs(3600), Duration::from_nanos(1)];
        let later = TaskOptions::new().delay(hour);
        assert!(matches!(pool.submit_with(0, 1, OverloadPolicy::Reject, later), SubmitResult::Accepted(_)));
        let soon = TaskOptions::new().delay(moment);
        let slot = pool.submit_tracked(1, 2, OverloadPolicy::Reject, soon).expect("there is room");
        let timer = spawn(&pool, |pool| pool.timer.run(pool));
        let workers = start(&pool);
        pass_time(&pool, moment);
        while !slot.is_resolved() {
            slot.wait(None);
        }
        only_the_end_is_left();
        pool.sleep.abort();
        pool.timer.stop();
        workers.into_iter().for_each(join);
        join(timer);
    });
}
