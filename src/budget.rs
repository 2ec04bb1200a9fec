//! The retry budget of a lane: retries may be only a share of the work.
//!
//! A bound on the attempts of one task does not bound the load of all: when everything fails, n retries multiply it by
//! n + 1. After the retry budgets of Finagle (`RetryBudget`) and tower (`tower::retry::budget`): in a window of ten
//! seconds, retries may be at most `ratio` of the tasks that were started fresh, plus a reserve of `min_per_second`.

use crate::clock::Moment;
use std::time::Duration;

const SECONDS: usize = 10;

/// What a policy says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BudgetPolicy {
    pub(crate) ratio: f64,
    pub(crate) min_per_second: f64,
}

impl BudgetPolicy {
    pub(crate) fn check(self) -> Result<(), &'static str> {
        let is_share = |value: f64| value.is_finite() && value >= 0.0;
        if is_share(self.ratio) && is_share(self.min_per_second) {
            Ok(())
        } else {
            Err("the budget's ratio and reserve must be finite and not negative")
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Second {
    number: u64,
    fresh: u64,
    retries: u64,
}

/// What was started and retried in the last ten seconds.
pub(crate) struct Budget {
    policy: BudgetPolicy,
    seconds: [Second; SECONDS],
}

impl Budget {
    pub(crate) fn new(policy: BudgetPolicy) -> Self {
        Budget { policy, seconds: [Second::default(); SECONDS] }
    }

    fn second(&mut self, now: Moment) -> &mut Second {
        let number = now.since(Moment::START).as_secs();
        let second = &mut self.seconds[(number % SECONDS as u64) as usize];
        if second.number != number {
            *second = Second { number, ..Second::default() };
        }
        second
    }

    /// A task starts fresh.
    pub(crate) fn deposit(&mut self, now: Moment) {
        self.second(now).fresh += 1;
    }

    /// Whether one more retry fits; it is counted if it does.
    pub(crate) fn withdraw(&mut self, now: Moment) -> bool {
        let this = self.second(now).number;
        let recent = self.seconds.iter().filter(|second| second.number + SECONDS as u64 > this);
        let (fresh, retries) = recent.fold((0, 0), |(f, r), second| (f + second.fresh, r + second.retries));
        let reserve = self.policy.min_per_second * Duration::from_secs(SECONDS as u64).as_secs_f64();
        let allowed = self.policy.ratio * fresh as f64 + reserve;
        let fits = (retries + 1) as f64 <= allowed;
        if fits {
            self.second(now).retries += 1;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Moment {
        Moment::START.after(Duration::from_secs(secs))
    }

    #[test]
    fn retries_are_a_share_of_the_fresh_tasks() {
        let mut budget = Budget::new(BudgetPolicy { ratio: 0.2, min_per_second: 0.0 });
        assert!(!budget.withdraw(at(1)));
        (0..10).for_each(|_| budget.deposit(at(1)));
        assert!(budget.withdraw(at(1)) && budget.withdraw(at(2)));
        assert!(!budget.withdraw(at(2)));
    }

    #[test]
    fn the_window_moves_on() {
        let mut budget = Budget::new(BudgetPolicy { ratio: 1.0, min_per_second: 0.0 });
        budget.deposit(at(1));
        assert!(budget.withdraw(at(1)));
        budget.deposit(at(5));
        assert!(budget.withdraw(at(10)));
        assert!(!budget.withdraw(at(10)));
        assert!(!budget.withdraw(at(14)), "the deposit of second 5 is spent in second 10");
        budget.deposit(at(25));
        assert!(budget.withdraw(at(25)));
    }

    #[test]
    fn the_reserve_is_there_without_any_deposit() {
        let mut budget = Budget::new(BudgetPolicy { ratio: 0.0, min_per_second: 0.3 });
        assert!((0..3).all(|_| budget.withdraw(at(0))));
        assert!(!budget.withdraw(at(0)));
        assert!(budget.withdraw(at(10)));
    }

    #[test]
    fn nonsense_is_found() {
        for (ratio, min_per_second) in [(f64::NAN, 0.0), (-0.1, 0.0), (0.1, f64::INFINITY), (0.1, -1.0)] {
            assert!(BudgetPolicy { ratio, min_per_second }.check().is_err());
        }
    }
}
