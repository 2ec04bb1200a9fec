//! Building a pool: settings, checks, and the start of its threads, all or nothing.

use crate::clock::ManualClock;
use crate::config::{Capacity, IdleStrategy, Lane, OverloadPolicy, PoolConfig, Timing, UserCode};
use crate::dead_letter::{DeadLetter, LetterFate};
use crate::error::BuildError;
use crate::event::Event;
use crate::failure::{Cause, RetryDecision};
use crate::lane::LaneQueue;
use crate::manual::ManualPool;
use crate::meter::Pace;
use crate::pool::WorkerPool;
use crate::processor::Processor;
use crate::retry::RetryPolicy;
use crate::shared::Shared;
use crate::start::{self, Threads};
use crate::task::Shed;
use crate::user::Guard;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a pool, taken by value; [`build`](PoolBuilder::build) starts it.
///
/// # Default
/// As many workers as the machine has cores, one lane `"default"` of 1,024 tasks that rejects when full, no retries,
/// `Park`, one in 16 tasks timed, 1,024 letters, 5 s for the drop.
///
/// The settings `queue_capacity`, `queue_capacity_for`, `overload`, `retry`, `attempt_timeout` and `slow_after` hold for
/// every lane that does not say otherwise, in whatever order they are called.
///
/// ```
/// use dockhand::{Lane, OverloadPolicy, RetryPolicy, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut String, _cx| Ok::<(), String>(())))
///     .name("mail")
///     .workers(2)
///     .queue_capacity(500)
///     .lane(Lane::new("bounces").queue_capacity(50).overload(OverloadPolicy::DropOldest))
///     .retry(RetryPolicy::exponential(Duration::from_millis(100)))
///     .build()?;
/// assert_eq!(pool.metrics().lanes[1].queue_capacity, 500);
/// # Ok::<(), dockhand::BuildError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct PoolBuilder<P: Processor> {
    config: PoolConfig,
    user: UserCode<P>,
}

impl<P: Processor> WorkerPool<P> {
    /// Starts to build a pool that runs `processor`.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(()))).build()?;
    /// assert_eq!(pool.metrics().lanes[0].name, "default");
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn builder(processor: P) -> PoolBuilder<P> {
        PoolBuilder { config: PoolConfig::new(), user: UserCode::new(processor) }
    }
}

