//! What the bytes ask for.

use super::bytes::Bytes;
use crate::support::POLICIES;
use dockhand::{IdleStrategy, Lane, OverloadPolicy, RetryDecision, RetryPolicy, TaskOptions, Timing};
use std::time::{Duration, Instant};

/// More workers than a pool can have.
pub(super) const TOO_MANY_WORKERS: usize = (1 << 16) + 1;

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) base: Instant,
    pub(super) name: String,
    pub(super) workers: usize,
    pub(super) capacity: Capacity,
    pub(super) overload: OverloadPolicy,
    pub(super) retry: Retry,
    pub(super) timeout: Option<Duration>,
    pub(super) slow: Option<Duration>,
    pub(super) letters: usize,
    pub(super) timing: Timing,
    pub(super) idle: IdleStrategy,
    pub(super) stack: Option<usize>,
    pub(super) drop_timeout: Duration,
    pub(super) progress: (Duration, u64),
    pub(super) lanes: Vec<AskedLane>,
    pub(super) decision: Option<RetryDecision>,
    pub(super) listens: bool,
    pub(super) acts: Vec<Act>,
    pub(super) window: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Capacity {
    Tasks(usize),
    For(Duration, Duration),
}

#[derive(Debug)]
pub(super) struct AskedLane {
    pub(super) name: String,
    pub(super) capacity: Option<usize>,
    pub(super) delay_capacity: Option<usize>,
    pub(super) overload: Option<OverloadPolicy>,
    pub(super) retry: Option<Retry>,
    pub(super) limit: Option<usize>,
    pub(super) ttl: Option<Duration>,
    pub(super) timeout: Option<Duration>,
    pub(super) slow: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(super) struct Retry {
    kind: u8,
    delays: Vec<Duration>,
    pub(super) most: Option<u32>,
    pub(super) cap: Option<Duration>,
    factor: Option<f64>,
    jitter: Option<f64>,
    budget: Option<(f64, f64)>,
}

#[derive(Debug)]
pub(super) enum Act {
    Submit { lane: usize, form: u8, timeout: Duration, options: Options, fails: u8, progress: (u64, u64) },
    Advance(Duration),
    AdvanceToDue,
    RunAll,
    WaitIdle(Duration),
    Wait(usize, Duration),
    Cancel(usize),
    Limit(usize, usize),
    Quantile(f64),
    Requeue,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) delay: Option<Duration>,
    pub(super) deadline: Option<Instant>,
    pub(super) ttl: Option<Duration>,
    key: Option<String>,
}

fn policy(bytes: &mut Bytes<'_>) -> OverloadPolicy {
    POLICIES[usize::from(bytes.below(4))]
}

impl Retry {
    fn new(bytes: &mut Bytes<'_>) -> Self {
        let delays = (0..bytes.below(4)).map(|_| bytes.duration()).collect();
        Retry {
            kind: bytes.below(4),
            delays,
            most: bytes.maybe(|bytes| bytes.number() as u32),
            cap: bytes.maybe(Bytes::duration),
            factor: bytes.maybe(Bytes::float),
            jitter: bytes.maybe(Bytes::float),
            budget: bytes.maybe(|bytes| (bytes.float(), bytes.float())),
        }
    }

    pub(super) fn policy(&self) -> RetryPolicy {
        let first = self.delays.first().copied().unwrap_or_default();
        let mut policy = match self.kind {
            0 => RetryPolicy::none(),
            1 => RetryPolicy::fixed(first),
            2 => RetryPolicy::exponential(first),
            _ => RetryPolicy::schedule(self.delays.iter().copied()),
        };
        policy = self.most.map_or(policy.clone(), |most| policy.max_retries(most));
        policy = self.cap.map_or(policy.clone(), |cap| policy.max_delay(cap));
        policy = self.factor.map_or(policy.clone(), |factor| policy.factor(factor));
        policy = self.jitter.map_or(policy.clone(), |jitter| policy.jitter(jitter));
        self.budget.map_or(policy.clone(), |(ratio, reserve)| policy.budget(ratio, reserve))
    }

    pub(super) fn is_valid(&self) -> bool {
        let is_share = |value: f64| value.is_finite() && value >= 0.0;
        self.factor.is_none_or(|factor| factor.is_finite() && factor >= 1.0)
            && self.jitter.is_none_or(|jitter| (0.0..=1.0).contains(&jitter))
            && self.budget.is_none_or(|(ratio, reserve)| is_share(ratio) && is_share(reserve))
    }

