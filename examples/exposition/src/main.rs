//! Prints what a Prometheus server reads when it scrapes a program with a pool: `cargo run -p exposition`.

use dockhand::{BoxError, Lane, OverloadPolicy, RetryPolicy, TaskContext, Timing, WorkerPool, processor_fn};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::io::{ErrorKind, Write, stdout};
use std::time::Duration;

/// Delivers a parcel; what goes nowhere never arrives, the rest does at the second attempt at the latest.
fn deliver(to: &mut &'static str, cx: &TaskContext<'_, &'static str>) -> Result<(), BoxError> {
    match *to {
        "nowhere" => Err("no such address".into()),
        "far away" if cx.attempt() == 1 => Err("no answer".into()),
        _ => Ok(()),
    }
}

fn main() -> Result<(), BoxError> {
    let pool = WorkerPool::builder(processor_fn(deliver))
        .workers(2)
        // Each task is timed, so that the histograms are complete and the age of the oldest task is known.
        .timing(Timing::Full)
        .retry(RetryPolicy::exponential(Duration::from_millis(1)).max_retries(2).jitter(0.2))
        .lane(Lane::new("express").max_concurrency(1))
        // A lane without room: its second task finds it full if the first one still waits.
        .lane(Lane::new("bulk").queue_capacity(1).overload(OverloadPolicy::DropIncoming))
        .dead_letter_sink(|_| dockhand::letter::LetterFate::Keep)
        .build()?;

    let mut registry = Registry::default();
    // The collector reads the pool at each scrape, and keeps neither it nor a thread.
    registry.register_collector(Box::new(pool.collector()));

    for to in ["next door", "far away", "nowhere"] {
        for lane in ["express", "default"] {
            pool.submitter_for(lane)?.submit(to).into_result()?;
        }
    }
    let _ = pool.submitter_for("bulk")?.submit_batch(["next door"; 10]);
    pool.wait_idle(Duration::from_secs(10))?;

    // What the handler of `/metrics` answers.
    let mut text = String::new();
    encode(&mut text, &registry)?;
    match stdout().write_all(text.as_bytes()) {
        // Whoever read it has seen enough of it.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
