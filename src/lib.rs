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
//!  caller ── TaskSubmitter::submit ──► lane (bounded, limit) ──► worker ──► Processor ── Ok ──► Succeeded
//!    ▲            │ lane full?                                     ▲            │
//!    │            ▼                                                │    Err · panic · timeout
//!    │      OverloadPolicy                                         │            ▼
//!    │  Accepted / Rejected(payload back)                due ┌─────┴─────┐  classify ── give up ──► DeadLetters
//!    └─ / CallerRun / Dropped        TaskOptions::delay ────►│  delayed  │◄── retry after d      ▲
//!                                                            └───────────┘                dead_letter_sink
//! ```
//!
//! | step | names |
//! | --- | --- |
//! | build | [`WorkerPool::builder`], [`PoolBuilder`], [`Lane`], [`OverloadPolicy`], [`RetryPolicy`], [`IdleStrategy`] |
//! | submit | [`WorkerPool::submit`], [`TaskSubmitter`], [`TaskOptions`], [`SubmitResult`], [`Rejection`] |
//! | work | [`Processor`], [`processor_fn`], [`TaskContext`], [`Closures`] |
//! | follow | [`TaskHandle`], [`TaskStatus`], [`Outcome`], [`Event`] |
//! | fail | [`RetryDecision`], [`Cause`], [`Failure`], [`DeadLetter`], [`letter::DeadLetters`] |
//! | look | [`WorkerPool::metrics`], [`WorkerPool::status`], [`metrics::Counts`], [`metrics::Histogram`], [`Timing`] |
//! | test | [`ManualPool`], [`ManualClock`], [`TaskContext::detached`] |
//! | end | [`WorkerPool::wait_idle`], [`WorkerPool::shutdown`], [`ShutdownReport`] |
//!
//! # What is promised
//!
//! * **Conservation.** At any quiet moment `submitted = accepted + rejected + caller_run + dropped`, and `accepted +
//!   caller_run = succeeded + dead_lettered + cancelled + expired + evicted + abandoned + queued + delayed + running`, for the
//!   pool and for each lane; see [`metrics::Counts::is_conserved`].
//! * **One outcome.** Every accepted task ends in exactly one [`Outcome`], whatever happens at the same time, and every
//!   [`TaskHandle`] gets it.
//! * **No payload disappears.** It is used up by `Ok`; back with the caller; in a letter; in the shutdown report; or handed to
//!   [`on_shed`](PoolBuilder::on_shed), without which it is dropped there.
//! * **Prompt start.** An accepted task starts as soon as a worker and, in a lane with a limit, a permit are free; no periodic
//!   poll is involved.
//! * **Never early, never late.** No attempt starts before its delay is over, and none at its deadline or later.
//! * **Order.** Tasks of a lane are taken in the order in which they were queued. Lanes are taken by priority, with a rotation
//!   that lets none starve. What is due and what is fresh alternate.
//! * **User code** runs under no lock of the pool, may panic, and may call any method of the pool. So may a destructor of a
//!   thread-local; the pool itself does not panic, so a program may be built with `panic = "abort"`. A panic of the user's ends it then.
//!
//! # What is lost, and what is not promised
//!
//! * What is queued, delayed or kept as a letter when the process ends is lost. A pool in a `static` is never dropped, so that
//!   is true of a normal exit too.
//! * With retries a task may run more than once; without (the default) at most once.
//! * Nothing interrupts a processor that does not come back; a timeout or a shutdown asks, names it, and goes on.
//! * A pool does not survive a fork: a child's submits are accepted and never run; see [`WorkerPool`].
//! * Numbers add up at quiet moments only.
//! * A full lane refuses nothing to the others, but without a limit its tasks may occupy every worker.
//!
//! # When not to use this
//!
//! For data parallelism use rayon. For work that is mostly waiting on sockets use an async runtime. For work that must survive the
//! process use a queue with a store. For a handful of long-lived threads use threads.
//!
//! # Writing a processor
//!
//! * **Idempotent.** With retries an attempt that failed may have had its effect. So may one that came back with `Ok` after its
//!   [`attempt_timeout`](Lane::attempt_timeout): it counts as failed.
//! * **The payload is a checkpoint.** It is `&mut` and survives a failed attempt: write into it how far the work has come. Take
//!   things out of it (`mem::take`) after the last step that can fail. A panic leaves it half changed, and a letter keeps it so.
//! * **Small payloads.** Queue slots are inline, so a queue takes its capacity times the size of the largest variant. Box what is
//!   larger than about 1 KiB.
//! * **Checkpoints.** A long task calls [`TaskContext::checkpoint`] now and then, so that a cancel, a timeout or a shutdown finds
//!   it willing, and [`report_progress`](TaskContext::report_progress), so that a busy worker can be told from a stuck one.
//! * **Timeouts of its own.** A blocking call needs the timeout of its own library: the pool interrupts nothing.
//! * **Follow-ups last**, for an attempt that submits and then fails submits again; or with a key. Those that are refused come
//!   back through [`into_payload`](SubmitResult::into_payload); `?` would put them into the error.
//! * **No state per worker.** Use `thread_local!` with lazy initialisation. Caller-run threads have other thread-locals and never
//!   ran [`on_worker_start`](PoolBuilder::on_worker_start).
//!
//! ```
//! use dockhand::{BoxError, RetryPolicy, TaskContext, WorkerPool, processor_fn};
//! use std::time::Duration;
//!
//! struct Upload {
//!     parts: Vec<&'static str>,
//!     sent: usize,
//! }
//!
//! fn send(part: &str, attempt: u32) -> Result<(), BoxError> {
//!     if part == "b" && attempt == 1 { Err("connection lost".into()) } else { Ok(()) }
//! }
//!
//! let upload = |upload: &mut Upload, cx: &TaskContext<'_, Upload>| -> Result<usize, BoxError> {
//!     let before = upload.sent;
//!     while let Some(part) = upload.parts.get(upload.sent) {
//!         cx.checkpoint()?;
//!         send(part, cx.attempt())?;
//!         upload.sent += 1; // the next attempt goes on from here
//!         cx.report_progress(upload.sent as u64, upload.parts.len() as u64);
//!     }
//!     Ok(upload.sent - before)
//! };
//! let pool = WorkerPool::builder(processor_fn(upload)).retry(RetryPolicy::fixed(Duration::ZERO)).build()?;
//! let handle = pool.submitter().submit_tracked(Upload { parts: vec!["a", "b", "c"], sent: 0 })?;
//! assert_eq!(handle.wait()?, 2); // the second attempt sent b and c
//! # Ok::<(), BoxError>(())
//! ```
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
//! An event loop gets a submitter [`with_overload(Reject)`](TaskSubmitter::with_overload), whatever the lane says. In a lane at its
//! limit a caller-run is refused with [`LaneLimit`](RejectReason::LaneLimit). A full delay queue refuses under every policy.
//!
//! # How many workers, how long a queue
//!
//! Work that computes wants as many workers as there are cores, the default. Work that waits (disks, services) wants more: tasks per
//! second times seconds per task is how many run at a time, and half as many more leave room for bursts. A queue is a wait: as
//! many tasks as `workers * acceptable wait / time per task`, which [`queue_capacity_for`](PoolBuilder::queue_capacity_for) computes
//! for a lane that all workers serve. A longer queue gets no more work done; it only says "no" later. A shorter one than a burst
//! refuses while workers are idle: a thread submits hundreds of tasks in the time in which a sleeping worker is woken. So a queue
//! holds the largest burst too, or the burst comes by [`submit_timeout`](TaskSubmitter::submit_timeout). The first declared lane is the
//! most urgent, and `"default"` the least unless it is declared.
//!
//! # Limits
//!
//! [`Lane::max_concurrency`] bounds how many attempts of a lane run at a time: what one disk or one service can take, or what a
//! slow kind of work may have of the workers. What a limit holds back keeps its place and costs no worker.
//! [`set_max_concurrency`](WorkerPool::set_max_concurrency) changes it while the pool runs; 0 pauses the lane. The permit of an
//! attempt that overruns its timeout stays in use until it comes back.
//!
//! # Delays, deadlines, timeouts
//!
//! [`TaskOptions`] say when one task may start ([`delay`](TaskOptions::delay)) and until when ([`deadline`](TaskOptions::deadline),
//! [`ttl`](TaskOptions::ttl)); [`Lane::ttl`] is what a lane's tasks have that say neither. A delayed task waits in the lane's bounded
//! delay queue, beside the retries. What misses its deadline ends as `Expired` and goes to `on_shed`; no retry is planned beyond it.
//! [`Lane::attempt_timeout`] bounds one attempt, by asking. `Duration::MAX` is "never" everywhere.
//!
//! # Handles and cancellation
//!
//! [`submit_tracked`](TaskSubmitter::submit_tracked) costs one allocation and gives a [`TaskHandle`]: status, progress, and the output,
//! to a thread that waits or to an async task that awaits, without any runtime. [`cancel`](TaskHandle::cancel) gives the payload of
//! a task back that waits, and asks one that runs. The answer is given once: a later wait says
//! [`AlreadyTaken`](TaskError::AlreadyTaken), a later poll panics. Dropping a handle detaches; a server whose client may leave wants
//! [`cancel_on_drop`](TaskHandle::cancel_on_drop).
//!
//! # Keys
//!
//! With [`TaskOptions::key`] a lane takes one task of a name at a time, from its submit to its outcome; another one is refused with
//! the [id](RejectReason::Duplicate) of the first. Keys coalesce; they do not remember what is done. A letter names its key but
//! does not hold it, since its task has ended; a replay takes it again.
//!
//! # Retries, budgets, letters
//!
//! A failed attempt is classified ([`classify`](PoolBuilder::classify)), and the lane's [`RetryPolicy`] says whether and when it is
//! tried again; `max_retries(3)` is four attempts. It waits in the lane's delay queue and goes from there straight to a worker: it
//! needs no room in the lane and holds no worker. A [`budget`](RetryPolicy::budget) keeps the retries of a lane to a share of its
//! work, so that a service that is down is not asked four times as often. A failure without retry, room or budget becomes a
//! letter with that [reason](letter::DeadLetterReason), to be listed, repaired and requeued by somebody
//! ([`dead_letters`](WorkerPool::dead_letters)). The letter of a panic has its message; [`letter`] shows how a program adds the place.
//! A task whose retry a shutdown cuts off is no letter but in its report.
//!
//! The classifier may name a delay ([`RetryAfter`](RetryDecision::RetryAfter)), which is a lower bound: jitter adds to it, and
//! no cap cuts it. Beyond [`max_retry_after`](RetryPolicy::max_retry_after) the task is given up.
//!
//! A replay keeps what the task was: [`requeue`](letter::DeadLetters::requeue) takes its key again, starts its ttl anew and keeps
//! its deadline; [`requeue_with`](letter::DeadLetters::requeue_with) sets others. [`TaskInfo`] says how often a task was
//! replayed, so that a [sink](PoolBuilder::dead_letter_sink) can bound that, and the id under which it began. What the pool hands
//! back says in [`Shed::options`] how it was submitted. A search for a letter costs the logarithm of how many are kept.
//!
//! # Events
//!
//! [`on_event`](PoolBuilder::on_event) hears each [`Event`] where it happens, so it costs the thread it runs on; without a listener
//! nothing of it costs anything. Slow attempts ([`Lane::slow_after`]) are told there and in the log.
//!
//! # Numbers
//!
//! [`metrics`](WorkerPool::metrics) has the terms of the law and, by lane, histograms of wait and run time;
//! [`status`](WorkerPool::status) says what each worker does and since when. [`Timing`] says how many tasks are timed: one in 16 by
//! default, since a clock reading costs more than the rest of a submit. `Full` also tells the age of the oldest queued task; `Off`
//! leaves out slow warnings too. With the feature `prometheus`, `WorkerPool::collector` exposes it all to the official client.
//!
//! # Testing
//!
//! A processor alone is tested with [`TaskContext::detached`]. A policy of hours is tested in a millisecond with
//! [`build_manual`](PoolBuilder::build_manual): a [`ManualPool`] has no threads, runs the same code on the test's own, and its clock is
//! moved by hand. See the example `testing_your_processor`.
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
//! A ttl, a delay or a deadline costs a clock reading. A handle, a key, a deadline or a replay costs an allocation, a limit two atomic
//! changes for each attempt. A task that is timed costs three clock readings. The pool's memory is that of its queues, plus what is
//! delayed or kept as letters.
//!
//! Of the text of an error or a panic the pool keeps and logs the first 4,096 bytes, and the length of a longer one. What it keeps by
//! value is yours to bound, by size:
//!
//! | kept by value | how many, and how long |
//! | --- | --- |
//! | payloads | tasks that wait or run, and letters |
//! | errors | the last one of each task that waits for a retry, of each letter, and of each failed task's handle |
//! | outputs | one for each handle, until it is taken or the handle is dropped |
//! | keys | one for each task in flight that has one, and for its letter |
//! | names of the pool and its lanes | as long as the pool lives; in each record of the log, snapshot and label that names them |
//!
//! # Sources
//!
//! The sleep protocol follows that of rayon-core (`rayon-core/src/sleep/README.md`); the queue is crossbeam's `ArrayQueue`, after
//! Dmitry Vyukov's bounded MPMC queue; exponential backoff with jitter as in the AWS Architecture Blog, "Exponential Backoff And
//! Jitter" (2015); retry budgets after Finagle's `RetryBudget` and tower's `retry::budget`.

