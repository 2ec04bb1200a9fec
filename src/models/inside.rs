//! `shutdown` from inside of tasks.
//!
//! Left out: a hook that calls `shutdown`, and a pool that is dropped on its own worker.

use super::pool::Pool;
use super::worker::spawn_workers;
use super::{check, join, only_the_end_is_left};
use crate::sync::{Ordering, fence};

/// Two attempts and the main thread call it at once. The attempts wait for neither each other nor the main thread, and
/// that one waits for both.
#[test]
fn calls_from_two_attempts_and_from_outside_return() {
    check(1, || {
        let pool = Pool::new(2, 2, |pool, runner, _| pool.drain(Some(runner)));
        for task in 0..2 {
            pool.put(0, task);
        }
        fence(Ordering::SeqCst);
        let workers = spawn_workers(&pool);
        pool.drain(None);
        for task in 0..2 {
            pool.assert_account(task, true);
            assert!(pool.is_dropped(task));
        }
        only_the_end_is_left();
        workers.into_iter().for_each(join);
    });
}
