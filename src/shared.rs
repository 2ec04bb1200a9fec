//! What the pool's threads and handles share: the place where queues, sleep, words and counters meet.

use crate::chance::Chance;
use crate::clock::{Clock, ManualClock, Moment};
use crate::config::{IdleStrategy, Timing, UserCode};
use crate::dead_letter::{DeadLetter, LetterStore};
use crate::drain::Drain;
use crate::failure::Text;
use crate::gate::{Gate, Inside};
use crate::histogram::Recording;
use crate::idle::{Idle, is_at_rest};
use crate::inside;
use crate::job::{Held, Place};
use crate::lane::LaneQueue;
use crate::meter::Pace;
use crate::processor::Processor;
use crate::sleep::Sleep;
use crate::slot::{Slot, TaskResult};
use crate::stage::Stage;
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, Ordering};
use crate::tally::{Count, Recorder, Tally};
use crate::task::{Outcome, Shed, TaskStatus};
use crate::timer::{Timer, TimerHost};
use crate::user::Guard;
use crate::word::{HasRunner, Phase, Reading, Runner};
use crossbeam::utils::CachePadded;
use std::sync::Arc;
use std::time::Instant;

pub(crate) type LetterOf<P> = DeadLetter<<P as Processor>::Payload, <P as Processor>::Error>;

/// A runner with the tracked task that it runs, for a shutdown that has to tell the task's end.
pub(crate) struct Station<P: Processor> {
    pub(crate) runner: Runner,
    pub(crate) current: Mutex<Option<Arc<Slot<P>>>>,
    /// The last attempt without a time that somebody saw here, and when that was: task, attempt, moment.
    pub(crate) seen: Mutex<(u64, u32, Moment)>,
}

impl<P: Processor> Station<P> {
    pub(crate) fn new() -> Self {
        let seen = Mutex::new((0, 0, Moment::NEVER));
        Station { runner: Runner::new(), current: Mutex::new(None), seen }
    }
}

impl<P: Processor> HasRunner for Station<P> {
    fn runner(&self) -> &Runner {
        &self.runner
    }
}

/// How long the tasks of a lane waited and ran, as one worker has seen it.
#[derive(Default)]
pub(crate) struct LaneTimes {
    pub(crate) wait: Recording,
    pub(crate) run: Recording,
}

/// Being about to tell the end of a task; see [`Shared::telling`].
pub(crate) struct Telling<'a, P: Processor> {
    pub(crate) shared: &'a Shared<P>,
    shedding: Option<Inside<'a>>,
    /// Held from before the end is decided: a shutdown waits for what is told, but not for ever, and lets go of the
    /// user's code then.
    user: Option<Arc<UserCode<P>>>,
}

impl<P: Processor> Telling<'_, P> {
    pub(crate) fn user(&self) -> Option<&UserCode<P>> {
        self.user.as_deref()
    }
}

impl<P: Processor> Drop for Telling<'_, P> {
    fn drop(&mut self) {
        self.shared.release(self.user.take());
        drop(self.shedding.take());
        self.shared.idle.tell();
    }
}

/// A worker as the others see it.
pub(crate) struct WorkerSlot<P: Processor> {
    pub(crate) name: String,
    pub(crate) station: Arc<Station<P>>,
    /// Its counters, by lane.
    pub(crate) tallies: Box<[CachePadded<Tally>]>,
    /// Its times, by lane.
    pub(crate) times: Box<[LaneTimes]>,
}

pub(crate) struct Shared<P: Processor> {
    /// Tells pools apart on a thread that is inside several.
    pub(crate) id: u64,
    /// The process that its threads are in.
    pub(crate) process: u32,
    pub(crate) idle_strategy: IdleStrategy,
    pub(crate) timing: Timing,
    /// A task is timed if its id has none of these bits.
    pub(crate) timing_mask: u64,
    /// Whether anybody listens.
    pub(crate) has_events: bool,
    /// Whether the end of the shutdown has been told.
    pub(crate) shutdown_told: AtomicBool,
    /// How often progress is passed on.
    pub(crate) pace: Pace,
    /// How many workers may spin at a time.
    pub(crate) spinners_allowed: usize,
    pub(crate) sleep: Sleep,
    pub(crate) lanes: Box<[LaneQueue<P>]>,
    pub(crate) default_lane: usize,
    pub(crate) workers: Box<[WorkerSlot<P>]>,
    /// Threads in a caller-run.
    pub(crate) callers: Mutex<Vec<Arc<Station<P>>>>,
    pub(crate) gate: Gate,
    /// Threads other than runners that decide and tell the end of a task, for those who wait for rest.
    pub(crate) shedding: Gate,
    pub(crate) idle: Idle,
    pub(crate) drain: Drain<Held<P>>,
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
    pub(crate) chance: Chance,
    /// Gone once the pool has come to its end.
    pub(crate) user: Mutex<Option<Arc<UserCode<P>>>>,
    /// Of a pool without threads.
    pub(crate) manual: Option<Manual<P>>,
}

