//! The glue of `shared.rs`, and of the take of what is due in `worker.rs`.

use super::lane::Lane;
use super::pool::Pool;
use crate::clock::Moment;
use crate::gate::Inside;
use crate::idle::is_at_rest;
use crate::sync::Ordering;
use crate::timer::TimerHost;
use crate::word::{Phase, Reading, Runner};
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Telling<'a> {
    pool: &'a Pool,
    shedding: Option<Inside<'a>>,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        drop(self.shedding.take());
        self.pool.idle.tell();
    }
}

impl Pool {
    pub(super) fn has_work(&self) -> bool {
        self.lanes.iter().any(|lane| lane.has_permit() && self.has_task(lane))
    }

    pub(super) fn has_task(&self, lane: &Lane) -> bool {
        !lane.queue.is_empty() || self.has_due(lane)
    }

    fn has_due(&self, lane: &Lane) -> bool {
        if !self.has_delays.load(Ordering::Relaxed) {
            return false;
        }
        let next = lane.delays.next_due();
        next != Moment::NEVER && next <= self.now()
    }

    pub(super) fn permit_appeared(&self, lane: usize) {
        let state = self.sleep.after_push();
        if self.has_task(&self.lanes[lane]) {
            self.sleep.wake_by_rule(state);
        }
    }

    /// `worker.rs`.
    pub(super) fn take_due(&self, lane: &Lane, now: &mut Option<Moment>) -> Option<u64> {
        if !self.has_delays.load(Ordering::Relaxed) {
            return None;
        }
        if lane.delays.next_due() == Moment::NEVER {
            return None;
        }
        let now = *now.get_or_insert_with(|| self.now());
        let taken = lane.delays.pop_due(now)?;
        if taken.next > now {
            self.timer.arm(taken.next);
        }
        Some(taken.item.task)
    }

    /// The flag saves the heaps' locks, which would order more than they have to.
    pub(super) fn lanes_are_empty(&self) -> bool {
        let has_delays = || self.has_delays.load(Ordering::Relaxed);
        self.lanes.iter().all(|lane| lane.queue.is_empty() && (!has_delays() || lane.delays.is_empty()))
    }

    pub(super) fn nothing_waits(&self) -> bool {
        self.gate.passed().is_some() && self.callers().is_empty() && self.lanes_are_empty()
    }

    pub(super) fn runners(&self) -> Vec<Arc<Runner>> {
        self.runners.iter().chain(&self.callers()).cloned().collect()
    }

    pub(super) fn callers(&self) -> Vec<Arc<Runner>> {
        self.callers.as_ref().map_or_else(Vec::new, |callers| callers.lock().clone())
    }

    pub(super) fn somebody_looks(&self) -> bool {
        let runners = self.runners();
        runners.iter().any(|runner| runner.word.read().phase() == Phase::Look)
    }

    fn quiet_words(&self, but_blocked: bool) -> Option<(Vec<Reading>, [u64; 2])> {
        let shed = match self.shedding.passed() {
            Some(shed) => shed,
            None if but_blocked => 0,
            None => return None,
        };
        let passed = [self.gate.passed()?, shed];
        let counting = self.runners().into_iter();
        let counting = counting.filter(|runner| !(but_blocked && runner.is_blocked()));
        let words = counting.map(|runner| {
            let reading = runner.word.read();
            reading.is_quiet().then_some(reading)
        });
        Some((words.collect::<Option<_>>()?, passed))
    }

    pub(super) fn is_at_rest(&self, but_blocked: bool, is_empty: impl FnOnce() -> bool) -> bool {
        is_at_rest(|| self.quiet_words(but_blocked), is_empty)
    }

    pub(super) fn telling(&self) -> Telling<'_> {
        Telling { pool: self, shedding: Some(self.shedding.enter()) }
    }

    pub(super) fn leave_gate(&self, inside: Inside<'_>) {
        drop(inside);
        self.became_emptier();
    }

    pub(super) fn became_emptier(&self) {
        self.idle.tell();
        if self.sleep.state().is_closed() {
            self.sleep.work_appeared();
        }
    }
}

impl TimerHost for Pool {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.clock.load(Ordering::Relaxed))
    }

    /// Asked before each wait, under the timer's lock; loom has no time to wait for.
    fn instant(&self, at: Moment) -> Option<Instant> {
        *self.timer_waits_until.lock().expect("not poisoned") = at;
        None
    }

    fn next_due_after(&self, now: Moment) -> Moment {
        let dues = self.lanes.iter().map(|lane| lane.delays.next_due());
        dues.filter(|due| *due > now).min().unwrap_or(Moment::NEVER)
    }

    fn fire(&self) {
        self.sleep.work_appeared();
    }
}
