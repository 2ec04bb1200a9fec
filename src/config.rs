//! What is set before a pool is built.

use crate::dead_letter::{DeadLetter, LetterFate};
use crate::error::BuildError;
use crate::failure::{Cause, RetryDecision};
use crate::processor::Processor;
use crate::retry::RetryPolicy;
use crate::task::{DEFAULT_LANE, Shed};
use std::fmt;
use std::time::Duration;

/// More threads than a process can have, and fewer than the sleep word can count.
const MAX_WORKERS: usize = 1 << 16;
const DEFAULT_CAPACITY: usize = 1024;
const DEFAULT_LETTERS: usize = 1024;
const DEFAULT_DROP_TIMEOUT: Duration = Duration::from_secs(5);

/// What a full lane answers to one more task.
///
/// | policy | answer | what happens |
/// | --- | --- | --- |
/// | `Reject` | `Rejected(QueueFull)` | the payload comes back |
/// | `CallerRuns` | `CallerRun` | this thread runs one attempt, past the lane's queue; a panic does not unwind into it |
/// | `DropIncoming` | `Dropped` | the payload comes back, counted as dropped |
/// | `DropOldest` | `Accepted` | the lane's oldest queued task ends as `Evicted` and goes to [`on_shed`](crate::PoolBuilder::on_shed) on this thread |
///
/// A policy that runs user code on the submitting thread answers `Rejected(QueueFull)` once it is nested more than
/// eight deep on one thread. Do not let an event loop run tasks: give it a submitter
/// [`with_overload(Reject)`](crate::TaskSubmitter::with_overload).
///
/// ```
/// use dockhand::{Lane, OverloadPolicy, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
///     .lane(Lane::new("audio").queue_capacity(64).overload(OverloadPolicy::DropOldest))
///     .lane(Lane::new("reports").overload(OverloadPolicy::Reject))
///     .build()?;
/// assert!(pool.submitter_for("audio").is_ok());
/// # Ok::<(), dockhand::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OverloadPolicy {
    /// Refuse; the payload comes back.
    #[default]
    Reject,
    /// Run one attempt on the submitting thread.
    CallerRuns,
    /// Drop what comes in; the payload comes back all the same.
    DropIncoming,
    /// Displace the lane's oldest queued task.
    DropOldest,
}

/// What a worker does when there is nothing to do.
///
/// ```
/// use dockhand::{IdleStrategy, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())))
///     .idle(IdleStrategy::SpinThenPark(Duration::from_micros(50)))
///     .build()?;
/// pool.submit(()).into_result()?;
/// assert_eq!(pool.wait_idle(Duration::from_secs(10)), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdleStrategy {
    /// Park at once. Costs no processor time; the next submit pays a system call, and the task waits until the
    /// system has started the thread.
    #[default]
    Park,
    /// Look for work that long, with growing pauses, before parking. At most half of the workers (at least one) spin
    /// at a time; none on a machine with one core. While one spins, a submit makes no system call.
    SpinThenPark(Duration),
}

/// One named class of work: its own bounded queue, overload policy, priority and retry policy. A full lane refuses
/// nothing to the others.
///
/// The order of declaration is the priority, most urgent first; every 64th take of a worker starts at the next lane
/// in turn, so that none starves. A lane `"default"` always exists; it is last unless it is declared. What a lane does
/// not say is taken from the [`PoolBuilder`](crate::PoolBuilder).
///
/// ```
/// use dockhand::{Lane, OverloadPolicy, RetryPolicy, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let notify = Lane::new("notify")
///     .queue_capacity(256)
///     .overload(OverloadPolicy::DropOldest)
///     .retry(RetryPolicy::exponential(Duration::from_millis(200)).jitter(0.2))
///     .delay_capacity(64);
/// let pool = WorkerPool::builder(processor_fn(|_: &mut String, _cx| Ok::<(), String>(())))
///     .lane(notify)
///     .build()?;
/// let names: Vec<_> = pool.metrics().lanes.into_iter().map(|lane| lane.name).collect();
/// assert_eq!(names, ["notify", "default"]);
/// # Ok::<(), dockhand::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a lane does nothing until it is given to a builder"]
pub struct Lane {
    pub(crate) name: String,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) delay_capacity: Option<usize>,
    pub(crate) overload: Option<OverloadPolicy>,
    pub(crate) retry: Option<RetryPolicy>,
}

