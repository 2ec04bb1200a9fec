//! Time inside the pool: nanoseconds since the pool was built, in one word.
//!
//! Arithmetic saturates at [`Moment::NEVER`], which no clock reaches (584 years), so no duration that a user can
//! pass wraps around or fires early.

use crate::sync::now;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// A clock that is moved by hand, for a [`ManualPool`](crate::ManualPool). Clones are the same clock.
///
/// ```
/// use dockhand::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.clone().advance(Duration::from_secs(3600));
/// assert_eq!(clock.now() - before, Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    start: Instant,
    nanos: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that stands still.
    ///
    /// ```
    /// let clock = dockhand::ManualClock::new();
    /// assert_eq!(clock.now(), clock.now());
    /// ```
    pub fn new() -> Self {
        // Zero stands for "not timed" in places.
        ManualClock { start: Instant::now(), nanos: Arc::new(AtomicU64::new(1)) }
    }

    /// What it shows.
    ///
    /// ```
    /// let clock = dockhand::ManualClock::default();
    /// assert_eq!(clock.now().duration_since(clock.now()), std::time::Duration::ZERO);
    /// ```
    pub fn now(&self) -> Instant {
        shown(self.start, self.moment())
    }

    /// Moves it forward.
    ///
    /// ```
    /// let clock = dockhand::ManualClock::new();
    /// let before = clock.now();
    /// clock.advance(std::time::Duration::from_millis(5));
    /// assert_eq!(clock.now() - before, std::time::Duration::from_millis(5));
    /// ```
    pub fn advance(&self, by: Duration) {
        let later = |nanos| {
            // It stops short of "never", which no clock reaches.
            let at = Moment(nanos).after(by).0.min(u64::MAX - 1);
            Some(at)
        };
        let _ = self.nanos.fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
    }

    pub(crate) fn advance_to(&self, at: Moment) {
        self.nanos.fetch_max(at.0.min(u64::MAX - 1), Ordering::AcqRel);
    }

    fn moment(&self) -> Moment {
        Moment(self.nanos.load(Ordering::Acquire))
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock::new()
    }
}

fn shown(start: Instant, at: Moment) -> Instant {
    start.checked_add(Duration::from_nanos(at.0)).unwrap_or(start)
}

/// Reads the time as [`Moment`]s.
#[derive(Debug)]
pub(crate) enum Clock {
    System { start: Instant },
    Manual(ManualClock),
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock::System { start: now() }
    }

    fn start(&self) -> Instant {
        match self {
            Clock::System { start } => *start,
            Clock::Manual(clock) => clock.start,
        }
    }

    #[inline(never)]
    pub(crate) fn now(&self) -> Moment {
        match self {
            Clock::System { start } => Moment::START.after(now().saturating_duration_since(*start)),
            Clock::Manual(clock) => clock.moment(),
        }
    }

    /// Until when to wait for a moment; `None` for one that never comes or that the system's clock cannot hold.
    pub(crate) fn instant(&self, at: Moment) -> Option<Instant> {
        if at == Moment::NEVER {
            return None;
        }
        self.start().checked_add(Duration::from_nanos(at.0))
    }

    /// A user's instant; what lies before the start is the start.
    pub(crate) fn moment(&self, at: Instant) -> Moment {
        Moment::START.after(at.saturating_duration_since(self.start()))
    }

    /// A moment as users see it; one that never comes lies centuries ahead.
    pub(crate) fn shown(&self, at: Moment) -> Instant {
        shown(self.start(), at)
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
