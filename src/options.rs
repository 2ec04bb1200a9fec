//! What a single task may ask for.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// When a task may start, and until when.
///
/// | option | makes no sense when | then |
/// | --- | --- | --- |
/// | `delay` | the delay queue is full | `Rejected(DelayFull)`, whatever the overload policy |
/// | `deadline`, `ttl` | it has passed, or passes before the delay | `Rejected(Expired)` |
/// | `key` | a task with that key is in flight in the lane | `Rejected(Duplicate(id))` with the other's id |
///
/// A time that cannot be counted (`Duration::MAX`) means "never".
///
/// ```
/// use dockhand::{RejectReason, TaskOptions, WorkerPool, processor_fn};
/// use std::time::{Duration, Instant};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
/// let submitter = pool.submitter();
/// let began = Instant::now();
/// let soon = TaskOptions::new().delay(Duration::from_millis(20)).ttl(Duration::from_secs(10));
/// submitter.submit_with(1, soon).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert!(began.elapsed() >= Duration::from_millis(20));
///
/// let late = TaskOptions::new().deadline(began);
/// let refused = submitter.submit_with(2, late).into_result().unwrap_err();
/// assert_eq!(refused.reason(), RejectReason::Expired);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing until they are given to a submit"]
pub struct TaskOptions {
    pub(crate) delay: Option<Duration>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) key: Option<Arc<str>>,
}

impl TaskOptions {
    /// Nothing special: a submit with these is a plain submit.
    ///
    /// ```
    /// use dockhand::TaskOptions;
    /// assert_eq!(TaskOptions::new(), TaskOptions::default());
    /// ```
    pub const fn new() -> Self {
        TaskOptions { delay: None, deadline: None, ttl: None, key: None }
    }

    /// Starts no earlier than that after the submit. The task waits in the lane's delay queue and goes from there to a
    /// worker; what is due and what is fresh alternate, and equal due times keep the order of submits.
    ///
    /// ```
    /// use dockhand::TaskOptions;
    /// use std::time::Duration;
    /// assert_ne!(TaskOptions::new().delay(Duration::from_secs(1)), TaskOptions::new());
    /// ```
    pub fn delay(self, delay: Duration) -> Self {
        TaskOptions { delay: Some(delay), ..self }
    }

    /// No attempt starts at this time or later, whatever stage the task waited in: it ends as `Expired` when its turn
    /// comes. No retry is scheduled beyond it. With a [`ttl`](TaskOptions::ttl) too, the earlier one holds.
    /// On a [`ManualPool`](crate::ManualPool) count from its `now()`, not from `Instant::now()`. Costs an allocation.
    ///
    /// ```
    /// use dockhand::TaskOptions;
    /// use std::time::{Duration, Instant};
    /// let options = TaskOptions::new().deadline(Instant::now() + Duration::from_secs(1));
    /// assert_ne!(options, TaskOptions::new());
    /// ```
    pub fn deadline(self, at: Instant) -> Self {
        TaskOptions { deadline: Some(at), ..self }
    }

    /// As [`deadline`](TaskOptions::deadline), counted from the submit, and anew from each
    /// [replay](crate::letter::DeadLetters::requeue). Does not allocate.
    ///
    /// ```
    /// use dockhand::TaskOptions;
    /// use std::time::Duration;
    /// assert_ne!(TaskOptions::new().ttl(Duration::from_secs(1)), TaskOptions::new());
    /// ```
    pub fn ttl(self, ttl: Duration) -> Self {
        TaskOptions { ttl: Some(ttl), ..self }
    }

    /// A name for the work, unique within its lane while a task that has it is in flight. It is free again at the task's
    /// outcome: keys coalesce what is in flight, they do not remember. A duplicate is refused before a full lane displaces
    /// anything for it. Costs an allocation and a short lock.
    ///
    /// ```
    /// use dockhand::{RejectReason, TaskOptions, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let submitter = pool.submitter();
    /// let refresh = TaskOptions::new().key("refresh").delay(Duration::from_millis(50));
    /// let first = submitter.submit_with(1, refresh.clone()).into_result()?;
    /// let again = submitter.submit_with(2, refresh).into_result().unwrap_err();
    /// assert_eq!(again.reason(), RejectReason::Duplicate(first));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(self, key: impl Into<Arc<str>>) -> Self {
        TaskOptions { key: Some(key.into()), ..self }
    }
}
