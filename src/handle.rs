//! A tracked task, as its submitter sees it.

use crate::clock::Moment;
use crate::error::TaskError;
use crate::event::Progress;
use crate::inside;
use crate::job::{Held, Job, Place};
use crate::processor::Processor;
use crate::shared::Shared;
use crate::slot::{Look, Parked, Slot, TaskResult};
use crate::stage::Stage;
use crate::step::{AtEnd, Stepped};
use crate::task::{Outcome, TaskId, TaskStatus};
use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A tracked task: its status, its output, and the means to cancel it.
///
/// It can be waited for by a thread ([`wait`](TaskHandle::wait)) or awaited: the future needs no runtime and never
/// blocks. It resolves for every outcome, once all of the task's hooks and drops are over. The output is moved out, once: a
/// wait after that answers [`TaskError::AlreadyTaken`], a poll panics, and id and status stay readable.
/// Dropping a handle detaches: the task goes on, unless [`cancel_on_drop`](TaskHandle::cancel_on_drop) was asked for. It
/// holds a pool's memory, not the pool.
///
/// A thread that is inside the pool cannot wait for it, and `wait` says so. A `block_on` of the future there is not
/// detected and hangs; nor are two pools that wait for each other.
///
/// ```
/// use dockhand::{Outcome, TaskStatus, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n * 2))).build()?;
/// let handle = pool.submitter().submit_tracked(21)?;
/// assert_eq!(handle.wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a handle that is dropped detaches: use `submit` for a task nobody asks for"]
pub struct TaskHandle<P: Processor> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) slot: Arc<Slot<P>>,
    pub(crate) cancel_on_drop: bool,
}

/// What a cancel came to.
///
/// See [`TaskHandle::cancel`] for an example.
#[derive(PartialEq, Eq)]
#[must_use = "the payload comes back in it"]
pub enum CancelOutcome<T> {
    /// The task waited; it will not run, and its payload is back.
    Cancelled(T),
    /// The task runs and was asked to stop. It is not retried, and ends as `Cancelled` unless it comes back with `Ok`.
    Requested,
    /// The task has ended.
    TooLate,
}

impl<T> fmt::Debug for CancelOutcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CancelOutcome::Cancelled(_) => "Cancelled(..)",
            CancelOutcome::Requested => "Requested",
            CancelOutcome::TooLate => "TooLate",
        })
    }
}

