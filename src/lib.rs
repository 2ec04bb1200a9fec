//! A bounded, in-memory worker pool for programs with a latency budget.
//!
//! A thread that must not wait hands a payload to a bounded lane and learns at once what became of it. A fixed number of
//! worker threads call a [`Processor`]. Failed attempts are retried without holding a worker; what fails for good becomes a
//! letter; a shutdown accounts for every task. There is no unsafe code and no async runtime, and nothing is stored on disk.
//!
//! ```
//! use dockhand::{RetryPolicy, WorkerPool, processor_fn};
//! use std::time::Duration;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let pool = WorkerPool::builder(processor_fn(|name: &mut String, _cx| {
//!             println!("hello {name}");
//!             Ok::<(), String>(())
//!         }))
//!         .workers(2)
//!         .queue_capacity(1024)
//!         .retry(RetryPolicy::exponential(Duration::from_millis(100)).jitter(0.2))
//!         .build()?;
//!
//!     pool.submit("world".to_string()).into_result()?; // Ok(TaskId), or the payload back inside the error
//!     let report = pool.shutdown(Duration::from_secs(5));
//!     assert!(report.is_clean());
//!     Ok(())
//! }
//! ```
//!
//! # The flow
//!
//! ```text
//!  caller ── TaskSubmitter::submit ──► lane (bounded) ──► worker ──► Processor ── Ok ──► Succeeded
//!    ▲            │ lane full?                              ▲            │
//!    │            ▼                                         │        Err · panic
//!    │      OverloadPolicy                                  │            ▼
//!    │  Accepted / Rejected(payload back)         due ┌─────┴─────┐  classify ── give up ──► DeadLetters
//!    └─ / CallerRun / Dropped                         │ delayed   │◄── retry after d      ▲
//!                                                     └───────────┘                dead_letter_sink
//! ```
//!
//! | step | names |
//! | --- | --- |
//! | build | [`WorkerPool::builder`], [`PoolBuilder`], [`Lane`], [`OverloadPolicy`], [`RetryPolicy`], [`IdleStrategy`] |
//! | submit | [`WorkerPool::submit`], [`TaskSubmitter`], [`SubmitResult`], [`Rejection`] |
//! | work | [`Processor`], [`processor_fn`], [`TaskContext`], [`Closures`] |
//! | fail | [`RetryDecision`], [`Cause`], [`Failure`], [`DeadLetter`], [`letter::DeadLetters`] |
//! | look | [`WorkerPool::metrics`], [`WorkerPool::status`], [`metrics::Counts`] |
//! | end | [`WorkerPool::wait_idle`], [`WorkerPool::shutdown`], [`ShutdownReport`] |
//!
//! # What is promised
//!
//! * **Conservation.** At any quiet moment `submitted = accepted + rejected + caller_run + dropped`, and `accepted +
//!   caller_run = succeeded + dead_lettered + cancelled + expired + evicted + abandoned + queued + delayed + running`, for the
//!   pool and for each lane; see [`metrics::Counts::is_conserved`].
//! * **One outcome.** Every accepted task ends in exactly one [`Outcome`], whatever happens at the same time.
//! * **No payload disappears.** It is used up by `Ok`; back with the caller; in a letter; in the shutdown report; or handed to
//!   [`on_shed`](PoolBuilder::on_shed), without which it is dropped there.
//! * **Prompt start.** An accepted task starts as soon as a worker is free; no periodic poll is involved.
//! * **Order.** Tasks of a lane are taken in the order in which they were queued. Lanes are taken by priority, with a rotation
//!   that lets none starve. What is due for a retry and what is fresh alternate.
//! * **User code** runs under no lock of the pool, may panic, and may call any method of the pool.
//!
//! # What is not
//!
//! * What is queued when the process ends is lost. A pool in a `static` is never dropped.
//! * With retries a task may run more than once.
//! * Nothing interrupts a processor that does not come back; a shutdown names it and goes on.
//! * Numbers add up at quiet moments only.
//! * A full lane refuses nothing to the others, but its tasks may occupy every worker.
//!
//! # Writing a processor
//!
//! * With retries, make the work idempotent: an attempt that failed may have had its effect.
//! * The payload is `&mut` and survives a failed attempt. Take things out of it after the last step that can fail, or use it as a
//!   checkpoint. A panic leaves it half changed.
//! * Keep payloads small: queue slots are inline, so a queue takes its capacity times the size of the largest variant. Box what is
//!   larger than about 1 KiB.
//! * Long tasks call [`TaskContext::checkpoint`] now and then, so that a shutdown finds them willing.
//! * Submit follow-ups last, with [`into_payload`](SubmitResult::into_payload) for those that are refused.
//! * There is no state per worker: use `thread_local!` with lazy initialisation. Caller-run threads have other thread-locals and
//!   never ran [`on_worker_start`](PoolBuilder::on_worker_start).
//!
//! # Overload
//!
//! | the caller … | policy |
//! | --- | --- |
//! | can answer "busy", or try again later | [`Reject`](OverloadPolicy::Reject) |
//! | may be slowed down: a batch producer, never an event loop | [`CallerRuns`](OverloadPolicy::CallerRuns), or [`submit_timeout`](TaskSubmitter::submit_timeout) |
//! | has newer work that is worth more than the oldest | [`DropOldest`](OverloadPolicy::DropOldest), with an `on_shed` that recycles |
//! | has newer work that is worth nothing while older waits | [`DropIncoming`](OverloadPolicy::DropIncoming) |
//!
//! Size a queue from the wait that is acceptable: [`queue_capacity_for`](PoolBuilder::queue_capacity_for).
//!
//! # Retries and letters
//!
//! A failed attempt is classified ([`classify`](PoolBuilder::classify)), and the lane's [`RetryPolicy`] says whether and when it is
//! tried again. It waits in the lane's bounded delay queue and goes from there straight to a worker: it needs no room in the lane
//! and holds no worker. A retry without room, without retries left, or after the end of a shutdown becomes a letter with that
//! [reason](letter::DeadLetterReason).
//!
//! # Ending
//!
//! [`shutdown`](WorkerPool::shutdown) drains within its timeout and reports. A pipeline whose tasks submit follow-ups is ended by:
//! stop the producers, [`wait_idle`](WorkerPool::wait_idle), then `shutdown`; follow-ups are refused while the pool drains. A
//! second signal is `shutdown(Duration::ZERO)`. Dropping the pool drains for `drop_timeout` and may block that long: on an async
//! runtime's thread, call `shutdown` where blocking is allowed. A processor, hook or payload that owns the pool itself (an
//! `Arc<WorkerPool>`) keeps it from being dropped; one that owns a submitter is let go at the end of the shutdown.
//!
//! # Cost
//!
//! A submit is a load, the queue's push, a fence and a load; a system call only if it has to wake a worker, and never more than one.
//! Each attempt reads the clock once. The pool's memory is that of its queues, plus what is delayed or kept as letters.
//!
//! # Sources
//!
//! The sleep protocol follows that of rayon-core (`rayon-core/src/sleep/README.md`); the queue is crossbeam's `ArrayQueue`, after
//! Dmitry Vyukov's bounded MPMC queue; exponential backoff with jitter as in the AWS Architecture Blog, "Exponential Backoff And
//! Jitter" (2015).

