//! A worker: takes from the lanes, runs, rests.

use crate::attempt::Attempt;
use crate::clock::Moment;
use crate::config::UserCode;
use crate::error::TaskError;
use crate::event::Event;
use crate::inside;
use crate::job::{Body, Held, Place, Taken, Task};
use crate::processor::Processor;
use crate::shared::{ManualWorker, Shared, Station, Turn};
use crate::sleep::Activity;
use crate::sync::{Ordering, fence};
use crate::tally::Count;
use crate::task::{Outcome, TaskId};
use crate::word::Running;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Every so many takes a worker starts at another lane than the most urgent one.
const ROTATION: u64 = 64;

/// One worker thread's state.
pub(crate) struct TaskWorker<P: Processor> {
    shared: Arc<Shared<P>>,
    user: Arc<UserCode<P>>,
    me: usize,
    /// Its own.
    station: Arc<Station<P>>,
    activity: Activity,
    picker: Picker,
}

/// What a step of a worker came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It ran an attempt, or handed back what it took.
    Ran,
    /// It passed a task that had ended while it waited.
    Passed,
    /// It found nothing.
    Nothing,
    /// The window is over.
    Over,
}

impl<P: Processor> TaskWorker<P> {
    pub(crate) fn new(shared: Arc<Shared<P>>, user: Arc<UserCode<P>>, me: usize) -> Self {
        let picker = Picker::new(shared.lanes.len());
        let station = Arc::clone(&shared.workers[me].station);
        TaskWorker { shared, user, me, station, activity: Activity::Busy, picker }
    }

    /// The worker's life, from the first look to the last word.
    pub(crate) fn run(mut self) {
        while self.go_on() {}
        self.end();
    }

    /// The pool was not built: the start hook has its counterpart run, and nothing else happens.
    pub(crate) fn stop_before_work(self, start_hook_panicked: bool) {
        if start_hook_panicked {
            self.shared.release(Some(self.user));
        } else {
            self.end();
        }
    }

    fn go_on(&mut self) -> bool {
        match self.step() {
            Step::Ran | Step::Passed => true,
            Step::Nothing => self.rest(),
            Step::Over => {
                self.shared.drain.leave_at_end();
                self.shared.sleep.stop_searching(&mut self.activity);
                false
            }
        }
    }

    /// Takes one task, if there is one, and runs it.
    pub(crate) fn step(&mut self) -> Step {
        if self.shared.sleep.state().is_aborting() {
            return Step::Over;
        }
        self.station.runner.word.look();
        let lanes = self.shared.lanes.len();
        let (mut lane, turn) = self.picker.first_lane(lanes);
        // Read at most once a step, and only while something is delayed.
        let mut now = None;
        for _ in 0..lanes {
            if self.shared.is_taken_plainly(lane) {
                let queue = &self.shared.lanes[lane].queue;
                // Among several lanes the empty ones are passed by a look, since a pop of nothing costs a fence. From the
                // queue straight to its turn: each stop on the way would copy the payload.
                if let Some(task) = if lanes > 1 && queue.is_empty() { None } else { queue.pop() } {
                    self.picker.took(turn);
                    return self.fresh_turn(lane, task);
                }
            } else if let Some(taken) = self.picker.take(&self.shared, lane, &mut now) {
                self.picker.took(turn);
                return self.turn_of(taken);
            }
            lane = if lane + 1 == lanes { 0 } else { lane + 1 };
        }
        self.station.runner.word.idle();
        Step::Nothing
    }

    /// The turn of a task that came straight from the queue of a lane without a limit.
    #[inline(never)]
    fn fresh_turn(&mut self, lane: usize, task: Task<P>) -> Step {
        match task {
            Task { id, deadline: Moment::NEVER, stamp: Moment::NEVER, body: Body::Inline(payload) }
                if !self.shared.lanes[lane].needs_clock =>
            {
                self.plain_turn(lane, id, payload);
                Step::Ran
            }
            task => self.turn_of(Taken::fresh(lane, task)),
        }
    }

    /// The turn of a task that nobody watches: no clock, no listener, no handle.
    fn plain_turn(&mut self, lane: usize, id: TaskId, payload: P::Payload) {
        if !self.may_start(lane, true) {
            let task =
                Task { id, deadline: Moment::NEVER, stamp: Moment::NEVER, body: Body::Inline(payload) };
            return self.hand_back(Taken::fresh(lane, task));
        }
        Attempt::of_worker(&self.shared, &self.user, self.me, lane).run_plain(id, payload);
    }

    /// Something was taken: whoever waits for its place, or relies on this worker's search, sees that. False if the window
    /// has ended since the look.
    #[inline]
    fn may_start(&mut self, lane: usize, was_queued: bool) -> bool {
        let shared = &*self.shared;
        let queue = &shared.lanes[lane];
        // Ordering: partner of the fence of those who wait for room, and of the one at the end of a window.
        fence(Ordering::SeqCst);
        if was_queued {
            queue.room.was_freed();
            queue.left_queue();
        }
        if shared.sleep.state().is_aborting() {
            return false;
        }
        shared.sleep.found(&mut self.activity, || shared.has_work());
        true
    }

