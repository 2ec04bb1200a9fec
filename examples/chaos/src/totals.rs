//! Numbers over all pools.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::ledger::{Answers, Ledger, OUTCOMES};

#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) answers: Answers,
    pub(crate) outcomes: [u64; OUTCOMES.len()],
    /// How often something was reached that is worth reaching.
    pub(crate) reached: BTreeMap<&'static str, u64>,
    /// The longest step of a thread, and what it was.
    pub(crate) longest_step: (Duration, String),
}

static TOTALS: Mutex<Totals> = Mutex::new(Totals {
    answers: NO_ANSWERS,
    outcomes: [0; OUTCOMES.len()],
    reached: BTreeMap::new(),
    longest_step: (Duration::ZERO, String::new()),
});
const NO_ANSWERS: Answers = Answers { accepted: 0, tracked: 0, caller_run: 0, rejected: 0, dropped: 0 };

static OPERATIONS: AtomicU64 = AtomicU64::new(0);
static POOLS: AtomicU64 = AtomicU64::new(0);
static PROBES: AtomicU64 = AtomicU64::new(0);
static LONGEST_START: AtomicU64 = AtomicU64::new(0);

pub(crate) fn operation() {
    OPERATIONS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn operations() -> u64 {
    OPERATIONS.load(Ordering::Relaxed)
}

/// A pool was built.
pub(crate) fn pool() {
    POOLS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn pools() -> u64 {
    POOLS.load(Ordering::Relaxed)
}

pub(crate) fn reached(what: &'static str) {
    if let Ok(mut totals) = TOTALS.lock() {
        *totals.reached.entry(what).or_default() += 1;
    }
}

/// A task started this long after its submit to an idle pool.
pub(crate) fn started_after(wait: Duration) {
    PROBES.fetch_add(1, Ordering::Relaxed);
    LONGEST_START.fetch_max(wait.as_nanos().min(u128::from(u64::MAX)) as u64, Ordering::Relaxed);
}

pub(crate) fn probes() -> u64 {
    PROBES.load(Ordering::Relaxed)
}

/// A thread's longest step took this long.
pub(crate) fn longest_step(took: Duration, step: String) {
    if let Ok(mut totals) = TOTALS.lock()
        && took > totals.longest_step.0
    {
        totals.longest_step = (took, step);
    }
}

pub(crate) fn longest_start() -> Duration {
    Duration::from_nanos(LONGEST_START.load(Ordering::Relaxed))
}

/// The books of a pool are closed.
pub(crate) fn add<K: Copy + Eq + Hash + Debug>(ledger: &Ledger<K>) {
    let Ok(mut totals) = TOTALS.lock() else { return };
    let Answers { accepted, tracked, caller_run, rejected, dropped } = ledger.taken_answers();
    totals.answers.accepted += accepted;
    totals.answers.tracked += tracked;
    totals.answers.caller_run += caller_run;
    totals.answers.rejected += rejected;
    totals.answers.dropped += dropped;
    for (sum, outcome) in totals.outcomes.iter_mut().zip(OUTCOMES) {
        *sum += ledger.ended(outcome);
    }
}

pub(crate) fn all() -> Totals {
    TOTALS.lock().map(|totals| totals.clone()).unwrap_or_default()
}
