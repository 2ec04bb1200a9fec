//! What did not hold.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// Which promise a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The conservation law, and the counts against what was answered, told and handed back.
    Conserved,
    /// The end of each task is told once, and everybody is told the same.
    ToldOnce,
    /// Everything else: panics that got out, answers that cannot be, payloads that were lost.
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) promise: Promise,
    pub(crate) what: String,
}

/// More than this says nothing new.
const MOST_WRITTEN: u64 = 40;

static SEED: OnceLock<u64> = OnceLock::new();
static NOTED: Mutex<Vec<Promise>> = Mutex::new(Vec::new());
static WRITTEN: AtomicU64 = AtomicU64::new(0);

pub(crate) fn start(seed: u64) {
    // A second run in one process keeps the first seed.
    let _ = SEED.set(seed);
}

/// Keeps a finding, and writes it to standard error.
pub(crate) fn note(finding: &Finding) {
    if let Ok(mut noted) = NOTED.lock() {
        noted.push(finding.promise);
    }
    if WRITTEN.fetch_add(1, Ordering::Relaxed) < MOST_WRITTEN {
        write(&format!("{:?}: {}", finding.promise, finding.what));
    }
}

pub(crate) fn other(what: impl Into<String>) {
    note(&Finding { promise: Promise::Other, what: what.into() });
}

/// A line on standard error, with the seed.
pub(crate) fn write(line: &str) {
    let seed = SEED.get().copied().unwrap_or_default();
    // Where standard error is gone the exit code still tells.
    let _ = writeln!(std::io::stderr(), "chaos, seed {seed}: {line}");
}

pub(crate) fn count() -> usize {
    NOTED.lock().map_or(usize::MAX, |noted| noted.len())
}

pub(crate) fn holds(promise: Promise) -> bool {
    NOTED.lock().is_ok_and(|noted| !noted.contains(&promise))
}
