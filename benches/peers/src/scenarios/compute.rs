//! How much of the workers' time is left to the tasks.

use super::crowd;
use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::default_and_peers;
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{OF_IDEAL, Reading, interleave};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "compute",
    about: "Two producers, one and two workers (w), tasks that keep a core for 1, 10 and 100 µs, never full: the tasks a \
            second, as a share of the ideal, which is workers / time of a task.",
    goals: &[Goal::new("10us-", Against::One(IDEAL), 0.95), Goal::new("100us-", Against::One(IDEAL), 0.95)],
    run,
};

const IDEAL: &str = "ideal";
const PRODUCERS: u64 = 2;

/// Name, nanoseconds of a task, workers.
const CASES: [(&str, u32, usize); 6] = [
    ("1us-1w", 1_000, 1),
    ("1us-2w", 1_000, 2),
    ("10us-1w", 10_000, 1),
    ("10us-2w", 10_000, 2),
    ("100us-1w", 100_000, 1),
    ("100us-2w", 100_000, 2),
];

fn run(scale: Scale) -> Outcome {
    // For one worker; two are through in half the time. The system takes milliseconds to give each a core of its own.
    let nanos = scale.pick(200_000_000, 60_000_000, 1_000_000);
    let candidates = default_and_peers();
    let cases = CASES.iter().flat_map(|&(name, task, workers)| {
        let jobs = nanos / u64::from(task);
        interleave(scale, name, &candidates, |candidate| vec![measure(candidate, task, workers, jobs)])
    });
    let outcome = Outcome::new(cases.collect());
    let to_ideal = CASES
        .map(|(name, ..)| Ratio::to_reference(format!("{name}/share"), IDEAL, outcome.ours(name, "share")));
    outcome.with(to_ideal)
}

fn measure(candidate: &Candidate, task: u32, workers: usize, jobs: u64) -> Reading {
    let peer = candidate.start(Setup { workers, capacity: jobs as usize });
    let nanos = crowd::time(PRODUCERS, jobs, |each| peer.submit_row(Job::spin(task), each));
    peer.stop();
    let ideal = jobs as f64 * f64::from(task) / workers as f64;
    Reading::value("share", OF_IDEAL, ideal / nanos as f64)
}
