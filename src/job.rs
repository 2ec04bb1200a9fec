//! A task on its way through the pool.

use crate::clock::Moment;
use crate::delay::{DelayItem, HeapMark};
use crate::failure::Failure;
use crate::processor::Processor;
use crate::slot::{Parked, Slot};
use crate::task::{Outcome, TaskId};
use std::sync::Arc;

/// What waits in a lane: no allocation of its own, a few words beside the payload.
pub(crate) struct Task<P: Processor> {
    pub(crate) id: TaskId,
    /// From here on no attempt is started.
    pub(crate) deadline: Moment,
    /// When it was submitted; `NEVER` if it is not timed and has no ttl of its own.
    pub(crate) stamp: Moment,
    pub(crate) body: Body<P>,
}

/// Where a waiting task's payload is.
pub(crate) enum Body<P: Processor> {
    Inline(P::Payload),
    /// In the slot that its handle shares, or that holds what is rare.
    Slot(Arc<Slot<P>>),
}

/// A task that waits, or that was just taken: nobody has claimed it yet.
pub(crate) struct Waiting<P: Processor> {
    pub(crate) task: Task<P>,
    /// Attempts that were started so far.
    pub(crate) attempts: u32,
    pub(crate) last_failure: Option<Failure<P::Error>>,
}

/// A task that was claimed: whoever holds this decides what becomes of it.
pub(crate) struct Job<P: Processor> {
    pub(crate) id: TaskId,
    pub(crate) deadline: Moment,
    pub(crate) stamp: Moment,
    pub(crate) payload: P::Payload,
    pub(crate) slot: Option<Arc<Slot<P>>>,
    pub(crate) attempts: u32,
    pub(crate) last_failure: Option<Failure<P::Error>>,
}

/// Where a task was when it was taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Queued,
    Delayed(Moment),
    Retrying(Moment),
    Running,
}

/// A task that a worker took, not claimed yet.
pub(crate) struct Taken<P: Processor> {
    pub(crate) lane: usize,
    pub(crate) was: Place,
    pub(crate) waiting: Waiting<P>,
}

/// A claimed task, on its way to a report or to `on_shed`.
pub(crate) struct Held<P: Processor> {
    pub(crate) lane: usize,
    pub(crate) was: Place,
    pub(crate) job: Job<P>,
}

impl<P: Processor> Task<P> {
    /// The payload of a task that was refused: nobody else has seen its slot.
    #[inline]
    pub(crate) fn into_refused(self) -> P::Payload {
        match self.body {
            Body::Inline(payload) => payload,
            Body::Slot(slot) => slot.unpark().expect("a task that was never let in has its payload").payload,
        }
    }
}

impl<P: Processor> Taken<P> {
    #[inline]
    pub(crate) fn fresh(lane: usize, task: Task<P>) -> Self {
        Taken { lane, was: Place::Queued, waiting: Waiting::fresh(task) }
    }
}

impl<P: Processor> Waiting<P> {
    #[inline]
    pub(crate) fn fresh(task: Task<P>) -> Self {
        Waiting { task, attempts: 0, last_failure: None }
    }

    /// Where it is while it waits in the delay queue.
    pub(crate) fn place_until(&self, due: Moment) -> Place {
        if self.attempts == 0 { Place::Delayed(due) } else { Place::Retrying(due) }
    }

    /// Claims it for an attempt. `None` if it has ended while it waited.
    #[inline]
    pub(crate) fn start(self) -> Option<Job<P>> {
        self.claim(|slot| slot.stage.start())
    }

    /// Claims it for its end.
    pub(crate) fn end(self, outcome: Outcome) -> Option<Job<P>> {
        self.claim(|slot| slot.stage.end_waiting(outcome).is_ok())
    }

    /// Takes back what was parked for a stage that has not changed.
    pub(crate) fn reclaim(self) -> Option<Job<P>> {
        self.claim(|_| true)
    }

    #[inline]
    fn claim(self, wins: impl FnOnce(&Slot<P>) -> bool) -> Option<Job<P>> {
        let Waiting { task: Task { id, deadline, stamp, body }, attempts, last_failure } = self;
        match body {
            Body::Inline(payload) => {
                Some(Job { id, deadline, stamp, payload, slot: None, attempts, last_failure })
            }
            Body::Slot(slot) => {
                // A slot's failure is parked with its payload, so nothing of the user's is dropped here.
                let Parked { payload, last_failure } =
                    if wins(&slot) { slot.unpark()? } else { return None };
                Some(Job { id, deadline, stamp, payload, slot: Some(slot), attempts, last_failure })
            }
        }
    }
}

impl<P: Processor> Job<P> {
    /// Goes back to waiting: with a slot the payload is there before the stage says so.
    pub(crate) fn wait(self) -> Waiting<P> {
        let Job { id, deadline, stamp, payload, slot, attempts, last_failure } = self;
        let (body, last_failure) = match slot {
            None => (Body::Inline(payload), last_failure),
            Some(slot) => {
                slot.park(Parked { payload, last_failure });
                (Body::Slot(slot), None)
            }
        };
        Waiting { task: Task { id, deadline, stamp, body }, attempts, last_failure }
    }
}

impl<P: Processor> DelayItem for Waiting<P> {
    fn is_dead(&self) -> bool {
        match &self.task.body {
            Body::Inline(_) => false,
            Body::Slot(slot) => !slot.stage.stage().is_waiting(),
        }
    }

    fn mark(&self) -> Option<&HeapMark> {
        match &self.task.body {
            Body::Inline(_) => None,
            Body::Slot(slot) => Some(&slot.mark),
        }
    }
}
