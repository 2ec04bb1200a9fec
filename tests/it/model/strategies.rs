//! How scripts are made up.

use super::script::{
    Act, End, Form, LANES, Offer, OnDrop, Options, Plan, Reaction, Script, Step, Trouble, Window,
};
use super::settings::{Classify, Delays, Hooks, LaneSettings, Retry, Settings, Sink};
use crate::support::POLICIES;
use dockhand::{OverloadPolicy, Timing};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn lane() -> impl Strategy<Value = usize> {
    0..LANES.len()
}

fn overload() -> impl Strategy<Value = OverloadPolicy> {
    select(&POLICIES[..])
}

fn plain_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Ok),
        4 => Just(Step::Fail),
        1 => Just(Step::Panic),
        1 => Just(Step::Bomb),
        2 => (0..30_u64).prop_map(Step::Work),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => plain_step(),
        2 => offer(plain_step().boxed()).prop_map(|offer| Step::Follow(Box::new(offer))),
        1 => act(plain_step().boxed()).prop_map(|act| Step::Do(Box::new(act))),
    ]
}

fn trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![6 => Just(Trouble::Nothing), 1 => Just(Trouble::DropPanics), 1 => Just(Trouble::DisplayPanics)]
}

fn plan(step: BoxedStrategy<Step>) -> impl Strategy<Value = Plan> {
    let on_drop = prop_oneof![8 => Just(OnDrop::Nothing), 1 => Just(OnDrop::Panic), 1 => Just(OnDrop::React)];
    (vec(step, 1..4), on_drop, trouble(), trouble()).prop_map(|(steps, on_drop, error, output)| Plan {
        steps,
        on_drop,
        error,
        output,
    })
}

fn options() -> impl Strategy<Value = Options> {
    let (delay, ttl) = (option::of(0..30_u64), option::weighted(0.4, 0..40_u64));
    (delay, ttl, any::<bool>(), option::weighted(0.2, 0..2_u8))
        .prop_map(|(delay, ttl, as_deadline, key)| Options { delay, ttl, as_deadline, key })
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        4 => Just(Form::Plain),
        4 => Just(Form::With),
        2 => (0..20_u64).prop_map(Form::Timeout),
        2 => Just(Form::Tracked),
        4 => Just(Form::TrackedWith),
    ]
}

fn offer(step: BoxedStrategy<Step>) -> impl Strategy<Value = Offer> {
    (lane(), form(), option::weighted(0.3, overload()), options(), plan(step))
        .prop_map(|(lane, form, overload, options, plan)| Offer { lane, form, overload, options, plan })
}

fn act(step: BoxedStrategy<Step>) -> impl Strategy<Value = Act> {
    let batch = (lane(), option::weighted(0.3, overload()), vec(plan(step.clone()), 0..6));
    let handle = 0..20_usize;
    prop_oneof![
        24 => offer(step).prop_map(Act::Offer),
        3 => batch.prop_map(|(lane, overload, plans)| Act::Batch { lane, overload, plans }),
        5 => handle.clone().prop_map(Act::Cancel),
        3 => (handle.clone(), 0..30_u64).prop_map(|(n, ticks)| Act::Wait(n, ticks)),
        2 => (handle, any::<bool>()).prop_map(|(n, cancels)| Act::Forget(n, cancels)),
        4 => (lane(), 0..3_usize).prop_map(|(lane, limit)| Act::Limit(lane, limit)),
        2 => (0..50_u64).prop_map(Act::WaitIdle),
        1 => Just(Act::Look),
        3 => Just(Act::Requeue),
        1 => Just(Act::DrainLetters),
        1 => Just(Act::TakeAndPutBack),
        8 => Just(Act::RunOne),
        2 => Just(Act::RunAll),
        4 => (0..40_u64).prop_map(Act::Advance),
        3 => Just(Act::AdvanceToDue),
        2 => Just(Act::AlmostDue),
    ]
}

