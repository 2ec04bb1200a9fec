//! The policies that act on a full lane, against a shutdown.
//!
//! Left out: two submits that displace at once; the original does it in one step.

use super::pool::Pool;
use super::worker::spawn_workers;
use super::{check, join, spawn};
use crate::clock::Moment;

/// Whatever a submit does to the lane or registers as an attempt is over when the report is written.
fn against_the_end_of_a_window(submit: fn(&Pool, u64) -> bool) {
    check(3, move || {
        let pool = Pool::with_callers(0, 1, |_, _, _| {});
        pool.put(0, 0);
        let submitter = spawn(&pool, move |pool| submit(pool, 1));
        pool.end_window();
        pool.report();
        let told = [pool.ends_of(0), pool.ends_of(1)];
        let accepted = join(submitter);
        pool.assert_account(0, true);
        pool.assert_account(1, accepted);
        assert_eq!([pool.ends_of(0), pool.ends_of(1)], told, "told after the report");
    });
}

/// `DropOldest` beside the end of a window: nothing ends, and nothing is told, after the report.
#[test]
fn a_task_is_displaced_before_the_report_or_is_in_it() {
    against_the_end_of_a_window(Pool::displace_oldest);
}

/// `CallerRuns` beside the end of a window: the attempt is waited for or marked, or never starts.
#[test]
fn a_caller_run_is_seen_by_the_end_of_a_window_or_refused() {
    against_the_end_of_a_window(Pool::run_here);
}

/// The last worker of a closed pool stays for a caller-run, for its retry too, and leaves after it.
#[test]
fn the_retry_of_a_caller_run_is_run_in_a_closed_pool() {
    check(3, || {
        let pool = Pool::with_callers(1, 1, |pool, _, task| {
            if task == 0 {
                pool.insert(0, Moment::START, 1);
            }
        });
        let workers = spawn_workers(&pool);
        let caller = spawn(&pool, |pool| pool.run_here(0));
        pool.close();
        let accepted = join(caller);
        workers.into_iter().for_each(join);
        pool.assert_account(0, accepted);
        pool.assert_account(1, accepted);
    });
}
