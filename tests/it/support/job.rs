//! A task that does whatever a test wants, and the pool that runs such tasks.

use super::{Gate, Tracked, watch};
use dockhand::metrics::Counts;
use dockhand::{PoolBuilder, Processor, ProcessorFn, TaskContext, TaskId, WorkerPool, processor_fn};
use std::sync::Arc;

/// A panic that the process's hook does not write about.
pub(crate) fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("as planned"))
}

type Work = Box<dyn FnMut(&TaskContext<'_, Job>) -> Result<(), String> + Send>;

/// A payload that brings its own work.
pub(crate) struct Job {
    work: Work,
    /// Which one it is, where a test tells them apart.
    pub(crate) number: u64,
    pub(crate) tracked: Option<Tracked>,
}

impl Job {
    pub(crate) fn new(
        work: impl FnMut(&TaskContext<'_, Job>) -> Result<(), String> + Send + 'static,
    ) -> Self {
        Job { work: Box::new(work), number: 0, tracked: None }
    }

    pub(crate) fn ok() -> Self {
        Job::new(|_| Ok(()))
    }

    /// Fails each time.
    pub(crate) fn fail() -> Self {
        Job::new(|cx| Err(format!("attempt {}", cx.attempt())))
    }

    /// Fails until attempt `n`.
    pub(crate) fn ok_at(n: u32) -> Self {
        Job::new(move |cx| if cx.attempt() < n { Err("not yet".to_string()) } else { Ok(()) })
    }

    pub(crate) fn panic() -> Self {
        Job::new(|_| panic_quietly())
    }

    /// Blocks on the gate, then succeeds.
    pub(crate) fn plug(gate: &Gate) -> Self {
        let gate = gate.clone();
        Job::new(move |_| {
            gate.pass();
            Ok(())
        })
    }

    pub(crate) fn run(f: impl FnMut() + Send + 'static) -> Self {
        let mut f = f;
        Job::new(move |_| {
            f();
            Ok(())
        })
    }

    pub(crate) fn number(self, number: u64) -> Self {
        Job { number, ..self }
    }

    pub(crate) fn track(self, tracked: Tracked) -> Self {
        Job { tracked: Some(tracked), ..self }
    }
}

pub(crate) type Runs = ProcessorFn<Job, (), String>;
pub(crate) type Pool = Arc<WorkerPool<Runs>>;

/// A builder of a pool that runs [`Job`]s.
pub(crate) fn builder(workers: usize) -> PoolBuilder<Runs> {
    WorkerPool::builder(processor_fn(|job: &mut Job, cx: &TaskContext<'_, Job>| (job.work)(cx)))
        .workers(workers)
}

/// Builds, and has the watchdog know of it.
#[track_caller]
pub(crate) fn build<P: Processor>(builder: PoolBuilder<P>) -> Arc<WorkerPool<P>> {
    watch(builder.build().unwrap())
}

pub(crate) fn pool(workers: usize, capacity: usize) -> Pool {
    build(builder(workers).queue_capacity(capacity))
}

/// Offers a job that is sure to find room.
#[track_caller]
pub(crate) fn accepted(pool: &WorkerPool<Runs>, job: Job) -> TaskId {
    pool.submit(job).into_result().unwrap()
}

/// Has a worker block on the gate that comes back.
#[track_caller]
pub(crate) fn plug_worker(pool: &WorkerPool<Runs>) -> Gate {
    let plug = Gate::new();
    accepted(pool, Job::plug(&plug));
    plug.wait_arrived(1);
    plug
}

/// Builds a pool and has its worker block.
#[track_caller]
pub(crate) fn plugged(builder: PoolBuilder<Runs>) -> (Pool, Gate) {
    let pool = build(builder);
    let plug = plug_worker(&pool);
    (pool, plug)
}

fn all_counts<P: Processor>(pool: &WorkerPool<P>) -> Vec<Counts> {
    let metrics = pool.metrics();
    metrics.lanes.into_iter().map(|lane| lane.counts).chain([metrics.counts]).collect()
}

/// The law holds, for the pool and for each lane. For a moment at which nothing moves.
#[track_caller]
pub(crate) fn assert_conserved<P: Processor>(pool: &WorkerPool<P>) {
    for counts in all_counts(pool) {
        assert!(counts.is_conserved(), "{counts:#?}");
    }
}

/// The law holds and nothing is left in the pool.
#[track_caller]
pub(crate) fn assert_rest<P: Processor>(pool: &WorkerPool<P>) {
    assert_conserved(pool);
    for counts in all_counts(pool) {
        assert_eq!((counts.queued, counts.delayed, counts.running), (0, 0, 0), "{counts:#?}");
    }
}
