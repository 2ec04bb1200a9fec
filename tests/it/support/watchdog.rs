//! Ends the process if a test hangs, and says which one and what its pools did.

use super::rounds;
use dockhand::{Processor, WorkerPool};
use std::io::Write;
use std::panic::Location;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;
use std::time::Duration;

/// Some tests take minutes at full size.
fn limit() -> Duration {
    Duration::from_secs(rounds(3600, 60) as u64)
}

type Status = Box<dyn Fn() -> Option<String> + Send>;

static WATCHED: Mutex<Vec<(ThreadId, Status)>> = Mutex::new(Vec::new());

/// Hold it as long as the test runs.
pub(crate) struct Watchdog {
    owner: ThreadId,
    // Its drop tells the dog that the test has ended.
    _leash: Sender<()>,
}

impl Watchdog {
    #[track_caller]
    pub(crate) fn new() -> Self {
        let place = Location::caller();
        let thread = std::thread::current();
        let test = format!("{} at {place}", thread.name().unwrap_or("a test"));
        let owner = thread.id();
        let (leash, end) = channel::<()>();
        std::thread::spawn(move || {
            if end.recv_timeout(limit()) == Err(RecvTimeoutError::Timeout) {
                tell(&test, owner);
                std::process::abort();
            }
        });
        Watchdog { owner, _leash: leash }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(owner, _)| *owner != self.owner);
    }
}

/// Past the capture of the test harness, whose notes are lost when the process aborts.
fn tell(test: &str, owner: ThreadId) {
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "watchdog: {test} hangs");
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    for (_, status) in watched.iter().filter(|(other, _)| *other == owner) {
        let _ = writeln!(stderr, "{}", status().unwrap_or_default());
    }
}

/// Has the watchdog of this thread tell the state of `pool`.
pub(crate) fn watch<P: Processor>(pool: WorkerPool<P>) -> Arc<WorkerPool<P>> {
    let pool = Arc::new(pool);
    let weak: Weak<WorkerPool<P>> = Arc::downgrade(&pool);
    let status = move || weak.upgrade().map(|pool| format!("{:#?}\n{:#?}", pool.status(), pool.metrics()));
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    watched.push((std::thread::current().id(), Box::new(status)));
    pool
}
