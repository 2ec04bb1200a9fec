//! What a tracked task shares with its handle: one allocation.

use crate::clock::Moment;
use crate::delay::HeapMark;
use crate::error::TaskError;
use crate::event::Progress;
use crate::failure::Failure;
use crate::options::TaskOptions;
use crate::processor::Processor;
use crate::stage::{Stage, StageWord};
use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};
use crate::task::TaskId;
use std::task::Waker;
use std::time::Instant;

pub(crate) type TaskResult<P> = Result<<P as Processor>::Output, TaskError<<P as Processor>::Error>>;

pub(crate) struct Slot<P: Processor> {
    pub(crate) id: TaskId,
    pub(crate) lane: usize,
    pub(crate) deadline: Moment,
    /// What it was submitted with, but for a delay.
    pub(crate) options: TaskOptions,
    /// How often it was replayed.
    pub(crate) replays: u32,
    /// The id under which it was first submitted.
    pub(crate) origin: TaskId,
    pub(crate) stage: StageWord,
    /// Whether it lies in the delay queue, under that queue's lock.
    pub(crate) mark: HeapMark,
    due: AtomicU64,
    /// The last report, with the number of the attempt that made it.
    progress: Mutex<Option<(u32, Progress)>>,
    parked: Mutex<Option<Parked<P>>>,
    answer: Mutex<Answer<P>>,
    answered: Condvar,
}

/// What a waiting task's slot keeps for whoever wins its stage.
pub(crate) struct Parked<P: Processor> {
    pub(crate) payload: P::Payload,
    pub(crate) last_failure: Option<Failure<P::Error>>,
}

/// What a slot is made of beside its payload.
pub(crate) struct SlotConfig {
    pub(crate) id: TaskId,
    pub(crate) lane: usize,
    pub(crate) deadline: Moment,
    /// When it may start, if it is delayed.
    pub(crate) due: Option<Moment>,
    pub(crate) options: TaskOptions,
    pub(crate) replays: u32,
    pub(crate) origin: TaskId,
    /// Whether it has a handle, or only what is rare: a key, a deadline of its own, a past as a letter.
    pub(crate) is_tracked: bool,
}

struct Answer<P: Processor> {
    result: Option<TaskResult<P>>,
    resolved: bool,
    /// Nobody will ask.
    detached: bool,
    waker: Option<Waker>,
}

/// What is left to do, in user code, after an answer was given.
#[must_use]
pub(crate) struct Given<P: Processor> {
    pub(crate) waker: Option<Waker>,
    /// The result, if nobody wants it.
    pub(crate) unwanted: Option<TaskResult<P>>,
}

/// What a look at the answer found.
pub(crate) enum Look<P: Processor> {
    Ready(TaskResult<P>),
    NotYet,
    /// It was taken before.
    Gone,
}

impl<P: Processor> Slot<P> {
    pub(crate) fn new(config: SlotConfig, payload: P::Payload) -> Self {
        let SlotConfig { id, lane, deadline, due, options, replays, origin, is_tracked } = config;
        let stage = if due.is_some() { Stage::Delayed } else { Stage::Queued };
        Slot {
            id,
            lane,
            deadline,
            options: TaskOptions { delay: None, ..options },
            replays,
            origin,
            stage: StageWord::new(stage),
            mark: HeapMark::new(),
            due: AtomicU64::new(due.unwrap_or(Moment::NEVER).nanos()),
            progress: Mutex::new(None),
            parked: Mutex::new(Some(Parked { payload, last_failure: None })),
            answer: Mutex::new(Answer { result: None, resolved: false, detached: !is_tracked, waker: None }),
            answered: Condvar::default(),
        }
    }

    /// For whoever has won the stage.
    pub(crate) fn unpark(&self) -> Option<Parked<P>> {
        self.parked.lock().take()
    }

    pub(crate) fn park(&self, parked: Parked<P>) {
        let mut place = self.parked.lock();
        debug_assert!(place.is_none(), "two payloads of one task");
        *place = Some(parked);
    }

    /// The number of the attempt that runs or ran last.
    pub(crate) fn attempt(&self) -> u32 {
        self.stage.stage_and_attempts().1
    }

    pub(crate) fn set_progress(&self, attempt: u32, progress: Progress) {
        *self.progress.lock() = Some((attempt, progress));
    }

    /// What the attempt that runs or ran last has reported.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let reported = *self.progress.lock();
        reported.filter(|(attempt, _)| *attempt == self.attempt()).map(|(_, progress)| progress)
    }

    // Relaxed: the change of stage that follows publishes it; a status is of about that moment.
    pub(crate) fn set_due(&self, due: Moment) {
        self.due.store(due.nanos(), Ordering::Relaxed);
    }

    pub(crate) fn due(&self) -> Moment {
        Moment::from_nanos(self.due.load(Ordering::Relaxed))
    }

    /// Whether somebody may ask for the answer.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.answer.lock().detached
    }

    /// Gives the answer, once. The caller runs what is left, under no lock.
    pub(crate) fn give(&self, result: TaskResult<P>) -> Given<P> {
        let mut answer = self.answer.lock();
        if answer.resolved || answer.detached {
            answer.resolved = true;
            return Given { waker: None, unwanted: Some(result) };
        }
        answer.resolved = true;
        answer.result = Some(result);
        let waker = answer.waker.take();
        self.answered.notify_all();
        Given { waker, unwanted: None }
    }

    pub(crate) fn look(&self) -> Look<P> {
        Self::look_at(&mut self.answer.lock())
    }

    fn look_at(answer: &mut Answer<P>) -> Look<P> {
        match answer.result.take() {
            Some(result) => Look::Ready(result),
            None if answer.resolved => Look::Gone,
            None => Look::NotYet,
        }
    }

    /// Leaves a waker if there is no answer yet. The waker that it replaces is given back to be dropped under no lock.
    pub(crate) fn look_or_leave(&self, waker: Waker) -> (Look<P>, Option<Waker>) {
        let mut answer = self.answer.lock();
        match Self::look_at(&mut answer) {
            Look::NotYet => {
                let replaced = answer.waker.replace(waker);
                (Look::NotYet, replaced)
            }
            found => (found, Some(waker)),
        }
    }

    /// Waits once for the answer, at most until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) {
        let answer = self.answer.lock();
        if !answer.resolved {
            drop(self.answered.wait_until(answer, deadline));
        }
    }

    pub(crate) fn is_resolved(&self) -> bool {
        self.answer.lock().resolved
    }

    /// Nobody will ask any more. What is there is given back to be dropped under no lock.
    pub(crate) fn detach(&self) -> (Option<TaskResult<P>>, Option<Waker>) {
        let mut answer = self.answer.lock();
        answer.detached = true;
        (answer.result.take(), answer.waker.take())
    }
}
