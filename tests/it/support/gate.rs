//! Gates that tasks block on, and waiting for a fact.

use super::LONG;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Default)]
struct State {
    arrived: usize,
    open: bool,
}

/// Tasks block on it until the test opens it.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

impl Gate {
    pub(crate) fn new() -> Self {
        Gate::default()
    }

    /// Blocks until the gate is open.
    pub(crate) fn pass(&self) {
        let (lock, changed) = &*self.0;
        let mut state = lock.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived += 1;
        changed.notify_all();
        while !state.open {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn open(&self) {
        let (lock, changed) = &*self.0;
        lock.lock().unwrap_or_else(PoisonError::into_inner).open = true;
        changed.notify_all();
    }

    /// Waits until `n` have come to the gate.
    #[track_caller]
    pub(crate) fn wait_arrived(&self, n: usize) {
        assert!(self.arrived_within(n, LONG), "{n} did not come to the gate");
    }

    /// Whether `n` come to the gate within `time`.
    pub(crate) fn arrived_within(&self, n: usize, time: Duration) -> bool {
        let (lock, changed) = &*self.0;
        let state = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(state, time, |state| state.arrived < n);
        waited.unwrap_or_else(PoisonError::into_inner).0.arrived >= n
    }
}

/// Waits for a fact that comes without a signal: polls with a deadline.
#[track_caller]
pub(crate) fn eventually(what: &str, fact: impl Fn() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < LONG / 2, "never came true: {what}");
        std::thread::yield_now();
    }
}
