//! Tracked tasks: cancelled, polled, awaited, waited for, dropped.

use std::sync::Arc;
use std::time::Duration;

use dockhand::{CancelOutcome, Outcome, TaskError, TaskHandle, TaskStatus};
use fastrand::Rng;

use crate::acts::{Scene, is_open};
use crate::alarm;
use crate::book::Book;
use crate::cargo::{Fault, Receipt};
use crate::crew::Crew;
use crate::findings;
use crate::offers;
use crate::panics::discard;
use crate::pool::Stepping;
use crate::totals;

/// How often a thread that waits looks whether the end still has to come.
pub(crate) const A_WHILE: Duration = Duration::from_millis(20);

pub(crate) type Answer = Result<Receipt, TaskError<Fault>>;

pub(crate) fn submit_tracked(scene: &mut Scene<'_>) {
    let Some((submitter, _)) = scene.submitter() else { return };
    let book = scene.book();
    let cargo = scene.cargo();
    let number = cargo.number;
    let answer = if scene.rng.bool() {
        submitter.submit_tracked(cargo)
    } else {
        submitter.submit_tracked_with(cargo, offers::any_options(&scene.pool, scene.rng))
    };
    match answer {
        Ok(handle) => {
            book.tracked(handle.id());
            handle_it(scene, book, handle);
        }
        Err(refused) => offers::keep_rejection(&book, number, refused),
    }
}

/// Does something to a handle at once, or keeps it for later.
fn handle_it(scene: &mut Scene<'_>, book: Arc<Book>, handle: TaskHandle<Crew>) {
    if let Some(hands) = scene.hands.as_mut().filter(|_| scene.rng.u32(..3) > 0) {
        let replaced = hands.keep_handle(book, handle);
        drop(replaced);
    } else {
        let is_outside = scene.is_outside();
        dispose(&book, handle, scene.rng, is_outside);
    }
}

pub(crate) fn use_kept(scene: &mut Scene<'_>) {
    let kept = scene.hands.as_mut().and_then(|hands| hands.any_handle(scene.rng));
    let Some((book, handle)) = kept else { return };
    // To wait for it is to step its pool.
    let pool = book.pool();
    let stepping = pool.as_ref().map(|pool| Stepping::begin(pool));
    if !matches!(stepping, Some(None)) {
        dispose(&book, handle, scene.rng, true);
    }
}

fn dispose(book: &Arc<Book>, mut handle: TaskHandle<Crew>, rng: &mut Rng, is_outside: bool) {
    match rng.u32(..8) {
        0 => drop(handle),
        1 => drop(handle.cancel_on_drop()),
        2 | 3 => {
            cancel(book, &handle);
        }
        4 => {
            let _ = (handle.progress(), handle.status());
            if let Some(answer) = alarm::poll_once(book, &mut handle) {
                show(book, &handle, answer);
            }
        }
        5 if is_outside => {
            if let Some(answer) = alarm::block_on(book, &mut handle) {
                show(book, &handle, answer);
            }
        }
        6 if is_outside => {
            if let Some(answer) = wait_out(book, &mut handle) {
                show(book, &handle, answer);
            }
        }
        _ => {
            let timeout = Duration::from_micros(rng.u64(..2000));
            if let Some(answer) = handle.wait_timeout(timeout) {
                show(book, &handle, answer);
            }
        }
    }
    totals::reached(if is_outside { "handles_outside" } else { "handles_inside" });
}

fn cancel(book: &Arc<Book>, handle: &TaskHandle<Crew>) {
    match handle.cancel() {
        CancelOutcome::Cancelled(cargo) => {
            totals::reached("cancelled_while_waiting");
            book.ledger().handed(handle.id(), Outcome::Cancelled);
            discard(cargo);
        }
        CancelOutcome::Requested => totals::reached("cancelled_while_running"),
        CancelOutcome::TooLate => match handle.status() {
            TaskStatus::Ended(outcome) => book.ledger().shown(handle.id(), outcome),
            other => findings::other(format!("too late to cancel a task that is {other:?}")),
        },
    }
}

/// Waits for an end that has to come; `None` where it need not.
fn wait_out(book: &Arc<Book>, handle: &mut TaskHandle<Crew>) -> Option<Answer> {
    while has_to_end(book) {
        let answer = handle.wait_timeout(A_WHILE);
        if answer.is_some() {
            return answer;
        }
    }
    handle.wait_timeout(Duration::from_millis(1))
}

/// Whether each task of the pool ends by itself: nothing holds a lane back, or the pool is gone. A pool that was shut down
/// from inside only may keep what is due after its window.
pub(crate) fn has_to_end(book: &Book) -> bool {
    let is_held_back = book.lanes.iter().any(|lane| lane.is_limited);
    book.pool().is_none_or(|pool| is_open(&pool) && !is_held_back && pool.manual().is_none())
}

/// Writes down what a handle has answered.
pub(crate) fn show(book: &Book, handle: &TaskHandle<Crew>, answer: Answer) {
    let outcome = match &answer {
        Ok(_) => Some(Outcome::Succeeded),
        Err(TaskError::Failed(_)) => Some(Outcome::DeadLettered),
        Err(TaskError::Cancelled) => Some(Outcome::Cancelled),
        Err(TaskError::Expired) => Some(Outcome::Expired),
        Err(TaskError::Evicted) => Some(Outcome::Evicted),
        Err(TaskError::Abandoned) => Some(Outcome::Abandoned),
        Err(_) => None,
    };
    if let Some(outcome) = outcome {
        book.ledger().shown(handle.id(), outcome);
    }
    discard(answer);
}
