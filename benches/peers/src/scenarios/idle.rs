//! What it costs to have nothing to do, or little.

use crate::child::{self, Asked, Question};
use crate::goal::{Against, Goal};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::default_and_peers;
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{CPU_MICROS, Reading, interleave};
use crate::tally;
use cpu_time::ProcessTime;
use std::collections::HashMap;
use std::thread;
use std::time::Duration;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "idle",
    about: "Processor time of the whole process. `idle`: four workers, in 10 s (2 s with `--quick`) without work, each \
            candidate in a process of its own, all at the same time; what is below 500 µs counts as equal. `ticking`: two \
            workers, 1,000 tiny tasks at 1,000 a second, the submitter's sleep included.",
    goals: &[Goal::new("", Against::EveryPeer, 1.0)],
    run,
};

fn run(scale: Scale) -> Outcome {
    let candidates = default_and_peers();
    let mut asked: HashMap<&str, Asked> = HashMap::new();
    let millis = scale.pick(10_000, 2_000, 50);
    let ticks = scale.pick(500, 150, 20);
    let series = interleave(scale, "", &candidates, |candidate| {
        if asked.is_empty() {
            // The first of a round: all of them are idle together.
            asked = candidates.iter().map(|c| (c.name, child::ask(Question::Idle, c.name, millis))).collect();
        }
        let idle = asked.remove(candidate.name).expect("each is asked for once in a round").answer();
        vec![Reading::value("idle", CPU_MICROS, idle)]
    });
    let ticking = interleave(scale, "", &candidates, |candidate| vec![tick(candidate, ticks)]);
    Outcome::new([series, ticking].concat())
}

fn tick(candidate: &Candidate, ticks: u64) -> Reading {
    let peer = candidate.start(Setup { workers: 2, capacity: 1024 });
    let paced = |ticks: u64| {
        let expected = tally::expect(ticks);
        (0..ticks).for_each(|_| {
            thread::sleep(Duration::from_millis(1));
            peer.submit(Job::TINY);
        });
        expected.wait();
    };
    // Threads that are started by the first submits.
    paced(5);
    let began = ProcessTime::now();
    paced(ticks);
    let used = began.elapsed();
    peer.stop();
    Reading::value("ticking", CPU_MICROS, used.as_nanos() as f64 / 1e3 * 1000.0 / ticks as f64)
}
