//! Times that the pool does not measure.

use std::time::Duration;

/// How long some calls took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    count: u32,
    sum: Duration,
    longest: Duration,
}

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.count += 1;
        self.sum += time;
        self.longest = self.longest.max(time);
    }

    pub(crate) fn mean(&self) -> Duration {
        self.sum.checked_div(self.count).unwrap_or_default()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }
}

/// In the unit in which it is easiest to read.
pub(crate) fn show(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}
