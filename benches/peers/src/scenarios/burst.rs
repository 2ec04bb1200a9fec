//! How many tiny tasks go through in a second, if there is room for all of them.

use super::crowd;
use crate::goal::{Against, Goal};
use crate::job::Job;
use crate::peer::{Candidate, Kind, Setup};
use crate::peers::{PEERS, ours, raw};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{Reading, interleave};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "burst",
    about: "200,000 tiny tasks by so many producers (p) to so many workers (w), never full: tasks a second, from the first \
            submit to the end of the last task.",
    goals: &[Goal::new("", Against::Kind(Kind::Pool), 6.0), Goal::new("", Against::One("crossbeam"), 1.0)],
    run,
};

/// Name, producers, workers.
const CASES: [(&str, u64, usize); 4] = [("1p1w", 1, 1), ("1p2w", 1, 2), ("2p2w", 2, 2), ("4p4w", 4, 4)];

fn run(scale: Scale) -> Outcome {
    let jobs = scale.pick(200_000, 100_000, 1_000);
    let candidates = [&[ours::DEFAULT, ours::CLOSURES][..], &PEERS, &[raw::QUEUE]].concat();
    let cases = CASES.iter().flat_map(|&(name, producers, workers)| {
        interleave(scale, name, &candidates, |candidate| {
            vec![Reading::throughput("tasks", jobs, measure(candidate, producers, workers, jobs))]
        })
    });
    Outcome::new(cases.collect())
}

/// Nanoseconds for all of them.
pub(super) fn measure(candidate: &Candidate, producers: u64, workers: usize, jobs: u64) -> u64 {
    let peer = candidate.start(Setup { workers, capacity: jobs as usize });
    let nanos = crowd::time(producers, jobs, |each| peer.submit_row(Job::TINY, each));
    peer.stop();
    nanos
}
