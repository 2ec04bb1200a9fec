//! The plain attempt: the first one of a task that nobody watches. No clock is asked, no listener told, no handle answered.
//!
//! The steps are those of [`Attempt::run`] without the ones that would have nothing to do, which are most of what an
//! attempt costs. Whatever does not come back with `Ok` in time goes on the common way.

use crate::attempt::Attempt;
use crate::clock::Moment;
use crate::course::Course;
use crate::failure::Failure;
use crate::job::Job;
use crate::processor::Processor;
use crate::tally::Count;
use crate::task::TaskId;
use crate::word::Running;

impl<P: Processor> Attempt<'_, P> {
    #[inline]
    pub(crate) fn run_plain(&self, id: TaskId, mut payload: P::Payload) {
        self.recorder.add(Count::Taken);
        self.recorder.add(Count::Attempts);
        self.station.runner.start(Running {
            task: id.as_u64(),
            lane: self.lane,
            attempt: 1,
            since: 0,
            progress: 0,
        });
        match self.bare_context(id).process(&mut payload, Moment::NEVER) {
            Ok(output) if self.station.runner.word.end() => {
                self.recorder.add(Count::Succeeded);
                self.station.runner.word.tidy();
                self.shared.guard.drop(payload);
                self.shared.guard.drop(output);
            }
            answer => self.end_unusually(id, payload, answer),
        }
    }

    #[cold]
    fn end_unusually(&self, id: TaskId, payload: P::Payload, answer: Result<P::Output, Failure<P::Error>>) {
        let never = Moment::NEVER;
        let job =
            Job { id, deadline: never, stamp: never, payload, slot: None, attempts: 1, last_failure: None };
        let _no_answer = match answer {
            // Its end came too late.
            Ok(output) => self.succeed_late(job, output),
            Err(failure) => self.fail(job, failure, &Course { ran: None, unsaid: None }),
        };
    }
}