    /// No retry waits for less than this, whatever its number.
    pub(super) fn shortest(&self) -> Duration {
        let planned = match self.kind {
            0 => Duration::ZERO,
            1 | 2 => self.delays.first().copied().unwrap_or_default(),
            _ => self.delays.iter().min().copied().unwrap_or_default(),
        };
        let planned = planned.min(self.cap());
        let jitter = self.jitter.unwrap_or(0.0);
        if jitter == 0.0 && self.kind != 2 && self.factor.is_none() {
            return planned;
        }
        // A delay that grows or is spread goes through a float, which loses some of the last digits.
        let low = planned.as_secs_f64() * (1.0 - jitter) * (1.0 - 1e-12) - 2e-9;
        Duration::try_from_secs_f64(low).unwrap_or_default()
    }

    pub(super) fn cap(&self) -> Duration {
        let usual = if self.kind == 3 { Duration::MAX } else { Duration::from_secs(60) };
        self.cap.unwrap_or(usual)
    }

    pub(super) fn attempts(&self) -> u64 {
        let usual = match self.kind {
            0 => 0,
            1 | 2 => 3,
            _ => self.delays.len() as u32,
        };
        u64::from(self.most.unwrap_or(usual)) + 1
    }
}

impl AskedLane {
    fn new(bytes: &mut Bytes<'_>) -> Self {
        let name = match bytes.below(8) {
            0 => bytes.text(),
            1 => "default".to_string(),
            n => format!("lane {}", n % 4),
        };
        AskedLane {
            name,
            capacity: bytes.maybe(Bytes::size),
            delay_capacity: bytes.maybe(Bytes::count),
            overload: bytes.maybe(policy),
            retry: bytes.maybe(Retry::new),
            limit: bytes.maybe(Bytes::count),
            ttl: bytes.maybe(Bytes::duration),
            timeout: bytes.maybe(Bytes::duration),
            slow: bytes.maybe(Bytes::duration),
        }
    }

    pub(super) fn lane(&self) -> Lane {
        let mut lane = Lane::new(self.name.clone());
        lane = self.capacity.map_or(lane.clone(), |tasks| lane.queue_capacity(tasks));
        lane = self.delay_capacity.map_or(lane.clone(), |tasks| lane.delay_capacity(tasks));
        lane = self.overload.map_or(lane.clone(), |policy| lane.overload(policy));
        lane = self.retry.as_ref().map_or(lane.clone(), |retry| lane.retry(retry.policy()));
        lane = self.limit.map_or(lane.clone(), |limit| lane.max_concurrency(limit));
        lane = self.ttl.map_or(lane.clone(), |ttl| lane.ttl(ttl));
        lane = self.timeout.map_or(lane.clone(), |limit| lane.attempt_timeout(limit));
        self.slow.map_or(lane.clone(), |limit| lane.slow_after(limit))
    }
}

impl Options {
    fn new(bytes: &mut Bytes<'_>, base: Instant) -> Self {
        Options {
            delay: bytes.maybe(Bytes::duration),
            deadline: bytes.maybe(|bytes| bytes.instant(base)),
            ttl: bytes.maybe(Bytes::duration),
            key: bytes.maybe(Bytes::text),
        }
    }

    pub(super) fn options(&self) -> TaskOptions {
        let mut options = TaskOptions::new();
        options = self.delay.map_or(options.clone(), |delay| options.delay(delay));
        options = self.deadline.map_or(options.clone(), |at| options.deadline(at));
        options = self.ttl.map_or(options.clone(), |ttl| options.ttl(ttl));
        self.key.clone().map_or(options.clone(), |key| options.key(key))
    }
}

impl Act {
    fn new(bytes: &mut Bytes<'_>, base: Instant) -> Self {
        let place = |bytes: &mut Bytes<'_>| usize::from(bytes.byte());
        match bytes.below(20) {
            0 => Act::Advance(bytes.duration()),
            1 => Act::AdvanceToDue,
            2 => Act::RunAll,
            3 => Act::WaitIdle(bytes.duration()),
            4 => Act::Wait(place(bytes), bytes.duration()),
            5 => Act::Cancel(place(bytes)),
            6 => Act::Limit(place(bytes), bytes.count()),
            7 => Act::Quantile(bytes.float()),
            8 => Act::Requeue,
            _ => Act::Submit {
                lane: place(bytes),
                form: bytes.below(5),
                timeout: bytes.duration(),
                options: Options::new(bytes, base),
                fails: bytes.below(6),
                progress: (bytes.number(), bytes.number()),
            },
        }
    }
}

