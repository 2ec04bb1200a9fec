//! The ends of attempts, in the library itself: what is told, counted and given back before whom.
//!
//! Left out: deadlines, letters and sinks, and what the queue's own synchronisation would forbid.

use super::library::{
    Handle, Library, Process, assert_conserved, lane, listened, pool, start, submit, submit_one, wait_idle,
};
use super::{Latch, check, join, only_the_end_is_left};
use crate::clock::Moment;
use crate::config::OverloadPolicy;
use crate::error::{SubmitResult, TaskError};
use crate::event::Event;
use crate::handle::CancelOutcome;
use crate::options::TaskOptions;
use crate::retry::RetryPolicy;
use crate::shutdown::Caller;
use crate::sync::Ordering;
use crate::task::{Outcome, TaskId};
use loom::thread::JoinHandle;
use std::sync::{Arc, Mutex as StdMutex, OnceLock, Weak};
use std::time::Duration;

fn end(pool: &Library, workers: Vec<JoinHandle<()>>) {
    only_the_end_is_left();
    pool.close();
    workers.into_iter().for_each(join);
    assert_conserved(pool);
}

fn fails_once(task: u64, attempt: u32) -> Result<u64, String> {
    if attempt == 1 { Err("not yet".into()) } else { Ok(task) }
}

/// Of what happens to the only task, in the order in which it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Started(u32),
    Failed(u32),
    Retried(u32),
    Ended(Outcome),
}

type Log = Arc<StdMutex<Vec<Told>>>;

fn hear(log: &Log, event: &Event<'_>) {
    let told = match event {
        Event::Started { task } => Told::Started(task.attempt),
        Event::AttemptFailed { task, .. } => Told::Failed(task.attempt),
        Event::RetryScheduled { task, .. } => Told::Retried(task.attempt),
        Event::Ended { outcome, .. } => Told::Ended(*outcome),
        _ => return,
    };
    log.lock().expect("not poisoned").push(told);
}

/// The permit is back, and the end is counted.
#[test]
fn whoever_has_the_answer_sees_what_came_before_it() {
    check(3, || {
        let pool = pool(1, lane().max_concurrency(1), |task, _| Ok(task));
        let handle = submit_one(&pool, 7);
        let workers = start(&pool);
        assert_eq!(handle.wait().ok(), Some(7));
        let permits = pool.lanes[0].permits.as_ref().expect("the lane has a limit");
        assert_eq!(permits.in_use(), 0, "answered with the permit in hand");
        assert_eq!(pool.counts().succeeded, 1, "answered before it was counted");
        end(&pool, workers);
    });
}

/// Another worker may start the retry as soon as it is taken in.
#[test]
fn a_retry_is_told_before_anybody_starts_it() {
    check(1, || {
        let log = Log::default();
        let heard = Arc::clone(&log);
        let lane = lane().retry(RetryPolicy::fixed(Duration::ZERO));
        let pool = listened(2, lane, fails_once, move |event| hear(&heard, event));
        let handle = submit_one(&pool, 7);
        let workers = start(&pool);
        assert_eq!(handle.wait().ok(), Some(7));
        end(&pool, workers);
        use Told::{Ended, Failed, Retried, Started};
        let expected = [Started(1), Failed(1), Retried(1), Started(2), Ended(Outcome::Succeeded)];
        assert_eq!(*log.lock().expect("not poisoned"), expected);
    });
}

/// A shutdown that gave up waiting decides, counts and answers; or the attempt does, which comes back just then.
#[test]
fn a_task_that_is_given_up_as_it_comes_back_ends_once() {
    check(2, || {
        let runs = Arc::new(Latch::default());
        let begun = Arc::clone(&runs);
        let process = move |_, _| {
            begun.open();
            Err("no".into())
        };
        let pool = pool(1, lane(), process);
        let handle = submit(&pool, 7, TaskOptions::new().key("same")).expect("nobody has the key");
        let workers = start(&pool);
        runs.wait();
        // The grace is over at once.
        pool.grace_end.store(0, Ordering::Relaxed);
        pool.end_window(&Caller::Outside);
        assert!(handle.wait().is_err());
        workers.into_iter().for_each(join);
        assert_conserved(&pool);
        assert!(pool.lanes[0].take_key(&"same".into(), TaskId::next()).is_ok(), "the key is free");
    });
}

