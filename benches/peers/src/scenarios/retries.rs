//! What a retry costs: an attempt that fails and is put off, and one that was put off and is taken.

use super::FLAT;
use crate::gate::Plug;
use crate::goal::{Against, Goal, Ratio};
use crate::job::Job;
use crate::peers::ours;
use crate::scale::Scale;
use crate::scenario::{Outcome, Scenario};
use crate::series::{NANOS, Reading, interleave};
use crate::{clock, tally};
use dockhand::{Lane, Processor, RetryPolicy, TaskContext, WorkerPool};
use std::thread;
use std::time::Duration;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "retries",
    about: "One worker. `schedule`: so many queued tasks fail, and wait for their retry. `take`: all of them are due, and \
            run. Nanoseconds per task, the attempt itself included. The peers have no retries.",
    goals: &[Goal::new("", Against::One(LIMIT), 1.0), Goal::new("", Against::One(FEWER), FLAT)],
    run,
};

const LIMIT: &str = "500ns";
const FEWER: &str = "dockhand@10000";
const LONG: Duration = Duration::from_secs(60);

fn run(scale: Scale) -> Outcome {
    let few = scale.pick(10_000, 10_000, 100);
    let many = scale.pick(100_000, 100_000, 1_000);
    // Long enough for all of them to fail before the first is due.
    let delay = Duration::from_millis(scale.pick(1_000, 800, 100));
    let case = |name, tasks| interleave(scale, name, &[ours::DEFAULT], |_| measure(tasks, delay));
    let outcome = Outcome::new([case("10000", few), case("100000", many)].concat());
    let ratios = ["schedule", "take"].map(|metric| {
        let (few, many) = (outcome.ours("10000", metric), outcome.ours("100000", metric));
        [
            Ratio::to_reference(format!("10000/{metric}"), LIMIT, 500.0 / few),
            Ratio::to_reference(format!("100000/{metric}"), LIMIT, 500.0 / many),
            Ratio::to_reference(format!("100000/{metric}"), FEWER, few / many),
        ]
    });
    outcome.with(ratios.into_iter().flatten())
}

/// Fails at the first attempt.
#[derive(Debug)]
pub(super) struct Flaky;

impl Processor for Flaky {
    type Payload = Job;
    type Output = ();
    type Error = &'static str;

    fn process(&self, job: &mut Job, cx: &TaskContext<'_, Job>) -> Result<(), &'static str> {
        job.run();
        if cx.attempt() == 1 && *job != Job::Plug { Err("not yet") } else { Ok(()) }
    }
}

/// A pool with one worker and room for so many tasks, queued and put off.
pub(super) fn flaky_pool(tasks: u64, delay: Duration) -> WorkerPool<Flaky> {
    let room = tasks as usize + 1;
    let lane = Lane::new("default").queue_capacity(room).delay_capacity(room);
    let builder = WorkerPool::builder(Flaky).workers(1).lane(lane.retry(RetryPolicy::fixed(delay)));
    builder.build().expect("the settings are right")
}

fn measure(tasks: u64, delay: Duration) -> Vec<Reading> {
    let pool = flaky_pool(tasks, delay);
    let submitter = pool.submitter();
    let submit = |job| assert!(submitter.submit(job).into_payload().is_none(), "there is room");
    let per_task = |nanos: u64| nanos as f64 / tasks as f64;

    let expected = tally::expect(tasks);
    let plug = Plug::put(1, submit);
    Job::TINY.row(tasks).for_each(submit);
    let began = clock::now();
    drop(plug);
    let scheduled = expected.wait();
    assert!(scheduled - began < clock::nanos(delay), "some were due before all had failed");

    let expected = tally::expect(tasks);
    let plug = Plug::put(1, submit);
    let due = Duration::from_nanos(scheduled + clock::nanos(delay)) + Duration::from_millis(5);
    thread::sleep(due.saturating_sub(Duration::from_nanos(clock::now())));
    let opened = clock::now();
    drop(plug);
    let taken = expected.wait();
    assert!(pool.shutdown(LONG).is_clean(), "everything has run");
    vec![
        Reading::value("schedule", NANOS, per_task(scheduled - began)),
        Reading::value("take", NANOS, per_task(taken - opened)),
    ]
}