impl Lane {
    /// A lane that takes all its settings from the builder.
    ///
    /// ```
    /// use dockhand::{Lane, WorkerPool, processor_fn};
    /// let lane = Lane::new("mail");
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(lane).build()?;
    /// assert_eq!(pool.metrics().lanes[0].name, "mail");
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        Lane { name: name.into(), capacity: None, delay_capacity: None, overload: None, retry: None }
    }

    /// How many tasks may wait. Slots are allocated when the pool is built: capacity times the size of the payload.
    ///
    /// ```
    /// use dockhand::{Lane, WorkerPool, processor_fn};
    /// let lane = Lane::new("mail").queue_capacity(7);
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(lane).build()?;
    /// assert_eq!(pool.metrics().lanes[0].queue_capacity, 7);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn queue_capacity(self, tasks: usize) -> Self {
        Lane { capacity: Some(Capacity::Tasks(tasks)), ..self }
    }

    /// How many failed tasks may wait for their retry; by default as many as the queue holds, so a small queue with long
    /// delays wants more. A retry that finds no room becomes a letter with reason [`DelayFull`](crate::letter::DeadLetterReason::DelayFull).
    ///
    /// ```
    /// use dockhand::{Lane, WorkerPool, processor_fn};
    /// let lane = Lane::new("mail").queue_capacity(7).delay_capacity(3);
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(lane).build()?;
    /// assert_eq!(pool.metrics().lanes[0].delay_capacity, 3);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn delay_capacity(self, tasks: usize) -> Self {
        Lane { delay_capacity: Some(tasks), ..self }
    }

    /// What the lane answers when it is full.
    ///
    /// ```
    /// use dockhand::{Lane, OverloadPolicy};
    /// let lane = Lane::new("frames").overload(OverloadPolicy::DropOldest);
    /// assert!(format!("{lane:?}").contains("DropOldest"));
    /// ```
    pub fn overload(self, policy: OverloadPolicy) -> Self {
        Lane { overload: Some(policy), ..self }
    }

    /// How often and when the lane's failed tasks are tried again.
    ///
    /// ```
    /// use dockhand::{BuildError, Lane, RetryPolicy, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let lane = Lane::new("mail").retry(RetryPolicy::fixed(Duration::from_secs(1)).jitter(2.0));
    /// let built = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(lane).build();
    /// assert!(matches!(built, Err(BuildError::InvalidRetry { lane, .. }) if lane == "mail"));
    /// ```
    pub fn retry(self, policy: RetryPolicy) -> Self {
        Lane { retry: Some(policy), ..self }
    }
}

/// A queue's bound, or what it is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    Tasks(usize),
    For { cost: Duration, wait: Duration },
}

impl Capacity {
    /// The number of tasks, 0 if it comes out as none.
    pub(crate) fn resolve(self, workers: usize) -> usize {
        match self {
            Capacity::Tasks(tasks) => tasks,
            Capacity::For { cost, wait } => {
                let work = wait.as_nanos().saturating_mul(workers as u128);
                let tasks = work.checked_div(cost.as_nanos()).unwrap_or(0);
                usize::try_from(tasks).unwrap_or(usize::MAX)
            }
        }
    }
}

/// A lane with nothing left open.
#[derive(Clone, Debug)]
pub(crate) struct LaneConfig {
    pub(crate) name: String,
    pub(crate) capacity: usize,
    pub(crate) delay_capacity: usize,
    pub(crate) overload: OverloadPolicy,
    pub(crate) retry: RetryPolicy,
}

/// What a lane has that does not say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct LaneDefaults {
    pub(crate) capacity: Capacity,
    pub(crate) overload: OverloadPolicy,
    pub(crate) retry: RetryPolicy,
}

/// The settings of a pool, without its user code.
#[derive(Clone, Debug)]
pub(crate) struct PoolConfig {
    pub(crate) name: String,
    pub(crate) workers: usize,
    pub(crate) stack_size: Option<usize>,
    pub(crate) idle: IdleStrategy,
    pub(crate) drop_timeout: Duration,
    pub(crate) letter_capacity: usize,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) defaults: LaneDefaults,
}

impl PoolConfig {
    pub(crate) fn new() -> Self {
        PoolConfig {
            name: "dockhand".into(),
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            stack_size: None,
            idle: IdleStrategy::default(),
            drop_timeout: DEFAULT_DROP_TIMEOUT,
            letter_capacity: DEFAULT_LETTERS,
            lanes: Vec::new(),
            defaults: LaneDefaults {
                capacity: Capacity::Tasks(DEFAULT_CAPACITY),
                overload: OverloadPolicy::default(),
                retry: RetryPolicy::none(),
            },
        }
    }

    /// How many workers may spin at a time: half of them, none where a spinner would take the only core.
    pub(crate) fn spinners(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if cores == 1 { 0 } else { (self.workers / 2).max(1) }
    }

