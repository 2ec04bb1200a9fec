//! The pool of a script, with its hooks.

use super::load::Load;
use super::script::LANES;
use super::settings::{Classify, Sink};
use super::starts::place_of;
use super::world::{PoolRef, World};
use dockhand::letter::LetterFate;
use dockhand::{Cause, Event, ManualPool, Outcome, PoolBuilder, RetryDecision, Shed, TaskInfo, WorkerPool};
use std::sync::Arc;

type Builder = PoolBuilder<Arc<World>>;

impl World {
    pub(super) fn build_manual(self: &Arc<Self>) -> Arc<ManualPool<Arc<World>>> {
        let pool = Arc::new(self.builder().build_manual_on(self.clock().unwrap()).unwrap());
        self.know(&pool, PoolRef::Manual(Arc::downgrade(&pool)));
        pool
    }

    pub(super) fn build(self: &Arc<Self>) -> Arc<WorkerPool<Arc<World>>> {
        let pool = crate::support::build(self.builder());
        self.know(&pool, PoolRef::Threads(Arc::downgrade(&pool)));
        pool
    }

    fn know(&self, pool: &WorkerPool<Arc<World>>, to_it: PoolRef) {
        let submitters = LANES.map(|lane| pool.submitter_for(lane).unwrap()).to_vec();
        assert!(self.submitters.set(submitters).is_ok() && self.pool.set(to_it).is_ok());
    }

    fn builder(self: &Arc<Self>) -> Builder {
        let settings = &self.settings;
        let rest = &settings.lanes[LANES.len() - 1];
        let mut builder = WorkerPool::builder(Arc::clone(self))
            .workers(settings.workers)
            .queue_capacity(rest.capacity)
            .overload(rest.overload)
            .retry(rest.retry.policy(self.tick))
            .dead_letter_capacity(settings.letters)
            .timing(settings.timing)
            .idle(settings.idle(self.tick))
            .drop_timeout(self.tick.window(settings.drop_window));
        if let Some(limit) = rest.timeout {
            builder = builder.attempt_timeout(self.tick.of(limit));
        }
        if let Some(limit) = rest.slow {
            builder = builder.slow_after(self.tick.of(limit));
        }
        for (place, lane) in settings.lanes.iter().enumerate().take(LANES.len() - 1) {
            builder = builder.lane(lane.lane(place, self.tick));
        }
        self.with_hooks(builder)
    }

    fn with_hooks(self: &Arc<Self>, mut builder: Builder) -> Builder {
        let hooks = &self.settings.hooks;
        if hooks.sink != Sink::Absent {
            builder = self.with_sink(builder, hooks.sink);
        }
        if hooks.sheds {
            let world = Arc::clone(self);
            builder = builder.on_shed(move |shed| {
                world.take(shed);
                world.react();
            });
        }
        for listener in 0..hooks.listeners {
            let world = Arc::clone(self);
            builder = builder.on_event(move |event| {
                world.hear(listener, event);
                // A worker that starts is nothing that a moment of rest waits for.
                if !matches!(event, Event::WorkerStarted { .. }) {
                    world.react();
                }
            });
        }
        if hooks.classify != Classify::Absent {
            let (world, classify) = (Arc::clone(self), hooks.classify);
            builder = builder.classify(move |cause| {
                world.react();
                match (classify, cause) {
                    (Classify::AfterPanic(ticks), Cause::Panicked(_)) => {
                        RetryDecision::RetryAfter(world.tick.of(ticks))
                    }
                    (Classify::GiveUp, _) => RetryDecision::GiveUp,
                    _ => RetryDecision::Retry,
                }
            });
        }
        if hooks.workers {
            let (start, stop) = (Arc::clone(self), Arc::clone(self));
            builder = builder.on_worker_start(move |_| start.book.pages().workers.0 += 1).on_worker_stop(
                move |_| {
                    stop.book.pages().workers.1 += 1;
                    stop.react();
                },
            );
        }
        builder
    }

    fn with_sink(self: &Arc<Self>, builder: Builder, sink: Sink) -> Builder {
        let world = Arc::clone(self);
        builder.dead_letter_sink(move |letter| {
            let id = letter.info.task.id;
            world.book.letter(id);
            // A hook that panics has kept it, so it comes first.
            world.react();
            match sink {
                Sink::DiscardEvery(n) if letter.payload.number % n == 0 => {
                    world.book.handed(id, Outcome::DeadLettered);
                    LetterFate::Discard
                }
                _ => LetterFate::Keep,
            }
        })
    }

    /// A payload that the pool has given away.
    pub(super) fn take(&self, shed: Shed<Load>) {
        if shed.outcome == Outcome::DeadLettered {
            self.book.pages().letters_pushed_out += 1;
        }
        self.book.handed(shed.task.id, shed.outcome);
        shed.payload.take_home();
    }

    fn hear(&self, listener: usize, event: &Event<'_>) {
        self.book.pages().heard[listener] += 1;
        if listener > 0 {
            return;
        }
        match event {
            Event::Started { task } => {
                self.hear_of(task, None);
                let start = self.see_start(place_of(&task.lane));
                self.book.pages().started.insert(task.id, start);
            }
            Event::AttemptFailed { task, cause } => {
                self.hear_of(task, None);
                // Its text may panic, and with it this hook.
                drop(cause.to_string());
            }
            Event::RetryScheduled { task, delay } => {
                self.hear_of(task, None);
                self.hear_of_retry(task, *delay);
            }
            Event::Progress { task, .. } | Event::Slow { task, .. } => self.hear_of(task, None),
            Event::Ended { task, outcome, .. } => self.hear_of(task, Some(*outcome)),
            Event::ShutdownBegun => self.book.pages().shutdowns.0 += 1,
            Event::ShutdownEnded => self.book.pages().shutdowns.1 += 1,
            _ => {}
        }
    }

    /// The end comes once, and last.
    fn hear_of(&self, task: &TaskInfo, outcome: Option<Outcome>) {
        let mut pages = self.book.pages();
        let is_over = !pages.tasks.entry(task.id).or_default().told.is_empty();
        if let Some(outcome) = outcome {
            pages.tasks.entry(task.id).or_default().told.push(outcome);
            pages.told[place_of(&task.lane)].add(outcome);
        }
        let attempt = pages.tasks[&task.id].attempt;
        drop(pages);
        self.book.wrong_if(is_over, || format!("{task:?} told after its end: {outcome:?}"));
        let is_end = outcome.is_some();
        self.book
            .wrong_if(is_end && task.attempt != attempt, || format!("{task:?} ends at attempt {attempt}"));
    }

    fn hear_of_retry(&self, task: &TaskInfo, delay: std::time::Duration) {
        let mut pages = self.book.pages();
        let known = pages.tasks.entry(task.id).or_default();
        let panicked = known.panicked;
        known.due = known.ended_attempt.map(|ended| ended + delay);
        drop(pages);
        let (low, high) = self.retry_delays(place_of(&task.lane), task.attempt, panicked);
        self.book.wrong_if(!(low..=high).contains(&delay), || format!("{delay:?}, not {low:?} to {high:?}"));
    }
}
