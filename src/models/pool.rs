//! The pool of the models: the real modules, and tasks that are numbers.

use super::lane::Lane;
use super::tracked::Delayed;
use crate::clock::Moment;
use crate::drain::Drain;
use crate::gate::Gate;
use crate::idle::Idle;
use crate::room::Room;
use crate::sleep::Sleep;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use crate::timer::Timer;
use crate::word::{Runner, Running};
use std::sync::Arc;
use std::sync::Mutex as StdMutex;

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

type Process = Box<dyn Fn(&Pool, &Runner, u64) + Send + Sync>;

pub(super) struct Pool {
    pub(super) sleep: Sleep,
    pub(super) lanes: Vec<Lane>,
    pub(super) has_delays: AtomicBool,
    pub(super) clock: AtomicU64,
    pub(super) timer: Timer,
    /// The end of the timer's wait; written and read under the timer's lock.
    pub(super) timer_waits_until: StdMutex<Moment>,
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

    /// `attempt.rs`, `reserve` and `let_wait`. No model expects a retry to be refused.
    pub(super) fn insert(&self, lane: usize, due: Moment, task: impl Into<Delayed>) {
        self.has_delays.store(true, Ordering::Relaxed);
        let delays = &self.lanes[lane].delays;
        delays.reserve().expect("retries have a place");
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
