//! The glue of `worker.rs`.

use super::pool::Pool;
use super::spawn;
use crate::clock::Moment;
use crate::sleep::Activity;
use crate::sync::{Ordering, fence, yield_now};
use crate::word::Word;
use loom::thread::JoinHandle;
use std::cell::Cell;
use std::sync::Arc;

pub(super) struct Worker<'a> {
    pool: &'a Pool,
    me: usize,
    activity: Activity,
    /// It never sleeps in an open pool, as with a spinning time without limit.
    spins: bool,
    /// The lane that it looks at first.
    first: usize,
    /// It has just taken a permit for a task that it saw, and that another one has taken since.
    has_permit: Cell<bool>,
}

struct Taken {
    lane: usize,
    was_queued: bool,
    task: u64,
}

enum Step {
    Ran,
    Nothing,
    Over,
}

pub(super) fn spawn_workers(pool: &Arc<Pool>) -> Vec<JoinHandle<()>> {
    (0..pool.runners.len()).map(|me| spawn(pool, move |pool| Worker::new(pool, me).run())).collect()
}

/// Workers that sleep. How they fell asleep is explored by others.
pub(super) fn sleeping_workers(pool: &Arc<Pool>) -> Vec<JoinHandle<()>> {
    loom::stop_exploring();
    let workers = spawn_workers(pool);
    while pool.sleep.state().sleeping() < workers.len() as u64 {
        yield_now();
    }
    loom::explore();
    workers
}

impl<'a> Worker<'a> {
    pub(super) fn new(pool: &'a Pool, me: usize) -> Self {
        pool.sleep.bind(me);
        Worker { pool, me, activity: Activity::Busy, spins: false, first: 0, has_permit: Cell::new(false) }
    }

    pub(super) fn spinning(pool: &'a Pool, me: usize) -> Self {
        Worker { spins: true, ..Worker::new(pool, me) }
    }

    /// Searching from the start.
    pub(super) fn searching(pool: &'a Pool, me: usize) -> Self {
        let mut activity = Activity::Busy;
        pool.sleep.start_searching(&mut activity);
        Worker { activity, ..Worker::new(pool, me) }
    }

    /// At the end of an attempt in lane 0; the model has its permit taken. The rotation has come to lane 1.
    pub(super) fn run_from_end(mut self) {
        self.end_with_permit(0);
        self.first = 1;
        self.run();
    }

    /// In the take from lane 0; the model has its permit taken.
    pub(super) fn run_from_permit(self) {
        self.has_permit.set(true);
        self.run();
    }

    /// After a look that found nothing.
    pub(super) fn run_from_rest(mut self) {
        if self.rest() {
            self.run();
        }
    }

    fn word(&self) -> &'a Word {
        &self.pool.runners[self.me].word
    }

    pub(super) fn run(mut self) {
        while self.go_on() {}
        self.end();
    }

    fn go_on(&mut self) -> bool {
        match self.step() {
            Step::Ran => true,
            Step::Nothing => self.rest(),
            Step::Over => {
                self.pool.drain.leave_at_end();
                self.pool.sleep.stop_searching(&mut self.activity);
                false
            }
        }
    }

    fn step(&mut self) -> Step {
        let pool = self.pool;
        if pool.sleep.state().is_aborting() {
            return Step::Over;
        }
        let word = self.word();
        word.look();
        let Some(Taken { lane, was_queued, task }) = self.pick() else {
            word.idle();
            return Step::Nothing;
        };
        fence(Ordering::SeqCst);
        if was_queued {
            pool.room.was_freed();
        }
        if pool.sleep.state().is_aborting() {
            self.hand_back(lane, task, was_queued);
        } else {
            pool.sleep.found(&mut self.activity, || pool.has_work());
            pool.attempt(&pool.runners[self.me], task);
            self.end_with_permit(lane);
        }
        Step::Ran
    }

    /// `work`, after the attempt.
    fn end_with_permit(&mut self, lane: usize) {
        if self.pool.lanes[lane].release() {
            self.pool.sleep.start_searching(&mut self.activity);
        }
    }

    fn pick(&self) -> Option<Taken> {
        let mut now = None;
        let lanes = self.pool.lanes.len();
        (0..lanes).find_map(|step| self.take((self.first + step) % lanes, &mut now))
    }

    /// `Picker`, `take`.
    fn take(&self, lane: usize, now: &mut Option<Moment>) -> Option<Taken> {
        let pool = self.pool;
        let queue = &pool.lanes[lane];
        if queue.permits.is_none() {
            return self.take_permitted(lane, now);
        }
        while self.has_permit.take() || (pool.has_task(queue) && queue.try_acquire()) {
            let taken = self.take_permitted(lane, now);
            if taken.is_some() {
                return taken;
            }
            queue.release();
            fence(Ordering::SeqCst);
            *now = None;
        }
        None
    }

    /// The due ones first. The original alternates.
    fn take_permitted(&self, lane: usize, now: &mut Option<Moment>) -> Option<Taken> {
        let queue = &self.pool.lanes[lane];
        let due = self.pool.take_due(queue, now);
        let was_queued = due.is_none();
        let task = due.or_else(|| queue.queue.pop())?;
        Some(Taken { lane, was_queued, task })
    }

    fn hand_back(&mut self, lane: usize, task: u64, was_queued: bool) {
        self.pool.sleep.stop_searching(&mut self.activity);
        if was_queued {
            self.pool.drain.hand_back_taken(task, task);
        } else {
            assert_eq!(self.pool.drain.abandon(task), None, "no model forsakes its report");
        }
        self.pool.lanes[lane].release();
        self.word().idle();
    }

    fn rest(&mut self) -> bool {
        if self.pool.sleep.state().is_closed() && self.leave() {
            return false;
        }
        if self.spin() {
            return true;
        }
        let pool = self.pool;
        pool.sleep.sleep(self.me, &mut self.activity, |state| {
            pool.idle.tell_fenced();
            state.is_aborting() || pool.has_work() || (state.is_closed() && pool.nothing_waits())
        });
        true
    }

    fn leave(&mut self) -> bool {
        let pool = self.pool;
        let left = pool.drain.leave(|| pool.nothing_waits(), |late| pool.move_late(late));
        if left {
            pool.sleep.stop_searching(&mut self.activity);
            pool.sleep.work_appeared();
        }
        left
    }

    fn spin(&mut self) -> bool {
        if !self.spins {
            return false;
        }
        let pool = self.pool;
        if pool.sleep.state().is_closed() || !pool.sleep.try_start_searching(&mut self.activity, 1) {
            return false;
        }
        pool.idle.tell();
        while !(pool.sleep.state().is_closed() || pool.has_work()) {
            yield_now();
        }
        true
    }

    fn end(self) {
        self.word().leave();
        self.pool.idle.tell();
        self.word().ended();
        self.pool.idle.tell();
    }
}
