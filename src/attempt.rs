//! One attempt, on a worker or in a caller-run: the one place where an attempt starts and ends.
//!
//! The order of an end: the outcome is decided by one swap of the runner's word, and for a tracked task by one change of
//! its stage; counters, key and the hand-over of a retry follow at once (`Ending`, no user code); then hooks, the letter,
//! and the drops of payload, output, error and panic value (`Tidying`, no lock, each in the guard; see `ending.rs`); then
//! the permit is given back, and the answer to the handle, whose waker is user code; then the runner is idle.

use crate::clock::Moment;
use crate::config::UserCode;
use crate::course::{Course, Ended, Gone, Plan, Rest, Retry};
use crate::current::Current;
use crate::delay::DelayRefusal;
use crate::event::Event;
use crate::failure::{DeadLetterReason, Failure, RetryDecision, Verdict, decide, default_decision};
use crate::histogram::Recording;
use crate::job::{Held, Job, Place, Waiting};
use crate::lane::LaneQueue;
use crate::meter::Meter;
use crate::processor::Processor;
use crate::shared::{LaneTimes, Shared, Station, WorkerSlot};
use crate::sync::Ordering;
use crate::tally::{Count, Recorder};
use crate::task::{Outcome, TaskId, TaskInfo};
use crate::word::Running;
use std::sync::Arc;
use std::time::Duration;

/// Where and by whom a job is run.
pub(crate) struct Attempt<'a, P: Processor> {
    pub(crate) shared: &'a Shared<P>,
    pub(crate) user: &'a UserCode<P>,
    pub(crate) station: &'a Station<P>,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) times: Times<'a>,
    pub(crate) lane: usize,
    /// That lane.
    pub(crate) queue: &'a LaneQueue<P>,
}

