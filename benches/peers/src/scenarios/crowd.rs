//! Producers that start together.

use crate::{clock, tally};
use std::sync::Barrier;
use std::thread;

/// Nanoseconds from the first submit to the end of the last job. `produce` hands over so many jobs, and is called by
/// each producer. The calling thread sleeps meanwhile.
pub(super) fn time(producers: u64, jobs: u64, produce: impl Fn(u64) + Sync) -> u64 {
    let each = jobs / producers;
    let expected = tally::expect(each * producers);
    let together = Barrier::new(usize::try_from(producers).unwrap_or(1));
    let produce = || {
        together.wait();
        let began = clock::now();
        produce(each);
        began
    };
    let began = thread::scope(|scope| {
        let threads: Vec<_> = (0..producers).map(|_| scope.spawn(produce)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a producer does not panic")).min()
    });
    expected.wait() - began.unwrap_or(0)
}
