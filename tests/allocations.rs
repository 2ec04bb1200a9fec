//! Which submits and runs allocate: none, once a pool is warm.
//!
//! The allocator counts for the whole process, so that what workers and the timer allocate counts too. Everything is one
//! test: a second one beside it would be counted with it. A scenario ends when the last task has been counted by the
//! processor; nothing that waits by allocating lies within it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dockhand::{
    CancelOutcome, Closures, IdleStrategy, Lane, OverloadPolicy, PoolBuilder, Processor, RejectReason,
    RetryPolicy, SubmitResult, TaskContext, TaskOptions, TaskSubmitter, Timing, WorkerPool,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of the callers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `realloc`, which is the same.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const TASKS: u64 = 10_000;
/// Tasks between two moments at which the workers have nothing to do and go to sleep.
const ROUND: u64 = 100;
const CAPACITY: usize = 256;
const WORKERS: usize = 2;
/// One of so many tasks is timed by default.
const SAMPLE: u64 = 16;

/// 64 bytes.
#[derive(Clone, Copy, Default)]
struct Cargo {
    fails: bool,
    /// Keeps its worker until the dock lets go.
    holds: bool,
    follow_ups: u64,
    _rest: [u64; 6],
}

#[derive(Debug)]
struct NotYet;

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not yet")
    }
}

/// What the test and the processor share.
#[derive(Default)]
struct Dock {
    done: AtomicU64,
    held: AtomicU64,
    /// How many of the tasks that hold their workers, in the order in which they started, may end.
    lets_go: AtomicU64,
}

impl Dock {
    fn wait_for(&self, tasks: u64) {
        wait(|| self.done.load(Ordering::Acquire) >= tasks);
    }
}

/// Waits without a lock, a channel or an allocation.
fn wait(mut fact: impl FnMut() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < PATIENCE, "it does not come true");
        yield_now();
    }
}

struct Work(Arc<Dock>);

impl Processor for Work {
    type Payload = Cargo;
    type Output = ();
    type Error = NotYet;

    fn process(&self, cargo: &mut Cargo, cx: &TaskContext<'_, Cargo>) -> Result<(), NotYet> {
        if cargo.fails && cx.attempt() == 1 {
            return Err(NotYet);
        }
        if cargo.follow_ups > 0 {
            let next = Cargo { follow_ups: cargo.follow_ups - 1, ..*cargo };
            assert!(cx.submit(cx.lane(), next).into_payload().is_none());
        }
        if cargo.holds {
            let ticket = self.0.held.fetch_add(1, Ordering::Release);
            wait(|| self.0.lets_go.load(Ordering::Acquire) > ticket);
        }
        self.0.done.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

/// The allocations of `f`.
fn allocations(f: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    f();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

struct Scene {
    dock: Arc<Dock>,
    pool: WorkerPool<Work>,
    lanes: Vec<TaskSubmitter<Work>>,
}

/// Two workers, three lanes, and a timer that has been needed once: its thread starts when it likes.
fn scene(set: impl FnOnce(PoolBuilder<Work>) -> PoolBuilder<Work>) -> Scene {
    let dock = Arc::new(Dock::default());
    let retry = RetryPolicy::fixed(Duration::from_micros(200)).jitter(0.5);
    let builder =
        WorkerPool::builder(Work(dock.clone())).workers(WORKERS).queue_capacity(CAPACITY).retry(retry);
    let pool = set(builder.lane(Lane::new("a")).lane(Lane::new("b"))).build().unwrap();
    let lanes = ["a", "b", "default"].map(|lane| pool.submitter_for(lane).unwrap()).to_vec();
    fail_once(&lanes[0], 1);
    pool.wait_idle(PATIENCE).unwrap();
    Scene { dock, pool, lanes }
}

impl Scene {
    /// `TASKS` ends in rounds, each of them offered by `offer` and waited for.
    fn rounds(&self, mut offer: impl FnMut(&TaskSubmitter<Work>, u64)) {
        let start = self.dock.done.load(Ordering::Relaxed);
        for round in 0..TASKS / ROUND {
            offer(&self.lanes[round as usize % self.lanes.len()], ROUND);
            self.dock.wait_for(start + (round + 1) * ROUND);
        }
    }

    /// Holds workers until so many were held in all.
    fn hold(&self, workers: u64) {
        for _ in self.dock.held.load(Ordering::Acquire)..workers {
            is_taken(self.lanes[0].submit(Cargo { holds: true, ..Cargo::default() }));
        }
        wait(|| self.dock.held.load(Ordering::Acquire) == workers);
    }

    /// Each worker in turn runs a timed task of each lane: it keeps its times from the first one on, in memory of its own.
    fn warm_workers(&self) {
        let workers = WORKERS as u64;
        for turn in 0..workers {
            self.hold(workers + turn);
            let done = self.dock.done.load(Ordering::Acquire);
            self.dock.lets_go.store(turn + 1, Ordering::Release);
            for lane in self.pool.metrics().lanes {
                let lane = self.pool.submitter_for(&lane.name).unwrap();
                (0..SAMPLE).for_each(|_| is_taken(lane.submit_timeout(Cargo::default(), PATIENCE)));
            }
            // With the one that was let go.
            self.dock.wait_for(done + 1 + SAMPLE * self.pool.metrics().lanes.len() as u64);
        }
        self.dock.lets_go.store(u64::MAX, Ordering::Release);
        self.pool.wait_idle(PATIENCE).unwrap();
    }

    /// The allocations of `TASKS` tasks that are offered that way, once the pool is warm.
    fn warm(&self, mut offer: impl FnMut(&TaskSubmitter<Work>, u64)) -> u64 {
        self.warm_workers();
        self.rounds(&mut offer);
        self.pool.wait_idle(PATIENCE).unwrap();
        allocations(|| self.rounds(&mut offer))
    }

    /// The allocations of `TASKS` submits to a full lane while all workers are held.
    fn full(&self, look: impl Fn(SubmitResult<Cargo>)) -> u64 {
        let lane = &self.lanes[0];
        self.hold(WORKERS as u64);
        submits(lane, CAPACITY as u64);
        let offer = |tasks| (0..tasks).for_each(|_| look(lane.submit(Cargo::default())));
        offer(ROUND);
        let allocated = allocations(|| offer(TASKS));
        self.dock.lets_go.store(u64::MAX, Ordering::Release);
        allocated
    }
}

fn is_taken(answer: SubmitResult<Cargo>) {
    assert!(answer.into_payload().is_none(), "there is room");
}

fn submits(submitter: &TaskSubmitter<Work>, tasks: u64) {
    (0..tasks).for_each(|_| is_taken(submitter.submit(Cargo::default())));
}

fn parked() -> u64 {
    scene(|builder| builder.idle(IdleStrategy::Park)).warm(submits)
}

fn spinning() -> u64 {
    scene(|builder| builder.idle(IdleStrategy::SpinThenPark(Duration::from_micros(50)))).warm(submits)
}

fn batches() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        let answer = submitter.submit_batch((0..tasks).map(|_| Cargo::default()));
        assert_eq!(answer.accepted as u64, tasks);
    })
}

