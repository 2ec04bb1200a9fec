//! Pools with drawn settings; some of the settings make no sense and have to be refused.

use std::sync::Arc;
use std::time::Duration;

use dockhand::{
    BuildError, IdleStrategy, Lane, OverloadPolicy, PoolBuilder, RetryPolicy, Timing, WorkerPool,
};
use fastrand::Rng;

use crate::book::{Book, LaneFacts};
use crate::crew::Crew;
use crate::ledger::Hears;
use crate::offers::any_policy;
use crate::pool::{Kind, Pool};
use crate::{findings, hooks, totals};

const NAMES: [&str; 4] = ["urgent", "middle", "bulk", "default"];

/// Builds a pool. `None` where a start hook panicked, or the settings were not to be taken.
pub(crate) fn any_pool(rng: &mut Rng, workers: Option<usize>) -> Option<Arc<Pool>> {
    let hears = Hears { events: rng.u32(..6) > 0, shed: rng.u32(..6) > 0 };
    let names = any_names(rng);
    let facts: Vec<_> = names.iter().map(|&name| LaneFacts { name, is_limited: rng.u32(..3) == 0 }).collect();
    let book = Book::new(rng.u64(..), hears, facts);
    let mut builder = WorkerPool::builder(Crew::new(&book)).name(book.name.as_str());
    for facts in &book.lanes {
        builder = builder.lane(any_lane(facts, rng));
    }
    let workers = workers.unwrap_or_else(|| rng.usize(1..5));
    builder = any_settings(builder.workers(workers), rng);
    builder = hooks::set(builder, &book, hears, rng);
    if rng.u32(..40) == 0 {
        build_nonsense(builder, rng);
        return None;
    }
    build(builder, book, rng)
}

/// Some lanes in some order, `"default"` among them.
fn any_names(rng: &mut Rng) -> Vec<&'static str> {
    let mut names = NAMES.to_vec();
    rng.shuffle(&mut names);
    let kept = rng.usize(1..=NAMES.len());
    names.truncate(kept);
    if !names.contains(&"default") {
        names.push("default");
    }
    names
}

fn any_lane(facts: &LaneFacts, rng: &mut Rng) -> Lane {
    let mut lane = Lane::new(facts.name);
    if facts.is_limited {
        lane = lane.max_concurrency(rng.usize(..4));
    }
    if rng.bool() {
        lane = lane.queue_capacity(rng.usize(1..24));
    }
    if rng.bool() {
        lane = lane.delay_capacity(rng.usize(..24));
    }
    if rng.bool() {
        lane = lane.overload(any_policy(rng));
    }
    if rng.bool() {
        lane = lane.retry(any_retry(rng));
    }
    if rng.u32(..6) == 0 {
        lane = lane.ttl(Duration::from_micros(rng.u64(..30_000)));
    }
    if rng.u32(..6) == 0 {
        lane = lane.attempt_timeout(Duration::from_micros(rng.u64(..1000)));
    }
    if rng.u32(..6) == 0 {
        lane = lane.slow_after(Duration::from_micros(rng.u64(..1000)));
    }
    lane
}

/// Retries that end soon.
fn any_retry(rng: &mut Rng) -> RetryPolicy {
    let delay = Duration::from_micros(rng.u64(..3000));
    let policy = match rng.u32(..4) {
        0 => RetryPolicy::none(),
        1 => RetryPolicy::fixed(delay),
        2 => RetryPolicy::exponential(delay).factor(1.0 + rng.f64() * 3.0).jitter(rng.f64()),
        _ => return RetryPolicy::schedule([Duration::ZERO, delay, delay * 3]),
    };
    let policy = policy.max_retries(rng.u32(..5)).max_delay(Duration::from_millis(10));
    if rng.u32(..4) == 0 { policy.budget(rng.f64(), rng.f64() * 10.0) } else { policy }
}

fn any_settings(builder: PoolBuilder<Crew>, rng: &mut Rng) -> PoolBuilder<Crew> {
    let idle = match rng.u32(..12) {
        0..4 => IdleStrategy::SpinThenPark(Duration::from_micros(rng.u64(..100))),
        // Each of them takes a core as long as it has nothing to do.
        4 => IdleStrategy::KeepOneSpinning,
        _ => IdleStrategy::Park,
    };
    let timing = match rng.u32(..4) {
        0 => Timing::Full,
        1 => Timing::Off,
        _ => Timing::Sampled(rng.u32(..32)),
    };
    builder
        .idle(idle)
        .timing(timing)
        .queue_capacity(rng.usize(1..64))
        .overload(any_policy(rng))
        .retry(any_retry(rng))
        .dead_letter_capacity(rng.usize(..12))
        .progress_every(Duration::from_millis(rng.u64(..3)), rng.u64(..4))
        .drop_timeout(Duration::from_micros(rng.u64(..20_000)))
}

fn build_nonsense(builder: PoolBuilder<Crew>, rng: &mut Rng) {
    let builder = match rng.u32(..5) {
        0 => builder.workers(0),
        1 => builder.lane(Lane::new("")),
        2 => builder.lane(Lane::new("default")),
        3 => builder.lane(Lane::new("narrow").queue_capacity(0)),
        _ => builder.lane(Lane::new("wrong").retry(RetryPolicy::fixed(Duration::ZERO).factor(f64::NAN))),
    };
    totals::reached("refused_to_build");
    if builder.overload(OverloadPolicy::Reject).build().is_ok() {
        findings::other("a pool was built of settings that make no sense");
    }
}

fn build(builder: PoolBuilder<Crew>, book: Arc<Book>, rng: &mut Rng) -> Option<Arc<Pool>> {
    let built = if rng.u32(..5) == 0 {
        builder.build_manual().map(Kind::Manual)
    } else {
        builder.build().map(Kind::Threaded)
    };
    match built {
        Ok(kind) => {
            totals::pool();
            let pool = Pool::new(kind, book);
            if rng.u32(..3) == 0 {
                pool.book.keep(pool.submitter());
            }
            Some(pool)
        }
        Err(BuildError::StartHookPanicked { .. }) => {
            totals::reached("start_hook_panicked");
            None
        }
        Err(error) => {
            findings::other(format!("{}: {error}", book.name));
            None
        }
    }
}
