//! What a running task is told.

use crate::clock::Moment;
use crate::error::{Interrupted, RejectReason, Rejection, SubmitResult};
use crate::event::Progress;
use crate::options::TaskOptions;
use crate::task::{DEFAULT_LANE, TaskId};
use std::fmt;
use std::time::Instant;

/// What a context asks of the attempt that it belongs to.
pub(crate) trait ContextHost<T>: Sync {
    fn submit_to(&self, lane: &str, payload: T, options: Option<TaskOptions>) -> SubmitResult<T>;
    fn shown(&self, at: Moment) -> Instant;
    fn interruption(&self) -> Option<Interrupted>;
    fn report_progress(&self, progress: Progress);
}

/// The running attempt, as its [`Processor`](crate::Processor) sees it. It is `Sync`: a processor may share it with
/// scoped threads of its own.
///
/// ```
/// use dockhand::{TaskContext, WorkerPool, processor_fn};
///
/// // A task that offers the next step of its work, and a lane for each step.
/// let pool = WorkerPool::builder(processor_fn(|n: &mut u32, cx: &TaskContext<'_, u32>| {
///     if cx.lane() == "first" {
///         cx.submit("second", *n + 1).into_result().map_err(|refused| refused.to_string())?;
///     }
///     Ok::<(), String>(())
/// }))
/// .lane(dockhand::Lane::new("second"))
/// .lane(dockhand::Lane::new("first"))
/// .build()?;
/// pool.submitter_for("first")?.submit(1).into_result()?;
/// pool.wait_idle(std::time::Duration::from_secs(10))?;
/// assert_eq!(pool.metrics().counts.succeeded, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskContext<'a, T> {
    pub(crate) host: Option<&'a dyn ContextHost<T>>,
    pub(crate) id: TaskId,
    pub(crate) lane: &'a str,
    pub(crate) attempt: u32,
    pub(crate) deadline: Moment,
}

