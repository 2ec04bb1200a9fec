//! A lane as it runs: its queue, its delay queue, who waits for room, and what is counted for it.

use crate::clock::Moment;
use crate::config::{LaneConfig, OverloadPolicy};
use crate::delay::DelayQueue;
use crate::failure::Failure;
use crate::retry::RetryPolicy;
use crate::room::Room;
use crate::sync::{AtomicU64, Ordering};
use crate::tally::{Recorder, Tally};
use crate::task::{Job, Place, Task, TaskId, TaskInfo};
use crossbeam::queue::ArrayQueue;
use crossbeam::utils::CachePadded;
use std::sync::Arc;

pub(crate) struct LaneQueue<T, E> {
    pub(crate) name: Arc<str>,
    pub(crate) overload: OverloadPolicy,
    pub(crate) retry: RetryPolicy,
    pub(crate) queue: ArrayQueue<Task<T>>,
    pub(crate) delays: DelayQueue<Job<T, Failure<E>>>,
    pub(crate) delay_capacity: usize,
    pub(crate) room: Room,
    /// What threads other than workers count.
    shared: CachePadded<Tally>,
    /// The largest `accepted` that was told, so that it never runs backwards.
    pub(crate) accepted_told: AtomicU64,
}

/// A task in the hands of the pool, on its way to a report or to `on_shed`.
pub(crate) struct Held<T, E> {
    pub(crate) lane: usize,
    pub(crate) was: Place,
    pub(crate) job: Job<T, Failure<E>>,
}

impl<T, E> LaneQueue<T, E> {
    /// The size of a slot of the queue, for the check of its capacity: a stamp and a task.
    pub(crate) const SLOT: usize = size_of::<usize>() + size_of::<Task<T>>();

    pub(crate) fn new(config: LaneConfig) -> Self {
        LaneQueue {
            name: config.name.into(),
            overload: config.overload,
            retry: config.retry,
            queue: ArrayQueue::new(config.capacity),
            delays: DelayQueue::new(config.delay_capacity),
            delay_capacity: config.delay_capacity,
            room: Room::new(),
            shared: CachePadded::default(),
            accepted_told: AtomicU64::new(0),
        }
    }

    pub(crate) fn recorder(&self) -> Recorder<'_> {
        Recorder::Shared(&self.shared)
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.shared
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.delays.next_due() == Moment::NEVER && self.delays.len() == 0
    }

    pub(crate) fn info(&self, id: TaskId, attempt: u32) -> TaskInfo {
        TaskInfo { id, lane: Arc::clone(&self.name), attempt }
    }

    /// Publishes a reading of `accepted` and gives the largest one so far.
    pub(crate) fn tell_accepted(&self, accepted: u64) -> u64 {
        self.accepted_told.fetch_max(accepted, Ordering::Relaxed).max(accepted)
    }
}
