//! What a failed attempt leads to. Deciding is apart from doing: [`decide`] is a pure function of what is known.

use crate::retry::RetryPolicy;
use crate::user::Cut;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why an attempt failed, kept in a [`DeadLetter`](crate::DeadLetter). It has the error by value, so its `Display` writes the
/// whole text of it.
///
/// ```
/// use dockhand::{Cause, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|n: &mut u32, _cx| match *n {
///     0 => panic!("zero"),
///     n => Err::<(), _>(format!("{n} is bad")),
/// }))
/// .build()?;
/// pool.submit(0).into_result()?;
/// pool.submit(1).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// for letter in pool.dead_letters().drain() {
///     match letter.failure.cause() {
///         Cause::Error(text) => assert_eq!(text, "1 is bad"),
///         Cause::Panicked(message) => assert_eq!(message, "zero"),
///         other => panic!("{other}"),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Failure<E>(Kind<E>);

enum Kind<E> {
    Error(E),
    /// A handle and a letter have it.
    Shared(Arc<E>),
    /// Cut as it was caught.
    Panicked(Box<str>),
    TimedOut,
}

impl<E> Failure<E> {
    pub(crate) fn error(error: E) -> Self {
        Failure(Kind::Error(error))
    }

    pub(crate) fn panicked(message: Box<str>) -> Self {
        Failure(Kind::Panicked(message))
    }

    pub(crate) fn timed_out() -> Self {
        Failure(Kind::TimedOut)
    }

    /// The same failure twice; an error moves to the heap for it.
    pub(crate) fn share(self) -> (Self, Self) {
        match self.0 {
            Kind::Error(error) => Failure(Kind::Shared(Arc::new(error))).share(),
            Kind::Shared(error) => (Failure(Kind::Shared(Arc::clone(&error))), Failure(Kind::Shared(error))),
            Kind::Panicked(message) => {
                (Failure(Kind::Panicked(message.clone())), Failure(Kind::Panicked(message)))
            }
            Kind::TimedOut => (Failure(Kind::TimedOut), Failure(Kind::TimedOut)),
        }
    }

    pub(crate) fn is_panic(&self) -> bool {
        matches!(self.0, Kind::Panicked(_))
    }

    /// The cause, for a `match`.
    ///
    /// ```
    /// # use dockhand::{Cause, WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letter = pool.dead_letters().take(id).ok_or("no letter")?;
    /// assert!(matches!(letter.failure.cause(), Cause::Error(text) if text == "no"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cause(&self) -> Cause<'_, E> {
        match &self.0 {
            Kind::Error(error) => Cause::Error(error),
            Kind::Shared(error) => Cause::Error(error),
            Kind::Panicked(message) => Cause::Panicked(message),
            Kind::TimedOut => Cause::TimedOut,
        }
    }
}

impl<E> fmt::Debug for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Error(_) | Kind::Shared(_) => "Failure(Error(..))",
            Kind::Panicked(_) => "Failure(Panicked(..))",
            Kind::TimedOut => "Failure(TimedOut)",
        })
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause().fmt(f)
    }
}

impl<E: fmt::Display> std::error::Error for Failure<E> {}

/// A failure as it is kept and logged: of an error's text only the beginning.
pub(crate) struct Text<'a, E>(pub(crate) &'a Failure<E>);

impl<E: fmt::Display> fmt::Display for Text<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.cause() {
            Cause::Error(error) => Cut(error).fmt(f),
            cause => cause.fmt(f),
        }
    }
}