impl<P: Processor> PoolBuilder<P> {
    /// The name of the pool; its threads are `<name>-0`, `<name>-1`, … and `<name>-timer`. Linux keeps 15 bytes of a thread's
    /// name, so a longer pool name is cut to fit before the number. A NUL character in it fails the build.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).name("mail").build()?;
    /// assert_eq!(pool.status().workers[0].name, "mail-0");
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .name("outgoing-mail-of-the-shop")
    ///     .build()?;
    /// assert_eq!(pool.status().workers[0].name, "outgoing-mail-0");
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = name.into();
        self
    }

    /// How many threads run tasks. Zero fails the build.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).workers(3).build()?;
    /// assert_eq!(pool.metrics().live_workers, 3);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn workers(mut self, n: usize) -> Self {
        self.config.workers = n;
        self
    }

    /// The stack size of each worker, in bytes; by default the platform's. A caller-run has the stack of its caller.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).stack_size(256 * 1024).build()?;
    /// assert!(pool.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// What a worker does when there is nothing to do.
    ///
    /// ```
    /// use dockhand::{IdleStrategy, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .idle(IdleStrategy::SpinThenPark(Duration::from_micros(20)))
    ///     .build()?;
    /// assert!(pool.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn idle(mut self, strategy: IdleStrategy) -> Self {
        self.config.idle = strategy;
        self
    }

    /// How many tasks are timed.
    ///
    /// ```
    /// use dockhand::{Timing, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .timing(Timing::Full)
    ///     .build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.metrics().lanes[0].wait.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timing(mut self, timing: Timing) -> Self {
        self.config.timing = timing;
        self
    }

    /// How often the progress of a task is passed on as an event: whichever comes first, the interval or the number of
    /// steps. One second and 500 steps by default.
    ///
    /// ```
    /// use dockhand::{Event, WorkerPool, processor_fn};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// let events = Arc::new(AtomicU64::new(0));
    /// let count = events.clone();
    /// let pool = WorkerPool::builder(processor_fn(|n: &mut u64, cx| {
    ///     (1..=*n).for_each(|done| cx.report_progress(done, *n));
    ///     Ok::<(), String>(())
    /// }))
    /// .progress_every(Duration::from_secs(3600), 100)
    /// .on_event(move |event| {
    ///     if let Event::Progress { .. } = event {
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// })
    /// .build()?;
    /// pool.submit(1000).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(events.load(Ordering::Relaxed), 11); // 1, 101, 201, …, 901 and the last
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress_every(mut self, interval: Duration, steps: u64) -> Self {
        self.config.pace = Pace { interval, steps };
        self
    }

    /// How long the drop of the pool may drain, and so block. On a thread of an async runtime, call
    /// [`shutdown`](crate::WorkerPool::shutdown) where blocking is allowed (`spawn_blocking`) before the drop.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::time::Duration;
    /// let ran = Arc::new(AtomicU32::new(0));
    /// let count = ran.clone();
    /// let pool = WorkerPool::builder(processor_fn(move |_: &mut u32, _cx| {
    ///     count.fetch_add(1, Ordering::Relaxed);
    ///     Ok::<(), String>(())
    /// }))
    /// .drop_timeout(Duration::from_secs(30))
    /// .build()?;
    /// let result = pool.submitter().submit_batch(0..10);
    /// drop(pool); // drains
    /// assert_eq!(ran.load(Ordering::Relaxed), 10);
    /// # assert_eq!(result.accepted, 10);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn drop_timeout(mut self, timeout: Duration) -> Self {
        self.config.drop_timeout = timeout;
        self
    }

    /// How many letters the pool keeps. With zero every letter leaves at once through [`on_shed`](Self::on_shed).
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string())))
    ///     .dead_letter_capacity(2)
    ///     .build()?;
    /// let _ = pool.submitter().submit_batch(0..5);
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let metrics = pool.metrics();
    /// assert_eq!((metrics.letters, metrics.letters_evicted), (2, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dead_letter_capacity(mut self, letters: usize) -> Self {
        self.config.letter_capacity = letters;
        self
    }

    /// Declares a lane; the first one is the most urgent. A lane that is declared comes before `"default"`, which is last
    /// unless it is declared too: `.lane(Lane::new("background"))` alone is *above* it.
    ///
    /// ```
    /// use dockhand::{Lane, WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .lane(Lane::new("urgent"))
    ///     .lane(Lane::new("default"))
    ///     .lane(Lane::new("background"))
    ///     .build()?;
    /// let order: Vec<_> = pool.metrics().lanes.into_iter().map(|lane| lane.name).collect();
    /// assert_eq!(order, ["urgent", "default", "background"]);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn lane(mut self, lane: Lane) -> Self {
        self.config.lanes.push(lane);
        self
    }

    /// How many tasks may wait in a lane, exactly. Fewer than a burst brings are refused while workers are still being woken.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).queue_capacity(10).build()?;
    /// assert_eq!(pool.metrics().lanes[0].queue_capacity, 10);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn queue_capacity(mut self, tasks: usize) -> Self {
        self.config.defaults.capacity = Capacity::Tasks(tasks);
        self
    }

    /// Sizes the queues from the wait that is acceptable: `workers * wait / cost`, rounded down. 8 workers, 200 ms a
    /// task and 10 s of wait make 400 places. It assumes that all workers serve the lane: with
    /// several lanes, or a limit, compute it from what the lane really gets. Comes out as zero (also for a
    /// cost of zero): the build fails.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())))
    ///     .workers(8)
    ///     .queue_capacity_for(Duration::from_millis(200), Duration::from_secs(10))
    ///     .build()?;
    /// assert_eq!(pool.metrics().lanes[0].queue_capacity, 400);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn queue_capacity_for(mut self, cost: Duration, wait: Duration) -> Self {
        self.config.defaults.capacity = Capacity::For { cost, wait };
        self
    }

    /// What a full lane answers.
    ///
    /// ```
    /// use dockhand::{OverloadPolicy, SubmitResult, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, cx| {
    ///     while cx.checkpoint().is_ok() {
    ///         std::thread::yield_now();
    ///     }
    ///     Ok::<(), String>(())
    /// }))
    /// .workers(1)
    /// .queue_capacity(1)
    /// .overload(OverloadPolicy::DropIncoming)
    /// .build()?;
    /// // One runs, one waits, and there is no room for a third.
    /// let answers: Vec<_> = (0..3).map(|n| pool.submit(n)).collect();
    /// assert!(answers.iter().any(|answer| matches!(answer, SubmitResult::Dropped(_))));
    /// let _ = pool.shutdown(Duration::ZERO);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn overload(mut self, policy: OverloadPolicy) -> Self {
        self.config.defaults.overload = policy;
        self
    }

    /// How often and when a failed task is tried again.
    ///
    /// ```
    /// use dockhand::{RetryPolicy, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string())))
    ///     .retry(RetryPolicy::fixed(Duration::from_millis(1)).max_retries(3))
    ///     .build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.metrics().counts.attempts, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.config.defaults.retry = policy;
        self
    }

    /// How long an attempt may run; see [`Lane::attempt_timeout`].
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, cx| {
    ///     while !cx.is_interrupted() {
    ///         std::thread::yield_now();
    ///     }
    ///     Ok::<(), String>(()) // too late to count
    /// }))
    /// .attempt_timeout(Duration::from_millis(5))
    /// .build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let counts = pool.metrics().counts;
    /// assert_eq!((counts.succeeded, counts.timeouts, counts.dead_lettered), (0, 1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.config.defaults.attempt_timeout = Some(limit);
        self
    }

    /// From when on an attempt is warned about; see [`Lane::slow_after`].
    ///
    /// ```
    /// use dockhand::{Event, WorkerPool, processor_fn};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let (warn, warned) = mpsc::channel();
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .slow_after(Duration::ZERO)
    ///     .on_event(move |event| {
    ///         if let Event::Slow { ran, .. } = event {
    ///             let _ = warn.send(*ran);
    ///         }
    ///     })
    ///     .build()?;
    /// pool.submit(1).into_result()?;
    /// assert!(warned.recv_timeout(Duration::from_secs(10)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slow_after(mut self, limit: Duration) -> Self {
        self.config.defaults.slow_after = Some(limit);
        self
    }

    /// Says of each failed attempt whether it is worth a retry; see [`RetryDecision`] for an example. Without it, errors
    /// and timeouts are retried and panics are not. Runs on the thread of the attempt. If it panics the task is given up.
    pub fn classify(
        mut self,
        f: impl Fn(Cause<'_, P::Error>) -> RetryDecision + Send + Sync + 'static,
    ) -> Self {
        self.user.classify = Some(Box::new(f));
        self
    }

    /// Sees each letter before it is kept, and may have it discarded. Runs on the thread of the attempt. If it panics the
    /// letter is kept. Without a sink, letters are logged as warnings and kept.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use dockhand::letter::LetterFate;
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (spill, spilled) = mpsc::channel();
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut Vec<u8>, _cx| Err::<(), _>("full disk".to_string())))
    ///     .dead_letter_sink(move |letter| {
    ///         // The sink may take out what is in the payload.
    ///         let _ = spill.send((std::mem::take(&mut letter.payload), letter.info.error.to_string()));
    ///         LetterFate::Discard
    ///     })
    ///     .build()?;
    /// pool.submit(vec![1, 2, 3]).into_result()?;
    /// assert_eq!(spilled.recv()?, (vec![1, 2, 3], "full disk".to_string()));
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert!(pool.dead_letters().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dead_letter_sink(
        mut self,
        f: impl Fn(&mut DeadLetter<P::Payload, P::Error>) -> LetterFate + Send + Sync + 'static,
    ) -> Self {
        self.user.sink = Some(Box::new(f));
        self
    }

    /// Gets every payload that the pool lets go of without handing it back otherwise; see [`Shed`] for an example.
    /// Without it such payloads are dropped. On the submitting thread for what a full lane displaces: push to a free list
    /// there, and do nothing else.
    pub fn on_shed(mut self, f: impl Fn(Shed<P::Payload>) + Send + Sync + 'static) -> Self {
        self.user.on_shed = Some(Box::new(f));
        self
    }

    /// Hears what happens; see [`Event`] for an example. May be called several times: every listener hears the events of a
    /// task in order and once, and a panic in one skips no other. Without a listener nothing of it costs anything; with one it
    /// costs the thread it runs on. A listener that submits when it hears `Refused` may be refused again, and hears that
    /// too: eight deep it ends.
    ///
    /// ```
    /// use dockhand::{Event, WorkerPool, processor_fn};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let (begun, has_begun) = mpsc::channel();
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .on_event(|_| panic!("a broken listener"))
    ///     .on_event(move |event| {
    ///         if let Event::ShutdownBegun = event {
    ///             let _ = begun.send(());
    ///         }
    ///     })
    ///     .build()?;
    /// let _ = pool.shutdown(Duration::from_secs(10));
    /// assert!(has_begun.recv().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_event(mut self, f: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.user.on_event.push(Box::new(f));
        self
    }

    /// Runs on each worker, with its number, before [`build`](Self::build) returns. A panic fails the build. A
    /// caller-run thread never ran it.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::time::Duration;
    ///
    /// let running = Arc::new(AtomicUsize::new(0));
    /// let (started, stopped) = (running.clone(), running.clone());
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())))
    ///     .workers(3)
    ///     .on_worker_start(move |_| drop(started.fetch_add(1, Ordering::Relaxed)))
    ///     .on_worker_stop(move |_| drop(stopped.fetch_sub(1, Ordering::Relaxed)))
    ///     .build()?;
    /// assert_eq!(running.load(Ordering::Relaxed), 3);
    /// assert!(pool.shutdown(Duration::from_secs(10)).is_clean());
    /// assert_eq!(running.load(Ordering::Relaxed), 0);
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn on_worker_start(mut self, f: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.user.on_worker_start = Some(Box::new(f));
        self
    }

    /// Runs on each worker, with its number, as the last of the user's code. A panic is counted.
    pub fn on_worker_stop(mut self, f: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.user.on_worker_stop = Some(Box::new(f));
        self
    }

    /// Checks the settings, allocates the queues and starts the threads.
    ///
    /// # Errors
    /// A [`BuildError`]; then the threads that had started are joined and nothing is left.
    ///
    /// # Blocking
    /// Until every worker has run its start hook.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// assert!(pool.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn build(self) -> Result<WorkerPool<P>, BuildError> {
        let (config, shared) = self.resolve(None)?;
        let threads = start::start(&shared, &config)?;
        Ok(WorkerPool::new(shared, threads, config.drop_timeout))
    }
}

