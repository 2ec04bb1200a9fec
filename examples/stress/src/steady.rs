//! A steady stream of tasks that a few more workers than needed take as it comes.

use crate::times::{Times, show};
use crate::{Findings, LONG, Scale};
use dockhand::{BoxError, ProcessorFn, Timing, WorkerPool, processor_fn};
use std::convert::Infallible;
use std::thread;
use std::time::{Duration, Instant};

const TASKS_PER_SECOND: u32 = 100;
const TASK: Duration = Duration::from_secs(1);
/// How long tasks keep coming at full scale.
const SECONDS: u32 = 600;
/// By Little's law 100 tasks a second of one second each keep 100 workers busy. A quarter more than that leaves room for a
/// stream that is never quite even.
const WORKERS: usize = 128;
const LONGEST_WAIT: Duration = Duration::from_millis(50);

type Pool = WorkerPool<ProcessorFn<Duration, (), Infallible>>;

pub(crate) fn about(scale: Scale) -> String {
    let tasks = scale.count(TASKS_PER_SECOND * SECONDS);
    format!("{tasks} tasks of {TASK:?}, {TASKS_PER_SECOND} a second, for {WORKERS} workers")
}

/// What the thread saw that offered the tasks.
#[derive(Default)]
struct Offered {
    submit: Times,
    /// How long after its time each task was offered: the machine's share of the waiting.
    late: Times,
    most_busy: usize,
    over: Duration,
}

fn offer(pool: &Pool, tasks: u32) -> Offered {
    let mut offered = Offered::default();
    let began = Instant::now();
    for n in 0..tasks {
        let due = began + Duration::from_secs(1) * n / TASKS_PER_SECOND;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        offered.late.add(now.duration_since(due));
        // A refusal is counted by the pool.
        let _ = pool.submit(TASK);
        offered.submit.add(now.elapsed());
        if n.is_multiple_of(TASKS_PER_SECOND) {
            offered.most_busy = offered.most_busy.max(pool.metrics().busy_workers);
        }
    }
    offered.over = began.elapsed();
    offered
}

pub(crate) fn run(scale: Scale) -> Result<Findings, BoxError> {
    let tasks = scale.count(TASKS_PER_SECOND * SECONDS);
    let pool = WorkerPool::builder(processor_fn(|time: &mut Duration, _cx| {
        thread::sleep(*time);
        Ok::<(), Infallible>(())
    }))
    .name("steady")
    .workers(WORKERS)
    .timing(Timing::Full)
    .build()?;
    let offered = offer(&pool, tasks);
    let report = pool.shutdown(LONG);
    let mut findings = Findings::compared();
    findings.must(report.is_clean(), format_args!("every task ends: {report:?}"));
    judge(&pool, tasks, &offered, scale, &mut findings);
    Ok(findings)
}

fn judge(pool: &Pool, tasks: u32, offered: &Offered, scale: Scale, findings: &mut Findings) {
    let metrics = pool.metrics();
    let (counts, lane) = (&metrics.counts, &metrics.lanes[0]);
    let [median, most, longest] = [0.5, 0.99, 1.0].map(|q| lane.wait.quantile(q));
    let busy = lane.run.sum().as_secs_f64() / offered.over.as_secs_f64();
    findings.figure("tasks offered", tasks, "");
    findings.figure("tasks succeeded", counts.succeeded, "all");
    findings.figure("wait, median", show(median), "");
    findings.figure("wait, 99 %", show(most), "");
    findings.figure("wait, longest", show(longest), "below 50 ms");
    findings.figure("submit, mean", show(offered.submit.mean()), "");
    findings.figure("submit, longest", show(offered.submit.longest()), "");
    findings.figure("offered late by, longest", show(offered.late.longest()), "");
    findings.figure("busy workers, mean", format_args!("{busy:.1}"), "100 by Little's law");
    findings.figure("busy workers, most seen", offered.most_busy, "");
    findings.note("Waits are those of the pool's histogram, off by at most 5 %.".to_string());

    let tasks = u64::from(tasks);
    findings.must(counts.is_conserved(), format_args!("the counts add up: {counts:?}"));
    findings.must(counts.succeeded == tasks, format_args!("each of the {tasks} tasks succeeds"));
    findings.must(lane.wait.count() == tasks, "the wait of each task is measured");
    let bound = scale.bound(LONGEST_WAIT);
    findings.must(longest < bound, format_args!("no task waits for {bound:?}, but one did for {longest:?}"));
}
