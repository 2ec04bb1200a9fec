//! Telling the listeners. Without any, nothing of it costs more than a look at a flag.

use crate::config::UserCode;
use crate::error::{RejectReason, SubmitResult};
use crate::event::Event;
use crate::inside;
use crate::processor::Processor;
use crate::shared::{Shared, Station, Telling};
use crate::slot::Slot;
use crate::task::{Outcome, TaskInfo};
use std::ptr;
use std::time::Duration;

impl<P: Processor> Telling<'_, P> {
    pub(crate) fn tell(&self, event: &Event<'_>) {
        self.shared.tell_by(self.user(), event);
    }

    pub(crate) fn tell_ended(&self, task: &TaskInfo, outcome: Outcome) {
        self.tell(&Event::Ended { task, outcome, ran: None });
    }

    /// The end of a tracked task, on a thread that may be outside.
    pub(crate) fn tell_slot_ended(&self, slot: &Slot<P>, outcome: Outcome) {
        if self.shared.has_events {
            let lane = &self.shared.lanes[slot.lane];
            self.tell_ended(&lane.info(slot.id, slot.attempt(), Some(slot)), outcome);
        }
    }
}

impl<P: Processor> Shared<P> {
    /// Tells every listener, on a thread that is inside the pool. A panic in one skips no other.
    pub(crate) fn tell(&self, user: &UserCode<P>, event: &Event<'_>) {
        for hook in &user.on_event {
            self.guard.run(|| hook(event));
        }
    }

    /// As [`Shared::tell`], of the attempt that `station` runs: nothing, once a shutdown has given it up. If that comes about
    /// while listeners hear of it, they hear its end next.
    pub(crate) fn tell_of_attempt(
        &self,
        user: &UserCode<P>,
        station: &Station<P>,
        task: &TaskInfo,
        event: &Event<'_>,
    ) {
        let word = &station.runner.word;
        if !word.begin_telling() {
            return;
        }
        let _inside = self.enter_attempt(station);
        self.tell(user, event);
        if word.end_telling() {
            // The shutdown has the lock until the end is counted.
            drop(station.current.lock());
            self.tell_ran(user, task, Outcome::Abandoned, None);
            word.told_end();
            self.idle.tell();
        }
    }

    /// A thread that the attempt has started, and with which it shares its context, is inside as the attempt is.
    fn enter_attempt(&self, station: &Station<P>) -> Option<inside::Guard> {
        if inside::is_inside(self.id) {
            return None;
        }
        let station = self.stations().into_iter().find(|one| ptr::eq(&**one, station))?;
        Some(inside::enter_submit(self.id, Some(station)))
    }

    /// Tells on a thread that comes from outside: it is inside while it does, and the telling counts as depth.
    pub(crate) fn tell_from_outside(&self, event: &Event<'_>) {
        if !self.has_events {
            return;
        }
        let user = self.user();
        self.tell_by(user.as_deref(), event);
        self.release(user);
    }

    /// As [`Shared::tell_from_outside`], by what the caller holds of the user's code.
    pub(crate) fn tell_by(&self, user: Option<&UserCode<P>>, event: &Event<'_>) {
        let _inside = inside::enter_submit(self.id, None);
        if let Some(user) = user {
            self.tell(user, event);
        }
    }

    /// The end of a task that ran on this thread.
    pub(crate) fn tell_ran(
        &self,
        user: &UserCode<P>,
        task: &TaskInfo,
        outcome: Outcome,
        ran: Option<Duration>,
    ) {
        self.tell(user, &Event::Ended { task, outcome, ran });
    }

    /// A refusal. Nothing is told of one so deep that no policy may act: a listener that submits on refusals would be
    /// called for ever.
    pub(crate) fn tell_refused(&self, lane: usize, reason: RejectReason) {
        if self.has_events && inside::depth() < inside::MAX_DEPTH {
            self.tell_from_outside(&Event::Refused { lane: &self.lanes[lane].name, reason });
        }
    }

    /// The answer to a submit.
    pub(crate) fn tell_answer(&self, lane: usize, slot: Option<&Slot<P>>, answer: &SubmitResult<P::Payload>) {
        if !self.has_events {
            return;
        }
        let queue = &self.lanes[lane];
        match answer {
            // Nor of an acceptance: a listener may submit on those too.
            SubmitResult::Accepted(_) if inside::depth() >= inside::MAX_DEPTH => {}
            SubmitResult::Accepted(id) => {
                let task = &queue.info(*id, 0, slot);
                self.tell_from_outside(&Event::Accepted { task });
            }
            SubmitResult::Rejected(refusal) => self.tell_refused(lane, refusal.reason()),
            SubmitResult::Dropped(_) => self.tell_refused(lane, RejectReason::Dropped),
            // Its attempt has told what there is to tell.
            SubmitResult::CallerRun(_) => {}
        }
    }
}
