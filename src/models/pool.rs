//! The pool of the models: the real modules, tasks that are numbers; and the glue of `shared.rs`.

use super::lane::Lane;
use super::tracked::Delayed;
use crate::clock::Moment;
use crate::drain::Drain;
use crate::gate::{Gate, Inside};
use crate::idle::{Idle, is_at_rest};
use crate::room::Room;
use crate::sleep::Sleep;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use crate::timer::{Timer, TimerHost};
use crate::word::{Phase, Reading, Runner, Running};
use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::time::Instant;

/// What became of a task that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its attempt decided.
    Ran,
    /// In the report, with its payload.
    Abandoned,
    /// It runs on, and the shutdown has told its outcome.
    Marked,
    Evicted,
}

/// `shared.rs`.
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

type Process = Box<dyn Fn(&Pool, &Runner, u64) + Send + Sync>;

pub(super) struct Pool {
    pub(super) sleep: Sleep,
    pub(super) lanes: Vec<Lane>,
    has_delays: AtomicBool,
    clock: AtomicU64,
    pub(super) timer: Timer,
    /// The end of the timer's wait; written and read under the timer's lock.
    timer_waits_until: StdMutex<Moment>,
    pub(super) room: Room,
    pub(super) runners: Vec<Arc<Runner>>,
    /// `None` in the models without a caller-run: its lock would order more than the protocols ask for.
    pub(super) callers: Option<Mutex<Vec<Arc<Runner>>>>,
    pub(super) gate: Gate,
    pub(super) shedding: Gate,
    pub(super) idle: Idle,
    pub(super) drain: Drain<u64>,
    process: Process,
    /// Stands for the counters of a worker: a step between the end and what is known of it.
    counted: AtomicU64,
    ends: StdMutex<Vec<(u64, End)>>,
    /// By task: its payload's drop has run. What `wait_idle` promises is seen here.
    dropped: [AtomicBool; 4],
}

impl Pool {
    pub(super) fn new(
        workers: usize,
        capacity: usize,
        process: impl Fn(&Pool, &Runner, u64) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Pool::without_callers(workers, capacity, Box::new(process)))
    }

    /// For the models with caller-runs.
    pub(super) fn with_callers(
        workers: usize,
        capacity: usize,
        process: impl Fn(&Pool, &Runner, u64) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let callers = Some(Mutex::default());
        Arc::new(Pool { callers, ..Pool::without_callers(workers, capacity, Box::new(process)) })
    }

    pub(super) fn with_lanes(
        workers: usize,
        lanes: Vec<Lane>,
        process: impl Fn(&Pool, &Runner, u64) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Pool { lanes, ..Pool::without_callers(workers, 0, Box::new(process)) })
    }

    fn without_callers(workers: usize, capacity: usize, process: Process) -> Self {
        Pool {
            sleep: Sleep::new(workers),
            lanes: vec![Lane::new(capacity)],
            has_delays: AtomicBool::new(false),
            clock: AtomicU64::new(0),
            timer: Timer::new(),
            timer_waits_until: StdMutex::new(Moment::NEVER),
            room: Room::new(),
            runners: (0..workers).map(|_| Arc::new(Runner::new())).collect(),
            callers: None,
            gate: Gate::new(),
            shedding: Gate::new(),
            idle: Idle::new(),
            drain: Drain::new(workers),
            process,
            counted: AtomicU64::new(0),
            ends: StdMutex::default(),
            dropped: std::array::from_fn(|_| AtomicBool::new(false)),
        }
    }
}

/// What the models see.
impl Pool {
    pub(super) fn ended(&self, task: u64, end: End) {
        self.ends.lock().expect("not poisoned").push((task, end));
    }

    /// Collects the report and reads the counters, as a shutdown does before it returns.
    pub(super) fn report(&self) {
        let _counts = self.counted.load(Ordering::Acquire);
        for task in self.drain.collect() {
            self.ended(task, End::Abandoned);
        }
    }

    /// What became of a task by now.
    pub(super) fn ends_of(&self, task: u64) -> Vec<End> {
        let ends = self.ends.lock().expect("not poisoned");
        ends.iter().filter(|(of, _)| *of == task).map(|(_, end)| *end).collect()
    }

    /// Asserts that a task that was accepted came to exactly one end by now, and a refused one to none.
    pub(super) fn assert_account(&self, task: u64, accepted: bool) {
        let ends = self.ends_of(task);
        assert_eq!(ends.len(), usize::from(accepted), "task {task}, accepted {accepted}: {ends:?}");
    }

    pub(super) fn is_dropped(&self, task: u64) -> bool {
        self.dropped[task as usize].load(Ordering::Relaxed)
    }

    /// Moves the clock, and wakes the timer if that is what it waits for.
    pub(super) fn pass_time_to(&self, moment: Moment) {
        self.clock.fetch_max(moment.nanos(), Ordering::AcqRel);
        self.timer.poke(|| *self.timer_waits_until.lock().expect("not poisoned") <= moment);
    }

    /// A push alone: what a submit does after it is not a part of the model.
    pub(super) fn put(&self, lane: usize, task: u64) {
        self.lanes[lane].queue.push(task).expect("there is room");
    }

    /// `attempt.rs`, `reserve` and `let_wait`. A refused retry would become a letter; no model expects one.
    pub(super) fn insert(&self, lane: usize, due: Moment, task: impl Into<Delayed>) {
        self.has_delays.store(true, Ordering::Relaxed);
        let delays = &self.lanes[lane].delays;
        delays.reserve(due).expect("retries have a place");
        let earliest = delays.insert_reserved(due, task.into());
        if let Some(at) = earliest.map_err(|(_, refusal)| refusal).expect("retries are taken in") {
            self.timer.arm(at);
        }
    }

    /// `attempt.rs`, `run` and `succeed`.
    pub(super) fn attempt(&self, runner: &Runner, task: u64) {
        runner.start(Running { task, lane: 0, attempt: 1, since: 0, progress: 0 });
        (self.process)(self, runner, task);
        if runner.word.end() {
            self.counted.fetch_add(1, Ordering::Release);
            self.ended(task, End::Ran);
        }
        runner.word.tidy();
        self.drop_payload(task);
    }

    pub(super) fn drop_payload(&self, task: u64) {
        self.dropped[task as usize].store(true, Ordering::Relaxed);
    }
}

/// `shared.rs`.
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
            reading.phase().is_quiet().then_some(reading)
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