fn waiting_for_room() -> u64 {
    scene(|builder| builder.queue_capacity(4)).warm(|submitter, tasks| {
        (0..tasks).for_each(|_| is_taken(submitter.submit_timeout(Cargo::default(), PATIENCE)));
    })
}

fn follow_ups() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        let follow_ups = 9;
        (0..tasks / 10).for_each(|_| is_taken(submitter.submit(Cargo { follow_ups, ..Cargo::default() })));
    })
}

fn fail_once(submitter: &TaskSubmitter<Work>, tasks: u64) {
    (0..tasks).for_each(|_| is_taken(submitter.submit(Cargo { fails: true, ..Cargo::default() })));
}

fn retries() -> u64 {
    scene(|builder| builder).warm(fail_once)
}

fn rejected() -> u64 {
    scene(|builder| builder).full(|answer| {
        let refused = answer.into_result().unwrap_err();
        assert_eq!(refused.reason(), RejectReason::QueueFull);
        assert!(!refused.into_payload().fails);
    })
}

fn dropped() -> u64 {
    let scene = scene(|builder| builder.overload(OverloadPolicy::DropIncoming));
    scene.full(|answer| assert!(matches!(answer, SubmitResult::Dropped(_))))
}

fn displaced() -> u64 {
    let free = Arc::new(Mutex::new(Vec::with_capacity(CAPACITY)));
    let recycle = free.clone();
    let scene = scene(|builder| {
        let builder = builder.overload(OverloadPolicy::DropOldest);
        builder.on_shed(move |shed| recycle.lock().unwrap().push(shed.payload))
    });
    scene.full(|answer| {
        is_taken(answer);
        assert!(free.lock().unwrap().pop().is_some(), "the oldest one came back");
    })
}

/// A caller-run attempt keeps a word of its own on the heap.
fn caller_run() -> u64 {
    let scene = scene(|builder| builder.overload(OverloadPolicy::CallerRuns));
    scene.full(|answer| assert!(matches!(answer, SubmitResult::CallerRun(_))))
}

/// A closure is boxed: the one allocation of `execute`.
fn closures() -> u64 {
    let done = Arc::new(Dock::default());
    let pool = WorkerPool::builder(Closures).workers(WORKERS).queue_capacity(CAPACITY).build().unwrap();
    let rounds = |start: u64| {
        for round in 0..TASKS / ROUND {
            for _ in 0..ROUND {
                let done = done.clone();
                let run = move || {
                    done.done.fetch_add(1, Ordering::Release);
                };
                assert!(pool.execute(run).into_payload().is_none());
            }
            done.wait_for(start + (round + 1) * ROUND);
        }
    };
    rounds(0);
    allocations(|| rounds(TASKS))
}

