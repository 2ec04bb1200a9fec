//! The pool, as its owner holds it.

use crate::chance::Chance;
use crate::clock::{Clock, ManualClock, Moment};
use crate::config::{LaneConfig, PoolConfig, UserCode};
use crate::dead_letter::LetterStore;
use crate::drain::Drain;
use crate::error::{RejectReason, SubmitResult, WaitError};
use crate::event::Event;
use crate::gate::Gate;
use crate::idle::Idle;
use crate::inside;
use crate::lane::LaneQueue;
use crate::letters::DeadLetters;
use crate::metrics::{PoolMetrics, PoolStatus};
use crate::processor::{Closure, Closures, Processor};
use crate::shared::{Manual, Shared, Station, Stepping, WorkerSlot};
use crate::shutdown::{Caller, Leftovers, ShutdownReport};
use crate::sleep::Sleep;
use crate::start::Threads;
use crate::step::AtEnd;
use crate::submitter::TaskSubmitter;
use crate::sync::{AtomicBool, AtomicU64, Condvar, JoinHandle, Mutex};
use crate::task::{DEFAULT_LANE, Outcome};
use crate::timer::Timer;
use crate::user::Guard;
use crate::word::Phase;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as Counter, Ordering};
use std::time::Duration;

/// A fixed number of worker threads behind bounded lanes.
///
/// It owns the threads and is not `Clone`; [`submitter`](WorkerPool::submitter) gives handles that are. Dropping it is
/// [`shutdown`](WorkerPool::shutdown) with the builder's `drop_timeout`, so it may block that long; what is left goes to
/// [`on_shed`](crate::PoolBuilder::on_shed). A pool in a `static` is never dropped: what is queued when the process ends is
/// lost. On a thread of an async runtime call `shutdown` where blocking is allowed (`spawn_blocking`) before the drop.
///
/// # After a fork
///
/// A forked child has the pool's memory and none of its threads: a submit there is accepted and never runs, since asking for the
/// process would cost each submit a system call. What would wait says so at once: [`wait_idle`](WorkerPool::wait_idle) and
/// [`TaskHandle::wait`](crate::TaskHandle::wait) with `WouldDeadlock`, a full lane without its timeout, and a shutdown or drop hands
/// back what waits. A lock that another thread held at the fork stays locked, so a child builds a pool of its own and forgets
/// (`std::mem::forget`) the one it was given.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|name: &mut String, _cx| {
///     println!("hello {name}");
///     Ok::<(), String>(())
/// }))
/// .workers(2)
/// .queue_capacity(100)
/// .build()?;
/// pool.submit("world".to_string()).into_result()?;
/// let report = pool.shutdown(Duration::from_secs(5));
/// assert_eq!(report.counts.succeeded, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WorkerPool<P: Processor> {
    shared: Arc<Shared<P>>,
    threads: Mutex<Threads>,
    drop_timeout: Duration,
}

impl<P: Processor> WorkerPool<P> {
    pub(crate) fn new(shared: Arc<Shared<P>>, threads: Threads, drop_timeout: Duration) -> Self {
        WorkerPool { shared, threads: Mutex::new(threads), drop_timeout }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<P>> {
        &self.shared
    }

    /// Offers a task to the lane `"default"`; see [`TaskSubmitter::submit`].
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// assert!(pool.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    #[inline]
    pub fn submit(&self, payload: P::Payload) -> SubmitResult<P::Payload> {
        let lane = self.shared.default_lane;
        self.shared.submit(lane, payload, self.shared.lanes[lane].overload)
    }

    /// A submitter of the lane `"default"`.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let submitter = pool.submitter();
    /// assert!(submitter.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn submitter(&self) -> TaskSubmitter<P> {
        self.submitter_of(self.shared.default_lane)
    }