impl<P: Processor> TaskHandle<P> {
    /// The id of the task.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n))).build()?;
    /// let (one, two) = (pool.submitter().submit_tracked(1)?, pool.submitter().submit_tracked(2)?);
    /// assert_ne!(one.id(), two.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self) -> TaskId {
        self.slot.id
    }

    /// Where the task is now. A task that waits past its deadline expires here.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, TaskStatus, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n))).build()?;
    /// let tomorrow = TaskOptions::new().delay(Duration::from_secs(86_400));
    /// let handle = pool.submitter().submit_tracked_with(1, tomorrow)?;
    /// assert!(matches!(handle.status(), TaskStatus::Delayed { .. }));
    /// # let _ = handle.cancel();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn status(&self) -> TaskStatus {
        self.shared.expire_if_late(&self.slot);
        let due = || self.shared.clock.shown(self.slot.due());
        let (stage, attempt) = self.slot.stage.stage_and_attempts();
        match stage {
            Stage::Queued => TaskStatus::Queued,
            Stage::Delayed => TaskStatus::Delayed { due: due() },
            Stage::Retrying => TaskStatus::Retrying { due: due() },
            Stage::Running => TaskStatus::Running { attempt },
            Stage::Ended(outcome) => TaskStatus::Ended(outcome),
        }
    }

    /// What the running attempt, or the last one, has reported.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u64, cx| { cx.report_progress(*n, 10); Ok::<(), String>(()) })).build()?;
    /// let mut handle = pool.submitter().submit_tracked(3)?;
    /// assert!(handle.wait_timeout(Duration::from_secs(10)).is_some());
    /// assert_eq!(handle.progress().map(|progress| (progress.done, progress.total)), Some((3, 10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(&self) -> Option<Progress> {
        self.slot.progress()
    }

    /// Takes the task away if it waits, or asks it to stop if it runs.
    ///
    /// ```
    /// # use dockhand::{CancelOutcome, TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n))).build()?;
    /// let tomorrow = TaskOptions::new().delay(Duration::from_secs(86_400));
    /// let handle = pool.submitter().submit_tracked_with(7, tomorrow)?;
    /// assert_eq!(handle.cancel(), CancelOutcome::Cancelled(7));
    /// assert_eq!(handle.cancel(), CancelOutcome::TooLate);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) -> CancelOutcome<P::Payload> {
        let telling = self.shared.telling();
        loop {
            match self.slot.stage.end_waiting(Outcome::Cancelled) {
                Ok(was) => {
                    let parked = self.slot.unpark();
                    self.shared.count_ended_waiting(&self.slot, was, Outcome::Cancelled);
                    // Who wins the stage owns the payload, so it is there.
                    let payload = parked.map(|Parked { payload, last_failure }| {
                        self.shared.guard.drop(last_failure);
                        payload
                    });
                    telling.tell_slot_ended(&self.slot, Outcome::Cancelled);
                    self.shared.resolve(&self.slot, Err(TaskError::Cancelled));
                    return payload.map_or(CancelOutcome::TooLate, CancelOutcome::Cancelled);
                }
                Err(Stage::Running) if self.slot.stage.request_cancel() => return CancelOutcome::Requested,
                Err(Stage::Ended(_)) => return CancelOutcome::TooLate,
                // It has moved on in between.
                Err(_) => {}
            }
        }
    }

    /// From here on dropping the handle cancels the task: what servers want for a request whose client has left.
    ///
    /// ```
    /// # use dockhand::{TaskOptions, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n))).build()?;
    /// let tomorrow = TaskOptions::new().delay(Duration::from_secs(86_400));
    /// drop(pool.submitter().submit_tracked_with(7, tomorrow)?.cancel_on_drop());
    /// assert_eq!(pool.metrics().counts.cancelled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }

    /// Waits for the task's end.
    ///
    /// # Errors
    /// How the task ended without an output; [`TaskError::WouldDeadlock`] on a thread that is in a task or hook of the
    /// task's pool, if the task has not ended; [`TaskError::AlreadyTaken`] if
    /// [`wait_timeout`](TaskHandle::wait_timeout) or a poll has given the answer out already.
    ///
    /// # Blocking
    /// Until the end; at most until a `shutdown` from outside returns, which gives every handle its outcome.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n + 1))).build()?;
    /// assert_eq!(pool.submitter().submit_tracked(1)?.wait()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(mut self) -> TaskResult<P> {
        loop {
            // `Duration::MAX` is as long as it takes.
            if let Some(result) = self.wait_timeout(Duration::MAX) {
                return result;
            }
        }
    }

    /// Waits up to `timeout`; `None` if the time was over first. The answer is given once.
    ///
    /// # Errors
    /// As [`wait`](TaskHandle::wait). After [`TaskError::WouldDeadlock`] the answer is still to come.
    ///
    /// # Blocking
    /// Up to `timeout`.
    ///
    /// ```
    /// # use dockhand::{TaskError, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| Ok::<u32, String>(*n + 1))).build()?;
    /// let mut handle = pool.submitter().submit_tracked(1)?;
    /// assert!(matches!(handle.wait_timeout(Duration::from_secs(10)), Some(Ok(2))));
    /// assert!(matches!(handle.wait_timeout(Duration::ZERO), Some(Err(TaskError::AlreadyTaken))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<TaskResult<P>> {
        let shared = &*self.shared;
        let end = shared.clock.now().after(timeout);
        if shared.manual.is_some() && !inside::is_inside(shared.id) {
            // Waiting is running. With nothing left to run and no end of the wait, it would wait for itself.
            let answered = || shared.expire_if_late(&self.slot) || self.slot.is_resolved();
            let stepped = shared.step_until(answered, || end.min(self.expiry()), AtEnd::RunOn);
            if stepped != Stepped::Held && end == Moment::NEVER {
                return Some(Err(TaskError::WouldDeadlock));
            }
            if stepped == Stepped::StoodStill {
                return None;
            }
        }
        loop {
            match self.slot.look() {
                Look::Ready(result) => return Some(result),
                Look::Gone => return Some(Err(TaskError::AlreadyTaken)),
                Look::NotYet if shared.expire_if_late(&self.slot) => continue,
                Look::NotYet if inside::is_inside(shared.id) || shared.is_forked() => {
                    return Some(Err(TaskError::WouldDeadlock));
                }
                Look::NotYet => {}
            }
            if shared.clock.now() >= end {
                return None;
            }
            self.slot.wait(shared.clock.instant(end.min(self.expiry())));
        }
    }

    /// A task that waits expires at its time for whoever asks; one that runs may wait again by then.
    fn expiry(&self) -> Moment {
        let is_past = self.shared.clock.now() >= self.slot.deadline;
        match self.slot.stage.stage() {
            Stage::Ended(_) => Moment::NEVER,
            Stage::Running if is_past => Moment::NEVER,
            _ => self.slot.deadline,
        }
    }
}

