//! What it takes of memory.

use super::retries::flaky_pool;
use crate::allocator::counted;
use crate::child::{self, Question};
use crate::gate::Plug;
use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::peers::{default_and_peers, ours};
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{BYTES, KIB, PER_TASK, Reading, interleave};
use crate::{stats, tally};
use std::time::Duration;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "memory",
    about: "`slot`: bytes allocated for each further queued task beyond its 16 bytes. `started`: what is allocated to start \
            four workers and a queue of 1,024. `resident`: what a process grows by with them once the queue was full, the \
            pages of the program included that are touched for the first time. `allocations`: for each task that is submitted and \
            run; `retry_allocations`: for each that fails once and is retried.",
    goals: &[
        Goal::new("slot", Against::One(SLOT), 1.0),
        Goal::new("resident", Against::EveryPeer, 1.0),
        Goal::new("allocations", Against::One(NONE), 1.0),
    ],
    run,
};

const SLOT: &str = "56B";
const NONE: &str = "none";
/// Tasks between two waits.
const ROW: u64 = 100;

fn run(scale: Scale) -> Outcome {
    let rows = scale.pick(100, 50, 2);
    let peers = interleave(scale, "", &default_and_peers(), |candidate| {
        vec![
            Reading::value("slot", BYTES, slot_bytes(candidate)),
            Reading::value("started", KIB, started_bytes(candidate) as f64 / 1024.0),
            Reading::value("resident", KIB, child::ask(Question::Resident, candidate.name, 0).answer()),
            Reading::value("allocations", PER_TASK, allocations(candidate, rows)),
        ]
    });
    let retries = interleave(scale, "", &[ours::DEFAULT], |_| {
        vec![Reading::value("retry_allocations", PER_TASK, retry_allocations(rows))]
    });
    let outcome = Outcome::new([peers, retries].concat());
    let slot = stats::ratio(BYTES.better, BYTES.floor, 56.0, outcome.ours("", "slot"));
    let none = |metric| stats::ratio(PER_TASK.better, PER_TASK.floor, 0.0, outcome.ours("", metric));
    let ratios = [
        Ratio::to_reference("slot", SLOT, slot),
        Ratio::to_reference("allocations", NONE, none("allocations")),
        Ratio::to_reference("retry_allocations", NONE, none("retry_allocations")),
    ];
    outcome.with(ratios)
}

fn started_bytes(candidate: &Candidate) -> i64 {
    let mut peer = None;
    let allocated = counted(|| peer = Some(candidate.start(child::SETUP)));
    if let Some(peer) = peer {
        peer.stop();
    }
    allocated.bytes
}

/// By the difference between a long and a short queue, both full.
fn slot_bytes(candidate: &Candidate) -> f64 {
    let [short, long] = [1_024, 8_192];
    let difference = full_queue_bytes(candidate, long) - full_queue_bytes(candidate, short);
    difference as f64 / (long - short) as f64 - size_of::<Job>() as f64
}

fn full_queue_bytes(candidate: &Candidate, tasks: usize) -> i64 {
    let expected = tally::expect(tasks as u64);
    let mut held = None;
    let allocated = counted(|| {
        let peer = candidate.start(Setup { workers: 1, capacity: tasks });
        let plug = Plug::all(&*peer, 1);
        peer.submit_row(Job::TINY, tasks as u64);
        held = Some((plug, peer));
    });
    if let Some((plug, peer)) = held {
        drop(plug);
        expected.wait();
        peer.stop();
    }
    allocated.bytes
}

fn allocations(candidate: &Candidate, rows: u64) -> f64 {
    let peer = candidate.start(Setup { workers: 2, capacity: 1024 });
    let per_task = allocations_per_task(rows, ROW, || peer.submit_row(Job::TINY, ROW));
    peer.stop();
    per_task
}

/// Two attempts for each task.
fn retry_allocations(rows: u64) -> f64 {
    let pool = flaky_pool(ROW, Duration::from_micros(200));
    let submitter = pool.submitter();
    allocations_per_task(rows, 2 * ROW, || {
        for _ in 0..ROW {
            assert!(submitter.submit(Job::TINY).into_payload().is_none(), "there is room");
        }
    })
}

/// For each of the [`ROW`] tasks that `submit` hands over, of which `ends` are counted, once everything is warm.
fn allocations_per_task(rows: u64, ends: u64, submit: impl Fn()) -> f64 {
    let all = || {
        for _ in 0..rows {
            let expected = tally::expect(ends);
            submit();
            expected.wait();
        }
    };
    all();
    counted(all).allocations as f64 / (rows * ROW) as f64
}
