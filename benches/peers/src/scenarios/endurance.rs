//! Whether a pool that has run for long costs what a new one costs.

use super::FLAT;
use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::ours;
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{NANOS, Reading, interleave};
use crate::{clock, stats, tally};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "endurance",
    about: "100,000,000 tiny tasks in one pool of one worker, in rows of 100,000: nanoseconds per task in the first and in the \
            last million, the median of their rows. One run.",
    goals: &[Goal::new("last", Against::One(FIRST), FLAT)],
    run,
};

const FIRST: &str = "dockhand@first";
/// Tasks that are queued at once.
const ROW: u64 = 100_000;
/// Rows that are compared.
const MILLION: usize = 10;

fn run(scale: Scale) -> Outcome {
    let rows = scale.pick(1_000, 50, 20);
    // Once, however many rounds the others have.
    let outcome = Outcome::new(interleave(Scale::Smoke, "", &[ours::DEFAULT], |candidate| {
        let rows = measure(candidate, rows);
        let part = |name, rows: &[f64]| Reading::value(name, NANOS, stats::median(rows.iter().copied()));
        vec![part("first", &rows[..MILLION]), part("last", &rows[rows.len() - MILLION..])]
    }));
    let ratio = outcome.ours("", "first") / outcome.ours("", "last");
    outcome.with([Ratio::to_reference("last", FIRST, ratio)])
}

/// Nanoseconds per task, row by row.
fn measure(candidate: &Candidate, rows: usize) -> Vec<f64> {
    let peer = candidate.start(Setup { workers: 1, capacity: ROW as usize });
    let row = |_| {
        let expected = tally::expect(ROW);
        let began = clock::now();
        peer.submit_row(Job::TINY, ROW);
        (expected.wait() - began) as f64 / ROW as f64
    };
    let rows = (0..rows).map(row).collect();
    peer.stop();
    rows
}
