//! Gates, a watchdog, counting payloads, and the law.

mod gate;
mod job;
mod threads;
mod tracked;
mod watchdog;

pub(crate) use gate::{Gate, eventually};
pub(crate) use job::{
    Job, Pool, Runs, accepted, assert_conserved, assert_rest, build, builder, panic_quietly, plug_worker,
    plugged, pool,
};
pub(crate) use threads::{assert_threads, cpu_of, unique};
pub(crate) use tracked::{Ledger, Tracked};
pub(crate) use watchdog::{Watchdog, watch};

use dockhand::{IdleStrategy, OverloadPolicy};
use std::time::Duration;

/// Longer than anything may take that is meant to happen.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// How much slower than a quiet machine a test may be.
pub(crate) const SLACK: u32 = 5;

pub(crate) const POLICIES: [OverloadPolicy; 4] = [
    OverloadPolicy::Reject,
    OverloadPolicy::CallerRuns,
    OverloadPolicy::DropIncoming,
    OverloadPolicy::DropOldest,
];

/// A spin that ends while a test goes on, and one that does not.
pub(crate) const STRATEGIES: [IdleStrategy; 3] = [
    IdleStrategy::Park,
    IdleStrategy::SpinThenPark(Duration::from_micros(30)),
    IdleStrategy::KeepOneSpinning,
];

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// `full` with `DOCKHAND_FULL=1`, else a share of it that suits CI.
pub(crate) fn rounds(full: usize, share: usize) -> usize {
    if std::env::var_os("DOCKHAND_FULL").is_some() { full } else { (full / share).max(1) }
}

/// A small generator of numbers (xorshift64*), the same for the same seed.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}