impl<T> TaskContext<'_, T> {
    /// A context without a pool, for a unit test of [`process`](crate::Processor::process) alone: attempt 1 in lane
    /// `"default"`, never interrupted; a submit answers `Rejected(Closed)`.
    ///
    /// ```
    /// use dockhand::{Processor, TaskContext, processor_fn};
    ///
    /// let double = processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n * 2));
    /// assert_eq!(double.process(&mut 21, &TaskContext::detached()), Ok(42));
    /// ```
    pub fn detached() -> Self {
        TaskContext {
            host: None,
            id: TaskId::DETACHED,
            lane: DEFAULT_LANE,
            attempt: 1,
            deadline: Moment::NEVER,
        }
    }

    /// The id of the task.
    ///
    /// ```
    /// let cx = dockhand::TaskContext::<()>::detached();
    /// assert_eq!(cx.id(), cx.id());
    /// ```
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// The name of the task's lane.
    ///
    /// ```
    /// assert_eq!(dockhand::TaskContext::<()>::detached().lane(), "default");
    /// ```
    pub fn lane(&self) -> &str {
        self.lane
    }

    /// The number of this attempt, counted from 1.
    ///
    /// ```
    /// assert_eq!(dockhand::TaskContext::<()>::detached().attempt(), 1);
    /// ```
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When the task's deadline is, if it has one.
    ///
    /// ```
    /// assert_eq!(dockhand::TaskContext::<()>::detached().deadline(), None);
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        let host = self.host?;
        (self.deadline != Moment::NEVER).then(|| host.shown(self.deadline))
    }

    /// A point at which a long task is willing to stop. Costs one load.
    ///
    /// # Errors
    /// [`Interrupted::Cancelled`] once a cancel of the task was requested: `Ok` still counts as success, anything else ends
    /// it as cancelled. [`Interrupted::TimedOut`] once the attempt has run longer than its lane's `attempt_timeout`: it counts
    /// as failed even if `Ok` comes back. [`Interrupted::ShutDown`] once the window of a shutdown is over: the attempt has
    /// 100 ms to come back, `Ok` still counts as success, anything else hands the payload back as abandoned.
    ///
    /// ```
    /// use dockhand::{Interrupted, TaskContext};
    ///
    /// fn sum(numbers: &[u64], cx: &TaskContext<'_, ()>) -> Result<u64, Interrupted> {
    ///     let mut sum = 0;
    ///     for n in numbers {
    ///         cx.checkpoint()?;
    ///         sum += n;
    ///     }
    ///     Ok(sum)
    /// }
    /// assert_eq!(sum(&[1, 2, 3], &TaskContext::detached()), Ok(6));
    /// ```
    pub fn checkpoint(&self) -> Result<(), Interrupted> {
        match self.host.and_then(ContextHost::interruption) {
            Some(interrupted) => Err(interrupted),
            None => Ok(()),
        }
    }

    /// Says how far the task is, in units of its own. Kept in the handle of a tracked task and shown as a sign of life in
    /// [`status`](crate::WorkerPool::status); passed on as an event at most once a second or once every 500 steps (see
    /// [`progress_every`](crate::PoolBuilder::progress_every)), the last report in any case. A new attempt starts at none.
    /// Costs a clock reading and a short lock.
    ///
    /// ```
    /// use dockhand::{TaskContext, WorkerPool, processor_fn};
    ///
    /// let pool = WorkerPool::builder(processor_fn(|n: &mut u64, cx: &TaskContext<'_, u64>| {
    ///     for done in 1..=*n {
    ///         cx.report_progress(done, *n);
    ///     }
    ///     Ok::<(), String>(())
    /// }))
    /// .build()?;
    /// let mut handle = pool.submitter().submit_tracked(10)?;
    /// assert!(handle.wait_timeout(std::time::Duration::from_secs(10)).is_some());
    /// assert_eq!(handle.progress().map(|progress| progress.done), Some(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn report_progress(&self, done: u64, total: u64) {
        if let Some(host) = self.host {
            host.report_progress(Progress { done, total });
        }
    }

    /// Whether [`checkpoint`](TaskContext::checkpoint) would fail.
    ///
    /// ```
    /// assert!(!dockhand::TaskContext::<()>::detached().is_interrupted());
    /// ```
    pub fn is_interrupted(&self) -> bool {
        self.checkpoint().is_err()
    }

    /// Offers a follow-up task to a lane, under that lane's overload policy. Does not wait.
    ///
    /// While the pool drains, follow-ups are refused like any other task: a pipeline is drained by stopping its
    /// producers, [`wait_idle`](crate::WorkerPool::wait_idle), then [`shutdown`](crate::WorkerPool::shutdown). An
    /// attempt that submits and then fails will submit again when it is retried, so submit last. `?` on a refusal puts
    /// the payload into the error; [`into_payload`](SubmitResult::into_payload) keeps it.
    ///
    /// ```
    /// use dockhand::TaskContext;
    /// // Without a pool there is nowhere to submit to: the payload comes back.
    /// let cx = TaskContext::detached();
    /// assert_eq!(cx.submit("default", 7).into_payload(), Some(7));
    /// ```
    pub fn submit(&self, lane: &str, payload: T) -> SubmitResult<T> {
        match self.host {
            Some(host) => host.submit_to(lane, payload, None),
            None => SubmitResult::Rejected(Rejection::new(payload, RejectReason::Closed)),
        }
    }

    /// As [`submit`](TaskContext::submit), with a delay, a deadline or a key. A [key](TaskOptions::key) keeps an attempt
    /// that is repeated from submitting what is still in flight from the one before.
    ///
    /// ```
    /// use dockhand::{TaskContext, TaskOptions};
    /// let cx = TaskContext::detached();
    /// assert_eq!(cx.submit_with("default", 7, TaskOptions::new()).into_payload(), Some(7));
    /// ```
    pub fn submit_with(&self, lane: &str, payload: T, options: TaskOptions) -> SubmitResult<T> {
        match self.host {
            Some(host) => host.submit_to(lane, payload, Some(options)),
            None => SubmitResult::Rejected(Rejection::new(payload, RejectReason::Closed)),
        }
    }
}

impl<T> fmt::Debug for TaskContext<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskContext")
            .field("id", &self.id)
            .field("lane", &self.lane)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
