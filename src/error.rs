//! What can be refused, and the payload that comes back with it.

use crate::failure::Failure;
use crate::task::{Outcome, TaskId};
use crossbeam::atomic::AtomicCell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Any error, as [`processor_fn`](crate::processor_fn) closures that use `?` have it.
///
/// ```
/// fn read(text: &str) -> Result<u32, dockhand::BoxError> {
///     Ok(text.trim().parse()?)
/// }
/// assert!(read("x").is_err());
/// assert_eq!(read(" 7 ").ok(), Some(7));
/// ```
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why something was refused.
///
/// ```
/// use dockhand::{RejectReason, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(()))).build()?;
/// assert_eq!(pool.submitter_for("typo").unwrap_err(), RejectReason::UnknownLane);
/// pool.begin_shutdown();
/// let refused = pool.submit(()).into_result().unwrap_err();
/// assert_eq!(refused.reason(), RejectReason::Closed);
/// # Ok::<(), dockhand::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The lane is full, or a policy that acts was reached eight submits deep on one thread.
    #[error("the lane is full")]
    QueueFull,
    /// The lane is full, and its limit leaves no room for a caller-run.
    #[error("the lane is full and at its limit")]
    LaneLimit,
    /// The lane's delay queue is full.
    #[error("the lane's delay queue is full")]
    DelayFull,
    /// Another task with this key is in flight in the lane.
    #[error("task {0} has the same key")]
    Duplicate(TaskId),
    /// The task's deadline has passed, or would have before its delay.
    #[error("the task would start after its deadline")]
    Expired,
    /// The pool takes no new work.
    #[error("the pool is closed")]
    Closed,
    /// The policy of a full lane dropped the task that was offered.
    #[error("the lane is full and its policy drops what comes in")]
    Dropped,
    /// The pool has no lane of that name.
    #[error("the pool has no lane of that name")]
    UnknownLane,
    /// The lane was built without a limit.
    #[error("the lane was built without a limit")]
    NotLimited,
    /// The store has no letter of that id.
    #[error("the store has no letter of that id")]
    UnknownLetter,
}

/// A refused payload with the reason. It is an [`Error`](std::error::Error) for every payload, so `?` works on it.
///
/// The payload goes where the error goes: a processor that uses `?` on a refused follow-up puts it into its own error,
/// the letter then holds two payloads, and whoever turns the error into a text drops one. Use
/// [`SubmitResult::into_payload`] where it matters.
///
/// ```
/// use dockhand::{RejectReason, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut Vec<u8>, _cx| Ok::<(), String>(()))).build()?;
/// pool.begin_shutdown();
/// let refused = pool.submit(vec![1, 2, 3]).into_result().unwrap_err();
/// assert_eq!(refused.reason(), RejectReason::Closed);
/// assert_eq!(refused.to_string(), "task refused: the pool is closed");
/// assert_eq!(refused.into_payload(), [1, 2, 3]);
/// # Ok::<(), dockhand::BuildError>(())
/// ```
pub struct Rejection<T> {
    // Never shared. The cell makes the error `Sync` for every payload that is `Send`, without which `?` would not convert
    // it where errors have to be `Sync`. It has the payload's own layout, so that giving it back is a plain copy; a lock's
    // byte beside it would have it copied across word boundaries.
    payload: AtomicCell<T>,
    reason: RejectReason,
}

impl<T> Rejection<T> {
    pub(crate) fn new(payload: T, reason: RejectReason) -> Self {
        Rejection { payload: AtomicCell::new(payload), reason }
    }

    /// Why it was refused.
    ///
    /// ```
    /// # use dockhand::{RejectReason, WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// pool.begin_shutdown();
    /// let refused = pool.submit(7).into_result().unwrap_err();
    /// assert_eq!(refused.reason(), RejectReason::Closed);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn reason(&self) -> RejectReason {
        self.reason
    }

    /// The payload.
    ///
    /// ```
    /// # use dockhand::{RejectReason, WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// pool.begin_shutdown();
    /// let refused = pool.submit(7).into_result().unwrap_err();
    /// assert_eq!(refused.into_payload(), 7);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn into_payload(self) -> T {
        self.payload.into_inner()
    }
}

impl<T> fmt::Debug for Rejection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejection").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task refused: {}", self.reason)
    }
}

impl<T> std::error::Error for Rejection<T> {}

impl<T> UnwindSafe for Rejection<T> {}
impl<T> RefUnwindSafe for Rejection<T> {}

