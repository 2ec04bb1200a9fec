//! What a submit costs the thread that cannot wait, beside `try_send` of a bounded channel in the same run.
//!
//! - `busy`: the workers have tasks and the queue has room. One worker is held by a task, so nobody takes anything out
//!   while the clock runs; building, filling and tearing down are not timed.
//! - `full`: the queue has no room, and the payload comes back.
//!
//! `cargo bench --bench submit`
#![allow(missing_docs, reason = "made by a macro")]

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use crossbeam_channel::Sender;
use dockhand::{OverloadPolicy, Processor, TaskContext, TaskSubmitter, WorkerPool};
use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// Submits between two set-ups, and the room for them.
const BATCH: u64 = 4_096;

/// A payload of `8 * N` bytes. The first word says whether it holds the worker.
type Words<const N: usize> = [u64; N];

const PLUG: u64 = u64::MAX;

/// Does nothing, except that a plug holds it until the other end of the channel is dropped.
struct Held {
    taken: mpsc::Sender<()>,
    held: Mutex<Receiver<()>>,
}

struct Plugged<const N: usize>(Held);

impl<const N: usize> Processor for Plugged<N> {
    type Payload = Words<N>;
    type Output = ();
    type Error = Infallible;

    fn process(&self, words: &mut Words<N>, _cx: &TaskContext<'_, Words<N>>) -> Result<(), Infallible> {
        if words[0] == PLUG {
            let _ = self.0.taken.send(());
            let _ = self.0.held.lock().map(|held| held.recv());
        }
        Ok(())
    }
}

/// A pool whose one worker is busy until this is dropped.
struct Bench<const N: usize> {
    submitter: TaskSubmitter<Plugged<N>>,
    // Dropped in this order: the worker is let go before the pool waits for it.
    _let_go: mpsc::Sender<()>,
    _pool: WorkerPool<Plugged<N>>,
}

impl<const N: usize> Bench<N> {
    fn new(capacity: usize, overload: OverloadPolicy) -> Self {
        let (taken, is_taken) = mpsc::channel();
        let (let_go, held) = mpsc::channel();
        let held = Held { taken, held: Mutex::new(held) };
        let builder = WorkerPool::builder(Plugged(held)).workers(1).queue_capacity(capacity);
        let pool = builder.overload(overload).build().expect("the settings are right");
        let submitter = pool.submitter();
        assert!(submitter.submit([PLUG; N]).into_payload().is_none());
        is_taken.recv().expect("the worker takes the plug");
        Bench { submitter, _let_go: let_go, _pool: pool }
    }

    fn full(overload: OverloadPolicy) -> Self {
        let bench = Self::new(1024, overload);
        let filled = bench.submitter.submit_batch((0..1024).map(|_| [0; N]));
        assert_eq!(filled.accepted, 1024);
        bench
    }
}

/// Times `iters` calls of what `set_up` makes, at most [`BATCH`] on each thing that it made.
fn timed<S>(iters: u64, set_up: impl Fn() -> S, call: impl Fn(&S, u64)) -> Duration {
    let mut time = Duration::ZERO;
    let mut left = iters;
    while left > 0 {
        let calls = left.min(BATCH);
        let made = set_up();
        let start = Instant::now();
        call(&made, calls);
        time += start.elapsed();
        left -= calls;
    }
    time
}

/// A submit to a pool that is busy and has room.
fn submit<const N: usize>(bench: &Bench<N>, calls: u64) {
    for n in 0..calls {
        assert!(black_box(bench.submitter.submit([n; N])).into_payload().is_none());
    }
}

/// The channel's side of it. The receiver is kept, and takes nothing.
fn try_send<const N: usize>(channel: &(Sender<Words<N>>, crossbeam_channel::Receiver<Words<N>>), calls: u64) {
    for n in 0..calls {
        assert!(black_box(channel.0.try_send([n; N])).is_ok());
    }
}

fn busy<const N: usize>(group: &mut BenchmarkGroup<'_, WallTime>) {
    let bytes = size_of::<Words<N>>();
    let room = BATCH as usize;
    let pool = || Bench::<N>::new(room, OverloadPolicy::Reject);
    group.bench_function(format!("dockhand submit, {bytes} bytes"), |bencher| {
        bencher.iter_custom(|iters| timed(iters, pool, submit));
    });
    group.bench_function(format!("dockhand submit_batch, {bytes} bytes"), |bencher| {
        bencher.iter_custom(|iters| {
            timed(iters, pool, |bench, calls| {
                let result = bench.submitter.submit_batch((0..calls).map(|n| [n; N]));
                assert_eq!(black_box(result).accepted as u64, calls);
            })
        });
    });
    group.bench_function(format!("crossbeam-channel try_send, {bytes} bytes"), |bencher| {
        bencher.iter_custom(|iters| timed(iters, || crossbeam_channel::bounded(room), try_send::<N>));
    });
}

fn full<const N: usize>(group: &mut BenchmarkGroup<'_, WallTime>) {
    let bytes = size_of::<Words<N>>();
    for (name, policy) in [("Reject", OverloadPolicy::Reject), ("DropIncoming", OverloadPolicy::DropIncoming)]
    {
        let bench = Bench::<N>::full(policy);
        group.bench_function(format!("dockhand submit, {name}, {bytes} bytes"), |bencher| {
            bencher.iter(|| black_box(bench.submitter.submit([1; N])).into_payload().expect("it comes back"));
        });
    }
    let bench = Bench::<N>::full(OverloadPolicy::DropOldest);
    group.bench_function(format!("dockhand submit, DropOldest, {bytes} bytes"), |bencher| {
        bencher.iter(|| assert!(black_box(bench.submitter.submit([1; N])).into_payload().is_none()));
    });
    let (sender, _receiver) = crossbeam_channel::bounded(1024);
    while sender.try_send([0; N]).is_ok() {}
    group.bench_function(format!("crossbeam-channel try_send, {bytes} bytes"), |bencher| {
        bencher.iter(|| black_box(sender.try_send([1; N])).expect_err("it comes back").into_inner());
    });
}

fn new_group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group
}

fn all(criterion: &mut Criterion) {
    let mut group = new_group(criterion, "submit/busy");
    busy::<2>(&mut group);
    busy::<8>(&mut group);
    group.finish();

    let mut group = new_group(criterion, "submit/full");
    full::<2>(&mut group);
    full::<8>(&mut group);
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
