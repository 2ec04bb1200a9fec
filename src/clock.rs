//! Time inside the pool: nanoseconds since the pool was built, in one word.
//!
//! Arithmetic saturates at [`Moment::NEVER`], which no clock reaches (584 years), so no duration that a user can
//! pass wraps around or fires early.

use std::time::{Duration, Instant};

/// A point in time, counted in nanoseconds from the start of the pool's [`Clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const START: Moment = Moment(0);
    pub(crate) const NEVER: Moment = Moment(u64::MAX);

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Moment(nanos)
    }

    pub(crate) fn nanos(self) -> u64 {
        self.0
    }

    /// The moment `delay` later; [`Moment::NEVER`] if it cannot be counted.
    pub(crate) fn after(self, delay: Duration) -> Self {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Moment(self.0.saturating_add(nanos))
    }

    /// The time from `earlier` to here; zero if it is not earlier.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Reads the time as [`Moment`]s.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::START.after(self.start.elapsed())
    }

    /// Until when to wait for a moment; `None` for one that never comes or that the system's clock cannot hold.
    pub(crate) fn instant(&self, at: Moment) -> Option<Instant> {
        if at == Moment::NEVER {
            return None;
        }
        self.start.checked_add(Duration::from_nanos(at.0))
    }

    /// A moment as users see it; one that never comes lies centuries ahead.
    pub(crate) fn shown(&self, at: Moment) -> Instant {
        self.start.checked_add(Duration::from_nanos(at.0)).unwrap_or(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_cannot_be_counted_is_never() {
        let late = Moment::START.after(Duration::from_nanos(u64::MAX - 1));
        assert_eq!(late.after(Duration::from_nanos(1)), Moment::NEVER);
        assert_eq!(late.after(Duration::MAX), Moment::NEVER);
        assert_eq!(Moment::NEVER.after(Duration::ZERO), Moment::NEVER);
    }

    #[test]
    fn never_has_no_instant() {
        assert_eq!(Clock::new().instant(Moment::NEVER), None);
        assert!(Clock::new().instant(Moment::START).is_some());
    }

    #[test]
    fn a_difference_does_not_go_below_zero() {
        let later = Moment::START.after(Duration::from_nanos(5));
        assert_eq!(later.since(Moment::START), Duration::from_nanos(5));
        assert_eq!(Moment::START.since(later), Duration::ZERO);
    }
}
