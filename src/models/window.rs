//! The end of a window: each task has exactly one account, and the report is complete when it is written.
//!
//! Left out: the length of the grace; a model lets it be over at once.

use super::pool::Pool;
use super::worker::spawn_workers;
use super::{check, join, spawn};
use crate::sync::{Ordering, fence};
use crate::word::{Runner, Running};
use std::sync::Arc;
// What a model knows from outside, without a step that loom sees.
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Two tasks, a worker and the end of a window: each task has one account, and none is told after the report.
#[test]
fn each_task_is_run_or_swept_or_handed_back_or_marked() {
    check(3, || {
        let pool = Pool::new(1, 2, |_, _, _| {});
        for task in 0..2 {
            pool.put(0, task);
        }
        fence(Ordering::SeqCst);
        let workers = spawn_workers(&pool);
        pool.end_window();
        pool.report();
        let told = [pool.ends_of(0), pool.ends_of(1)];
        workers.into_iter().for_each(join);
        pool.assert_account(0, true);
        pool.assert_account(1, true);
        assert_eq!([pool.ends_of(0), pool.ends_of(1)], told, "told after the report");
    });
}

/// A worker that has read "not aborting" long ago may pop what a late submit pushed after the sweep. It does not run it.
#[test]
fn what_is_popped_after_the_sweep_goes_back_to_its_submit() {
    check(2, || {
        let is_late = Arc::new(AtomicBool::new(false));
        let came_late = Arc::clone(&is_late);
        let is_finalized = Arc::new(AtomicBool::new(false));
        let finalized = Arc::clone(&is_finalized);
        let pool = Pool::new(1, 1, move |_, _, _| {
            assert!(!came_late.load(Relaxed), "started after the end");
        });
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, move |pool| {
            is_late.store(is_finalized.load(Relaxed), Relaxed);
            pool.submit(0)
        });
        pool.refuse_and_sweep();
        finalized.store(true, Relaxed);
        pool.report();
        let accepted = join(submitter);
        pool.give_up_all();
        workers.into_iter().for_each(join);
        pool.assert_account(0, accepted);
        assert_eq!(pool.drain.collect(), [], "handed back after the report");
    });
}

/// A status names what runs. It is never put together from two attempts. The reader comes last, as in the scan of
/// `wait_idle`.
#[test]
fn what_runs_is_told_whole() {
    check(3, || {
        let runner = Arc::new(Runner::new());
        let reader = spawn(&runner, |runner| {
            if let Some(running) = runner.running() {
                assert_eq!(running.task, running.since);
            }
        });
        for n in 1..=2 {
            runner.word.look();
            fence(Ordering::SeqCst);
            runner.start(Running { task: n, lane: 0, attempt: 1, since: n, progress: 0 });
            assert!(runner.word.end());
            runner.word.tidy();
        }
        join(reader);
    });
}
