//! Bounded channels with threads that receive until the sender is gone.

use super::Threads;
use crate::job::Job;
use crate::peer::{Bounded, Candidate, Kind, Peer, Setup, Start};
use crossbeam::channel as crossbeam_channel;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

/// Typed messages.
pub const CROSSBEAM: Candidate =
    typed("crossbeam", "`try_send`, `send`; `iter` of a cloned receiver", |setup| {
        let (sender, receiver) = crossbeam_channel::bounded::<Job>(setup.capacity);
        let threads = Threads::start(setup.workers, || {
            let receiver = receiver.clone();
            move || receiver.iter().for_each(Job::run)
        });
        Box::new(Channel { sender, threads })
    });

/// The usual way to make a pool of it: `Box<dyn FnOnce() + Send>`.
pub const CROSSBEAM_BOX: Candidate = Candidate {
    name: "crossbeam-box",
    kind: Kind::Boxed,
    note: "the same with `Box<dyn FnOnce() + Send>`",
    start: Start::Bounded(|setup| {
        let (sender, receiver) = crossbeam_channel::bounded::<Closure>(setup.capacity);
        let threads = Threads::start(setup.workers, || {
            let receiver = receiver.clone();
            move || receiver.iter().for_each(|closure| closure())
        });
        Box::new(Channel { sender, threads })
    }),
    ..CROSSBEAM
};

/// The standard library's, its one receiver shared as the book shows.
pub const SYNC_CHANNEL: Candidate =
    typed("sync_channel", "`std::sync::mpsc`; receiver in `Arc<Mutex<_>>`, as the book shows", |setup| {
        let (sender, receiver) = mpsc::sync_channel::<Job>(setup.capacity);
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = Threads::start(setup.workers, || {
            let receiver = receiver.clone();
            let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
            move || std::iter::from_fn(next).for_each(Job::run)
        });
        Box::new(Channel { sender, threads })
    });

/// Typed messages.
pub const FLUME: Candidate = typed("flume", "`try_send`, `send`; `iter` of a cloned receiver", |setup| {
    let (sender, receiver) = flume::bounded::<Job>(setup.capacity);
    let threads = Threads::start(setup.workers, || {
        let receiver = receiver.clone();
        move || receiver.iter().for_each(Job::run)
    });
    Box::new(Channel { sender, threads })
});

/// Typed messages.
pub const KANAL: Candidate = typed("kanal", "`try_send_option`, `send`; cloned receiver", |setup| {
    let (sender, receiver) = kanal::bounded::<Job>(setup.capacity);
    let threads = Threads::start(setup.workers, || {
        let receiver = receiver.clone();
        move || receiver.for_each(Job::run)
    });
    Box::new(Channel { sender, threads })
});

type Closure = Box<dyn FnOnce() + Send>;

const fn typed(name: &'static str, note: &'static str, start: fn(Setup) -> Box<dyn Bounded>) -> Candidate {
    Candidate { name, kind: Kind::Typed, note, drains: true, start: Start::Bounded(start) }
}

struct Channel<S> {
    sender: S,
    threads: Threads,
}

/// The sending half.
trait Sends: Send + Sync {
    /// Gives the job back if there is no room.
    fn try_send_job(&self, job: Job) -> Result<(), Job>;
    fn send_job(&self, job: Job);
}

impl<S: Sends> Peer for Channel<S> {
    fn submit(&self, job: Job) {
        assert!(self.sender.try_send_job(job).is_ok(), "there is room");
    }

    fn stop(self: Box<Self>) {
        drop(self.sender);
        self.threads.join();
    }
}

impl<S: Sends> Bounded for Channel<S> {
    fn offer(&self, job: Job) -> Result<(), Job> {
        self.sender.try_send_job(job)
    }

    fn submit_when_room(&self, job: Job) {
        self.sender.send_job(job);
    }
}

impl Sends for crossbeam_channel::Sender<Job> {
    fn try_send_job(&self, job: Job) -> Result<(), Job> {
        self.try_send(job).map_err(crossbeam_channel::TrySendError::into_inner)
    }

    fn send_job(&self, job: Job) {
        self.send(job).expect("the receivers are there");
    }
}

impl Sends for crossbeam_channel::Sender<Closure> {
    fn try_send_job(&self, job: Job) -> Result<(), Job> {
        // What comes back is the closure, not the job in it.
        self.try_send(Box::new(move || job.run())).map_err(|_| job)
    }

    fn send_job(&self, job: Job) {
        self.send(Box::new(move || job.run())).expect("the receivers are there");
    }
}

impl Sends for SyncSender<Job> {
    fn try_send_job(&self, job: Job) -> Result<(), Job> {
        self.try_send(job).map_err(|error| match error {
            mpsc::TrySendError::Full(job) | mpsc::TrySendError::Disconnected(job) => job,
        })
    }

    fn send_job(&self, job: Job) {
        self.send(job).expect("the receiver is there");
    }
}

impl Sends for flume::Sender<Job> {
    fn try_send_job(&self, job: Job) -> Result<(), Job> {
        self.try_send(job).map_err(flume::TrySendError::into_inner)
    }

    fn send_job(&self, job: Job) {
        self.send(job).expect("the receivers are there");
    }
}

impl Sends for kanal::Sender<Job> {
    fn try_send_job(&self, job: Job) -> Result<(), Job> {
        let mut offered = Some(job);
        self.try_send_option(&mut offered).expect("the receivers are there");
        offered.map_or(Ok(()), Err)
    }

    fn send_job(&self, job: Job) {
        self.send(job).expect("the receivers are there");
    }
}
