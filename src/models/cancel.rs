//! Cancels of queued tasks, in the library itself: what has ended keeps its place as dead weight, and counts as gone.
//!
//! Left out: an expiry, which ends a waiting task by the same change of its stage.

use super::library::{Handle, assert_conserved, lane, pool, start, submit_one, wait_idle};
use super::{check, join, only_the_end_is_left};
use crate::handle::CancelOutcome;
use std::sync::Arc;

fn cancel(handle: Handle) -> loom::thread::JoinHandle<CancelOutcome<u64>> {
    loom::thread::spawn(move || handle.cancel())
}

/// A paused lane holds one task, for which the worker stays in the closed pool.
#[test]
fn the_last_worker_leaves_when_what_it_stayed_for_is_cancelled() {
    check(2, || {
        let pool = pool(1, lane().max_concurrency(0), |_, _| panic!("the lane is paused"));
        let canceller = cancel(submit_one(&pool, 7));
        let workers = start(&pool);
        pool.close();
        assert_eq!(join(canceller), CancelOutcome::Cancelled(7));
        workers.into_iter().for_each(join);
        assert!(pool.drain.is_finalized());
        assert_conserved(&pool);
        assert_eq!(pool.counts().cancelled, 1);
    });
}

/// The worker takes the task, or passes what is left of it, before or after the canceller has counted that.
#[test]
fn a_task_that_is_cancelled_beside_its_take_has_one_end() {
    check(2, || {
        let pool = pool(1, lane(), |task, _| Ok(task));
        let canceller = cancel(submit_one(&pool, 7));
        let workers = start(&pool);
        pool.close();
        let answer = join(canceller);
        workers.into_iter().for_each(join);
        assert!(pool.drain.is_finalized());
        assert_conserved(&pool);
        let counts = pool.counts();
        let is_cancelled = answer == CancelOutcome::Cancelled(7);
        assert_eq!(counts.cancelled, u64::from(is_cancelled));
        assert_eq!(counts.succeeded, u64::from(!is_cancelled), "`Ok` goes before a request");
    });
}

/// The canceller reads the counts as soon as it has its answer, while the worker may be passing the dead entry.
#[test]
fn the_law_holds_while_a_worker_passes_what_was_cancelled() {
    check(3, || {
        let pool = pool(1, lane(), |task, _| Ok(task));
        let handle = submit_one(&pool, 7);
        let workers = start(&pool);
        if handle.cancel() == CancelOutcome::Cancelled(7) {
            let counts = pool.counts();
            assert!(counts.is_conserved(), "{counts:?}");
        }
        only_the_end_is_left();
        pool.close();
        workers.into_iter().for_each(join);
        assert_conserved(&pool);
    });
}

/// The dead entry stays in its queue, since the lane is paused.
#[test]
fn a_wait_for_rest_ends_with_the_telling_of_a_cancel() {
    check(3, || {
        let pool = pool(1, lane().max_concurrency(0), |_, _| panic!("the lane is paused"));
        let handle = submit_one(&pool, 7);
        let slot = Arc::clone(&handle.slot);
        let canceller = cancel(handle);
        wait_idle(&pool);
        assert!(slot.is_resolved(), "the answer is a part of the end");
        only_the_end_is_left();
        assert_eq!(join(canceller), CancelOutcome::Cancelled(7));
    });
}

/// One task waits all the time. Another one comes and is cancelled between the two halves of a look at the queue.
#[test]
fn a_cancel_hides_no_other_task() {
    check(3, || {
        let pool = pool(1, lane().max_concurrency(0), |_, _| panic!("the lane is paused"));
        let _waits = submit_one(&pool, 1);
        let one = Arc::clone(&pool);
        let canceller = loom::thread::spawn(move || submit_one(&one, 2).cancel());
        assert!(!pool.is_idle(), "task 1 waits");
        assert_eq!(join(canceller), CancelOutcome::Cancelled(2));
    });
}
