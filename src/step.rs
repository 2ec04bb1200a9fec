//! Waiting, where it may mean running: a manual pool has no thread but the one that waits.

use crate::clock::Moment;
use crate::idle::TimeOver;
use crate::inside;
use crate::processor::Processor;
use crate::room::Waited;
use crate::shared::{Shared, Stepping, Turn};
use crate::sync::yield_now;
use crate::timer::TimerHost;

/// What happens on a manual pool at the very end of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// What can run at that moment still runs.
    RunOn,
    /// Nothing more is started: the window of a shutdown is over.
    Stop,
}

/// How stepping came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stepped {
    /// The condition holds.
    Held,
    /// The time is over, or nothing will ever start.
    Over,
    /// Tasks come back without end, and the clock stands still.
    StoodStill,
}

/// How many rounds one call runs at one instant.
const MAX_ROUNDS: u32 = 1000;

/// Counts what one call runs while the clock stands still, which no timeout can end. A round has as many turns as tasks could
/// start when it began: so follow-ups may fan out, and what waits beside a task that comes back has its turn. Of delayed tasks a
/// round counts only about as many as had a turn before, so that counting costs no more than running.
pub(crate) struct Rounds {
    at: Moment,
    begun: u32,
    turns_left: usize,
    turns_taken: usize,
}

impl Rounds {
    pub(crate) fn new() -> Self {
        Rounds { at: Moment::START, begun: 0, turns_left: 0, turns_taken: 0 }
    }

    /// Whether one more turn belongs to a round.
    fn has_turn(&mut self, now: Moment, can_start: impl FnOnce(usize) -> usize) -> bool {
        if self.at != now {
            *self = Rounds { at: now, ..Rounds::new() };
        }
        if self.turns_left == 0 {
            self.turns_left = can_start(self.turns_taken + 1);
            self.begun += u32::from(self.turns_left > 0);
        }
        self.begun <= MAX_ROUNDS
    }
}

impl<P: Processor> Shared<P> {
    /// Waits until `condition` holds or `end` has come. On a manual pool, waiting is running.
    pub(crate) fn wait_for(
        &self,
        condition: impl Fn() -> bool,
        end: impl Fn() -> Moment,
        at_end: AtEnd,
    ) -> bool {
        if self.manual.is_some() {
            return self.step_until(condition, end, at_end) == Stepped::Held;
        }
        if self.is_forked() {
            return condition();
        }
        let time_left = || {
            let end = end();
            if self.clock.now() < end { Ok(self.clock.instant(end)) } else { Err(TimeOver) }
        };
        self.idle.wait(condition, time_left)
    }

    /// Runs tasks, and moves the clock where none can start, until `condition` holds, the clock has come to `end`, nothing
    /// will ever start, or the clock stands still for too many rounds.
    pub(crate) fn step_until(
        &self,
        condition: impl Fn() -> bool,
        end: impl Fn() -> Moment,
        at_end: AtEnd,
    ) -> Stepped {
        let mut rounds = Rounds::new();
        loop {
            if condition() {
                return Stepped::Held;
            }
            if inside::is_inside(self.id) {
                return Stepped::Over;
            }
            let Some(manual) = &self.manual else { return Stepped::Over };
            // A processor may have moved the clock, so the end is looked at before each turn.
            let (now, end) = (self.clock.now(), end());
            if now > end || (now == end && at_end == AtEnd::Stop) {
                return Stepped::Over;
            }
            match self.turn_in(&mut rounds) {
                None => return Stepped::StoodStill,
                Some(Turn::Nothing) => {}
                Some(_) => continue,
            }
            // Other threads may use the pool as well: a look that one of them has outdated says nothing.
            let seen = self.quiet_words(false);
            if condition() {
                return Stepped::Held;
            }
            let stepping = manual.worker.lock();
            let is_stuck = match &*stepping {
                Stepping::Free(_) => !self.has_work(),
                Stepping::Gone => true,
                Stepping::Taken => false,
            };
            let next = self.next_due_after(now).min(end);
            if !is_stuck || self.quiet_words(false) != seen {
                continue;
            }
            if next == Moment::NEVER && seen.is_none() {
                // Another thread is in a submit, a caller-run or a hook, which may leave work or end what is waited for.
                drop(stepping);
                yield_now();
                continue;
            }
            if next == Moment::NEVER || now == end {
                return Stepped::Over;
            }
            manual.clock.advance_to(next);
        }
    }

