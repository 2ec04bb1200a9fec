//! What must hold when an attempt starts, and what is known when it ends.

use super::book::Stream;
use super::load::Load;
use super::script::LANES;
use super::settings::Classify;
use super::world::World;
use dockhand::{TaskContext, TaskId};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) at: Instant,
    limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    Ok,
    Failed,
    Panicked,
}

pub(super) fn place_of(lane: &str) -> usize {
    LANES.iter().position(|name| *name == lane).unwrap()
}

impl World {
    pub(super) fn see_start(&self, lane: usize) -> Start {
        self.book.pages().first.get_or_insert(Some(lane));
        Start { at: self.now(), limit: self.limit(lane) }
    }

    /// The attempt may start now, and here.
    pub(super) fn check_start(&self, load: &Load, cx: &TaskContext<'_, Load>) -> Start {
        let (id, number, lane) = (cx.id(), load.number, place_of(cx.lane()));
        let seen = self.book.pages().started.remove(&id);
        self.book.wrong_if(seen.is_none() && self.has_listener(), || format!("{number}: start not told"));
        let start = seen.unwrap_or_else(|| self.see_start(lane));
        let mut pages = self.book.pages();
        let is_ended = pages.is_ended(id);
        let task = pages.tasks.entry(id).or_default();
        task.number = Some(number);
        task.attempt += 1;
        let (attempt, is_first, retry_due) = (task.attempt, task.attempt == 1, task.due);
        pages.counts.attempts += 1;
        let payload = &mut pages.payloads[number as usize];
        payload.starts += u32::from(is_first);
        // A letter that is offered again has no due time of its own.
        let is_fresh = is_first && payload.starts == 1;
        payload.ran_here |= is_first && self.is_offering(number);
        let payload = *payload;
        drop(pages);
        let due = if is_fresh { Some(payload.due) } else { retry_due };
        let most = self.settings.lanes[lane].retry.most() + 1;
        let wrong = |is_wrong, what: &str| {
            let seen = || format!("payload {number}, attempt {attempt}: {what}; {start:?}, {payload:?}");
            self.book.wrong_if(is_wrong, seen);
        };
        wrong(due.is_some_and(|due| start.at < due), "early");
        wrong(self.is_manual() && payload.deadline.is_some_and(|at| start.at >= at), "after its deadline");
        wrong(is_ended, "after its end");
        wrong(cx.attempt() != attempt || attempt > most, "not the attempt that it must be");
        if is_fresh && !payload.ran_here {
            self.check_order(lane, number, payload.stream, payload.due);
        }
        start
    }

    /// One worker starts what came from one thread, or in one batch, in its order, and what is delayed by due time.
    fn check_order(&self, lane: usize, number: u64, stream: Option<Stream>, due: Instant) {
        let Some(stream) = stream.filter(|_| self.is_manual() || self.settings.workers == 1) else { return };
        let this = (if stream == Stream::Delayed { due } else { self.began }, number);
        let last = self.book.pages().last.insert((lane, stream), this);
        self.book.wrong_if(last.is_some_and(|last| last >= this), || format!("{number} after {last:?}"));
    }

    /// One more runs in that lane.
    pub(super) fn enter_lane(&self, lane: usize, start: Start) {
        let running = self.running[lane].fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        self.book.wrong_if(running > start.limit, || format!("lane {lane}: {running}, {start:?}"));
    }

    pub(super) fn leave_lane(&self, lane: usize) {
        self.running[lane].fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
    }

    /// What the end of an attempt leads to, as far as it can be foreseen.
    pub(super) fn note_end(&self, id: TaskId, lane: usize, start: Start, end: AttemptEnd) {
        let now = self.now();
        let limit = self.settings.timeout(lane).map(|limit| self.tick.of(limit));
        // Exact where the clock is moved by hand.
        let is_late = end == AttemptEnd::Ok && limit.is_some_and(|limit| now >= start.at + limit);
        let mut pages = self.book.pages();
        pages.counts.panics += u64::from(end == AttemptEnd::Panicked);
        pages.counts.timeouts += u64::from(is_late);
        let task = pages.tasks.entry(id).or_default();
        task.is_ok = end == AttemptEnd::Ok && !is_late;
        task.ended_attempt = Some(now);
        task.panicked = end == AttemptEnd::Panicked;
        task.due = Some(now + self.retry_delays(lane, task.attempt, task.panicked).0);
    }

    /// The shortest and the longest time until the next attempt.
    pub(super) fn retry_delays(&self, lane: usize, attempt: u32, panicked: bool) -> (Duration, Duration) {
        let retry = &self.settings.lanes[lane].retry;
        match self.settings.hooks.classify {
            Classify::AfterPanic(ticks) if panicked => {
                let delay = self.tick.of(ticks);
                (delay, delay.mul_f64(1.0 + retry.jitter) + Duration::from_nanos(2))
            }
            _ => retry.bounds(attempt, self.tick),
        }
    }
}