/// A pool with one task, whose listener writes down what it hears, given up while the listener may be hearing of it.
fn give_up_while_heard(process: impl Process) -> (Arc<Library>, Handle, Vec<JoinHandle<()>>, Log) {
    let log = Log::default();
    let heard = Arc::clone(&log);
    let listens = Arc::new(Latch::default());
    let begun = Arc::clone(&listens);
    let known = Arc::new(OnceLock::<Weak<Library>>::new());
    let told = Arc::clone(&known);
    let pool = listened(1, lane(), process, move |event| {
        begun.open();
        // The shutdown may come between the call of a listener and what it does.
        loom::thread::yield_now();
        hear(&heard, event);
        if let (Event::Ended { .. }, Some(pool)) = (event, told.get().and_then(Weak::upgrade)) {
            assert_eq!(pool.counts().running, 0, "its end is heard before it is counted");
            assert!(pool.counts().is_conserved());
        }
    });
    known.set(Arc::downgrade(&pool)).expect("set once");
    let handle = submit_one(&pool, 7);
    let workers = start(&pool);
    listens.wait();
    pool.grace_end.store(0, Ordering::Relaxed);
    pool.end_window(&Caller::Outside);
    (pool, handle, workers, log)
}

fn assert_end_is_last(log: &Log) {
    let log = log.lock().expect("not poisoned");
    let end = log.iter().position(|told| matches!(told, Told::Ended(_)));
    assert_eq!(end, log.len().checked_sub(1), "it is told once, and last: {log:?}");
}

/// Whatever listeners are hearing of the task when the shutdown gives it up.
#[test]
fn the_end_of_a_task_that_is_given_up_is_heard_last() {
    check(2, || {
        let (pool, handle, workers, log) = give_up_while_heard(fails_once);
        assert!(handle.wait().is_err());
        workers.into_iter().for_each(join);
        assert_conserved(&pool);
        assert_end_is_last(&log);
    });
}

/// The task itself goes on until the waiter has come back.
#[test]
fn a_waiter_for_rest_waits_for_an_end_that_is_told_late() {
    check(2, || {
        let goes_on = Arc::new(Latch::default());
        let held = Arc::clone(&goes_on);
        let (pool, _handle, workers, log) = give_up_while_heard(move |task, _| {
            held.wait();
            Ok(task)
        });
        wait_idle(&pool);
        assert_end_is_last(&log);
        goes_on.open();
        workers.into_iter().for_each(join);
    });
}

/// The same of a task that nobody watches: it is in the report, or it has run.
#[test]
fn a_plain_task_that_is_given_up_as_it_comes_back_ends_once() {
    check(3, || {
        let runs = Arc::new(Latch::default());
        let begun = Arc::clone(&runs);
        let pool = pool(1, lane(), move |task, _| {
            begun.open();
            Ok(task)
        });
        assert!(matches!(pool.submit(0, 7, OverloadPolicy::Reject), SubmitResult::Accepted(_)));
        let workers = start(&pool);
        runs.wait();
        pool.grace_end.store(0, Ordering::Relaxed);
        pool.end_window(&Caller::Outside);
        workers.into_iter().for_each(join);
        assert_conserved(&pool);
    });
}

/// Two tasks fail at the same time, and the budget is for one retry.
#[test]
fn two_failures_share_what_is_left_of_the_budget() {
    check(1, || {
        let retry = RetryPolicy::fixed(Duration::ZERO).budget(0.0, 0.1);
        let pool = pool(2, lane().retry(retry), fails_once);
        let handles = [submit_one(&pool, 1), submit_one(&pool, 2)];
        let workers = start(&pool);
        let answers = handles.map(|handle| handle.wait().is_ok());
        assert_eq!(answers.iter().filter(|retried| **retried).count(), 1, "{answers:?}");
        end(&pool, workers);
        let counts = pool.counts();
        assert_eq!((counts.retries, counts.dead_lettered), (1, 1));
        assert!(pool.lanes[0].delays.is_empty(), "a place is kept for a retry that was refused");
    });
}

/// The retry lies in the heap for an hour, unless the cancel is faster.
#[test]
fn a_cancel_leaves_nothing_of_a_retry() {
    check(3, || {
        let retry = RetryPolicy::fixed(Duration::from_secs(3600));
        let pool = pool(1, lane().retry(retry), |_, _| Err("not yet".into()));
        let handle = submit_one(&pool, 7);
        let workers = start(&pool);
        let answer = handle.cancel();
        assert_ne!(answer, CancelOutcome::TooLate, "nothing else ends it");
        assert!(matches!(handle.wait(), Err(TaskError::Cancelled)));
        end(&pool, workers);
        assert_eq!(pool.counts().cancelled, 1);
        let delays = &pool.lanes[0].delays;
        assert!(delays.is_empty() && delays.next_due() == Moment::NEVER);
    });
}

/// A handle that cancels as it goes, beside the attempt.
#[test]
fn a_handle_that_goes_takes_its_task_or_leaves_it() {
    check(3, || {
        let pool = pool(1, lane(), |_, _| Err("no".into()));
        let handle = submit_one(&pool, 7).cancel_on_drop();
        let slot = Arc::clone(&handle.slot);
        let workers = start(&pool);
        drop(handle);
        assert!(!slot.is_wanted() && !slot.stage.stage().is_waiting());
        end(&pool, workers);
        let counts = pool.counts();
        assert_eq!(counts.cancelled + counts.dead_lettered, 1, "{counts:?}");
    });
}
