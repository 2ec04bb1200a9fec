//! Scenarios whose cost must be in proportion to what they touch: each touches as many letters, keys, delayed tasks or
//! handles as it is asked for, and says how long that took. The pool has no threads, so nothing else is in it.

use dockhand::{Lane, ManualPool, Processor, TaskContext, TaskHandle, TaskId, TaskOptions, WorkerPool};
use std::time::{Duration, Instant};

/// What is touched, and how long it takes for so many.
pub(crate) type Scenario = (&'static str, fn(usize) -> Duration);

pub(crate) const SCENARIOS: [Scenario; 13] = [
    ("letters: requeue_all, every one fits", requeue_all),
    ("letters: requeue_all into a full lane", requeue_all_full),
    ("letters: requeue each into a full lane, newest first", requeue_each_full),
    ("letters: requeue each, newest first", requeue_each),
    ("letters: take each and put it back, newest first", take_and_put_back),
    ("keys: submit, be refused as a duplicate, run", keys),
    ("delayed: submit, advance to each, run", delayed),
    ("delayed: submit, wait until all have run", wait_for_delayed),
    ("delayed: wait for each of those that are due", wait_for_due),
    ("delayed: cancel in no order", cancel_delayed),
    ("handles: cancel what is queued, newest first", cancel_queued),
    ("handles: run and wait, newest first", wait),
    ("handles: drop what is queued, then run", drop_queued),
];

/// Fails for a payload of `false`.
pub(crate) struct Task;

impl Processor for Task {
    type Payload = bool;
    type Output = ();
    type Error = &'static str;

    fn process(&self, works: &mut bool, _cx: &TaskContext<'_, bool>) -> Result<(), &'static str> {
        if *works { Ok(()) } else { Err("no") }
    }
}

fn pool(capacity: usize, letters: usize) -> ManualPool<Task> {
    let lane = Lane::new("default").queue_capacity(capacity).delay_capacity(letters);
    let builder = WorkerPool::builder(Task).lane(lane).dead_letter_capacity(letters);
    builder.build_manual().expect("the settings are right")
}

fn submit(pool: &ManualPool<Task>, works: bool, options: TaskOptions) -> TaskId {
    pool.submitter().submit_with(works, options).into_result().expect("there is room")
}

/// A pool with so many letters, the newest last, and room for so many tasks.
fn with_letters(n: usize, capacity: usize) -> (ManualPool<Task>, Vec<TaskId>) {
    let pool = pool(capacity, n);
    let ids = (0..n).map(|_| {
        let id = submit(&pool, false, TaskOptions::new());
        assert!(pool.run_one());
        id
    });
    let ids = ids.collect();
    assert_eq!(pool.dead_letters().len(), n);
    (pool, ids)
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn requeue_all(n: usize) -> Duration {
    let (pool, _) = with_letters(n, n);
    time(|| assert_eq!(pool.dead_letters().requeue_all(), n))
}

fn requeue_all_full(n: usize) -> Duration {
    let (pool, _) = with_letters(n, 1);
    submit(&pool, true, TaskOptions::new());
    time(|| assert_eq!(pool.dead_letters().requeue_all(), 0))
}

fn requeue_each_full(n: usize) -> Duration {
    let (pool, ids) = with_letters(n, 1);
    submit(&pool, true, TaskOptions::new());
    time(|| {
        for id in ids.into_iter().rev() {
            assert!(pool.dead_letters().requeue(id).is_err());
        }
    })
}

fn requeue_each(n: usize) -> Duration {
    let (pool, ids) = with_letters(n, n);
    time(|| {
        for id in ids.into_iter().rev() {
            assert!(pool.dead_letters().requeue(id).is_ok());
        }
    })
}

fn take_and_put_back(n: usize) -> Duration {
    let (pool, ids) = with_letters(n, 1);
    let letters = pool.dead_letters();
    time(|| {
        let taken: Vec<_> = ids.into_iter().rev().map(|id| letters.take(id).expect("it is there")).collect();
        taken.into_iter().for_each(|letter| letters.put_back(letter));
    })
}

fn keys(n: usize) -> Duration {
    let pool = pool(n, 1);
    let options: Vec<_> = (0..n).map(|key| TaskOptions::new().key(key.to_string())).collect();
    time(|| {
        for options in &options {
            submit(&pool, true, options.clone());
        }
        for options in options {
            assert!(pool.submitter().submit_with(true, options).into_payload().is_some());
        }
        assert_eq!(pool.run_until_idle(), n);
    })
}

/// Each number below `n` once, in no order.
fn shuffled(n: usize) -> impl Iterator<Item = usize> {
    // A prime that divides no power of ten.
    (0..n).map(move |place| place * 7919 % n)
}

fn later(millis: usize) -> TaskOptions {
    TaskOptions::new().delay(Duration::from_millis(millis as u64 + 1))
}

fn delayed(n: usize) -> Duration {
    let pool = pool(1, n);
    time(|| {
        for millis in shuffled(n) {
            submit(&pool, true, later(millis));
        }
        for _ in 0..n {
            assert!(pool.advance_to_next_due().is_some());
            assert!(pool.run_one());
        }
    })
}

fn tracked(pool: &ManualPool<Task>, options: impl Iterator<Item = TaskOptions>) -> Vec<TaskHandle<Task>> {
    let submitter = pool.submitter();
    options.map(|options| submitter.submit_tracked_with(true, options).expect("there is room")).collect()
}

fn wait_for_delayed(n: usize) -> Duration {
    let pool = pool(1, n);
    time(|| {
        for millis in shuffled(n) {
            submit(&pool, true, later(millis));
        }
        assert!(pool.wait_idle(Duration::MAX).is_ok());
    })
}

fn wait_for_due(n: usize) -> Duration {
    let pool = pool(1, n);
    let handles = tracked(&pool, (0..n).map(later));
    pool.advance(Duration::from_millis(n as u64));
    time(|| {
        for handle in handles {
            assert!(handle.wait().is_ok());
        }
    })
}

fn cancel_delayed(n: usize) -> Duration {
    let pool = pool(1, n);
    let handles = tracked(&pool, (0..n).map(later));
    time(|| {
        for place in shuffled(n) {
            let _ = handles[place].cancel();
        }
        assert_eq!(pool.run_until_idle(), 0);
    })
}

fn queued(n: usize) -> (ManualPool<Task>, Vec<TaskHandle<Task>>) {
    let pool = pool(n, 1);
    let handles = tracked(&pool, (0..n).map(|_| TaskOptions::new()));
    (pool, handles)
}

fn cancel_queued(n: usize) -> Duration {
    let (pool, handles) = queued(n);
    time(|| {
        for handle in handles.iter().rev() {
            let _ = handle.cancel();
        }
        assert_eq!(pool.run_until_idle(), 0);
    })
}

fn wait(n: usize) -> Duration {
    let (_pool, handles) = queued(n);
    time(|| {
        for handle in handles.into_iter().rev() {
            assert!(handle.wait().is_ok());
        }
    })
}

fn drop_queued(n: usize) -> Duration {
    let (pool, handles) = queued(n);
    time(|| {
        drop(handles);
        assert_eq!(pool.run_until_idle(), n);
    })
}
