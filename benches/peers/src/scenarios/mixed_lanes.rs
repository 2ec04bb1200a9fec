//! Whether a lane full of slow tasks costs an urgent one anything.

use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peers::ours::{self, Runs};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{Reading, Series, interleave};
use crate::tally;
use dockhand::{Lane, OverloadPolicy, TaskSubmitter, WorkerPool};
use std::thread;
use std::time::Duration;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "mixed_lanes",
    about: "Eight lanes, two workers, one urgent task every millisecond. `alone`: nothing else. `mixed`: the last lane, \
            limited to one worker, is kept full of tasks that block their thread for 1 ms. Nanoseconds from submit to start \
            of the urgent ones. The peers have no lanes.",
    goals: &[Goal::new("mixed_p99", Against::One(ALONE), 1.0 / 1.5)],
    run,
};

const ALONE: &str = "dockhand@alone";
const LANES: usize = 8;
const SLOW: Job = Job::Sleep { micros: 1_000 };

fn run(scale: Scale) -> Outcome {
    let submits = scale.pick(500, 200, 10);
    let series = interleave(scale, "", &[ours::DEFAULT], |_| {
        vec![
            Reading::latency("alone", measure(submits, |_| ())),
            Reading::latency("mixed", measure(submits, fill)),
        ]
    });
    let judged = |metric| {
        let series = series.iter().find(|series| series.metric == metric);
        series.map(Series::judged).unwrap_or_default()
    };
    let both = judged("alone").into_iter().zip(judged("mixed"));
    let ratio =
        |((suffix, alone), (_, mixed))| Ratio::to_reference(format!("mixed{suffix}"), ALONE, alone / mixed);
    let ratios: Vec<_> = both.map(ratio).collect();
    Outcome::new(series).with(ratios)
}

/// Until the lane is full.
fn fill(slow: &TaskSubmitter<Runs>) {
    while slow.submit(SLOW).into_payload().is_none() {}
}

fn measure(submits: u64, meanwhile: impl Fn(&TaskSubmitter<Runs>)) -> Vec<u64> {
    let lane = |n: usize| Lane::new(format!("lane-{n}"));
    let mut builder = WorkerPool::builder(Runs).workers(2).lane(lane(0));
    for n in 1..LANES - 1 {
        builder = builder.lane(lane(n));
    }
    let slow = Lane::new("default").max_concurrency(1).overload(OverloadPolicy::DropIncoming);
    let pool = builder.lane(slow).build().expect("the settings are right");
    let (urgent, slow) = (pool.submitter_for("lane-0").expect("it is there"), pool.submitter());
    let expected = tally::expect(submits);
    for _ in 0..submits {
        meanwhile(&slow);
        thread::sleep(Duration::from_millis(1));
        assert!(urgent.submit(Job::stamp()).into_payload().is_none(), "there is room");
    }
    expected.wait();
    // What is left of the slow ones is not run.
    drop(pool.shutdown(Duration::ZERO));
    tally::take_starts()
}
