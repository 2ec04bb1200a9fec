//! The processor, and all that a script's threads and hooks share.

use super::book::Book;
use super::load::{Load, Result as Made, explode};
use super::script::{Reaction, Script, Step};
use super::settings::{Settings, Tick};
use super::starts::{AttemptEnd, place_of};
use crate::support::panic_quietly;
use dockhand::{ManualClock, ManualPool, Processor, TaskContext, TaskHandle, TaskSubmitter, WorkerPool};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

pub(super) type Pool = WorkerPool<Arc<World>>;

/// A circle, until the pool lets go of its processor.
pub(super) enum PoolRef {
    Manual(Weak<ManualPool<Arc<World>>>),
    Threads(Weak<Pool>),
}

pub(super) struct World {
    pub(super) book: Book,
    pub(super) settings: Settings,
    pub(super) tick: Tick,
    pub(super) began: Instant,
    clock: Option<ManualClock>,
    pub(super) pool: OnceLock<PoolRef>,
    pub(super) submitters: OnceLock<Vec<TaskSubmitter<Arc<World>>>>,
    pub(super) handles: Mutex<Vec<TaskHandle<Arc<World>>>>,
    pub(super) reactions: Mutex<VecDeque<Reaction>>,
    pub(super) is_closed: AtomicBool,
    limits: [AtomicUsize; 3],
    pub(super) running: [AtomicUsize; 3],
    /// The pool's last owner, for a task that drops it.
    pub(super) kept: Mutex<Option<Arc<Pool>>>,
}

thread_local! {
    /// What this thread is about to offer, the innermost last.
    static OFFERING: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl World {
    pub(super) fn new(script: &Script, clock: Option<ManualClock>) -> Arc<Self> {
        let settings = script.settings.clone();
        let limits = [0, 1, 2].map(|lane| AtomicUsize::new(settings.limit(lane).unwrap_or(usize::MAX)));
        let tick = if clock.is_some() { Duration::from_millis(1) } else { Duration::from_micros(20) };
        Arc::new(World {
            book: Book::default(),
            tick: Tick(tick),
            began: Instant::now(),
            clock,
            pool: OnceLock::new(),
            submitters: OnceLock::new(),
            handles: Mutex::default(),
            reactions: Mutex::new(script.reactions.iter().cloned().collect()),
            is_closed: AtomicBool::new(false),
            limits,
            running: Default::default(),
            kept: Mutex::default(),
            settings,
        })
    }

    pub(super) fn clock(&self) -> Option<&ManualClock> {
        self.clock.as_ref()
    }

    pub(super) fn is_manual(&self) -> bool {
        self.clock.is_some()
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.as_ref().map_or_else(Instant::now, ManualClock::now)
    }

    pub(super) fn has_listener(&self) -> bool {
        self.settings.hooks.listeners > 0
    }

    pub(super) fn limit(&self, lane: usize) -> usize {
        self.limits[lane].load(Ordering::SeqCst)
    }

    /// On threads an attempt that was let in under the old limit may be seen under the new one, so the highest counts.
    pub(super) fn set_limit(&self, lane: usize, limit: usize) {
        if self.is_manual() {
            self.limits[lane].store(limit, Ordering::SeqCst);
        } else {
            self.limits[lane].fetch_max(limit, Ordering::SeqCst);
        }
    }

    pub(super) fn with_pool<R>(&self, f: impl FnOnce(&Pool) -> R) -> Option<R> {
        match self.pool.get()? {
            PoolRef::Manual(pool) => pool.upgrade().map(|pool| f(&pool)),
            PoolRef::Threads(pool) => pool.upgrade().map(|pool| f(&pool)),
        }
    }

    pub(super) fn manual(&self) -> Option<Arc<ManualPool<Arc<World>>>> {
        match self.pool.get()? {
            PoolRef::Manual(pool) => pool.upgrade(),
            PoolRef::Threads(_) => None,
        }
    }

    pub(super) fn is_offering(&self, number: u64) -> bool {
        OFFERING.with_borrow(|numbers| numbers.contains(&number))
    }

    pub(super) fn offering<R>(&self, numbers: &[u64], f: impl FnOnce() -> R) -> R {
        OFFERING.with_borrow_mut(|offering| offering.extend(numbers));
        let answer = f();
        OFFERING.with_borrow_mut(|offering| offering.truncate(offering.len() - numbers.len()));
        answer
    }

    /// A hook was called.
    pub(super) fn react(self: &Arc<Self>) {
        self.book.pages().first.get_or_insert(None);
        let next = self.reactions.lock().unwrap().pop_front();
        match next.unwrap_or(Reaction::Nothing) {
            Reaction::Nothing => {}
            Reaction::Panic => {
                self.book.hook_panics();
                panic_quietly();
            }
            Reaction::Bomb => {
                self.book.hook_panics();
                explode();
            }
            Reaction::Do(act) => self.act(&act),
        }
    }

    fn work(&self, ticks: u64, cx: &TaskContext<'_, Load>) -> bool {
        match &self.clock {
            Some(clock) => clock.advance(self.tick.of(ticks)),
            None => {
                let until = Instant::now() + self.tick.of(ticks);
                while Instant::now() < until && !cx.is_interrupted() {
                    std::hint::spin_loop();
                }
            }
        }
        // Some come back with `Ok` however late it is.
        ticks % 2 == 0 || !cx.is_interrupted()
    }
}

impl Processor for World {
    type Payload = Load;
    type Output = Made;
    type Error = Made;

    fn process(&self, load: &mut Load, cx: &TaskContext<'_, Load>) -> Result<Made, Made> {
        let world = Arc::clone(&load.world);
        let start = world.check_start(load, cx);
        let lane = place_of(cx.lane());
        world.enter_lane(lane, start);
        let steps = &load.plan.steps;
        let step = steps[load.calls.min(steps.len() - 1)].clone();
        load.calls += 1;
        let is_ok = match &step {
            Step::Ok => true,
            Step::Fail | Step::Panic | Step::Bomb => false,
            Step::Work(ticks) => self.work(*ticks, cx),
            Step::Follow(offer) => {
                world.offer(offer, Some(cx));
                true
            }
            Step::Do(act) => {
                world.act(act);
                true
            }
        };
        let is_panic = matches!(step, Step::Panic | Step::Bomb);
        let end = match is_ok {
            true => AttemptEnd::Ok,
            false if is_panic => AttemptEnd::Panicked,
            false => AttemptEnd::Failed,
        };
        world.leave_lane(lane);
        world.note_end(cx.id(), lane, start, end);
        match step {
            Step::Panic => panic_quietly(),
            Step::Bomb => explode(),
            _ if is_ok => Ok(Made::new(&world, load.plan.output)),
            _ => Err(Made::new(&world, load.plan.error)),
        }
    }
}
