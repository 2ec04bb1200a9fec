//! Submits in every form, and what the books say of their answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dockhand::{BatchResult, OverloadPolicy, RejectReason, Rejection, SubmitResult, TaskOptions};
use fastrand::Rng;

use crate::acts::Scene;
use crate::book::Book;
use crate::cargo::Cargo;
use crate::findings;
use crate::mischief;
use crate::panics::{blow, contained, discard};
use crate::pool::Pool;
use crate::totals;

/// Longer than the watchdog's patience: a wait that is not ended by room or a close is a hang.
const UNTIL_ROOM: Duration = Duration::from_secs(3600);

pub(crate) fn any_policy(rng: &mut Rng) -> OverloadPolicy {
    match rng.u32(..4) {
        0 => OverloadPolicy::Reject,
        1 => OverloadPolicy::CallerRuns,
        2 => OverloadPolicy::DropIncoming,
        _ => OverloadPolicy::DropOldest,
    }
}

/// Some of what a task can ask for, all of it short: a pool has to come to rest by itself.
pub(crate) fn any_options(pool: &Pool, rng: &mut Rng) -> TaskOptions {
    let short = |rng: &mut Rng| Duration::from_micros(rng.u64(..20_000));
    let mut options = TaskOptions::new();
    if rng.u32(..2) == 0 {
        options = options.delay(short(rng));
    }
    match rng.u32(..6) {
        0 => options = options.ttl(short(rng)),
        1 => {
            let now = pool.manual().map_or_else(Instant::now, |manual| manual.now());
            options = options.deadline(now + short(rng));
        }
        _ => {}
    }
    if rng.u32(..3) == 0 {
        options = options.key(format!("key {}", rng.u32(..4)));
    }
    options
}

pub(crate) fn submit(scene: &mut Scene<'_>) {
    let cargo = scene.cargo();
    let number = cargo.number;
    let answer = if scene.rng.u32(..3) == 0 {
        scene.pool.submit(cargo)
    } else {
        match scene.submitter() {
            Some((submitter, _)) => submitter.submit(cargo),
            None => return discard(cargo),
        }
    };
    keep_books(&scene.pool.book, number, answer);
}

pub(crate) fn submit_with(scene: &mut Scene<'_>) {
    let Some((submitter, _)) = scene.submitter() else { return };
    let cargo = scene.cargo();
    let number = cargo.number;
    let options = any_options(&scene.pool, scene.rng);
    keep_books(&scene.pool.book, number, submitter.submit_with(cargo, options));
}

pub(crate) fn submit_timeout(scene: &mut Scene<'_>) {
    let Some((submitter, is_limited)) = scene.submitter() else { return };
    let cargo = scene.cargo();
    let number = cargo.number;
    let short = scene.while_short();
    // Where nothing can hold the lane back, room or a close has to come.
    let is_sure = scene.is_outside() && !is_limited && scene.pool.manual().is_none();
    let timeout = if is_sure { UNTIL_ROOM } else { short };
    let book = scene.book();
    keep_books(&book, number, submitter.submit_timeout(cargo, timeout));
}

/// Its first attempt lets go of the pool. Only where a lane cannot be paused: or the pool would keep itself.
pub(crate) fn submit_ballast(scene: &mut Scene<'_>) {
    let Some((submitter, false)) = scene.submitter() else { return };
    let mut cargo = scene.cargo();
    cargo.ballast = Some(Arc::clone(&scene.pool));
    let number = cargo.number;
    keep_books(&scene.pool.book, number, submitter.submit(cargo));
}

pub(crate) fn submit_batch(scene: &mut Scene<'_>) {
    let Some((submitter, _)) = scene.submitter() else { return };
    let book = scene.book();
    let length = scene.rng.usize(1..40);
    let panics_at = if scene.rng.u32(..8) == 0 { scene.rng.usize(..length) } else { length };
    let calls_at = scene.rng.usize(..4 * length);
    let mut rng = scene.rng.fork();
    let cargos: Vec<_> = (0..length).map(|_| scene.cargo()).collect();
    // The panic would drop what was not taken, in one unwinding.
    let mut cargos: Vec<_> = cargos.into_iter().map(Some).collect();
    let items = cargos.iter_mut().enumerate().map_while(|(at, cargo)| {
        if at == panics_at {
            totals::reached("panicked_in_an_iterator");
            blow(&mut rng);
        }
        if at == calls_at {
            mischief::call(&book, &mut rng);
        }
        cargo.take()
    });
    match contained(|| submitter.submit_batch(items)) {
        Some(result) => keep_batch(&book, result),
        None if panics_at < length => book.ledger().lose_answers(),
        None => findings::other("a panic got out of submit_batch"),
    }
    cargos.into_iter().for_each(discard);
}

fn keep_batch(book: &Arc<Book>, result: BatchResult<Cargo>) {
    {
        let mut ledger = book.ledger();
        ledger.answers().accepted += result.accepted as u64;
        ledger.answers().caller_run += result.caller_run as u64;
    }
    for refused in result.refused {
        let reason = refused.reason();
        came_back(book, None, reason, refused.into_payload());
    }
}

/// Writes an answer down, and drops the payload of a refused task.
pub(crate) fn keep_books(book: &Arc<Book>, number: u64, answer: SubmitResult<Cargo>) {
    match answer {
        SubmitResult::Accepted(task) => book.accepted(task),
        SubmitResult::CallerRun(run) => {
            totals::reached("caller_run");
            book.caller_ran(run.id, run.outcome);
        }
        SubmitResult::Rejected(refused) => keep_rejection(book, number, refused),
        SubmitResult::Dropped(cargo) => came_back(book, Some(number), RejectReason::Dropped, cargo),
    }
}

pub(crate) fn keep_rejection(book: &Arc<Book>, number: u64, refused: Rejection<Cargo>) {
    let reason = refused.reason();
    came_back(book, Some(number), reason, refused.into_payload());
}

fn came_back(book: &Arc<Book>, number: Option<u64>, reason: RejectReason, cargo: Cargo) {
    if number.is_some_and(|number| number != cargo.number) {
        findings::other(format!("payload {number:?} was offered, and payload {} came back", cargo.number));
    }
    book.ledger().refused(cargo.number);
    book.refused(reason);
    discard(cargo);
}
