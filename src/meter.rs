//! How often a task's progress is passed on.

use crate::clock::Moment;
use crate::event::Progress;
use crate::sync::Mutex;
use std::time::Duration;

/// The pace at which reports become events: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) interval: Duration,
    pub(crate) steps: u64,
}

/// The reports of one attempt.
pub(crate) struct Meter {
    pace: Pace,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Option<(Moment, Progress)>,
    last: Option<Progress>,
}

impl Meter {
    pub(crate) fn new(pace: Pace) -> Self {
        Meter { pace, state: Mutex::new(State::default()) }
    }

    /// Whether this report is to be passed on now. The first one is.
    pub(crate) fn report(&self, now: Moment, progress: Progress) -> bool {
        let mut state = self.state.lock();
        state.last = Some(progress);
        let is_due = state.told.is_none_or(|(at, told)| {
            now.since(at) >= self.pace.interval || progress.done.abs_diff(told.done) >= self.pace.steps
        });
        if is_due {
            state.told = Some((now, progress));
        }
        is_due
    }

    /// The last report, if it was not passed on yet.
    pub(crate) fn unsaid(&self) -> Option<Progress> {
        let mut state = self.state.lock();
        let last = state.last.take()?;
        state.told.is_none_or(|(_, told)| told != last).then_some(last)
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::START.after(Duration::from_millis(millis))
    }

    fn done(done: u64) -> Progress {
        Progress { done, total: 10_000 }
    }

    #[test]
    fn reports_are_passed_on_each_second_or_each_500_steps_and_at_the_end() {
        let meter = Meter::new(Pace { interval: Duration::from_secs(1), steps: 500 });
        assert!(meter.report(at(0), done(0)), "the first");
        assert!(!meter.report(at(999), done(499)));
        assert!(meter.report(at(1000), done(499)), "a second later");
        assert!(meter.report(at(1001), done(999)), "500 steps further");
        assert!(!meter.report(at(1002), done(1000)));
        assert_eq!(meter.unsaid(), Some(done(1000)));
        assert_eq!(meter.unsaid(), None);
    }

    #[test]
    fn what_was_passed_on_is_not_said_again() {
        let meter = Meter::new(Pace { interval: Duration::ZERO, steps: 1 });
        assert_eq!(meter.unsaid(), None);
        assert!(meter.report(at(1), done(1)));
        assert_eq!(meter.unsaid(), None);
    }
}
