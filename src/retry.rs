//! When a failed task is tried again: arithmetic without a clock and without chance.

use crate::budget::BudgetPolicy;
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_RETRIES: u32 = 3;
const DEFAULT_FACTOR: f64 = 2.0;
const DEFAULT_CAP: Duration = Duration::from_secs(60);
const DEFAULT_MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How often and when a failed task is tried again.
///
/// The delay of retry k is `min(cap, base * factor^(k-1))`, spread by the jitter, and lies in `[0, cap]` for every
/// input. A delay that the classifier names by [`RetryAfter`](crate::RetryDecision::RetryAfter) is a lower bound instead:
/// `hint * (1 + jitter * chance)`, which no cap cuts. `max_retries(n)` means at most n + 1 attempts. The default of a pool is [`RetryPolicy::none`]: a retry asks
/// for idempotent work, so it is asked for.
///
/// | constructor | retries | delay of retry k | cap |
/// | --- | --- | --- | --- |
/// | [`none`](RetryPolicy::none) | 0 | 0 | 60 s |
/// | [`fixed(d)`](RetryPolicy::fixed) | 3 | d | 60 s |
/// | [`exponential(d)`](RetryPolicy::exponential) | 3 | d, 2d, 4d, … | 60 s |
/// | [`schedule([d1, d2, …])`](RetryPolicy::schedule) | as many as it has | dk, the last one again after the end | none |
///
/// ```
/// use dockhand::{RetryPolicy, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut (), cx| {
///     if cx.attempt() < 3 { Err("not yet".to_string()) } else { Ok(()) }
/// }))
/// .retry(RetryPolicy::exponential(Duration::from_millis(1)).max_retries(5).jitter(0.2))
/// .build()?;
/// pool.submit(()).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// let counts = pool.metrics().counts;
/// assert_eq!((counts.succeeded, counts.attempts, counts.retries), (1, 3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    delays: Delays,
    max_retries: u32,
    cap: Duration,
    max_retry_after: Duration,
    factor: f64,
    jitter: f64,
    budget: Option<BudgetPolicy>,
}

#[derive(Clone, Debug, PartialEq)]
enum Delays {
    Growing { base: Duration },
    Schedule(Arc<[Duration]>),
}

impl RetryPolicy {
    /// No retry: the first failure is the last.
    ///
    /// ```
    /// use dockhand::RetryPolicy;
    /// const ONCE: RetryPolicy = RetryPolicy::none();
    /// assert_eq!(ONCE, RetryPolicy::none());
    /// ```
    pub const fn none() -> Self {
        RetryPolicy {
            delays: Delays::Growing { base: Duration::ZERO },
            max_retries: 0,
            cap: DEFAULT_CAP,
            max_retry_after: DEFAULT_MAX_RETRY_AFTER,
            factor: 1.0,
            jitter: 0.0,
            budget: None,
        }
    }

    /// The same delay before each retry; three retries, capped at 60 s.
    ///
    /// ```
    /// use dockhand::RetryPolicy;
    /// use std::time::Duration;
    /// let twice = RetryPolicy::fixed(Duration::from_secs(5)).max_retries(2);
    /// assert_ne!(twice, RetryPolicy::fixed(Duration::from_secs(5)));
    /// ```
    pub fn fixed(delay: Duration) -> Self {
        RetryPolicy {
            delays: Delays::Growing { base: delay },
            max_retries: DEFAULT_RETRIES,
            ..RetryPolicy::none()
        }
    }

    /// `base`, then twice as much each time; three retries, capped at 60 s.
    ///
    /// ```
    /// use dockhand::RetryPolicy;
    /// use std::time::Duration;
    /// let policy = RetryPolicy::exponential(Duration::from_millis(100)).factor(1.5).jitter(0.2);
    /// assert_ne!(policy, RetryPolicy::exponential(Duration::from_millis(100)));
    /// ```
    pub fn exponential(base: Duration) -> Self {
        RetryPolicy { factor: DEFAULT_FACTOR, ..RetryPolicy::fixed(base) }
    }