/// What runs a pool without threads: its one worker, while nobody is stepping it.
pub(crate) struct Manual<P: Processor> {
    pub(crate) clock: ManualClock,
    pub(crate) worker: Mutex<Stepping<P>>,
    pub(crate) stepped: Condvar,
}

/// Where the worker of a manual pool is.
pub(crate) enum Stepping<P: Processor> {
    Free(Box<dyn ManualWorker<P>>),
    /// A thread is in a step.
    Taken,
    /// It has left, or was never there.
    Gone,
}

/// The worker as a manual pool needs it.
pub(crate) trait ManualWorker<P: Processor>: Send {
    /// Runs what can be run now, or leaves a closed pool.
    fn turn(self: Box<Self>) -> (Turn, Option<Box<dyn ManualWorker<P>>>);
}

/// What a turn of a manual worker came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Ran,
    /// It passed a task that had ended while it waited.
    Passed,
    Left,
    Nothing,
}

impl<P: Processor> Shared<P> {
    pub(crate) fn lane_named(&self, name: &str) -> Option<usize> {
        self.lanes.iter().position(|lane| &*lane.name == name)
    }

    /// This is a forked child of the process that has the pool's threads: nothing that waits for them will come about.
    pub(crate) fn is_forked(&self) -> bool {
        self.manual.is_none() && std::process::id() != self.process
    }

    pub(crate) fn user(&self) -> Option<Arc<UserCode<P>>> {
        self.user.lock().clone()
    }

    /// Lets go of an `Arc` of the user's code; the last one runs the user's `Drop`.
    pub(crate) fn release(&self, user: Option<Arc<UserCode<P>>>) {
        if let Some(last) = user.and_then(Arc::into_inner) {
            last.let_go(&self.guard);
        }
    }

    /// Whether a worker could start something now. The callers have fenced.
    pub(crate) fn has_work(&self) -> bool {
        self.lanes.iter().any(|lane| lane.has_permit() && self.has_task(lane))
    }

