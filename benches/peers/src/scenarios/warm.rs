//! Latency while work keeps coming.

use super::pace::{Gap, measure};
use crate::goal::{Against, Goal};
use crate::peers::{PEERS, ours, raw};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::interleave;
use std::time::Duration;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "warm",
    about: "One submit every 100 µs by a thread that spins in between, one worker: nanoseconds that the submit takes, and \
            from submit to start. Ours spins before it parks. Both contain one reading of the clock.",
    goals: &[Goal::new("p50", Against::EveryPeer, 30.0), Goal::new("p99", Against::EveryPeer, 10.0)],
    run,
};

fn run(scale: Scale) -> Outcome {
    let gap = Gap::Spin(Duration::from_micros(100));
    let submits = scale.pick(3_000, 600, 50);
    let candidates = [ours::WARM, &PEERS, &[raw::UNPARK, raw::LINE]].concat();
    Outcome::new(interleave(scale, "", &candidates, |candidate| measure(candidate, gap, submits)))
}
