//! What the pool's threads and handles share: the place where queues, sleep, words and counters meet.

use crate::clock::{Clock, Moment};
use crate::config::{IdleStrategy, UserCode};
use crate::dead_letter::{DeadLetter, LetterStore};
use crate::drain::Drain;
use crate::failure::Failure;
use crate::gate::{Gate, Inside};
use crate::idle::{Idle, is_at_rest};
use crate::inside;
use crate::lane::{Held, LaneQueue};
use crate::processor::Processor;
use crate::sleep::Sleep;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use crate::tally::Tally;
use crate::task::{Job, Outcome, Place, Shed, TaskStatus};
use crate::timer::{Timer, TimerHost};
use crate::user::Guard;
use crate::word::{Phase, Reading, Runner};
use crossbeam::utils::CachePadded;
use std::sync::Arc;
use std::time::Instant;

pub(crate) type JobOf<P> = Job<<P as Processor>::Payload, Failure<<P as Processor>::Error>>;
pub(crate) type HeldOf<P> = Held<<P as Processor>::Payload, <P as Processor>::Error>;
pub(crate) type LetterOf<P> = DeadLetter<<P as Processor>::Payload, <P as Processor>::Error>;

/// A worker as the others see it.
pub(crate) struct WorkerSlot {
    pub(crate) name: String,
    pub(crate) runner: Arc<Runner>,
    /// Its counters, by lane.
    pub(crate) tallies: Box<[CachePadded<Tally>]>,
}

pub(crate) struct Shared<P: Processor> {
    /// Tells pools apart on a thread that is inside several.
    pub(crate) id: u64,
    pub(crate) idle_strategy: IdleStrategy,
    /// How many workers may spin at a time.
    pub(crate) spinners_allowed: usize,
    pub(crate) sleep: Sleep,
    pub(crate) lanes: Box<[LaneQueue<P::Payload, P::Error>]>,
    pub(crate) default_lane: usize,
    pub(crate) workers: Box<[WorkerSlot]>,
    /// Threads in a caller-run.
    pub(crate) callers: Mutex<Vec<Arc<Runner>>>,
    pub(crate) gate: Gate,
    /// Threads that shed what they have displaced, for those who wait for rest.
    pub(crate) shedding: Gate,
    pub(crate) idle: Idle,
    pub(crate) drain: Drain<HeldOf<P>>,
    pub(crate) clock: Clock,
    pub(crate) timer: Timer,
    /// Set for good by the first retry, so that a pool without any does not look at its delay queues.
    pub(crate) has_delays: AtomicBool,
    /// The earliest end that any shutdown asked for.
    pub(crate) window_end: AtomicU64,
    /// Until when attempts may come back after the window, set once.
    pub(crate) grace_end: AtomicU64,
    pub(crate) letters: LetterStore<P::Payload, P::Error>,
    pub(crate) guard: Guard,
    /// Gone once the pool has come to its end.
    pub(crate) user: Mutex<Option<Arc<UserCode<P>>>>,
}

impl<P: Processor> Shared<P> {
    pub(crate) fn lane_named(&self, name: &str) -> Option<usize> {
        self.lanes.iter().position(|lane| &*lane.name == name)
    }

    pub(crate) fn user(&self) -> Option<Arc<UserCode<P>>> {
        self.user.lock().clone()
    }

    /// Lets go of an `Arc` of the user's code; the last one runs the user's `Drop`.
    pub(crate) fn release(&self, user: Option<Arc<UserCode<P>>>) {
        let Some(last) = user.and_then(Arc::into_inner) else {
            return;
        };
        self.guard.drop(last.processor);
        self.guard.drop(last.classify);
        self.guard.drop(last.sink);
        self.guard.drop(last.on_shed);
        self.guard.drop(last.on_worker_start);
        self.guard.drop(last.on_worker_stop);
    }