/// Where its times are recorded.
#[derive(Clone, Copy)]
pub(crate) enum Times<'a> {
    Worker(&'a LaneTimes),
    Caller(&'a Recording),
}

impl<'a, P: Processor> Attempt<'a, P> {
    /// On a worker.
    #[inline]
    pub(crate) fn of_worker(
        shared: &'a Shared<P>,
        user: &'a UserCode<P>,
        worker: usize,
        lane: usize,
    ) -> Self {
        let WorkerSlot { station, tallies, times, .. } = &shared.workers[worker];
        Attempt {
            shared,
            user,
            station,
            recorder: Recorder::Own(&tallies[lane]),
            times: Times::Worker(&times[lane]),
            lane,
            queue: &shared.lanes[lane],
        }
    }
}

impl<P: Processor> Attempt<'_, P> {
    /// The turn of a task that a worker took. `None` for one that had ended while it waited.
    #[inline]
    pub(crate) fn run_or_expire(&self, was: Place, waiting: Waiting<P>) -> Option<Ended<P>> {
        // Read after the take, and only for a task that may be too late.
        let deadline = waiting.task.deadline;
        if deadline != Moment::NEVER && self.shared.clock.now() >= deadline {
            return self.expire_waiting(was, waiting);
        }
        let Some(job) = waiting.start() else {
            self.queue.pass_dead(was);
            return None;
        };
        self.took(was);
        let ready = match was {
            Place::Delayed(due) => due,
            _ => job.stamp,
        };
        let ready = self.shared.is_timed(job.id).then_some(ready);
        Some(self.run(job, ready))
    }

    #[inline(never)]
    fn expire_waiting(&self, was: Place, waiting: Waiting<P>) -> Option<Ended<P>> {
        let Some(job) = waiting.end(Outcome::Expired) else {
            self.queue.pass_dead(was);
            return None;
        };
        self.took(was);
        Some(self.expire(Held { lane: self.lane, was, job }))
    }

    fn took(&self, was: Place) {
        if was == Place::Queued {
            self.recorder.add(Count::Taken);
        }
    }

    /// Runs the next attempt of a job that was claimed. `ready` is when it was submitted or fell due, if it is timed.
    pub(crate) fn run(&self, mut job: Job<P>, ready: Option<Moment>) -> Ended<P> {
        let began = self.needs_clock(&job).then(|| self.shared.clock.now());
        if job.attempts == 0 {
            self.began_fresh(began, ready);
        }
        job.attempts = job.attempts.saturating_add(1);
        self.recorder.add(Count::Attempts);
        if let Some(slot) = &job.slot {
            *self.station.current.lock() = Some(Arc::clone(slot));
        }
        self.station.runner.start(Running {
            task: job.id.as_u64(),
            lane: self.lane,
            attempt: job.attempts,
            // Zero stands for "not timed".
            since: began.map_or(0, |began| began.nanos().max(1)),
            progress: 0,
        });
        if self.shared.has_events {
            let task = &self.info(&job);
            self.tell_of_attempt(task, &Event::Started { task });
        }
        let (answer, course) = self.call(&mut job, began);
        self.tell_course(&job, &course);
        match answer {
            Ok(output) if self.end(&job) => {
                self.succeed(&job, &course);
                self.let_go(job, output)
            }
            Ok(output) => self.succeed_late(job, output),
            Err(failure) => self.fail(job, failure, &course),
        }
    }

    /// Whether this attempt has to know the time.
    fn needs_clock(&self, job: &Job<P>) -> bool {
        self.queue.needs_clock || self.shared.is_timed(job.id)
    }

    fn began_fresh(&self, began: Option<Moment>, ready: Option<Moment>) {
        let Some(now) = began else { return };
        if let Some(budget) = &self.queue.budget {
            budget.lock().deposit(now);
        }
        if let (Times::Worker(times), Some(ready)) = (self.times, ready) {
            times.wait.record_own(now.since(ready));
        }
    }

    /// What its context asks, of a first attempt that nobody watches.
    #[inline]
    pub(crate) fn bare_context(&self, id: TaskId) -> Current<'_, P> {
        Current {
            shared: self.shared,
            user: self.user,
            station: self.station,
            queue: self.queue,
            slot: None,
            id,
            attempt: 1,
            timeout_at: Moment::NEVER,
            meter: None,
        }
    }

    /// What listeners are told of the task.
    pub(crate) fn info(&self, job: &Job<P>) -> TaskInfo {
        self.queue.info(job.id, job.attempts, job.slot.as_deref())
    }

    pub(crate) fn held(&self, job: Job<P>) -> Held<P> {
        Held { lane: self.lane, was: Place::Running, job }
    }

    fn call(
        &self,
        job: &mut Job<P>,
        began: Option<Moment>,
    ) -> (Result<P::Output, Failure<P::Error>>, Course) {
        let limit = self.queue.attempt_timeout;
        let current = Current {
            slot: job.slot.as_deref(),
            attempt: job.attempts,
            timeout_at: began.zip(limit).map_or(Moment::NEVER, |(began, limit)| began.after(limit)),
            meter: self.shared.has_events.then(|| Meter::new(self.shared.pace)),
            ..self.bare_context(job.id)
        };
        let answer = current.process(&mut job.payload, job.deadline);
        let ended = began.map(|_| self.shared.clock.now());
        let answer = match answer {
            Ok(output) if current.is_timed_out(ended) => {
                self.shared.guard.drop(output);
                self.recorder.add(Count::Timeouts);
                Err(Failure::timed_out())
            }
            answer => answer,
        };
        let unsaid = current.meter.as_ref().and_then(Meter::unsaid);
        let ran = began.zip(ended).map(|(began, ended)| ended.since(began));
        self.record(job, ran);
        (answer, Course { ran, unsaid })
    }

    fn record(&self, job: &Job<P>, ran: Option<Duration>) {
        let Some(ran) = ran.filter(|_| self.shared.is_timed(job.id)) else { return };
        match self.times {
            Times::Worker(times) => times.run.record_own(ran),
            Times::Caller(times) => times.record_shared(ran),
        }
    }

    /// Ends the attempt. False if a shutdown has decided already; it then tells the handle as well.
    fn end(&self, job: &Job<P>) -> bool {
        let decided = self.station.runner.word.end();
        if decided && job.slot.is_some() {
            self.station.current.lock().take();
        }
        decided
    }

    /// The end of an attempt that came back with `Ok`. The job stays where it is until it is let go.
    #[inline]
    fn succeed(&self, job: &Job<P>, course: &Course) {
        if let Some(slot) = &job.slot {
            slot.stage.finish(Outcome::Succeeded);
            self.shared.free_key(Some(slot));
        }
        self.recorder.add(Count::Succeeded);
        self.station.runner.word.tidy();
        if self.shared.has_events {
            self.shared.tell_ran(self.user, &self.info(job), Outcome::Succeeded, course.ran);
        }
    }

    #[inline]
    fn let_go(&self, job: Job<P>, output: P::Output) -> Ended<P> {
        let guard = &self.shared.guard;
        let Job { payload, last_failure, slot, .. } = job;
        guard.drop(payload);
        if last_failure.is_some() {
            guard.drop(last_failure);
        }
        match slot {
            Some(slot) => Ended::answer(Outcome::Succeeded, slot, Ok(output)),
            None => {
                guard.drop(output);
                Ended::plain(Some(Outcome::Succeeded))
            }
        }
    }

    /// A shutdown had decided.
    #[cold]
    pub(crate) fn succeed_late(&self, job: Job<P>, output: P::Output) -> Ended<P> {
        let ended = self.come_back_late(job);
        self.shared.guard.drop(output);
        ended
    }

    #[inline(never)]
    pub(crate) fn fail(&self, mut job: Job<P>, failure: Failure<P::Error>, course: &Course) -> Ended<P> {
        if failure.is_panic() {
            self.recorder.add(Count::Panics);
        }
        let plan = self.reserve(self.plan(&failure, &job));
        self.log_failure(&job, &failure, &plan);
        self.tell_failure(&job, &failure, &plan);
        // The failure before this one is dropped here, where user code may still run.
        let previous = job.last_failure.replace(failure);
        self.shared.guard.drop(previous);
        if !self.end(&job) {
            self.unreserve(&plan);
            return self.come_back_late(job);
        }
        let rest = self.settle(job, plan);
        self.station.runner.word.tidy();
        self.finish(rest, course)
    }

    /// Asks the classifier, unless the window is over or a cancel was requested: then nothing but `Ok` counts.
    fn plan(&self, failure: &Failure<P::Error>, job: &Job<P>) -> Plan {
        if job.slot.as_ref().is_some_and(|slot| slot.stage.is_cancel_requested()) {
            return Plan::Cancel;
        }
        if self.shared.sleep.state().is_aborting() {
            return Plan::Abandon;
        }
        let decision = match &self.user.classify {
            Some(classify) => self.shared.guard.run(|| classify(failure.cause())),
            None => Some(default_decision(failure.cause())),
        };
        // A classifier that panics has said nothing worth a retry.
        let decision = decision.unwrap_or(RetryDecision::GiveUp);
        match decide(&self.queue.retry, decision, job.attempts, || self.shared.chance.draw()) {
            Verdict::Retry(delay) if self.is_beyond_deadline(job, delay) => Plan::Expire,
            Verdict::Retry(delay) => Plan::Retry(Retry { due: self.shared.clock.now().after(delay), delay }),
            Verdict::DeadLetter(reason) => Plan::DeadLetter(reason),
        }
    }

    fn is_beyond_deadline(&self, job: &Job<P>, delay: Duration) -> bool {
        job.deadline != Moment::NEVER && self.shared.clock.now().after(delay) >= job.deadline
    }

    /// Keeps a place in the delay queue for a retry, so that it can be told before it is taken in.
    fn reserve(&self, plan: Plan) -> Plan {
        let Plan::Retry(_) = plan else { return plan };
        // Relaxed: whoever is to see it sees the timer's or its own fence first.
        self.shared.has_delays.store(true, Ordering::Relaxed);
        if let Err(refusal) = self.queue.delays.reserve() {
            return if refusal == DelayRefusal::Full {
                Plan::DeadLetter(DeadLetterReason::DelayFull)
            } else {
                Plan::Abandon
            };
        }
        if self.fits_budget() {
            return plan;
        }
        self.queue.delays.unreserve();
        Plan::DeadLetter(DeadLetterReason::BudgetExhausted)
    }

    fn unreserve(&self, plan: &Plan) {
        if let Plan::Retry(_) = plan {
            self.queue.delays.unreserve();
        }
    }

    fn fits_budget(&self) -> bool {
        let now = || self.shared.clock.now();
        self.queue.budget.as_ref().is_none_or(|budget| budget.lock().withdraw(now()))
    }

    /// Counts the end and hands over what goes on. No user code: a shutdown may be waiting for it.
    fn settle(&self, job: Job<P>, plan: Plan) -> Rest<P> {
        // The window may have ended while the user's code was asked.
        let is_over = self.shared.sleep.state().is_aborting();
        match plan {
            Plan::Retry(retry) if !is_over => self.let_wait(job, retry.due),
            Plan::Cancel => self.close(job, Plan::Cancel),
            plan => {
                self.unreserve(&plan);
                self.close(job, if is_over { Plan::Abandon } else { plan })
            }
        }
    }

    /// The outcome, its count and the key change here. A cancel that was requested meanwhile goes before.
    fn close(&self, job: Job<P>, plan: Plan) -> Rest<P> {
        let planned = plan.outcome().unwrap_or(Outcome::Abandoned);
        let outcome = match &job.slot {
            Some(slot) => slot.stage.finish(planned),
            None => planned,
        };
        self.shared.free_key(job.slot.as_ref());
        self.recorder.add(match outcome {
            Outcome::Cancelled => Count::Cancelled,
            Outcome::Expired => Count::Expired,
            Outcome::Abandoned => Count::Abandoned,
            _ => Count::DeadLettered,
        });
        match (outcome, plan) {
            (Outcome::Abandoned, _) => {
                let gone = Gone { info: self.info(&job), slot: job.slot.clone() };
                Rest::Abandoned(gone, self.shared.drain.abandon(self.held(job)))
            }
            (Outcome::DeadLettered, Plan::DeadLetter(reason)) => Rest::DeadLetter(job, reason),
            (outcome, _) => Rest::Shed(job, outcome),
        }
    }

    /// Lets a task whose retry has been told wait for it, unless a cancel was requested or the window has ended since.
    fn let_wait(&self, job: Job<P>, due: Moment) -> Rest<P> {
        let slot = job.slot.clone();
        if let Some(slot) = &slot {
            slot.set_due(due);
        }
        // The payload is back in the slot before the stage says so: a cancel may take it at once.
        let waiting = job.wait();
        if slot.is_some_and(|slot| !slot.stage.retry()) {
            self.queue.delays.unreserve();
            // Still running, so the payload is still this attempt's.
            return waiting.reclaim().map_or(Rest::Gone, |job| self.close(job, Plan::Cancel));
        }
        match self.queue.delays.insert_reserved(due, waiting) {
            Ok(earliest) => {
                self.recorder.add(Count::Retries);
                if let Some(at) = earliest {
                    self.shared.timer.arm(at);
                }
                Rest::Gone
            }
            // The window has ended. If it was cancelled since, whoever did has told it.
            Err((waiting, _)) => match waiting.end(Outcome::Abandoned) {
                Some(job) => self.close(job, Plan::Abandon),
                None => Rest::Gone,
            },
        }
    }
}
