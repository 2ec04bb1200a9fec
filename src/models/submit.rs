//! The glue of `submitter.rs`.

use super::pool::{End, Pool};
use crate::word::Runner;
use std::sync::Arc;

/// `submitter.rs`. The answer: whether it was accepted.
impl Pool {
    pub(super) fn submit(&self, task: u64) -> bool {
        if self.sleep.state().is_closed() {
            return false;
        }
        self.queue.push(task).expect("the models that submit do not fill the lane");
        self.settle(task)
    }

    pub(super) fn settle(&self, task: u64) -> bool {
        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(task);
        }
        self.sleep.wake_by_rule(state);
        true
    }

    fn settle_late(&self, task: u64) -> bool {
        let refused = self.drain.settle_late(
            task,
            |late| self.move_queued(|task| late.push((task, task))),
            || self.somebody_looks(),
        );
        if refused.is_some() {
            self.idle.tell();
            return false;
        }
        self.sleep.work_appeared();
        true
    }

    pub(super) fn move_queued(&self, mut to: impl FnMut(u64)) {
        while let Some(task) = self.queue.pop() {
            to(task);
        }
    }

    pub(super) fn displace_oldest(&self, task: u64) -> bool {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
            self.leave_gate(inside_gate);
            return false;
        }
        let displaced = self.queue.force_push(task);
        if let Some(displaced) = displaced {
            self.ended(displaced, End::Evicted);
        }
        let shedding = displaced.map(|_| self.shedding.enter());
        drop(inside_gate);
        let accepted = self.settle(task);
        if let Some(displaced) = displaced {
            self.drop_payload(displaced);
        }
        if shedding.is_some() {
            drop(shedding);
            self.idle.tell();
        }
        accepted
    }

    pub(super) fn run_here(&self, task: u64) -> bool {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
            self.leave_gate(inside_gate);
            return false;
        }
        let runner = Arc::new(Runner::new());
        runner.word.look();
        let callers = self.callers.as_ref().expect("a model with caller-runs");
        callers.lock().push(Arc::clone(&runner));
        drop(inside_gate);
        self.attempt(&runner, task);
        runner.word.idle();
        callers.lock().retain(|other| !Arc::ptr_eq(other, &runner));
        self.became_emptier();
        true
    }
}
