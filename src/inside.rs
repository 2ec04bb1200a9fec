//! Which pools this thread is inside of, and how deep.
//!
//! A thread is *inside* a pool while it runs user code on the pool's behalf: a worker all its life, any other thread
//! in a caller-run or in a hook. Waiting for the pool from there would wait for itself. Each entry that comes from a
//! submit also counts as depth, over all pools: a hook that submits into a full lane whose policy runs a hook would
//! recurse without end.

use crate::sync::{ThreadId, current, thread_local};
use crate::word::HasRunner;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;

/// Deeper than this a policy that acts refuses instead.
pub(crate) const MAX_DEPTH: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Worker,
    Submit,
}

struct Frame {
    pool: u64,
    entry: Entry,
    runner: Option<Arc<dyn HasRunner>>,
}

thread_local! {
    /// Without a destructor of its own: those of other thread-locals may use the pool, and whatever they run is inside.
    static FRAMES: RefCell<ManuallyDrop<Vec<Frame>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    static CLEARING: Clearing = const { Clearing };
    /// Set for good on a worker's thread.
    static WORKER: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

/// Frees the memory of the frames at the end of the thread.
struct Clearing;

impl Drop for Clearing {
    fn drop(&mut self) {
        with_frames(free_if_empty);
    }
}

/// `None` where the system destroys thread-locals that have no destructor.
fn with_frames<R>(f: impl FnOnce(&mut Vec<Frame>) -> R) -> Option<R> {
    FRAMES.try_with(|frames| f(&mut frames.borrow_mut())).ok()
}

/// Where frames are left, `exit` was called inside, and the process ends.
fn free_if_empty(frames: &mut Vec<Frame>) {
    if frames.is_empty() {
        drop(mem::take(frames));
    }
}

/// Keeps the frame while user code runs; stays on the thread that made it.
pub(crate) struct Guard(PhantomData<*const ()>);

impl Drop for Guard {
    fn drop(&mut self) {
        let frame = with_frames(Vec::pop);
        drop(frame);
        if CLEARING.try_with(|_| ()).is_err() {
            with_frames(free_if_empty);
        }
    }
}

fn enter(frame: Frame) -> Guard {
    with_frames(|frames| frames.push(frame));
    // The first use on a thread has it cleared.
    let _ = CLEARING.try_with(|_| ());
    Guard(PhantomData)
}

/// The thread that a worker has for life, even if it has left the pool; `None` on any other. The standard library's answer
/// is not to be had once its own thread-local is gone.
pub(crate) fn worker_thread() -> Option<ThreadId> {
    WORKER.try_with(Cell::get).ok().flatten()
}

/// This thread is for life a worker's.
pub(crate) fn become_worker() {
    let _ = WORKER.try_with(|worker| worker.set(Some(current().id())));
}

/// This thread is a worker of `pool`.
pub(crate) fn enter_worker(pool: u64, runner: Arc<dyn HasRunner>) -> Guard {
    enter(Frame { pool, entry: Entry::Worker, runner: Some(runner) })
}

/// This thread runs user code of `pool` because of a submit; with a runner if it is an attempt.
pub(crate) fn enter_submit(pool: u64, runner: Option<Arc<dyn HasRunner>>) -> Guard {
    enter(Frame { pool, entry: Entry::Submit, runner })
}

/// How many submits deep this thread is in user code.
pub(crate) fn depth() -> usize {
    let depth = with_frames(|frames| frames.iter().filter(|frame| frame.entry == Entry::Submit).count());
    // Where nobody can tell, no policy acts.
    depth.unwrap_or(MAX_DEPTH)
}

pub(crate) fn is_inside(pool: u64) -> bool {
    with_frames(|frames| frames.iter().any(|frame| frame.pool == pool)).unwrap_or(false)
}

/// The runners of `pool` that this thread is; they cannot go on while it waits.
pub(crate) fn runners(pool: u64) -> Vec<Arc<dyn HasRunner>> {
    with_frames(|frames| {
        let own = frames.iter().filter(|frame| frame.pool == pool);
        own.filter_map(|frame| frame.runner.clone()).collect()
    })
    .unwrap_or_default()
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;
    use crate::word::Runner;

    struct Alone(Runner);

    impl HasRunner for Alone {
        fn runner(&self) -> &Runner {
            &self.0
        }
    }

    fn alone() -> Arc<dyn HasRunner> {
        Arc::new(Alone(Runner::new()))
    }

    #[test]
    fn a_thread_is_inside_the_pools_of_its_frames_only() {
        assert!(!is_inside(1));
        let worker = enter_worker(1, alone());
        let hook = enter_submit(2, None);
        assert!(is_inside(1) && is_inside(2) && !is_inside(3));
        assert_eq!((runners(1).len(), runners(2).len()), (1, 0));
        drop(hook);
        assert!(is_inside(1) && !is_inside(2));
        drop(worker);
        assert!(!is_inside(1));
    }

    #[test]
    fn depth_counts_submits_over_all_pools_and_no_worker() {
        let _worker = enter_worker(1, alone());
        assert_eq!(depth(), 0);
        let _one = enter_submit(1, None);
        let _two = enter_submit(2, None);
        assert_eq!(depth(), 2);
    }
}
