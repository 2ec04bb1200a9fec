//! What a full lane's policy makes of one more task.

use crate::attempt::{Attempt, Times};
use crate::clock::Moment;
use crate::config::OverloadPolicy;
use crate::error::{CallerRun, RejectReason, Rejection, SubmitResult, TaskError};
use crate::inside;
use crate::job::{Held, Place, Task, Waiting};
use crate::processor::Processor;
use crate::shared::{Shared, Station};
use crate::tally::Count;
use crate::task::Outcome;
use std::sync::Arc;

impl<P: Processor> Shared<P> {
    /// The lane is full.
    #[inline(never)]
    pub(crate) fn overloaded(
        &self,
        lane: usize,
        task: Task<P>,
        policy: OverloadPolicy,
    ) -> SubmitResult<P::Payload> {
        match policy {
            // Not by `reject`: a full lane is the common reason, and each step on the way back copies the payload.
            OverloadPolicy::Reject => {
                self.lanes[lane].recorder().add(Count::Rejected);
                SubmitResult::Rejected(Rejection::new(task.into_refused(), RejectReason::QueueFull))
            }
            OverloadPolicy::DropIncoming => {
                self.lanes[lane].recorder().add(Count::Dropped);
                SubmitResult::Dropped(task.into_refused())
            }
            _ if inside::depth() >= inside::MAX_DEPTH => {
                self.reject(lane, task.into_refused(), RejectReason::QueueFull)
            }
            OverloadPolicy::DropOldest => self.displace_oldest(lane, task),
            OverloadPolicy::CallerRuns => self.run_here(lane, task),
        }
    }

    fn displace_oldest(&self, lane: usize, task: Task<P>) -> SubmitResult<P::Payload> {
        let inside_gate = self.gate.enter();
        if self.sleep.state().is_closed() {
            self.leave_gate(inside_gate);
            return self.reject(lane, task.into_refused(), RejectReason::Closed);
        }
        let (id, stamp) = (task.id, task.stamp);
        // One step: to pop and then push could displace several, and not the oldest.
        let displaced = self.lanes[lane].queue.force_push(task);
        let displaced = displaced.and_then(|task| self.evict(lane, task));
        let displaced = displaced.map(|held| (held, self.telling()));
        // A worker may have run the task by now, and gone to rest while the gate was not empty. The look at the word that
        // follows wakes it, and it tells whoever waits.
        drop(inside_gate);
        let answer = self.settle_pushed(lane, id, stamp);
        if let Some((held, telling)) = displaced {
            let slot = held.job.slot.clone();
            let shed = self.to_shed(held, Outcome::Evicted);
            let info = self.has_events.then(|| shed.task.clone());
            self.shed(telling.user(), shed);
            if let Some(info) = info {
                telling.tell_ended(&info, Outcome::Evicted);
            }
            if let Some(slot) = slot {
                self.resolve(&slot, Err(TaskError::Evicted));
            }
        }
        answer
    }

    /// Decides and counts the end of a displaced task. `None` for one that had ended while it waited: no eviction.
    fn evict(&self, lane: usize, task: Task<P>) -> Option<Held<P>> {
        let queue = &self.lanes[lane];
        queue.left_queue();
        match Waiting::fresh(task).end(Outcome::Evicted) {
            Some(job) => {
                queue.recorder().add(Count::Taken);
                queue.recorder().add(Count::Evicted);
                self.free_key(job.slot.as_ref());
                Some(Held { lane, was: Place::Queued, job })
            }
            None => {
                queue.pass_dead(Place::Queued);
                None
            }
        }
    }

    /// Runs one attempt on this thread, past the lane's queue but not past its limit.
    fn run_here(&self, lane: usize, task: Task<P>) -> SubmitResult<P::Payload> {
        let inside_gate = self.gate.enter();
        let admitted = self.admit_here(lane, &task);
        let station = match admitted {
            Ok(station) => station,
            Err(reason) => {
                self.leave_gate(inside_gate);
                return self.reject(lane, task.into_refused(), reason);
            }
        };
        let user = self.user();
        // From here on the table of callers shows the attempt, as a worker's word would.
        drop(inside_gate);
        let id = task.id;
        let outcome = {
            let _inside = inside::enter_submit(self.id, Some(Arc::<Station<P>>::clone(&station)));
            let recorder = self.lanes[lane].recorder();
            let ended = user.as_deref().and_then(|user| {
                let queue = &self.lanes[lane];
                let times = Times::Caller(&queue.caller_run);
                let attempt = Attempt { shared: self, user, station: &station, recorder, times, lane, queue };
                // Nobody else knows the task yet, so it can be started.
                Waiting::fresh(task).start().map(|job| attempt.run(job, None))
            });
            self.release(user);
            if self.lanes[lane].release() {
                self.permit_appeared(lane);
            }
            ended.and_then(|ended| self.answer(ended))
        };
        station.runner.word.idle();
        self.callers.lock().retain(|other| !Arc::ptr_eq(other, &station));
        self.became_emptier();
        SubmitResult::CallerRun(CallerRun { id, outcome })
    }

    /// Inside the gate: takes a permit and registers the attempt, unless something speaks against it.
    fn admit_here(&self, lane: usize, task: &Task<P>) -> Result<Arc<Station<P>>, RejectReason> {
        if self.sleep.state().is_closed() {
            return Err(RejectReason::Closed);
        }
        if task.deadline != Moment::NEVER && self.clock.now() >= task.deadline {
            return Err(RejectReason::Expired);
        }
        if !self.lanes[lane].try_acquire() {
            return Err(RejectReason::LaneLimit);
        }
        let station = Arc::new(Station::new());
        station.runner.word.look();
        self.callers.lock().push(Arc::clone(&station));
        self.lanes[lane].recorder().add(Count::CallerRun);
        Ok(station)
    }
}