/// The answer to a submit.
///
/// A submit answers at once and returns no future: what becomes of an accepted task is seen through the
/// [metrics](crate::WorkerPool::metrics), the [letters](crate::WorkerPool::dead_letters) and the
/// [report](crate::WorkerPool::shutdown).
///
/// ```
/// use dockhand::{SubmitResult, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
/// match pool.submit(7) {
///     SubmitResult::Accepted(id) => println!("task {id}"),
///     SubmitResult::CallerRun(run) => println!("ran here: {:?}", run.outcome),
///     SubmitResult::Rejected(refused) => println!("{}", refused.reason()),
///     SubmitResult::Dropped(payload) => println!("{payload} came back"),
/// }
/// pool.begin_shutdown();
/// assert_eq!(pool.submit(8).into_payload(), Some(8));
/// # Ok::<(), dockhand::BuildError>(())
/// ```
#[must_use = "a refused payload comes back in it"]
pub enum SubmitResult<T> {
    /// The pool has it and will tell its one outcome.
    Accepted(TaskId),
    /// The lane was full and its policy ran one attempt on this thread.
    CallerRun(CallerRun),
    /// It was refused; the payload is inside.
    Rejected(Rejection<T>),
    /// The lane was full and its policy drops what comes in; the payload is back.
    Dropped(T),
}

impl<T> SubmitResult<T> {
    /// The id of a task that was taken, or the payload with the reason.
    ///
    /// # Errors
    /// The [`Rejection`] of a task that was not taken; a dropped one has [`RejectReason::Dropped`].
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let id = pool.submit(7).into_result()?;
    /// assert!(!id.to_string().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_result(self) -> Result<TaskId, Rejection<T>> {
        match self {
            SubmitResult::Accepted(id) | SubmitResult::CallerRun(CallerRun { id, .. }) => Ok(id),
            SubmitResult::Rejected(refused) => Err(refused),
            SubmitResult::Dropped(payload) => Err(Rejection::new(payload, RejectReason::Dropped)),
        }
    }

    /// The payload of a task that was not taken, whatever the reason.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// assert_eq!(pool.submit(7).into_payload(), None);
    /// pool.begin_shutdown();
    /// assert_eq!(pool.submit(8).into_payload(), Some(8));
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn into_payload(self) -> Option<T> {
        self.into_result().err().map(Rejection::into_payload)
    }
}

impl<T> fmt::Debug for SubmitResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubmitResult::Accepted(id) => f.debug_tuple("Accepted").field(id).finish(),
            SubmitResult::CallerRun(run) => f.debug_tuple("CallerRun").field(run).finish(),
            SubmitResult::Rejected(refused) => f.debug_tuple("Rejected").field(refused).finish(),
            SubmitResult::Dropped(_) => f.write_str("Dropped(..)"),
        }
    }
}

/// What became of a task that its submitting thread ran.
///
/// See [`Outcome`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallerRun {
    /// The task's id.
    pub id: TaskId,
    /// How it ended; `None` if its attempt failed and a retry is scheduled.
    pub outcome: Option<Outcome>,
}

/// The answers to a batch, counted.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
///     .queue_capacity(100)
///     .build()?;
/// let result = pool.submitter().submit_batch(0..10);
/// assert_eq!(result.accepted, 10);
/// assert!(result.refused.is_empty());
/// # Ok::<(), dockhand::BuildError>(())
/// ```
#[must_use = "refused payloads come back in it"]
#[non_exhaustive]
pub struct BatchResult<T> {
    /// How many were accepted.
    pub accepted: usize,
    /// How many were run on this thread.
    pub caller_run: usize,
    /// The payloads that were not taken, in their order.
    pub refused: Vec<Rejection<T>>,
}

impl<T> BatchResult<T> {
    pub(crate) fn new() -> Self {
        BatchResult { accepted: 0, caller_run: 0, refused: Vec::new() }
    }

    pub(crate) fn count(&mut self, answer: SubmitResult<T>) {
        match answer {
            SubmitResult::Accepted(_) => self.accepted += 1,
            SubmitResult::CallerRun(_) => self.caller_run += 1,
            SubmitResult::Rejected(refused) => self.refused.push(refused),
            SubmitResult::Dropped(payload) => {
                self.refused.push(Rejection::new(payload, RejectReason::Dropped));
            }
        }
    }
}

impl<T> fmt::Debug for BatchResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchResult")
            .field("accepted", &self.accepted)
            .field("caller_run", &self.caller_run)
            .field("refused", &self.refused)
            .finish()
    }
}

