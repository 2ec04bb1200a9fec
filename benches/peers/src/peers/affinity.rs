//! `affinitypool`.

use crate::job::Job;
use crate::peer::{Candidate, Kind, Peer, Start};
use affinitypool::Threadpool;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// A dropped future cancels its task, so the futures are kept, and awaited at the end.
pub const AFFINITYPOOL: Candidate = Candidate {
    name: "affinitypool",
    kind: Kind::Pool,
    note: "`spawn`; no limit; the futures are kept, since dropping one cancels its task",
    drains: true,
    start: Start::Unbounded(|setup| {
        Box::new(Spawner { pool: Threadpool::new(setup.workers), kept: Mutex::default() })
    }),
};

type Kept = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Spawner {
    pool: Threadpool,
    kept: Mutex<Vec<Kept>>,
}

impl Spawner {
    fn keep(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(future));
    }
}

impl Peer for Spawner {
    fn submit(&self, job: Job) {
        self.keep(self.pool.spawn(move || job.run()));
    }

    fn submit_row(&self, job: Job, times: u64) {
        // One box for a row: one for each future would be a cost that is not the pool's.
        let futures: Vec<_> = job.row(times).map(|job| self.pool.spawn(move || job.run())).collect();
        self.keep(async move {
            for future in futures {
                future.await;
            }
        });
    }

    fn stop(self: Box<Self>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        runtime.expect("the settings are right").block_on(async {
            for future in kept {
                future.await;
            }
        });
    }
}
