//! The smallest whole program: build a pool, offer it a task, stop it. Run it with `cargo run --example quickstart`.
#![allow(clippy::print_stdout, reason = "an example shows something")]

use dockhand::{RetryPolicy, WorkerPool, processor_fn};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = WorkerPool::builder(processor_fn(|name: &mut String, _cx| {
        println!("hello {name}");
        Ok::<(), String>(())
    }))
    .workers(2)
    .queue_capacity(1024)
    .retry(RetryPolicy::exponential(Duration::from_millis(100)).jitter(0.2))
    .build()?;

    pool.submit("world".to_string()).into_result()?; // Ok(TaskId), or the payload back inside the error
    let report = pool.shutdown(Duration::from_secs(5));
    assert!(report.is_clean());
    Ok(())
}