    /// A submitter of the named lane. Any payload fits any lane, so it is worth handing out one submitter per kind of work.
    ///
    /// # Errors
    /// [`RejectReason::UnknownLane`].
    ///
    /// ```
    /// use dockhand::{RejectReason, WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// assert!(pool.submitter_for("default").is_ok());
    /// assert_eq!(pool.submitter_for("defualt").unwrap_err(), RejectReason::UnknownLane);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn submitter_for(&self, lane: &str) -> Result<TaskSubmitter<P>, RejectReason> {
        let lane = self.shared.lane_named(lane).ok_or(RejectReason::UnknownLane)?;
        Ok(self.submitter_of(lane))
    }

    fn submitter_of(&self, lane: usize) -> TaskSubmitter<P> {
        TaskSubmitter { shared: Arc::clone(&self.shared), lane, overload: self.shared.lanes[lane].overload }
    }

    /// Changes the limit of a lane that was built with one. 0 pauses it; what runs is not interrupted, and nothing starts
    /// until what runs is below the limit. Raising it wakes a worker if the lane holds something. On a stopped pool it
    /// has no effect; what a paused lane holds when a shutdown is called cannot run and is handed back.
    ///
    /// # Errors
    /// [`RejectReason::UnknownLane`]; [`RejectReason::NotLimited`] for a lane built without
    /// [`max_concurrency`](crate::Lane::max_concurrency).
    ///
    /// ```
    /// use dockhand::{Lane, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let paused = Lane::new("default").max_concurrency(0);
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).lane(paused).build()?;
    /// pool.submit(1).into_result()?;
    /// assert_eq!(pool.metrics().counts.queued, 1);
    /// pool.set_max_concurrency("default", 2)?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.metrics().counts.succeeded, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_max_concurrency(&self, lane: &str, n: usize) -> Result<(), RejectReason> {
        let lane = self.shared.lane_named(lane).ok_or(RejectReason::UnknownLane)?;
        let permits = self.shared.lanes[lane].permits.as_ref().ok_or(RejectReason::NotLimited)?;
        permits.set_limit(n);
        self.shared.permit_appeared(lane);
        // A shutdown does not wait for what a paused lane holds.
        self.shared.idle.tell();
        Ok(())
    }

    /// The numbers of this moment. Costs a read of every worker's counters and short locks that no submit takes.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let metrics = pool.metrics();
    /// assert_eq!(metrics.counts.succeeded, 1);
    /// assert!(metrics.counts.is_conserved());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metrics(&self) -> PoolMetrics {
        self.shared.metrics()
    }

    /// What each worker does at this moment, and since when.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use dockhand::metrics::Phase;
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (started, has_started) = mpsc::channel();
    /// let pool = WorkerPool::builder(processor_fn(move |_: &mut (), cx| {
    ///     let _ = started.send(cx.id());
    ///     while cx.checkpoint().is_ok() {
    ///         std::thread::yield_now();
    ///     }
    ///     Ok::<(), String>(())
    /// }))
    /// .workers(1)
    /// .build()?;
    /// pool.submit(()).into_result()?;
    /// let id = has_started.recv()?;
    /// let status = pool.status();
    /// assert_eq!(status.phase, Phase::Open);
    /// assert_eq!(status.workers[0].task.as_ref().map(|task| task.id), Some(id));
    /// assert!(status.workers[0].running_for.is_some());
    /// let _ = pool.shutdown(Duration::ZERO);
    /// assert_eq!(pool.status().phase, Phase::Stopped);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn status(&self) -> PoolStatus {
        self.shared.status()
    }

    /// The store of letters.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// assert!(pool.dead_letters().is_empty());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn dead_letters(&self) -> DeadLetters<'_, P> {
        DeadLetters { shared: &self.shared }
    }

    /// Waits until nothing is queued, delayed or running, hooks and drops included. It is a moment, not a state, while
    /// others submit; a paused lane that holds something, or a task that is due tomorrow, keeps it from coming.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`]; [`WaitError::WouldDeadlock`] on a thread that is in a task or hook of this pool, and in a
    /// forked child.
    ///
    /// # Blocking
    /// Up to `timeout`; `Duration::MAX` waits as long as it takes.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// pool.submit(1).into_result()?;
    /// assert_eq!(pool.wait_idle(Duration::from_secs(10)), Ok(()));
    /// assert_eq!(pool.metrics().counts.succeeded, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_idle(&self, timeout: Duration) -> Result<(), WaitError> {
        let shared = &*self.shared;
        if shared.caller().is_inside() || shared.is_forked() {
            return Err(WaitError::WouldDeadlock);
        }
        let deadline = shared.clock.now().after(timeout);
        if shared.wait_for(|| shared.is_idle(), || deadline, AtEnd::RunOn) {
            Ok(())
        } else {
            Err(WaitError::TimedOut)
        }
    }

    /// Closes the door: every later submit, follow-ups of running tasks included, is `Rejected(Closed)`. What was
    /// accepted is still run, retries included.
    ///
    /// ```
    /// use dockhand::{RejectReason, WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(()))).build()?;
    /// pool.begin_shutdown();
    /// let refused = pool.submit(()).into_result().unwrap_err();
    /// assert_eq!(refused.reason(), RejectReason::Closed);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn begin_shutdown(&self) {
        self.shared.close();
    }

    /// Refuses new work, lets queued work and whatever becomes due within `timeout` run, and returns as soon as nothing
    /// is left that can still run, or at the timeout. Then running tasks are told through their context and get 100 ms;
    /// a thread that does not come back is named in the report and no longer waited for.
    ///
    /// What has not ended by then is handed back in the report as [`Abandoned`](Outcome::Abandoned), with its attempts and its
    /// last error: what was not started, what waits for a retry, and what failed in those 100 ms. It makes no difference
    /// whether a retry would be due later than the window or was due and found no time. What comes back after the report goes to
    /// [`on_shed`](crate::PoolBuilder::on_shed).
    ///
    /// `Duration::ZERO` aborts, `Duration::MAX` waits as long as it takes, for tomorrow's delayed task too. May be called any number of times and from
    /// several threads: the window ends at the earliest end that any call asked for, each payload is handed out once,
    /// and counts are cumulative. From inside a task or hook it waits for nothing that waits for it: its own attempt is
    /// in `still_running`, and work for which no free worker is left goes on afterwards. When a call from outside
    /// returns, nothing is queued, delayed or running any more, and the pool has let go of processor and hooks.
    ///
    /// # Blocking
    /// Up to `timeout` and the grace, and for the thread-local destructors of workers that came back.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// pool.submit(1).into_result()?;
    /// let report = pool.shutdown(Duration::from_secs(10));
    /// assert!(report.is_clean());
    /// assert_eq!(report.counts.succeeded, 1);
    /// assert_eq!(pool.submit(2).into_payload(), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(&self, timeout: Duration) -> ShutdownReport<P::Payload> {
        let started = self.shared.clock.now();
        let caller = self.shared.caller();
        self.shared.drain_within(timeout, &caller, Leftovers::LeaveInTime);
        if let Caller::Outside = caller {
            self.wind_up();
        }
        self.shared.report(started, &caller)
    }

    /// After a drain from outside: joins who has ended, and lets go of the user's code.
    fn wind_up(&self) {
        self.shared.wait_for_ends();
        self.shared.timer.stop();
        for thread in self.ended_threads() {
            if Some(thread.thread().id()) == inside::worker_thread() || self.shared.is_forked() {
                // A destructor of a thread-local ends the pool on a thread that has left it: no thread joins itself. Nor one
                // of another process.
                continue;
            }
            // No panic gets out of a worker or the timer: what is the user's runs in the guard there.
            let _ = thread.join();
        }
        // Taken before: another shutdown that finds the end told lets go of the listeners.
        let telling = self.shared.telling();
        if !self.shared.shutdown_told.swap(true, Ordering::AcqRel) {
            telling.tell(&Event::ShutdownEnded);
        }
        drop(telling);
        let user = self.shared.user.lock().take();
        self.shared.release(user);
    }

    fn ended_threads(&self) -> Vec<JoinHandle<()>> {
        let mut threads = self.threads.lock();
        let timer = threads.timer.take();
        let slots = threads.workers.iter_mut().zip(&self.shared.workers);
        let ended = slots.filter(|(_, slot)| slot.station.runner.word.read().phase() == Phase::Ended);
        ended.filter_map(|(thread, _)| thread.take()).chain(timer).collect()
    }
}

