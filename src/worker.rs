//! A worker: takes from the lanes, runs, rests.

use crate::attempt::Attempt;
use crate::clock::Moment;
use crate::config::{IdleStrategy, UserCode};
use crate::lane::Held;
use crate::processor::Processor;
use crate::shared::{HeldOf, JobOf, Shared};
use crate::sleep::Activity;
use crate::sync::{Ordering, fence};
use crate::tally::Count;
use crate::task::{Job, Outcome, Place};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Every so many takes a worker starts at another lane than the most urgent one.
const ROTATION: u64 = 64;

/// One worker thread's state.
pub(crate) struct TaskWorker<P: Processor> {
    shared: Arc<Shared<P>>,
    user: Arc<UserCode<P>>,
    me: usize,
    activity: Activity,
    picker: Picker,
}

/// What a step of a worker came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It ran an attempt, or handed back what it took.
    Ran,
    /// It found nothing.
    Nothing,
    /// The window is over.
    Over,
}

impl<P: Processor> TaskWorker<P> {
    pub(crate) fn new(shared: Arc<Shared<P>>, user: Arc<UserCode<P>>, me: usize) -> Self {
        let picker = Picker::new(shared.lanes.len());
        TaskWorker { shared, user, me, activity: Activity::Busy, picker }
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
            Step::Ran => true,
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
        let shared = &*self.shared;
        if shared.sleep.state().is_aborting() {
            return Step::Over;
        }
        let word = &shared.workers[self.me].runner.word;
        word.look();
        let Some(taken) = self.picker.pick(shared) else {
            word.idle();
            return Step::Nothing;
        };
        // Ordering: partner of the fence of those who wait for room, and of the one at the end of a window.
        fence(Ordering::SeqCst);
        if taken.was == Place::Queued {
            shared.lanes[taken.lane].room.was_freed();
        }
        if shared.sleep.state().is_aborting() {
            self.hand_back(taken);
        } else {
            if taken.was == Place::Queued {
                shared.recorder_of(self.me, taken.lane).add(Count::Taken);
            }
            shared.sleep.found(&mut self.activity, || shared.has_work());
            self.attempt(taken.lane).run(taken.job);
        }
        Step::Ran
    }

    fn attempt(&self, lane: usize) -> Attempt<'_, P> {
        let shared = &*self.shared;
        Attempt {
            shared,
            user: &self.user,
            runner: &shared.workers[self.me].runner,
            recorder: shared.recorder_of(self.me, lane),
            lane,
        }
    }

    /// The window ended between the look and the take.
    fn hand_back(&mut self, taken: HeldOf<P>) {
        let shared = &*self.shared;
        shared.sleep.stop_searching(&mut self.activity);
        let runner = &shared.workers[self.me].runner;
        let recorder = shared.recorder_of(self.me, taken.lane);
        if taken.was == Place::Queued {
            if shared.drain.hand_back_taken(taken.job.task.id.as_u64(), taken) {
                recorder.add(Count::Taken);
                recorder.add(Count::Abandoned);
            }
        } else {
            recorder.add(Count::Abandoned);
            if let Some(held) = shared.drain.abandon(taken) {
                runner.word.tidy();
                let shed = shared.to_shed(held, Outcome::Abandoned);
                shared.shed(Some(&self.user), shed);
            }
        }
        runner.word.idle();
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
        let left = shared.drain.leave(
            || shared.nothing_waits(),
            || {
                for lane in &shared.lanes {
                    lane.delays.end_at(Moment::START);
                }
            },
        );
        if left {
            shared.sleep.stop_searching(&mut self.activity);
            // The others leave one after another.
            shared.sleep.work_appeared();
        }
        left
    }

    /// Looks for work with growing pauses, as a searching worker. True if there is some.
    fn spin(&mut self) -> bool {
        let IdleStrategy::SpinThenPark(limit) = self.shared.idle_strategy else {
            return false;
        };
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
        let TaskWorker { shared, user, me, .. } = self;
        let word = &shared.workers[me].runner.word;
        word.leave();
        shared.idle.tell();
        if let Some(hook) = &user.on_worker_stop {
            shared.guard.run(|| hook(me));
        }
        shared.release(Some(user));
        word.ended();
        shared.idle.tell();
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

    fn pick<P: Processor>(&mut self, shared: &Shared<P>) -> Option<HeldOf<P>> {
        let lanes = shared.lanes.len();
        let (first, turn) = self.first_lane(lanes);
        // Read at most once a pick, and only while something is delayed.
        let mut now = None;
        for step in 0..lanes {
            let lane = (first + step) % lanes;
            if let Some((was, job)) = self.take(shared, lane, &mut now) {
                self.takes += 1;
                self.turn = turn;
                return Some(Held { lane, was, job });
            }
        }
        None
    }

    /// The most urgent lane, but every 64th take the next one in turn; and whose turn it then was.
    fn first_lane(&self, lanes: usize) -> (usize, usize) {
        if lanes == 1 || (self.takes + 1) % ROTATION != 0 {
            return (0, self.turn);
        }
        let turn = (self.turn + 1) % lanes;
        (turn, turn)
    }

    fn take<P: Processor>(
        &mut self,
        shared: &Shared<P>,
        lane: usize,
        now: &mut Option<Moment>,
    ) -> Option<(Place, JobOf<P>)> {
        let due_first = self.due_first[lane];
        let due = |now: &mut Option<Moment>| take_due(shared, lane, now);
        let fresh = || {
            let task = shared.lanes[lane].queue.pop()?;
            Some((Place::Queued, Job::fresh(task)))
        };
        let taken = if due_first { due(now).or_else(fresh) } else { fresh().or_else(|| due(now)) };
        if let Some((was, _)) = &taken {
            self.due_first[lane] = *was == Place::Queued;
        }
        taken
    }
}

/// A task whose time has come. No clock is read while nothing is delayed.
fn take_due<P: Processor>(
    shared: &Shared<P>,
    lane: usize,
    now: &mut Option<Moment>,
) -> Option<(Place, JobOf<P>)> {
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
    Some((Place::Retrying(due), taken.item))
}