/// What made an attempt fail, borrowed.
///
/// ```
/// use dockhand::Cause;
/// assert_eq!(Cause::Error(&"no route").to_string(), "no route");
/// assert_eq!(Cause::<str>::Panicked("index out of bounds").to_string(), "panicked: index out of bounds");
/// ```
#[non_exhaustive]
pub enum Cause<'a, E: ?Sized> {
    /// The processor answered `Err`.
    Error(&'a E),
    /// The processor panicked with this message. Of one beyond 4,096 bytes the beginning is kept, with its length.
    /// [`letter`](crate::letter) shows how a program adds the place.
    Panicked(&'a str),
    /// The attempt ran longer than its lane's `attempt_timeout`, and came back with `Ok`.
    TimedOut,
}

impl<E: ?Sized> Clone for Cause<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: ?Sized> Copy for Cause<'_, E> {}

impl<E: ?Sized> fmt::Debug for Cause<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Error(_) => f.write_str("Error(..)"),
            Cause::Panicked(message) => f.debug_tuple("Panicked").field(message).finish(),
            Cause::TimedOut => f.write_str("TimedOut"),
        }
    }
}

impl<E: fmt::Display + ?Sized> fmt::Display for Cause<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Error(error) => error.fmt(f),
            Cause::Panicked(message) => write!(f, "panicked: {message}"),
            Cause::TimedOut => f.write_str("the attempt ran for too long"),
        }
    }
}

/// What [`classify`](crate::PoolBuilder::classify) says of a failed attempt.
///
/// ```
/// use dockhand::{Cause, RetryDecision, RetryPolicy, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|status: &mut u16, _cx| Err::<(), u16>(*status)))
///     .retry(RetryPolicy::fixed(Duration::from_millis(1)).max_retries(2))
///     .classify(|cause| match cause {
///         Cause::Error(503) => RetryDecision::Retry,
///         Cause::Error(429) => RetryDecision::RetryAfter(Duration::from_millis(2)),
///         _ => RetryDecision::GiveUp,
///     })
///     .build()?;
/// for status in [404, 429, 503] {
///     pool.submit(status).into_result()?;
/// }
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert_eq!(pool.metrics().counts.attempts, 1 + 3 + 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryDecision {
    /// Try again after the delay of the lane's policy, if it has retries left.
    Retry,
    /// Try again no earlier than after this delay, if the lane has retries left: what a server has asked for. The lane's
    /// jitter only makes it longer, and `max_delay` does not cut it. A task that would start after its deadline ends as
    /// `Expired`. Beyond [`max_retry_after`](crate::RetryPolicy::max_retry_after) the task becomes a letter.
    RetryAfter(Duration),
    /// Make it a letter at once.
    GiveUp,
}

impl<E: fmt::Display> Failure<E> {
    /// The cause with the error's type forgotten, for listeners.
    pub(crate) fn erased(&self) -> Cause<'_, dyn fmt::Display + '_> {
        match &self.0 {
            Kind::Error(error) => Cause::Error(error),
            Kind::Shared(error) => Cause::Error(&**error),
            Kind::Panicked(message) => Cause::Panicked(message),
            Kind::TimedOut => Cause::TimedOut,
        }
    }
}

/// Without a classifier: errors and timeouts are worth a retry, panics are not.
pub(crate) fn default_decision<E: ?Sized>(cause: Cause<'_, E>) -> RetryDecision {
    match cause {
        Cause::Error(_) | Cause::TimedOut => RetryDecision::Retry,
        Cause::Panicked(_) => RetryDecision::GiveUp,
    }
}

/// Why a task became a letter.
///
/// ```
/// use dockhand::letter::DeadLetterReason;
/// assert_eq!(DeadLetterReason::RetriesExhausted.to_string(), "no retries left");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The failure was classified as not worth a retry.
    NotRetryable,
    /// The policy has no retries left, or never had any.
    RetriesExhausted,
    /// The lane's delay queue had no room for the retry.
    DelayFull,
    /// The lane's retries had used up their budget.
    BudgetExhausted,
    /// The classifier named a delay beyond the policy's [`max_retry_after`](crate::RetryPolicy::max_retry_after).
    RetryAfterTooLong,
}

impl fmt::Display for DeadLetterReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeadLetterReason::NotRetryable => "not worth a retry",
            DeadLetterReason::RetriesExhausted => "no retries left",
            DeadLetterReason::DelayFull => "no room for the retry",
            DeadLetterReason::BudgetExhausted => "the retry budget is used up",
            DeadLetterReason::RetryAfterTooLong => "it was told to wait for too long",
        })
    }
}

