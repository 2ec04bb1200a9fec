//! Scenarios with a real worker that a task holds until it is let go, so that one thread runs at a time.

use dockhand::{OverloadPolicy, PoolBuilder, Processor, TaskContext, TaskHandle, Timing, WorkerPool};
use std::convert::Infallible;
use std::hint::black_box;
use std::mem::forget;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// The size of queues that are never full. Always the same, since it shows in the set-up.
pub(crate) const ROOM: usize = 1 << 14;

/// The number of the task that holds the worker.
const PLUG: u64 = u64::MAX;

/// A payload of `8 * N` bytes.
pub(crate) type Words<const N: usize> = [u64; N];

/// Does next to nothing with a task; the plug waits.
struct Work<const N: usize> {
    taken: Sender<()>,
    held: Mutex<Receiver<()>>,
}

impl<const N: usize> Processor for Work<N> {
    type Payload = Words<N>;
    type Output = u64;
    type Error = Infallible;

    fn process(&self, words: &mut Words<N>, _cx: &TaskContext<'_, Words<N>>) -> Result<u64, Infallible> {
        if words[0] == PLUG {
            let _ = self.taken.send(());
            // Until the other end is dropped.
            let _ = self.held.lock().map(|held| held.recv());
        }
        Ok(black_box(words[0]))
    }
}

/// A pool whose one worker is held.
struct Plugged<const N: usize> {
    pool: WorkerPool<Work<N>>,
    let_go: Sender<()>,
}

impl<const N: usize> Plugged<N> {
    fn new(set: impl FnOnce(PoolBuilder<Work<N>>) -> PoolBuilder<Work<N>>) -> Self {
        let (taken, is_taken) = mpsc::channel();
        let (let_go, held) = mpsc::channel();
        let builder =
            WorkerPool::builder(Work { taken, held: Mutex::new(held) }).workers(1).queue_capacity(ROOM);
        let pool = set(builder).build().expect("the settings are right");
        assert!(pool.submit([PLUG; N]).into_payload().is_none());
        is_taken.recv().expect("the worker takes the plug");
        Plugged { pool, let_go }
    }

    /// A pool with default settings.
    fn plain() -> Self {
        Self::new(|builder| builder)
    }

    /// The queue is full, and so it stays.
    fn full(policy: OverloadPolicy) -> Self {
        let plugged = Self::new(|builder| builder.queue_capacity(1).overload(policy));
        assert!(plugged.pool.submit([0; N]).into_payload().is_none());
        plugged
    }

    /// Lets the worker go and waits until it has run everything.
    fn drain(self, tasks: u64) {
        drop(self.let_go);
        let report = self.pool.shutdown(Duration::MAX);
        assert_eq!(report.counts.succeeded, tasks + 1, "with the plug");
    }
}

pub(crate) fn submit<const N: usize>(n: u64, timing: Timing) {
    let plugged = Plugged::<N>::new(|builder| builder.timing(timing));
    offer(&plugged, n);
    forget(plugged);
}

fn offer<const N: usize>(plugged: &Plugged<N>, n: u64) {
    let submitter = plugged.pool.submitter();
    (0..n).for_each(|n| assert!(black_box(submitter.submit([n; N])).into_payload().is_none()));
}

pub(crate) fn submit_batch(n: u64) {
    let plugged = Plugged::<8>::plain();
    let result = plugged.pool.submitter().submit_batch((0..n).map(|n| [n; 8]));
    assert_eq!(black_box(result).accepted as u64, n);
    forget(plugged);
}

/// The payload comes back.
pub(crate) fn refuse(n: u64, policy: OverloadPolicy) {
    let plugged = Plugged::<8>::full(policy);
    let submitter = plugged.pool.submitter();
    (0..n).for_each(|n| assert!(black_box(submitter.submit([n; 8])).into_payload().is_some()));
    forget(plugged);
}

/// Somebody's payload goes, or the task is run here.
pub(crate) fn overload(n: u64, policy: OverloadPolicy) {
    let plugged = Plugged::<8>::full(policy);
    offer(&plugged, n);
    forget(plugged);
}

/// Submits, and the worker's side of it.
pub(crate) fn drain(n: u64) {
    let plugged = Plugged::<8>::plain();
    offer(&plugged, n);
    plugged.drain(n);
}

pub(crate) fn submit_tracked(n: u64) {
    let plugged = Plugged::<8>::plain();
    forget(offer_tracked(&plugged, n));
    forget(plugged);
}

fn offer_tracked(plugged: &Plugged<8>, n: u64) -> Vec<TaskHandle<Work<8>>> {
    let submitter = plugged.pool.submitter();
    let mut handles = Vec::with_capacity(ROOM);
    handles.extend((0..n).map(|n| submitter.submit_tracked([n; 8]).expect("there is room")));
    handles
}

/// Submits, the worker's side of it, and the answers.
pub(crate) fn drain_tracked(n: u64) {
    let plugged = Plugged::<8>::plain();
    let handles = offer_tracked(&plugged, n);
    plugged.drain(n);
    for (handle, n) in handles.into_iter().zip(0..) {
        assert_eq!(handle.wait().ok(), Some(n));
    }
}
