//! A task: a payload with its identity and what happened to it so far.

use crate::options::TaskOptions;
use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The lane that every pool has.
pub(crate) const DEFAULT_LANE: &str = "default";

/// The identity of a task, unique in this process.
///
/// Ids come from blocks that each thread holds, so they say nothing about the order of submits.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| {
///     *n += 1;
///     Ok::<(), String>(())
/// }))
/// .build()?;
/// let one = pool.submit(1).into_result()?;
/// let two = pool.submit(2).into_result()?;
/// assert_ne!(one, two);
/// assert_eq!(one.to_string().parse::<u64>().map(|n| n > 0), Ok(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(NonZeroU64);

impl TaskId {
    /// How many ids a thread takes at once: one shared write in so many submits.
    const BLOCK: u64 = 1024;

    /// The next id of this thread.
    #[inline]
    pub(crate) fn next() -> Self {
        static BLOCKS: AtomicU64 = AtomicU64::new(1);
        thread_local! {
            static NEXT: Cell<u64> = const { Cell::new(0) };
        }
        let new_block = || BLOCKS.fetch_add(1, Ordering::Relaxed) * Self::BLOCK;
        let next = NEXT.try_with(|next| {
            let mut id = next.get();
            if id % Self::BLOCK == 0 {
                id = new_block();
            }
            next.set(id + 1);
            id
        });
        // Where the thread's own is gone, a block for one id. Block numbers start at 1, so no id is 0 before the counter has
        // gone through 2^54 blocks.
        TaskId(NonZeroU64::new(next.unwrap_or_else(|_| new_block())).unwrap_or(NonZeroU64::MIN))
    }

    #[inline]
    pub(crate) fn as_u64(self) -> u64 {
        self.0.get()
    }

    pub(crate) fn from_u64(id: u64) -> Option<Self> {
        NonZeroU64::new(id).map(TaskId)
    }

    /// An id that belongs to no task, for a context without a pool.
    pub(crate) const DETACHED: TaskId = TaskId(NonZeroU64::MIN);
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is known of a task beside its payload.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u8, _cx| Err::<(), _>("no".to_string())))
///     .build()?;
/// let id = pool.submit(7).into_result()?;
/// pool.wait_idle(Duration::from_secs(5))?;
/// let letter = pool.dead_letters().take(id).ok_or("no letter")?;
/// assert_eq!(letter.info.task.id, id);
/// assert_eq!(&*letter.info.task.lane, "default");
/// assert_eq!(letter.info.task.attempt, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task's id.
    pub id: TaskId,
    /// The name of its lane.
    pub lane: Arc<str>,
    /// The number of attempts that were started, 0 if it only waited.
    pub attempt: u32,
    /// Its key, if it has one.
    pub key: Option<Arc<str>>,
    /// How often it was [replayed](crate::letter::DeadLetters::requeue) as a letter, so that a sink or a sweep can bound
    /// that.
    pub replays: u32,
    /// The id under which it was first submitted; its own, if it was never replayed.
    pub origin: TaskId,
}

/// The one end of a task that was accepted or run by its caller.
///
/// ```
/// use dockhand::{Outcome, OverloadPolicy, SubmitResult, WorkerPool, processor_fn};
///
/// // A caller-run task tells its outcome at once.
/// let gate = std::sync::Arc::new(std::sync::Barrier::new(2));
/// let at_gate = gate.clone();
/// let pool = WorkerPool::builder(processor_fn(move |wait: &mut bool, _cx| {
///     if *wait {
///         at_gate.wait(); // taken
///         at_gate.wait(); // let go
///     }
///     Ok::<(), String>(())
/// }))
/// .workers(1)
/// .queue_capacity(1)
/// .overload(OverloadPolicy::CallerRuns)
/// .build()?;
/// assert!(matches!(pool.submit(true), SubmitResult::Accepted(_)));
/// gate.wait(); // the worker has it
/// assert!(matches!(pool.submit(false), SubmitResult::Accepted(_)));
/// match pool.submit(false) {
///     SubmitResult::CallerRun(run) => assert_eq!(run.outcome, Some(Outcome::Succeeded)),
///     other => panic!("{other:?}"),
/// }
/// gate.wait();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// An attempt answered `Ok`.
    Succeeded,
    /// It failed for good and became a letter.
    DeadLettered,
    /// It was cancelled.
    Cancelled,
    /// Its deadline passed before an attempt could start.
    Expired,
    /// A newer task took its place in a full lane.
    Evicted,
    /// The pool was shut down before it could end otherwise.
    Abandoned,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Succeeded => "succeeded",
            Outcome::DeadLettered => "dead-lettered",
            Outcome::Cancelled => "cancelled",
            Outcome::Expired => "expired",
            Outcome::Evicted => "evicted",
            Outcome::Abandoned => "abandoned",
        })
    }
}

