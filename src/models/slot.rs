//! Tracked tasks, on the real slot: who ends one owns its payload, a cancel that is answered `Requested` is kept, and
//! an answer comes to whoever asks.
//!
//! The threads are the lines of `job.rs`, `attempt.rs` and `handle.rs` around the slot.
//!
//! Left out: the delay queue, which is in `delay`; the user code of wakers and drops.

use super::{check, join, spawn};
use crate::clock::Moment;
use crate::context::TaskContext;
use crate::error::TaskError;
use crate::event::Progress;
use crate::options::TaskOptions;
use crate::processor::Processor;
use crate::slot::{Look, Parked, Slot, SlotConfig};
use crate::stage::Stage;
use crate::task::{Outcome, TaskId};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Wake, Waker};

struct Nothing;

impl Processor for Nothing {
    type Payload = u64;
    type Output = u64;
    type Error = String;

    fn process(&self, payload: &mut u64, _: &TaskContext<'_, u64>) -> Result<u64, String> {
        Ok(*payload)
    }
}

type TheSlot = Slot<Nothing>;

fn slot() -> Arc<TheSlot> {
    let id = TaskId::next();
    let config = SlotConfig {
        id,
        lane: 0,
        deadline: Moment::NEVER,
        due: None,
        options: TaskOptions::new(),
        replays: 0,
        origin: id,
        is_tracked: true,
    };
    Arc::new(Slot::new(config, 7))
}

