//! The threads of this process, as the system sees them.

use std::time::Duration;

use crate::patience::Patience;

/// How many there are; `None` where the system does not say.
pub(crate) fn alive() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// How many more there are than at the start. A thread that was joined, or detached as it ended, may take a moment to go.
pub(crate) fn left_over(at_start: Option<usize>) -> i64 {
    let more = || match (alive(), at_start) {
        (Some(now), Some(then)) => now as i64 - then as i64,
        _ => 0,
    };
    let mut patience = Patience::new();
    while more() > 0 && patience.lasts() {
        std::thread::sleep(Duration::from_millis(5));
    }
    more()
}
