//! Random scripts on a pool without threads, on which every moment is a quiet one: after each step the law holds and no
//! permit is in use; no attempt is early, late, or one too many; and each payload ends once.

use crate::manual_book::Step;
use crate::manual_run::{How, LANES, Op, Run};
use crate::support::{POLICIES, Watchdog};
use dockhand::OverloadPolicy;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn policy() -> impl Strategy<Value = OverloadPolicy> {
    select(&POLICIES[..])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Ok),
        3 => Just(Step::Fail),
        1 => Just(Step::Panic),
        1 => (0..30_u64).prop_map(Step::Work),
        1 => (0..LANES.len()).prop_map(Step::Follow),
    ]
}

fn how() -> impl Strategy<Value = How> {
    let (timeout, delay, ttl) =
        (option::weighted(0.2, 0..20_u64), option::of(0..30_u64), option::of(0..40_u64));
    let key = option::weighted(0.2, 0..2_u8);
    (any::<bool>(), timeout, delay, ttl, key).prop_map(|(tracked, timeout, delay, ttl, key)| How {
        tracked,
        timeout,
        delay,
        ttl,
        key,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let submit = (0..LANES.len(), policy(), how(), vec(step(), 1..4));
    prop_oneof![
        12 => submit.prop_map(|(lane, policy, how, steps)| Op::Submit { lane, policy, how, steps }),
        3 => (0..40_u64).prop_map(Op::Advance),
        2 => Just(Op::AdvanceToDue),
        4 => Just(Op::RunOne),
        1 => Just(Op::RunAll),
        3 => (0..20_usize).prop_map(Op::Cancel),
        2 => ((0..20_usize), 0..30_u64).prop_map(|(n, millis)| Op::Wait(n, millis)),
        1 => (0..20_usize).prop_map(Op::Drop),
        2 => (0..3_usize).prop_map(Op::Limit),
        1 => (0..50_u64).prop_map(Op::WaitIdle),
        1 => Just(Op::Letters),
        1 => Just(Op::Requeue),
    ]
}

fn config() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { 500 };
    ProptestConfig { cases, failure_persistence: None, ..asked }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_script_without_threads_keeps_the_law_at_every_step(
        limit in 0..3_usize,
        overload in [policy(), policy()],
        before in vec(op(), 0..60),
        closes in any::<bool>(),
        after in vec(op(), 0..10),
        window in option::of(prop_oneof![Just(0), 0..60_u64, Just(10_000)]),
    ) {
        let _watchdog = Watchdog::new();
        let mut run = Run::new(limit, overload);
        before.into_iter().for_each(|op| run.step(op));
        if closes {
            run.step(Op::Close);
        }
        after.into_iter().for_each(|op| run.step(op));
        run.end(window);
    }
}
