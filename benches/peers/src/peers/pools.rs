//! Pools that take closures and have no limit.

use crate::job::Job;
use crate::peer::{Candidate, Kind, Peer, Start};

/// `threadpool`: `join`, then drop.
pub const THREADPOOL: Candidate = Candidate {
    name: "threadpool",
    kind: Kind::Pool,
    note: "`execute`; no limit",
    drains: true,
    start: Start::Unbounded(|setup| Box::new(threadpool::ThreadPool::new(setup.workers))),
};

/// `rayon`: threads end at some time after the drop, and nothing says when.
pub const RAYON: Candidate = Candidate {
    name: "rayon",
    note: "`ThreadPool::spawn`; no limit",
    drains: false,
    start: Start::Unbounded(|setup| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(setup.workers);
        Box::new(builder.build().expect("the settings are right"))
    }),
    ..THREADPOOL
};

/// `rusty_pool`: `shutdown_join`.
pub const RUSTY_POOL: Candidate = Candidate {
    name: "rusty_pool",
    note: "`execute`; no limit; core and maximum size the same",
    start: Start::Unbounded(|setup| {
        let builder = rusty_pool::Builder::new().core_size(setup.workers).max_size(setup.workers);
        Box::new(builder.build())
    }),
    ..THREADPOOL
};

impl Peer for threadpool::ThreadPool {
    fn submit(&self, job: Job) {
        self.execute(move || job.run());
    }

    fn stop(self: Box<Self>) {
        self.join();
    }
}

impl Peer for rayon::ThreadPool {
    fn submit(&self, job: Job) {
        self.spawn(move || job.run());
    }

    fn stop(self: Box<Self>) {}
}

impl Peer for rusty_pool::ThreadPool {
    fn submit(&self, job: Job) {
        self.execute(move || job.run());
    }

    fn stop(self: Box<Self>) {
        (*self).shutdown_join();
    }
}
