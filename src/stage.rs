//! Where a tracked task is: stage, cancel request and number of attempts in **one word**.
//!
//! ```text
//!   Queued ─┐ start            retry
//!   Delayed ┼──────► Running ───────► Retrying ──► Running …
//!           │           │ finish          │
//!           └───────────┴─────────────────┴──► Ended(outcome)
//!             cancel, expire, evict, sweep: `end_waiting`
//! ```
//!
//! Every step is one compare-and-swap, so who wins owns the payload and the telling, and nobody else does. With the
//! request beside the state, a cancel could be answered `Requested` and the task be retried all the same: the end of
//! the attempt would have looked at the request before it was made, and set the state after. With the number beside it, a
//! task is never seen to run an attempt that was not started.

use crate::sync::{AtomicU64, Ordering};
use crate::task::Outcome;

/// The stage of a tracked task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Queued,
    Delayed,
    Retrying,
    Running,
    Ended(Outcome),
}

impl Stage {
    fn to_bits(self) -> u64 {
        match self {
            Stage::Queued => 0,
            Stage::Delayed => 1,
            Stage::Retrying => 2,
            Stage::Running => 3,
            Stage::Ended(outcome) => 4 + outcome as u64,
        }
    }

    fn from_bits(bits: u64) -> Self {
        match bits & STAGE {
            0 => Stage::Queued,
            1 => Stage::Delayed,
            2 => Stage::Retrying,
            3 => Stage::Running,
            4 => Stage::Ended(Outcome::Succeeded),
            5 => Stage::Ended(Outcome::DeadLettered),
            6 => Stage::Ended(Outcome::Cancelled),
            7 => Stage::Ended(Outcome::Expired),
            8 => Stage::Ended(Outcome::Evicted),
            _ => Stage::Ended(Outcome::Abandoned),
        }
    }

    pub(crate) fn is_waiting(self) -> bool {
        matches!(self, Stage::Queued | Stage::Delayed | Stage::Retrying)
    }
}

const STAGE: u64 = 0xff;
const CANCEL: u64 = 1 << 8;
/// Above this the attempts that were started so far.
const ATTEMPTS: u32 = 32;

fn attempts(bits: u64) -> u32 {
    (bits >> ATTEMPTS) as u32
}

/// The word.
#[derive(Debug)]
pub(crate) struct StageWord(AtomicU64);

impl StageWord {
    pub(crate) fn new(stage: Stage) -> Self {
        StageWord(AtomicU64::new(stage.to_bits()))
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage_and_attempts().0
    }

    /// The stage, and how many attempts were started up to then.
    pub(crate) fn stage_and_attempts(&self) -> (Stage, u32) {
        // Ordering: Acquire, partner of the exchanges below: who sees a stage sees what was written before it.
        let bits = self.0.load(Ordering::Acquire);
        (Stage::from_bits(bits), attempts(bits))
    }

    pub(crate) fn is_cancel_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CANCEL != 0
    }

    /// The stage before, if `next` gave another for it. Starting counts.
    fn change(&self, next: impl Fn(Stage, bool) -> Option<u64>) -> Result<Stage, Stage> {
        // Ordering: AcqRel, so that the payload travels with the change.
        let changed = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |bits| {
            let before = Stage::from_bits(bits);
            let next = next(before, bits & CANCEL != 0)?;
            let starts = before.is_waiting() && Stage::from_bits(next) == Stage::Running;
            let started = attempts(bits).saturating_add(u32::from(starts));
            Some(next | u64::from(started) << ATTEMPTS)
        });
        changed.map(Stage::from_bits).map_err(Stage::from_bits)
    }

    /// An attempt starts. False if the task has ended.
    pub(crate) fn start(&self) -> bool {
        self.change(|stage, _| stage.is_waiting().then_some(Stage::Running.to_bits())).is_ok()
    }

    /// Takes a waiting task away. The stage before, or the one that it is in if it does not wait.
    pub(crate) fn end_waiting(&self, outcome: Outcome) -> Result<Stage, Stage> {
        self.change(|stage, _| stage.is_waiting().then_some(Stage::Ended(outcome).to_bits()))
    }

    /// Asks a running attempt to stop. False if it does not run.
    pub(crate) fn request_cancel(&self) -> bool {
        self.change(|stage, _| (stage == Stage::Running).then_some(Stage::Running.to_bits() | CANCEL)).is_ok()
    }

    /// The end of a running task; with a cancel requested, everything but success is `Cancelled`.
    pub(crate) fn finish(&self, outcome: Outcome) -> Outcome {
        let resolve = |cancelled: bool| match outcome {
            Outcome::Succeeded | Outcome::Abandoned => outcome,
            _ if cancelled => Outcome::Cancelled,
            _ => outcome,
        };
        let _ = self.change(|_, cancelled| Some(Stage::Ended(resolve(cancelled)).to_bits()));
        match self.stage() {
            Stage::Ended(outcome) => outcome,
            _ => outcome,
        }
    }

    /// A retry is scheduled. False if a cancel was requested: it is not.
    pub(crate) fn retry(&self) -> bool {
        self.change(|_, cancelled| (!cancelled).then_some(Stage::Retrying.to_bits())).is_ok()
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_stage_survives_its_bits() {
        let outcomes = [
            Outcome::Succeeded,
            Outcome::DeadLettered,
            Outcome::Cancelled,
            Outcome::Expired,
            Outcome::Evicted,
            Outcome::Abandoned,
        ];
        let stages = [Stage::Queued, Stage::Delayed, Stage::Retrying, Stage::Running];
        for stage in stages.into_iter().chain(outcomes.map(Stage::Ended)) {
            assert_eq!(Stage::from_bits(stage.to_bits()), stage);
            assert_eq!(Stage::from_bits(stage.to_bits() | CANCEL), stage);
        }
    }

    #[test]
    fn a_task_that_waits_is_taken_by_one() {
        let word = StageWord::new(Stage::Queued);
        assert_eq!(word.end_waiting(Outcome::Cancelled), Ok(Stage::Queued));
        assert_eq!(word.end_waiting(Outcome::Evicted), Err(Stage::Ended(Outcome::Cancelled)));
        assert!(!word.start());
        assert!(!word.request_cancel());
    }

    #[test]
    fn a_requested_cancel_forbids_the_retry_and_wins_over_failure() {
        let word = StageWord::new(Stage::Delayed);
        assert!(word.start());
        assert!(word.request_cancel());
        assert!(!word.retry());
        assert_eq!(word.finish(Outcome::DeadLettered), Outcome::Cancelled);
        let word = StageWord::new(Stage::Queued);
        assert!(word.start() && word.request_cancel());
        assert_eq!(word.finish(Outcome::Succeeded), Outcome::Succeeded);
    }

    #[test]
    fn a_retry_can_be_cancelled_or_started() {
        let word = StageWord::new(Stage::Queued);
        assert!(word.start() && word.retry());
        assert_eq!(word.stage_and_attempts(), (Stage::Retrying, 1));
        assert!(word.start());
        assert_eq!(word.stage_and_attempts(), (Stage::Running, 2));
        assert!(word.request_cancel());
        assert_eq!(word.stage_and_attempts(), (Stage::Running, 2), "a request is no start");
        assert_eq!(word.end_waiting(Outcome::Cancelled), Err(Stage::Running));
    }
}
