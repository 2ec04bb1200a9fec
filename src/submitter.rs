//! The way in: a submit, and what a full lane's policy makes of it.

use crate::attempt::Attempt;
use crate::batch;
use crate::config::OverloadPolicy;
use crate::context::ContextHost;
use crate::error::{BatchResult, CallerRun, Interrupted, RejectReason, Rejection, SubmitResult};
use crate::inside;
use crate::lane::Held;
use crate::processor::{Closure, Closures, Processor};
use crate::room::Waited;
use crate::shared::{HeldOf, Shared};
use crate::tally::{Count, Recorder};
use crate::task::{Job, Outcome, Place, Task, TaskId};
use crate::word::Runner;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Offers tasks to one lane. A cheap clone; it may outlive the pool and is then refused.
///
/// ```
/// use dockhand::{Lane, WorkerPool, processor_fn};
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
///     .lane(Lane::new("urgent"))
///     .build()?;
/// let urgent = pool.submitter_for("urgent")?;
/// let thread = std::thread::spawn({
///     let urgent = urgent.clone();
///     move || urgent.submit(1).into_result().is_ok()
/// });
/// assert_eq!(thread.join().ok(), Some(true));
/// drop(pool);
/// assert_eq!(urgent.submit(2).into_payload(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskSubmitter<P: Processor> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) lane: usize,
    pub(crate) overload: OverloadPolicy,
}

impl<P: Processor> TaskSubmitter<P> {
    /// The same lane under another policy, for this submitter and its clones only.
    ///
    /// `DropOldest` displaces tasks of other submitters too; `CallerRuns` blocks whoever submits.
    ///
    /// ```
    /// use dockhand::{OverloadPolicy, WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .overload(OverloadPolicy::CallerRuns)
    ///     .build()?;
    /// let for_event_loop = pool.submitter().with_overload(OverloadPolicy::Reject);
    /// assert!(for_event_loop.submit(1).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    #[must_use]
    pub fn with_overload(&self, policy: OverloadPolicy) -> TaskSubmitter<P> {
        TaskSubmitter { overload: policy, ..self.clone() }
    }

    /// Offers a task and answers at once.
    ///
    /// Does not allocate. Takes no lock unless a worker sleeps and nobody is awake without a task: then it wakes one,
    /// which is one system call. Lock-free in practice but not wait-free: the queue may spin while another thread is
    /// preempted in the middle of its push or pop, so a real-time thread should not share a core with workers, and
    /// payloads above 1 KiB should be boxed. With `CallerRuns` and `DropOldest` a full lane runs user code on this
    /// thread.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let submitter = pool.submitter();
    /// assert!(submitter.submit(7).into_result().is_ok());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn submit(&self, payload: P::Payload) -> SubmitResult<P::Payload> {
        self.shared.submit(self.lane, payload, self.overload)
    }

    /// Offers a task and waits up to `timeout` for room, whatever the policy; what the policy says happens when the
    /// time is over. For background producers.
    ///
    /// # Blocking
    /// Up to `timeout`, counted from the call; `Duration::MAX` waits as long as it takes. A close ends the wait with
    /// `Rejected(Closed)`. From inside a task or hook of this pool it does not wait. There is no order among waiters. A
    /// call that is repeated after its time was over is another offer, and is counted as one.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
    ///     .queue_capacity(1)
    ///     .build()?;
    /// for n in 0..100 {
    ///     pool.submitter().submit_timeout(n, Duration::from_secs(10)).into_result()?;
    /// }
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.metrics().counts.succeeded, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit_timeout(&self, payload: P::Payload, timeout: Duration) -> SubmitResult<P::Payload> {
        let shared = &*self.shared;
        shared.submit_timeout(self.lane, payload, self.overload, timeout)
    }

    /// Offers each item as [`submit`](TaskSubmitter::submit) does, with one wake for many. Not atomic: it goes on after
    /// a refusal, so a later item may fit where an earlier one did not. If the iterator panics, what it gave before is
    /// offered and the panic goes on. Do not pass an endless iterator.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let result = pool.submitter().submit_batch([1, 2, 3]);
    /// assert_eq!((result.accepted, result.refused.len()), (3, 0));
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn submit_batch(&self, payloads: impl IntoIterator<Item = P::Payload>) -> BatchResult<P::Payload> {
        batch::submit_all(&self.shared, self.lane, self.overload, payloads.into_iter())
    }
}

