//! What the system knows of a pool's threads.

use super::eventually;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A name that no other pool of this process has, short enough for the system to keep it with a thread's number.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    assert!(prefix.len() <= 4, "{prefix}: the system cuts names after 15 characters");
    format!("{prefix}{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Directories of the live threads of the pool of that name, its timer included.
fn tasks_of(pool: &str) -> impl Iterator<Item = std::path::PathBuf> {
    let prefix = format!("{pool}-");
    let tasks = fs::read_dir("/proc/self/task").expect("this is Linux").flatten();
    tasks.map(|task| task.path()).filter(move |task| {
        // A thread that ends in between is gone.
        fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with(&prefix))
    })
}

/// So many threads of the pool of that name live. A thread that was joined is seen by the system for a moment more, and
/// one that was just started has no name yet.
#[track_caller]
pub(crate) fn assert_threads(pool: &str, expected: usize) {
    eventually(&format!("{expected} threads of {pool}"), || tasks_of(pool).count() == expected);
}

/// The processor time that the live threads of that pool have used; `None` where the system does not tell.
pub(crate) fn cpu_of(pool: &str) -> Option<Duration> {
    let nanos = tasks_of(pool).map(|task| {
        let stat = fs::read_to_string(task.join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    nanos.sum::<Option<u64>>().map(Duration::from_nanos)
}
