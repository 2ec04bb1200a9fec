//! The ends of a pool, and what is checked then.

use std::sync::Arc;
use std::time::Duration;

use dockhand::{Outcome, ShutdownReport};
use fastrand::Rng;

use crate::acts::{Scene, is_open};
use crate::book::Book;
use crate::cargo::Cargo;
use crate::findings::{Finding, Promise};
use crate::ledger::check_law;
use crate::panics::discard;
use crate::pool::{Pool, Stepping};
use crate::{quiet, totals, watchdog};

/// A shutdown in the middle of a script, or from inside.
pub(crate) fn shut_down(scene: &mut Scene<'_>) {
    let timeout = scene.while_short();
    let timeout = if scene.rng.u32(..3) == 0 { Duration::ZERO } else { timeout };
    if scene.is_outside() {
        from_outside(&scene.pool, timeout);
    } else {
        totals::reached("shut_down_inside");
        let report = scene.pool.shutdown(timeout);
        unload(&scene.book(), report);
    }
}

/// Ends a pool that was taken from the yard.
pub(crate) fn retire(pool: Arc<Pool>, rng: &mut Rng) {
    watchdog::names(&pool);
    let _stepping = Stepping::begin(&pool);
    if rng.u32(..3) == 0 && is_open(&pool) {
        quiet::settle_and_probe(&pool, rng);
    }
    // What waits in a lane that somebody pauses is never run, and a shutdown without an end would wait for it.
    let may_be_paused = pool.book.lanes.iter().any(|lane| lane.is_limited);
    let long = if may_be_paused { Duration::from_secs(1) } else { Duration::MAX };
    match rng.u32(..8) {
        0 => {
            watchdog::step("drop");
            drop(pool);
        }
        1 | 2 => {
            watchdog::step("hand over");
            hand_over(pool, rng);
        }
        3 => {
            pool.begin_shutdown();
            from_outside(&pool, long);
        }
        4 => from_outside(&pool, Duration::ZERO),
        5 => from_outside(&pool, long),
        _ => from_outside(&pool, Duration::from_micros(rng.u64(..50_000))),
    }
}

/// Leaves the pool to one of its tasks, which drops it as its last owner if nobody else is quicker.
fn hand_over(pool: Arc<Pool>, rng: &mut Rng) {
    let Some(lane) = pool.book.lanes.iter().find(|lane| !lane.is_limited) else { return };
    let Ok(submitter) = pool.submitter_for(lane.name) else { return };
    let mut cargo = Cargo::new(&pool.book, rng, u8::MAX);
    let number = cargo.number;
    let book = Arc::clone(&pool.book);
    cargo.ballast = Some(pool);
    crate::offers::keep_books(&book, number, submitter.submit(cargo));
}

/// A shutdown by a thread that is not inside: nothing is left afterwards, and everything adds up.
pub(crate) fn from_outside(pool: &Pool, timeout: Duration) {
    totals::reached("shut_down_outside");
    let book = &pool.book;
    watchdog::step("shutdown");
    let report = pool.shutdown(timeout);
    watchdog::step("books after shutdown");
    let counts = report.counts;
    let is_alone = report.still_running.is_empty();
    if !is_alone {
        totals::reached("left_running");
    }
    unload(book, report);
    check(book, check_law("report", &counts));
    book.reported(&counts);
    let metrics = pool.metrics();
    check(book, check_law("pool", &metrics.counts));
    for lane in &metrics.lanes {
        check(book, check_law(&lane.name, &lane.counts));
    }
    if is_alone {
        // Another thread may still be in a hook.
        watchdog::step("idle after shutdown");
        quiet::come_to_rest(pool);
    }
}

fn check(book: &Book, finding: Option<Finding>) {
    if let Some(finding) = finding {
        book.note(&finding);
    }
}

fn unload(book: &Arc<Book>, report: ShutdownReport<Cargo>) {
    for shed in report.abandoned {
        if shed.outcome != Outcome::Abandoned {
            let what = format!("{:?} in a report", shed.outcome);
            book.note(&Finding { promise: Promise::Conserved, what });
        }
        book.ledger().handed(shed.task.id, shed.outcome);
        discard(shed.payload);
    }
}
