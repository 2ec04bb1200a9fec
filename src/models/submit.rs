//! The glue of `submitter.rs`.

use super::pool::{End, Pool};
use crate::word::Runner;
use std::sync::Arc;

/// `submitter.rs`. The answer: whether it was accepted.
impl Pool {
    pub(super) fn submit(&self, task: u64) -> bool {
        self.submit_to(0, task)
    }

    pub(super) fn submit_to(&self, lane: usize, task: u64) -> bool {
        if self.sleep.state().is_closed() {
            return false;
        }
        self.put(lane, task);
        self.settle(lane, task)
    }

    pub(super) fn settle(&self, lane: usize, task: u64) -> bool {
        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(task);
        }
        if self.lanes[lane].has_permit() {
            self.sleep.wake_by_rule(state);
        }
        true
    }

    fn settle_late(&self, task: u64) -> bool {
        let refused = self.drain.settle_late(task, |late| self.move_late(late), || self.somebody_looks());
        if refused.is_some() {
            self.idle.tell();
            return false;
        }
        self.sleep.work_appeared();
        true
    }

    /// Takes everything out, and closes the delay queues for good.
    pub(super) fn move_waiting(&self, mut to: impl FnMut(u64)) {
        for lane in &self.lanes {
            while let Some(task) = lane.queue.pop() {
                to(task);
            }
            lane.delays.end_and_sweep().into_iter().for_each(|(_, delayed)| to(delayed.task));
        }
    }

    pub(super) fn move_late(&self, late: &mut Vec<(u64, u64)>) {
        self.move_waiting(|task| late.push((task, task)));
    }

    pub(super) fn displace_oldest(&self, task: u64) -> bool {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
            self.leave_gate(inside_gate);
            return false;
        }
        let displaced = self.lanes[0].queue.force_push(task);
        if let Some(displaced) = displaced {
            self.ended(displaced, End::Evicted);
        }
        let _telling = displaced.map(|_| self.telling());
        drop(inside_gate);
        let accepted = self.settle(0, task);
        if let Some(displaced) = displaced {
            self.drop_payload(displaced);
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