/// The slot that a task shares with its handle; the handle goes at once.
fn tracked() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        (0..tasks).for_each(|_| drop(submitter.submit_tracked(Cargo::default()).unwrap()));
    })
}

/// The same, and somebody waits for it.
fn tracked_and_waited_for() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        (0..tasks).for_each(|_| submitter.submit_tracked(Cargo::default()).unwrap().wait().unwrap());
    })
}

/// The same, by a retry each.
fn tracked_and_retried() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        let fails = Cargo { fails: true, ..Cargo::default() };
        (0..tasks).for_each(|_| drop(submitter.submit_tracked(fails).unwrap()));
    })
}

/// The same, with a waker that is there already.
fn tracked_and_polled() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        for _ in 0..tasks {
            let mut handle = submitter.submit_tracked(Cargo::default()).unwrap();
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            wait(|| std::pin::Pin::new(&mut handle).poll(&mut cx).is_ready());
        }
    })
}

/// Delayed, with a deadline, and taken away at once; another one runs for it.
fn tracked_and_cancelled() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        let options = TaskOptions::new().delay(PATIENCE).ttl(2 * PATIENCE);
        for _ in 0..tasks {
            let handle = submitter.submit_tracked_with(Cargo::default(), options.clone()).unwrap();
            assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
            drop(handle);
        }
        submits(submitter, tasks);
    })
}

/// A delay and a deadline without a handle.
fn delayed() -> u64 {
    scene(|builder| builder).warm(|submitter, tasks| {
        let options = TaskOptions::new().delay(Duration::from_micros(50)).ttl(PATIENCE);
        (0..tasks).for_each(|_| is_taken(submitter.submit_with(Cargo::default(), options.clone())));
    })
}

fn timed(timing: Timing) -> u64 {
    scene(|builder| builder.timing(timing).slow_after(PATIENCE).attempt_timeout(PATIENCE)).warm(submits)
}

fn timed_in_full() -> u64 {
    timed(Timing::Full)
}

fn timed_by_samples() -> u64 {
    timed(Timing::Sampled(8))
}

/// A lane with a limit, and a task that reports how far it is, to a listener.
fn limited_and_listened_to() -> u64 {
    let heard = Arc::new(AtomicU64::new(0));
    let count = heard.clone();
    let scene = scene(move |builder| {
        let builder = builder.lane(Lane::new("limited").max_concurrency(1));
        builder.on_event(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
    });
    let limited = scene.pool.submitter_for("limited").unwrap();
    let allocated = scene.warm(|_, tasks| submits(&limited, tasks));
    assert!(heard.load(Ordering::Relaxed) >= 2 * 3 * TASKS, "accepted, started, ended");
    allocated
}

/// What it is, how to measure it, and how many allocations are right.
type Scenario = (&'static str, fn() -> u64, RangeInclusive<u64>);

#[test]
fn a_warm_pool_allocates_nothing_for_submits_runs_refusals_and_retries() {
    assert_eq!(size_of::<Cargo>(), 64);
    let nothing = 0..=0;
    let one_each = TASKS..=TASKS;
    let scenarios: [Scenario; 20] = [
        ("submit and run, Park", parked, nothing.clone()),
        ("submit and run, SpinThenPark", spinning, nothing.clone()),
        ("submit_batch and run", batches, nothing.clone()),
        ("submit_timeout that waits, and run", waiting_for_room, nothing.clone()),
        ("follow-ups", follow_ups, nothing.clone()),
        // A lane's heap grows to the most that ever waited at once, which may come late: amortised nothing.
        ("a retry for each", retries, 0..=8),
        ("refused, Reject", rejected, nothing.clone()),
        ("refused, DropIncoming", dropped, nothing.clone()),
        ("displaced, DropOldest with on_shed", displaced, nothing.clone()),
        ("timed in full", timed_in_full, nothing.clone()),
        ("timed by samples", timed_by_samples, nothing.clone()),
        ("a limit and a listener", limited_and_listened_to, nothing),
        ("delayed, with a deadline", delayed, 0..=8),
        ("tracked", tracked, one_each.clone()),
        ("tracked and waited for", tracked_and_waited_for, one_each.clone()),
        ("tracked and polled", tracked_and_polled, one_each.clone()),
        // As above: the heap may grow late.
        ("tracked, with a retry for each", tracked_and_retried, TASKS..=TASKS + 8),
        ("caller-run", caller_run, 0..=TASKS),
        ("closures", closures, one_each),
        // What is moved out of the heap comes in a list.
        ("tracked, delayed and cancelled", tracked_and_cancelled, TASKS..=2 * TASKS),
    ];
    let measured = scenarios.map(|(name, scenario, expected)| (name, scenario(), expected));
    for (name, count, expected) in measured {
        assert!(expected.contains(&count), "{name}: {count} allocations for {TASKS} tasks");
    }
}
