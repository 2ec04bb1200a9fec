//! Payloads whose way is kept in a book, and the pool that runs them.

use crate::metrics::Counts;
use crate::sync::yield_now;
use crate::{PoolBuilder, ProcessorFn, SubmitResult, TaskContext, Timing, WorkerPool, processor_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A payload.
pub(super) struct Parcel {
    pub(super) number: usize,
    ledger: Ledger,
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.ledger.0[self.number].dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// What became of each parcel. Its counters are no points of the schedule.
#[derive(Clone)]
pub(super) struct Ledger(Arc<[Way]>);

#[derive(Default)]
struct Way {
    runs: AtomicU32,
    /// How often it came back instead of being run: refused, cancelled, shed, or in a report.
    returned: AtomicU32,
    dropped: AtomicU32,
}

impl Ledger {
    pub(super) fn new(parcels: usize) -> Self {
        Ledger((0..parcels).map(|_| Way::default()).collect())
    }

    pub(super) fn parcel(&self, number: usize) -> Parcel {
        Parcel { number, ledger: self.clone() }
    }

    pub(super) fn runs(&self, number: usize) -> u32 {
        self.0[number].runs.load(Ordering::Relaxed)
    }

    pub(super) fn returned(&self, parcel: Parcel) {
        self.0[parcel.number].returned.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer that may be a refusal; true if the pool has the task, or had it.
    pub(super) fn answered(&self, answer: SubmitResult<Parcel>) -> bool {
        match answer.into_payload() {
            Some(parcel) => {
                self.returned(parcel);
                false
            }
            None => true,
        }
    }

    fn is_dropped(&self, number: usize) -> bool {
        self.0[number].dropped.load(Ordering::Relaxed) > 0
    }

    /// Each parcel was run or came back, not both and once, and was dropped once. Waits for attempts that a shutdown
    /// has given up; a parcel that is lost makes it wait in vain.
    pub(super) fn assert_each_ran_or_returned(&self) {
        self.wait_until_dropped();
        for (number, way) in self.0.iter().enumerate() {
            let ends = (self.runs(number), way.returned.load(Ordering::Relaxed));
            assert!(ends == (1, 0) || ends == (0, 1), "parcel {number}: (runs, returns) are {ends:?}");
        }
    }

    /// Each parcel was dropped, and once.
    pub(super) fn wait_until_dropped(&self) {
        while !(0..self.0.len()).all(|number| self.is_dropped(number)) {
            yield_now();
        }
        for (number, way) in self.0.iter().enumerate() {
            assert_eq!(way.dropped.load(Ordering::Relaxed), 1, "drops of parcel {number}");
        }
    }
}

pub(super) type Pool = WorkerPool<ProcessorFn<Parcel, usize, String>>;

/// A pool that keeps the book and does `work`. The output of a task is the number of its parcel.
pub(super) fn builder(
    workers: usize,
    work: impl Fn(&Parcel, &TaskContext<'_, Parcel>) -> Result<(), String> + Send + Sync + 'static,
) -> PoolBuilder<ProcessorFn<Parcel, usize, String>> {
    let process = move |parcel: &mut Parcel, cx: &TaskContext<'_, Parcel>| {
        parcel.ledger.0[parcel.number].runs.fetch_add(1, Ordering::Relaxed);
        work(parcel, cx).map(|()| parcel.number)
    };
    WorkerPool::builder(processor_fn(process)).workers(workers).timing(Timing::Off)
}

/// Ends the pool, enters what comes back, and checks the law.
pub(super) fn end(pool: &Pool, ledger: &Ledger, timeout: Duration) -> Counts {
    let report = pool.shutdown(timeout);
    let counts = report.counts;
    assert!(counts.is_conserved(), "{counts:?}");
    assert_eq!((counts.queued, counts.delayed, counts.running), (0, 0, 0), "{counts:?}");
    for shed in report.abandoned {
        ledger.returned(shed.payload);
    }
    counts
}

/// As [`end`], where no other call sets a window: nothing is given up.
pub(super) fn drain(pool: &Pool, ledger: &Ledger) -> Counts {
    let report = pool.shutdown(Duration::MAX);
    assert!(report.is_clean(), "{report:?}");
    drop(report);
    let counts = end(pool, ledger, Duration::ZERO);
    assert_eq!(counts.abandoned, 0, "{counts:?}");
    counts
}

/// Once a call from outside has returned, later submits are refused and nothing else is counted.
pub(super) fn assert_only_refusals_since(told: &Counts, now: &Counts) {
    let fixed = |counts: &Counts| Counts { submitted: 0, rejected: 0, ..*counts };
    assert_eq!(fixed(now), fixed(told), "since the report");
}
