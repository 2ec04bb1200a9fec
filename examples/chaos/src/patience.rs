//! How long is waited for what has to come by itself, before it counts as a finding.

use std::time::{Duration, Instant};

/// Time enough on a machine with time to spare, and turns enough of the scheduler on one that has none.
const LEAST_TIME: Duration = Duration::from_secs(20);
const LEAST_TURNS: u32 = 2000;

pub(crate) struct Patience {
    began: Instant,
    turns: u32,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Patience { began: Instant::now(), turns: 0 }
    }

    /// Lets others go first. False once it is at its end.
    pub(crate) fn lasts(&mut self) -> bool {
        std::thread::yield_now();
        self.turns = self.turns.saturating_add(1);
        self.turns < LEAST_TURNS || self.began.elapsed() < LEAST_TIME
    }
}