/// Why a pool could not be built. Nothing is left of it: threads that had started are joined.
///
/// ```
/// use dockhand::{BuildError, WorkerPool, processor_fn};
///
/// let builder = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())));
/// assert!(matches!(builder.workers(0).build(), Err(BuildError::NoWorkers)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The number of workers is zero.
    #[error("a pool needs at least one worker")]
    NoWorkers,
    /// The number of workers is larger than any process could have.
    #[error("a pool has at most {most} workers")]
    TooManyWorkers {
        /// The largest number.
        most: usize,
    },
    /// The capacity of a lane is zero, or comes out as zero from its cost and wait.
    #[error("lane {lane:?} has no capacity")]
    NoCapacity {
        /// The lane.
        lane: String,
    },
    /// The queue of a lane does not fit into memory.
    #[error("the queue of lane {lane:?} does not fit into memory")]
    CapacityTooLarge {
        /// The lane.
        lane: String,
    },
    /// A lane has an empty name.
    #[error("a lane has an empty name")]
    EmptyLaneName,
    /// Two lanes have the same name.
    #[error("two lanes are named {lane:?}")]
    DuplicateLane {
        /// The name.
        lane: String,
    },
    /// The retry policy of a lane makes no sense.
    #[error("the retry policy of lane {lane:?} is not valid: {what}")]
    InvalidRetry {
        /// The lane.
        lane: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A thread could not be started, or cannot have the pool's name.
    #[error("a thread could not be started after {started} others")]
    Spawn {
        /// How many workers had been started.
        started: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// The start hook of a worker panicked.
    #[error("the start hook of worker {worker} panicked")]
    StartHookPanicked {
        /// The worker, counted from 0.
        worker: usize,
    },
}

/// Why waiting ended without what was waited for.
///
/// ```
/// use dockhand::{WaitError, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut (), cx| {
///     while cx.checkpoint().is_ok() {
///         std::thread::yield_now();
///     }
///     Ok::<(), String>(())
/// }))
/// .build()?;
/// pool.submit(()).into_result()?;
/// assert_eq!(pool.wait_idle(Duration::from_millis(5)), Err(WaitError::TimedOut));
/// let _ = pool.shutdown(Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The time was over first.
    #[error("the time was over first")]
    TimedOut,
    /// The thread is in a task or hook of this pool and would wait for itself; or the process is a forked child, which has
    /// none of the pool's threads.
    #[error("waiting for the pool from inside it, or in a forked child, would never end")]
    WouldDeadlock,
}

/// Why a tracked task has no output.
///
/// ```
/// use dockhand::{TaskError, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
/// let handle = pool.submitter().submit_tracked(1)?;
/// match handle.wait() {
///     Err(TaskError::Failed(failure)) => assert_eq!(failure.to_string(), "no"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub enum TaskError<E> {
    /// It failed for good; the letter has the same failure.
    Failed(Failure<E>),
    /// It was cancelled.
    Cancelled,
    /// Its deadline passed.
    Expired,
    /// A newer task took its place.
    Evicted,
    /// The pool was shut down first.
    Abandoned,
    /// The thread is in a task or hook of the task's pool and would wait for itself; or the process is a forked child, which
    /// has none of the pool's threads.
    WouldDeadlock,
    /// The handle has given its answer before. Its [`status`](crate::TaskHandle::status) still says how the task ended.
    AlreadyTaken,
}

impl<E> fmt::Debug for TaskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Failed(failure) => f.debug_tuple("Failed").field(failure).finish(),
            TaskError::Cancelled => f.write_str("Cancelled"),
            TaskError::Expired => f.write_str("Expired"),
            TaskError::Evicted => f.write_str("Evicted"),
            TaskError::Abandoned => f.write_str("Abandoned"),
            TaskError::WouldDeadlock => f.write_str("WouldDeadlock"),
            TaskError::AlreadyTaken => f.write_str("AlreadyTaken"),
        }
    }
}

impl<E: fmt::Display> fmt::Display for TaskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Failed(failure) => write!(f, "the task failed: {failure}"),
            TaskError::Cancelled => f.write_str("the task was cancelled"),
            TaskError::Expired => f.write_str("the task's deadline passed"),
            TaskError::Evicted => f.write_str("a newer task took the task's place"),
            TaskError::Abandoned => f.write_str("the pool was shut down first"),
            TaskError::WouldDeadlock => f.write_str("waiting for the task here would never end"),
            TaskError::AlreadyTaken => f.write_str("the task's answer was taken before"),
        }
    }
}

impl<E: fmt::Display> std::error::Error for TaskError<E> {}

/// Why a running task should come back.
///
/// ```
/// use dockhand::Interrupted;
///
/// fn step() -> Result<(), String> {
///     Err(Interrupted::ShutDown)?
/// }
/// assert_eq!(step().unwrap_err(), "the pool is shutting down");
/// assert_eq!(std::io::Error::from(Interrupted::ShutDown).kind(), std::io::ErrorKind::Interrupted);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Interrupted {
    /// Its cancel was requested.
    #[error("the task is cancelled")]
    Cancelled,
    /// The window of a shutdown is over.
    #[error("the pool is shutting down")]
    ShutDown,
    /// The attempt has run for too long.
    #[error("the attempt has run for too long")]
    TimedOut,
}

impl From<Interrupted> for String {
    fn from(interrupted: Interrupted) -> Self {
        interrupted.to_string()
    }
}

impl From<Interrupted> for std::io::Error {
    fn from(interrupted: Interrupted) -> Self {
        std::io::Error::new(std::io::ErrorKind::Interrupted, interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_of_a_refusal_does_not_ask_for_debug_of_the_payload() {
        struct Opaque;
        let refused = SubmitResult::Rejected(Rejection::new(Opaque, RejectReason::QueueFull));
        assert_eq!(format!("{refused:?}"), "Rejected(Rejection { reason: QueueFull, .. })");
        assert_eq!(format!("{:?}", SubmitResult::Dropped(Opaque)), "Dropped(..)");
    }

    #[test]
    fn a_dropped_payload_comes_back_as_an_error_with_its_reason() {
        let refused = SubmitResult::Dropped(5).into_result().unwrap_err();
        assert_eq!(refused.reason(), RejectReason::Dropped);
        assert_eq!(refused.into_payload(), 5);
    }
}
