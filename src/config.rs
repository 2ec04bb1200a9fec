//! What is set before a pool is built.

use crate::dead_letter::{DeadLetter, LetterFate};
use crate::error::BuildError;
use crate::event::Event;
use crate::failure::{Cause, RetryDecision};
use crate::meter::Pace;
use crate::processor::Processor;
use crate::retry::RetryPolicy;
use crate::task::{DEFAULT_LANE, Shed};
use crate::user::Guard;
use std::fmt;
use std::time::Duration;

/// More threads than a process can have, and fewer than the sleep word can count.
const MAX_WORKERS: usize = 1 << 16;
/// How many bytes of a thread's name Linux keeps.
const NAME_BYTES: usize = 15;
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
    /// Run one attempt on the submitting thread. That thread never ran
    /// [`on_worker_start`](crate::PoolBuilder::on_worker_start), and has another stack size and other thread-locals.
    CallerRuns,
    /// Drop what comes in; the payload comes back all the same.
    DropIncoming,
    /// Displace the lane's oldest queued task, never a delayed one. [`on_shed`](crate::PoolBuilder::on_shed) or, without
    /// it, the drop of the payload costs the submitting thread: a hook that only pushes to a free list is best.
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
    /// One worker without a task looks for work until the pool is closed, with growing pauses; the others park. **It costs
    /// one core**, all of it, as long as the pool has nothing to do, and it is worth that only where the submitting thread
    /// and one worker have a core each. On a machine with one core it is `Park`.
    ///
    /// A submit that finds that worker without a task makes no system call. The worker is not replaced while it runs what
    /// it found: the next submit wakes another one, as with `Park`, and whichever of them comes back first looks on.
    KeepOneSpinning,
}

impl IdleStrategy {
    /// For how long a worker looks for work before it parks.
    pub(crate) fn patience(self) -> Option<Duration> {
        match self {
            IdleStrategy::Park => None,
            IdleStrategy::SpinThenPark(limit) => Some(limit),
            IdleStrategy::KeepOneSpinning => Some(Duration::MAX),
        }
    }
}

/// How many tasks are timed. A clock reading costs more than the rest of a submit.
///
/// | timing | waits and run times | ages of letters and of the oldest task | slow warnings |
/// | --- | --- | --- | --- |
/// | `Full` | of every task | yes | of every attempt |
/// | `Sampled(n)` | of one in `n` tasks, `n` rounded up to a power of two | of those tasks | of every attempt of a lane with `slow_after` |
/// | `Off` | none | none | none |
///
/// A worker keeps the times of a lane in 8 KiB of its own, which it asks for with the first timed task.
///
/// Deadlines, delays and attempt timeouts are kept in any case.
///
/// ```
/// use dockhand::{Timing, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
///     .timing(Timing::Off)
///     .build()?;
/// pool.submit(1).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert_eq!(pool.metrics().lanes[0].wait.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timing {
    /// Every task.
    Full,
    /// One in so many; zero is `Off`.
    Sampled(u32),
    /// None.
    Off,
}

impl Default for Timing {
    fn default() -> Self {
        Timing::Sampled(16)
    }
}

impl Timing {
    pub(crate) fn is_on(self) -> bool {
        self.mask() != u64::MAX
    }

    /// A task is timed if its id has none of these bits. Ids of a thread follow each other, and none is below 1,024, so
    /// all bits together mean "none".
    pub(crate) fn mask(self) -> u64 {
        match self {
            Timing::Full => 0,
            Timing::Off | Timing::Sampled(0) => u64::MAX,
            Timing::Sampled(n) => u64::from(n).next_power_of_two() - 1,
        }
    }
}

