//! The whole pool under shuttle: random schedules, and such with few preemptions at places chosen by chance (PCT).
//!
//! Unlike the loom models these run the pool itself, from `build` to `shutdown`, with three threads and more. They do not
//! exhaust anything, and know one memory order only; see [`crate::sync`].
//!
//! ```text
//! RUSTFLAGS="--cfg dockhand_shuttle" cargo test --profile loom --lib schedules
//! ```
//!
//! `DOCKHAND_SCHEDULES` says how many of each kind, `SHUTTLE_RANDOM_SEED` which. A failure prints its schedule;
//! `DOCKHAND_REPLAY` with that text runs it again.

mod closing;
mod ending;
mod parcel;
mod small;
mod tracked;
mod waiting;
mod waking;

use crate::sync::{run_clock, stop_clock};
use parcel::{Ledger, Pool, assert_only_refusals_since, builder, drain, end};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::thread::{JoinHandle, spawn};
use shuttle::{Config, MaxSteps, Runner};
use std::time::Duration;

/// As long as it takes.
const FOREVER: Duration = Duration::MAX;

/// How many preemptions a PCT schedule has, plus one.
const DEPTH: usize = 3;

const SEED: u64 = 20;

const SCHEDULES: usize = 1000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Runs `scenario` in many orders. A deadlock, a loop without end, or a panic fails.
fn explore(scenario: fn()) {
    if let Ok(schedule) = std::env::var("DOCKHAND_REPLAY") {
        return run(ReplayScheduler::new_from_encoded(schedule.trim()), scenario);
    }
    let schedules = std::env::var("DOCKHAND_SCHEDULES").ok().and_then(|number| number.parse().ok());
    let schedules = schedules.unwrap_or(SCHEDULES);
    run(RandomScheduler::new_from_seed(SEED, schedules), scenario);
    run(PctScheduler::new_from_seed(SEED, DEPTH, schedules), scenario);
}

fn run(scheduler: impl Scheduler + 'static, scenario: fn()) {
    let mut config = Config::new();
    config.stack_size = 256 * 1024;
    config.max_steps = MaxSteps::FailAfter(200_000);
    // It warns that orderings are taken as sequentially consistent.
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    Runner::new(scheduler, config).run(move || {
        let clock = spawn(run_clock);
        scenario();
        stop_clock();
        join(clock);
    });
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("a thread of the scenario panicked")
}

/// One of these, by the schedule.
fn any<T, const N: usize>(of: [T; N]) -> T {
    let place = thread_rng().gen_range(0..N);
    of.into_iter().nth(place).expect("the place is within")
}
