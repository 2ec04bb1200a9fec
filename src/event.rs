//! What a pool tells its listeners.

use crate::error::RejectReason;
use crate::failure::Cause;
use crate::task::{Outcome, TaskInfo};
use std::fmt::Display;
use std::time::Duration;

/// How far a running task has come, as it reports it.
///
/// See [`TaskContext::report_progress`](crate::TaskContext::report_progress) for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is done, in the task's own units.
    pub done: u64,
    /// What there is to do.
    pub total: u64,
}

/// Something that happened, for [`on_event`](crate::PoolBuilder::on_event).
///
/// From `Started` on, the events of one task are told in order, and exactly one `Ended` comes last. [`Accepted`](Event::Accepted) is
/// told by the submitting thread and not ordered against the rest, since a worker may be faster. A shutdown waits for no listener:
/// of a running task that it gives up it tells `Ended` itself, unless listeners are hearing of the task just then; whoever
/// is telling them tells `Ended` next. Events are told where they happen, so a hook costs the thread it runs on.
///
/// ```
/// use dockhand::{Event, WorkerPool, processor_fn};
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
///
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let heard = log.clone();
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string())))
///     .on_event(move |event| {
///         let line = match event {
///             Event::Started { .. } => "started".to_string(),
///             Event::AttemptFailed { cause, .. } => format!("failed: {cause}"),
///             Event::Ended { outcome, .. } => outcome.to_string(),
///             _ => return,
///         };
///         heard.lock().unwrap().push(line);
///     })
///     .build()?;
/// pool.submit(1).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert_eq!(*log.lock().unwrap(), ["started", "failed: no", "dead-lettered"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub enum Event<'a> {
    /// A submit was accepted. Told on the submitting thread, once the task can be taken and before the submit returns; by one
    /// thread in the order of its submits.
    ///
    /// It holds the task back for nobody: a worker may tell `Started`, and all the rest up to `Ended`, before it or meanwhile. A
    /// listener that keeps a table of tasks makes an entry at whichever it hears first. What was run by its caller was not
    /// accepted; a replayed letter is accepted under its new id. Not told of a submit that is nested eight deep in hooks of others,
    /// nor when a shutdown has let go of the listeners meanwhile.
    Accepted {
        /// The task.
        task: &'a TaskInfo,
    },
    /// A submit was refused, or dropped by the policy of a full lane.
    Refused {
        /// The lane.
        lane: &'a str,
        /// Why.
        reason: RejectReason,
    },
    /// An attempt starts.
    Started {
        /// The task, with the number of the attempt.
        task: &'a TaskInfo,
    },
    /// A running task has reported how far it is.
    Progress {
        /// The task.
        task: &'a TaskInfo,
        /// What it reported.
        progress: Progress,
    },
    /// An attempt took longer than its lane's `slow_after`.
    Slow {
        /// The task.
        task: &'a TaskInfo,
        /// How long it took.
        ran: Duration,
    },
    /// An attempt failed.
    AttemptFailed {
        /// The task.
        task: &'a TaskInfo,
        /// Why. An error is the task's own: a listener that writes its text writes all of it.
        cause: Cause<'a, dyn Display + 'a>,
    },
    /// The failed attempt will be followed by another one.
    RetryScheduled {
        /// The task.
        task: &'a TaskInfo,
        /// After this time.
        delay: Duration,
    },
    /// A task has its outcome. The last of its events.
    Ended {
        /// The task.
        task: &'a TaskInfo,
        /// The outcome.
        outcome: Outcome,
        /// How long the last attempt ran, if one did and was timed.
        ran: Option<Duration>,
    },
    /// A worker has started.
    WorkerStarted {
        /// Its number.
        worker: usize,
    },
    /// A worker has run its last task.
    WorkerStopped {
        /// Its number.
        worker: usize,
    },
    /// The pool takes no new work from here on.
    ShutdownBegun,
    /// A shutdown from outside has come to its end.
    ShutdownEnded,
}

impl std::fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, task) = match self {
            Event::Accepted { task } => ("Accepted", *task),
            Event::Refused { lane, reason } => return write!(f, "Refused({lane:?}, {reason:?})"),
            Event::Started { task } => ("Started", *task),
            Event::Progress { task, .. } => ("Progress", *task),
            Event::Slow { task, .. } => ("Slow", *task),
            Event::AttemptFailed { task, .. } => ("AttemptFailed", *task),
            Event::RetryScheduled { task, .. } => ("RetryScheduled", *task),
            Event::Ended { task, outcome, .. } => return write!(f, "Ended({task:?}, {outcome:?})"),
            Event::WorkerStarted { worker } => return write!(f, "WorkerStarted({worker})"),
            Event::WorkerStopped { worker } => return write!(f, "WorkerStopped({worker})"),
            Event::ShutdownBegun => return f.write_str("ShutdownBegun"),
            Event::ShutdownEnded => return f.write_str("ShutdownEnded"),
        };
        f.debug_tuple(name).field(task).finish()
    }
}
