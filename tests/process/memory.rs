//! A full lane takes no more memory, however much it is offered.

use crate::child::Start;
use crate::support::{Gate, LONG, POLICIES, assert_rest, rounds};
use dockhand::{
    BuildError, Lane, OverloadPolicy, TaskContext, TaskOptions, Timing, WorkerPool, processor_fn,
};
use std::fs;
use std::time::Duration;

const CAPACITY: usize = 1024;
const PAYLOAD: usize = 512;
/// What a process may have: less than the payloads of all offers, and little enough that a queue that does not fit is
/// soon tried.
const LIMIT: u64 = 64 << 20;
/// What may come on top of a pool that has been full for a while, in bytes: one for each offer.
const GROWTH: u64 = 250_000;

/// What a task brings; its worker is kept by the gate, if it has one.
struct Load {
    gate: Option<Gate>,
    fails: bool,
    _bytes: Vec<u8>,
}

fn load(fails: bool) -> Load {
    Load { gate: None, fails, _bytes: vec![1; PAYLOAD] }
}

#[test]
fn a_full_lane_that_rejects_does_not_grow() {
    assert_bounded(OverloadPolicy::Reject);
}

#[test]
fn a_full_lane_whose_callers_run_does_not_grow() {
    assert_bounded(OverloadPolicy::CallerRuns);
}

#[test]
fn a_full_lane_that_drops_what_comes_does_not_grow() {
    assert_bounded(OverloadPolicy::DropIncoming);
}

#[test]
fn a_full_lane_that_drops_its_oldest_does_not_grow() {
    assert_bounded(OverloadPolicy::DropOldest);
}

fn assert_bounded(policy: OverloadPolicy) {
    let place = POLICIES.iter().position(|other| *other == policy).unwrap();
    let Some(ended) = Start::given(place).memory(LIMIT).run(offer_to_a_full_lane) else { return };
    ended.assert_code(0);
}

/// Every eighth offer is of a kind that leaves something to be freed: delayed, or tracked with a key. As many fail where
/// they run, so that letters have to leave their store.
fn offer_to_a_full_lane(policy: &str) {
    let policy = POLICIES[policy.parse::<usize>().unwrap()];
    let builder = WorkerPool::builder(processor_fn(process)).workers(1).dead_letter_capacity(16);
    let pool = builder.queue_capacity(CAPACITY).overload(policy).build().unwrap();
    let (plug, submitter) = (Gate::new(), pool.submitter());
    pool.submit(Load { gate: Some(plug.clone()), ..load(false) }).into_result().unwrap();
    plug.wait_arrived(1);
    let later = TaskOptions::new().delay(Duration::MAX);
    let offer = |n: usize| match n % 16 {
        7 => drop(submitter.submit_with(load(false), later.clone())),
        15 => drop(submitter.submit_tracked_with(load(false), TaskOptions::new().key(n.to_string()))),
        n => drop(submitter.submit(load(n % 8 == 3))),
    };
    // Until all that is bounded is full.
    (0..32 * CAPACITY).for_each(offer);
    let before = peak();
    let offers = rounds(1_000_000, 4);
    (0..offers).for_each(offer);
    let grown = peak() - before;
    assert!(grown < GROWTH, "{policy:?}: {grown} bytes");
    let counts = pool.metrics().counts;
    assert_eq!((counts.queued, counts.delayed), (CAPACITY as u64, CAPACITY as u64));
    assert_eq!(counts.submitted, (1 + 32 * CAPACITY + offers) as u64);
    plug.open();
    drop(pool.shutdown(LONG));
    assert_rest(&pool);
}

fn process(load: &mut Load, _cx: &TaskContext<'_, Load>) -> Result<(), String> {
    if let Some(gate) = &load.gate {
        gate.pass();
    }
    if load.fails { Err("as planned".to_string()) } else { Ok(()) }
}

/// The most memory that the process has had in use, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

/// One lane, and two that fit one by one but not together: of a row of doubled sizes one is such.
#[test]
fn lanes_that_do_not_fit_into_memory_are_refused() {
    let Some(ended) = Start::default().memory(LIMIT).run(build_too_large_lanes) else { return };
    ended.assert_code(0);
}

fn build_too_large_lanes(_: &str) {
    for number in [1, 2] {
        let lanes = |capacity| {
            let builder = WorkerPool::builder(processor_fn(process)).queue_capacity(1);
            let names = ["a", "b"].into_iter().take(number);
            names.fold(builder, |builder, name| builder.lane(Lane::new(name).queue_capacity(capacity)))
        };
        let mut capacity = 1 << 14;
        while lanes(capacity).build_manual().is_ok() {
            capacity *= 2;
        }
        for capacity in [capacity, 1 << 40] {
            let refused = lanes(capacity).workers(1).build();
            assert!(matches!(refused, Err(BuildError::CapacityTooLarge { .. })), "{number}, {capacity}");
        }
        assert!(lanes(CAPACITY).workers(1).build().is_ok());
    }
}

/// The largest queue that fits is not the largest that fits with the time of each of its tasks beside it.
#[test]
fn the_times_of_a_lane_count_as_its_memory() {
    let Some(ended) = Start::default().memory(LIMIT).run(build_lanes_with_times) else { return };
    ended.assert_code(0);
}

fn build_lanes_with_times(_: &str) {
    let queue = |capacity| WorkerPool::builder(processor_fn(process)).queue_capacity(capacity);
    let grown = |capacity: usize| capacity + capacity / 50;
    let mut capacity = 1 << 18;
    assert!(queue(capacity).build_manual().is_ok());
    while queue(grown(capacity)).build_manual().is_ok() {
        capacity = grown(capacity);
    }
    let refused = queue(capacity).timing(Timing::Full).build_manual();
    assert!(matches!(refused, Err(BuildError::CapacityTooLarge { .. })), "{capacity}");
}
