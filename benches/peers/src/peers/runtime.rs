//! The blocking threads of an async runtime.

use crate::job::Job;
use crate::peer::{Candidate, Kind, Peer, Start};
use tokio::runtime::{Builder, Runtime};

/// `tokio`'s `spawn_blocking`. The runtime has no thread for futures: none is needed, and each would cost memory.
pub const TOKIO: Candidate = Candidate {
    name: "tokio",
    kind: Kind::Pool,
    note: "`spawn_blocking` of a current-thread runtime; no limit",
    // What is queued when the runtime goes may never run.
    drains: false,
    start: Start::Unbounded(|setup| {
        let runtime = Builder::new_current_thread().max_blocking_threads(setup.workers).build();
        Box::new(runtime.expect("the settings are right"))
    }),
};

impl Peer for Runtime {
    fn submit(&self, job: Job) {
        // Dropping the handle detaches the task.
        drop(self.spawn_blocking(move || job.run()));
    }

    fn stop(self: Box<Self>) {}
}
