//! How a task gets in: push, look at the word, settle.

use crate::clock::Moment;
use crate::config::OverloadPolicy;
use crate::error::{RejectReason, Rejection, SubmitResult};
use crate::inside;
use crate::job::{Body, Held, Place, Taken, Task, Waiting};
use crate::options::TaskOptions;
use crate::processor::Processor;
use crate::room::{Waited, try_for_a_moment};
use crate::shared::Shared;
use crate::slot::{Slot, SlotConfig};
use crate::sync::Ordering;
use crate::tally::Count;
use crate::task::{Outcome, TaskId, TaskInfo};
use std::sync::Arc;
use std::time::Duration;

/// What the options of a submit come to.
#[derive(Clone, Copy)]
struct Plan {
    id: TaskId,
    deadline: Moment,
    stamp: Moment,
    /// When it may start, if not at once.
    start: Option<Moment>,
}

impl Plan {
    fn slot<P: Processor>(
        self,
        lane: usize,
        payload: P::Payload,
        options: TaskOptions,
        is_tracked: bool,
    ) -> Arc<Slot<P>> {
        Arc::new(Slot::new(self.slot_config(lane, options, is_tracked), payload))
    }

    fn slot_config(self, lane: usize, options: TaskOptions, is_tracked: bool) -> SlotConfig {
        let Plan { id, deadline, start: due, .. } = self;
        SlotConfig { id, lane, deadline, due, options, replays: 0, origin: id, is_tracked }
    }
}

