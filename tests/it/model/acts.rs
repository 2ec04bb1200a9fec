//! Everything that is done to a pool, from outside, by a task, or by a hook.

use super::book::{Answer, Stream};
use super::load::{Load, Result as Made, take_failure_home};
use super::script::{Act, Form, LANES, Offer, Options, Plan};
use super::world::World;
use dockhand::{
    CancelOutcome, Outcome, OverloadPolicy, RejectReason, SubmitResult, TaskContext, TaskError, TaskHandle,
    TaskOptions, TaskStatus, TaskSubmitter,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

type Handle = TaskHandle<Arc<World>>;

fn outcome_of(result: Result<Made, TaskError<Made>>) -> Option<Outcome> {
    Some(match result {
        Ok(output) => {
            output.take_home();
            Outcome::Succeeded
        }
        Err(TaskError::Failed(failure)) => {
            take_failure_home(&failure);
            Outcome::DeadLettered
        }
        Err(TaskError::Cancelled) => Outcome::Cancelled,
        Err(TaskError::Expired) => Outcome::Expired,
        Err(TaskError::Evicted) => Outcome::Evicted,
        Err(TaskError::Abandoned) => Outcome::Abandoned,
        Err(_) => return None,
    })
}

impl World {
    pub(super) fn act(self: &Arc<Self>, act: &Act) {
        match act {
            Act::Offer(offer) => self.offer(offer, None),
            Act::Batch { lane, overload, plans } => self.batch(*lane, *overload, plans),
            Act::Cancel(n) => self.with_handle(*n, |handle| self.cancel(handle)),
            Act::Wait(n, ticks) => self.with_handle(*n, |handle| self.wait(handle, self.tick.of(*ticks))),
            Act::Forget(n, cancels) => self.forget(*n, *cancels),
            Act::Limit(lane, limit) => self.limit_lane(*lane, *limit),
            Act::WaitIdle(ticks) => drop(self.with_pool(|pool| pool.wait_idle(self.tick.of(*ticks)))),
            Act::Look => drop(self.with_pool(|pool| (pool.metrics(), format!("{:?}", pool.status())))),
            Act::Requeue => self.requeue_all(),
            Act::DrainLetters => self.drain_letters(),
            Act::TakeAndPutBack => drop(self.with_pool(|pool| {
                let oldest = pool.dead_letters().list().first().map(|info| info.task.id);
                let letter = oldest.and_then(|id| pool.dead_letters().take(id));
                letter.into_iter().for_each(|letter| pool.dead_letters().put_back(letter));
            })),
            Act::Close => {
                let done = self.with_pool(|pool| pool.begin_shutdown());
                self.note_closed(done.is_some());
            }
            Act::Shutdown(window) => self.shutdown(self.tick.window(*window)),
            Act::LetGo => {
                let kept = self.kept.lock().unwrap().take();
                drop(kept);
            }
            Act::RunOne => drop(self.manual().map(|pool| pool.run_one())),
            Act::RunAll => drop(self.manual().map(|pool| pool.run_until_idle())),
            Act::Advance(ticks) => drop(self.manual().map(|pool| pool.advance(self.tick.of(*ticks)))),
            Act::AdvanceToDue => drop(self.manual().map(|pool| pool.advance_to_next_due())),
            Act::AlmostDue => self.advance_almost(),
        }
    }

    /// From here on every offer is refused. Not if there was no pool to close: one that is being dropped may be open still.
    fn note_closed(&self, was_there: bool) {
        if was_there {
            self.is_closed.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn shutdown(&self, window: Duration) {
        let report = self.with_pool(|pool| pool.shutdown(window));
        self.note_closed(report.is_some());
        report.into_iter().flat_map(|report| report.abandoned).for_each(|shed| self.take(shed));
    }

    pub(super) fn offer(self: &Arc<Self>, offer: &Offer, cx: Option<&TaskContext<'_, Load>>) {
        let Offer { lane, form, overload, options, plan } = offer;
        let was_closed = self.is_closed.load(Ordering::SeqCst);
        let now = self.now();
        let options = if form.has_options() { *options } else { Options::default() };
        let due = now + self.tick.of(options.delay.unwrap_or(0));
        let ttl = options.ttl.or(self.settings.ttl(*lane)).map(|ttl| self.tick.of(ttl));
        let stream = match form {
            Form::Timeout(_) if cx.is_none() => None,
            _ if due == now => Some(Stream::Thread(std::thread::current().id())),
            _ => self.is_manual().then_some(Stream::Delayed),
        };
        let number = self.book.payload(due, ttl.map(|ttl| now + ttl), stream);
        self.book.pages().payloads[number as usize].own =
            options.ttl.map(|ttl| (self.tick.of(ttl), !options.as_deadline));
        let load = Load::new(self, number, plan.clone());
        let answer = self.offering(&[number], || match cx {
            Some(cx) if form.has_options() => {
                self.settle(cx.submit_with(LANES[*lane], load, self.options(options, now)))
            }
            Some(cx) => self.settle(cx.submit(LANES[*lane], load)),
            None => {
                let submitter = self.submitter(*lane, *overload);
                self.submit(&submitter, *form, load, self.options(options, now))
            }
        });
        self.check_answer(offer, was_closed, answer);
        self.book.answer(number, answer);
    }

    fn submit(
        &self,
        submitter: &TaskSubmitter<Arc<World>>,
        form: Form,
        load: Load,
        options: TaskOptions,
    ) -> Answer {
        let number = load.number;
        let tracked = match form {
            Form::Plain => return self.settle(submitter.submit(load)),
            Form::With => return self.settle(submitter.submit_with(load, options)),
            Form::Timeout(ticks) => {
                return self.settle(submitter.submit_timeout(load, self.tick.of(ticks)));
            }
            Form::Tracked => submitter.submit_tracked(load),
            Form::TrackedWith => submitter.submit_tracked_with(load, options),
        };
        match tracked {
            Ok(handle) => {
                let id = handle.id();
                self.handles.lock().unwrap().push(handle);
                // A handle does not say where the first attempt ran.
                let ran_here = self.book.pages().payloads[number as usize].ran_here;
                if ran_here { Answer::CallerRun(id) } else { Answer::Accepted(id) }
            }
            Err(refused) => {
                let reason = refused.reason();
                refused.into_payload().take_home();
                if reason == RejectReason::Dropped { Answer::Dropped } else { Answer::Rejected(reason) }
            }
        }
    }

    fn settle(&self, answer: SubmitResult<Load>) -> Answer {
        match answer {
            SubmitResult::Accepted(id) => Answer::Accepted(id),
            SubmitResult::CallerRun(run) => Answer::CallerRun(run.id),
            SubmitResult::Rejected(refused) => {
                let reason = refused.reason();
                refused.into_payload().take_home();
                Answer::Rejected(reason)
            }
            SubmitResult::Dropped(load) => {
                load.take_home();
                Answer::Dropped
            }
        }
    }

    fn check_answer(&self, offer: &Offer, was_closed: bool, answer: Answer) {
        let Offer { lane, form, options, .. } = offer;
        let has = |is_set: bool| form.has_options() && is_set;
        let is_fair = match answer {
            Answer::Rejected(RejectReason::Closed) => true,
            _ if was_closed => false,
            Answer::Rejected(RejectReason::DelayFull) => has(options.delay.is_some()),
            Answer::Rejected(RejectReason::Duplicate(_)) => has(options.key.is_some()),
            Answer::Rejected(RejectReason::Expired) => {
                has(options.ttl.is_some()) || self.settings.ttl(*lane).is_some()
            }
            Answer::Rejected(RejectReason::LaneLimit) => self.settings.limit(*lane).is_some(),
            Answer::Rejected(reason) => reason == RejectReason::QueueFull,
            _ => true,
        };
        self.book.wrong_if(!is_fair, || format!("{answer:?}, closed {was_closed}: {offer:?}"));
    }

    fn options(&self, options: Options, now: Instant) -> TaskOptions {
        let Options { delay, ttl, as_deadline, key } = options;
        let mut asked = TaskOptions::new();
        if let Some(delay) = delay {
            asked = asked.delay(self.tick.of(delay));
        }
        match ttl.map(|ttl| self.tick.of(ttl)) {
            Some(ttl) if as_deadline => asked = asked.deadline(now + ttl),
            Some(ttl) => asked = asked.ttl(ttl),
            None => {}
        }
        key.map_or(asked.clone(), |key| asked.key(key.to_string()))
    }

    fn submitter(&self, lane: usize, overload: Option<OverloadPolicy>) -> TaskSubmitter<Arc<World>> {
        let submitter = &self.submitters.get().unwrap()[lane];
        overload.map_or_else(|| submitter.clone(), |overload| submitter.with_overload(overload))
    }

    fn batch(self: &Arc<Self>, lane: usize, overload: Option<OverloadPolicy>, plans: &[Plan]) {
        let now = self.now();
        let first = self.book.pages().payloads.len() as u64;
        let stream = Some(Stream::Batch(first));
        // The time to live of each begins when it is pushed, which may be after a caller-run of one before it.
        let numbers: Vec<_> = plans.iter().map(|_| self.book.payload(now, None, stream)).collect();
        let loads = numbers.iter().zip(plans).map(|(number, plan)| Load::new(self, *number, plan.clone()));
        let loads: Vec<_> = loads.collect();
        let submitter = self.submitter(lane, overload);
        let result = self.offering(&numbers, || submitter.submit_batch(loads));
        let mut back = Vec::new();
        for refused in result.refused {
            let reason = refused.reason();
            let load = refused.into_payload();
            back.push(load.number);
            load.take_home();
            let mut pages = self.book.pages();
            let is_dropped = reason == RejectReason::Dropped;
            let count = if is_dropped { &mut pages.counts.dropped } else { &mut pages.counts.rejected };
            *count += 1;
        }
        let mut pages = self.book.pages();
        let here = numbers.iter().filter(|number| pages.payloads[**number as usize].ran_here).count();
        pages.counts.accepted += result.accepted as u64;
        pages.counts.caller_run += result.caller_run as u64;
        drop(pages);
        let adds_up = back.len() + result.accepted + result.caller_run == numbers.len();
        let is_right = adds_up && back.is_sorted() && here == result.caller_run;
        self.book.wrong_if(!is_right, || format!("of {numbers:?} came back {back:?}, {here} ran here"));
    }

    /// Takes it from the others while it is used: what is done to it may call hooks.
    fn with_handle(&self, n: usize, f: impl FnOnce(&mut Handle)) {
        let mut handle = {
            let mut handles = self.handles.lock().unwrap();
            let Some(place) = n.checked_rem(handles.len()) else { return };
            handles.swap_remove(place)
        };
        f(&mut handle);
        self.handles.lock().unwrap().push(handle);
    }

    fn cancel(&self, handle: &Handle) {
        let id = handle.id();
        match handle.cancel() {
            CancelOutcome::Cancelled(load) => {
                self.book.handed(id, Outcome::Cancelled);
                load.take_home();
            }
            CancelOutcome::Requested => {}
            CancelOutcome::TooLate => {
                let status = handle.status();
                let is_ended = matches!(status, TaskStatus::Ended(_));
                self.book.wrong_if(!is_ended, || format!("{id}: too late, but {status:?}"));
            }
        }
    }

    pub(super) fn wait(&self, handle: &mut Handle, timeout: Duration) {
        let until = self.now() + timeout;
        match handle.wait_timeout(timeout).map(outcome_of) {
            Some(Some(outcome)) => {
                let status = handle.status();
                let is_told = status == TaskStatus::Ended(outcome);
                self.book.wrong_if(!is_told, || format!("answered {outcome}, but {status:?}"));
                self.book.answered(handle.id(), outcome);
            }
            // From inside it does not wait; what was taken is not told again.
            Some(None) => {}
            None => {
                let is_ended = matches!(handle.status(), TaskStatus::Ended(_));
                self.book.wrong_if(!is_ended && self.now() < until, || format!("{handle:?}: too soon"));
            }
        }
    }

    fn forget(&self, n: usize, cancels: bool) {
        let mut handles = self.handles.lock().unwrap();
        let Some(place) = n.checked_rem(handles.len()) else { return };
        let handle = handles.swap_remove(place);
        drop(handles);
        self.book.pages().tasks.entry(handle.id()).or_default().cancels_on_drop = cancels;
        drop(if cancels { handle.cancel_on_drop() } else { handle });
    }

    pub(super) fn forget_all(&self) {
        let handles = std::mem::take(&mut *self.handles.lock().unwrap());
        drop(handles);
    }

    fn limit_lane(&self, lane: usize, limit: usize) {
        let is_limited = self.settings.limit(lane).is_some();
        let answer = self.with_pool(|pool| {
            if is_limited {
                self.set_limit(lane, limit);
            }
            pool.set_max_concurrency(LANES[lane], limit)
        });
        let expected = if is_limited { Ok(()) } else { Err(RejectReason::NotLimited) };
        self.book.wrong_if(answer.is_some_and(|answer| answer != expected), || format!("{answer:?}"));
    }

    pub(super) fn requeue_all(&self) {
        self.with_pool(|pool| {
            for info in pool.dead_letters().list() {
                let id = info.task.id;
                let lane = super::starts::place_of(&info.task.lane);
                let number = self.book.pages().tasks.get(&id).and_then(|task| task.number).unwrap();
                let of_lane = self.settings.ttl(lane).map(|ttl| (self.tick.of(ttl), true));
                let mut pages = self.book.pages();
                let payload = &mut pages.payloads[number as usize];
                match payload.own.or(of_lane) {
                    Some((ttl, true)) => payload.deadline = Some(self.now() + ttl),
                    Some((_, false)) => {}
                    None => payload.deadline = None,
                }
                drop(pages);
                match pool.dead_letters().requeue(id) {
                    Ok(new) => {
                        let mut pages = self.book.pages();
                        pages.counts.accepted += 1;
                        pages.know(new, number);
                    }
                    // It has gone another way meanwhile.
                    Err(RejectReason::UnknownLetter) => {}
                    Err(_) => self.book.pages().counts.rejected += 1,
                }
            }
        });
    }

    pub(super) fn drain_letters(&self) {
        let letters = self.with_pool(|pool| pool.dead_letters().drain());
        for letter in letters.into_iter().flatten() {
            self.book.handed(letter.info.task.id, Outcome::DeadLettered);
            take_failure_home(&letter.failure);
            letter.payload.take_home();
        }
    }

    /// To a nanosecond before the next time that is known to be due.
    fn advance_almost(&self) {
        let (Some(pool), now) = (self.manual(), self.now()) else { return };
        let pages = self.book.pages();
        let retries = pages.tasks.values().filter_map(|task| task.due);
        let dues = pages.payloads.iter().map(|payload| payload.due).chain(retries);
        let next = dues.filter(|due| *due > now).min();
        drop(pages);
        let by = next.map_or(Duration::ZERO, |due| due - now);
        pool.advance(by.saturating_sub(Duration::from_nanos(1)));
    }
}
