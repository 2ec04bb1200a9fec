//! What a pool is built like, what is done to it, and how it ends.

use dockhand::{OverloadPolicy, RetryPolicy};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::time::Duration;

/// Lanes, in the order of their priority. The last one is not declared.
pub(super) const LANES: [&str; 3] = ["first", "second", "default"];

#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) pool: Settings,
    /// Done before the end begins.
    pub(super) before: Vec<Op>,
    /// Offered by another thread while the pool ends.
    pub(super) beside: Vec<Op>,
    pub(super) end: End,
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) workers: usize,
    pub(super) capacity: usize,
    pub(super) delay_capacity: usize,
    pub(super) letters: usize,
    /// By lane.
    pub(super) overload: [OverloadPolicy; 3],
    pub(super) retry: RetryPolicy,
    pub(super) retries_panics: bool,
    pub(super) discards_every: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Submit { lane: usize, plan: Plan },
    SubmitTimeout { lane: usize, plan: Plan, timeout: Duration },
    SubmitBatch { lane: usize, plans: Vec<Plan> },
    SubmitWith { lane: usize, plan: Plan, overload: OverloadPolicy },
    WaitIdle,
    RequeueAll,
    DrainLetters,
    TakeAndPutBack,
}

/// What a payload does in its attempts: one step each, the last one again and again.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) follow_up: Option<FollowUp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ok,
    Fail,
    Panic,
}

#[derive(Clone, Debug)]
pub(super) struct FollowUp {
    pub(super) lane: usize,
    /// By a submitter that the processor owns, instead of the context.
    pub(super) by_submitter: bool,
    pub(super) plan: Box<Plan>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Shutdown(Duration),
    /// A second one cuts the first one short.
    TwoShutdowns(Duration),
    FromInside(Duration),
    Drop(Duration),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![4 => Just(Step::Ok), 2 => Just(Step::Fail), 1 => Just(Step::Panic)];
    vec(step, 1..4)
}

fn plan() -> impl Strategy<Value = Plan> {
    let leaf = steps().prop_map(|steps| Plan { steps, follow_up: None });
    leaf.prop_recursive(2, 4, 1, |inner| {
        let follow_up = (0..LANES.len(), any::<bool>(), inner);
        let follow_up = follow_up.prop_map(|(lane, by_submitter, plan)| FollowUp {
            lane,
            by_submitter,
            plan: Box::new(plan),
        });
        (steps(), option::of(follow_up)).prop_map(|(steps, follow_up)| Plan { steps, follow_up })
    })
}

fn overload() -> impl Strategy<Value = OverloadPolicy> {
    use OverloadPolicy::{CallerRuns, DropIncoming, DropOldest, Reject};
    prop_oneof![Just(Reject), Just(CallerRuns), Just(DropIncoming), Just(DropOldest)]
}

fn retry() -> impl Strategy<Value = RetryPolicy> {
    let delay = (0..800_u64).prop_map(Duration::from_micros);
    prop_oneof![
        1 => Just(RetryPolicy::none()),
        2 => (delay.clone(), 1..3_u32).prop_map(|(delay, n)| RetryPolicy::fixed(delay).max_retries(n)),
        2 => (delay, 0.0..1.0).prop_map(|(delay, jitter)| RetryPolicy::exponential(delay).jitter(jitter)),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let bounds = (1..4_usize, 1..9_usize, 0..5_usize, 0..5_usize);
    let policies = [overload(), overload(), overload()];
    let rest = (retry(), any::<bool>(), 1..4_u64);
    (bounds, policies, rest).prop_map(|(bounds, overload, (retry, retries_panics, discards_every))| {
        let (workers, capacity, delay_capacity, letters) = bounds;
        Settings {
            workers,
            capacity,
            delay_capacity,
            letters,
            overload,
            retry,
            retries_panics,
            discards_every,
        }
    })
}

fn submit() -> impl Strategy<Value = Op> {
    let lane = || 0..LANES.len();
    let timeout = (0..3_u64).prop_map(Duration::from_millis);
    prop_oneof![
        4 => (lane(), plan()).prop_map(|(lane, plan)| Op::Submit { lane, plan }),
        2 => (lane(), plan(), timeout)
            .prop_map(|(lane, plan, timeout)| Op::SubmitTimeout { lane, plan, timeout }),
        2 => (lane(), vec(plan(), 0..12)).prop_map(|(lane, plans)| Op::SubmitBatch { lane, plans }),
        2 => (lane(), plan(), overload())
            .prop_map(|(lane, plan, overload)| Op::SubmitWith { lane, plan, overload }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => submit(),
        1 => Just(Op::WaitIdle),
        1 => Just(Op::RequeueAll),
        1 => Just(Op::DrainLetters),
        1 => Just(Op::TakeAndPutBack),
    ]
}

fn end() -> impl Strategy<Value = End> {
    let window = prop_oneof![
        2 => Just(Duration::ZERO),
        1 => (1..2_000_u64).prop_map(Duration::from_micros),
        2 => Just(crate::support::LONG),
    ];
    (window, 0..4_u8).prop_map(|(window, kind)| match kind {
        0 => End::Shutdown(window),
        1 => End::TwoShutdowns(window),
        2 => End::FromInside(window),
        _ => End::Drop(window),
    })
}

pub(super) fn any_script() -> impl Strategy<Value = Script> {
    (settings(), vec(op(), 0..40), vec(submit(), 0..10), end())
        .prop_map(|(pool, before, beside, end)| Script { pool, before, beside, end })
}