impl<P: Processor> Shared<P> {
    /// Inline, so that the caller builds the payload where it is pushed from.
    #[inline]
    pub(crate) fn submit(
        &self,
        lane: usize,
        payload: P::Payload,
        policy: OverloadPolicy,
    ) -> SubmitResult<P::Payload> {
        let queue = &self.lanes[lane];
        if !queue.is_plain {
            return self.submit_with(lane, payload, policy, TaskOptions::new());
        }
        if self.sleep.state().is_closed() {
            return self.reject(lane, payload, RejectReason::Closed);
        }
        let id = TaskId::next();
        let task = Task { id, deadline: Moment::NEVER, stamp: self.stamp(id), body: Body::Inline(payload) };
        // No look at the queue's other end: the push alone knows when it is full. From here to the look at the word no user
        // code runs.
        if let Err(task) = queue.queue.push(task) {
            return self.overloaded(lane, task, policy);
        }
        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(lane, id);
        }
        self.sleep.wake_by_rule(state);
        SubmitResult::Accepted(id)
    }

    pub(crate) fn submit_with(
        &self,
        lane: usize,
        payload: P::Payload,
        policy: OverloadPolicy,
        options: TaskOptions,
    ) -> SubmitResult<P::Payload> {
        let plan = match self.plan(lane, &options) {
            Ok(plan) => plan,
            Err(reason) => {
                self.tell_refused(lane, reason);
                return self.reject(lane, payload, reason);
            }
        };
        if options.key.is_some() || options.deadline.is_some() {
            return self.submit_slot(&plan.slot(lane, payload, options, false), plan, policy);
        }
        let task =
            Task { id: plan.id, deadline: plan.deadline, stamp: plan.stamp, body: Body::Inline(payload) };
        let answer = self.place(lane, task, plan, policy);
        self.tell_answer(lane, None, &answer);
        answer
    }

    /// Offers the payload of a letter again. It displaces nothing, and runs nothing here.
    pub(crate) fn resubmit(
        &self,
        lane: usize,
        payload: P::Payload,
        options: TaskOptions,
        last: &TaskInfo,
    ) -> SubmitResult<P::Payload> {
        let plan = match self.plan(lane, &options) {
            Ok(plan) => plan,
            Err(reason) => {
                self.tell_refused(lane, reason);
                return self.reject(lane, payload, reason);
            }
        };
        let config = plan.slot_config(lane, options, false);
        let config = SlotConfig { replays: last.replays.saturating_add(1), origin: last.origin, ..config };
        self.submit_slot(&Arc::new(Slot::new(config, payload)), plan, OverloadPolicy::Reject)
    }

    /// A submit whose payload is shared with a handle.
    pub(crate) fn submit_tracked(
        &self,
        lane: usize,
        payload: P::Payload,
        policy: OverloadPolicy,
        options: TaskOptions,
    ) -> Result<Arc<Slot<P>>, Rejection<P::Payload>> {
        let plan = match self.plan(lane, &options) {
            Ok(plan) => plan,
            Err(reason) => {
                let refused = self.rejection(lane, payload, reason);
                self.tell_refused(lane, reason);
                return Err(refused);
            }
        };
        let slot = plan.slot(lane, payload, options, true);
        self.submit_slot(&slot, plan, policy).into_result().map(|_| slot)
    }

    pub(crate) fn is_timed(&self, id: TaskId) -> bool {
        id.as_u64() & self.timing_mask == 0
    }

    /// When a task is submitted, if it is timed.
    pub(crate) fn stamp(&self, id: TaskId) -> Moment {
        if self.is_timed(id) { self.clock.now() } else { Moment::NEVER }
    }

    fn plan(&self, lane: usize, options: &TaskOptions) -> Result<Plan, RejectReason> {
        if self.sleep.state().is_closed() {
            return Err(RejectReason::Closed);
        }
        let now = self.clock.now();
        let deadline = self.deadline(lane, options, now);
        let start = now.after(options.delay.unwrap_or_default());
        if start >= deadline && deadline != Moment::NEVER {
            return Err(RejectReason::Expired);
        }
        let id = TaskId::next();
        // With a ttl of its own the stamp also says from when that counts.
        let stamp = if self.is_timed(id) || options.ttl.is_some() { now } else { Moment::NEVER };
        Ok(Plan { id, deadline, stamp, start: (start > now).then_some(start) })
    }

    /// Takes the key, if there is one, and gives it back if the task is refused.
    fn submit_slot(
        &self,
        slot: &Arc<Slot<P>>,
        plan: Plan,
        policy: OverloadPolicy,
    ) -> SubmitResult<P::Payload> {
        let lane = slot.lane;
        let task = Task {
            id: plan.id,
            deadline: plan.deadline,
            stamp: plan.stamp,
            body: Body::Slot(Arc::clone(slot)),
        };
        if let Some(key) = &slot.options.key {
            if let Err(other) = self.lanes[lane].take_key(key, plan.id) {
                let reason = RejectReason::Duplicate(other);
                self.tell_refused(lane, reason);
                return self.reject(lane, task.into_refused(), reason);
            }
        }
        let answer = self.place(lane, task, plan, policy);
        if matches!(answer, SubmitResult::Rejected(_) | SubmitResult::Dropped(_)) {
            self.free_key(Some(slot));
        }
        self.tell_answer(lane, Some(slot), &answer);
        answer
    }

    fn place(
        &self,
        lane: usize,
        task: Task<P>,
        plan: Plan,
        policy: OverloadPolicy,
    ) -> SubmitResult<P::Payload> {
        match plan.start {
            Some(due) => self.delay(lane, task, due),
            None => self.offer(lane, task, policy),
        }
    }

    fn deadline(&self, lane: usize, options: &TaskOptions, now: Moment) -> Moment {
        let at = options.deadline.map(|at| self.clock.moment(at));
        let until = options.ttl.map(|ttl| now.after(ttl));
        match (at, until) {
            (None, None) => self.lanes[lane].ttl.map_or(Moment::NEVER, |ttl| now.after(ttl)),
            (at, until) => at.unwrap_or(Moment::NEVER).min(until.unwrap_or(Moment::NEVER)),
        }
    }

    /// Puts an open pool's task into its lane.
    fn offer(&self, lane: usize, task: Task<P>, policy: OverloadPolicy) -> SubmitResult<P::Payload> {
        let (id, stamp) = (task.id, task.stamp);
        match self.lanes[lane].queue.push(task) {
            Ok(()) => self.settle_pushed(lane, id, stamp),
            Err(task) => self.overloaded(lane, task, policy),
        }
    }

    /// Puts a task into the delay queue. No policy and no room in the lane is asked for. In the gate: a shutdown that sweeps
    /// the task waits until it is counted as admitted, and a worker does not leave while it is on its way.
    fn delay(&self, lane: usize, task: Task<P>, due: Moment) -> SubmitResult<P::Payload> {
        let id = task.id;
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
            self.leave_gate(inside_gate);
            return self.reject(lane, task.into_refused(), RejectReason::Closed);
        }
        // Relaxed: whoever is to see it sees the timer's or its own fence first.
        self.has_delays.store(true, Ordering::Relaxed);
        match self.lanes[lane].delays.insert(due, Waiting::fresh(task)) {
            Ok(earliest) => {
                if let Some(at) = earliest {
                    self.timer.arm(at);
                }
            }
            Err((waiting, refusal)) => {
                self.leave_gate(inside_gate);
                return self.reject(lane, waiting.task.into_refused(), refusal.into());
            }
        }
        self.lanes[lane].recorder().add(Count::Admitted);
        // A worker may have run the task by now, and gone to sleep because of the gate.
        self.leave_gate(inside_gate);
        SubmitResult::Accepted(id)
    }

    pub(crate) fn submit_timeout(
        &self,
        lane: usize,
        payload: P::Payload,
        policy: OverloadPolicy,
        timeout: Duration,
    ) -> SubmitResult<P::Payload> {
        let plan = match self.plan(lane, &TaskOptions::new()) {
            Ok(plan) => plan,
            Err(reason) => {
                self.tell_refused(lane, reason);
                return self.reject(lane, payload, reason);
            }
        };
        let Plan { id, deadline, stamp, .. } = plan;
        let answer =
            match self.lanes[lane].queue.push(Task { id, deadline, stamp, body: Body::Inline(payload) }) {
                Ok(()) => self.settle_pushed(lane, id, stamp),
                Err(task) if inside::is_inside(self.id) || self.is_forked() => {
                    self.overloaded(lane, task, policy)
                }
                Err(task) => self.wait_for_room(lane, task, policy, timeout),
            };
        self.tell_answer(lane, None, &answer);
        answer
    }

    fn wait_for_room(
        &self,
        lane: usize,
        task: Task<P>,
        policy: OverloadPolicy,
        timeout: Duration,
    ) -> SubmitResult<P::Payload> {
        let (id, stamp) = (task.id, task.stamp);
        let until = self.clock.now().after(timeout);
        let queue = &self.lanes[lane].queue;
        let waited = if self.manual.is_some() {
            self.step_for_room(task, |task| queue.push(task), until)
        } else {
            let is_closed = || self.sleep.state().is_closed();
            let is_over = || self.clock.now() >= until;
            let push = |task| queue.push(task);
            let wait = |task| {
                let room = &self.lanes[lane].room;
                room.wait_and_push(task, self.clock.instant(until), is_over, is_closed, push)
            };
            try_for_a_moment(task, || is_closed() || is_over(), push).map_or_else(wait, |()| Waited::Pushed)
        };
        match waited {
            Waited::Pushed => self.settle_pushed(lane, id, stamp),
            Waited::Closed(task) => self.reject(lane, task.into_refused(), RejectReason::Closed),
            Waited::TimedOut(task) => self.overloaded(lane, task, policy),
        }
    }

    /// A push has succeeded: keeps the task's time, if every task is timed, and looks at the word.
    pub(crate) fn settle_pushed(&self, lane: usize, id: TaskId, stamp: Moment) -> SubmitResult<P::Payload> {
        if let Some(ages) = &self.lanes[lane].ages {
            ages.came(stamp);
        }
        self.settle(lane, id)
    }

    /// The look at the word after a push.
    pub(crate) fn settle(&self, lane: usize, id: TaskId) -> SubmitResult<P::Payload> {
        let state = self.sleep.after_push();
        if state.is_closed() {
            return self.settle_late(lane, id);
        }
        // Without a free permit nothing could start: the return of one sees the task.
        if self.lanes[lane].has_permit() {
            self.sleep.wake_by_rule(state);
        }
        SubmitResult::Accepted(id)
    }

    #[cold]
    pub(crate) fn settle_late(&self, lane: usize, id: TaskId) -> SubmitResult<P::Payload> {
        let refused =
            self.drain.settle_late(id.as_u64(), |late| self.move_late(late), || self.somebody_looks());
        match refused {
            Some(held) => {
                // A waiter may have seen the task in its lane.
                self.idle.tell();
                self.reject(lane, held.job.payload, RejectReason::Closed)
            }
            None => {
                self.sleep.work_appeared();
                SubmitResult::Accepted(id)
            }
        }
    }

    /// Takes everything out of lanes and delay queues, and closes these for good.
    pub(crate) fn move_waiting(&self, mut to: impl FnMut(Taken<P>)) {
        for (lane, queue) in self.lanes.iter().enumerate() {
            while let Some(task) = queue.queue.pop() {
                queue.left_queue();
                to(Taken { lane, was: Place::Queued, waiting: Waiting::fresh(task) });
            }
            for (due, waiting) in queue.delays.end_and_sweep() {
                to(Taken { lane, was: waiting.place_until(due), waiting });
            }
        }
    }

    /// What lies in a finalized pool came too late, and its submits claim it back; or it had ended and only kept its place.
    pub(crate) fn move_late(&self, late: &mut Vec<(u64, Held<P>)>) {
        self.move_waiting(|Taken { lane, was, waiting }| {
            let id = waiting.task.id.as_u64();
            match waiting.end(Outcome::Abandoned) {
                Some(job) => late.push((id, Held { lane, was, job })),
                None => self.lanes[lane].pass_dead(was),
            }
        });
    }

    #[cold]
    pub(crate) fn reject(
        &self,
        lane: usize,
        payload: P::Payload,
        reason: RejectReason,
    ) -> SubmitResult<P::Payload> {
        SubmitResult::Rejected(self.rejection(lane, payload, reason))
    }

    fn rejection(&self, lane: usize, payload: P::Payload, reason: RejectReason) -> Rejection<P::Payload> {
        self.lanes[lane].recorder().add(Count::Rejected);
        Rejection::new(payload, reason)
    }

    pub(crate) fn submit_named(
        &self,
        lane: &str,
        payload: P::Payload,
        options: Option<TaskOptions>,
    ) -> SubmitResult<P::Payload> {
        match (self.lane_named(lane), options) {
            (Some(lane), None) => self.submit(lane, payload, self.lanes[lane].overload),
            (Some(lane), Some(options)) => {
                self.submit_with(lane, payload, self.lanes[lane].overload, options)
            }
            (None, _) if self.sleep.state().is_closed() => {
                SubmitResult::Rejected(Rejection::new(payload, RejectReason::Closed))
            }
            (None, _) => SubmitResult::Rejected(Rejection::new(payload, RejectReason::UnknownLane)),
        }
    }
}
