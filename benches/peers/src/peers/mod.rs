//! The candidates, each used the way its documentation shows for the job.

pub mod affinity;
pub mod channels;
pub mod condvar;
pub mod ours;
pub mod pools;
pub mod qubit;
pub mod raw;
pub mod runtime;

use crate::peer::Candidate;
use std::thread::{self, JoinHandle};

/// What a Rust developer would use instead.
pub const PEERS: [Candidate; 12] = [
    channels::CROSSBEAM,
    channels::CROSSBEAM_BOX,
    channels::SYNC_CHANNEL,
    channels::FLUME,
    channels::KANAL,
    condvar::CONDVAR,
    pools::THREADPOOL,
    pools::RAYON,
    pools::RUSTY_POOL,
    runtime::TOKIO,
    qubit::QUBIT,
    affinity::AFFINITYPOOL,
];

/// Ours in its default settings, then the peers.
pub fn default_and_peers() -> Vec<Candidate> {
    [&[ours::DEFAULT][..], &PEERS].concat()
}

/// Threads of a candidate that has none of its own.
struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Starts so many threads, each with a body of its own.
    fn start<F: FnOnce() + Send + 'static>(workers: usize, mut body: impl FnMut() -> F) -> Self {
        Threads((0..workers).map(|_| thread::spawn(body())).collect())
    }

    fn join(self) {
        for thread in self.0 {
            thread.join().expect("a job does not panic");
        }
    }
}
