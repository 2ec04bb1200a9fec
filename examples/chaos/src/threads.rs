//! The threads of this process, as the system sees them.

use std::time::{Duration, Instant};

/// How many there are; `None` where the system does not say.
pub(crate) fn alive() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// How many more there are than at the start. A thread that was joined, or detached as it ended, may take a moment to go.
pub(crate) fn left_over(at_start: Option<usize>, patience: Duration) -> i64 {
    let more = || match (alive(), at_start) {
        (Some(now), Some(then)) => now as i64 - then as i64,
        _ => 0,
    };
    let end = Instant::now() + patience;
    while more() > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    more()
}
