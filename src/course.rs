//! What an attempt comes to, from its plan to its end.

use crate::clock::Moment;
use crate::error::TaskError;
use crate::event::Progress;
use crate::failure::DeadLetterReason;
use crate::job::{Held, Job};
use crate::processor::Processor;
use crate::slot::{Slot, TaskResult};
use crate::task::{Outcome, TaskInfo};
use std::sync::Arc;
use std::time::Duration;

/// What is to come of a failed attempt, before the runner's word has decided.
pub(crate) enum Plan {
    /// With a place in the delay queue.
    Retry(Retry),
    DeadLetter(DeadLetterReason),
    /// The retry would start after the deadline.
    Expire,
    /// A cancel was requested.
    Cancel,
    /// The window is over.
    Abandon,
}

impl Plan {
    /// The outcome that it stands for; a retry is none.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        match self {
            Plan::Retry(_) => None,
            Plan::DeadLetter(_) => Some(Outcome::DeadLettered),
            Plan::Expire => Some(Outcome::Expired),
            Plan::Cancel => Some(Outcome::Cancelled),
            Plan::Abandon => Some(Outcome::Abandoned),
        }
    }
}

/// When a failed task is tried again.
#[derive(Clone, Copy)]
pub(crate) struct Retry {
    pub(crate) due: Moment,
    pub(crate) delay: Duration,
}

/// What is known of an attempt when its processor has come back.
pub(crate) struct Course {
    pub(crate) ran: Option<Duration>,
    /// The last progress that was reported and not passed on.
    pub(crate) unsaid: Option<Progress>,
}

/// What is left to do, in user code, once a failed attempt is counted.
pub(crate) enum Rest<P: Processor> {
    /// It waits for its retry, or was taken away from there already.
    Gone,
    DeadLetter(Job<P>, DeadLetterReason),
    /// Its payload is given away.
    Shed(Job<P>, Outcome),
    /// In the report; or here, if nobody will ask for a report.
    Abandoned(Gone<P>, Option<Held<P>>),
}

/// What is still known of a task that is in the report.
pub(crate) struct Gone<P: Processor> {
    pub(crate) info: TaskInfo,
    pub(crate) slot: Option<Arc<Slot<P>>>,
}

impl<P: Processor> Rest<P> {
    pub(crate) fn job(&self) -> Option<&Job<P>> {
        match self {
            Rest::DeadLetter(job, _) | Rest::Shed(job, _) => Some(job),
            Rest::Gone | Rest::Abandoned(..) => None,
        }
    }
}

/// An attempt that is over but for its permit and the answer to its handle, in this order.
#[must_use]
pub(crate) struct Ended<P: Processor> {
    /// `None` if a retry is scheduled.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) answer: Option<(Arc<Slot<P>>, TaskResult<P>)>,
}

impl<P: Processor> Ended<P> {
    pub(crate) fn plain(outcome: Option<Outcome>) -> Self {
        Ended { outcome, answer: None }
    }

    pub(crate) fn answer(outcome: Outcome, slot: Arc<Slot<P>>, result: TaskResult<P>) -> Self {
        Ended { outcome: Some(outcome), answer: Some((slot, result)) }
    }

    pub(crate) fn error(outcome: Outcome, slot: Option<Arc<Slot<P>>>, error: TaskError<P::Error>) -> Self {
        Ended { outcome: Some(outcome), answer: slot.map(|slot| (slot, Err(error))) }
    }

    /// Whether user code follows the permit.
    pub(crate) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }
}
