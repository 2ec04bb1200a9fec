//! How many tasks go through in a second, if the producers have to wait for room.

use super::crowd;
use crate::goal::{Against, Goal};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::{default_and_peers, raw};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{Reading, interleave};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "saturated",
    about: "Capacity 1,024; the producers (p) wait for room in the way the candidate offers: tasks a second, tiny ones and \
            such of 1 µs. Candidates without a limit are left out.",
    goals: &[Goal::new("", Against::EveryPeer, 1.5)],
    run,
};

/// Name, producers, workers, job, and the share of the tasks of the scale.
const CASES: [(&str, u64, usize, Job, u64); 4] = [
    ("1p1w-tiny", 1, 1, Job::TINY, 1),
    ("2p2w-tiny", 2, 2, Job::TINY, 1),
    ("1p1w-1us", 1, 1, Job::spin(1_000), 4),
    ("2p2w-1us", 2, 2, Job::spin(1_000), 4),
];

fn run(scale: Scale) -> Outcome {
    let jobs = scale.pick(100_000, 40_000, 4_000);
    let mut candidates = default_and_peers();
    candidates.push(raw::QUEUE);
    candidates.retain(Candidate::is_bounded);
    let cases = CASES.iter().flat_map(|&(name, producers, workers, job, share)| {
        interleave(scale, name, &candidates, |candidate| {
            let jobs = jobs / share;
            let setup = Setup { workers, capacity: 1024 };
            let peer = candidate.start_bounded(setup).expect("only bounded ones are asked");
            let nanos = crowd::time(producers, jobs, |each| peer.submit_row_when_room(job, each));
            peer.stop();
            vec![Reading::throughput("tasks", jobs, nanos)]
        })
    });
    Outcome::new(cases.collect())
}