impl TaskSubmitter<Closures> {
    /// Offers a closure; it is boxed.
    ///
    /// ```
    /// use dockhand::{Closures, WorkerPool};
    /// let pool = WorkerPool::builder(Closures).build()?;
    /// let (answer, answers) = std::sync::mpsc::channel();
    /// pool.submitter().execute(move || answer.send(1).unwrap()).into_result()?;
    /// assert_eq!(answers.recv()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn execute(&self, f: impl FnOnce() + Send + 'static) -> SubmitResult<Closure> {
        self.submit(Closure::new(f))
    }
}

impl<P: Processor> Clone for TaskSubmitter<P> {
    fn clone(&self) -> Self {
        TaskSubmitter { shared: Arc::clone(&self.shared), lane: self.lane, overload: self.overload }
    }
}

impl<P: Processor> fmt::Debug for TaskSubmitter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSubmitter")
            .field("lane", &self.shared.lanes[self.lane].name)
            .field("overload", &self.overload)
            .finish_non_exhaustive()
    }
}

impl<P: Processor> UnwindSafe for TaskSubmitter<P> {}
impl<P: Processor> RefUnwindSafe for TaskSubmitter<P> {}

impl<P: Processor> Shared<P> {
    pub(crate) fn submit(
        &self,
        lane: usize,
        payload: P::Payload,
        policy: OverloadPolicy,
    ) -> SubmitResult<P::Payload> {
        if self.sleep.state().is_closed() {
            return self.reject(lane, payload, RejectReason::Closed);
        }
        let id = TaskId::next();
        // No look at the queue's other end: the push alone knows when it is full. From here to the look at the word in
        // `settle` no user code runs.
        match self.lanes[lane].queue.push(Task { id, payload }) {
            Ok(()) => self.settle(lane, id),
            Err(task) => self.overloaded(lane, task, policy),
        }
    }

    pub(crate) fn submit_timeout(
        &self,
        lane: usize,
        payload: P::Payload,
        policy: OverloadPolicy,
        timeout: Duration,
    ) -> SubmitResult<P::Payload> {
        if self.sleep.state().is_closed() {
            return self.reject(lane, payload, RejectReason::Closed);
        }
        let id = TaskId::next();
        let queue = &self.lanes[lane].queue;
        let task = match queue.push(Task { id, payload }) {
            Ok(()) => return self.settle(lane, id),
            Err(task) => task,
        };
        if inside::is_inside(self.id) {
            return self.overloaded(lane, task, policy);
        }
        let deadline = self.clock.now().after(timeout);
        let waited = self.lanes[lane].room.wait_and_push(
            task,
            self.clock.instant(deadline),
            || self.clock.now() >= deadline,
            || self.sleep.state().is_closed(),
            |task| queue.push(task),
        );
        match waited {
            Waited::Pushed => self.settle(lane, id),
            Waited::Closed(task) => self.reject(lane, task.payload, RejectReason::Closed),
            Waited::TimedOut(task) => self.overloaded(lane, task, policy),
        }
    }

