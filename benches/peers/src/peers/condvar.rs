//! What one writes oneself: a mutex, two condition variables and a `VecDeque`.

use super::Threads;
use crate::job::Job;
use crate::peer::{Bounded, Candidate, Kind, Peer, Setup, Start};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The standard library's locks.
pub const CONDVAR: Candidate = Candidate {
    name: "condvar",
    kind: Kind::Typed,
    note: "`Mutex<VecDeque>` and two `Condvar`s of the standard library",
    drains: true,
    start: Start::Bounded(|setup| Box::new(Queue::start(setup))),
};

struct State {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

struct Shared {
    state: Mutex<State>,
    has_jobs: Condvar,
    has_room: Condvar,
    capacity: usize,
}

struct Queue {
    shared: Arc<Shared>,
    threads: Threads,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Job> {
        let is_idle = |state: &mut State| state.jobs.is_empty() && !state.is_closed;
        let waited = self.has_jobs.wait_while(self.lock(), is_idle);
        let job = waited.unwrap_or_else(PoisonError::into_inner).jobs.pop_front();
        self.has_room.notify_one();
        job
    }
}

impl Queue {
    fn start(setup: Setup) -> Self {
        let jobs = VecDeque::with_capacity(setup.capacity);
        let shared = Arc::new(Shared {
            state: Mutex::new(State { jobs, is_closed: false }),
            has_jobs: Condvar::new(),
            has_room: Condvar::new(),
            capacity: setup.capacity,
        });
        let threads = Threads::start(setup.workers, || {
            let shared = shared.clone();
            move || std::iter::from_fn(|| shared.take()).for_each(Job::run)
        });
        Queue { shared, threads }
    }
}

impl Peer for Queue {
    fn submit(&self, job: Job) {
        assert!(self.offer(job).is_ok(), "there is room");
    }

    fn stop(self: Box<Self>) {
        self.shared.lock().is_closed = true;
        self.shared.has_jobs.notify_all();
        self.threads.join();
    }
}

impl Bounded for Queue {
    fn offer(&self, job: Job) -> Result<(), Job> {
        let mut state = self.shared.lock();
        if state.jobs.len() == self.shared.capacity {
            return Err(job);
        }
        state.jobs.push_back(job);
        drop(state);
        self.shared.has_jobs.notify_one();
        Ok(())
    }

    fn submit_when_room(&self, job: Job) {
        let is_full = |state: &mut State| state.jobs.len() == self.shared.capacity;
        let waited = self.shared.has_room.wait_while(self.shared.lock(), is_full);
        waited.unwrap_or_else(PoisonError::into_inner).jobs.push_back(job);
        self.shared.has_jobs.notify_one();
    }
}
