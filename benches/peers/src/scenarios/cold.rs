//! Latency after a while without work.

use super::pace::{Gap, measure};
use crate::goal::{Against, Goal};
use crate::peers::{default_and_peers, raw};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::interleave;
use std::time::Duration;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "cold",
    about: "One submit every 5 ms by a thread that sleeps in between, one worker, which has parked: nanoseconds that the \
            submit takes, and from submit to start.",
    goals: &[Goal::new("", Against::EveryPeer, 1.0), Goal::new("", Against::One(raw::UNPARK.name), 0.95)],
    run,
};

fn run(scale: Scale) -> Outcome {
    let gap = Gap::Sleep(Duration::from_millis(5));
    let submits = scale.pick(150, 40, 5);
    let mut candidates = default_and_peers();
    candidates.push(raw::UNPARK);
    Outcome::new(interleave(scale, "", &candidates, |candidate| measure(candidate, gap, submits)))
}
