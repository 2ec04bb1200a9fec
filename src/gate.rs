//! The gate of the overload policies that act on a full lane (`DropOldest`, `CallerRuns`).
//!
//! Whoever is inside has seen the pool open, and what he does to a lane is done before a shutdown sweeps it:
//!
//! ```text
//! submitter                              shutdown
//!   entered += 1                           state |= closed
//!   fence                                  fence
//!   closed → leave, Rejected(Closed)       wait until entered = left
//!   displace, or register the caller-run   sweep
//!   left += 1
//! ```
//!
//! Of the two fences one comes first. If the submitter's does, the shutdown sees him inside and waits; if the
//! shutdown's does, the submitter sees `closed` and does nothing. Looking at `closed` before entering, or leaving out
//! either fence, lets a task be displaced after the report was written. No user code runs inside, so the wait is short.

use crate::sync::{AtomicU64, Ordering, fence};

/// Two counters that only grow, so that `wait_idle` can tell "nobody was inside in between".
pub(crate) struct Gate {
    entered: AtomicU64,
    left: AtomicU64,
}

/// Being inside; dropping it leaves.
pub(crate) struct Inside<'a>(&'a Gate);

impl Gate {
    pub(crate) fn new() -> Self {
        Gate { entered: AtomicU64::new(0), left: AtomicU64::new(0) }
    }

    /// Enters. The caller looks at `closed` next, and leaves at once if it is set.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.entered.fetch_add(1, Ordering::AcqRel);
        // Ordering: partner of the fence in `Sleep::close`.
        fence(Ordering::SeqCst);
        Inside(self)
    }

    /// How many have entered so far, if all of them have left.
    pub(crate) fn passed(&self) -> Option<u64> {
        // Ordering: Acquire, partner of the Release in `drop`: who sees the leaving sees what was done inside. `left`
        // is read first, so equality holds at the moment of the second read.
        let left = self.left.load(Ordering::Acquire);
        let entered = self.entered.load(Ordering::Acquire);
        (left == entered).then_some(entered)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::AcqRel);
    }
}
