//! A thread that cannot be started: building fails and leaves nothing.

use crate::child::Start;
use crate::support::{LONG, Ledger, Tracked, assert_rest, assert_threads, eventually};
use dockhand::{BuildError, PoolBuilder, ProcessorFn, WorkerPool, processor_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The address space that a thread takes; little else takes any.
const STACK: u64 = 256 << 20;
const WORKERS: u64 = 3;
const NAME: &str = "few";

/// Each worker in turn and, after the last one, the timer.
#[test]
fn whichever_thread_cannot_be_started_building_fails_and_leaves_nothing() {
    // The test's own thread, the workers, the timer, and half a stack for all the rest.
    let memory = (1 + WORKERS + 1) * STACK + STACK / 2;
    for room in 0..=WORKERS {
        let start = Start::given(room).memory(memory).stack(STACK);
        let Some(ended) = start.run(build_with_room_for) else { return };
        ended.assert_code(0);
    }
}

fn build_with_room_for(room: &str) {
    let room: usize = room.parse().unwrap();
    let missing = WORKERS as usize + 1 - room;
    // Reserved and never touched.
    let ballast: Vec<Vec<u8>> = (0..missing).map(|_| Vec::with_capacity(STACK as usize)).collect();
    let (before, ledger, hooks) = (threads(), Ledger::new(), Arc::new(Hooks::default()));
    for round in 1..=3 {
        let failed = counted(&hooks, &ledger).build();
        let is_right = matches!(failed, Err(BuildError::Spawn { started, .. }) if started == room);
        assert!(is_right, "{failed:?}");
        ledger.assert_all_gone();
        assert_threads(NAME, 0);
        eventually("no thread is left", || threads() == before);
        assert_eq!(hooks.ran(), (round * room, round * room), "what has started has stopped");
    }
    drop(ballast);
    let pool = counted(&hooks, &ledger).build().unwrap();
    for _ in 0..100 {
        pool.submit(ledger.track()).into_result().unwrap();
    }
    assert!(pool.shutdown(LONG).is_clean());
    assert_eq!(pool.metrics().counts.succeeded, 100);
    assert_rest(&pool);
    drop(pool);
    ledger.assert_all_gone();
    assert_threads(NAME, 0);
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// How often each hook ran.
#[derive(Default)]
struct Hooks {
    started: AtomicUsize,
    stopped: AtomicUsize,
}

impl Hooks {
    fn ran(&self) -> (usize, usize) {
        (self.started.load(Ordering::SeqCst), self.stopped.load(Ordering::SeqCst))
    }
}

/// A pool whose processor and hooks are in the ledger.
fn counted(hooks: &Arc<Hooks>, ledger: &Ledger) -> PoolBuilder<ProcessorFn<Tracked>> {
    let of_processor = ledger.track();
    let (at_start, of_start) = (Arc::clone(hooks), ledger.track());
    let (at_stop, of_stop) = (Arc::clone(hooks), ledger.track());
    let processor = processor_fn(move |_: &mut Tracked, _cx| {
        let _ = &of_processor;
        Ok(())
    });
    WorkerPool::builder(processor)
        .workers(WORKERS as usize)
        .name(NAME)
        .on_worker_start(move |_| {
            let _ = &of_start;
            at_start.started.fetch_add(1, Ordering::SeqCst);
        })
        .on_worker_stop(move |_| {
            let _ = &of_stop;
            at_stop.stopped.fetch_add(1, Ordering::SeqCst);
        })
}
