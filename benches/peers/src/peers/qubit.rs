//! `qubit-thread-pool`.

use crate::job::Job;
use crate::peer::{Bounded, Candidate, Kind, Peer, Start};
use qubit_executor::service::ExecutorService;
use qubit_thread_pool::FixedThreadPool;
use std::convert::Infallible;
use std::thread;

/// Its fixed pool, which has a limit. It has no call that waits for room: its documentation leaves the retry to the user.
pub const QUBIT: Candidate = Candidate {
    name: "qubit",
    kind: Kind::Pool,
    note: "`FixedThreadPool::submit`; drops what it refuses; room is waited for by `yield_now` and another try",
    drains: true,
    start: Start::Bounded(|setup| {
        let builder = FixedThreadPool::builder().pool_size(setup.workers).queue_capacity(setup.capacity);
        Box::new(builder.build().expect("the settings are right"))
    }),
};

impl Peer for FixedThreadPool {
    fn submit(&self, job: Job) {
        assert!(self.offer(job).is_ok(), "there is room");
    }

    fn stop(self: Box<Self>) {
        self.shutdown();
        self.wait_termination();
    }
}

impl Bounded for FixedThreadPool {
    fn offer(&self, job: Job) -> Result<(), Job> {
        let run = move || {
            job.run();
            Ok::<(), Infallible>(())
        };
        ExecutorService::submit(self, run).map_err(|_| job)
    }

    fn submit_when_room(&self, job: Job) {
        while self.offer(job).is_err() {
            thread::yield_now();
        }
    }
}
