//! What it takes to wake: a submit to a pool whose one worker has nothing to do, beside a store and `Thread::unpark` in
//! the same run.
//!
//! - `submit`: the time of the call.
//! - `start`: from the call to the start of the task.
//!
//! Parked means that the worker had 100 µs to park; the submitter spins meanwhile. The same pause with a worker that spins
//! for longer makes no system call. All of them contain one reading of the clock. A sample is the median of its wakes:
//! whoever takes the core away for milliseconds would hide the rest in a mean.
//!
//! `cargo bench --bench wake`
#![allow(missing_docs, reason = "made by a macro")]

use criterion::{Criterion, criterion_group, criterion_main};
use dockhand::{IdleStrategy, Processor, TaskContext, WorkerPool};
use std::convert::Infallible;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_micros(100);
const LONG: Duration = Duration::from_secs(60);

/// When the last task started: nanoseconds since the epoch, zero once that was read.
#[derive(Clone)]
struct Started {
    epoch: Instant,
    at: Arc<AtomicU64>,
}

impl Started {
    fn new() -> Self {
        Started { epoch: Instant::now(), at: Arc::default() }
    }

    fn tell(&self) {
        let at = u64::try_from(self.epoch.elapsed().as_nanos()).expect("584 years");
        // Ordering: Release, partner of the load in `wait`.
        self.at.store(at.max(1), Ordering::Release);
    }

    fn wait(&self) -> Instant {
        let began = Instant::now();
        loop {
            // Ordering: Acquire, partner of the store in `tell`.
            match self.at.load(Ordering::Acquire) {
                0 => assert!(began.elapsed() < LONG, "it was not woken"),
                at => {
                    self.at.store(0, Ordering::Relaxed);
                    return self.epoch + Duration::from_nanos(at);
                }
            }
            spin_loop();
        }
    }
}

impl Processor for Started {
    type Payload = u64;
    type Output = ();
    type Error = Infallible;

    fn process(&self, _n: &mut u64, _cx: &TaskContext<'_, u64>) -> Result<(), Infallible> {
        self.tell();
        Ok(())
    }
}

/// A thread that starts for a flag, and parks while it is not set.
struct Parked {
    flag: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Parked {
    fn new(started: Started) -> Self {
        let (flag, is_over) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let thread = {
            let (flag, is_over) = (flag.clone(), is_over.clone());
            thread::spawn(move || {
                // Ordering: Acquire, partner of the store in `drop`.
                while !is_over.load(Ordering::Acquire) {
                    // Ordering: Acquire, partner of the store in `wake`.
                    if flag.swap(false, Ordering::Acquire) {
                        started.tell();
                    } else {
                        thread::park();
                    }
                }
            })
        };
        Parked { flag, is_over, thread: Some(thread) }
    }

    fn unpark(&self) {
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }

    fn wake(&self) {
        // Ordering: Release, partner of the swap in `new`.
        self.flag.store(true, Ordering::Release);
        self.unpark();
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        // Ordering: Release, partner of the load in `new`.
        self.is_over.store(true, Ordering::Release);
        self.unpark();
        self.thread.take().map(JoinHandle::join);
    }
}

#[derive(Clone, Copy)]
enum Part {
    Submit,
    Start,
}

/// Wakes so many times, each after a pause that is not timed. So many times the median.
fn timed(part: Part, iters: u64, started: &Started, wake: &impl Fn(u64)) -> Duration {
    let one = |n| {
        let rested = Instant::now() + PAUSE;
        while Instant::now() < rested {
            spin_loop();
        }
        let began = Instant::now();
        wake(n);
        let returned = Instant::now();
        let start = started.wait();
        match part {
            Part::Submit => returned.duration_since(began),
            Part::Start => start.duration_since(began),
        }
    };
    let mut times: Vec<_> = (0..iters).map(one).collect();
    times.sort_unstable();
    times[times.len() / 2].mul_f64(iters as f64)
}

fn bench(criterion: &mut Criterion, name: &str, started: &Started, wake: impl Fn(u64)) {
    for (group, part) in [("wake/submit", Part::Submit), ("wake/start", Part::Start)] {
        let mut group = criterion.benchmark_group(group);
        group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|iters| timed(part, iters, started, &wake));
        });
        group.finish();
    }
}

fn pool(criterion: &mut Criterion, name: &str, idle: IdleStrategy) {
    let started = Started::new();
    let builder = WorkerPool::builder(started.clone()).workers(1).queue_capacity(16);
    let pool = builder.idle(idle).build().expect("the settings are right");
    let submitter = pool.submitter();
    bench(criterion, name, &started, |n| assert!(submitter.submit(n).into_payload().is_none()));
}

fn all(criterion: &mut Criterion) {
    pool(criterion, "dockhand, parked", IdleStrategy::Park);
    pool(criterion, "dockhand, SpinThenPark", IdleStrategy::SpinThenPark(LONG));
    let started = Started::new();
    let parked = Parked::new(started.clone());
    bench(criterion, "Thread::unpark", &started, |_| parked.wake());
}

criterion_group!(benches, all);
criterion_main!(benches);
