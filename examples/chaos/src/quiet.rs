//! Quiet moments: a pool that comes to rest by itself, and how long a task waits for a worker that is free.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use dockhand::SubmitResult;
use fastrand::Rng;

use crate::acts::is_open;
use crate::cargo::Cargo;
use crate::offers;
use crate::pool::Pool;
use crate::totals;
use crate::watchdog;

/// Waits until the pool is idle. Then offers it one task at a time.
pub(crate) fn settle_and_probe(pool: &Pool, rng: &mut Rng) {
    watchdog::step("calm");
    pool.book.calm_down();
    if !is_open(pool) {
        // What is due after the window of a shutdown from inside need not run.
        return;
    }
    for lane in pool.book.lanes.iter().filter(|lane| lane.is_limited) {
        // It is one of the pool's lanes, and limited.
        let _ = pool.set_max_concurrency(lane.name, 4);
    }
    totals::reached("settled");
    watchdog::step("settle");
    if let Some(manual) = pool.manual() {
        manual.run_until_idle();
        return come_to_rest(pool);
    }
    come_to_rest(pool);
    for _ in 0..8 {
        if rng.bool() {
            // Long enough for a worker to fall asleep, if it is quick.
            std::thread::sleep(Duration::from_micros(rng.u64(..300)));
        }
        watchdog::step("probe");
        if !probe(pool, rng) {
            return;
        }
        watchdog::step("rest after a probe");
        come_to_rest(pool);
    }
}

/// Waits without an end for what has to come: whoever looked again after a while would take a notification that was lost for
/// a delay. For pools that nobody can pause or feed any more: calm ones, and those that were shut down.
pub(crate) fn come_to_rest(pool: &Pool) {
    while pool.wait_idle(Duration::MAX).is_err() {
        // The clock of a manual pool does not wait for other threads that are still in a hook.
        std::thread::yield_now();
    }
}

/// Times one task. False if the pool did not take or run it.
fn probe(pool: &Pool, rng: &mut Rng) -> bool {
    let lane = &pool.book.lanes[rng.usize(..pool.book.lanes.len())];
    let Ok(submitter) = pool.submitter_for(lane.name) else { return false };
    let (tell, told) = channel();
    let mut cargo = Cargo::new(&pool.book, rng, u8::MAX);
    cargo.probe = Some(tell);
    let number = cargo.number;
    let before = pool.metrics().counts.submitted;
    let offered = Instant::now();
    let answer = submitter.submit(cargo);
    let is_accepted = matches!(answer, SubmitResult::Accepted(_));
    offers::keep_books(&pool.book, number, answer);
    // Ends with the payload, if it does not run.
    let Ok(started) = told.recv() else { return false };
    if is_accepted && pool.metrics().counts.submitted == before + 1 {
        // Nobody else has offered anything, so every worker was free.
        totals::started_after(started.saturating_duration_since(offered));
    }
    true
}
