//! An audio recorder that allocates its buffers once: whatever becomes of a buffer, it goes back to the free list.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, Outcome, OverloadPolicy, ProcessorFn, WorkerPool, processor_fn};
use std::collections::HashSet;
use std::mem::take;
use std::sync::{Arc, Barrier, Mutex};

type Buffer = Vec<f32>;
type Pool = WorkerPool<ProcessorFn<Buffer>>;

const BUFFERS: usize = 6;
const SAMPLES: usize = 256;

#[derive(Clone)]
struct FreeList(Arc<Mutex<Vec<Buffer>>>);

impl FreeList {
    fn new() -> Self {
        FreeList(Arc::new(Mutex::new((0..BUFFERS).map(|_| Vec::with_capacity(SAMPLES)).collect())))
    }

    fn get(&self) -> Option<Buffer> {
        self.0.lock().unwrap().pop()
    }

    fn give_back(&self, mut buffer: Buffer) {
        buffer.clear();
        self.0.lock().unwrap().push(buffer);
    }

    /// Where the buffers are, which tells them apart.
    fn addresses(&self) -> HashSet<usize> {
        self.0.lock().unwrap().iter().map(|buffer| buffer.as_ptr().addr()).collect()
    }
}

/// The first buffer holds its worker between two meetings at the barrier.
fn recorder(free: &FreeList, barrier: Arc<Barrier>, overload: OverloadPolicy) -> Result<Pool, BoxError> {
    let (done, shed) = (free.clone(), free.clone());
    let pool = WorkerPool::builder(processor_fn(move |buffer: &mut Buffer, cx| {
        if buffer[0] == 0.0 && cx.attempt() == 1 {
            barrier.wait();
            barrier.wait();
        }
        // The last thing: nothing can fail any more, so nothing is missing in another attempt.
        done.give_back(take(buffer));
        Ok(())
    }))
    .workers(1)
    .queue_capacity(2)
    .overload(overload)
    .on_shed(move |task| {
        assert_eq!(task.outcome, Outcome::Evicted);
        shed.give_back(task.payload);
    })
    .build()?;
    Ok(pool)
}

/// What the audio callback does: it fills a buffer, offers it and goes on. Says whether it was taken.
fn callback(pool: &Pool, free: &FreeList, block: usize) -> bool {
    let Some(mut buffer) = free.get() else { return false };
    buffer.resize(SAMPLES, block as f32);
    match pool.submit(buffer).into_payload() {
        Some(refused) => {
            free.give_back(refused);
            false
        }
        None => true,
    }
}

/// Ten blocks against a worker that is held up and a queue of two.
fn record(overload: OverloadPolicy) -> Result<(usize, u64), BoxError> {
    let free = FreeList::new();
    let before = free.addresses();
    assert_eq!(before.len(), BUFFERS);
    let barrier = Arc::new(Barrier::new(2));
    let pool = recorder(&free, barrier.clone(), overload)?;
    let mut taken = usize::from(callback(&pool, &free, 0));
    barrier.wait();
    taken += (1..10).filter(|block| callback(&pool, &free, *block)).count();
    barrier.wait();
    let report = pool.shutdown(PATIENCE);
    assert!(report.is_clean());
    assert_eq!(free.addresses(), before, "a buffer was lost, or made anew");
    Ok((taken, report.counts.evicted))
}

#[test]
fn refused_buffers_are_used_again() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    assert_eq!(record(OverloadPolicy::Reject)?, (3, 0));
    assert_eq!(record(OverloadPolicy::DropIncoming)?, (3, 0));
    Ok(())
}

#[test]
fn displaced_buffers_are_used_again() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    assert_eq!(record(OverloadPolicy::DropOldest)?, (10, 7));
    Ok(())
}
