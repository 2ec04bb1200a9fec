//! One attempt, on a worker or in a caller-run: the one place where an attempt starts and ends.
//!
//! The order of an end: the outcome is decided by one swap of the runner's word; counters and the hand-over of a retry
//! follow at once (`Ending`, no user code); then hooks, the letter, and the drops of payload, output, error and panic
//! value (`Tidying`, no lock, each in the guard); then the runner is idle.

use crate::config::UserCode;
use crate::context::TaskContext;
use crate::dead_letter::{DeadLetter, LetterFate, LetterInfo};
use crate::delay::DelayRefusal;
use crate::failure::{DeadLetterReason, Failure, Verdict, decide, default_decision};
use crate::lane::{Held, LaneQueue};
use crate::processor::Processor;
use crate::shared::{HeldOf, JobOf, LetterOf, Shared};
use crate::sync::Ordering;
use crate::tally::{Count, Recorder};
use crate::task::{Outcome, Place};
use crate::user;
use crate::word::{Runner, Running};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime};

/// Where and by whom a job is run.
pub(crate) struct Attempt<'a, P: Processor> {
    pub(crate) shared: &'a Shared<P>,
    pub(crate) user: &'a UserCode<P>,
    pub(crate) runner: &'a Runner,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) lane: usize,
}

/// What is to come of a failed attempt, before the runner's word has decided.
enum Plan {
    Retry(Duration),
    DeadLetter(DeadLetterReason),
    Abandon,
}

/// What is left to do, in user code, once a failed attempt is counted.
enum Rest<P: Processor> {
    /// The retry waits; its attempt was the last to touch the job.
    Retried,
    DeadLetter(JobOf<P>, DeadLetterReason),
    /// In the report; or here, if nobody will ask for a report.
    Abandoned(Option<HeldOf<P>>),
}

