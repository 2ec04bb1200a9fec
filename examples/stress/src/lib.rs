//! Four load scenarios for a pool. Each runs, measures with the pool's own numbers, puts its figures beside those that were
//! reported for other task systems, and says what should have held and did not.
//!
//! At a scale of 1:n a scenario takes about an n-th of its time, and its bounds on time are wider: only at full scale, on a
//! machine that does nothing else, are the figures worth comparing.

#![forbid(unsafe_code)]

mod burst;
mod faults;
mod findings;
mod scale;
mod steady;
mod stuck;
mod times;

pub use findings::Findings;
pub use scale::Scale;

use dockhand::BoxError;
use std::time::Duration;

/// Longer than anything takes that is waited for without a time of its own.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// 100 tasks a second, each of which sleeps for a second: 10 minutes at full scale.
    Steady,
    /// 5,000 tasks at once for 32 workers, by capacity and overload policy: 2 minutes at full scale.
    Burst,
    /// 100 calls that fail at the same moment, and their retries: half a minute at full scale.
    Faults,
    /// A task that never ends: a quarter of a minute at full scale.
    Stuck,
}

impl Scenario {
    /// All of them, the longest last.
    pub const ALL: [Scenario; 4] = [Scenario::Stuck, Scenario::Faults, Scenario::Burst, Scenario::Steady];

    /// What it is going to do.
    pub fn about(self, scale: Scale) -> String {
        match self {
            Scenario::Steady => steady::about(scale),
            Scenario::Burst => burst::about(scale),
            Scenario::Faults => faults::about(scale),
            Scenario::Stuck => stuck::about(scale),
        }
    }

    /// Does it, and says what came of it.
    ///
    /// # Errors
    ///
    /// If it cannot be brought to its end: a pool cannot be built, or does not come to rest.
    pub fn run(self, scale: Scale) -> Result<Findings, BoxError> {
        match self {
            Scenario::Steady => steady::run(scale),
            Scenario::Burst => burst::run(scale),
            Scenario::Faults => faults::run(scale),
            Scenario::Stuck => stuck::run(scale),
        }
    }
}
