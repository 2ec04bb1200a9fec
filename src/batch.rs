//! A batch of submits with one fence and one wake for many.
//!
//! The user's iterator must not run between a push and the look at the word: items are taken into a small buffer on
//! the stack first, then pushed without user code in between.

use crate::clock::Moment;
use crate::config::OverloadPolicy;
use crate::error::BatchResult;
use crate::job::{Body, Task};
use crate::processor::Processor;
use crate::shared::Shared;
use crate::task::TaskId;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How many bytes of payload the buffer may take of the caller's stack.
const BUFFER_BYTES: usize = 4096;

pub(crate) fn submit_all<P: Processor>(
    shared: &Shared<P>,
    lane: usize,
    policy: OverloadPolicy,
    payloads: impl Iterator<Item = P::Payload>,
) -> BatchResult<P::Payload> {
    // One size for each order of magnitude, since the length of an array is a constant.
    match BUFFER_BYTES / size_of::<P::Payload>().max(1) {
        32.. => submit_chunks::<P, 32>(shared, lane, policy, payloads),
        8.. => submit_chunks::<P, 8>(shared, lane, policy, payloads),
        _ => submit_chunks::<P, 1>(shared, lane, policy, payloads),
    }
}

#[inline(never)]
fn submit_chunks<P: Processor, const N: usize>(
    shared: &Shared<P>,
    lane: usize,
    policy: OverloadPolicy,
    mut payloads: impl Iterator<Item = P::Payload>,
) -> BatchResult<P::Payload> {
    let mut result = BatchResult::new();
    let mut buffer = [const { None }; N];
    loop {
        let mut filled = 0;
        let filling = catch_unwind(AssertUnwindSafe(|| {
            while filled < N {
                let Some(payload) = payloads.next() else { break };
                buffer[filled] = Some(payload);
                filled += 1;
            }
        }));
        let chunk = Chunk { shared, lane, policy };
        chunk.submit(&mut buffer[..filled], &mut result);
        if let Err(panic) = filling {
            // Nothing of the user's may be dropped by the unwinding: a second panic in it would abort.
            for refused in result.refused {
                shared.guard.drop(refused);
            }
            shared.guard.drop(payloads);
            resume_unwind(panic);
        }
        if filled < N {
            return result;
        }
    }
}

struct Chunk<'a, P: Processor> {
    shared: &'a Shared<P>,
    lane: usize,
    policy: OverloadPolicy,
}

impl<P: Processor> Chunk<'_, P> {
    fn submit(&self, buffer: &mut [Option<P::Payload>], result: &mut BatchResult<P::Payload>) {
        let mut rest = buffer.iter_mut().filter_map(Option::take);
        loop {
            let full = self.push_while_room(&mut rest, result);
            // The lane's policy may run user code; what was pushed has been settled and woken for by now.
            match full {
                Some(task) => result.count(self.shared.overloaded(self.lane, task, self.policy)),
                None => return,
            }
        }
    }

    /// Pushes until the lane is full, then looks at the word once for all. Gives back the task that found no room.
    fn push_while_room(
        &self,
        rest: &mut impl Iterator<Item = P::Payload>,
        result: &mut BatchResult<P::Payload>,
    ) -> Option<Task<P>> {
        let mut pushed: [Option<TaskId>; 32] = [None; 32];
        let mut count = 0;
        let mut full = None;
        // A lane with a ttl, or a listener, costs something for each item anyway.
        let is_plain = !self.shared.has_events && self.shared.lanes[self.lane].ttl.is_none();
        if self.shared.sleep.state().is_closed() || !is_plain {
            for payload in rest.by_ref() {
                result.count(self.shared.submit(self.lane, payload, self.policy));
            }
            return None;
        }
        for payload in rest {
            let (id, deadline) = (TaskId::next(), Moment::NEVER);
            let stamp = self.shared.stamp(id);
            let lane = &self.shared.lanes[self.lane];
            match lane.queue.push(Task { id, deadline, stamp, body: Body::Inline(payload) }) {
                Ok(()) => {
                    if let Some(ages) = &lane.ages {
                        ages.came(stamp);
                    }
                    pushed[count] = Some(id);
                    count += 1;
                }
                Err(task) => {
                    full = Some(task);
                    break;
                }
            }
        }
        self.settle(&pushed[..count], result);
        full
    }

    fn settle(&self, pushed: &[Option<TaskId>], result: &mut BatchResult<P::Payload>) {
        if pushed.is_empty() {
            return;
        }
        let state = self.shared.sleep.after_push();
        if state.is_closed() {
            for &id in pushed.iter().flatten() {
                result.count(self.shared.settle_late(self.lane, id));
            }
            return;
        }
        if self.shared.lanes[self.lane].has_permit() {
            self.shared.sleep.wake_by_rule(state);
        }
        result.accepted += pushed.len();
    }
}
