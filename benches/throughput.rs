//! How many tiny tasks a second go through, from the producer's first submit to the end of the last task, beside a
//! bounded channel with threads that receive.
//!
//! - `never full`: the queue has room for all of them.
//! - `capacity 1024`: the producer waits for room, with `submit_timeout` and `send`.
//!
//! `cargo bench --bench throughput`
#![allow(missing_docs, reason = "made by a macro")]

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use dockhand::{Processor, TaskContext, WorkerPool};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TASKS: u64 = 100_000;
const LONG: Duration = Duration::from_secs(60);

/// One counter for each worker would be more work than the task; one for all would be the bottleneck. So a task adds to
/// a counter only every 64th time, by its own number.
#[derive(Clone, Default)]
struct Done(Arc<AtomicU64>);

impl Done {
    fn count(&self, n: u64) {
        if n % 64 == 63 || n + 1 == TASKS {
            self.0.fetch_add(1, Ordering::Release);
        }
    }

    /// Waits until every one has been counted that is.
    fn wait(&self) {
        let all = TASKS / 64 + u64::from(TASKS % 64 != 0);
        let start = Instant::now();
        while self.0.load(Ordering::Acquire) < all {
            assert!(start.elapsed() < LONG, "tasks were lost");
            thread::yield_now();
        }
    }
}

struct Tiny(Done);

impl Processor for Tiny {
    type Payload = u64;
    type Output = ();
    type Error = Infallible;

    fn process(&self, n: &mut u64, _cx: &TaskContext<'_, u64>) -> Result<(), Infallible> {
        self.0.count(*n);
        Ok(())
    }
}

/// The time from the first submit to the last end.
fn pool(workers: usize, capacity: usize) -> Duration {
    let done = Done::default();
    let builder = WorkerPool::builder(Tiny(done.clone())).workers(workers).queue_capacity(capacity);
    let pool = builder.build().expect("the settings are right");
    let submitter = pool.submitter();
    let never_full = capacity as u64 >= TASKS;
    let start = Instant::now();
    for n in 0..TASKS {
        let answer = if never_full { submitter.submit(n) } else { submitter.submit_timeout(n, LONG) };
        assert!(answer.into_payload().is_none());
    }
    done.wait();
    start.elapsed()
}

fn channel(workers: usize, capacity: usize) -> Duration {
    let done = Done::default();
    let (sender, receiver) = crossbeam_channel::bounded(capacity);
    let threads: Vec<_> = (0..workers)
        .map(|_| {
            let (receiver, done) = (receiver.clone(), done.clone());
            thread::spawn(move || receiver.iter().for_each(|n| done.count(n)))
        })
        .collect();
    let start = Instant::now();
    for n in 0..TASKS {
        sender.send(n).expect("the receivers are there");
    }
    done.wait();
    let time = start.elapsed();
    drop(sender);
    threads.into_iter().for_each(|thread| thread.join().expect("a receiver does not panic"));
    time
}

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, run: impl Fn() -> Duration) {
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|iters| (0..iters).map(|_| run()).sum());
    });
}

fn all(criterion: &mut Criterion) {
    for (name, capacity) in [("never full", TASKS as usize), ("capacity 1024", 1024)] {
        let mut group = criterion.benchmark_group(format!("throughput/{name}"));
        group.throughput(Throughput::Elements(TASKS)).sampling_mode(SamplingMode::Flat).sample_size(20);
        for workers in [1, 2] {
            bench(&mut group, &format!("dockhand, {workers} workers"), || pool(workers, capacity));
            bench(&mut group, &format!("crossbeam-channel, {workers} threads"), || {
                channel(workers, capacity)
            });
        }
        group.finish();
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
