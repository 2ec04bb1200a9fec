//! Scenarios on a pool without threads, where a clock that moved by itself, or a timer, would add noise.

use dockhand::{ManualPool, Processor, RetryPolicy, TaskContext, WorkerPool};
use std::fmt;
use std::hint::black_box;
use std::mem::forget;
use std::time::Duration;

/// Tasks that wait for their retry.
const IN_BACKOFF: u32 = 10_000;
/// Between two of them.
const APART: Duration = Duration::from_micros(1);

#[derive(Debug)]
struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

struct Work {
    fails: bool,
}

impl Processor for Work {
    type Payload = [u64; 8];
    type Output = ();
    type Error = Failed;

    fn process(&self, words: &mut [u64; 8], _cx: &TaskContext<'_, [u64; 8]>) -> Result<(), Failed> {
        black_box(words);
        if self.fails { Err(Failed) } else { Ok(()) }
    }
}

fn pool(fails: bool) -> ManualPool<Work> {
    let retry = RetryPolicy::fixed(IN_BACKOFF * APART).max_retries(u32::MAX);
    WorkerPool::builder(Work { fails })
        .queue_capacity(IN_BACKOFF as usize)
        .retry(retry)
        .build_manual()
        .expect("the settings are right")
}

/// One task at a time.
pub(crate) fn run(n: u64) {
    let pool = pool(false);
    for n in 0..n {
        assert!(pool.submit([n; 8]).into_payload().is_none());
        assert!(pool.run_one());
    }
    forget(pool);
}

/// The first retry that is due is taken, fails, and goes behind all others.
pub(crate) fn retry(n: u64) {
    let pool = pool(true);
    let step = || {
        pool.advance(APART);
        assert!(pool.run_one());
    };
    for n in 0..IN_BACKOFF {
        assert!(pool.submit([n.into(); 8]).into_payload().is_none());
        step();
    }
    (0..n).for_each(|_| step());
    let counts = pool.metrics().counts;
    assert_eq!((counts.retries, counts.delayed), (n + u64::from(IN_BACKOFF), IN_BACKOFF.into()));
    forget(pool);
}
