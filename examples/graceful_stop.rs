//! Stopping on a signal. The first signal stops the producer and drains the pool for as long as it takes; the second
//! one means "now": running tasks are told to come back, and what has not started is handed back. A channel stands for
//! the signals; a program would send into it from its Ctrl-C handler. Run it with `cargo run --example graceful_stop`.
#![allow(clippy::print_stdout, reason = "an example shows something")]

use dockhand::{BoxError, ProcessorFn, ShutdownReport, TaskContext, WorkerPool, processor_fn};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

struct Signal;

/// A job of many steps of 5 ms. It keeps its place, and stops between two steps when the pool asks for it.
struct Job {
    steps_left: u32,
}

fn work(job: &mut Job, cx: &TaskContext<'_, Job>) -> Result<(), BoxError> {
    while job.steps_left > 0 {
        cx.checkpoint()?;
        thread::sleep(Duration::from_millis(5)); // stands for work
        job.steps_left -= 1;
    }
    Ok(())
}

/// Produces until the first signal, then drains until everything has run or the second signal comes.
fn serve(pool: &WorkerPool<ProcessorFn<Job>>, signals: &Receiver<Signal>, steps: u32) -> ShutdownReport<Job> {
    let submitter = pool.submitter();
    while let Err(TryRecvError::Empty) = signals.try_recv() {
        // A full pool slows this producer down; what still finds no room is dropped here.
        let _ = submitter.submit_timeout(Job { steps_left: steps }, Duration::from_millis(5));
    }
    thread::scope(|scope| {
        let draining = scope.spawn(|| pool.shutdown(Duration::MAX));
        let mut handed_back = Vec::new();
        while !draining.is_finished() {
            if signals.recv_timeout(Duration::from_millis(5)).is_ok() {
                handed_back.extend(pool.shutdown(Duration::ZERO).abandoned);
            }
        }
        let mut report = draining.join().expect("a shutdown does not panic");
        // Each payload is handed out once, to one of the calls.
        report.abandoned.append(&mut handed_back);
        report
    })
}

/// A service that gets its signals after these pauses, in milliseconds.
fn run(pauses: &[u64], steps: u32) -> Result<ShutdownReport<Job>, BoxError> {
    let pool = WorkerPool::builder(processor_fn(work)).workers(2).queue_capacity(16).build()?;
    let (signal, signals) = mpsc::channel();
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            for pause in pauses {
                thread::sleep(Duration::from_millis(*pause));
                let _ = signal.send(Signal);
            }
        });
        serve(&pool, &signals, steps)
    });
    let (done, back) = (report.counts.succeeded, report.abandoned.len());
    println!("{done} done, {back} handed back, {:?} after the first signal", report.took);
    assert!(report.counts.is_conserved());
    assert!(report.still_running.is_empty());
    Ok(report)
}

fn main() -> Result<(), BoxError> {
    // Short jobs and one signal: all that was accepted is done.
    let patient = run(&[50], 4)?;
    assert!(patient.is_clean());
    assert_eq!(patient.counts.succeeded, patient.counts.accepted);

    // Endless jobs and a second signal: all of them come back, those that ran with the steps that are left.
    let hurried = run(&[50, 50], u32::MAX)?;
    assert_eq!(hurried.abandoned.len() as u64, hurried.counts.accepted);
    assert!(hurried.abandoned.iter().any(|shed| shed.payload.steps_left < u32::MAX));
    Ok(())
}
