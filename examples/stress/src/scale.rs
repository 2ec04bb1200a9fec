//! How much smaller than the real thing a run is.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

/// How much slower than it should be a machine may be on which a smaller run is tried out.
const PATIENCE: u32 = 20;

/// Beyond this the times of a scenario are shorter than what a system can keep.
const SMALLEST: u32 = 1_000;

/// A scale of 1:n, n up to 1,000; 1 is full scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(NonZeroU32);

impl Scale {
    /// The real thing.
    pub const FULL: Scale = Scale(NonZeroU32::MIN);

    /// What suits a test.
    pub const HUNDREDTH: Scale = Scale(NonZeroU32::MIN.saturating_add(99));

    pub(crate) fn is_full(self) -> bool {
        self == Scale::FULL
    }

    /// That long at full scale.
    pub(crate) fn time(self, full: Duration) -> Duration {
        full / self.0.get()
    }

    /// So many at full scale, at least one.
    pub(crate) fn count(self, full: u32) -> u32 {
        (full / self.0).max(1)
    }

    /// The longest that something may take which does not depend on the scale.
    pub(crate) fn bound(self, full: Duration) -> Duration {
        if self.is_full() { full } else { full * PATIENCE }
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let n = text.parse().ok().filter(|n: &NonZeroU32| n.get() <= SMALLEST);
        n.map(Scale).ok_or_else(|| format!("a number from 1 to {SMALLEST} is needed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_a_number_from_one_to_a_thousand() {
        assert_eq!("1".parse(), Ok(Scale::FULL));
        assert_eq!("100".parse(), Ok(Scale::HUNDREDTH));
        assert!("1000".parse::<Scale>().is_ok());
        for bad in ["0", "1001", "-1", "0.5", ""] {
            assert!(bad.parse::<Scale>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_smaller_run_has_wider_bounds() {
        let (second, hundredth) = (Duration::from_secs(1), Scale::HUNDREDTH);
        assert_eq!((Scale::FULL.time(second), Scale::FULL.bound(second)), (second, second));
        assert_eq!((hundredth.time(second), hundredth.bound(second)), (second / 100, second * PATIENCE));
        assert_eq!((hundredth.count(5_000), hundredth.count(7)), (50, 1));
    }
}
