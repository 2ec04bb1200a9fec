//! When `Accepted` is told, and when it is not.

use crate::support::{Job, LONG, Pool, Watchdog, build, builder, plug_worker};
use dockhand::{Event, Lane, OverloadPolicy, SubmitResult, TaskId, TaskOptions};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

type Told = (&'static str, TaskId, ThreadId);

/// A pool with one worker and room for two, and what its listener hears of tasks.
fn listened() -> (Pool, Receiver<Told>) {
    let (tell, told) = channel();
    let delayed = Lane::new("default").delay_capacity(1);
    let pool = build(builder(1).queue_capacity(2).lane(delayed).on_event(move |event| {
        let (what, task) = match event {
            Event::Accepted { task } => ("accepted", task),
            Event::Started { task } => ("started", task),
            Event::Ended { task, .. } => ("ended", task),
            _ => return,
        };
        tell.send((what, task.id, thread::current().id())).unwrap();
    }));
    (pool, told)
}

/// By every way in.
#[test]
fn it_is_told_once_by_the_submitting_thread_before_the_submit_returns() {
    let _dog = Watchdog::new();
    let (pool, told) = listened();
    let here = thread::current().id();
    let accepted = || -> Vec<TaskId> {
        let of = told.try_iter().filter(|(what, ..)| *what == "accepted");
        of.map(|(_, id, by)| (by == here).then_some(id).unwrap()).collect()
    };
    let submitter = pool.submitter();
    let plug = plug_worker(&pool);
    assert_eq!(accepted().len(), 1);
    let plain = submitter.submit(Job::ok()).into_result().unwrap();
    assert_eq!(accepted(), [plain]);
    let keyed = submitter.submit_with(Job::ok(), TaskOptions::new().key("it")).into_result().unwrap();
    assert_eq!(accepted(), [keyed]);
    let delayed = submitter.submit_tracked_with(Job::ok(), TaskOptions::new().delay(LONG)).unwrap();
    assert_eq!(accepted(), [delayed.id()]);
    // Refused for lack of room, for the key, and for the time; dropped; run here.
    assert!(submitter.submit(Job::ok()).into_result().is_err());
    assert!(submitter.submit_with(Job::ok(), TaskOptions::new().key("it")).into_result().is_err());
    assert!(submitter.submit_with(Job::ok(), TaskOptions::new().delay(LONG)).into_result().is_err());
    assert!(submitter.submit_with(Job::ok(), TaskOptions::new().ttl(Duration::ZERO)).into_result().is_err());
    assert!(submitter.submit_timeout(Job::ok(), Duration::ZERO).into_result().is_err());
    assert!(submitter.submit_tracked(Job::ok()).is_err());
    let under = |policy| submitter.with_overload(policy).submit(Job::ok());
    assert!(matches!(under(OverloadPolicy::DropIncoming), SubmitResult::Dropped(_)));
    assert!(matches!(under(OverloadPolicy::CallerRuns), SubmitResult::CallerRun(_)));
    assert_eq!(accepted(), []);
    // In the place of another.
    let newer = under(OverloadPolicy::DropOldest).into_result().unwrap();
    assert_eq!(accepted(), [newer]);
    drop(delayed.cancel());
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(accepted(), []);
    let timed = submitter.submit_timeout(Job::ok(), LONG).into_result().unwrap();
    assert_eq!(accepted(), [timed]);
    let plug = plug_worker(&pool);
    drop(accepted());
    assert_eq!(submitter.submit_batch((0..3).map(|_| Job::ok())).accepted, 2);
    let two = accepted();
    assert!(two.len() == 2 && two[0] != two[1]);
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(accepted(), []);
}

/// With one thread for all there is one order.
#[test]
fn on_a_manual_pool_it_comes_first() {
    let _dog = Watchdog::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&log);
    let pool = builder(1).on_event(move |event| {
        if let Event::Accepted { .. } | Event::Started { .. } | Event::Ended { .. } = event {
            heard.lock().unwrap().push(format!("{event:?}").split('(').next().unwrap().to_string());
        }
    });
    let pool = pool.build_manual().unwrap();
    for _ in 0..2 {
        pool.submit(Job::ok()).into_result().unwrap();
        assert_eq!(pool.run_until_idle(), 1);
    }
    assert_eq!(*log.lock().unwrap(), ["Accepted", "Started", "Ended"].repeat(2));
}

/// So a listener may wait in it for whatever is told of the task by others.
#[test]
fn it_does_not_hold_the_task_back() {
    let _dog = Watchdog::new();
    let ended = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let heard = Arc::clone(&ended);
    let pool = build(builder(1).on_event(move |event| {
        let (lock, changed) = &*heard;
        match event {
            Event::Ended { task, .. } => {
                lock.lock().unwrap().push(task.id);
                changed.notify_all();
            }
            Event::Accepted { task } => {
                let ended = lock.lock().unwrap();
                let wait = changed.wait_timeout_while(ended, LONG, |ended| !ended.contains(&task.id));
                assert!(!wait.unwrap().1.timed_out(), "it was not run");
            }
            _ => {}
        }
    }));
    let submitter = pool.submitter();
    for _ in 0..10 {
        let one = submitter.submit(Job::ok()).into_result().unwrap();
        assert_eq!(ended.0.lock().unwrap().last(), Some(&one), "it has ended before the submit returns");
        submitter.submit_tracked(Job::ok()).unwrap().wait().unwrap();
    }
    assert_eq!(pool.metrics().hook_panics, 0);
}
