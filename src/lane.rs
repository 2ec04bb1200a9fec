//! A lane as it runs: its queue, its delay queue, who waits for room, and what is counted for it.

use crate::ages::Ages;
use crate::budget::Budget;
use crate::clock::Moment;
use crate::config::{LaneConfig, OverloadPolicy, Timing};
use crate::delay::DelayQueue;
use crate::histogram::Recording;
use crate::job::{Job, Place, Task, Waiting};
use crate::options::TaskOptions;
use crate::permits::Permits;
use crate::processor::Processor;
use crate::retry::RetryPolicy;
use crate::room::Room;
use crate::slot::Slot;
use crate::sync::{ArrayQueue, AtomicU64, Mutex, Ordering};
use crate::tally::{Recorder, Tally};
use crate::task::{TaskId, TaskInfo};
use crossbeam::utils::CachePadded;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct LaneQueue<P: Processor> {
    pub(crate) name: Arc<str>,
    pub(crate) overload: OverloadPolicy,
    /// A plain submit has nothing to do here but to push: no limit, no ttl, no listener, not every task timed.
    pub(crate) is_plain: bool,
    /// Every attempt has to know the time, not only that of a task that is timed.
    pub(crate) needs_clock: bool,
    pub(crate) retry: RetryPolicy,
    pub(crate) queue: ArrayQueue<Task<P>>,
    pub(crate) delays: DelayQueue<Waiting<P>>,
    pub(crate) delay_capacity: usize,
    pub(crate) room: Room,
    /// How many attempts may run at a time; `None` for a lane without a limit.
    pub(crate) permits: Option<Permits>,
    /// How long a task may wait that does not say otherwise.
    pub(crate) ttl: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) slow_after: Option<Duration>,
    /// How many of its failures may be retried, if that is bounded.
    pub(crate) budget: Option<Mutex<Budget>>,
    /// When its queued tasks came, if every task is timed.
    pub(crate) ages: Option<Ages>,
    /// How long caller-runs took.
    pub(crate) caller_run: Recording,
    /// How many tasks have ended while they were queued. They keep their place until somebody passes them.
    died: AtomicU64,
    /// How many of those have left the queue.
    passed: AtomicU64,
    /// The keys of what is in flight, with the task that has each.
    keys: Mutex<HashMap<Arc<str>, TaskId>>,
    /// What threads other than workers count.
    shared: CachePadded<Tally>,
    /// The largest `accepted` that was told, so that it never runs backwards.
    pub(crate) accepted_told: AtomicU64,
}

impl<P: Processor> LaneQueue<P> {
    /// The size of a slot of the queue, for the check of its capacity: a stamp and a task.
    pub(crate) const SLOT: usize = size_of::<(usize, Task<P>)>();

