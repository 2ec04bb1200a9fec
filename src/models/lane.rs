//! A lane of the models, and what `lane.rs` does with its limit.

use super::Ring;
use super::tracked::Delayed;
use crate::delay::DelayQueue;
use crate::permits::Permits;

pub(super) struct Lane {
    pub(super) queue: Ring,
    pub(super) delays: DelayQueue<Delayed>,
    pub(super) permits: Option<Permits>,
}

impl Lane {
    pub(super) fn new(capacity: usize) -> Self {
        Lane { queue: Ring::new(capacity), delays: DelayQueue::new(2), permits: None }
    }

    pub(super) fn limited(limit: usize) -> Self {
        Lane { permits: Some(Permits::new(limit)), ..Lane::new(1) }
    }

    pub(super) fn has_permit(&self) -> bool {
        self.permits.as_ref().is_none_or(Permits::is_free)
    }

    pub(super) fn try_acquire(&self) -> bool {
        self.permits.as_ref().is_none_or(Permits::try_acquire)
    }

    pub(super) fn release(&self) -> bool {
        self.permits.as_ref().inspect(|permits| permits.release()).is_some()
    }
}