    /// Waiting for room on a manual pool.
    pub(crate) fn step_for_room<T>(
        &self,
        item: T,
        push: impl Fn(T) -> Result<(), T>,
        until: Moment,
    ) -> Waited<T> {
        let waiting = std::cell::Cell::new(Some(item));
        let is_closed = || self.sleep.state().is_closed();
        let pushed = || {
            let refused = waiting.take().and_then(|item| push(item).err());
            waiting.set(refused);
            let item = waiting.take();
            let is_in = item.is_none();
            waiting.set(item);
            is_in
        };
        self.step_until(|| is_closed() || pushed(), || until, AtEnd::RunOn);
        match waiting.take() {
            None => Waited::Pushed,
            Some(item) if is_closed() => Waited::Closed(item),
            Some(item) => Waited::TimedOut(item),
        }
    }

    /// A turn of one of the rounds; `None` after the last one.
    pub(crate) fn turn_in(&self, rounds: &mut Rounds) -> Option<Turn> {
        let now = self.clock.now();
        if !rounds.has_turn(now, |most_due| self.can_start(now, most_due)) {
            return None;
        }
        let turn = self.turn();
        if turn != Turn::Nothing {
            rounds.turns_left = rounds.turns_left.saturating_sub(1);
            rounds.turns_taken += 1;
        }
        Some(turn)
    }

    /// How many tasks a turn could take now. Of each lane's delayed ones no more than `most_due` count.
    fn can_start(&self, now: Moment, most_due: usize) -> usize {
        let lanes = self.lanes.iter().filter(|lane| lane.has_permit());
        lanes.map(|lane| lane.queue.len() + lane.delays.due_by(now, most_due)).sum()
    }

    /// One turn of a manual pool's worker on this thread. From inside, and on a pool with threads, nothing.
    pub(crate) fn turn(&self) -> Turn {
        let Some(manual) = &self.manual else { return Turn::Nothing };
        if inside::is_inside(self.id) {
            return Turn::Nothing;
        }
        let worker = {
            let mut stepping = manual.worker.lock();
            loop {
                match std::mem::replace(&mut *stepping, Stepping::Taken) {
                    Stepping::Free(worker) => break worker,
                    Stepping::Taken => stepping = manual.stepped.wait(stepping),
                    Stepping::Gone => {
                        *stepping = Stepping::Gone;
                        return Turn::Nothing;
                    }
                }
            }
        };
        // No lock is held while user code runs.
        let (turn, worker) = worker.turn();
        *manual.worker.lock() = worker.map_or(Stepping::Gone, Stepping::Free);
        // The pool may have been dropped in this turn.
        self.dismiss_if_forsaken();
        manual.stepped.notify_all();
        turn
    }

    /// The worker of a manual pool that was dropped has to leave, or the two would keep each other. Called by whoever has
    /// forsaken the pool, and by whoever puts the worker back: under the lock one of them finds it there and forsaken.
    pub(crate) fn dismiss_if_forsaken(&self) {
        let Some(manual) = &self.manual else { return };
        if !self.drain.is_forsaken() {
            return;
        }
        let mut stepping = manual.worker.lock();
        let resting = match std::mem::replace(&mut *stepping, Stepping::Gone) {
            Stepping::Free(worker) => Some(worker),
            Stepping::Taken => {
                *stepping = Stepping::Taken;
                None
            }
            Stepping::Gone => None,
        };
        drop(stepping);
        let mut worker = resting;
        while let Some(staying) = worker {
            worker = staying.turn().1;
        }
    }
}