/// One named class of work: its own bounded queue, overload policy, priority and retry policy. A full lane refuses
/// nothing to the others.
///
/// The order of declaration is the priority, most urgent first; every 64th take of a worker starts at the next lane
/// in turn, so that none starves. A lane `"default"` always exists; it is last unless it is declared. What a lane does
/// not say is taken from the [`PoolBuilder`](crate::PoolBuilder). Any payload fits any lane, and nothing checks that a kind
/// of work is in the lane meant for it: hand out one submitter per kind.
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
    pub(crate) max_concurrency: Option<usize>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) slow_after: Option<Duration>,
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
        Lane {
            name: name.into(),
            capacity: None,
            delay_capacity: None,
            overload: None,
            retry: None,
            max_concurrency: None,
            ttl: None,
            attempt_timeout: None,
            slow_after: None,
        }
    }

    /// How many tasks may wait. Slots are allocated when the pool is built and hold their payload inline: capacity times
    /// the size of the largest variant of an enum. Box the large one.
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

    /// How many tasks may wait for their time, retries and delayed submits together; by default as many as the queue
    /// holds, so a small queue with long delays wants more. A submit that finds no room is refused with
    /// [`DelayFull`](crate::RejectReason::DelayFull), a retry becomes a letter with reason [`DelayFull`](crate::letter::DeadLetterReason::DelayFull).
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

    /// How many attempts of the lane may run at a time, caller-runs included. A lane that has a limit can have it changed
    /// while the pool runs ([`set_max_concurrency`](crate::WorkerPool::set_max_concurrency)); 0 pauses it. What the limit
    /// holds back keeps its place in the queue, counts against its capacity, and costs no worker and no processor time.
    ///
    /// ```
    /// use dockhand::{Lane, WorkerPool, processor_fn};
    /// let lane = Lane::new("disk").max_concurrency(1);
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(lane).build()?;
    /// assert_eq!(pool.metrics().lanes[0].max_concurrency, 1);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn max_concurrency(self, n: usize) -> Self {
        Lane { max_concurrency: Some(n), ..self }
    }

    /// How long after its submit an attempt of a task may still start, for tasks that name neither a deadline nor a ttl.
    /// Zero refuses every such task as expired. Costs a clock reading for each submit.
    ///
    /// ```
    /// use dockhand::{Lane, RejectReason, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let lane = Lane::new("quotes").ttl(Duration::ZERO);
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(lane).build()?;
    /// let refused = pool.submitter_for("quotes")?.submit(1).into_result().unwrap_err();
    /// assert_eq!(refused.reason(), RejectReason::Expired);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ttl(self, ttl: Duration) -> Self {
        Lane { ttl: Some(ttl), ..self }
    }

    /// How long an attempt of the lane may run. Cooperative: nothing is interrupted, the context says so at its
    /// checkpoints, and an attempt that comes back with `Ok` later counts as failed with
    /// [`Cause::TimedOut`], so that it may be retried though its effect has happened. A blocking
    /// call goes on past the timeout, and its worker and permit stay in use until it returns.
    ///
    /// ```
    /// use dockhand::{Interrupted, Lane, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let lane = Lane::new("default").attempt_timeout(Duration::from_millis(5));
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, cx| loop {
    ///     cx.checkpoint()?;
    ///     std::thread::yield_now();
    /// }) as dockhand::ProcessorFn<u32, (), Interrupted>)
    /// .lane(lane)
    /// .build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(&*pool.dead_letters().list()[0].error, "the attempt has run for too long");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attempt_timeout(self, limit: Duration) -> Self {
        Lane { attempt_timeout: Some(limit), ..self }
    }

    /// Warns, in the log and by [`Event::Slow`], of an attempt that took longer. Not with
    /// [`Timing::Off`].
    ///
    /// ```
    /// use dockhand::Lane;
    /// use std::time::Duration;
    /// assert!(format!("{:?}", Lane::new("mail").slow_after(Duration::from_secs(1))).contains("slow_after: Some(1s)"));
    /// ```
    pub fn slow_after(self, limit: Duration) -> Self {
        Lane { slow_after: Some(limit), ..self }
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
    pub(crate) max_concurrency: Option<usize>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) slow_after: Option<Duration>,
}

/// What a lane has that does not say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct LaneDefaults {
    pub(crate) capacity: Capacity,
    pub(crate) overload: OverloadPolicy,
    pub(crate) retry: RetryPolicy,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) slow_after: Option<Duration>,
}

/// The settings of a pool, without its user code.
#[derive(Clone, Debug)]
pub(crate) struct PoolConfig {
    pub(crate) name: String,
    pub(crate) workers: usize,
    pub(crate) stack_size: Option<usize>,
    pub(crate) idle: IdleStrategy,
    pub(crate) timing: Timing,
    pub(crate) pace: Pace,
    pub(crate) drop_timeout: Duration,
    pub(crate) letter_capacity: usize,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) defaults: LaneDefaults,
}

impl PoolConfig {
    /// The name of a thread: its own part whole, and as much of the pool's name as the system keeps with it.
    pub(crate) fn thread_name(&self, part: impl fmt::Display) -> String {
        let part = format!("-{part}");
        let room = NAME_BYTES.saturating_sub(part.len()).min(self.name.len());
        let end = (0..=room).rev().find(|at| self.name.is_char_boundary(*at)).unwrap_or(0);
        format!("{}{part}", &self.name[..end])
    }

