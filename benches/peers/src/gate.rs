//! Holds workers, so that what is queued behind them stays queued.

use crate::job::Job;
use crate::peer::Peer;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Gate {
    is_open: bool,
    held: usize,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { is_open: true, held: 0 });
static CHANGED: Condvar = Condvar::new();

fn change(f: impl FnOnce(&mut Gate)) {
    f(&mut GATE.lock().unwrap_or_else(PoisonError::into_inner));
    CHANGED.notify_all();
}

fn wait_until(fact: impl Fn(&Gate) -> bool) {
    let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = CHANGED.wait_timeout_while(gate, PATIENCE, |gate| !fact(gate));
    let (_gate, answer) = waited.unwrap_or_else(PoisonError::into_inner);
    assert!(!answer.timed_out(), "the workers do not come to the gate, or it is not opened");
}

/// Keeps the calling thread until the gate opens.
pub(crate) fn hold() {
    change(|gate| gate.held += 1);
    wait_until(|gate| gate.is_open);
    change(|gate| gate.held -= 1);
}

/// A closed gate with workers behind it. Opens when it is dropped.
#[derive(Debug)]
#[must_use = "the gate opens when this is dropped"]
pub struct Plug(());

impl Plug {
    /// Closes the gate, and returns when so many workers stand before it.
    pub fn put(workers: usize, mut submit: impl FnMut(Job)) -> Plug {
        change(|gate| gate.is_open = false);
        let plug = Plug(());
        (0..workers).for_each(|_| submit(Job::Plug));
        wait_until(|gate| gate.held == workers);
        plug
    }

    /// All workers of a peer.
    pub fn all(peer: &dyn Peer, workers: usize) -> Plug {
        Plug::put(workers, |job| peer.submit(job))
    }
}

impl Drop for Plug {
    fn drop(&mut self) {
        change(|gate| gate.is_open = true);
    }
}
