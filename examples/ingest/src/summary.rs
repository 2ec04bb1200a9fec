//! What is left of a run when the pool has stopped.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dockhand::metrics::{Counts, Histogram, LaneMetrics, PoolMetrics, WorkerStatus};
use dockhand::{DeadLetter, WorkerPool};
use serde::Serialize;

use crate::error::IngestError;
use crate::job::Job;
use crate::processor::Ingest;
use crate::tally::Tally;

/// Everything that the report tells.
pub(crate) struct Summary {
    pub(crate) metrics: PoolMetrics,
    pub(crate) letters: Vec<Letter>,
    /// Workers that did not come back from their task in time.
    pub(crate) still_running: Vec<WorkerStatus>,
    pub(crate) tally: Arc<Tally>,
    /// Requests that the endpoint took, and that it refused.
    pub(crate) answered: (u64, u64),
    /// Where the thumbnails are, if there are any.
    pub(crate) out: Option<PathBuf>,
    /// Whether it was asked to stop.
    pub(crate) interrupted: bool,
    /// Whether the numbers for Prometheus were written.
    pub(crate) exposed: anyhow::Result<()>,
    pub(crate) elapsed: Duration,
}

/// A task that failed for good.
pub(crate) struct Letter {
    pub(crate) path: PathBuf,
    pub(crate) lane: Arc<str>,
    pub(crate) why: String,
}

/// The line that `--json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Totals {
    pool: PoolTotals,
    files: u64,
    thumbnails: u64,
    elapsed_ms: u128,
    follow_ups_refused: u64,
    /// In the order in which a file passes them.
    lanes: Vec<LaneTimes>,
    unreadable: u64,
    interrupted: bool,
}

/// How long tasks waited for a worker, and how long a worker took.
#[derive(Debug, Serialize)]
struct LaneTimes {
    name: String,
    wait_ms: Quantiles,
    run_ms: Quantiles,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct PoolTotals {
    submitted: u64,
    accepted: u64,
    rejected: u64,
    caller_run: u64,
    dropped: u64,
    succeeded: u64,
    dead_lettered: u64,
    cancelled: u64,
    expired: u64,
    evicted: u64,
    abandoned: u64,
    queued: u64,
    delayed: u64,
    running: u64,
    retries: u64,
}

impl Summary {
    /// The pool lists the last step first: it is the most urgent one.
    pub(crate) fn used_lanes(&self) -> impl Iterator<Item = &LaneMetrics> {
        self.metrics.lanes.iter().rev().filter(|lane| lane.counts.submitted > 0)
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            pool: PoolTotals::from(&self.metrics.counts),
            files: self.tally.files.get(),
            thumbnails: self.tally.thumbnails.get(),
            elapsed_ms: self.elapsed.as_millis(),
            follow_ups_refused: self.tally.follow_ups_refused.get(),
            lanes: self.used_lanes().map(LaneTimes::from).collect(),
            unreadable: self.tally.unreadable.count(),
            interrupted: self.interrupted,
        }
    }
}

/// Takes what failed for good from the pool.
pub(crate) fn letters(pool: &WorkerPool<Ingest>) -> Vec<Letter> {
    let mut letters: Vec<Letter> = pool.dead_letters().drain().into_iter().map(Letter::from).collect();
    letters.sort_by(|a, b| a.path.cmp(&b.path));
    letters
}

impl From<DeadLetter<Job, IngestError>> for Letter {
    fn from(letter: DeadLetter<Job, IngestError>) -> Self {
        let info = letter.info;
        let why = format!("{} ({:?}, attempt {})", info.error, info.reason, info.task.attempt);
        Self { path: letter.payload.path().to_owned(), lane: info.task.lane, why }
    }
}

impl From<&LaneMetrics> for LaneTimes {
    fn from(lane: &LaneMetrics) -> Self {
        Self { name: lane.name.clone(), wait_ms: (&lane.wait).into(), run_ms: (&lane.run).into() }
    }
}

impl From<&Histogram> for Quantiles {
    fn from(times: &Histogram) -> Self {
        let millis = |q| (times.quantile(q).as_secs_f64() * 1e6).round() / 1e3;
        let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(millis);
        Self { p50, p90, p99, max }
    }
}

impl From<&Counts> for PoolTotals {
    fn from(counts: &Counts) -> Self {
        Self {
            submitted: counts.submitted,
            accepted: counts.accepted,
            rejected: counts.rejected,
            caller_run: counts.caller_run,
            dropped: counts.dropped,
            succeeded: counts.succeeded,
            dead_lettered: counts.dead_lettered,
            cancelled: counts.cancelled,
            expired: counts.expired,
            evicted: counts.evicted,
            abandoned: counts.abandoned,
            queued: counts.queued,
            delayed: counts.delayed,
            running: counts.running,
            retries: counts.retries,
        }
    }
}