impl WorkerPool<Closures> {
    /// Offers a closure to the lane `"default"`; it is boxed. See [`Closures`].
    ///
    /// ```
    /// use dockhand::{Closures, WorkerPool};
    /// let pool = WorkerPool::builder(Closures).build()?;
    /// let (answer, answers) = std::sync::mpsc::channel();
    /// pool.execute(move || answer.send(7).unwrap()).into_result()?;
    /// assert_eq!(answers.recv()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute(&self, f: impl FnOnce() + Send + 'static) -> SubmitResult<Closure> {
        self.submit(Closure::new(f))
    }
}

impl<P: Processor> Drop for WorkerPool<P> {
    fn drop(&mut self) {
        let shared = &*self.shared;
        let user = shared.user();
        let caller = shared.caller();
        // From inside, what has no free worker to run it is given away all the same: the pool is gone.
        shared.drain_within(self.drop_timeout, &caller, Leftovers::HandBack);
        match caller {
            Caller::Outside => self.wind_up(),
            Caller::Inside(_) => shared.timer.stop(),
        }
        for held in shared.drain.forsake() {
            let shed = shared.to_shed(held, Outcome::Abandoned);
            shared.shed(user.as_deref(), shed);
        }
        for letter in shared.letters.forsake() {
            shared.guard.drop(letter.payload);
            shared.guard.drop(letter.failure);
        }
        shared.dismiss_if_forsaken();
        let shared_user = shared.user.lock().take();
        shared.release(shared_user);
        shared.release(user);
    }
}

