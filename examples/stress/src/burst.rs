//! More tasks at once than there is room for, under each policy.

use crate::times::{Times, show};
use crate::{Findings, LONG, Scale};
use dockhand::metrics::Counts;
use dockhand::{BoxError, OverloadPolicy, ProcessorFn, Timing, WorkerPool, processor_fn};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TASKS: usize = 5_000;
const WORKERS: usize = 32;
const TASK: Duration = Duration::from_millis(750);
const MEAN_SUBMIT: Duration = Duration::from_millis(30);
const NO_ROOM: usize = 2_000;

/// Capacities and policies. The pools drain side by side, since their tasks only sleep, but the bursts come one after the
/// other; so the one comes last whose caller runs tasks itself and is busy for a minute with it.
const CASES: [(usize, OverloadPolicy); 8] = [
    (TASKS, OverloadPolicy::Reject),
    (TASKS, OverloadPolicy::DropIncoming),
    (TASKS, OverloadPolicy::DropOldest),
    (TASKS, OverloadPolicy::CallerRuns),
    (NO_ROOM, OverloadPolicy::Reject),
    (NO_ROOM, OverloadPolicy::DropIncoming),
    (NO_ROOM, OverloadPolicy::DropOldest),
    (NO_ROOM, OverloadPolicy::CallerRuns),
];

const HEADS: [&str; 10] = [
    "capacity",
    "policy",
    "accepted",
    "rejected",
    "dropped",
    "run by caller",
    "evicted",
    "submit, mean",
    "submit, longest",
    "wait, longest",
];

/// A task is its number.
type Pool = WorkerPool<ProcessorFn<usize, (), Infallible>>;

pub(crate) fn about(scale: Scale) -> String {
    let task = scale.time(TASK);
    format!("{TASKS} tasks of {task:?} at once, for {WORKERS} workers, by capacity and policy")
}

/// How often each task came to an end: processed, displaced, or back with its submitter.
struct Ends(Vec<AtomicU32>);

impl Ends {
    fn of(tasks: usize) -> Arc<Self> {
        Arc::new(Ends((0..tasks).map(|_| AtomicU32::new(0)).collect()))
    }

    fn mark(&self, task: usize) {
        self.0[task].fetch_add(1, Ordering::Relaxed);
    }

    fn are_one_each(&self) -> bool {
        self.0.iter().all(|ends| ends.load(Ordering::Relaxed) == 1)
    }
}

/// A pool that was given its burst.
struct Burst {
    capacity: usize,
    policy: OverloadPolicy,
    pool: Pool,
    ends: Arc<Ends>,
    /// How long all the submits took.
    lasted: Duration,
    submit: Times,
}

impl Burst {
    fn new((capacity, policy): (usize, OverloadPolicy), task: Duration) -> Result<Self, BoxError> {
        let ends = Ends::of(TASKS);
        let (processed, shed) = (Arc::clone(&ends), Arc::clone(&ends));
        let pool = WorkerPool::builder(processor_fn(move |n: &mut usize, _cx| {
            thread::sleep(task);
            processed.mark(*n);
            Ok::<(), Infallible>(())
        }))
        .name("burst")
        .workers(WORKERS)
        .queue_capacity(capacity)
        .overload(policy)
        .timing(Timing::Full)
        .on_shed(move |evicted| shed.mark(evicted.payload))
        .build()?;
        let mut burst =
            Burst { capacity, policy, pool, ends, lasted: Duration::ZERO, submit: Times::default() };
        burst.submit_all();
        Ok(burst)
    }

    fn submit_all(&mut self) {
        let began = Instant::now();
        for n in 0..TASKS {
            let before = Instant::now();
            let answer = self.pool.submit(n);
            self.submit.add(before.elapsed());
            if let Some(back) = answer.into_payload() {
                self.ends.mark(back);
            }
        }
        self.lasted = began.elapsed();
    }

    /// How many tasks find no room. Not more than are beyond the capacity, and fewer by what the workers have taken
    /// meanwhile: each at most one task, and one more for each time that a task takes.
    fn overflow(&self, task: Duration) -> std::ops::RangeInclusive<u64> {
        let most = TASKS - self.capacity;
        let rounds = 1 + self.lasted.div_duration_f64(task) as usize;
        most.saturating_sub(WORKERS * rounds) as u64..=most as u64
    }

    /// Waits for the end of its tasks and puts down what came of them.
    fn judge(self, task: Duration, findings: &mut Findings) {
        let report = self.pool.shutdown(LONG + task * TASKS.div_ceil(WORKERS) as u32);
        let Burst { capacity, policy, submit, .. } = &self;
        let (counts, wait) = (&report.counts, &self.pool.metrics().lanes[0].wait);
        let answers = [counts.accepted, counts.rejected, counts.dropped, counts.caller_run, counts.evicted];
        let [accepted, rejected, dropped, caller_run, evicted] = answers.map(|n| n.to_string());
        let times = [submit.mean(), submit.longest(), wait.quantile(1.0)];
        let [mean, longest, waited] = times.map(show);
        let (size, name) = (capacity.to_string(), format!("{policy:?}"));
        findings.row([size, name, accepted, rejected, dropped, caller_run, evicted, mean, longest, waited]);

        let mut must = |holds, what: &str| {
            findings.must(holds, format_args!("{capacity}, {policy:?}: {what}: {counts:?}"));
        };
        must(report.is_clean() && counts.is_conserved(), "every task ends and is counted");
        must(self.ends.are_one_each(), "each task ends once: processed, displaced, or handed back");
        must(counts.submitted == TASKS as u64, "each submit is answered");
        must(counts.succeeded + counts.evicted == counts.accepted + counts.caller_run, "what runs succeeds");
        must(
            self.overflow(task).contains(&found_no_room(*policy, counts)),
            "only what finds no room is refused",
        );
        must(rest(*policy, counts) == 0, "a full lane answers by its policy");
        must(submit.mean() < MEAN_SUBMIT, "a submit takes less than 30 ms on average");
    }
}

/// What the policy did with those that found no room.
fn found_no_room(policy: OverloadPolicy, counts: &Counts) -> u64 {
    match policy {
        OverloadPolicy::CallerRuns => counts.caller_run,
        OverloadPolicy::DropIncoming => counts.dropped,
        OverloadPolicy::DropOldest => counts.evicted,
        _ => counts.rejected,
    }
}

/// What other policies would have done with them.
fn rest(policy: OverloadPolicy, counts: &Counts) -> u64 {
    let all = counts.rejected + counts.dropped + counts.caller_run + counts.evicted;
    all - found_no_room(policy, counts)
}

pub(crate) fn run(scale: Scale) -> Result<Findings, BoxError> {
    let task = scale.time(TASK);
    let bursts: Result<Vec<_>, _> = CASES.into_iter().map(|case| Burst::new(case, task)).collect();
    let mut findings = Findings::new(HEADS);
    for burst in bursts? {
        burst.judge(task, &mut findings);
    }
    findings.note(
        "Reported elsewhere: all accepted, mean submit below 30 ms, once a second queue was added."
            .to_string(),
    );
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_ends_twice_or_not_at_all_is_found() {
        let ends = Ends::of(2);
        ends.mark(0);
        assert!(!ends.are_one_each(), "one has no end");
        ends.mark(1);
        assert!(ends.are_one_each());
        ends.mark(1);
        assert!(!ends.are_one_each(), "one has two");
    }
}
