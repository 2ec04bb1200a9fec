//! The end of a pool's work: who is still there, what came too late, what is to be handed back.
//!
//! ```text
//! a submit that finds the pool closed after its push      a worker that finds nothing, in a closed pool
//!   lock                                                    lock; fence
//!   not finalized → Accepted (and the wake rule)            something waits → unlock, go on
//!   finalized → move what is queued into `late`             live -= 1; the last one: finalized
//!     my task is in `late` → take it out, Rejected          unlock; the wake rule, so that the next one leaves too
//!     somebody looks → unlock, yield, again
//!     else → Accepted: a worker or the sweep had it       the end of a window
//!                                                           repeat: lock; sweep; nobody looks → finalized; unlock
//! ```
//!
//! **Every `Accepted` is run, a letter, or in the report.** A push is before or after the last look that was made
//! under this lock. If it is before, that look saw it (a push that is seen as half done counts as there), so a worker
//! stayed for it or the sweep took it. If it is after, `finalized` is set, the submit finds it so and takes the task
//! back. Without the lock around the last look and `finalized`, a push can fall between the two.
//!
//! **A worker that pops after the sweep.** A worker that has read "not aborting" long ago may look, and pop, after
//! `finalized`. Its look was not seen by the one who finalized, so its pop neither: the sweep would have found the
//! task. So the task was pushed after the sweep, and its submit settles it here. The worker, which reads "aborting"
//! after its pop and the fence, therefore puts it into `late`; and the submit waits while somebody looks, since that
//! one may hold its task. No user code runs in a look.

use crate::sync::{Mutex, MutexGuard, Ordering, fence, yield_now};

pub(crate) struct Drain<J>(Mutex<DrainState<J>>);

pub(crate) struct DrainState<J> {
    /// Workers that have not left.
    live: usize,
    /// Nothing more is taken in or run.
    finalized: bool,
    /// The pool is gone: nobody will ask for what is handed back.
    forsaken: bool,
    late: Vec<(u64, J)>,
    abandoned: Vec<J>,
}

impl<J> Drain<J> {
    pub(crate) fn new(workers: usize) -> Self {
        Drain(Mutex::new(DrainState {
            live: workers,
            finalized: false,
            forsaken: false,
            late: Vec::new(),
            abandoned: Vec::new(),
        }))
    }

    /// For numbers that must not move between open and finalized.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DrainState<J>> {
        self.0.lock()
    }

    pub(crate) fn is_finalized(&self) -> bool {
        self.0.lock().finalized
    }

    /// A submit that saw the pool closed after its push. The task comes back if nobody will run it.
    pub(crate) fn settle_late(
        &self,
        id: u64,
        take_queued: impl Fn(&mut Vec<(u64, J)>),
        somebody_looks: impl Fn() -> bool,
    ) -> Option<J> {
        loop {
            let mut state = self.0.lock();
            if !state.finalized {
                return None;
            }
            take_queued(&mut state.late);
            if let Some(place) = state.late.iter().position(|(other, _)| *other == id) {
                return Some(state.late.swap_remove(place).1);
            }
            if !somebody_looks() {
                return None;
            }
            drop(state);
            yield_now();
        }
    }

    /// A worker wants to leave a closed pool. False if something waits after all. The last one closes what is left: delay
    /// queues, and lanes that hold nothing but tasks that have ended; what came too late goes where its submit finds it.
    pub(crate) fn leave(
        &self,
        nothing_waits: impl Fn() -> bool,
        close_rest: impl FnOnce(&mut Vec<(u64, J)>),
    ) -> bool {
        let mut state = self.0.lock();
        // Ordering: partner of the fences in `Sleep::after_push` and `Gate::enter`. A submit that found the pool open does
        // not come to this lock. Its fence came before this one, since the caller has read "closed" before it: so what
        // it pushed, or that it is inside the gate, is seen below.
        fence(Ordering::SeqCst);
        if !nothing_waits() {
            return false;
        }
        if state.live == 1 && !state.finalized {
            close_rest(&mut state.late);
            state.finalized = true;
        }
        state.live -= 1;
        true
    }

    /// A worker leaves because the window is over.
    pub(crate) fn leave_at_end(&self) {
        self.0.lock().live -= 1;
    }

    /// The end of a window, after the flag and its fence: whatever waits is to be handed back.
    pub(crate) fn finalize(&self, mut sweep: impl FnMut(&mut Vec<J>), somebody_looks: impl Fn() -> bool) {
        loop {
            let mut state = self.0.lock();
            if state.finalized {
                return;
            }
            sweep(&mut state.abandoned);
            // The words are read after the sweep: who holds a task that the sweep did not find is seen looking.
            if !somebody_looks() {
                state.finalized = true;
                return;
            }
            drop(state);
            yield_now();
        }
    }

    /// A worker saw the end of the window with a task from a queue in its hands. True if the task was accepted and is
    /// in the report now; false if it came too late and its submit takes it back.
    pub(crate) fn hand_back_taken(&self, id: u64, held: J) -> bool {
        let mut state = self.0.lock();
        if state.finalized {
            state.late.push((id, held));
        } else {
            state.abandoned.push(held);
        }
        !state.finalized
    }

    /// A task that is accounted for ends as abandoned; it comes back if nobody will ask for it.
    pub(crate) fn abandon(&self, held: J) -> Option<J> {
        let mut state = self.0.lock();
        if state.forsaken {
            return Some(held);
        }
        state.abandoned.push(held);
        None
    }

    /// What is to be handed back, each task once.
    pub(crate) fn collect(&self) -> Vec<J> {
        std::mem::take(&mut self.0.lock().abandoned)
    }

    pub(crate) fn is_forsaken(&self) -> bool {
        self.0.lock().forsaken
    }

    /// The pool is gone; the last collection.
    pub(crate) fn forsake(&self) -> Vec<J> {
        let mut state = self.0.lock();
        state.forsaken = true;
        std::mem::take(&mut state.abandoned)
    }
}

impl<J> DrainState<J> {
    pub(crate) fn is_finalized(&self) -> bool {
        self.finalized
    }
}
