//! A pool without threads, for tests: the same code, run on the calling thread, by a clock that is moved by hand.

use crate::clock::Moment;
use crate::pool::WorkerPool;
use crate::processor::Processor;
use crate::shared::{Shared, Turn};
use crate::step::Rounds;
use std::fmt;
use std::ops::Deref;
use std::time::{Duration, Instant};

/// A pool that runs only when it is told to, on the thread that tells it.
///
/// It derefs to [`WorkerPool`], so code that takes a pool can be tested with it. On it *waiting is running*: `wait`,
/// `wait_timeout`, `wait_idle`, `submit_timeout` and `shutdown` run tasks on the calling thread and move the clock to the
/// next due time, within their own timeout (what can run at its very end still runs, but not for `shutdown`); `wait` with
/// nothing left to run answers `WouldDeadlock`. A wait without an end outlasts what another thread is in the middle of: a
/// submit, a caller-run, a hook. The number of workers is one. A deadline that is given as an `Instant` counts from [`now`](ManualPool::now). Several threads may
/// use it; one of them steps at a time.
///
/// The clock stands still while tasks run, so a task that comes back at once without end (by retries without a delay, or by
/// submitting itself again) would keep such a call for ever. At one instant of the clock a call therefore runs at most 1,000
/// rounds; a round has at most as many turns as tasks could start when it began. Then `wait_timeout`, `wait_idle` and
/// `submit_timeout` answer as if their time was over, `wait` answers `WouldDeadlock`,
/// [`run_until_idle`](ManualPool::run_until_idle) returns, and `shutdown` and a drop end their window: what is left is abandoned.
/// Where tasks move the clock the timeout is the bound, as with threads.
///
/// ```
/// use dockhand::{RetryPolicy, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// // A policy of hours, tested at once.
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, cx| {
///     if cx.attempt() < 4 { Err("not yet") } else { Ok(()) }
/// }))
/// .retry(RetryPolicy::schedule([1, 6, 24].map(|hours| Duration::from_secs(hours * 3600))))
/// .build_manual()?;
/// let began = pool.now();
/// pool.submit(1).into_result()?;
/// pool.wait_idle(Duration::MAX)?;
/// assert_eq!(pool.metrics().counts.succeeded, 1);
/// assert_eq!(pool.now() - began, Duration::from_secs(31 * 3600));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ManualPool<P: Processor> {
    pool: WorkerPool<P>,
}

impl<P: Processor> ManualPool<P> {
    pub(crate) fn new(pool: WorkerPool<P>) -> Self {
        ManualPool { pool }
    }

    fn shared(&self) -> &Shared<P> {
        self.pool.shared()
    }

    /// What the pool's clock shows.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build_manual()?;
    /// assert_eq!(pool.now(), pool.now());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn now(&self) -> Instant {
        let clock = &self.shared().clock;
        clock.shown(clock.now())
    }

    /// Moves the clock forward. Nothing runs.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build_manual()?;
    /// let in_an_hour = TaskOptions::new().delay(Duration::from_secs(3600));
    /// pool.submitter().submit_with(1, in_an_hour).into_result()?;
    /// pool.advance(Duration::from_secs(3599));
    /// assert!(!pool.run_one());
    /// pool.advance(Duration::from_secs(1));
    /// assert!(pool.run_one());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance(&self, by: Duration) {
        if let Some(manual) = &self.shared().manual {
            manual.clock.advance(by);
        }
    }

    /// Moves the clock to the next due time that lies ahead, and says how far that was; `None` if nothing is delayed.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build_manual()?;
    /// let in_an_hour = TaskOptions::new().delay(Duration::from_secs(3600));
    /// pool.submitter().submit_with(1, in_an_hour).into_result()?;
    /// assert_eq!(pool.advance_to_next_due(), Some(Duration::from_secs(3600)));
    /// assert_eq!(pool.run_until_idle(), 1);
    /// assert_eq!(pool.advance_to_next_due(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance_to_next_due(&self) -> Option<Duration> {
        let shared = self.shared();
        let now = shared.clock.now();
        let dues = shared.lanes.iter().map(|lane| {
            let found = lane.delays.next_due_after(now);
            shared.guard.drop(found.moved_out);
            found.next
        });
        let next = dues.min().filter(|due| *due != Moment::NEVER)?;
        if let Some(manual) = &shared.manual {
            manual.clock.advance_to(next);
        }
        Some(next.since(now))
    }

    /// Runs one task on this thread, if one can start now.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build_manual()?;
    /// assert!(!pool.run_one());
    /// pool.submit(1).into_result()?;
    /// assert!(pool.run_one());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_one(&self) -> bool {
        loop {
            match self.shared().turn() {
                Turn::Ran => return true,
                Turn::Passed => {}
                Turn::Left | Turn::Nothing => return false,
            }
        }
    }

    /// Runs tasks until none can start now, and says how many. The clock stands still. What comes back without end is left after
    /// 1,000 rounds, and [`run_one`](ManualPool::run_one) then finds it.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build_manual()?;
    /// let _ = pool.submitter().submit_batch(0..5);
    /// assert_eq!(pool.run_until_idle(), 5);
    ///
    /// let again = processor_fn(|n: &mut u64, cx| {
    ///     cx.submit("default", *n + 1).into_result().map_err(|refused| refused.to_string())?;
    ///     Ok::<(), String>(())
    /// });
    /// let endless = WorkerPool::builder(again).build_manual()?;
    /// endless.submit(1).into_result()?;
    /// assert_eq!(endless.run_until_idle(), 1000);
    /// assert!(endless.run_one());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_until_idle(&self) -> usize {
        let (mut rounds, mut ran) = (Rounds::new(), 0);
        loop {
            match self.shared().turn_in(&mut rounds) {
                Some(Turn::Ran) => ran += 1,
                Some(Turn::Passed) => {}
                Some(Turn::Left | Turn::Nothing) | None => return ran,
            }
        }
    }
}

impl<P: Processor> Deref for ManualPool<P> {
    type Target = WorkerPool<P>;

    fn deref(&self) -> &WorkerPool<P> {
        &self.pool
    }
}

impl<P: Processor> fmt::Debug for ManualPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualPool").field(&self.pool).finish()
    }
}
