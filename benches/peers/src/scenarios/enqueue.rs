//! What a submit costs the thread that cannot wait, if nobody sleeps.

use crate::gate::Plug;
use crate::goal::{Against, Goal};
use crate::job::Job;
use crate::peer::{Candidate, Kind, Setup};
use crate::peers::{PEERS, ours, raw};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{Reading, interleave};
use crate::{clock, tally};

/// Submits between two readings of the clock.
const CHUNK: u64 = 100;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "enqueue",
    about: "One worker, which is held; 100,000 submits of 16 bytes to a queue that has room for all of them. Nanoseconds \
            per submit, in chunks of 100.",
    goals: &[
        Goal::new("submit", Against::Kind(Kind::Pool), 2.0),
        Goal::new("submit", Against::Kind(Kind::Boxed), 1.5),
        Goal::new("submit", Against::One("crossbeam"), 1.0),
    ],
    run,
};

fn run(scale: Scale) -> Outcome {
    let submits = scale.pick(100_000, 100_000, 1_000);
    let candidates = [&[ours::DEFAULT, ours::OFF, ours::CLOSURES][..], &PEERS, &[raw::QUEUE]].concat();
    Outcome::new(interleave(scale, "", &candidates, |candidate| measure(candidate, submits)))
}

fn measure(candidate: &Candidate, submits: u64) -> Vec<Reading> {
    // One more for the plug.
    let peer = candidate.start(Setup { workers: 1, capacity: submits as usize + 1 });
    let plug = Plug::all(&*peer, 1);
    let expected = tally::expect(submits);
    let chunk = |_| {
        let began = clock::now();
        peer.submit_row(Job::TINY, CHUNK);
        (clock::now() - began) as f64 / CHUNK as f64
    };
    let samples = (0..submits / CHUNK).map(chunk).collect();
    drop(plug);
    expected.wait();
    peer.stop();
    vec![Reading::cost("submit", samples)]
}