    /// The turn of a task that was taken with its lane's permit.
    #[inline(never)]
    fn turn_of(&mut self, taken: Taken<P>) -> Step {
        if !self.may_start(taken.lane, taken.was == Place::Queued) {
            self.hand_back(taken);
            return Step::Ran;
        }
        let shared = &*self.shared;
        let attempt = Attempt::of_worker(shared, &self.user, self.me, taken.lane);
        let ended = attempt.run_or_expire(taken.was, taken.waiting);
        let step = if ended.is_some() { Step::Ran } else { Step::Passed };
        match ended {
            // Its handle's waker is user code and comes after the permit, so this worker cannot look for what the permit
            // lets start.
            Some(ended) if ended.has_answer() => {
                if attempt.queue.release() {
                    shared.permit_appeared(attempt.lane);
                }
                shared.answer(ended);
            }
            // A freed permit is work appearing. This worker counts as searching and looks for it itself: no wake.
            _ => {
                if attempt.queue.release() {
                    shared.sleep.start_searching(&mut self.activity);
                }
            }
        }
        step
    }

    /// The window ended between the look and the take.
    #[cold]
    fn hand_back(&mut self, taken: Taken<P>) {
        let shared = &*self.shared;
        shared.sleep.stop_searching(&mut self.activity);
        let Taken { lane, was, waiting } = taken;
        let recorder = shared.recorder_of(self.me, lane);
        let word = &self.station.runner.word;
        let id = waiting.task.id.as_u64();
        let told = match waiting.end(Outcome::Abandoned) {
            None => {
                shared.lanes[lane].pass_dead(was);
                None
            }
            Some(job) => {
                let slot = job.slot.clone();
                let told = (shared.lanes[lane].info(job.id, job.attempts, slot.as_deref()), slot);
                // Only a task from a queue can have come too late; the heaps are closed by then.
                let accepted = shared.drain.hand_back_taken(id, Held { lane, was, job });
                if accepted {
                    recorder.add(Count::Abandoned);
                    if was == Place::Queued {
                        recorder.add(Count::Taken);
                    }
                }
                accepted.then_some(told)
            }
        };
        shared.lanes[lane].release();
        if let Some((info, slot)) = told {
            let runner = &self.station.runner;
            runner.describe(Running::waiting(info.id, lane, info.attempt));
            word.tidy();
            shared.free_key(slot.as_ref());
            shared.tell_ran(&self.user, &info, Outcome::Abandoned, None);
            if let Some(slot) = slot {
                shared.resolve(&slot, Err(TaskError::Abandoned));
            }
        }
        word.idle();
    }

    /// Nothing was found: leaves a closed pool for which nothing waits, or rests until something comes. False if it left.
    fn rest(&mut self) -> bool {
        if self.shared.sleep.state().is_closed() && self.leave() {
            return false;
        }
        if self.spin() {
            return true;
        }
        let shared = &*self.shared;
        shared.sleep.sleep(self.me, &mut self.activity, |state| {
            // The word is idle and the announcement has fenced: whoever waits for rest looks again.
            shared.idle.tell_fenced();
            state.is_aborting() || shared.has_work() || (state.is_closed() && shared.nothing_waits())
        });
        true
    }

    fn leave(&mut self) -> bool {
        let shared = &*self.shared;
        let left = shared.drain.leave(|| shared.nothing_waits(), |late| shared.move_late(late));
        if left {
            shared.sleep.stop_searching(&mut self.activity);
            // The others leave one after another.
            shared.sleep.work_appeared();
        }
        left
    }

    /// Looks for work with growing pauses, as a searching worker. True if there is some.
    fn spin(&mut self) -> bool {
        let Some(limit) = self.shared.idle_strategy.patience() else { return false };
        let shared = &*self.shared;
        if shared.sleep.state().is_closed() {
            // What waits now waits for its time or for others; there is nothing to be quick for.
            return false;
        }
        if !shared.sleep.try_start_searching(&mut self.activity, shared.spinners_allowed) {
            return false;
        }
        // Once is enough: the word stays idle while this worker spins, so a waiter that comes later sees it so.
        shared.idle.tell();
        spin_until(limit, || shared.sleep.state().is_closed() || shared.has_work())
    }

    /// The last of it: hook, user code, word.
    fn end(self) {
        let TaskWorker { shared, user, me, station, .. } = self;
        let word = &station.runner.word;
        word.leave();
        shared.idle.tell();
        if let Some(hook) = &user.on_worker_stop {
            shared.guard.run(|| hook(me));
        }
        shared.tell(&user, &Event::WorkerStopped { worker: me });
        shared.release(Some(user));
        word.ended();
        shared.idle.tell();
    }
}