    /// One delay for each retry, as many retries as delays, without a cap of its own. With a larger
    /// [`max_retries`](RetryPolicy::max_retries) the last delay is used again; an empty schedule retries at once.
    ///
    /// ```
    /// use dockhand::RetryPolicy;
    /// use std::time::Duration;
    /// let policy = RetryPolicy::schedule([5, 30, 120].map(Duration::from_secs));
    /// assert_eq!(policy, policy.clone().max_retries(3));
    /// ```
    pub fn schedule(delays: impl IntoIterator<Item = Duration>) -> Self {
        let delays: Arc<[Duration]> = delays.into_iter().collect();
        RetryPolicy {
            max_retries: u32::try_from(delays.len()).unwrap_or(u32::MAX),
            delays: Delays::Schedule(delays),
            cap: Duration::MAX,
            ..RetryPolicy::none()
        }
    }

    /// At most `n` retries, so at most `n + 1` attempts.
    ///
    /// ```
    /// use dockhand::RetryPolicy;
    /// use std::time::Duration;
    /// let never = RetryPolicy::fixed(Duration::ZERO).max_retries(0);
    /// assert_eq!(never, RetryPolicy::none());
    /// ```
    #[must_use]
    pub fn max_retries(self, n: u32) -> Self {
        RetryPolicy { max_retries: n, ..self }
    }

    /// No delay that the policy computes is longer than `cap`, jitter included. A
    /// [`RetryAfter`](crate::RetryDecision::RetryAfter) is not cut by it: see [`max_retry_after`](Self::max_retry_after).
    ///
    /// ```
    /// use dockhand::RetryPolicy;
    /// use std::time::Duration;
    /// let policy = RetryPolicy::exponential(Duration::from_secs(1)).max_delay(Duration::from_secs(60));
    /// assert_eq!(policy, RetryPolicy::exponential(Duration::from_secs(1)));
    /// ```
    #[must_use]
    pub fn max_delay(self, cap: Duration) -> Self {
        RetryPolicy { cap, ..self }
    }

