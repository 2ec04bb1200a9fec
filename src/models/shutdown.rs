//! The glue of `shutdown.rs` and of `pool.rs`.

use super::pool::{End, Pool};
use crate::clock::Moment;
use crate::idle::TimeOver;
use crate::sync::yield_now;
use crate::word::{Phase, Runner};

/// `pool.rs` and `shutdown.rs`. A call from inside names the runner that it blocks.
impl Pool {
    pub(super) fn wait_idle(&self) {
        assert!(self.idle.wait(|| self.is_idle(), || Ok(None)));
    }

    /// `shared.rs`.
    pub(super) fn is_idle(&self) -> bool {
        self.is_at_rest(false, || self.lanes_are_empty())
    }

    pub(super) fn close(&self) {
        if self.sleep.close() {
            self.room.close();
            self.idle.tell();
        }
    }

    /// `drain_within`, with a window without end.
    pub(super) fn drain(&self, inside: Option<&Runner>) {
        self.close();
        if let Some(own) = inside {
            own.block();
            self.idle.tell();
        }
        assert!(self.idle.wait(|| self.is_spent(inside.is_some()), || Ok(None)));
        if let Some(own) = inside {
            own.unblock();
            self.idle.tell();
        } else if !self.drain.is_finalized() {
            self.end_window();
        }
    }

    fn is_spent(&self, inside: bool) -> bool {
        if inside {
            return self.is_at_rest(true, || self.runs_out() || !self.some_worker_is_free());
        }
        if self.drain.is_finalized() {
            return !self.somebody_runs();
        }
        self.is_at_rest(false, || self.runs_out() && self.something_is_late())
    }

    fn something_is_late(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.delays.is_empty())
    }

    /// In a window without end, whatever is delayed will be due in time.
    fn runs_out(&self) -> bool {
        self.lanes.iter().all(|lane| lane.delays.next_due() == Moment::NEVER && lane.queue.is_empty())
    }

    fn somebody_runs(&self) -> bool {
        if self.shedding.passed().is_none() {
            return true;
        }
        let is_out = |phase| matches!(phase, Phase::Look | Phase::Run | Phase::Ending | Phase::Tidying);
        self.runners().iter().any(|runner| is_out(runner.word.read().phase()))
    }

    fn some_worker_is_free(&self) -> bool {
        self.runners.iter().any(|runner| {
            let gone = matches!(runner.word.read().phase(), Phase::Left | Phase::Ended | Phase::Marked);
            !gone && !runner.is_blocked()
        })
    }

    /// A call from outside, with a grace that is over at once. In two parts.
    pub(super) fn end_window(&self) {
        self.refuse_and_sweep();
        self.give_up_all();
    }

    pub(super) fn refuse_and_sweep(&self) {
        self.sleep.abort();
        while self.gate.passed().is_none() {
            yield_now();
        }
        self.sweep();
    }

    pub(super) fn give_up_all(&self) {
        self.idle.wait(|| !self.somebody_runs(), || Err(TimeOver));
        for runner in self.runners() {
            self.give_up(&runner);
        }
        self.idle.tell();
    }

    fn sweep(&self) {
        let _telling = self.telling();
        self.drain
            .finalize(|abandoned| self.move_waiting(|task| abandoned.push(task)), || self.somebody_looks());
    }

    fn give_up(&self, runner: &Runner) {
        loop {
            let seen = runner.word.read();
            match seen.phase() {
                Phase::Run => {
                    let Some(running) = runner.running() else { continue };
                    let _telling = self.telling();
                    if runner.word.mark(seen).is_some() {
                        self.ended(running.task, End::Marked);
                        return;
                    }
                }
                Phase::Ending | Phase::Look => yield_now(),
                _ => return,
            }
        }
    }
}
