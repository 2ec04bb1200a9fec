//! A daemon that stops on a signal: the first one drains, the second one means now. A channel stands for the signals.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, Outcome, Processor, RejectReason, Shed, TaskContext, TaskStatus, WorkerPool};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Works until it is told that it may end, or must.
struct Steps {
    started: Sender<u32>,
    may_end: Arc<AtomicBool>,
}

impl Processor for Steps {
    type Payload = u32;
    type Output = ();
    type Error = BoxError;

    fn process(&self, job: &mut u32, cx: &TaskContext<'_, u32>) -> Result<(), BoxError> {
        self.started.send(*job)?;
        while !self.may_end.load(Ordering::Acquire) {
            cx.checkpoint()?;
            thread::yield_now();
        }
        Ok(())
    }
}

/// A daemon with one worker that is busy with job 0, and with jobs 1 to 4 waiting.
struct Daemon {
    pool: Arc<WorkerPool<Steps>>,
    may_end: Arc<AtomicBool>,
}

impl Daemon {
    fn start() -> Result<Self, BoxError> {
        let (started, has_started) = channel();
        let may_end = Arc::new(AtomicBool::new(false));
        let steps = Steps { started, may_end: may_end.clone() };
        let pool = Arc::new(WorkerPool::builder(steps).workers(1).build()?);
        for job in 0..5 {
            pool.submit(job).into_result()?;
        }
        assert_eq!(has_started.recv_timeout(PATIENCE)?, 0);
        // The processor must not be kept from sending.
        thread::spawn(move || has_started.iter().count());
        Ok(Daemon { pool, may_end })
    }

    /// The thread that gets the signals; it answers what was handed back to it.
    fn on_signals(&self, signals: Receiver<()>) -> thread::JoinHandle<Vec<Shed<u32>>> {
        let pool = self.pool.clone();
        thread::spawn(move || {
            let mut signals = signals.iter();
            if signals.next().is_some() {
                pool.begin_shutdown();
            }
            // A shutdown with less time cuts those short that wait already.
            signals.next().map_or(Vec::new(), |()| pool.shutdown(Duration::ZERO).abandoned)
        })
    }
}

#[test]
fn the_first_signal_drains_what_was_accepted() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let daemon = Daemon::start()?;
    let (signal, signals) = channel();
    let listener = daemon.on_signals(signals);
    signal.send(())?;
    // The producers find out by themselves.
    let closed = loop {
        match daemon.pool.submit(99).into_result() {
            Ok(_) => thread::yield_now(),
            Err(refused) if refused.reason() == RejectReason::QueueFull => thread::yield_now(),
            Err(refused) => break refused,
        }
    };
    assert_eq!(closed.reason(), RejectReason::Closed);
    daemon.may_end.store(true, Ordering::Release);
    let report = daemon.pool.shutdown(PATIENCE);
    drop(signal);
    let handed_back = listener.join().expect("the listener does not panic");

    assert!(report.is_clean() && handed_back.is_empty());
    assert_eq!(report.counts.succeeded, report.counts.accepted);
    assert!(report.counts.accepted >= 5);
    Ok(())
}

#[test]
fn the_second_signal_hands_back_what_has_not_run() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let daemon = Daemon::start()?;
    let (signal, signals) = channel();
    let listener = daemon.on_signals(signals);
    let pool = daemon.pool.clone();
    let draining = thread::spawn(move || pool.shutdown(Duration::MAX));
    signal.send(())?;
    signal.send(())?;
    let report = draining.join().expect("a shutdown does not panic");
    let mut handed_back = listener.join().expect("the listener does not panic");

    assert!(report.still_running.is_empty(), "{report:?}");
    assert_eq!((report.counts.succeeded, report.counts.abandoned), (0, 5));
    assert!(report.counts.is_conserved());
    // Each payload is handed out once, to one of the two calls.
    handed_back.extend(report.abandoned);
    let mut jobs: Vec<_> = handed_back.iter().map(|shed| shed.payload).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, [0, 1, 2, 3, 4]);
    for shed in handed_back {
        assert_eq!(shed.outcome, Outcome::Abandoned);
        let was = if shed.payload == 0 { TaskStatus::Running { attempt: 1 } } else { TaskStatus::Queued };
        assert_eq!(shed.was, was);
    }
    Ok(())
}
