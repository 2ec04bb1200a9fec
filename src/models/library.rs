//! The library itself on threads of loom: its `Shared`, workers and handles as they are, with nothing repeated.
//!
//! What loom cannot see happens here in one step and orders nothing: a push or pop of the lane's `ArrayQueue`, and the
//! clock, which stands still unless a model moves it. The models of the single protocols look into those.

use crate::clock::{Clock, ManualClock, Moment};
use crate::config::{Lane, OverloadPolicy, PoolConfig, Timing, UserCode};
use crate::context::TaskContext;
use crate::event::Event;
use crate::handle::TaskHandle;
use crate::job::{Body, Task};
use crate::lane::LaneQueue;
use crate::options::TaskOptions;
use crate::processor::{ProcessorFn, processor_fn};
use crate::shared::Shared;
use crate::step::AtEnd;
use crate::task::TaskId;
use crate::worker::TaskWorker;
use loom::thread::JoinHandle;
use std::sync::Arc;
use std::time::Duration;

/// Tasks are numbers, and so are their outputs.
pub(super) type Work = ProcessorFn<u64, u64, String>;
pub(super) type Library = Shared<Work>;
pub(super) type Handle = TaskHandle<Work>;

/// What a task comes to, by its number and that of the attempt.
pub(super) trait Process: Fn(u64, u32) -> Result<u64, String> + Send + Sync + 'static {}
impl<F: Fn(u64, u32) -> Result<u64, String> + Send + Sync + 'static> Process for F {}

fn user_code(process: impl Process) -> UserCode<Work> {
    let process = move |task: &mut u64, cx: &TaskContext<'_, u64>| process(*task, cx.attempt());
    UserCode::new(processor_fn(process))
}

/// The settings of the only lane, with room for two.
pub(super) fn lane() -> Lane {
    Lane::new("default").queue_capacity(2)
}

/// A pool whose workers have not been started.
pub(super) fn pool(workers: usize, lane: Lane, process: impl Process) -> Arc<Library> {
    Arc::new(build(workers, vec![lane], user_code(process)))
}

/// As [`pool`], with a listener.
pub(super) fn listened(
    workers: usize,
    lane: Lane,
    process: impl Process,
    hook: impl Fn(&Event<'_>) + Send + Sync + 'static,
) -> Arc<Library> {
    let mut user = user_code(process);
    user.on_event.push(Box::new(hook));
    Arc::new(build(workers, vec![lane], user))
}

fn build(workers: usize, lanes: Vec<Lane>, user: UserCode<Work>) -> Library {
    let config = PoolConfig { workers, timing: Timing::Off, lanes, ..PoolConfig::new() };
    let lanes = config.resolve_lanes(LaneQueue::<Work>::SLOT).expect("the settings are good");
    let clock = Clock::Manual(ManualClock::new());
    Shared { clock, ..Shared::new(&config, lanes, user, None) }
}

/// A pool of one worker with a lane that comes before the default one.
pub(super) fn with_lane_before(first: Lane, lane: Lane, process: impl Process) -> Arc<Library> {
    Arc::new(build(1, vec![first, lane], user_code(process)))
}

/// Moves the clock, and wakes the timer to look at it.
pub(super) fn pass_time(pool: &Library, by: Duration) {
    let Clock::Manual(clock) = &pool.clock else { panic!("the clock is moved by hand") };
    // Loom does not see the clock. By a lock that workers take beside their readings it tries this between their steps.
    let _waiting = pool.lanes[0].delays.len();
    clock.advance(by);
    pool.timer.poke(|| true);
}

/// `start.rs`, without hooks.
pub(super) fn start(pool: &Arc<Library>) -> Vec<JoinHandle<()>> {
    let start = |me| {
        let user = pool.user().expect("the pool has not ended");
        let worker = TaskWorker::new(Arc::clone(pool), user, me);
        loom::thread::spawn(move || worker.run())
    };
    (0..pool.workers.len()).map(start).collect()
}

/// As [`start`], of workers that sleep. How they fell asleep is explored by others.
pub(super) fn start_asleep(pool: &Arc<Library>) -> Vec<JoinHandle<()>> {
    loom::stop_exploring();
    let workers = start(pool);
    while pool.sleep.state().sleeping() < workers.len() as u64 {
        loom::thread::yield_now();
    }
    loom::explore();
    workers
}

/// `submitter.rs`.
pub(super) fn submit(pool: &Arc<Library>, payload: u64, options: TaskOptions) -> Option<Handle> {
    let slot = pool.submit_tracked(0, payload, OverloadPolicy::Reject, options).ok()?;
    Some(TaskHandle { shared: Arc::clone(pool), slot, cancel_on_drop: false })
}

/// A submit that cannot be refused.
pub(super) fn submit_one(pool: &Arc<Library>, payload: u64) -> Handle {
    submit(pool, payload, TaskOptions::new()).expect("there is room, and the pool is open")
}

/// `pool.rs`, `wait_idle`.
pub(super) fn wait_idle(pool: &Library) {
    assert!(pool.wait_for(|| pool.is_idle(), || Moment::NEVER, AtEnd::RunOn));
}

/// Everything has come to rest: what went in has come out, each task once.
pub(super) fn assert_conserved(pool: &Library) {
    let counts = pool.counts();
    assert!(counts.is_conserved(), "{counts:?}");
    assert_eq!((counts.queued, counts.delayed, counts.running), (0, 0, 0), "{counts:?}");
    assert_eq!((counts.panics, pool.guard.panics()), (0, 0), "what a model asserts in user code holds");
    // No entry is counted as dead that has left the queue: it would hide this one.
    let task =
        Task { id: TaskId::next(), deadline: Moment::NEVER, stamp: Moment::NEVER, body: Body::Inline(0) };
    assert!(pool.lanes[0].queue.push(task).is_ok());
    assert_eq!(pool.lanes[0].queued(), 1, "counted as dead, and not in the queue");
    drop(pool.lanes[0].queue.pop());
}