    pub(crate) fn new(config: LaneConfig, timing: Timing, listens: bool) -> Self {
        let budget = config.retry.budget_policy();
        LaneQueue {
            name: config.name.into(),
            overload: config.overload,
            is_plain: !listens
                && config.max_concurrency.is_none()
                && config.ttl.is_none()
                && timing != Timing::Full,
            needs_clock: listens
                || config.attempt_timeout.is_some()
                || budget.is_some()
                || (config.slow_after.is_some() && timing.is_on()),
            retry: config.retry,
            queue: ArrayQueue::new(config.capacity),
            delays: DelayQueue::new(config.delay_capacity),
            delay_capacity: config.delay_capacity,
            room: Room::new(),
            permits: config.max_concurrency.map(Permits::new),
            ttl: config.ttl,
            attempt_timeout: config.attempt_timeout,
            slow_after: config.slow_after,
            budget: budget.map(|policy| Mutex::new(Budget::new(policy))),
            ages: (timing == Timing::Full).then(|| Ages::new(config.capacity)),
            caller_run: Recording::default(),
            died: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            keys: Mutex::new(HashMap::new()),
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

    /// Nothing waits; tasks that have ended and only keep their place do not count.
    pub(crate) fn is_empty(&self) -> bool {
        self.queued() == 0 && self.delays.is_empty()
    }

    /// A task has left the queue.
    pub(crate) fn left_queue(&self) {
        if let Some(ages) = &self.ages {
            ages.left();
        }
    }

    /// How many tasks wait in the queue. In this order, so that it errs towards "not empty": the length counts a push that
    /// is half done, and what is passed in between counts for the living.
    pub(crate) fn queued(&self) -> usize {
        let len = self.queue.len();
        let died = self.died();
        let dead = died.saturating_sub(self.passed());
        len.saturating_sub(usize::try_from(dead).unwrap_or(usize::MAX))
    }

    /// How many tasks came into the queue and were not taken alive, and how many of them wait there.
    ///
    /// A dead task leaves the queue a moment before it counts as passed. The larger of length and number of dead counts it
    /// until then, so that the law holds while a worker passes what was cancelled in a pool that is otherwise at rest.
    /// Read in this order, the first number is never more than it was at the end of the reading.
    pub(crate) fn census(&self) -> (u64, u64) {
        let passed = self.passed();
        let dead = self.died().saturating_sub(passed);
        let len = self.queue.len() as u64;
        (passed + len.max(dead), len.saturating_sub(dead))
    }

    fn died(&self) -> u64 {
        // Ordering: Acquire, partner of `add_dead`: who sees a death sees what its canceller counted before.
        self.died.load(Ordering::Acquire)
    }

    /// How many dead tasks have left the queue. It may be ahead of the deaths: a worker may pass a task whose canceller has
    /// not counted it yet.
    pub(crate) fn passed(&self) -> u64 {
        // Ordering: Acquire, partner of `pass_dead`: who sees it passed finds it gone.
        self.passed.load(Ordering::Acquire)
    }

    /// A task in the queue has ended; it keeps its place until somebody passes it.
    pub(crate) fn add_dead(&self) {
        self.died.fetch_add(1, Ordering::AcqRel);
    }

    /// A task that had ended was taken from where it had kept its place; the dead of the delay queue are not counted here.
    pub(crate) fn pass_dead(&self, was: Place) {
        if was == Place::Queued {
            self.passed.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Takes a key for a task; the task that has it, if one is in flight.
    pub(crate) fn take_key(&self, key: &Arc<str>, id: TaskId) -> Result<(), TaskId> {
        match self.keys.lock().entry(Arc::clone(key)) {
            Entry::Occupied(other) => Err(*other.get()),
            Entry::Vacant(free) => {
                free.insert(id);
                Ok(())
            }
        }
    }

    pub(crate) fn free_key(&self, key: &Arc<str>) {
        self.keys.lock().remove(key);
    }

    /// Whether a limit leaves room for one more attempt.
    pub(crate) fn has_permit(&self) -> bool {
        self.permits.as_ref().is_none_or(Permits::is_free)
    }

    /// Whether the lane may run anything at all.
    pub(crate) fn is_paused(&self) -> bool {
        self.permits.as_ref().is_some_and(|permits| permits.limit() == 0)
    }

    pub(crate) fn try_acquire(&self) -> bool {
        self.permits.as_ref().is_none_or(Permits::try_acquire)
    }

    /// Gives a permit back. True if the lane has a limit, so that what it held back may start now.
    pub(crate) fn release(&self) -> bool {
        self.permits.as_ref().inspect(|permits| permits.release()).is_some()
    }

    pub(crate) fn info(&self, id: TaskId, attempt: u32, slot: Option<&Slot<P>>) -> TaskInfo {
        TaskInfo {
            id,
            lane: Arc::clone(&self.name),
            attempt,
            key: slot.and_then(|slot| slot.options.key.clone()),
            replays: slot.map_or(0, |slot| slot.replays),
            origin: slot.map_or(id, |slot| slot.origin),
        }
    }

    /// What a task was submitted with, but for a delay.
    pub(crate) fn options_of(&self, job: &Job<P>) -> TaskOptions {
        if let Some(slot) = &job.slot {
            return slot.options.clone();
        }
        // Without a slot it has a ttl at the most; its stamp is then that of its submit, whether it is timed or not.
        let is_stamped = job.stamp != Moment::NEVER;
        let ttl = match job.deadline {
            Moment::NEVER => is_stamped.then_some(Duration::MAX).filter(|_| self.ttl.is_some()),
            deadline => is_stamped.then(|| deadline.since(job.stamp)),
        };
        TaskOptions { ttl: ttl.filter(|ttl| self.ttl != Some(*ttl)), ..TaskOptions::new() }
    }

    /// Publishes a reading of `accepted` and gives the largest one so far.
    pub(crate) fn tell_accepted(&self, accepted: u64) -> u64 {
        self.accepted_told.fetch_max(accepted, Ordering::Relaxed).max(accepted)
    }
}