impl<P: Processor> ManualWorker<P> for TaskWorker<P> {
    fn turn(mut self: Box<Self>) -> (Turn, Option<Box<dyn ManualWorker<P>>>) {
        let _inside = inside::enter_worker(self.shared.id, Arc::<Station<P>>::clone(&self.station));
        let step = self.step();
        // Nobody sleeps, so nobody relies on its search.
        let shared = Arc::clone(&self.shared);
        shared.sleep.stop_searching(&mut self.activity);
        if let Step::Ran | Step::Passed = step {
            // No look follows by itself: between two turns it rests.
            self.station.runner.word.idle();
        }
        match step {
            Step::Ran => (Turn::Ran, Some(self)),
            Step::Passed => (Turn::Passed, Some(self)),
            Step::Nothing if !(shared.sleep.state().is_closed() && self.leave()) => {
                (Turn::Nothing, Some(self))
            }
            Step::Nothing => {
                self.end();
                (Turn::Left, None)
            }
            Step::Over => {
                shared.drain.leave_at_end();
                self.end();
                (Turn::Left, None)
            }
        }
    }
}

/// Asks with pauses that double up to 64 hints; bounded by time, not by a count.
fn spin_until(limit: Duration, found: impl Fn() -> bool) -> bool {
    const LONGEST_PAUSE: u32 = 64;
    let start = Instant::now();
    let mut pause = 1;
    loop {
        if found() {
            return true;
        }
        for _ in 0..pause {
            std::hint::spin_loop();
        }
        pause = LONGEST_PAUSE.min(pause * 2);
        if start.elapsed() >= limit {
            return false;
        }
    }
}

/// Which lane, and which of its two sources, a worker takes from next.
struct Picker {
    takes: u64,
    turn: usize,
    /// By lane: whether what is due comes before what is fresh. They alternate.
    due_first: Box<[bool]>,
}

impl Picker {
    fn new(lanes: usize) -> Self {
        Picker { takes: 0, turn: 0, due_first: vec![true; lanes].into() }
    }

    /// Something was taken; and whose turn it then was.
    #[inline]
    fn took(&mut self, turn: usize) {
        self.takes += 1;
        self.turn = turn;
    }

    /// The most urgent lane, but every 64th take the next one in turn; and whose turn it then was.
    fn first_lane(&self, lanes: usize) -> (usize, usize) {
        if lanes == 1 || (self.takes + 1) % ROTATION != 0 {
            return (0, self.turn);
        }
        let turn = (self.turn + 1) % lanes;
        (turn, turn)
    }

    /// Takes from a lane, with a permit of its limit if it has one.
    #[inline(never)]
    fn take<P: Processor>(
        &mut self,
        shared: &Shared<P>,
        lane: usize,
        now: &mut Option<Moment>,
    ) -> Option<Taken<P>> {
        let queue = &shared.lanes[lane];
        if queue.permits.is_none() {
            return self.take_permitted(shared, lane, now);
        }
        while shared.has_task(queue) && queue.try_acquire() {
            let taken = self.take_permitted(shared, lane, now);
            if taken.is_some() {
                return taken;
            }
            queue.release();
            // Ordering: partner of the fence in `after_push`. A submit, or the timer's wake, that saw the permit taken
            // has left its task to this second look.
            fence(Ordering::SeqCst);
            *now = None;
        }
        None
    }

    fn take_permitted<P: Processor>(
        &mut self,
        shared: &Shared<P>,
        lane: usize,
        now: &mut Option<Moment>,
    ) -> Option<Taken<P>> {
        let due = |now: &mut Option<Moment>| take_due(shared, lane, now);
        let fresh = || Some(Taken::fresh(lane, shared.lanes[lane].queue.pop()?));
        let taken = if self.due_first[lane] { due(now).or_else(fresh) } else { fresh().or_else(|| due(now)) };
        if let Some(Taken { was, .. }) = &taken {
            self.due_first[lane] = *was == Place::Queued;
        }
        taken
    }
}

/// A task whose time has come. No clock is read while nothing is delayed.
fn take_due<P: Processor>(shared: &Shared<P>, lane: usize, now: &mut Option<Moment>) -> Option<Taken<P>> {
    if !shared.has_delays.load(Ordering::Relaxed) {
        return None;
    }
    let delays = &shared.lanes[lane].delays;
    let due = delays.next_due();
    if due == Moment::NEVER {
        return None;
    }
    let now = *now.get_or_insert_with(|| shared.clock.now());
    let taken = delays.pop_due(now)?;
    if taken.next > now {
        // What was hidden behind this one is what the timer has to wait for now.
        shared.timer.arm(taken.next);
    }
    Some(Taken { lane, was: taken.item.place_until(taken.due), waiting: taken.item })
}
