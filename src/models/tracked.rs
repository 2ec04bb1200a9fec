//! A task that waits in a delay queue of the models; with a stage, if it is tracked.

use super::pool::Pool;
use crate::delay::{DelayItem, HeapMark};
use crate::stage::{Stage, StageWord};
use crate::task::Outcome;
use std::sync::Arc;

/// Stage and mark of a tracked task, as in its slot.
pub(super) struct Tracked {
    pub(super) stage: StageWord,
    pub(super) mark: HeapMark,
}

impl Tracked {
    pub(super) fn new(stage: Stage) -> Arc<Self> {
        Arc::new(Tracked { stage: StageWord::new(stage), mark: HeapMark::new() })
    }
}

pub(super) struct Delayed {
    pub(super) task: u64,
    pub(super) tracked: Option<Arc<Tracked>>,
}

impl From<u64> for Delayed {
    fn from(task: u64) -> Self {
        Delayed { task, tracked: None }
    }
}

impl Pool {
    /// `handle.rs`, `cancel`, of a task that waits in a delay queue; and `shared.rs`, `count_ended_waiting`.
    pub(super) fn cancel_delayed(&self, lane: usize, tracked: &Tracked) -> bool {
        if tracked.stage.end_waiting(Outcome::Cancelled).is_err() {
            return false;
        }
        let buried = self.lanes[lane].delays.bury(&tracked.mark);
        if !buried.moved_out.is_empty() {
            self.timer.arm(buried.next);
        }
        self.became_emptier();
        true
    }
}

/// As `job.rs` has it.
impl DelayItem for Delayed {
    fn is_dead(&self) -> bool {
        self.tracked.as_ref().is_some_and(|tracked| !tracked.stage.stage().is_waiting())
    }

    fn mark(&self) -> Option<&HeapMark> {
        self.tracked.as_ref().map(|tracked| &tracked.mark)
    }
}
