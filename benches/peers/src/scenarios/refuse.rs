//! What a refusal costs the thread that cannot wait.

use crate::gate::Plug;
use crate::goal::{Against, Goal};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::{default_and_peers, raw};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{Reading, interleave};
use crate::{clock, tally};

const CAPACITY: usize = 1024;
/// Offers between two readings of the clock.
const CHUNK: u64 = 100;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "refuse",
    about: "One worker, which is held, and a full queue of 1,024: nanoseconds per refused offer, the payload given back, in \
            chunks of 100. Candidates without a limit are left out.",
    goals: &[Goal::new("offer", Against::One("crossbeam"), 1.0)],
    run,
};

fn run(scale: Scale) -> Outcome {
    let offers = scale.pick(100_000, 100_000, 1_000);
    let mut candidates = default_and_peers();
    candidates.push(raw::QUEUE);
    candidates.retain(Candidate::is_bounded);
    Outcome::new(interleave(scale, "", &candidates, |candidate| measure(candidate, offers)))
}

fn measure(candidate: &Candidate, offers: u64) -> Vec<Reading> {
    let setup = Setup { workers: 1, capacity: CAPACITY };
    let peer = candidate.start_bounded(setup).expect("only bounded ones are asked");
    let plug = Plug::put(1, |job| peer.submit(job));
    let expected = tally::expect(CAPACITY as u64);
    peer.submit_row(Job::TINY, CAPACITY as u64);
    let chunk = |_| {
        let began = clock::now();
        let refused = peer.offer_row(Job::TINY, CHUNK);
        let nanos = clock::now() - began;
        assert_eq!(refused, CHUNK, "{} is full", candidate.name);
        nanos as f64 / CHUNK as f64
    };
    let samples = (0..offers / CHUNK).map(chunk).collect();
    drop(plug);
    expected.wait();
    peer.stop();
    vec![Reading::cost("offer", samples)]
}