impl Asked {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let (bytes, base) = (&mut Bytes::new(bytes), Instant::now());
        Asked {
            base,
            name: bytes.text(),
            workers: match bytes.below(16) {
                0 => 0,
                1 => usize::MAX,
                2 => TOO_MANY_WORKERS,
                n => usize::from(n % 3) + 1,
            },
            capacity: match bytes.below(4) {
                0 => Capacity::For(bytes.duration(), bytes.duration()),
                1 => Capacity::Tasks(bytes.size()),
                _ => Capacity::Tasks(usize::from(bytes.below(12)) + 1),
            },
            overload: policy(bytes),
            retry: Retry::new(bytes),
            timeout: bytes.maybe(Bytes::duration),
            slow: bytes.maybe(Bytes::duration),
            letters: bytes.count(),
            timing: match bytes.below(4) {
                0 => Timing::Full,
                1 => Timing::Off,
                _ => Timing::Sampled(bytes.number() as u32),
            },
            idle: match bytes.below(3) {
                0 => IdleStrategy::Park,
                1 => IdleStrategy::SpinThenPark(bytes.duration()),
                _ => IdleStrategy::KeepOneSpinning,
            },
            stack: bytes.maybe(Bytes::size),
            drop_timeout: bytes.duration(),
            progress: (bytes.duration(), bytes.number()),
            lanes: (0..bytes.below(4)).map(|_| AskedLane::new(bytes)).collect(),
            decision: bytes.maybe(|bytes| RetryDecision::RetryAfter(bytes.duration())),
            listens: bytes.flag(),
            window: bytes.maybe(Bytes::duration),
            acts: std::iter::from_fn(|| (!bytes.is_empty()).then(|| Act::new(bytes, base))).collect(),
        }
        .within_memory()
        .within_reason()
    }

    /// Four thousand million retries of what is always late are run, since they were asked for.
    fn within_reason(mut self) -> Self {
        let is_timed = self.timeout.is_some() || self.lanes.iter().any(|lane| lane.timeout.is_some());
        let lanes = self.lanes.iter_mut().filter_map(|lane| lane.retry.as_mut());
        for retry in lanes.chain([&mut self.retry]).filter(|_| is_timed) {
            retry.most = retry.most.map(|most| most.min(20));
        }
        self
    }

    /// A queue that is sized from a wait may come out as anything; what would fill this machine is left out.
    fn within_memory(mut self) -> Self {
        if self.builder_capacity() > 1 << 10 && self.builder_capacity() < 1 << 56 {
            self.capacity = Capacity::Tasks(7);
        }
        self
    }

    pub(super) fn builder_capacity(&self) -> u128 {
        match self.capacity {
            Capacity::Tasks(tasks) => tasks as u128,
            Capacity::For(cost, wait) => {
                let work = wait.as_nanos().saturating_mul(self.workers as u128);
                work.checked_div(cost.as_nanos()).unwrap_or(0)
            }
        }
    }

    /// Whether the build must fail.
    pub(super) fn is_wrong(&self) -> bool {
        let is_bad = |tasks: u128| tasks == 0 || tasks >= 1 << 56;
        let names: Vec<_> = self.lanes.iter().map(|lane| lane.name.as_str()).collect();
        let twice = (1..names.len()).any(|place| names[..place].contains(&names[place]));
        let has_default = names.contains(&"default");
        let inherits = |is_set: fn(&AskedLane) -> bool| !has_default || !self.lanes.iter().all(is_set);
        self.workers == 0
            || self.workers >= TOO_MANY_WORKERS
            || names.contains(&"")
            || twice
            || self.lanes.iter().filter_map(|lane| lane.capacity).any(|tasks| is_bad(tasks as u128))
            || self.lanes.iter().filter_map(|lane| lane.retry.as_ref()).any(|retry| !retry.is_valid())
            || inherits(|lane| lane.capacity.is_some()) && is_bad(self.builder_capacity())
            || inherits(|lane| lane.retry.is_some()) && !self.retry.is_valid()
    }
}
