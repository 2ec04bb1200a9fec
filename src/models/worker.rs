//! The glue of `worker.rs`.

use super::pool::Pool;
use super::spawn;
use crate::clock::Moment;
use crate::sleep::Activity;
use crate::sync::{Ordering, fence, yield_now};
use crate::word::Word;
use loom::thread::JoinHandle;
use std::sync::Arc;

pub(super) struct Worker<'a> {
    pool: &'a Pool,
    me: usize,
    activity: Activity,
    /// It never sleeps in an open pool, as with a spinning time without limit.
    spins: bool,
}

enum Step {
    Ran,
    Nothing,
    Over,
}

pub(super) fn spawn_workers(pool: &Arc<Pool>) -> Vec<JoinHandle<()>> {
    (0..pool.runners.len()).map(|me| spawn(pool, move |pool| Worker::new(pool, me).run())).collect()
}

impl<'a> Worker<'a> {
    pub(super) fn new(pool: &'a Pool, me: usize) -> Self {
        pool.sleep.bind(me);
        Worker { pool, me, activity: Activity::Busy, spins: false }
    }

    pub(super) fn spinning(pool: &'a Pool, me: usize) -> Self {
        Worker { spins: true, ..Worker::new(pool, me) }
    }

    /// Searching from the start; the model calls this before it goes on.
    pub(super) fn searching(pool: &'a Pool, me: usize) -> Self {
        let mut activity = Activity::Busy;
        assert!(pool.sleep.try_start_searching(&mut activity, 1));
        Worker { activity, ..Worker::new(pool, me) }
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
        // The due ones first. The original alternates.
        let due = pool.take_due();
        let was_queued = due.is_none();
        let Some(task) = due.or_else(|| pool.queue.pop()) else {
            word.idle();
            return Step::Nothing;
        };
        fence(Ordering::SeqCst);
        if was_queued {
            pool.room.was_freed();
        }
        if pool.sleep.state().is_aborting() {
            self.hand_back(task, was_queued);
        } else {
            pool.sleep.found(&mut self.activity, || pool.has_work());
            pool.attempt(&pool.runners[self.me], task);
        }
        Step::Ran
    }

    fn hand_back(&mut self, task: u64, was_queued: bool) {
        self.pool.sleep.stop_searching(&mut self.activity);
        if was_queued {
            self.pool.drain.hand_back_taken(task, task);
        } else {
            assert_eq!(self.pool.drain.abandon(task), None, "no model forsakes its report");
        }
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
        let left = pool.drain.leave(
            || pool.nothing_waits(),
            || {
                for delays in &pool.delays {
                    delays.end_at(Moment::START);
                }
            },
        );
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