    /// The lanes in order of priority, checked, with the default lane among them. `slot` is the size of a queue's slot.
    pub(crate) fn resolve_lanes(&self, slot: usize) -> Result<Vec<LaneConfig>, BuildError> {
        if self.workers == 0 {
            return Err(BuildError::NoWorkers);
        }
        if self.workers > MAX_WORKERS {
            return Err(BuildError::TooManyWorkers { most: MAX_WORKERS });
        }
        let mut lanes = self.lanes.clone();
        if !lanes.iter().any(|lane| lane.name == DEFAULT_LANE) {
            lanes.push(Lane::new(DEFAULT_LANE));
        }
        for (place, lane) in lanes.iter().enumerate() {
            if lane.name.is_empty() {
                return Err(BuildError::EmptyLaneName);
            }
            if lanes[..place].iter().any(|other| other.name == lane.name) {
                let lane = lane.name.clone();
                return Err(BuildError::DuplicateLane { lane });
            }
        }
        lanes.into_iter().map(|lane| self.resolve_lane(lane, slot)).collect()
    }

    fn resolve_lane(&self, lane: Lane, slot: usize) -> Result<LaneConfig, BuildError> {
        let name = lane.name;
        let capacity = lane.capacity.unwrap_or(self.defaults.capacity);
        let capacity = capacity.resolve(self.workers);
        if capacity == 0 {
            return Err(BuildError::NoCapacity { lane: name });
        }
        if !fits_into_memory(capacity, slot) {
            return Err(BuildError::CapacityTooLarge { lane: name });
        }
        let retry = lane.retry.unwrap_or_else(|| self.defaults.retry.clone());
        if let Err(what) = retry.check() {
            return Err(BuildError::InvalidRetry { lane: name, what });
        }
        Ok(LaneConfig {
            delay_capacity: lane.delay_capacity.unwrap_or(capacity),
            overload: lane.overload.unwrap_or(self.defaults.overload),
            name,
            capacity,
            retry,
        })
    }
}

/// The queue allocates its slots at once and cannot say no, so the system is asked first.
fn fits_into_memory(capacity: usize, slot: usize) -> bool {
    capacity.checked_mul(slot).is_some_and(|bytes| {
        let mut trial: Vec<u8> = Vec::new();
        let reserved = trial.try_reserve_exact(bytes);
        // Keeps the trial from being optimised away.
        std::hint::black_box(&trial);
        reserved.is_ok()
    })
}

type Classify<E> = Box<dyn for<'a> Fn(Cause<'a, E>) -> RetryDecision + Send + Sync>;
type Sink<T, E> = Box<dyn Fn(&mut DeadLetter<T, E>) -> LetterFate + Send + Sync>;
type OnShed<T> = Box<dyn Fn(Shed<T>) + Send + Sync>;
type OnWorker = Box<dyn Fn(usize) + Send + Sync>;

/// The processor with the hooks. Every worker holds it by an `Arc` of its own and drops that as it leaves, so that a
/// processor or hook that owns a submitter is a circle only as long as the pool runs.
pub(crate) struct UserCode<P: Processor> {
    pub(crate) processor: P,
    pub(crate) classify: Option<Classify<P::Error>>,
    pub(crate) sink: Option<Sink<P::Payload, P::Error>>,
    pub(crate) on_shed: Option<OnShed<P::Payload>>,
    pub(crate) on_worker_start: Option<OnWorker>,
    pub(crate) on_worker_stop: Option<OnWorker>,
}

impl<P: Processor> UserCode<P> {
    pub(crate) fn new(processor: P) -> Self {
        UserCode {
            processor,
            classify: None,
            sink: None,
            on_shed: None,
            on_worker_start: None,
            on_worker_stop: None,
        }
    }
}

impl<P: Processor> fmt::Debug for UserCode<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(workers: usize, cost: Duration, wait: Duration) -> usize {
        Capacity::For { cost, wait }.resolve(workers)
    }

    #[test]
    fn a_queue_is_sized_from_the_wait_that_is_acceptable() {
        let (cost, wait) = (Duration::from_millis(200), Duration::from_secs(10));
        assert_eq!(capacity(8, cost, wait), 400);
        assert_eq!(capacity(1, Duration::MAX, Duration::MAX), 1);
        assert_eq!(capacity(usize::MAX, Duration::from_nanos(1), Duration::MAX), usize::MAX);
        assert_eq!(capacity(8, Duration::ZERO, wait), 0);
        assert_eq!(capacity(1, wait, cost), 0);
    }

    #[test]
    fn a_lane_takes_from_the_builder_what_it_does_not_say() {
        let mut config = PoolConfig::new();
        config.lanes = vec![Lane::new("a").queue_capacity(3), Lane::new("b")];
        config.defaults.capacity = Capacity::Tasks(7);
        config.defaults.overload = OverloadPolicy::DropOldest;
        let lanes = config.resolve_lanes(8).unwrap();
        let seen: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.name.as_str(), lane.capacity, lane.delay_capacity, lane.overload))
            .collect();
        let drop_oldest = OverloadPolicy::DropOldest;
        assert_eq!(
            seen,
            [("a", 3, 3, drop_oldest), ("b", 7, 7, drop_oldest), ("default", 7, 7, drop_oldest)]
        );
    }
}
