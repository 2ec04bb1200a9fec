//! Waiting for room in a full lane (`submit_timeout`).
//!
//! ```text
//! waiter, after a plain push failed        taker              close
//!   lock; waiters += 1; fence                pop                closed; fence
//!   loop: closed → out                       fence              lock; notify all
//!         push → out                         waiters > 0 →
//!         time over → out                      lock; notify one
//!         wait
//! ```
//!
//! Of the waiter's fence and the taker's one comes first: either the taker sees the waiter and notifies under the
//! lock (so the waiter is before its push or in its wait), or the waiter's push sees the room. A waiter that was
//! woken or timed out **always tries once more** before it goes: otherwise the one notification for a place would be
//! lost with it while another waits beside free room. `close` notifies under the lock, or a waiter between its look
//! at `closed` and its wait would sleep on. There is no order among waiters, and a plain submit may be faster.

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence};
use std::time::Instant;

/// Before a wait: tries a few times more, since a wake costs its taker more than most tasks, and where places become free
/// in quick succession nobody should have to pay for one. With pauses, so that several places are free by then and the
/// queue's lines stay with the takers meanwhile; and yielding at last, for the takers may need this core. A try that
/// fails promises nothing.
pub(crate) fn try_for_a_moment<T>(
    mut item: T,
    is_over: impl Fn() -> bool,
    push: impl Fn(T) -> Result<(), T>,
) -> Result<(), T> {
    const PAUSES: u32 = 4;
    const YIELDS: u32 = 32;
    for turn in 0..PAUSES + YIELDS {
        if turn < PAUSES {
            (0..64).for_each(|_| std::hint::spin_loop());
        } else {
            std::thread::yield_now();
        }
        // Last before the try: in a pool that was closed meanwhile a sweep makes room that is for nobody.
        if is_over() {
            break;
        }
        match push(item) {
            Ok(()) => return Ok(()),
            Err(refused) => item = refused,
        }
    }
    Err(item)
}

/// What became of an item that waited.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited<T> {
    Pushed,
    Closed(T),
    TimedOut(T),
}

pub(crate) struct Room {
    waiters: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
}

impl Room {
    pub(crate) fn new() -> Self {
        Room { waiters: AtomicUsize::new(0), lock: Mutex::new(()), freed: Condvar::default() }
    }

    /// Pushes `item` as soon as there is room, until `is_over`. No user code runs in the closures.
    pub(crate) fn wait_and_push<T>(
        &self,
        mut item: T,
        deadline: Option<Instant>,
        is_over: impl Fn() -> bool,
        is_closed: impl Fn() -> bool,
        push: impl Fn(T) -> Result<(), T>,
    ) -> Waited<T> {
        let mut guard = self.lock.lock();
        self.waiters.fetch_add(1, Ordering::AcqRel);
        // Ordering: partner of the taker's fence before `was_freed`, and of the one in `Sleep::close`.
        fence(Ordering::SeqCst);
        let end = loop {
            if is_closed() {
                break Waited::Closed(item);
            }
            let over = is_over();
            match push(item) {
                Ok(()) => break Waited::Pushed,
                Err(refused) => item = refused,
            }
            if over {
                break Waited::TimedOut(item);
            }
            guard = self.freed.wait_until(guard, deadline);
        };
        // Relaxed: a taker that still counts this waiter only notifies in vain.
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        drop(guard);
        end
    }

    /// A place became free. The caller has fenced since its pop.
    #[inline]
    pub(crate) fn was_freed(&self) {
        // Relaxed: ordered by the caller's fence, partner of the one in `wait_and_push`.
        if self.waiters.load(Ordering::Relaxed) > 0 {
            self.notify_one();
        }
    }

    #[cold]
    fn notify_one(&self) {
        let _guard = self.lock.lock();
        self.freed.notify_one();
    }

    /// The pool was closed, and a fence came after that.
    pub(crate) fn close(&self) {
        let _guard = self.lock.lock();
        self.freed.notify_all();
    }
}