impl<P: Processor> fmt::Debug for WorkerPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool")
            .field("workers", &self.shared.workers.len())
            .field("lanes", &self.shared.lanes.len())
            .field("sleep", &self.shared.sleep.state())
            .finish_non_exhaustive()
    }
}

impl<P: Processor> UnwindSafe for WorkerPool<P> {}
impl<P: Processor> RefUnwindSafe for WorkerPool<P> {}

impl<P: Processor> Shared<P> {
    pub(crate) fn new(
        config: &PoolConfig,
        lanes: Vec<LaneConfig>,
        user: UserCode<P>,
        manual: Option<ManualClock>,
    ) -> Self {
        static POOLS: Counter = Counter::new(0);
        let default_lane = lanes.iter().position(|lane| lane.name == DEFAULT_LANE);
        let listens = !user.on_event.is_empty();
        let workers = (0..config.workers).map(|me| WorkerSlot {
            name: config.thread_name(me),
            station: Arc::new(Station::new()),
            tallies: lanes.iter().map(|_| Default::default()).collect(),
            times: lanes.iter().map(|_| Default::default()).collect(),
        });
        Shared {
            id: POOLS.fetch_add(1, Ordering::Relaxed),
            process: std::process::id(),
            idle_strategy: config.idle,
            timing: config.timing,
            timing_mask: config.timing.mask(),
            has_events: listens,
            pace: config.pace,
            shutdown_told: AtomicBool::new(false),
            spinners_allowed: config.spinners(),
            sleep: Sleep::new(config.workers),
            workers: workers.collect(),
            // `resolve_lanes` has seen to it that there is one.
            default_lane: default_lane.unwrap_or(0),
            lanes: lanes.into_iter().map(|lane| LaneQueue::new(lane, config.timing, listens)).collect(),
            callers: Mutex::new(Vec::new()),
            gate: Gate::new(),
            shedding: Gate::new(),
            idle: Idle::new(),
            drain: Drain::new(config.workers),
            clock: manual.clone().map_or_else(Clock::new, Clock::Manual),
            manual: manual.map(|clock| Manual {
                clock,
                worker: Mutex::new(Stepping::Gone),
                stepped: Condvar::default(),
            }),
            timer: Timer::new(),
            has_delays: AtomicBool::new(false),
            window_end: AtomicU64::new(Moment::NEVER.nanos()),
            grace_end: AtomicU64::new(Moment::NEVER.nanos()),
            letters: LetterStore::new(config.letter_capacity),
            guard: Guard::default(),
            chance: Chance::new(),
            user: Mutex::new(Some(Arc::new(user))),
        }
    }
}
