//! How fast a shutdown works off what is queued.

use super::burst;
use crate::gate::Plug;
use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peer::{Candidate, Kind, Setup};
use crate::peers::default_and_peers;
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{Reading, interleave};
use crate::{clock, tally};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "drain",
    about: "100,000 tiny tasks are queued, and the candidate is shut down in its own way: tasks a second until it has come \
            back, its threads gone. Candidates without a way that runs what is queued are left out. `burst`: the same tasks \
            as in the scenario `burst`, by one producer.",
    goals: &[Goal::new("drained", Against::One(BURST), 1.0)],
    run,
};

const BURST: &str = "dockhand@burst";
const CASES: [(&str, usize); 2] = [("1w", 1), ("2w", 2)];

fn run(scale: Scale) -> Outcome {
    let jobs = scale.pick(100_000, 100_000, 1_000);
    let mut candidates = default_and_peers();
    candidates.retain(|candidate| candidate.drains);
    let cases = CASES.iter().flat_map(|&(name, workers)| {
        interleave(scale, name, &candidates, |candidate| {
            let mut readings = vec![Reading::throughput("drained", jobs, measure(candidate, workers, jobs))];
            if candidate.kind == Kind::Ours {
                let nanos = burst::measure(candidate, 1, workers, jobs);
                readings.push(Reading::throughput("burst", jobs, nanos));
            }
            readings
        })
    });
    let outcome = Outcome::new(cases.collect());
    let to_burst = CASES.map(|(name, _)| {
        let ratio = outcome.ours(name, "drained") / outcome.ours(name, "burst");
        Ratio::to_reference(format!("{name}/drained"), BURST, ratio)
    });
    outcome.with(to_burst)
}

fn measure(candidate: &Candidate, workers: usize, jobs: u64) -> u64 {
    let peer = candidate.start(Setup { workers, capacity: jobs as usize + workers });
    let expected = tally::expect(jobs);
    let plug = Plug::all(&*peer, workers);
    peer.submit_row(Job::TINY, jobs);
    let began = clock::now();
    drop(plug);
    peer.stop();
    let nanos = clock::now() - began;
    expected.wait();
    nanos
}
