//! The library itself, in its default settings and with what a scenario names.

use crate::job::Job;
use crate::peer::{Bounded, Candidate, Kind, Peer, Setup, Start};
use dockhand::{
    Closure, Closures, IdleStrategy, PoolBuilder, Processor, TaskContext, TaskSubmitter, Timing, WorkerPool,
};
use std::convert::Infallible;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Nothing but workers and capacity set.
pub const DEFAULT: Candidate =
    ours("dockhand", "default settings", |setup| Box::new(Dock::new(Runs, setup, |builder| builder)));

/// Without any clock reading.
pub const OFF: Candidate = ours("dockhand@off", "`Timing::Off`", |setup| {
    Box::new(Dock::new(Runs, setup, |builder| builder.timing(Timing::Off)))
});

/// Spins before it parks, for longer than the gap between two submits of the scenario `warm`.
pub const SPIN: Candidate = ours("dockhand@spin", "`IdleStrategy::SpinThenPark(200 µs)`", |setup| {
    let spin = IdleStrategy::SpinThenPark(Duration::from_micros(200));
    Box::new(Dock::new(Runs, setup, |builder| builder.idle(spin)))
});

/// One worker is always awake.
pub const KEEP: Candidate = ours("dockhand@keep", "`IdleStrategy::KeepOneSpinning`", |setup| {
    Box::new(Dock::new(Runs, setup, |builder| builder.idle(IdleStrategy::KeepOneSpinning)))
});

/// What a latency-sensitive program chooses: the variants of the scenario `warm`.
pub const WARM: &[Candidate] = &[SPIN, KEEP];

/// The same jobs as boxed closures. The goals are those of typed payloads, so this is one to compare with.
pub const CLOSURES: Candidate = Candidate {
    kind: Kind::Reference,
    ..ours("dockhand@closure", "`WorkerPool<Closures>`, `execute`", |setup| {
        Box::new(Dock::new(Closures, setup, |builder| builder))
    })
};

const fn ours(name: &'static str, note: &'static str, start: fn(Setup) -> Box<dyn Bounded>) -> Candidate {
    Candidate { name, kind: Kind::Ours, note, drains: true, start: Start::Bounded(start) }
}

/// Runs jobs.
#[derive(Debug)]
pub struct Runs;

impl Processor for Runs {
    type Payload = Job;
    type Output = ();
    type Error = Infallible;

    fn process(&self, job: &mut Job, _cx: &TaskContext<'_, Job>) -> Result<(), Infallible> {
        job.run();
        Ok(())
    }
}

/// How a processor gets its job.
trait Takes: Processor {
    fn payload(job: Job) -> Self::Payload;
}

impl Takes for Runs {
    fn payload(job: Job) -> Job {
        job
    }
}

impl Takes for Closures {
    fn payload(job: Job) -> Closure {
        Closure::new(move || job.run())
    }
}

struct Dock<P: Processor> {
    pool: WorkerPool<P>,
    submitter: TaskSubmitter<P>,
}

impl<P: Takes> Dock<P> {
    fn new(processor: P, setup: Setup, set: impl FnOnce(PoolBuilder<P>) -> PoolBuilder<P>) -> Self {
        let builder = WorkerPool::builder(processor).workers(setup.workers).queue_capacity(setup.capacity);
        let pool = set(builder).build().expect("the settings are right");
        Dock { submitter: pool.submitter(), pool }
    }
}

impl<P: Takes> Peer for Dock<P> {
    fn submit(&self, job: Job) {
        assert!(self.submitter.submit(P::payload(job)).into_payload().is_none(), "there is room");
    }

    fn stop(self: Box<Self>) {
        assert!(self.pool.shutdown(LONG).is_clean(), "everything has run");
    }
}

impl<P: Takes> Bounded for Dock<P> {
    fn offer(&self, job: Job) -> Result<(), Job> {
        // The same job, whatever it was wrapped in.
        self.submitter.submit(P::payload(job)).into_payload().map_or(Ok(()), |_| Err(job))
    }

    fn submit_when_room(&self, job: Job) {
        let answer = self.submitter.submit_timeout(P::payload(job), LONG);
        assert!(answer.into_payload().is_none(), "room appears");
    }
}
