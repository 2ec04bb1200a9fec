//! What the thing itself costs: a bare queue, a bare wake, and a cache line that goes to the other core.

use super::Threads;
use crate::job::Job;
use crate::peer::{Bounded, Candidate, Kind, Peer, Setup, Start};
use crossbeam::queue::ArrayQueue;
use crossbeam::utils::{Backoff, CachePadded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

/// `ArrayQueue` with threads that never sleep.
pub const QUEUE: Candidate = Candidate {
    name: "raw-queue",
    kind: Kind::Raw,
    note: "`ArrayQueue`; the threads ask again and again, and never sleep",
    drains: true,
    start: Start::Bounded(|setup| Box::new(Queue::start(setup))),
};

/// One thread that sleeps until it is woken for the one stamp in its hand.
pub const UNPARK: Candidate = Candidate {
    name: "raw-unpark",
    note: "a store and `Thread::unpark`; one stamp at a time",
    start: Start::Unbounded(|_| Box::new(Hand::start(Idle::Park))),
    ..QUEUE
};

/// One thread that looks at its line all the time.
pub const LINE: Candidate = Candidate {
    name: "raw-line",
    note: "a store that another core is looking at; one stamp at a time",
    start: Start::Unbounded(|_| Box::new(Hand::start(Idle::Spin))),
    ..QUEUE
};

/// All of them.
pub const ALL: [Candidate; 3] = [QUEUE, UNPARK, LINE];

struct Shared {
    jobs: ArrayQueue<Job>,
    is_closed: AtomicBool,
}

struct Queue {
    shared: Arc<Shared>,
    threads: Threads,
}

impl Queue {
    fn start(setup: Setup) -> Self {
        let shared =
            Arc::new(Shared { jobs: ArrayQueue::new(setup.capacity), is_closed: AtomicBool::new(false) });
        let threads = Threads::start(setup.workers, || {
            let shared = shared.clone();
            move || shared.work()
        });
        Queue { shared, threads }
    }
}

impl Shared {
    fn work(&self) {
        let backoff = Backoff::new();
        loop {
            // Read first: what was pushed before the closing is then found.
            // Ordering: Acquire, partner of the store in `stop`.
            let is_closed = self.is_closed.load(Ordering::Acquire);
            match self.jobs.pop() {
                Some(job) => {
                    job.run();
                    backoff.reset();
                }
                None if is_closed => return,
                None => backoff.snooze(),
            }
        }
    }
}

impl Peer for Queue {
    fn submit(&self, job: Job) {
        assert!(self.shared.jobs.push(job).is_ok(), "there is room");
    }

    fn stop(self: Box<Self>) {
        // Ordering: Release, partner of the load in `work`.
        self.shared.is_closed.store(true, Ordering::Release);
        self.threads.join();
    }
}

impl Bounded for Queue {
    fn offer(&self, job: Job) -> Result<(), Job> {
        self.shared.jobs.push(job)
    }

    fn submit_when_room(&self, job: Job) {
        let backoff = Backoff::new();
        while self.shared.jobs.push(job).is_err() {
            backoff.snooze();
        }
    }
}

/// In place of a stamp: nothing, and the end.
const NOTHING: u64 = 0;
const END: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Idle {
    Park,
    Spin,
}

struct Hand {
    stamp: Arc<CachePadded<AtomicU64>>,
    thread: Thread,
    threads: Threads,
    idle: Idle,
}

impl Hand {
    fn start(idle: Idle) -> Self {
        let stamp = Arc::new(CachePadded::new(AtomicU64::new(NOTHING)));
        let threads = Threads::start(1, || {
            let stamp = stamp.clone();
            move || receive(&stamp, idle)
        });
        let thread = threads.0[0].thread().clone();
        Hand { stamp, thread, threads, idle }
    }

    fn put(&self, stamp: u64) {
        // The one before has been taken, unless the other thread lost its core.
        while self.stamp.load(Ordering::Relaxed) != NOTHING {
            thread::yield_now();
        }
        // Ordering: Release, partner of the load in `receive`.
        self.stamp.store(stamp, Ordering::Release);
        if self.idle == Idle::Park {
            self.thread.unpark();
        }
    }
}

fn receive(stamp: &AtomicU64, idle: Idle) {
    loop {
        // Ordering: Acquire, partner of the store in `put`.
        match (stamp.load(Ordering::Acquire), idle) {
            (NOTHING, Idle::Park) => thread::park(),
            (NOTHING, Idle::Spin) => std::hint::spin_loop(),
            (END, _) => return,
            (at, _) => {
                stamp.store(NOTHING, Ordering::Relaxed);
                Job::Stamp { at }.run();
            }
        }
    }
}

impl Peer for Hand {
    fn submit(&self, job: Job) {
        match job {
            Job::Stamp { at } => self.put(at),
            other => other.run(),
        }
    }

    fn stop(self: Box<Self>) {
        self.put(END);
        self.threads.join();
    }
}