    /// Whether a worker could start something now. Relaxed reads: the callers have fenced.
    pub(crate) fn has_work(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.queue.is_empty()) || self.has_due()
    }

    fn has_due(&self) -> bool {
        if !self.has_delays.load(Ordering::Relaxed) {
            return false;
        }
        let next = self.next_due();
        // The clock is read here, after the caller's fence: see the timer's proof.
        next != Moment::NEVER && next <= self.clock.now()
    }

    pub(crate) fn next_due(&self) -> Moment {
        let dues = self.lanes.iter().map(|lane| lane.delays.next_due());
        dues.min().unwrap_or(Moment::NEVER)
    }

    /// Whether nothing is left that a worker would have to stay for. In the order in which a task moves: out of the gate,
    /// out of a caller-run, into a queue. Read the other way round, a caller-run's retry could slip past.
    pub(crate) fn nothing_waits(&self) -> bool {
        self.gate.passed().is_some()
            && self.callers.lock().is_empty()
            && self.lanes.iter().all(LaneQueue::is_empty)
    }

    /// All runners: the workers and the threads in a caller-run.
    pub(crate) fn runners(&self) -> Vec<Arc<Runner>> {
        let workers = self.workers.iter().map(|worker| Arc::clone(&worker.runner));
        let callers = self.callers.lock();
        workers.chain(callers.iter().cloned()).collect()
    }

    pub(crate) fn somebody_looks(&self) -> bool {
        let runners = self.runners();
        runners.iter().any(|runner| runner.word.read().phase() == Phase::Look)
    }

    /// What must stand still for the pool to be at rest; nothing while somebody has a task. For a call from inside, those
    /// that are blocked in a call themselves do not count.
    fn quiet_words(&self, but_blocked: bool) -> Option<(Vec<Reading>, [u64; 2])> {
        let shed = match self.shedding.passed() {
            Some(shed) => shed,
            // A hook that waits would wait for its own shedding.
            None if but_blocked => 0,
            None => return None,
        };
        let passed = [self.gate.passed()?, shed];
        let counting = self.runners().into_iter();
        let counting = counting.filter(|runner| !(but_blocked && runner.is_blocked()));
        let words = counting.map(|runner| {
            let reading = runner.word.read();
            reading.phase().is_quiet().then_some(reading)
        });
        Some((words.collect::<Option<_>>()?, passed))
    }

    /// Nobody has a task, and `is_empty` holds of what waits, at one moment.
    pub(crate) fn is_at_rest(&self, but_blocked: bool, is_empty: impl FnOnce() -> bool) -> bool {
        is_at_rest(|| self.quiet_words(but_blocked), is_empty)
    }

    /// Nothing queued, delayed or running.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_at_rest(false, || self.lanes.iter().all(LaneQueue::is_empty))
    }

    /// Leaves the gate and tells those who wait for that.
    pub(crate) fn leave_gate(&self, inside: Inside<'_>) {
        drop(inside);
        self.became_emptier();
    }

    /// Something ended outside of the workers: waiters look again, and in a closed pool a worker that stayed for it.
    pub(crate) fn became_emptier(&self) {
        self.idle.tell();
        if self.sleep.state().is_closed() {
            self.sleep.work_appeared();
        }
    }

    /// Gives a payload away: to the hook, or it is dropped here. No lock is held. Either may submit again, so it counts
    /// as depth.
    pub(crate) fn shed(&self, user: Option<&UserCode<P>>, shed: Shed<P::Payload>) {
        let _inside = inside::enter_submit(self.id, None);
        match user.and_then(|user| user.on_shed.as_ref()) {
            Some(hook) => drop(self.guard.run(|| hook(shed))),
            None => self.guard.drop(shed.payload),
        }
    }

    /// Makes what users see of a task in the pool's hands. Runs the `Display` and `Drop` of its last failure.
    pub(crate) fn to_shed(&self, held: HeldOf<P>, outcome: Outcome) -> Shed<P::Payload> {
        let Held { lane, was, job } = held;
        let last_error = job.last_failure.map(|failure| {
            let text = self.guard.text(&failure);
            self.guard.drop(failure);
            text
        });
        let was = match was {
            Place::Queued => TaskStatus::Queued,
            Place::Running => TaskStatus::Running { attempt: job.attempts },
            Place::Retrying(due) => TaskStatus::Retrying { due: self.clock.shown(due) },
        };
        Shed {
            task: self.lanes[lane].info(job.task.id, job.attempts),
            outcome,
            was,
            last_error,
            payload: job.task.payload,
        }
    }

    /// Puts a letter into the store; the one that has to leave for it is shed on this thread.
    pub(crate) fn keep_letter(&self, user: Option<&UserCode<P>>, letter: LetterOf<P>) {
        if let Some(evicted) = self.letters.keep(letter) {
            self.shed_letter(user, evicted);
        }
    }

    /// Gives the payload of a letter away that the store has no room for.
    pub(crate) fn shed_letter(&self, user: Option<&UserCode<P>>, evicted: LetterOf<P>) {
        let DeadLetter { info, payload, failure } = evicted;
        self.guard.drop(failure);
        self.guard.run(|| {
            log::warn!("letter of task {} left the full store: {}", info.task.id, info.error);
        });
        let shed = Shed {
            task: info.task,
            outcome: Outcome::DeadLettered,
            was: TaskStatus::Ended(Outcome::DeadLettered),
            last_error: Some(info.error),
            payload,
        };
        self.shed(user, shed);
    }

    /// The end of the grace, once the window is over.
    pub(crate) fn grace_end(&self) -> Moment {
        Moment::from_nanos(self.grace_end.load(Ordering::Acquire))
    }

    /// The end of the earliest window asked for.
    pub(crate) fn window_end(&self) -> Moment {
        Moment::from_nanos(self.window_end.load(Ordering::Acquire))
    }
}

impl<P: Processor> TimerHost for Shared<P> {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn instant(&self, at: Moment) -> Option<Instant> {
        self.clock.instant(at)
    }

    fn next_due_after(&self, now: Moment) -> Moment {
        let dues = self.lanes.iter().map(|lane| lane.delays.next_due());
        dues.filter(|due| *due > now).min().unwrap_or(Moment::NEVER)
    }

    fn fire(&self) {
        self.sleep.work_appeared();
    }
}
