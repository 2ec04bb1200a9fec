//! What a pool is built like, and what its retry policies must come to.

use super::script::{LANES, Window};
use dockhand::{IdleStrategy, Lane, OverloadPolicy, RetryPolicy, Timing};
use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) workers: usize,
    pub(super) lanes: [LaneSettings; 3],
    pub(super) letters: usize,
    pub(super) timing: Timing,
    pub(super) idle: usize,
    pub(super) drop_window: Window,
    pub(super) hooks: Hooks,
}

#[derive(Clone, Debug)]
pub(super) struct Hooks {
    pub(super) sink: Sink,
    pub(super) sheds: bool,
    pub(super) listeners: usize,
    pub(super) classify: Classify,
    pub(super) workers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    Absent,
    Keep,
    DiscardEvery(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Classify {
    Absent,
    RetryAll,
    /// Panics are retried after so many ticks.
    AfterPanic(u64),
    GiveUp,
}

/// The last lane takes them from the builder, which knows no limit, no ttl, and no capacity for delays.
#[derive(Clone, Debug)]
pub(super) struct LaneSettings {
    pub(super) capacity: usize,
    pub(super) delay_capacity: usize,
    pub(super) overload: OverloadPolicy,
    pub(super) retry: Retry,
    pub(super) limit: Option<usize>,
    pub(super) ttl: Option<u64>,
    pub(super) timeout: Option<u64>,
    pub(super) slow: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Retry {
    pub(super) delays: Delays,
    pub(super) most: u32,
    pub(super) cap: u64,
    pub(super) jitter: f64,
    pub(super) budget: Option<(f64, f64)>,
}

#[derive(Clone, Debug)]
pub(super) enum Delays {
    Never,
    Fixed(u64),
    Exponential(u64, f64),
    Schedule(Vec<u64>),
}

/// A length of time for each tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tick(pub(super) Duration);

impl Tick {
    pub(super) fn of(self, ticks: u64) -> Duration {
        self.0 * u32::try_from(ticks).unwrap()
    }

    pub(super) fn window(self, window: Window) -> Duration {
        match window {
            Window::Ticks(ticks) => self.of(ticks),
            Window::Long => crate::support::LONG,
        }
    }
}

impl Retry {
    pub(super) fn policy(&self, tick: Tick) -> RetryPolicy {
        let policy = match &self.delays {
            Delays::Never => return RetryPolicy::none(),
            Delays::Fixed(delay) => RetryPolicy::fixed(tick.of(*delay)),
            Delays::Exponential(base, factor) => RetryPolicy::exponential(tick.of(*base)).factor(*factor),
            Delays::Schedule(delays) => RetryPolicy::schedule(delays.iter().map(|delay| tick.of(*delay))),
        };
        let policy = policy.max_retries(self.most).max_delay(tick.of(self.cap)).jitter(self.jitter);
        self.budget.map_or(policy.clone(), |(ratio, reserve)| policy.budget(ratio, reserve))
    }

    pub(super) fn most(&self) -> u32 {
        if let Delays::Never = self.delays { 0 } else { self.most }
    }

    /// The shortest and the longest delay of the retry after attempt `k`, to a rounding.
    pub(super) fn bounds(&self, k: u32, tick: Tick) -> (Duration, Duration) {
        let planned = match &self.delays {
            Delays::Never => 0.0,
            Delays::Fixed(delay) => *delay as f64,
            Delays::Exponential(base, factor) => *base as f64 * factor.powi(k as i32 - 1),
            Delays::Schedule(delays) => {
                delays.get(k as usize - 1).or(delays.last()).map_or(0.0, |d| *d as f64)
            }
        };
        let planned = planned.min(self.cap as f64);
        let (low, high) = (planned * (1.0 - self.jitter), planned * (1.0 + self.jitter));
        let of = |ticks: f64| tick.0.mul_f64(ticks.min(self.cap as f64));
        let rounding = Duration::from_nanos(2);
        (of(low).saturating_sub(rounding), of(high) + rounding)
    }
}

impl LaneSettings {
    pub(super) fn lane(&self, place: usize, tick: Tick) -> Lane {
        let lane = Lane::new(LANES[place])
            .queue_capacity(self.capacity)
            .delay_capacity(self.delay_capacity)
            .overload(self.overload)
            .retry(self.retry.policy(tick));
        let lane = self.limit.map_or(lane.clone(), |limit| lane.max_concurrency(limit));
        let lane = self.ttl.map_or(lane.clone(), |ttl| lane.ttl(tick.of(ttl)));
        let lane = self.timeout.map_or(lane.clone(), |limit| lane.attempt_timeout(tick.of(limit)));
        self.slow.map_or(lane.clone(), |limit| lane.slow_after(tick.of(limit)))
    }
}

impl Settings {
    /// A lane's own setting; the last lane has none of those that only a declared one can have.
    pub(super) fn limit(&self, lane: usize) -> Option<usize> {
        self.lanes[lane].limit.filter(|_| lane + 1 < LANES.len())
    }

    pub(super) fn ttl(&self, lane: usize) -> Option<u64> {
        self.lanes[lane].ttl.filter(|_| lane + 1 < LANES.len())
    }

    /// A declared lane takes from the builder what it does not say.
    pub(super) fn timeout(&self, lane: usize) -> Option<u64> {
        self.lanes[lane].timeout.or(self.lanes[LANES.len() - 1].timeout)
    }

    pub(super) fn idle(&self, tick: Tick) -> IdleStrategy {
        [IdleStrategy::Park, IdleStrategy::SpinThenPark(tick.0), IdleStrategy::KeepOneSpinning][self.idle]
    }
}