#![forbid(unsafe_code)]

// The flow, in the order in which a task meets it.
mod task;
mod options;
mod job;
mod submitter;
mod submit;
mod batch;
mod lane;
mod overload;
mod worker;
mod attempt;
mod current;
mod processor;
mod context;
mod course;
mod ending;
mod failure;
mod retry;
mod budget;
mod dead_letter;
mod letters;

// A tracked task, as its submitter sees it.
mod handle;
mod slot;
mod stage;

// The pool: built, looked at, listened to, ended.
mod plain;
mod pool;
mod config;
mod builder;
mod start;
mod manual;
mod error;
mod event;
mod tell;
mod meter;
pub mod metrics;
mod snapshot;
mod histogram;
mod ages;
#[cfg(feature = "prometheus")]
mod prometheus;
mod step;
mod shutdown;

// Machinery that knows no user.
mod shared;
mod sleep;
mod word;
mod gate;
mod room;
mod idle;
mod permits;
mod delay;
mod timer;
mod drain;
mod inside;
mod tally;
mod user;
mod clock;
mod chance;
mod sync;

#[cfg(all(test, dockhand_loom))]
mod models;

#[cfg(all(test, dockhand_shuttle))]
mod schedules;

#[cfg(doctest)]
mod compile_fail;

pub use builder::PoolBuilder;
pub use clock::ManualClock;
pub use config::{IdleStrategy, Lane, OverloadPolicy, Timing};
pub use context::TaskContext;
pub use dead_letter::DeadLetter;
pub use error::{
    BatchResult, BoxError, BuildError, CallerRun, Interrupted, RejectReason, Rejection, SubmitResult,
    TaskError, WaitError,
};
pub use event::{Event, Progress};
pub use failure::{Cause, Failure, RetryDecision};
pub use handle::{CancelOutcome, TaskHandle};
pub use manual::ManualPool;
pub use options::TaskOptions;
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
///
/// # The place of a panic
///
/// The letter of a panic has its message and not its place: of that only the program's panic hook hears. A hook that keeps it for
/// its thread lets a processor add it:
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::cell::RefCell;
/// use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
/// use std::time::Duration;
///
/// thread_local! {
///     static LAST: RefCell<String> = const { RefCell::new(String::new()) };
/// }
///
/// // Once, in `main`.
/// let before = take_hook();
/// set_hook(Box::new(move |info| {
///     let text = info.to_string(); // "panicked at src/main.rs:7:5:", and the message
///     let _ = LAST.try_with(|last| last.replace(text));
///     before(info);
/// }));
///
/// /// Runs `work`. A panic in it goes on, with its place in the message, and no hook hears of it again.
/// fn with_place<R>(work: impl FnOnce() -> R) -> R {
///     let caught = catch_unwind(AssertUnwindSafe(work));
///     caught.unwrap_or_else(|_| resume_unwind(Box::new(LAST.try_with(RefCell::take).unwrap_or_default())))
/// }
///
/// let stock = [3, 1, 2];
/// let pool = WorkerPool::builder(processor_fn(move |item: &mut usize, _cx| {
///     with_place(|| Ok::<u32, String>(stock[*item]))
/// }))
/// .build()?;
/// pool.submit(7).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// let error = &pool.dead_letters().list()[0].error;
/// assert!(error.contains(".rs:") && error.contains("index out of bounds"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod letter {
    pub use crate::dead_letter::{LetterFate, LetterInfo};
    pub use crate::failure::DeadLetterReason;
    pub use crate::letters::DeadLetters;
}