/// A slot whose task runs, its payload with the worker.
fn running() -> Arc<TheSlot> {
    let slot = slot();
    assert!(start(&slot));
    slot
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cancel {
    /// With the payload.
    Cancelled,
    Requested,
    TooLate,
}

/// `handle.rs`, `cancel`.
fn cancel(slot: &TheSlot) -> Cancel {
    loop {
        match slot.stage.end_waiting(Outcome::Cancelled) {
            Ok(_) => {
                take_payload(slot);
                return Cancel::Cancelled;
            }
            Err(Stage::Running) if slot.stage.request_cancel() => return Cancel::Requested,
            Err(Stage::Ended(_)) => return Cancel::TooLate,
            Err(_) => {}
        }
    }
}

/// `job.rs`, `claim`, of which whoever takes a task away goes through one.
fn take_payload(slot: &TheSlot) {
    assert!(slot.unpark().is_some(), "who wins the stage owns the payload");
}

fn end_waiting(slot: &TheSlot, outcome: Outcome) -> bool {
    let wins = slot.stage.end_waiting(outcome).is_ok();
    if wins {
        take_payload(slot);
    }
    wins
}

fn start(slot: &TheSlot) -> bool {
    let wins = slot.stage.start();
    if wins {
        take_payload(slot);
    }
    wins
}

/// `attempt.rs`, `let_wait`, and what it does if a cancel was requested. True if the retry is scheduled.
fn retry(slot: &TheSlot) -> bool {
    slot.park(Parked { payload: 7, last_failure: None });
    if slot.stage.retry() {
        return true;
    }
    take_payload(slot);
    assert_eq!(slot.stage.finish(Outcome::Cancelled), Outcome::Cancelled);
    false
}

/// One of the two has the task, and a cancel that comes after the start is kept as a request.
#[test]
fn a_cancel_and_a_start_decide_once() {
    check(3, || {
        let slot = slot();
        let worker = spawn(&slot, |slot| {
            start(slot) && slot.stage.finish(Outcome::DeadLettered) == Outcome::Cancelled
        });
        let answer = cancel(&slot);
        let was_asked = join(worker);
        assert_eq!(was_asked, answer == Cancel::Requested, "{answer:?}");
        let end = slot.stage.stage_and_attempts();
        let (outcome, attempts) = match answer {
            Cancel::Cancelled => (Outcome::Cancelled, 0),
            Cancel::Requested => (Outcome::Cancelled, 1),
            Cancel::TooLate => (Outcome::DeadLettered, 1),
        };
        assert_eq!(end, (Stage::Ended(outcome), attempts));
    });
}

/// A request that is made in time turns a failure into `Cancelled`, and leaves a success as it is.
#[test]
fn a_cancel_and_the_end_of_an_attempt_decide_once() {
    for failed in [false, true] {
        check(3, move || {
            let slot = running();
            let planned = if failed { Outcome::DeadLettered } else { Outcome::Succeeded };
            let worker = spawn(&slot, move |slot| slot.stage.finish(planned));
            let answer = cancel(&slot);
            let outcome = join(worker);
            assert_eq!(slot.stage.stage(), Stage::Ended(outcome));
            let asked_in_time = answer == Cancel::Requested && failed;
            assert_eq!(outcome, if asked_in_time { Outcome::Cancelled } else { planned });
            assert_ne!(answer, Cancel::Cancelled, "its payload is with the worker");
        });
    }
}

/// A cancel beside the end of a failed attempt: `Requested` and a retry exclude each other.
#[test]
fn a_task_is_not_retried_after_its_cancel_was_requested() {
    check(3, || {
        let slot = running();
        let worker = spawn(&slot, retry);
        let answer = cancel(&slot);
        let is_retried = join(worker);
        match answer {
            Cancel::Requested => assert!(!is_retried, "retried after a cancel was requested"),
            Cancel::Cancelled => assert!(is_retried),
            Cancel::TooLate => panic!("nothing else ends it"),
        }
        assert_eq!(slot.stage.stage(), Stage::Ended(Outcome::Cancelled));
    });
}

/// A retry that is due at once: another worker starts it as soon as the stage says that it waits.
#[test]
fn a_retry_is_started_or_cancelled_with_its_payload() {
    check(3, || {
        let slot = running();
        let worker = spawn(&slot, retry);
        let other =
            spawn(&slot, |slot| start(slot) && slot.stage.finish(Outcome::Succeeded) == Outcome::Succeeded);
        let answer = cancel(&slot);
        let (is_retried, has_run_again) = (join(worker), join(other));
        assert!(!has_run_again || is_retried);
        assert!(!(has_run_again && answer == Cancel::Cancelled), "two owners");
    });
}

/// Displacing, the sweep of a shutdown, an expiry and a cancel: one of them has the payload.
#[test]
fn one_of_those_who_take_a_waiting_task_away_has_its_payload() {
    check(3, || {
        let slot = slot();
        let evicts = spawn(&slot, |slot| end_waiting(slot, Outcome::Evicted));
        let sweeps = spawn(&slot, |slot| end_waiting(slot, Outcome::Abandoned));
        let cancelled = cancel(&slot);
        let won = [cancelled == Cancel::Cancelled, join(evicts), join(sweeps)];
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        let outcome = match won {
            [true, ..] => Outcome::Cancelled,
            [_, true, _] => Outcome::Evicted,
            _ => Outcome::Abandoned,
        };
        assert_eq!(slot.stage.stage(), Stage::Ended(outcome));
    });
}

fn give(slot: &TheSlot) {
    let given = slot.give(Err(TaskError::Cancelled));
    if let Some(waker) = given.waker {
        waker.wake();
    }
}

/// `handle.rs`, `wait_timeout` without an end.
#[test]
fn whoever_waits_gets_the_answer() {
    check(3, || {
        let slot = running();
        let giver = spawn(&slot, give);
        loop {
            match slot.look() {
                Look::Ready(_) => break,
                Look::Gone => panic!("nobody else took it"),
                Look::NotYet => slot.wait(None),
            }
        }
        assert!(matches!(slot.look(), Look::Gone));
        join(giver);
        assert!(slot.give(Ok(8)).unwanted.is_some(), "an answer is given once");
    });
}

/// Counts its wakes, outside of loom.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A future that is polled twice, with a waker each time: it is ready, or its last waker is woken.
#[test]
fn a_poll_finds_the_answer_or_is_woken() {
    check(3, || {
        let slot = running();
        let wakes = [Arc::new(Count::default()), Arc::new(Count::default())];
        let giver = spawn(&slot, give);
        let is_ready = wakes.iter().any(|count| {
            let (found, _replaced) = slot.look_or_leave(Waker::from(Arc::clone(count)));
            matches!(found, Look::Ready(_))
        });
        join(giver);
        assert!(is_ready || wakes[1].0.load(Relaxed) == 1, "polled for nothing");
        assert!(is_ready || matches!(slot.look(), Look::Ready(_)));
    });
}

/// The handle is dropped while the answer is given: one of the two has the output, to drop it in the guard.
#[test]
fn an_answer_is_dropped_by_the_giver_or_by_the_handle() {
    check(3, || {
        let slot = running();
        let giver = spawn(&slot, |slot| slot.give(Ok(7)).unwanted.is_some());
        let (result, _) = slot.detach();
        let is_with_giver = join(giver);
        assert_eq!(result.is_some(), !is_with_giver, "dropped by nobody, or twice");
        assert!(slot.is_resolved() && !slot.is_wanted());
        assert!(slot.give(Ok(8)).unwanted.is_some(), "the second answer comes back");
    });
}

/// What is reported by an attempt is not shown as another one's.
#[test]
fn progress_is_shown_with_the_attempt_that_made_it() {
    check(3, || {
        let slot = running();
        let reader = spawn(&slot, |slot| {
            if slot.attempt() == 2 {
                assert!(slot.progress().is_none(), "a new attempt starts at none");
            }
        });
        slot.set_progress(1, Progress { done: 1, total: 2 });
        assert!(retry(&slot) && start(&slot));
        join(reader);
    });
}