    /// The look at the word after a push.
    pub(crate) fn settle(&self, lane: usize, id: TaskId) -> SubmitResult<P::Payload> {
        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(lane, id);
        }
        self.sleep.wake_by_rule(state);
        SubmitResult::Accepted(id)
    }

    #[cold]
    pub(crate) fn settle_late(&self, lane: usize, id: TaskId) -> SubmitResult<P::Payload> {
        let refused = self.drain.settle_late(
            id.as_u64(),
            |late| self.move_queued(|id, held| late.push((id.as_u64(), held))),
            || self.somebody_looks(),
        );
        match refused {
            Some(held) => {
                // A waiter may have seen the task in its lane.
                self.idle.tell();
                self.reject(lane, held.job.task.payload, RejectReason::Closed)
            }
            None => {
                self.sleep.work_appeared();
                SubmitResult::Accepted(id)
            }
        }
    }

    /// Takes everything out of the lanes' queues.
    pub(crate) fn move_queued(&self, mut to: impl FnMut(TaskId, HeldOf<P>)) {
        for (lane, queue) in self.lanes.iter().enumerate() {
            while let Some(task) = queue.queue.pop() {
                let was = Place::Queued;
                let job = Job::fresh(task);
                to(job.task.id, Held { lane, was, job });
            }
        }
    }

    #[cold]
    fn reject(&self, lane: usize, payload: P::Payload, reason: RejectReason) -> SubmitResult<P::Payload> {
        self.lanes[lane].recorder().add(Count::Rejected);
        SubmitResult::Rejected(Rejection::new(payload, reason))
    }

    /// The lane is full.
    #[cold]
    pub(crate) fn overloaded(
        &self,
        lane: usize,
        task: Task<P::Payload>,
        policy: OverloadPolicy,
    ) -> SubmitResult<P::Payload> {
        match policy {
            OverloadPolicy::Reject => self.reject(lane, task.payload, RejectReason::QueueFull),
            OverloadPolicy::DropIncoming => {
                self.lanes[lane].recorder().add(Count::Dropped);
                SubmitResult::Dropped(task.payload)
            }
            _ if inside::depth() >= inside::MAX_DEPTH => {
                self.reject(lane, task.payload, RejectReason::QueueFull)
            }
            OverloadPolicy::DropOldest => self.displace_oldest(lane, task),
            OverloadPolicy::CallerRuns => self.run_here(lane, task),
        }
    }

    fn displace_oldest(&self, lane: usize, task: Task<P::Payload>) -> SubmitResult<P::Payload> {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
            self.leave_gate(inside_gate);
            return self.reject(lane, task.payload, RejectReason::Closed);
        }
        let id = task.id;
        // One step: to pop and then push could displace several, and not the oldest.
        let displaced = self.lanes[lane].queue.force_push(task);
        let user = displaced.as_ref().and_then(|_| self.user());
        if displaced.is_some() {
            let recorder = self.lanes[lane].recorder();
            // The start before the end, as a snapshot reads them the other way round.
            recorder.add(Count::Taken);
            recorder.add(Count::Evicted);
        }
        let shedding = displaced.as_ref().map(|_| self.shedding.enter());
        // The lane holds this task, so nobody needs to be told that the gate is empty.
        drop(inside_gate);
        let answer = self.settle(lane, id);
        if let Some(task) = displaced {
            let job = Job::fresh(task);
            let was = Place::Queued;
            let shed = self.to_shed(Held { lane, was, job }, Outcome::Evicted);
            self.shed(user.as_deref(), shed);
        }
        self.release(user);
        if shedding.is_some() {
            drop(shedding);
            self.idle.tell();
        }
        answer
    }

    /// Runs one attempt on this thread, past the lane's queue.
    fn run_here(&self, lane: usize, task: Task<P::Payload>) -> SubmitResult<P::Payload> {
        let inside_gate = self.gate.enter();
        let user = if self.sleep.state().is_closed() { None } else { self.user() };
        let Some(user) = user else {
            self.leave_gate(inside_gate);
            return self.reject(lane, task.payload, RejectReason::Closed);
        };
        let runner = Arc::new(Runner::new());
        runner.word.look();
        self.callers.lock().push(Arc::clone(&runner));
        self.lanes[lane].recorder().add(Count::CallerRun);
        // From here on the table shows the attempt, as a worker's word would.
        drop(inside_gate);
        let id = task.id;
        let outcome = {
            let _inside = inside::enter_submit(self.id, Some(Arc::clone(&runner)));
            let attempt = Attempt {
                shared: self,
                user: &user,
                runner: &runner,
                recorder: self.lanes[lane].recorder(),
                lane,
            };
            let outcome = attempt.run(Job::fresh(task));
            self.release(Some(user));
            outcome
        };
        runner.word.idle();
        self.callers.lock().retain(|other| !Arc::ptr_eq(other, &runner));
        self.became_emptier();
        SubmitResult::CallerRun(CallerRun { id, outcome })
    }

    pub(crate) fn recorder_of<'a>(&'a self, worker: usize, lane: usize) -> Recorder<'a> {
        Recorder::Own(&self.workers[worker].tallies[lane])
    }
}

impl<P: Processor> ContextHost<P::Payload> for Shared<P> {
    fn submit_to(&self, lane: &str, payload: P::Payload) -> SubmitResult<P::Payload> {
        match self.lane_named(lane) {
            Some(lane) => self.submit(lane, payload, self.lanes[lane].overload),
            None if self.sleep.state().is_closed() => {
                SubmitResult::Rejected(Rejection::new(payload, RejectReason::Closed))
            }
            None => SubmitResult::Rejected(Rejection::new(payload, RejectReason::UnknownLane)),
        }
    }

    fn interruption(&self) -> Option<Interrupted> {
        let state = self.sleep.state();
        state.is_aborting().then_some(Interrupted::ShutDown)
    }
}