impl<P: Processor> PoolBuilder<P> {
    /// Builds a pool without threads, with a clock of its own that is moved by hand; see [`ManualPool`].
    ///
    /// # Errors
    /// As [`build`](PoolBuilder::build).
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build_manual()?;
    /// pool.submit(1).into_result()?;
    /// assert_eq!(pool.run_until_idle(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_manual(self) -> Result<ManualPool<P>, BuildError> {
        self.build_manual_on(&ManualClock::new())
    }

    /// As [`build_manual`](PoolBuilder::build_manual), on a clock that the processor may move too.
    ///
    /// # Errors
    /// As [`build`](PoolBuilder::build).
    ///
    /// ```
    /// use dockhand::{ManualClock, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let of_work = clock.clone();
    /// let pool = WorkerPool::builder(processor_fn(move |_: &mut u32, _cx| {
    ///     of_work.advance(Duration::from_secs(60)); // work that takes a minute
    ///     Ok::<(), String>(())
    /// }))
    /// .attempt_timeout(Duration::from_secs(30))
    /// .build_manual_on(&clock)?;
    /// pool.submit(1).into_result()?;
    /// pool.run_until_idle();
    /// assert_eq!(pool.metrics().counts.timeouts, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_manual_on(self, clock: &ManualClock) -> Result<ManualPool<P>, BuildError> {
        let (config, shared) = self.resolve(Some(clock.clone()))?;
        start::start_manual(&shared)?;
        Ok(ManualPool::new(WorkerPool::new(shared, Threads::default(), config.drop_timeout)))
    }
}

impl<P: Processor> PoolBuilder<P> {
    /// Checks the settings and allocates the queues. What is refused is dropped in a guard: of several values whose drops
    /// panic, an unwinding would abort the process.
    fn resolve(self, manual: Option<ManualClock>) -> Result<(PoolConfig, Arc<Shared<P>>), BuildError> {
        let PoolBuilder { mut config, user } = self;
        match config.resolve_lanes(LaneQueue::<P>::SLOT) {
            Ok(lanes) => {
                if manual.is_some() {
                    // The thread that steps is the worker. The lanes are checked and sized for those that were asked for.
                    config.workers = 1;
                }
                let shared = Arc::new(Shared::new(&config, lanes, user, manual));
                Ok((config, shared))
            }
            Err(error) => {
                user.let_go(&Guard::default());
                Err(error)
            }
        }
    }
}

impl<P: Processor> fmt::Debug for PoolBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