/// Where a task is, or was when the pool let go of it.
///
/// ```
/// use dockhand::{TaskStatus, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let (started, has_started) = std::sync::mpsc::channel();
/// let pool = WorkerPool::builder(processor_fn(move |_: &mut u32, cx| {
///     let _ = started.send(());
///     while cx.checkpoint().is_ok() {
///         std::thread::yield_now();
///     }
///     Err::<(), _>("shut down".to_string())
/// }))
/// .workers(1)
/// .build()?;
/// pool.submit(1).into_result()?;
/// pool.submit(2).into_result()?;
/// has_started.recv()?; // the first one runs, the second one waits
/// let report = pool.shutdown(Duration::ZERO);
/// let mut was: Vec<_> = report.abandoned.iter().map(|shed| (shed.payload, shed.was)).collect();
/// was.sort_by_key(|(payload, _)| *payload);
/// assert_eq!(was, [(1, TaskStatus::Running { attempt: 1 }), (2, TaskStatus::Queued)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// It waits in its lane.
    Queued,
    /// It waits for its time.
    Delayed {
        /// When it may start.
        due: Instant,
    },
    /// An attempt runs.
    Running {
        /// The attempt, counted from 1.
        attempt: u32,
    },
    /// An attempt failed and the next one waits for its time.
    Retrying {
        /// When the next attempt may start.
        due: Instant,
    },
    /// It has ended.
    Ended(Outcome),
}

/// A payload that the pool gives away with the reason, through
/// [`on_shed`](crate::PoolBuilder::on_shed) or a [`ShutdownReport`](crate::ShutdownReport).
///
/// ```
/// use dockhand::{Outcome, OverloadPolicy, WorkerPool, processor_fn};
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
///
/// let free_list = Arc::new(Mutex::new(Vec::new()));
/// let recycle = free_list.clone();
/// let pool = WorkerPool::builder(processor_fn(|_: &mut Vec<u8>, cx| {
///     while cx.checkpoint().is_ok() {
///         std::thread::yield_now();
///     }
///     Ok::<(), String>(())
/// }))
/// .workers(1)
/// .queue_capacity(1)
/// .overload(OverloadPolicy::DropOldest)
/// .on_shed(move |shed| {
///     assert_eq!(shed.outcome, Outcome::Evicted);
///     recycle.lock().unwrap().push(shed.payload);
/// })
/// .build()?;
/// for _ in 0..3 {
///     pool.submit(vec![0; 16]).into_result()?;
/// }
/// assert!(!free_list.lock().unwrap().is_empty());
/// let _ = pool.shutdown(Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub struct Shed<T> {
    /// Which task it was.
    pub task: TaskInfo,
    /// How it ended.
    pub outcome: Outcome,
    /// Where it was when it ended.
    pub was: TaskStatus,
    /// The text of the last failed attempt, if there was one; cut as [`LetterInfo::error`](crate::letter::LetterInfo::error) is.
    pub last_error: Option<Arc<str>>,
    /// What it was submitted with: its key, ttl and deadline, for whoever submits it again. A delay is not among them:
    /// what is left of it is said by `was`.
    pub options: TaskOptions,
    /// The payload.
    pub payload: T,
}

impl<T> fmt::Debug for Shed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shed")
            .field("task", &self.task)
            .field("outcome", &self.outcome)
            .field("was", &self.was)
            .field("last_error", &self.last_error)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_over_threads_and_blocks() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..3000).map(|_| TaskId::next()).collect::<Vec<_>>()))
            .collect();
        let mut ids = std::collections::HashSet::new();
        for thread in threads {
            for id in thread.join().expect("no panic") {
                assert!(ids.insert(id), "{id} twice");
            }
        }
    }
}