    /// The longest [`RetryAfter`](crate::RetryDecision::RetryAfter) that is believed, 24 hours by default. A longer one makes
    /// the task a letter with reason [`RetryAfterTooLong`](crate::letter::DeadLetterReason::RetryAfterTooLong) at once,
    /// since to come back sooner is not what was asked for. Jitter comes on top. `Duration::MAX` is no limit.
    ///
    /// ```
    /// use dockhand::letter::DeadLetterReason;
    /// use dockhand::{RetryDecision, RetryPolicy, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("in a year".to_string())))
    ///     .retry(RetryPolicy::fixed(Duration::ZERO).max_retry_after(Duration::from_secs(3600)))
    ///     .classify(|_| RetryDecision::RetryAfter(Duration::from_secs(365 * 24 * 3600)))
    ///     .build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.dead_letters().list()[0].reason, DeadLetterReason::RetryAfterTooLong);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_retry_after(self, limit: Duration) -> Self {
        RetryPolicy { max_retry_after: limit, ..self }
    }

    /// How much longer each delay is than the one before. Building a pool fails if it is not finite or below 1.
    ///
    /// ```
    /// use dockhand::{BuildError, RetryPolicy, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let broken = RetryPolicy::exponential(Duration::from_secs(1)).factor(f64::NAN);
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())))
    ///     .retry(broken)
    ///     .build();
    /// assert!(matches!(pool, Err(BuildError::InvalidRetry { .. })));
    /// ```
    #[must_use]
    pub fn factor(self, factor: f64) -> Self {
        RetryPolicy { factor, ..self }
    }

    /// Spreads each delay evenly over `delay * (1 - ratio) ..= delay * (1 + ratio)`, then caps it; a
    /// [`RetryAfter`](crate::RetryDecision::RetryAfter) over `hint ..= hint * (1 + ratio)`. Building a pool fails if the
    /// ratio is not in `[0, 1]`.
    ///
    /// ```
    /// use dockhand::{BuildError, RetryPolicy, WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())))
    ///     .retry(RetryPolicy::fixed(Duration::from_secs(1)).jitter(1.5))
    ///     .build();
    /// assert!(matches!(pool, Err(BuildError::InvalidRetry { .. })));
    /// ```
    #[must_use]
    pub fn jitter(self, ratio: f64) -> Self {
        RetryPolicy { jitter: ratio, ..self }
    }

    /// Lets retries of the lane be at most this share of the tasks that it starts fresh, in a window of ten seconds, plus a
    /// reserve for each second. A failure beyond it becomes a letter with reason
    /// [`BudgetExhausted`](crate::letter::DeadLetterReason::BudgetExhausted) at once: when everything fails, retries would
    /// otherwise multiply the load. Building a pool fails if either is not finite or negative. After the retry budgets of
    /// Finagle and tower.
    ///
    /// ```
    /// use dockhand::{RetryPolicy, WorkerPool, processor_fn};
    /// use dockhand::letter::DeadLetterReason;
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("down".to_string())))
    ///     .retry(RetryPolicy::fixed(Duration::ZERO).budget(0.0, 0.0))
    ///     .build()?;
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(pool.dead_letters().list()[0].reason, DeadLetterReason::BudgetExhausted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn budget(self, ratio: f64, min_per_second: f64) -> Self {
        RetryPolicy { budget: Some(BudgetPolicy { ratio, min_per_second }), ..self }
    }

    pub(crate) fn budget_policy(&self) -> Option<BudgetPolicy> {
        self.budget
    }

    /// What is wrong with the policy, if anything.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if !(self.factor.is_finite() && self.factor >= 1.0) {
            return Err("the factor must be finite and at least 1");
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err("the jitter must be between 0 and 1");
        }
        self.budget.map_or(Ok(()), BudgetPolicy::check)
    }

    /// Whether a task that has been retried `retries` times may be retried again.
    pub(crate) fn allows(&self, retries: u32) -> bool {
        retries < self.max_retries
    }

    pub(crate) fn has_jitter(&self) -> bool {
        self.jitter > 0.0
    }

    /// The delay of retry `k`, counted from 1; `chance` is even in `[0, 1)`.
    pub(crate) fn delay(&self, k: u32, chance: f64) -> Duration {
        let planned = match &self.delays {
            Delays::Growing { base } => grow(*base, self.factor, k, self.cap),
            Delays::Schedule(delays) => {
                let place = usize::try_from(k.saturating_sub(1)).unwrap_or(usize::MAX);
                let delay = delays.get(place).or(delays.last());
                delay.copied().unwrap_or(Duration::ZERO)
            }
        };
        let planned = planned.min(self.cap);
        if !self.has_jitter() {
            return planned;
        }
        let spread = 1.0 - self.jitter + 2.0 * self.jitter * chance;
        scale(planned, spread, self.cap)
    }

    /// Whether a delay that the classifier named is too long to wait for.
    pub(crate) fn is_absurd(&self, hint: Duration) -> bool {
        hint > self.max_retry_after
    }

    /// A delay that the classifier named, which is a lower bound: spread upwards, not capped.
    pub(crate) fn delay_after(&self, hint: Duration, chance: f64) -> Duration {
        hint.saturating_add(scale(hint, self.jitter * chance, Duration::MAX))
    }
}

/// `base * factor^(k-1)`, at most `cap`.
fn grow(base: Duration, factor: f64, k: u32, cap: Duration) -> Duration {
    // The first delay, and a delay that does not grow, are exact for every base.
    if k <= 1 || factor == 1.0 || base.is_zero() {
        return base.min(cap);
    }
    scale(base, factor.powf(f64::from(k - 1)), cap)
}

/// `delay * by` for a `by` that is not negative, at most `cap`. What cannot be counted is the cap.
fn scale(delay: Duration, by: f64, cap: Duration) -> Duration {
    if delay.is_zero() {
        return delay;
    }
    Duration::try_from_secs_f64(delay.as_secs_f64() * by).map_or(cap, |scaled| scaled.min(cap))
}

