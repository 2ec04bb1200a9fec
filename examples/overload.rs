//! What a full lane answers, one lane for each policy. The pool's one worker is held up, so each lane of one place is
//! full after the first task, and the second task meets the policy. Run it with `cargo run --example overload`.
#![allow(clippy::print_stdout, reason = "an example shows something")]

use dockhand::{BoxError, Lane, Outcome, OverloadPolicy, ProcessorFn, RejectReason, SubmitResult};
use dockhand::{BuildError, WorkerPool, processor_fn};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

type Task = &'static str;
type Pool = WorkerPool<ProcessorFn<Task, (), String>>;

/// One lane for each policy. The task "plug" holds the worker between two meetings at the barrier.
fn build(barrier: Arc<Barrier>, evicted: mpsc::Sender<(Task, Outcome)>) -> Result<Pool, BuildError> {
    WorkerPool::builder(processor_fn(move |task: &mut Task, _cx| {
        if *task == "plug" {
            barrier.wait();
            barrier.wait();
        }
        Ok(())
    }))
    .workers(1)
    .queue_capacity(1)
    .lane(Lane::new("orders").overload(OverloadPolicy::Reject))
    .lane(Lane::new("reports").overload(OverloadPolicy::CallerRuns))
    .lane(Lane::new("samples").overload(OverloadPolicy::DropIncoming))
    .lane(Lane::new("frames").overload(OverloadPolicy::DropOldest))
    .on_shed(move |shed| {
        let _ = evicted.send((shed.payload, shed.outcome));
    })
    .build()
}

/// Fills the lane, and offers one more.
fn second_of(pool: &Pool, lane: &str) -> Result<SubmitResult<Task>, BoxError> {
    let submitter = pool.submitter_for(lane)?;
    submitter.submit("first").into_result()?;
    let answer = submitter.submit("second");
    println!("{lane:>8}: {answer:?}");
    Ok(answer)
}

fn main() -> Result<(), BoxError> {
    let barrier = Arc::new(Barrier::new(2));
    let (evicted, was_evicted) = mpsc::channel();
    let pool = build(barrier.clone(), evicted)?;
    pool.submit("plug").into_result()?;
    barrier.wait(); // the worker has it

    // Reject: the task comes back with the reason.
    let refused = second_of(&pool, "orders")?.into_result().expect_err("the lane is full");
    assert_eq!(refused.reason(), RejectReason::QueueFull);
    assert_eq!(refused.into_payload(), "second");

    // CallerRuns: this thread has run it by the time `submit` answers.
    let SubmitResult::CallerRun(run) = second_of(&pool, "reports")? else { panic!("it runs here") };
    assert_eq!(run.outcome, Some(Outcome::Succeeded));

    // DropIncoming: it comes back too, counted as dropped.
    assert!(matches!(second_of(&pool, "samples")?, SubmitResult::Dropped("second")));

    // DropOldest: it is accepted, and the one that waited longest has left through `on_shed`.
    assert!(matches!(second_of(&pool, "frames")?, SubmitResult::Accepted(_)));
    assert_eq!(was_evicted.try_recv()?, ("first", Outcome::Evicted));

    barrier.wait();
    let counts = pool.shutdown(Duration::from_secs(5)).counts;
    assert_eq!((counts.rejected, counts.caller_run, counts.dropped, counts.evicted), (1, 1, 1, 1));
    assert_eq!(counts.succeeded, 6); // the plug, one of each lane, and the one that ran here
    Ok(())
}
