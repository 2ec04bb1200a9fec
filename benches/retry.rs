//! What a retry costs, on a pool without threads: no wake and no other core is in it.
//!
//! - `end to end`: a task from its submit to its end, with and without a failed attempt before it, which is retried at
//!   once.
//! - `backoff`: an attempt that fails and is put off (`schedule`), and one that was put off and succeeds (`take`), while so
//!   many others wait. `in order`: by a fixed delay. `mixed`: by one with jitter, so that their times come in another order
//!   than they came.
//!
//! `cargo bench --bench retry`
#![allow(missing_docs, reason = "made by a macro")]

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use dockhand::{Lane, ManualPool, Processor, RetryPolicy, TaskContext, WorkerPool};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// A payload of 16 bytes. The first word says how many attempts fail.
type Words = [u64; 2];

struct Flaky;

impl Processor for Flaky {
    type Payload = Words;
    type Output = ();
    type Error = &'static str;

    fn process(&self, words: &mut Words, cx: &TaskContext<'_, Words>) -> Result<(), &'static str> {
        if u64::from(cx.attempt()) <= words[0] { Err("not yet") } else { Ok(()) }
    }
}

fn new_pool(queued: u64, delayed: u64, retry: RetryPolicy) -> ManualPool<Flaky> {
    let lane = Lane::new("default").queue_capacity(queued as usize).delay_capacity(delayed as usize);
    let builder = WorkerPool::builder(Flaky).lane(lane.retry(retry));
    builder.build_manual().expect("the settings are right")
}

/// Tasks that come and go in one round, one tick of the clock after the other.
const BATCH: u64 = 1_000;
const TICK: Duration = Duration::from_millis(1);

/// A pool in which as many tasks become due with each tick as fail, so that the number of those that wait stays.
struct Backlog {
    pool: ManualPool<Flaky>,
}

/// So many tasks in so much time.
#[derive(Default)]
struct Cost {
    tasks: u64,
    time: Duration,
}

impl Backlog {
    fn new(waiting: u64, jitter: f64) -> Self {
        let ticks = waiting / BATCH;
        let delay = RetryPolicy::fixed(TICK * u32::try_from(ticks).expect("it is small"));
        // With jitter their number varies.
        let backlog = Backlog { pool: new_pool(BATCH, waiting * 2, delay.jitter(jitter)) };
        // With jitter the mixture of old and new comes to rest after one and a half of the delay.
        for _ in 0..ticks * 2 {
            backlog.round();
        }
        backlog
    }

    fn run(&self) -> Cost {
        let start = Instant::now();
        // One by one: `run_until_idle` also counts what is due.
        let mut tasks = 0;
        while self.pool.run_one() {
            tasks += 1;
        }
        Cost { tasks, time: start.elapsed() }
    }

    /// What the failures cost, and what the takes.
    fn round(&self) -> [Cost; 2] {
        let submitted = self.pool.submitter().submit_batch((0..BATCH).map(|n| [1, n]));
        assert_eq!(submitted.accepted as u64, BATCH);
        let schedule = self.run();
        assert_eq!(schedule.tasks, BATCH, "nothing is due");
        self.pool.advance(TICK);
        [schedule, self.run()]
    }

    /// The cost of so many, from whole rounds.
    fn timed(&self, iters: u64, part: usize) -> Duration {
        let mut sum = Cost::default();
        while sum.tasks < iters {
            let cost = &self.round()[part];
            sum.tasks += cost.tasks;
            sum.time += cost.time;
        }
        sum.time.mul_f64(iters as f64 / sum.tasks as f64)
    }
}

fn backoff(group: &mut BenchmarkGroup<'_, WallTime>, order: &str, jitter: f64) {
    for waiting in [10_000, 100_000] {
        // Built by the first that is chosen.
        let made = RefCell::new(None);
        for (part, name) in ["schedule", "take"].into_iter().enumerate() {
            group.bench_function(format!("{name}, {waiting} wait, {order}"), |bencher| {
                let mut made = made.borrow_mut();
                let backlog = made.get_or_insert_with(|| Backlog::new(waiting, jitter));
                bencher.iter_custom(|iters| backlog.timed(iters, part));
            });
        }
    }
}

fn end_to_end(group: &mut BenchmarkGroup<'_, WallTime>) {
    let pool = new_pool(1, 1, RetryPolicy::fixed(Duration::ZERO));
    for (name, failures) in [("no retry", 0), ("one retry", 1)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                assert!(pool.submit([failures, 0]).into_payload().is_none());
                assert_eq!(pool.run_until_idle() as u64, failures + 1);
            });
        });
    }
}

fn new_group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group
}

fn all(criterion: &mut Criterion) {
    let mut group = new_group(criterion, "retry/end to end");
    end_to_end(&mut group);
    group.finish();

    let mut group = new_group(criterion, "retry/backoff");
    backoff(&mut group, "in order", 0.0);
    backoff(&mut group, "mixed", 0.5);
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