    pub(crate) fn new() -> Self {
        PoolConfig {
            name: "dockhand".into(),
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            stack_size: None,
            idle: IdleStrategy::default(),
            timing: Timing::default(),
            pace: Pace { interval: Duration::from_secs(1), steps: 500 },
            drop_timeout: DEFAULT_DROP_TIMEOUT,
            letter_capacity: DEFAULT_LETTERS,
            lanes: Vec::new(),
            defaults: LaneDefaults {
                capacity: Capacity::Tasks(DEFAULT_CAPACITY),
                overload: OverloadPolicy::default(),
                retry: RetryPolicy::none(),
                attempt_timeout: None,
                slow_after: None,
            },
        }
    }

    /// How many workers may spin at a time: half of them unless one is to be kept spinning, and none where a spinner would
    /// take the only core.
    pub(crate) fn spinners(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match self.idle {
            _ if cores == 1 => 0,
            IdleStrategy::Park => 0,
            IdleStrategy::SpinThenPark(_) => (self.workers / 2).max(1),
            IdleStrategy::KeepOneSpinning => 1,
        }
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
        let lanes = lanes.into_iter().map(|lane| self.resolve_lane(lane)).collect::<Result<Vec<_>, _>>()?;
        // The time that is kept beside the queue, see `Ages`.
        let time = if self.timing == Timing::Full { size_of::<u64>() } else { 0 };
        fit_into_memory(&lanes, slot + time)?;
        Ok(lanes)
    }

    fn resolve_lane(&self, lane: Lane) -> Result<LaneConfig, BuildError> {
        let name = lane.name;
        let capacity = lane.capacity.unwrap_or(self.defaults.capacity);
        let capacity = capacity.resolve(self.workers);
        if capacity == 0 {
            return Err(BuildError::NoCapacity { lane: name });
        }
        let retry = lane.retry.unwrap_or_else(|| self.defaults.retry.clone());
        if let Err(what) = retry.check() {
            return Err(BuildError::InvalidRetry { lane: name, what });
        }
        Ok(LaneConfig {
            delay_capacity: lane.delay_capacity.unwrap_or(capacity),
            overload: lane.overload.unwrap_or(self.defaults.overload),
            max_concurrency: lane.max_concurrency,
            ttl: lane.ttl,
            attempt_timeout: lane.attempt_timeout.or(self.defaults.attempt_timeout),
            slow_after: lane.slow_after.or(self.defaults.slow_after),
            name,
            capacity,
            retry,
        })
    }
}

/// The queues allocate their slots at once and cannot say no, so the system is asked first, for all of them together.
fn fit_into_memory(lanes: &[LaneConfig], slot: usize) -> Result<(), BuildError> {
    let mut trials: Vec<Vec<u8>> = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let mut trial = Vec::new();
        let reserved = lane.capacity.checked_mul(slot).map(|bytes| trial.try_reserve_exact(bytes));
        if !matches!(reserved, Some(Ok(()))) {
            return Err(BuildError::CapacityTooLarge { lane: lane.name.clone() });
        }
        trials.push(trial);
    }
    // Keeps the trials from being optimised away.
    std::hint::black_box(&trials);
    Ok(())
}

type Classify<E> = Box<dyn for<'a> Fn(Cause<'a, E>) -> RetryDecision + Send + Sync>;
type Sink<T, E> = Box<dyn Fn(&mut DeadLetter<T, E>) -> LetterFate + Send + Sync>;
type OnShed<T> = Box<dyn Fn(Shed<T>) + Send + Sync>;
type OnEvent = Box<dyn for<'a> Fn(&Event<'a>) + Send + Sync>;
type OnWorker = Box<dyn Fn(usize) + Send + Sync>;

/// The processor with the hooks. Every worker holds it by an `Arc` of its own and drops that as it leaves, so that a
/// processor or hook that owns a submitter is a circle only as long as the pool runs.
pub(crate) struct UserCode<P: Processor> {
    pub(crate) processor: P,
    pub(crate) classify: Option<Classify<P::Error>>,
    pub(crate) sink: Option<Sink<P::Payload, P::Error>>,
    pub(crate) on_shed: Option<OnShed<P::Payload>>,
    pub(crate) on_event: Vec<OnEvent>,
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
            on_event: Vec::new(),
            on_worker_start: None,
            on_worker_stop: None,
        }
    }

    /// Drops each of the user's values in the guard.
    pub(crate) fn let_go(self, guard: &Guard) {
        guard.drop(self.processor);
        guard.drop(self.classify);
        guard.drop(self.sink);
        guard.drop(self.on_shed);
        for hook in self.on_event {
            guard.drop(hook);
        }
        guard.drop(self.on_worker_start);
        guard.drop(self.on_worker_stop);
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
