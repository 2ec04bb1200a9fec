//! The way in: a submit, and what a full lane's policy makes of it.

use crate::batch;
use crate::config::OverloadPolicy;
use crate::error::{BatchResult, Rejection, SubmitResult};
use crate::handle::TaskHandle;
use crate::options::TaskOptions;
use crate::processor::{Closure, Closures, Processor};
use crate::shared::Shared;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Offers tasks to one lane. A cheap clone; it may outlive the pool and is then refused. It holds the pool's memory, not
/// the pool; what a processor or payload holds of it is let go at the end of the shutdown.
///
/// ```
/// use dockhand::{Lane, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
///     .lane(Lane::new("urgent"))
///     .build()?;
/// let urgent = pool.submitter_for("urgent")?;
/// let thread = std::thread::spawn({
///     let urgent = urgent.clone();
///     move || urgent.submit(1).into_result().is_ok()
/// });
/// assert_eq!(thread.join().ok(), Some(true));
/// drop(pool);
/// assert_eq!(urgent.submit(2).into_payload(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskSubmitter<P: Processor> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) lane: usize,
    pub(crate) overload: OverloadPolicy,
}

impl<P: Processor> TaskSubmitter<P> {
    /// The same lane under another policy, for this submitter and its clones only.
    ///
    /// `DropOldest` displaces tasks of other submitters too; `CallerRuns` blocks whoever submits.
    ///
    /// ```
    /// use dockhand::{OverloadPolicy, WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .overload(OverloadPolicy::CallerRuns)
    ///     .build()?;
    /// let for_event_loop = pool.submitter().with_overload(OverloadPolicy::Reject);
    /// assert!(for_event_loop.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    #[must_use]
    pub fn with_overload(&self, policy: OverloadPolicy) -> TaskSubmitter<P> {
        TaskSubmitter { overload: policy, ..self.clone() }
    }

    /// Offers a task and answers at once.
    ///
    /// Does not allocate. Takes no lock unless a worker sleeps and nobody is awake without a task: then it wakes one,
    /// which is one system call. Lock-free in practice but not wait-free: the queue may spin while another thread is
    /// preempted in the middle of its push or pop, so a real-time thread should not share a core with workers, and
    /// payloads above 1 KiB should be boxed. With `CallerRuns` and `DropOldest` a full lane runs user code on this
    /// thread.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let submitter = pool.submitter();
    /// assert!(submitter.submit(7).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    #[inline]
    pub fn submit(&self, payload: P::Payload) -> SubmitResult<P::Payload> {
        self.shared.submit(self.lane, payload, self.overload)
    }

    /// Offers a task with a delay or a deadline; see [`TaskOptions`] for what is refused. Costs a clock reading.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let submitter = pool.submitter();
    /// let later = TaskOptions::new().delay(Duration::from_millis(1));
    /// assert!(submitter.submit_with(7, later).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn submit_with(&self, payload: P::Payload, options: TaskOptions) -> SubmitResult<P::Payload> {
        self.shared.submit_with(self.lane, payload, self.overload, options)
    }

    /// Offers a task and gives a handle to it. Costs one allocation.
    ///
    /// A caller-run task's handle is there when it has ended, or waits for a retry. A handle that is dropped detaches:
    /// `let _ = ..` makes it a plain submit that allocates.
    ///
    /// # Errors
    /// The [`Rejection`] of a task that was not taken; under `DropIncoming` with [`RejectReason::Dropped`](crate::RejectReason).
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n + 1))).build()?;
    /// let handle = pool.submitter().submit_tracked(1)?;
    /// assert_eq!(handle.wait()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit_tracked(&self, payload: P::Payload) -> Result<TaskHandle<P>, Rejection<P::Payload>> {
        self.submit_tracked_with(payload, TaskOptions::new())
    }

    /// As [`submit_tracked`](TaskSubmitter::submit_tracked), with a delay, a deadline or a key.
    ///
    /// # Errors
    /// As there; see [`TaskOptions`] for what is refused.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n + 1))).build()?;
    /// let soon = TaskOptions::new().delay(Duration::from_millis(1));
    /// assert_eq!(pool.submitter().submit_tracked_with(1, soon)?.wait()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit_tracked_with(
        &self,
        payload: P::Payload,
        options: TaskOptions,
    ) -> Result<TaskHandle<P>, Rejection<P::Payload>> {
        let slot = self.shared.submit_tracked(self.lane, payload, self.overload, options)?;
        Ok(TaskHandle { shared: Arc::clone(&self.shared), slot, cancel_on_drop: false })
    }

    /// Offers a task and waits up to `timeout` for room, whatever the policy; what the policy says happens when the
    /// time is over. For background producers.
    ///
    /// # Blocking
    /// Up to `timeout`, counted from the call; `Duration::MAX` waits as long as it takes. A close ends the wait with
    /// `Rejected(Closed)`. From inside a task or hook of this pool it does not wait. There is no order among waiters. A
    /// call that is repeated after its time was over is another offer, and is counted as one.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .queue_capacity(1)
    ///     .build()?;
    /// for n in 0..100 {
    ///     pool.submitter().submit_timeout(n, Duration::from_secs(10)).into_result()?;
    /// }
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.metrics().counts.succeeded, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit_timeout(&self, payload: P::Payload, timeout: Duration) -> SubmitResult<P::Payload> {
        let shared = &*self.shared;
        shared.submit_timeout(self.lane, payload, self.overload, timeout)
    }

    /// Offers each item as [`submit`](TaskSubmitter::submit) does, with one wake for many. Not atomic: it goes on after
    /// a refusal, so a later item may fit where an earlier one did not. If the iterator panics, what it gave before is
    /// offered and the panic goes on. Do not pass an endless iterator.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let result = pool.submitter().submit_batch([1, 2, 3]);
    /// assert_eq!((result.accepted, result.refused.len()), (3, 0));
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn submit_batch(&self, payloads: impl IntoIterator<Item = P::Payload>) -> BatchResult<P::Payload> {
        batch::submit_all(&self.shared, self.lane, self.overload, payloads.into_iter())
    }
}

impl TaskSubmitter<Closures> {
    /// Offers a closure; it is boxed.
    ///
    /// ```
    /// use dockhand::{Closures, WorkerPool};
    /// let pool = WorkerPool::builder(Closures).build()?;
    /// let (answer, answers) = std::sync::mpsc::channel();
    /// pool.submitter().execute(move || answer.send(1).unwrap()).into_result()?;
    /// assert_eq!(answers.recv()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute(&self, f: impl FnOnce() + Send + 'static) -> SubmitResult<Closure> {
        self.submit(Closure::new(f))
    }
}

impl<P: Processor> Clone for TaskSubmitter<P> {
    fn clone(&self) -> Self {
        TaskSubmitter { shared: Arc::clone(&self.shared), lane: self.lane, overload: self.overload }
    }
}

impl<P: Processor> fmt::Debug for TaskSubmitter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSubmitter")
            .field("lane", &self.shared.lanes[self.lane].name)
            .field("overload", &self.overload)
            .finish_non_exhaustive()
    }
}

impl<P: Processor> UnwindSafe for TaskSubmitter<P> {}
impl<P: Processor> RefUnwindSafe for TaskSubmitter<P> {}
