//! The user's side of an attempt's end: the letter, the hooks, the drops, the answer. No lock is held, nobody waits.

use crate::attempt::Attempt;
use crate::course::{Course, Ended, Gone, Plan, Rest, Retry};
use crate::dead_letter::{DeadLetter, LetterFate, LetterInfo};
use crate::error::TaskError;
use crate::event::Event;
use crate::failure::{DeadLetterReason, Failure, Text};
use crate::job::{Held, Job};
use crate::processor::Processor;
use crate::shared::{LetterOf, Shared};
use crate::tally::Count;
use crate::task::{Outcome, TaskInfo};
use crate::word::{Phase, Running};
use std::time::SystemTime;

impl<P: Processor> Shared<P> {
    /// The last step of an attempt, after its permit.
    pub(crate) fn answer(&self, ended: Ended<P>) -> Option<Outcome> {
        if let Some((slot, result)) = ended.answer {
            self.resolve(&slot, result);
        }
        ended.outcome
    }
}

impl<P: Processor> Attempt<'_, P> {
    /// The turn of a task whose deadline has passed, and which was claimed for that: no attempt starts.
    pub(crate) fn expire(&self, held: Held<P>) -> Ended<P> {
        self.shared.free_key(held.job.slot.as_ref());
        self.recorder.add(Count::Expired);
        let Job { id, attempts, .. } = held.job;
        self.station.runner.describe(Running::waiting(id, self.lane, attempts));
        self.station.runner.word.tidy();
        let told = self.shared.has_events.then(|| self.info(&held.job));
        let ended = self.shed(held, Outcome::Expired);
        if let Some(info) = told {
            self.shared.tell_ran(self.user, &info, Outcome::Expired, None);
        }
        ended
    }

    /// What a failed attempt leaves to do. Its end, if it has come, is told last.
    pub(crate) fn finish(&self, rest: Rest<P>, course: &Course) -> Ended<P> {
        let told = rest.job().filter(|_| self.shared.has_events).map(|job| self.info(job));
        let ended = match rest {
            Rest::Gone => return Ended::plain(None),
            Rest::DeadLetter(job, reason) => self.write_letter(job, reason),
            Rest::Shed(job, outcome) => self.shed(self.held(job), outcome),
            Rest::Abandoned(gone, held) => return self.abandon(gone, held, course),
        };
        if let (Some(info), Some(outcome)) = (told, ended.outcome) {
            self.shared.tell_ran(self.user, &info, outcome, course.ran);
        }
        ended
    }

    /// It is in the report, or is given away here if nobody will ask for one.
    fn abandon(&self, gone: Gone<P>, held: Option<Held<P>>, course: &Course) -> Ended<P> {
        if let Some(held) = held {
            let _answered_below = self.shed(held, Outcome::Abandoned);
        }
        if self.shared.has_events {
            self.shared.tell_ran(self.user, &gone.info, Outcome::Abandoned, course.ran);
        }
        Ended::error(Outcome::Abandoned, gone.slot, TaskError::Abandoned)
    }

    /// What an attempt has left unsaid, and whether it was slow. Told while it still counts as running, so that a shutdown
    /// need not wait for a listener; once a shutdown has given it up, nothing is told but its end.
    pub(crate) fn tell_course(&self, job: &Job<P>, course: &Course) {
        let slow = self.queue.slow_after.zip(course.ran).filter(|(limit, ran)| ran > limit);
        let slow = slow.filter(|_| self.shared.timing.is_on());
        if let Some((limit, ran)) = slow {
            let (id, lane) = (job.id, &self.queue.name);
            self.shared
                .guard
                .run(|| log::warn!("task {id} of lane {lane:?} took {ran:?}, more than {limit:?}"));
        }
        let Some(task) = &self.to_tell(job) else { return };
        if let Some(progress) = course.unsaid {
            self.tell_of_attempt(task, &Event::Progress { task, progress });
        }
        if let Some((_, ran)) = slow {
            self.tell_of_attempt(task, &Event::Slow { task, ran });
        }
    }

    /// A failure, and the retry that has a place, before either has a consequence: another worker may start the retry at
    /// once.
    pub(crate) fn tell_failure(&self, job: &Job<P>, failure: &Failure<P::Error>, plan: &Plan) {
        let Some(task) = &self.to_tell(job) else { return };
        self.tell_of_attempt(task, &Event::AttemptFailed { task, cause: failure.erased() });
        if let Plan::Retry(retry) = plan {
            self.tell_of_attempt(task, &Event::RetryScheduled { task, delay: retry.delay });
        }
    }

    pub(crate) fn tell_of_attempt(&self, task: &TaskInfo, event: &Event<'_>) {
        self.shared.tell_of_attempt(self.user, self.station, task, event);
    }

    /// What listeners are told of the task, if there are any and it has not been given up.
    fn to_tell(&self, job: &Job<P>) -> Option<TaskInfo> {
        let is_given_up = || self.station.runner.word.read().phase() == Phase::Marked;
        (self.shared.has_events && !is_given_up()).then(|| self.info(job))
    }

    /// A shutdown has decided the outcome: nothing is counted, stored or told here, and the payload is given away.
    pub(crate) fn come_back_late(&self, job: Job<P>) -> Ended<P> {
        let _given_up = self.station.current.lock().take();
        self.station.runner.word.tidy();
        let id = job.id;
        self.shared.guard.run(|| log::warn!("task {id} came back after the shutdown had given it up"));
        let _told = self.shed(self.held(job), Outcome::Abandoned);
        Ended::plain(Some(Outcome::Abandoned))
    }

    fn shed(&self, held: Held<P>, outcome: Outcome) -> Ended<P> {
        let slot = held.job.slot.clone();
        let shed = self.shared.to_shed(held, outcome);
        self.shared.shed(Some(self.user), shed);
        Ended::error(
            outcome,
            slot,
            match outcome {
                Outcome::Expired => TaskError::Expired,
                Outcome::Cancelled => TaskError::Cancelled,
                _ => TaskError::Abandoned,
            },
        )
    }

    fn write_letter(&self, job: Job<P>, reason: DeadLetterReason) -> Ended<P> {
        let guard = &self.shared.guard;
        let (task, options) = (self.info(&job), self.queue.options_of(&job));
        let Some(failure) = job.last_failure else {
            // A job becomes a letter only by a failure.
            guard.drop(job.payload);
            return Ended::plain(Some(Outcome::DeadLettered));
        };
        let error = guard.text(&Text(&failure));
        // Only for a handle that will ask does the error move to where two can have it.
        let slot = job.slot.filter(|slot| slot.is_wanted());
        let (failure, shared) = match &slot {
            Some(_) => {
                let (one, two) = failure.share();
                (one, Some(two))
            }
            None => (failure, None),
        };
        let letter = DeadLetter {
            info: LetterInfo {
                task,
                reason,
                error,
                ended: SystemTime::now(),
                age: self.shared.is_timed(job.id).then(|| self.shared.clock.now().since(job.stamp)),
                options,
            },
            payload: job.payload,
            failure,
        };
        self.deliver(letter);
        match (slot, shared) {
            (Some(slot), Some(failure)) => {
                Ended::answer(Outcome::DeadLettered, slot, Err(TaskError::Failed(failure)))
            }
            _ => Ended::plain(Some(Outcome::DeadLettered)),
        }
    }

    fn deliver(&self, mut letter: LetterOf<P>) {
        let guard = &self.shared.guard;
        match self.ask_sink(&mut letter) {
            LetterFate::Keep => self.shared.keep_letter(Some(self.user), letter),
            LetterFate::Discard => {
                guard.drop(letter.payload);
                guard.drop(letter.failure);
            }
        }
    }

    fn ask_sink(&self, letter: &mut LetterOf<P>) -> LetterFate {
        let guard = &self.shared.guard;
        let Some(sink) = &self.user.sink else {
            let LetterInfo { task, reason, error, .. } = &letter.info;
            guard.run(|| {
                log::warn!(
                    "task {} of lane {:?} failed for good after {} attempts ({reason}): {error}",
                    task.id,
                    task.lane,
                    task.attempt
                );
            });
            return LetterFate::Keep;
        };
        guard.run(|| sink(letter)).unwrap_or(LetterFate::Keep)
    }

    pub(crate) fn log_failure(&self, job: &Job<P>, failure: &Failure<P::Error>, plan: &Plan) {
        let (id, lane, attempt) = (job.id, &self.queue.name, job.attempts);
        let failure = Text(failure);
        self.shared.guard.run(|| match plan {
            Plan::Retry(Retry { delay, .. }) => {
                log::debug!(
                    "attempt {attempt} of task {id} in lane {lane:?} failed, again in {delay:?}: {failure}"
                );
            }
            _ => log::debug!("attempt {attempt} of task {id} in lane {lane:?} failed: {failure}"),
        });
    }
}
