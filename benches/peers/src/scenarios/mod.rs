//! The scenarios, one file each.

mod burst;
mod cold;
mod compute;
mod crowd;
mod drain;
mod endurance;
mod enqueue;
mod growth;
mod idle;
mod memory;
mod mixed_lanes;
mod pace;
mod refuse;
mod retries;
mod saturated;
mod warm;

pub(crate) use growth::WORKERS;

use crate::scenario::Scenario;

/// All of them.
pub const ALL: [Scenario; 14] = [
    enqueue::SCENARIO,
    refuse::SCENARIO,
    warm::SCENARIO,
    cold::SCENARIO,
    burst::SCENARIO,
    saturated::SCENARIO,
    compute::SCENARIO,
    idle::SCENARIO,
    mixed_lanes::SCENARIO,
    retries::SCENARIO,
    growth::SCENARIO,
    endurance::SCENARIO,
    memory::SCENARIO,
    drain::SCENARIO,
];

/// What is allowed of a change that should not matter.
const FLAT: f64 = 1.0 / 1.3;
