//! The attempt that runs, as its context asks it.

use crate::clock::Moment;
use crate::config::UserCode;
use crate::context::{ContextHost, TaskContext};
use crate::error::{Interrupted, SubmitResult};
use crate::event::{Event, Progress};
use crate::failure::Failure;
use crate::lane::LaneQueue;
use crate::meter::Meter;
use crate::options::TaskOptions;
use crate::processor::Processor;
use crate::shared::{Shared, Station};
use crate::slot::Slot;
use crate::task::{TaskId, TaskInfo};
use crate::user;
use crate::word::Phase;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

pub(crate) struct Current<'a, P: Processor> {
    pub(crate) shared: &'a Shared<P>,
    pub(crate) user: &'a UserCode<P>,
    pub(crate) station: &'a Station<P>,
    pub(crate) queue: &'a LaneQueue<P>,
    pub(crate) slot: Option<&'a Slot<P>>,
    pub(crate) id: TaskId,
    pub(crate) attempt: u32,
    /// When the attempt has run for too long.
    pub(crate) timeout_at: Moment,
    /// If anybody listens.
    pub(crate) meter: Option<Meter>,
}

impl<P: Processor> Current<'_, P> {
    /// Calls the processor. The one place where a panic of it is caught.
    #[inline]
    pub(crate) fn process(
        &self,
        payload: &mut P::Payload,
        deadline: Moment,
    ) -> Result<P::Output, Failure<P::Error>> {
        let cx = TaskContext {
            host: Some(self),
            id: self.id,
            lane: &self.queue.name,
            attempt: self.attempt,
            deadline,
        };
        let processor = &self.user.processor;
        match catch_unwind(AssertUnwindSafe(|| processor.process(payload, &cx))) {
            Ok(answer) => answer.map_err(Failure::error),
            Err(value) => Err(Failure::panicked(user::panic_message(value))),
        }
    }

    fn info(&self) -> TaskInfo {
        self.queue.info(self.id, self.attempt, self.slot)
    }

    pub(crate) fn is_timed_out(&self, now: Option<Moment>) -> bool {
        self.timeout_at != Moment::NEVER && now.is_some_and(|now| now >= self.timeout_at)
    }
}

impl<P: Processor> ContextHost<P::Payload> for Current<'_, P> {
    fn submit_to(
        &self,
        lane: &str,
        payload: P::Payload,
        options: Option<TaskOptions>,
    ) -> SubmitResult<P::Payload> {
        self.shared.submit_named(lane, payload, options)
    }

    fn shown(&self, at: Moment) -> Instant {
        self.shared.clock.shown(at)
    }

    fn interruption(&self) -> Option<Interrupted> {
        if self.slot.is_some_and(|slot| slot.stage.is_cancel_requested()) {
            Some(Interrupted::Cancelled)
        } else if self.shared.sleep.state().is_aborting() {
            Some(Interrupted::ShutDown)
        } else if self.timeout_at != Moment::NEVER && self.shared.clock.now() >= self.timeout_at {
            Some(Interrupted::TimedOut)
        } else {
            None
        }
    }

    fn report_progress(&self, progress: Progress) {
        if self.station.runner.word.read().phase() == Phase::Marked {
            // A shutdown has given the task up.
            return;
        }
        let now = self.shared.clock.now();
        self.station.runner.progressed(now.nanos());
        if let Some(slot) = self.slot {
            slot.set_progress(self.attempt, progress);
        }
        if self.meter.as_ref().is_some_and(|meter| meter.report(now, progress)) {
            let task = &self.info();
            self.shared.tell_of_attempt(self.user, self.station, task, &Event::Progress { task, progress });
        }
    }
}
