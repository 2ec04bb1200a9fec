//! Whether the cost of a task stays the same: with the number of tasks, workers and lanes, and with the payload.

use super::{FLAT, burst};
use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::ours::{self, Runs};
use crate::peers::{channels, default_and_peers};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{NANOS, Reading, Series, interleave};
use crate::{clock, tally};
use dockhand::{Lane, WorkerPool};
use std::time::Duration;

mod payload;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "growth",
    about: "Nanoseconds per tiny task, from the first submit to the end of the last task. `tasks_`: by their number, one \
            worker, in rows of at most 100,000. `workers_`: one producer. `lanes_`: each lane in turn, one worker. \
            `payload_`: one worker, in rows of 1,000. Ours is compared with the best of its smaller sizes.",
    goals: &[Goal::new("", Against::One(SMALLER), FLAT)],
    run,
};

const SMALLER: &str = "dockhand@smaller";
const LONG: Duration = Duration::from_secs(60);
/// Tasks that are queued at once.
const ROW: u64 = 100_000;

const TASKS: [(&str, u64); 5] = [
    ("tasks_1e3", 1_000),
    ("tasks_1e4", 10_000),
    ("tasks_1e5", 100_000),
    ("tasks_1e6", 1_000_000),
    ("tasks_1e7", 10_000_000),
];
/// Also the curve of throughput by workers.
pub(crate) const WORKERS: [(&str, usize); 7] = [
    ("workers_1", 1),
    ("workers_2", 2),
    ("workers_4", 4),
    ("workers_8", 8),
    ("workers_16", 16),
    ("workers_32", 32),
    ("workers_64", 64),
];
const LANES: [(&str, usize); 5] =
    [("lanes_1", 1), ("lanes_2", 2), ("lanes_4", 4), ("lanes_8", 8), ("lanes_16", 16)];

fn run(scale: Scale) -> Outcome {
    let most = scale.pick(10_000_000, 1_000_000, 10_000);
    let jobs = scale.pick(50_000, 20_000, 1_000);
    let ours_and_channel = [ours::DEFAULT, channels::CROSSBEAM];
    let sizes: Vec<_> = TASKS.into_iter().filter(|(_, tasks)| *tasks <= most).collect();
    let tasks = interleave(scale, "", &ours_and_channel, |candidate| {
        sizes.iter().map(|&(name, tasks)| by_tasks(candidate, name, tasks)).collect()
    });
    let workers = interleave(scale, "", &default_and_peers(), |candidate| {
        let measure = |workers| burst::measure(candidate, 1, workers, jobs);
        WORKERS.iter().map(|&(name, workers)| per_task(name, measure(workers), jobs)).collect()
    });
    let lanes = interleave(scale, "", &[ours::DEFAULT], |_| {
        LANES.iter().map(|&(name, lanes)| by_lanes(name, lanes, jobs)).collect()
    });
    let payloads = interleave(scale, "", &ours_and_channel, |candidate| payload::all(candidate, jobs));
    let parts = [tasks, workers, lanes, payloads];
    let ratios: Vec<_> = parts.iter().flat_map(|part| flatness(part)).collect();
    Outcome::new(parts.concat()).with(ratios)
}

/// Each of ours beside the best of those before it.
fn flatness(part: &[Series]) -> Vec<Ratio> {
    let mut best = f64::INFINITY;
    let ours = part.iter().filter(|series| series.is_ours());
    let ratio = |series: &Series| {
        let (smaller, cost) = (best, series.median());
        best = best.min(cost);
        smaller.is_finite().then(|| Ratio::to_reference(series.metric, SMALLER, smaller / cost))
    };
    ours.filter_map(ratio).collect()
}

fn per_task(name: &'static str, nanos: u64, tasks: u64) -> Reading {
    Reading::value(name, NANOS, nanos as f64 / tasks as f64)
}

fn by_tasks(candidate: &Candidate, name: &'static str, tasks: u64) -> Reading {
    let peer = candidate.start(Setup { workers: 1, capacity: ROW as usize });
    let row = tasks.min(ROW);
    let nanos = in_rows(tasks, row, |jobs| peer.submit_row(Job::TINY, jobs));
    peer.stop();
    per_task(name, nanos, tasks)
}

/// Nanoseconds for so many tasks, each row waited for before the next.
fn in_rows(tasks: u64, row: u64, submit: impl Fn(u64)) -> u64 {
    let one = |_| {
        let expected = tally::expect(row);
        let began = clock::now();
        submit(row);
        expected.wait() - began
    };
    (0..tasks / row).map(one).sum()
}

fn by_lanes(name: &'static str, lanes: usize, tasks: u64) -> Reading {
    let mut builder = WorkerPool::builder(Runs).workers(1).queue_capacity(tasks as usize / lanes + 1);
    for n in 1..lanes {
        builder = builder.lane(Lane::new(format!("lane-{n}")));
    }
    let pool = builder.build().expect("the settings are right");
    let named = |n| pool.submitter_for(&format!("lane-{n}")).expect("it is there");
    let submitters: Vec<_> = (1..lanes).map(named).chain([pool.submitter()]).collect();
    let nanos = in_rows(tasks, tasks, |jobs| {
        for (job, submitter) in Job::TINY.row(jobs).zip(submitters.iter().cycle()) {
            assert!(submitter.submit(job).into_payload().is_none(), "there is room");
        }
    });
    assert!(pool.shutdown(LONG).is_clean(), "everything has run");
    per_task(name, nanos, tasks)
}