impl<P: Processor> Future for TaskHandle<P> {
    type Output = TaskResult<P>;

    /// Never blocks.
    ///
    /// # Panics
    /// If the answer was given before, by a poll or by [`wait_timeout`](TaskHandle::wait_timeout).
    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TaskResult<P>> {
        self.shared.expire_if_late(&self.slot);
        // The waker is user code: cloned before the lock, the one it replaces is dropped after it.
        let waker = cx.waker().clone();
        let (found, replaced) = self.slot.look_or_leave(waker);
        self.shared.guard.drop(replaced);
        match found {
            Look::Ready(result) => Poll::Ready(result),
            Look::NotYet => Poll::Pending,
            Look::Gone => panic!("`TaskHandle` polled after completion: its answer was taken before"),
        }
    }
}

impl<P: Processor> Drop for TaskHandle<P> {
    fn drop(&mut self) {
        if self.cancel_on_drop {
            if let CancelOutcome::Cancelled(payload) = self.cancel() {
                self.shared.guard.drop(payload);
            }
        }
        let (result, waker) = self.slot.detach();
        self.shared.guard.drop(result);
        self.shared.guard.drop(waker);
    }
}

impl<P: Processor> fmt::Debug for TaskHandle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle")
            .field("id", &self.slot.id)
            .field("stage", &self.slot.stage.stage())
            .finish_non_exhaustive()
    }
}

impl<P: Processor> Unpin for TaskHandle<P> {}
impl<P: Processor> UnwindSafe for TaskHandle<P> {}
impl<P: Processor> RefUnwindSafe for TaskHandle<P> {}

impl<P: Processor> Shared<P> {
    /// A tracked task that waits past its deadline ends for whoever asks. True if this call ended it.
    pub(crate) fn expire_if_late(&self, slot: &Arc<Slot<P>>) -> bool {
        if slot.deadline == Moment::NEVER || !slot.stage.stage().is_waiting() {
            return false;
        }
        if self.clock.now() < slot.deadline {
            return false;
        }
        let telling = self.telling();
        let Ok(was) = slot.stage.end_waiting(Outcome::Expired) else {
            return false;
        };
        let parked = slot.unpark();
        if let Some(Parked { payload, last_failure }) = parked {
            let place = match was {
                Stage::Delayed => Place::Delayed(slot.due()),
                Stage::Retrying => Place::Retrying(slot.due()),
                _ => Place::Queued,
            };
            let (id, deadline, attempts) = (slot.id, slot.deadline, slot.attempt());
            let job = Job {
                id,
                deadline,
                stamp: Moment::NEVER,
                payload,
                slot: Some(Arc::clone(slot)),
                attempts,
                last_failure,
            };
            self.count_ended_waiting(slot, was, Outcome::Expired);
            let shed = self.to_shed(Held { lane: slot.lane, was: place, job }, Outcome::Expired);
            self.shed(telling.user(), shed);
        }
        telling.tell_slot_ended(slot, Outcome::Expired);
        self.resolve(slot, Err(TaskError::Expired));
        true
    }
}