impl<P: Processor> Attempt<'_, P> {
    /// Runs the next attempt of `job`. `None` if a retry was scheduled.
    pub(crate) fn run(&self, mut job: JobOf<P>) -> Option<Outcome> {
        job.attempts = job.attempts.saturating_add(1);
        self.recorder.add(Count::Attempts);
        self.runner.start(Running {
            task: job.task.id.as_u64(),
            lane: self.lane,
            attempt: job.attempts,
            since: self.shared.clock.now().nanos(),
        });
        match self.call(&mut job) {
            Ok(output) => Some(self.succeed(job, output)),
            Err(failure) => self.fail(job, failure),
        }
    }

    fn lane(&self) -> &LaneQueue<P::Payload, P::Error> {
        &self.shared.lanes[self.lane]
    }

    /// The one place where a panic of the processor is caught.
    fn call(&self, job: &mut JobOf<P>) -> Result<P::Output, Failure<P::Error>> {
        let cx = TaskContext {
            host: Some(self.shared),
            id: job.task.id,
            lane: &self.lane().name,
            attempt: job.attempts,
        };
        let payload = &mut job.task.payload;
        let answer = catch_unwind(AssertUnwindSafe(|| self.user.processor.process(payload, &cx)));
        match answer {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(Failure::error(error)),
            Err(value) => Err(Failure::panicked(user::panic_message(value))),
        }
    }

    fn succeed(&self, job: JobOf<P>, output: P::Output) -> Outcome {
        if !self.runner.word.end() {
            let outcome = self.come_back_late(job);
            self.shared.guard.drop(output);
            return outcome;
        }
        self.recorder.add(Count::Succeeded);
        self.runner.word.tidy();
        let guard = &self.shared.guard;
        guard.drop(job.task.payload);
        guard.drop(job.last_failure);
        guard.drop(output);
        Outcome::Succeeded
    }

    fn fail(&self, mut job: JobOf<P>, failure: Failure<P::Error>) -> Option<Outcome> {
        if failure.is_panic() {
            self.recorder.add(Count::Panics);
        }
        let plan = self.plan(&failure, job.attempts);
        self.log_failure(&job, &failure, &plan);
        // The failure before this one is dropped here, where user code may still run.
        let previous = job.last_failure.replace(failure);
        self.shared.guard.drop(previous);
        if !self.runner.word.end() {
            return Some(self.come_back_late(job));
        }
        let rest = self.settle(job, plan);
        self.runner.word.tidy();
        self.finish(rest)
    }

    /// Asks the classifier, unless the window is over: then nothing but `Ok` counts.
    fn plan(&self, failure: &Failure<P::Error>, attempt: u32) -> Plan {
        if self.shared.sleep.state().is_aborting() {
            return Plan::Abandon;
        }
        let decision = match &self.user.classify {
            Some(classify) => self.shared.guard.run(|| classify(failure.cause())),
            None => Some(default_decision(failure.cause())),
        };
        // A classifier that panics has said nothing worth a retry.
        let decision = decision.unwrap_or(crate::failure::RetryDecision::GiveUp);
        match decide(&self.lane().retry, decision, attempt, || self.chance()) {
            Verdict::Retry(delay) => Plan::Retry(delay),
            Verdict::DeadLetter(reason) => Plan::DeadLetter(reason),
        }
    }

    /// Even in `[0, 1)`. The generator is thread-local and asks the system for its seed: where either fails there is no
    /// spread.
    fn chance(&self) -> f64 {
        self.shared.guard.run(rand::random).unwrap_or(0.5)
    }

    /// Counts the end and hands over what goes on. No user code: a shutdown may be waiting for it.
    fn settle(&self, job: JobOf<P>, plan: Plan) -> Rest<P> {
        // The window may have ended while the user's code was asked.
        let plan = if self.shared.sleep.state().is_aborting() { Plan::Abandon } else { plan };
        let rest = match plan {
            Plan::Retry(delay) => self.schedule(job, delay),
            Plan::DeadLetter(reason) => Rest::DeadLetter(job, reason),
            Plan::Abandon => Rest::Abandoned(self.shared.drain.abandon(self.held(job))),
        };
        self.recorder.add(match rest {
            Rest::Retried => Count::Retries,
            Rest::DeadLetter(..) => Count::DeadLettered,
            Rest::Abandoned(_) => Count::Abandoned,
        });
        rest
    }

    fn held(&self, job: JobOf<P>) -> HeldOf<P> {
        Held { lane: self.lane, was: Place::Running, job }
    }

    fn schedule(&self, job: JobOf<P>, delay: Duration) -> Rest<P> {
        let shared = self.shared;
        // Relaxed: whoever is to see it sees the timer's or its own fence first.
        shared.has_delays.store(true, Ordering::Relaxed);
        let due = shared.clock.now().after(delay);
        match self.lane().delays.insert(due, job) {
            Ok(earliest) => {
                if let Some(at) = earliest {
                    shared.timer.arm(at);
                }
                Rest::Retried
            }
            Err((job, DelayRefusal::Full)) => Rest::DeadLetter(job, DeadLetterReason::DelayFull),
            Err((job, DelayRefusal::Ended)) => Rest::DeadLetter(job, DeadLetterReason::Shutdown),
        }
    }

    /// The user's side of an end.
    fn finish(&self, rest: Rest<P>) -> Option<Outcome> {
        match rest {
            Rest::Retried => None,
            Rest::DeadLetter(job, reason) => {
                self.write_letter(job, reason);
                Some(Outcome::DeadLettered)
            }
            Rest::Abandoned(held) => {
                if let Some(held) = held {
                    self.shed_abandoned(held);
                }
                Some(Outcome::Abandoned)
            }
        }
    }

    fn write_letter(&self, job: JobOf<P>, reason: DeadLetterReason) {
        let guard = &self.shared.guard;
        let Some(failure) = job.last_failure else {
            // A job becomes a letter only by a failure.
            return guard.drop(job.task.payload);
        };
        let mut letter = DeadLetter {
            info: LetterInfo {
                task: self.lane().info(job.task.id, job.attempts),
                reason,
                error: guard.text(&failure),
                ended: SystemTime::now(),
            },
            payload: job.task.payload,
            failure,
        };
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

    /// A shutdown has told the outcome already: nothing is counted, stored or told, and the payload is given away.
    fn come_back_late(&self, job: JobOf<P>) -> Outcome {
        self.runner.word.tidy();
        let id = job.task.id;
        self.shared.guard.run(|| log::warn!("task {id} came back after the shutdown had given it up"));
        self.shed_abandoned(self.held(job));
        Outcome::Abandoned
    }

    fn shed_abandoned(&self, held: HeldOf<P>) {
        let shed = self.shared.to_shed(held, Outcome::Abandoned);
        self.shared.shed(Some(self.user), shed);
    }

    fn log_failure(&self, job: &JobOf<P>, failure: &Failure<P::Error>, plan: &Plan) {
        let (id, lane, attempt) = (job.task.id, &self.lane().name, job.attempts);
        self.shared.guard.run(|| match plan {
            Plan::Retry(delay) => {
                log::debug!(
                    "attempt {attempt} of task {id} in lane {lane:?} failed, again in {delay:?}: {failure}"
                );
            }
            Plan::DeadLetter(_) | Plan::Abandon => {
                log::debug!("attempt {attempt} of task {id} in lane {lane:?} failed: {failure}");
            }
        });
    }
}