#![forbid(unsafe_code)]

// The flow, in the order in which a task meets it.
mod attempt;
mod batch;
mod context;
mod dead_letter;
mod failure;
mod lane;
mod letters;
mod processor;
mod submitter;
mod task;
mod worker;

// The pool.
mod builder;
mod config;
mod error;
pub mod metrics;
mod pool;
mod retry;
mod shutdown;
mod snapshot;
mod start;

#[cfg(all(test, dockhand_loom))]
mod models;

// Machinery that knows no user.
mod clock;
mod delay;
mod drain;
mod gate;
mod idle;
mod inside;
mod room;
mod shared;
mod sleep;
mod sync;
mod tally;
mod timer;
mod user;
mod word;

#[cfg(doctest)]
mod compile_fail;

pub use builder::PoolBuilder;
pub use config::{IdleStrategy, Lane, OverloadPolicy};
pub use context::TaskContext;
pub use dead_letter::DeadLetter;
pub use error::{
    BatchResult, BoxError, BuildError, CallerRun, Interrupted, RejectReason, Rejection, SubmitResult,
    WaitError,
};
pub use failure::{Cause, Failure, RetryDecision};
pub use pool::WorkerPool;
pub use processor::{Closure, Closures, Processor, ProcessorFn, processor_fn};
pub use retry::RetryPolicy;
pub use shutdown::ShutdownReport;
pub use submitter::TaskSubmitter;
pub use task::{Outcome, Shed, TaskId, TaskInfo, TaskStatus};

/// The README's code is compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// Dead letters: the store and what is known of each.
pub mod letter {
    pub use crate::dead_letter::{LetterFate, LetterInfo};
    pub use crate::failure::DeadLetterReason;
    pub use crate::letters::DeadLetters;
}
