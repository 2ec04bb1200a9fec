//! Counters. A worker has its own for each lane, with one writer; what other threads count is shared by lane.

use crate::sync::{AtomicU64, Ordering};

/// What is counted. `accepted` is not: it is what has left the queue plus what is in it, so that a submit that is
/// taken writes nothing that is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Succeeded,
    DeadLettered,
    Abandoned,
    Evicted,
    Cancelled,
    Expired,
    Retries,
    Panics,
    Timeouts,
    Attempts,
    CallerRun,
    Rejected,
    Dropped,
    /// Delayed submits that were accepted; they never are in the lane's queue.
    Admitted,
    /// Tasks that left the lane's queue alive.
    Taken,
}

const COUNTS: usize = Count::Taken as usize + 1;

/// One set of counters.
#[derive(Default)]
pub(crate) struct Tally([AtomicU64; COUNTS]);

impl Tally {
    pub(crate) fn get(&self, count: Count) -> u64 {
        // Ordering: Acquire, partner of the Release in `Recorder::add`: a snapshot that sees an end sees its start.
        self.0[count as usize].load(Ordering::Acquire)
    }
}

/// A way to count: alone or beside others.
#[derive(Clone, Copy)]
pub(crate) enum Recorder<'a> {
    /// The calling thread is the only one that writes.
    Own(&'a Tally),
    Shared(&'a Tally),
}

impl Recorder<'_> {
    #[inline]
    pub(crate) fn add(self, count: Count) {
        self.add_many(count, 1);
    }

    #[inline]
    pub(crate) fn add_many(self, count: Count, n: u64) {
        match self {
            Recorder::Own(tally) => {
                let cell = &tally.0[count as usize];
                let before = cell.load(Ordering::Relaxed);
                // Ordering: Release, partner of the load in `Tally::get`.
                cell.store(before + n, Ordering::Release);
            }
            Recorder::Shared(tally) => {
                tally.0[count as usize].fetch_add(n, Ordering::Release);
            }
        }
    }
}
