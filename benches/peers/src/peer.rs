//! What a candidate is, and what is asked of it.

use crate::job::Job;

/// How a candidate is set up. Who has no limit ignores the capacity.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Threads that run jobs.
    pub workers: usize,
    /// Jobs that may wait.
    pub capacity: usize,
}

/// A running candidate. The loops are provided methods, so that each is compiled for its peer and the call through the
/// trait object is paid once in a row.
pub trait Peer: Send + Sync {
    /// Hands over one job; there is room for it.
    fn submit(&self, job: Job);

    /// Ends the threads, in the way the peer has for it, after everything accepted has run if the peer can do that
    /// (see [`Candidate::drains`]).
    fn stop(self: Box<Self>);

    /// A row of submits.
    fn submit_row(&self, job: Job, times: u64) {
        job.row(times).for_each(|job| self.submit(job));
    }
}

/// A peer with a limit.
pub trait Bounded: Peer {
    /// Hands over one job if there is room; otherwise gives it back, as far as the peer does.
    fn offer(&self, job: Job) -> Result<(), Job>;

    /// Hands over one job as soon as there is room.
    fn submit_when_room(&self, job: Job);

    /// A row of offers. How many were refused?
    fn offer_row(&self, job: Job, times: u64) -> u64 {
        job.row(times).map(|job| u64::from(self.offer(job).is_err())).sum()
    }

    /// A row of submits, each as soon as there is room.
    fn submit_row_when_room(&self, job: Job, times: u64) {
        job.row(times).for_each(|job| self.submit_when_room(job));
    }
}

/// What kind of thing a candidate is; goals are set against kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The library itself.
    Ours,
    /// A queue of typed messages with threads that receive.
    Typed,
    /// A queue of boxed closures with threads that receive.
    Boxed,
    /// A pool that takes closures.
    Pool,
    /// What the hardware and the system ask for the thing itself. Not a peer: nothing can be better.
    Raw,
    /// A limit, or ourselves under another condition.
    Reference,
}

/// Starts a candidate.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// One that can be given a limit.
    Bounded(fn(Setup) -> Box<dyn Bounded>),
    /// One that cannot.
    Unbounded(fn(Setup) -> Box<dyn Peer>),
}

/// One of the things compared.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// As in the tables and the `RATIO` lines; without spaces. Variants of ours end in `@` and what is set.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// How it is used here.
    pub note: &'static str,
    /// Whether its way to stop runs what is queued.
    pub drains: bool,
    /// How to start it.
    pub start: Start,
}

impl Candidate {
    /// Starts it, with or without a limit.
    pub fn start(&self, setup: Setup) -> Box<dyn Peer> {
        match self.start {
            Start::Bounded(start) => start(setup),
            Start::Unbounded(start) => start(setup),
        }
    }

    /// Starts it with a limit, if it can have one.
    pub fn start_bounded(&self, setup: Setup) -> Option<Box<dyn Bounded>> {
        match self.start {
            Start::Bounded(start) => Some(start(setup)),
            Start::Unbounded(_) => None,
        }
    }

    /// Whether it can have a limit.
    pub fn is_bounded(&self) -> bool {
        matches!(self.start, Start::Bounded(_))
    }
}