/// From inside, where the end of the pool may begin too.
fn reaction() -> impl Strategy<Value = Reaction> {
    let act = prop_oneof![
        24 => act(plain_step().boxed()),
        1 => Just(Act::Close),
        1 => window().prop_map(Act::Shutdown),
    ];
    prop_oneof![
        6 => Just(Reaction::Nothing),
        1 => Just(Reaction::Panic),
        1 => Just(Reaction::Bomb),
        2 => act.prop_map(Reaction::Do),
    ]
}

fn retry() -> impl Strategy<Value = Retry> {
    let delays = prop_oneof![
        1 => Just(Delays::Never),
        2 => (0..20_u64).prop_map(Delays::Fixed),
        2 => (0..10_u64, 1.0..3.0_f64).prop_map(|(base, factor)| Delays::Exponential(base, factor)),
        1 => vec(0..30_u64, 0..3).prop_map(Delays::Schedule),
    ];
    let jitter = prop_oneof![2 => Just(0.0), 1 => 0.0..=1.0_f64];
    let budget = option::weighted(0.2, (0.0..1.0_f64, 0.0..0.5_f64));
    (delays, 0..4_u32, 5..40_u64, jitter, budget).prop_map(|(delays, most, cap, jitter, budget)| Retry {
        delays,
        most,
        cap,
        jitter,
        budget,
    })
}

fn lane_settings() -> impl Strategy<Value = LaneSettings> {
    let bounds = (1..5_usize, 0..5_usize, option::weighted(0.4, 0..3_usize));
    let times = (
        option::weighted(0.2, 0..60_u64),
        option::weighted(0.2, 0..25_u64),
        option::weighted(0.2, 0..20_u64),
    );
    (bounds, overload(), retry(), times).prop_map(|(bounds, overload, retry, (ttl, timeout, slow))| {
        let (capacity, delay_capacity, limit) = bounds;
        LaneSettings { capacity, delay_capacity, overload, retry, limit, ttl, timeout, slow }
    })
}

fn hooks() -> impl Strategy<Value = Hooks> {
    let sink = prop_oneof![
        1 => Just(Sink::Absent),
        2 => Just(Sink::Keep),
        2 => (1..4_u64).prop_map(Sink::DiscardEvery),
    ];
    let classify = prop_oneof![
        2 => Just(Classify::Absent),
        1 => Just(Classify::RetryAll),
        1 => (0..30_u64).prop_map(Classify::AfterPanic),
        1 => Just(Classify::GiveUp),
    ];
    let listeners = prop_oneof![1 => Just(0), 2 => 1..3_usize];
    (sink, prop::bool::weighted(0.8), listeners, classify, any::<bool>()).prop_map(
        |(sink, sheds, listeners, classify, workers)| Hooks { sink, sheds, listeners, classify, workers },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    let timing = prop_oneof![Just(Timing::Full), Just(Timing::Sampled(2)), Just(Timing::Off)];
    let lanes = [lane_settings(), lane_settings(), lane_settings()];
    (1..4_usize, lanes, 0..5_usize, timing, 0..3_usize, window(), hooks()).prop_map(
        |(workers, lanes, letters, timing, idle, drop_window, hooks)| Settings {
            workers,
            lanes,
            letters,
            timing,
            idle,
            drop_window,
            hooks,
        },
    )
}

fn window() -> impl Strategy<Value = Window> {
    prop_oneof![
        2 => Just(Window::Ticks(0)),
        2 => (1..80_u64).prop_map(Window::Ticks),
        2 => Just(Window::Long),
    ]
}

fn end() -> impl Strategy<Value = End> {
    (window(), 0..5_u8).prop_map(|(window, kind)| match kind {
        0 => End::Shutdown(window),
        1 => End::TwoShutdowns(window),
        2 => End::FromInside(window),
        3 => End::Drop,
        _ => End::DropInside,
    })
}

pub(super) fn script() -> impl Strategy<Value = Script> {
    let before = vec(act(step().boxed()), 0..60);
    let beside = vec(act(plain_step().boxed()), 0..8);
    (settings(), before, beside, vec(reaction(), 0..40), end()).prop_map(
        |(settings, before, beside, reactions, end)| Script { settings, before, beside, reactions, end },
    )
}
