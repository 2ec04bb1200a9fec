//! Waiting until the pool has come to rest (`wait_idle`, `shutdown`).
//!
//! ```text
//! waiter                                   whoever makes the pool emptier
//!   lock; waiters += 1; fence                word idle / gate left / swept / blocked
//!   loop: at rest → out                      fence
//!         time over → out                    waiters > 0 → lock; notify all
//!         wait
//! ```
//!
//! Of the two fences one comes first: either the teller sees the waiter, and its notification comes after the
//! waiter's look because of the lock; or the waiter sees what the teller did. Nothing of it is on a submit's path:
//! a submit makes the pool fuller.
//!
//! A single scan over words and queues proves nothing in either order: a task may be carried past it (queues first: a
//! follow-up is pushed into a queue that was seen empty; words first: a task is popped by a worker that was seen
//! idle). [`is_at_rest`] therefore reads the words, then the queues, then the words again. Words carry the number of
//! looks, so two equal readings mean that nobody looked, hence nobody held a task, while the queues were read; the
//! pop that emptied a queue makes the look before it visible.

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence};
use std::time::Instant;

pub(crate) struct Idle {
    waiters: AtomicUsize,
    lock: Mutex<()>,
    emptier: Condvar,
}

impl Idle {
    pub(crate) fn new() -> Self {
        Idle { waiters: AtomicUsize::new(0), lock: Mutex::new(()), emptier: Condvar::default() }
    }

    /// Waits until `condition` holds. `time_left` is asked before each wait: `Err` ends it, `Ok` says until when to
    /// sleep at the most. No user code runs in the closures.
    pub(crate) fn wait(
        &self,
        condition: impl Fn() -> bool,
        time_left: impl Fn() -> Result<Option<Instant>, TimeOver>,
    ) -> bool {
        let mut guard = self.lock.lock();
        self.waiters.fetch_add(1, Ordering::AcqRel);
        // Ordering: partner of the fence in `tell`.
        fence(Ordering::SeqCst);
        let held = loop {
            if condition() {
                break true;
            }
            match time_left() {
                Ok(deadline) => guard = self.emptier.wait_until(guard, deadline),
                Err(TimeOver) => break false,
            }
        };
        // Relaxed: a teller that still counts this waiter only notifies in vain.
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        drop(guard);
        held
    }

    /// The pool has become emptier, or what a waiter waits for has changed.
    pub(crate) fn tell(&self) {
        // Ordering: partner of the fence in `wait`.
        fence(Ordering::SeqCst);
        self.tell_fenced();
    }

    /// As [`Idle::tell`], for a caller that has fenced since the change.
    pub(crate) fn tell_fenced(&self) {
        if self.waiters.load(Ordering::Relaxed) > 0 {
            self.notify();
        }
    }

    #[cold]
    fn notify(&self) {
        let _guard = self.lock.lock();
        self.emptier.notify_all();
    }
}

/// The answer of a clock that has run out.
#[derive(Debug)]
pub(crate) struct TimeOver;

/// The double collect: `words` answers nothing while a runner is not quiet, else what must stand still; in between
/// `is_empty` looks at whatever tasks wait in.
pub(crate) fn is_at_rest<W: PartialEq>(
    words: impl Fn() -> Option<W>,
    is_empty: impl FnOnce() -> bool,
) -> bool {
    let Some(before) = words() else { return false };
    if !is_empty() {
        return false;
    }
    // Ordering: keeps the reads of the queues before the second reading of the words.
    fence(Ordering::Acquire);
    words().is_some_and(|after| after == before)
}
