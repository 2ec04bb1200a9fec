//! A pool in a forked child: its threads are not there, so a wait for them is told so at once.

use crate::child::{Start, tell};
use crate::support::{Job, LONG, Pool, accepted, build, builder, eventually};
use dockhand::{RejectReason, TaskError, WaitError};
use std::process::{abort, exit};
use std::thread;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
}

#[test]
fn a_pool_in_a_forked_child_waits_for_nothing() {
    let Some(ended) = Start::default().run(fork_with_a_pool) else { return };
    ended.assert_code(0);
    assert_eq!(ended.told(), ["the child has ended", "the parent has ended"], "{ended}");
    assert!(ended.took < LONG, "{ended}");
}

fn fork_with_a_pool(_: &str) {
    let pool = build(builder(2).queue_capacity(2).drop_timeout(Duration::MAX));
    accepted(&pool, Job::ok());
    pool.wait_idle(LONG).unwrap();
    // No lock of the pool is taken by then.
    eventually("its threads sleep", || pool.metrics().sleeping_workers == 2 && others_sleep());
    // SAFETY: no other thread of this process holds anything that the child needs.
    match unsafe { fork() } {
        0 => {
            use_in_the_child(pool);
            tell("the child has ended");
            exit(0);
        }
        child => {
            let mut status = 0;
            // SAFETY: the pointer is that of a local.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "of the child");
        }
    }
    accepted(&pool, Job::ok());
    assert!(pool.shutdown(LONG).is_clean(), "the parent's pool is as it was");
    assert_eq!(pool.metrics().counts.succeeded, 2);
    tell("the parent has ended");
}

fn use_in_the_child(pool: Pool) {
    // A grandchild of the test that hangs is nobody's to kill.
    thread::spawn(|| {
        thread::sleep(LONG);
        abort();
    });
    let began = Instant::now();
    accepted(&pool, Job::ok());
    let handle = pool.submitter().submit_tracked(Job::ok()).unwrap();
    let refused = pool.submitter().submit_timeout(Job::ok(), Duration::MAX).into_result().unwrap_err();
    assert_eq!(refused.reason(), RejectReason::QueueFull);
    assert_eq!(pool.wait_idle(Duration::MAX), Err(WaitError::WouldDeadlock));
    assert!(matches!(handle.wait(), Err(TaskError::WouldDeadlock)));
    let report = pool.shutdown(Duration::MAX);
    assert_eq!(report.abandoned.len(), 2, "what nobody runs is handed back: {report:?}");
    drop(pool);
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
}

/// Whether the system has put every other thread to sleep.
fn others_sleep() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let mut awake = 0;
    for task in tasks {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        awake += usize::from(!state.starts_with('S'));
    }
    // This one.
    awake == 1
}