/// What comes of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Retry(Duration),
    DeadLetter(DeadLetterReason),
}

/// The verdict on attempt number `attempt`; `chance` is asked only if the delay is spread.
pub(crate) fn decide(
    policy: &RetryPolicy,
    decision: RetryDecision,
    attempt: u32,
    chance: impl FnOnce() -> f64,
) -> Verdict {
    if decision == RetryDecision::GiveUp {
        return Verdict::DeadLetter(DeadLetterReason::NotRetryable);
    }
    if !policy.allows(attempt.saturating_sub(1)) {
        return Verdict::DeadLetter(DeadLetterReason::RetriesExhausted);
    }
    let chance = || if policy.has_jitter() { chance() } else { 0.0 };
    match decision {
        RetryDecision::RetryAfter(hint) if policy.is_absurd(hint) => {
            Verdict::DeadLetter(DeadLetterReason::RetryAfterTooLong)
        }
        RetryDecision::RetryAfter(hint) => Verdict::Retry(policy.delay_after(hint, chance())),
        _ => Verdict::Retry(policy.delay(attempt, chance())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn on(policy: &RetryPolicy, decision: RetryDecision, attempt: u32) -> Verdict {
        decide(policy, decision, attempt, || 0.5)
    }

    #[test]
    fn a_task_is_retried_as_often_as_its_policy_allows() {
        let policy = RetryPolicy::exponential(SECOND).max_retries(2);
        assert_eq!(on(&policy, RetryDecision::Retry, 1), Verdict::Retry(SECOND));
        assert_eq!(on(&policy, RetryDecision::Retry, 2), Verdict::Retry(2 * SECOND));
        assert_eq!(
            on(&policy, RetryDecision::Retry, 3),
            Verdict::DeadLetter(DeadLetterReason::RetriesExhausted)
        );
    }

    #[test]
    fn giving_up_is_told_apart_from_having_no_retries_left() {
        let policy = RetryPolicy::none();
        assert_eq!(
            on(&policy, RetryDecision::GiveUp, 1),
            Verdict::DeadLetter(DeadLetterReason::NotRetryable)
        );
        assert_eq!(
            on(&policy, RetryDecision::Retry, 1),
            Verdict::DeadLetter(DeadLetterReason::RetriesExhausted)
        );
    }

    #[test]
    fn a_named_delay_is_spread_upwards_and_counts_as_a_retry() {
        let policy = RetryPolicy::fixed(SECOND).max_retries(1).max_delay(2 * SECOND).jitter(1.0);
        let after = RetryDecision::RetryAfter(8 * SECOND);
        assert_eq!(on(&policy, after, 1), Verdict::Retry(12 * SECOND));
        assert_eq!(on(&policy, after, 2), Verdict::DeadLetter(DeadLetterReason::RetriesExhausted));
    }

    #[test]
    fn a_named_delay_beyond_its_limit_is_given_up() {
        let policy = RetryPolicy::fixed(SECOND).max_retry_after(3 * SECOND);
        let too_long = Verdict::DeadLetter(DeadLetterReason::RetryAfterTooLong);
        let after = |delay| on(&policy, RetryDecision::RetryAfter(delay), 1);
        assert_eq!(after(3 * SECOND), Verdict::Retry(3 * SECOND));
        assert_eq!(after(3 * SECOND + Duration::from_nanos(1)), too_long);
        assert_eq!(after(Duration::MAX), too_long);
    }

    #[test]
    fn chance_is_asked_only_for_a_delay_that_is_spread() {
        let policy = RetryPolicy::fixed(SECOND);
        let unasked = || unreachable!("no jitter");
        assert_eq!(decide(&policy, RetryDecision::Retry, 1, unasked), Verdict::Retry(SECOND));
    }
}