    pub(crate) fn recorder_of(&self, worker: usize, lane: usize) -> Recorder<'_> {
        Recorder::Own(&self.workers[worker].tallies[lane])
    }

    /// Whether a lane has a task that is fresh or due.
    pub(crate) fn has_task(&self, lane: &LaneQueue<P>) -> bool {
        !lane.queue.is_empty() || self.has_due(lane)
    }

    /// A take from a lane is a pop and nothing else: no limit, and nothing is ever due.
    #[inline]
    pub(crate) fn is_taken_plainly(&self, lane: usize) -> bool {
        self.lanes[lane].permits.is_none() && !self.has_delays.load(Ordering::Relaxed)
    }

    fn has_due(&self, lane: &LaneQueue<P>) -> bool {
        if !self.has_delays.load(Ordering::Relaxed) {
            return false;
        }
        let next = lane.delays.next_due();
        // The clock is read here, after the caller's fence: see the timer's proof.
        next != Moment::NEVER && next <= self.clock.now()
    }

    /// A permit came back on a thread that will not look for work itself, or a limit was raised: if that lets something
    /// start, it is work that appeared.
    pub(crate) fn permit_appeared(&self, lane: usize) {
        let state = self.sleep.after_push();
        if self.has_task(&self.lanes[lane]) {
            self.sleep.wake_by_rule(state);
        }
    }

    /// Whether nothing is left that a worker would have to stay for. In the order in which a task moves: out of the gate,
    /// out of a caller-run, into a queue. Read the other way round, a caller-run's retry could slip past.
    pub(crate) fn nothing_waits(&self) -> bool {
        self.gate.passed().is_some()
            && self.callers.lock().is_empty()
            && self.lanes.iter().all(LaneQueue::is_empty)
    }

    /// All runners: the workers and the threads in a caller-run.
    pub(crate) fn stations(&self) -> Vec<Arc<Station<P>>> {
        let workers = self.workers.iter().map(|worker| Arc::clone(&worker.station));
        let callers = self.callers.lock();
        workers.chain(callers.iter().cloned()).collect()
    }

    pub(crate) fn somebody_looks(&self) -> bool {
        self.stations().iter().any(|station| station.runner.word.read().phase() == Phase::Look)
    }

    /// What must stand still for the pool to be at rest; nothing while somebody has a task. For a call from inside, those
    /// that are blocked in a call themselves do not count.
    pub(crate) fn quiet_words(&self, but_blocked: bool) -> Option<(Vec<Reading>, [u64; 2])> {
        let shed = match self.shedding.passed() {
            Some(shed) => shed,
            // A hook that waits would wait for its own shedding.
            None if but_blocked => 0,
            None => return None,
        };
        let passed = [self.gate.passed()?, shed];
        let counting = self.stations().into_iter();
        let counting = counting.filter(|station| !(but_blocked && station.runner.is_blocked()));
        let words = counting.map(|station| {
            let reading = station.runner.word.read();
            reading.is_quiet().then_some(reading)
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

    /// This thread decides the end of a task that no runner has: until it is told, the pool is not at rest.
    pub(crate) fn telling(&self) -> Telling<'_, P> {
        let shedding = Some(self.shedding.enter());
        Telling { shared: self, shedding, user: self.user() }
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
    pub(crate) fn to_shed(&self, held: Held<P>, outcome: Outcome) -> Shed<P::Payload> {
        let Held { lane, was, job } = held;
        let queue = &self.lanes[lane];
        let task = queue.info(job.id, job.attempts, job.slot.as_deref());
        let options = queue.options_of(&job);
        let last_error = job.last_failure.map(|failure| {
            let text = self.guard.text(&Text(&failure));
            self.guard.drop(failure);
            text
        });
        Shed { task, outcome, was: self.shown(was, job.attempts), last_error, options, payload: job.payload }
    }

    fn shown(&self, was: Place, attempt: u32) -> TaskStatus {
        match was {
            Place::Queued => TaskStatus::Queued,
            Place::Delayed(due) => TaskStatus::Delayed { due: self.clock.shown(due) },
            Place::Running => TaskStatus::Running { attempt },
            Place::Retrying(due) => TaskStatus::Retrying { due: self.clock.shown(due) },
        }
    }

    /// A task with a slot has its outcome: its key is free.
    pub(crate) fn free_key(&self, slot: Option<&Arc<Slot<P>>>) {
        if let Some((slot, key)) = slot.and_then(|slot| Some((slot, slot.options.key.as_ref()?))) {
            self.lanes[slot.lane].free_key(key);
        }
    }

    /// A waiting task was taken away by its stage: counts it, and what keeps its place as dead weight.
    pub(crate) fn count_ended_waiting(&self, slot: &Arc<Slot<P>>, was: Stage, outcome: Outcome) {
        let lane = &self.lanes[slot.lane];
        lane.recorder().add(match outcome {
            Outcome::Expired => Count::Expired,
            _ => Count::Cancelled,
        });
        self.free_key(Some(slot));
        if was == Stage::Queued {
            lane.add_dead();
        } else {
            let buried = lane.delays.bury(&slot.mark);
            if !buried.moved_out.is_empty() {
                // What was hidden behind it is what the timer has to wait for now.
                self.timer.arm(buried.next);
            }
            self.guard.drop(buried.moved_out);
        }
        self.became_emptier();
    }

    /// Gives a tracked task's answer. Wakes its waiters, which is user code: no lock is held, no search is on.
    pub(crate) fn resolve(&self, slot: &Slot<P>, result: TaskResult<P>) {
        let given = slot.give(result);
        if let Some(waker) = given.waker {
            let _inside = inside::enter_submit(self.id, None);
            self.guard.run(|| waker.wake());
        }
        self.guard.drop(given.unwanted);
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
            options: info.options,
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
