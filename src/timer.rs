//! The timer: one thread that runs nothing and only wakes.
//!
//! It sleeps on its own lock until the earliest *future* due time of all lanes, without limit while there is none.
//! When that has come it does what a submit does after its push: fence, then the wake rule. Workers take what is due
//! from the heaps themselves, so no worker has a special role and the sleep protocol knows no time.
//!
//! Whoever makes an earlier due time the next one of its lane (an insert at the front, a take that uncovers the entry
//! behind it) calls [`Timer::arm`] after the heap's lock. After it has fired, the timer arms itself for what its heaps
//! name as later than **the clock reading it fired for**: what became due since then counts as future, so it fires
//! again at once instead of being passed over.
//!
//! Why no wake is lost: a sleeper announces itself, fences, and then reads the clock; the timer reads the clock,
//! fences, and then reads the word. Whichever fence comes first, the other side sees: the sleeper a clock that is
//! past the due time, or the timer a sleeper.

use crate::clock::Moment;
use crate::sync::{Condvar, Mutex};
use std::time::Instant;

struct Armed {
    at: Moment,
    stopped: bool,
}

pub(crate) struct Timer {
    armed: Mutex<Armed>,
    changed: Condvar,
}

/// What the timer asks of its pool. No user code runs in any of it.
pub(crate) trait TimerHost {
    fn now(&self) -> Moment;
    fn instant(&self, at: Moment) -> Option<Instant>;
    /// The earliest due time of all lanes that is later than `now`.
    fn next_due_after(&self, now: Moment) -> Moment;
    /// A due time has come.
    fn fire(&self);
}

impl Timer {
    pub(crate) fn new() -> Self {
        Timer { armed: Mutex::new(Armed { at: Moment::NEVER, stopped: false }), changed: Condvar::default() }
    }

    /// Makes sure that the timer fires no later than `at`.
    pub(crate) fn arm(&self, at: Moment) {
        let mut armed = self.armed.lock();
        if at < armed.at {
            armed.at = at;
            self.changed.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        self.armed.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Ends the wait as its deadline would, if that `is_over`: loom has no time.
    #[cfg(all(test, dockhand_loom))]
    pub(crate) fn poke(&self, is_over: impl FnOnce() -> bool) {
        let _armed = self.armed.lock();
        if is_over() {
            self.changed.notify_one();
        }
    }

    /// The timer thread's whole life.
    pub(crate) fn run(&self, host: &impl TimerHost) {
        let mut armed = self.armed.lock();
        while !armed.stopped {
            let now = host.now();
            if armed.at > now {
                let until = host.instant(armed.at);
                armed = self.changed.wait_until(armed, until);
                continue;
            }
            armed.at = Moment::NEVER;
            drop(armed);
            host.fire();
            armed = self.armed.lock();
            armed.at = armed.at.min(host.next_due_after(now));
        }
    }
}
