//! Time as a number, so that it fits into a job.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds since the first call.
pub fn now() -> u64 {
    nanos(EPOCH.elapsed())
}

/// As a number; saturates after 584 years.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Does nothing on this core until then.
pub fn spin_until(at: u64) {
    while now() < at {
        std::hint::spin_loop();
    }
}
