//! Numbers: what was counted, and what each worker does.
//!
//! Numbers never steer the pool. They add up at quiet moments; while work moves, a snapshot may see it between two
//! counts.

pub use crate::histogram::Histogram;
use crate::task::TaskInfo;
use std::time::Duration;

/// The terms of the conservation law, for a pool or a lane.
///
/// At any quiet moment `submitted = accepted + rejected + caller_run + dropped`, and
/// `accepted + caller_run = succeeded + dead_lettered + cancelled + expired + evicted + abandoned + queued + delayed +
/// running`. After a shutdown the last three are 0.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| {
///     if *n % 2 == 0 { Ok(()) } else { Err("odd".to_string()) }
/// }))
/// .build()?;
/// for n in 0..10 {
///     pool.submit(n).into_result()?;
/// }
/// pool.wait_idle(Duration::from_secs(10))?;
/// let counts = pool.metrics().counts;
/// assert_eq!((counts.accepted, counts.succeeded, counts.dead_lettered), (10, 5, 5));
/// assert!(counts.is_conserved());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Offers, the sum of the four answers. A submit that names an unknown lane is no offer to any lane.
    pub submitted: u64,
    /// Offers that were taken.
    pub accepted: u64,
    /// Offers that were refused.
    pub rejected: u64,
    /// Offers that ran on the submitting thread.
    pub caller_run: u64,
    /// Offers that a full lane's policy dropped.
    pub dropped: u64,
    /// Tasks that ended with `Ok`.
    pub succeeded: u64,
    /// Tasks that became letters.
    pub dead_lettered: u64,
    /// Tasks that were cancelled.
    pub cancelled: u64,
    /// Tasks whose deadline passed.
    pub expired: u64,
    /// Tasks that a newer one displaced.
    pub evicted: u64,
    /// Tasks that a shutdown handed back or gave up waiting for.
    pub abandoned: u64,
    /// Tasks that wait in their lane now.
    pub queued: u64,
    /// Tasks that wait for their time now.
    pub delayed: u64,
    /// Attempts that run now.
    pub running: u64,
    /// Attempts that were started.
    pub attempts: u64,
    /// Retries that were scheduled.
    pub retries: u64,
    /// Attempts that panicked.
    pub panics: u64,
    /// Attempts that came back with `Ok` after their timeout.
    pub timeouts: u64,
}

impl Counts {
    /// Whether both sums of the law hold. May be false while work moves.
    ///
    /// ```
    /// assert!(dockhand::metrics::Counts::default().is_conserved());
    /// ```
    pub fn is_conserved(&self) -> bool {
        let answers = self.accepted + self.rejected + self.caller_run + self.dropped;
        let ends = self.succeeded
            + self.dead_lettered
            + self.cancelled
            + self.expired
            + self.evicted
            + self.abandoned;
        let inside = self.queued + self.delayed + self.running;
        self.submitted == answers && self.accepted + self.caller_run == ends + inside
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        let Counts {
            submitted,
            accepted,
            rejected,
            caller_run,
            dropped,
            succeeded,
            dead_lettered,
            cancelled,
            expired,
            evicted,
            abandoned,
            queued,
            delayed,
            running,
            attempts,
            retries,
            panics,
            timeouts,
        } = other;
        self.submitted += submitted;
        self.accepted += accepted;
        self.rejected += rejected;
        self.caller_run += caller_run;
        self.dropped += dropped;
        self.succeeded += succeeded;
        self.dead_lettered += dead_lettered;
        self.cancelled += cancelled;
        self.expired += expired;
        self.evicted += evicted;
        self.abandoned += abandoned;
        self.queued += queued;
        self.delayed += delayed;
        self.running += running;
        self.attempts += attempts;
        self.retries += retries;
        self.panics += panics;
        self.timeouts += timeouts;
    }
}

/// The numbers of a pool at one moment; see [`WorkerPool::metrics`](crate::WorkerPool::metrics).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolMetrics {
    /// The sums over all lanes.
    pub counts: Counts,
    /// The lanes, most urgent first.
    pub lanes: Vec<LaneMetrics>,
    /// Workers whose thread has not left.
    pub live_workers: usize,
    /// Workers that have a task, its last hook and drop included.
    pub busy_workers: usize,
    /// Workers that are parked.
    pub sleeping_workers: usize,
    /// Letters in the store.
    pub letters: usize,
    /// Letters that had to leave a full store.
    pub letters_evicted: u64,
    /// Panics that were caught outside of attempts: in hooks, in `Drop` and `Display` of the user's types, in the logger.
    pub hook_panics: u64,
}

/// The numbers of a lane at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LaneMetrics {
    /// Its name.
    pub name: String,
    /// Its terms of the law; `queued` is the length of its queue.
    pub counts: Counts,
    /// How many tasks may wait in its queue.
    pub queue_capacity: usize,
    /// How many tasks may wait for their time.
    pub delay_capacity: usize,
    /// How many of its attempts may run at a time; `usize::MAX` for a lane without a limit.
    pub max_concurrency: usize,
    /// How many of these are taken: attempts that run, and late ones that a shutdown no longer waits for.
    pub permits_in_use: usize,
    /// How long tasks waited for their first attempt, from their submit or their due time.
    pub wait: Histogram,
    /// How long attempts took on workers.
    pub run: Histogram,
    /// How long attempts took in caller-runs.
    pub caller_run: Histogram,
    /// How long the oldest queued task has been waiting; only with [`Timing::Full`](crate::Timing::Full).
    pub oldest: Option<Duration>,
}

/// The state of a pool at one moment; see [`WorkerPool::status`](crate::WorkerPool::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Whether work is taken in.
    pub phase: Phase,
    /// The workers, and the threads that are in a caller-run.
    pub workers: Vec<WorkerStatus>,
}

/// Whether a pool takes work in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It does.
    Open,
    /// It refuses new work and runs what it has.
    Draining,
    /// Nothing more is run.
    Stopped,
}

/// What one worker does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerStatus {
    /// The name of its thread, as the system shows it; see [`name`](crate::PoolBuilder::name).
    pub name: String,
    /// The task it has, if any.
    pub task: Option<TaskInfo>,
    /// How long the attempt has been running. Of one that is not timed (see [`Timing`](crate::Timing)) a lower bound: the
    /// time since `status`, `metrics` or a shutdown first saw it, and `None` at that first look. A task of a lane with an
    /// `attempt_timeout`, or of a pool with a listener, is always timed.
    pub running_for: Option<Duration>,
    /// How long ago it reported progress, if it has.
    pub since_progress: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sums_of_the_law_are_checked() {
        let mut counts = Counts {
            submitted: 10,
            accepted: 5,
            rejected: 3,
            caller_run: 1,
            dropped: 1,
            succeeded: 2,
            dead_lettered: 1,
            queued: 2,
            running: 1,
            ..Counts::default()
        };
        assert!(counts.is_conserved());
        counts.rejected += 1;
        assert!(!counts.is_conserved());
        counts.submitted += 1;
        counts.delayed += 1;
        assert!(!counts.is_conserved());
    }
}