#[cfg(all(test, not(any(dockhand_loom, dockhand_shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secs(policy: &RetryPolicy, k: u32) -> f64 {
        policy.delay(k, 0.5).as_secs_f64()
    }

    #[test]
    fn exponential_doubles_up_to_its_cap_and_stays_there() {
        let policy = RetryPolicy::exponential(Duration::from_secs(1));
        let first: Vec<f64> = (1..=7).map(|k| secs(&policy, k)).collect();
        assert_eq!(first, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]);
        for k in [32, 33, 64, 65, 200, u32::MAX] {
            assert_eq!(secs(&policy, k), 60.0, "retry {k}");
        }
    }

    #[test]
    fn a_power_beyond_every_number_is_the_cap() {
        let policy =
            RetryPolicy::exponential(Duration::from_secs(1)).factor(10.0).max_delay(Duration::from_secs(30));
        assert_eq!(secs(&policy, 400), 30.0);
        let uncapped = policy.max_delay(Duration::MAX);
        assert_eq!(uncapped.delay(400, 0.5), Duration::MAX);
        let nothing = RetryPolicy::exponential(Duration::ZERO).factor(10.0);
        assert_eq!(nothing.delay(400, 0.5), Duration::ZERO);
    }

    #[test]
    fn a_schedule_is_followed_and_its_last_delay_is_used_again() {
        let policy = RetryPolicy::schedule([5, 30, 120].map(Duration::from_secs)).max_retries(9);
        let delays: Vec<f64> = (1..=5).map(|k| secs(&policy, k)).collect();
        assert_eq!(delays, [5.0, 30.0, 120.0, 120.0, 120.0]);
        assert_eq!(RetryPolicy::schedule([]).delay(1, 0.5), Duration::ZERO);
        assert!(!RetryPolicy::schedule([]).allows(0));
    }

    #[test]
    fn jitter_is_applied_before_the_cap() {
        let policy = RetryPolicy::fixed(Duration::from_secs(60)).jitter(0.2);
        assert_eq!(policy.delay(1, 0.999), Duration::from_secs(60));
        assert_eq!(policy.delay(1, 0.0), Duration::from_secs(48));
    }

    #[test]
    fn bad_factors_and_jitters_are_found() {
        let policy = RetryPolicy::exponential(Duration::from_secs(1));
        for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 0.5] {
            assert!(policy.clone().factor(factor).check().is_err(), "{factor}");
        }
        for jitter in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
            assert!(policy.clone().jitter(jitter).check().is_err(), "{jitter}");
        }
        assert_eq!(policy.factor(1.0).jitter(1.0).check(), Ok(()));
    }

    fn any_duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            Just(Duration::ZERO),
            Just(Duration::MAX),
            Just(Duration::from_nanos(1)),
            (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(s, n)| Duration::new(s, n)),
            (0..100_000_u64).prop_map(Duration::from_millis),
        ]
    }

    proptest! {
        #[test]
        fn every_delay_lies_between_zero_and_the_cap(
            base in any_duration(),
            cap in any_duration(),
            factor in prop_oneof![Just(1.0), Just(f64::MAX), 1.0..1000.0_f64],
            jitter in 0.0..=1.0_f64,
            chance in 0.0..1.0_f64,
            k in any::<u32>(),
            schedule in proptest::collection::vec(any_duration(), 0..5),
        ) {
            for policy in [
                RetryPolicy::exponential(base).factor(factor),
                RetryPolicy::fixed(base),
                RetryPolicy::schedule(schedule),
            ] {
                let policy = policy.max_delay(cap).jitter(jitter);
                prop_assert_eq!(policy.check(), Ok(()));
                prop_assert!(policy.delay(k, chance) <= cap);
            }
        }

        #[test]
        fn a_named_delay_is_a_lower_bound(
            hint in any_duration(),
            jitter in 0.0..=1.0_f64,
            chance in 0.0..1.0_f64,
        ) {
            let policy = RetryPolicy::fixed(Duration::ZERO).max_delay(Duration::ZERO).jitter(jitter);
            let delay = policy.delay_after(hint, chance);
            prop_assert!(delay >= hint);
            prop_assert!(delay.as_secs_f64() <= hint.as_secs_f64() * (1.0 + jitter) * (1.0 + 1e-12) + 1e-8);
        }

        #[test]
        fn delays_without_jitter_never_shrink(
            base in any_duration(),
            factor in 1.0..1000.0_f64,
            k in 1..u32::MAX,
        ) {
            let policy = RetryPolicy::exponential(base).factor(factor);
            prop_assert!(policy.delay(k, 0.0) <= policy.delay(k + 1, 0.0));
        }

        #[test]
        fn jitter_keeps_to_its_share(millis in 1..60_000_u64, jitter in 0.0..=1.0_f64, chance in 0.0..1.0_f64) {
            let policy = RetryPolicy::fixed(Duration::from_millis(millis)).max_delay(Duration::MAX).jitter(jitter);
            let planned = millis as f64 / 1000.0;
            let got = policy.delay(1, chance).as_secs_f64();
            prop_assert!(got >= planned * (1.0 - jitter) - 1e-8);
            prop_assert!(got <= planned * (1.0 + jitter) + 1e-8);
        }
    }
}
