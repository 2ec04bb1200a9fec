//! Every way to use a pool, on a thread whose thread-locals are about to be destroyed or gone.
//!
//! It needs nothing of the suite: `tools/aborts` is the same, built so that a panic ends the process.

use super::at_end::{at_end, outlive_what_follows};
use dockhand::{
    Closures, Lane, OverloadPolicy, ProcessorFn, RetryPolicy, TaskHandle, TaskOptions, Timing, WaitError,
    WorkerPool, processor_fn,
};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

const POLICIES: [OverloadPolicy; 4] = [
    OverloadPolicy::Reject,
    OverloadPolicy::DropIncoming,
    OverloadPolicy::DropOldest,
    OverloadPolicy::CallerRuns,
];
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3600);

/// Whose thread-locals are destroyed, and how many of them are gone by then.
pub(crate) const CASES: [(&str, &str); 6] = [
    ("a user's thread", "first"),
    ("a user's thread", "last"),
    ("a worker of another pool", "first"),
    ("a worker of another pool", "last"),
    ("a worker of its own", "first"),
    ("a worker of its own", "last"),
];

/// What a task does.
enum Work {
    Succeed,
    Fail,
    Panic,
    Run(Option<Box<dyn FnOnce() + Send>>),
}

impl Work {
    fn run(f: impl FnOnce() + Send + 'static) -> Self {
        Work::Run(Some(Box::new(f)))
    }
}

type Pool = WorkerPool<ProcessorFn<Work, (), String>>;

fn process(work: &mut Work) -> Result<(), String> {
    match work {
        Work::Succeed => {}
        Work::Fail => return Err("as planned".to_string()),
        // No panic hook hears of it.
        Work::Panic => resume_unwind(Box::new("as planned")),
        Work::Run(f) => f.take().into_iter().for_each(|f| f()),
    }
    Ok(())
}

/// One worker, room for one task, and retries whose delay is spread.
fn build(listens: bool) -> Pool {
    let retry = RetryPolicy::fixed(SHORT).jitter(0.5).max_retries(1);
    let builder = WorkerPool::builder(processor_fn(|work: &mut Work, _cx| process(work)))
        .workers(1)
        .queue_capacity(1)
        .lane(Lane::new("default").delay_capacity(256))
        .retry(retry)
        .dead_letter_capacity(4)
        .on_shed(|_| ());
    let builder = if listens { builder.timing(Timing::Full).on_event(|_| ()) } else { builder };
    builder.build().unwrap()
}

/// Uses pools in a destructor of a thread-local, the first one that is destroyed on its thread or the last one.
pub(crate) fn use_in_a_destructor((thread, destroyed): (&str, &'static str), panics: bool) {
    let pools = vec![build(false), build(true)];
    let use_pools = move || pools.into_iter().chain([build(false)]).for_each(|pool| use_up(pool, panics));
    match thread {
        "a user's thread" => {
            thread::spawn(move || defer(destroyed, panics, use_pools)).join().unwrap();
        }
        "a worker of another pool" => {
            let another = WorkerPool::builder(Closures).workers(1).build().unwrap();
            another.execute(move || defer(destroyed, panics, use_pools)).into_result().unwrap();
            // The drop waits for the destructors of its worker.
        }
        _ => end_on_its_own_worker(destroyed, panics),
    }
}

/// Has a destructor run it on a thread that has used a pool before.
fn defer(destroyed: &str, panics: bool, run: impl FnOnce() + 'static) {
    if destroyed == "last" {
        outlive_what_follows();
    }
    use_up(build(true), panics);
    at_end(run);
}

/// The last owner of a pool is a destructor of its own worker.
fn end_on_its_own_worker(destroyed: &'static str, panics: bool) {
    let pool = Arc::new(build(true));
    let (kept, (done, is_done)) = (Arc::clone(&pool), channel());
    let is_let_go = Arc::new(Barrier::new(2));
    let at = Arc::clone(&is_let_go);
    let task = Work::run(move || {
        at.wait();
        defer(destroyed, panics, move || {
            let pool = Arc::into_inner(kept).unwrap();
            offer_all(&pool, panics);
            end(pool);
            done.send(()).unwrap();
        });
    });
    pool.submit(task).into_result().unwrap();
    pool.begin_shutdown();
    drop(pool);
    is_let_go.wait();
    is_done.recv_timeout(LONG).unwrap();
}

fn use_up(pool: Pool, panics: bool) {
    let plug = Arc::new(Barrier::new(2));
    let at = Arc::clone(&plug);
    pool.submit(Work::run(move || {
        at.wait();
        at.wait();
    }))
    .into_result()
    .unwrap();
    plug.wait();
    pool.submit(Work::Succeed).into_result().unwrap();
    offer_all(&pool, panics);
    assert_eq!(pool.wait_idle(SHORT), Err(WaitError::TimedOut));
    plug.wait();
    pool.wait_idle(LONG).unwrap();
    pool.submitter().submit_tracked(Work::Succeed).unwrap().wait().unwrap();
    end(pool);
}

/// Each way to submit under each policy, whatever the answers are: the worker is busy, or has left.
fn offer_all(pool: &Pool, panics: bool) {
    let mut works: Vec<fn() -> Work> = vec![|| Work::Succeed, || Work::Fail];
    if panics {
        works.push(|| Work::Panic);
    }
    for policy in POLICIES {
        let here = pool.submitter().with_overload(policy);
        for work in &works {
            drop(here.submit(work()));
            drop(here.submit_with(work(), TaskOptions::new().ttl(HOUR)));
            drop(here.submit_with(work(), TaskOptions::new().key("it")));
            drop(here.submit_with(work(), TaskOptions::new().delay(SHORT)));
            drop(here.submit_timeout(work(), SHORT));
            drop(here.submit_batch([work(), work()]));
            here.submit_tracked(work()).into_iter().for_each(follow);
            here.submit_tracked_with(work(), TaskOptions::new().key("it")).into_iter().for_each(follow);
            here.submit_tracked_with(work(), TaskOptions::new().delay(HOUR)).into_iter().for_each(follow);
            let left = here.submit_tracked_with(work(), TaskOptions::new().delay(HOUR));
            drop(left.map(TaskHandle::cancel_on_drop));
        }
    }
    let _ = pool.set_max_concurrency("default", 1);
    drop((pool.status(), pool.metrics()));
    let letters = pool.dead_letters();
    letters.requeue_all();
    if let Some(letter) = letters.list().first().and_then(|info| letters.take(info.task.id)) {
        letters.put_back(letter);
    }
    drop(letters.drain());
}

fn follow(mut handle: TaskHandle<ProcessorFn<Work, (), String>>) {
    let _ = (handle.status(), handle.progress());
    if Pin::new(&mut handle).poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        drop(handle.wait_timeout(SHORT));
    }
    drop(handle.cancel());
}

fn end(pool: Pool) {
    let metrics = pool.metrics();
    assert!(metrics.counts.is_conserved(), "{metrics:#?}");
    assert_eq!(metrics.hook_panics, 0);
    pool.begin_shutdown();
    assert!(pool.shutdown(LONG).is_clean());
    drop(pool);
}
