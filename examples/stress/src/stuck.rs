//! A task that never ends, as far as the pool can know.

use crate::times::show;
use crate::{Findings, LONG, Scale};
use dockhand::metrics::{Counts, WorkerStatus};
use dockhand::{BoxError, Event, Outcome, Processor, Shed, ShutdownReport, TaskContext, TaskError};
use dockhand::{TaskId, Timing, WorkerPool};
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 4;
/// Tasks for the other workers, for ten seconds at full scale.
const BRIEF: u32 = 1_000;
const BRIEF_TASK: Duration = Duration::from_millis(30);
const TIMEOUT: Duration = Duration::from_secs(5);
/// What a shutdown gives running tasks after its timeout, by its documentation.
const GRACE: Duration = Duration::from_millis(100);
/// How much longer than that it may take.
const SLACK: Duration = Duration::from_millis(100);

pub(crate) fn about(scale: Scale) -> String {
    let (brief, timeout) = (scale.count(BRIEF), scale.time(TIMEOUT));
    format!(
        "a task that never ends beside {brief} brief ones, for {WORKERS} workers; shutdown within {timeout:?}"
    )
}

enum Job {
    Brief,
    /// Ends when the other end of the channel is dropped.
    Endless(Receiver<()>),
}

/// What is heard of the pool.
enum Heard {
    Started(TaskId),
    Ended(TaskId, Outcome),
    Shed(Shed<Job>),
    Stopped,
}

struct Work;

impl Processor for Work {
    type Payload = Job;
    type Output = ();
    type Error = Infallible;

    fn process(&self, job: &mut Job, _cx: &TaskContext<'_, Job>) -> Result<(), Infallible> {
        match job {
            Job::Brief => thread::sleep(BRIEF_TASK),
            Job::Endless(release) => _ = release.recv(),
        }
        Ok(())
    }
}

fn build(heard: Sender<Heard>) -> Result<WorkerPool<Work>, BoxError> {
    let shed = heard.clone();
    let pool = WorkerPool::builder(Work)
        .name("stuck")
        .workers(WORKERS)
        .timing(Timing::Full)
        .on_event(move |event| {
            let _ = match event {
                Event::Started { task } => heard.send(Heard::Started(task.id)),
                Event::Ended { task, outcome, .. } => heard.send(Heard::Ended(task.id, *outcome)),
                Event::WorkerStopped { .. } => heard.send(Heard::Stopped),
                _ => return,
            };
        })
        .on_shed(move |job| _ = shed.send(Heard::Shed(job)))
        .build()?;
    Ok(pool)
}

/// What was seen of the endless task, in this order.
struct Course {
    id: TaskId,
    /// By `status`, once all brief tasks had ended, and how long it had been running then, at the least.
    shown: Option<WorkerStatus>,
    ran: Duration,
    report: ShutdownReport<Job>,
    took: Duration,
    /// After its late result.
    answer: Result<(), TaskError<Infallible>>,
    shed: Vec<Shed<Job>>,
    outcomes: Vec<Outcome>,
    counts: Counts,
}

/// Hears what happens until `found` has found something.
fn hear<T>(heard: &Receiver<Heard>, mut found: impl FnMut(Heard) -> Option<T>) -> Result<T, BoxError> {
    loop {
        if let Some(found) = found(heard.recv_timeout(LONG)?) {
            return Ok(found);
        }
    }
}

fn worker_of(task: TaskId, workers: &[WorkerStatus]) -> Option<WorkerStatus> {
    workers.iter().find(|worker| worker.task.as_ref().is_some_and(|has| has.id == task)).cloned()
}

/// Lets the other workers do what there is for them.
fn do_brief_tasks(pool: &WorkerPool<Work>, brief: u32, heard: &Receiver<Heard>) -> Result<(), BoxError> {
    let answers = pool.submitter().submit_batch((0..brief).map(|_| Job::Brief));
    if let Some(refused) = answers.refused.into_iter().next() {
        return Err(refused.into());
    }
    let mut left = brief;
    hear(heard, |heard| {
        left -= u32::from(matches!(heard, Heard::Ended(_, Outcome::Succeeded)));
        (left == 0).then_some(())
    })
}

fn follow(scale: Scale) -> Result<Course, BoxError> {
    let (tell, heard) = channel();
    let pool = build(tell)?;
    let (release, endless) = channel();
    let handle = pool.submitter().submit_tracked(Job::Endless(endless))?;
    let id = handle.id();
    hear(&heard, |heard| matches!(heard, Heard::Started(task) if task == id).then_some(()))?;
    let started = Instant::now();
    do_brief_tasks(&pool, scale.count(BRIEF), &heard)?;
    let ran = started.elapsed();
    let shown = worker_of(id, &pool.status().workers);

    let began = Instant::now();
    let report = pool.shutdown(scale.time(TIMEOUT));
    let took = began.elapsed();
    drop(release);
    let (shed, outcomes) = hear_the_end(id, &heard)?;
    let counts = pool.metrics().counts;
    Ok(Course { id, shown, ran, report, took, answer: handle.wait(), shed, outcomes, counts })
}

/// Until all workers have left: what was shed, and the outcomes of the task.
fn hear_the_end(task: TaskId, heard: &Receiver<Heard>) -> Result<(Vec<Shed<Job>>, Vec<Outcome>), BoxError> {
    let (mut shed, mut outcomes, mut live) = (Vec::new(), Vec::new(), WORKERS);
    hear(heard, |heard| {
        match heard {
            Heard::Shed(job) => shed.push(job),
            Heard::Ended(ended, outcome) if ended == task => outcomes.push(outcome),
            Heard::Stopped => live -= 1,
            _ => {}
        }
        (live == 0).then_some(())
    })?;
    Ok((shed, outcomes))
}

pub(crate) fn run(scale: Scale) -> Result<Findings, BoxError> {
    let course = follow(scale)?;
    let mut findings = Findings::compared();
    judge_shown(&course, &mut findings);
    judge_shutdown(&course, scale, &mut findings);
    judge_late_result(&course, &mut findings);
    Ok(findings)
}

fn describe(worker: Option<&WorkerStatus>) -> String {
    let Some(worker) = worker else { return "no".to_string() };
    format!("{}, running for {}", worker.name, worker.running_for.map_or("?".to_string(), show))
}

fn judge_shown(course: &Course, findings: &mut Findings) {
    let shown = course.shown.as_ref();
    findings.figure("shown by status", describe(shown), "reported");
    findings.must(
        shown.and_then(|worker| worker.running_for).is_some_and(|shown| shown >= course.ran),
        format_args!("status shows the task and that it has run for {:?}, but: {shown:?}", course.ran),
    );
}

fn judge_shutdown(course: &Course, scale: Scale, findings: &mut Findings) {
    let (report, took, timeout) = (&course.report, course.took, scale.time(TIMEOUT));
    let named = worker_of(course.id, &report.still_running);
    findings.figure("named by the shutdown report", describe(named.as_ref()), "reported");
    findings.figure("shutdown took", show(took), &format!("in time: {timeout:?} and {GRACE:?}"));

    let in_time = timeout..timeout + GRACE + scale.bound(SLACK);
    findings
        .must(in_time.contains(&took), format_args!("shutdown returns in {in_time:?}, but took {took:?}"));
    findings.must(
        named.is_some() && report.still_running.len() == 1,
        format_args!("the report names the worker and no other: {:?}", report.still_running),
    );
    findings.must(report.abandoned.is_empty(), "nothing else is abandoned");
    let (counts, brief) = (&report.counts, scale.count(BRIEF));
    findings.figure("brief tasks that succeeded", format_args!("{} of {brief}", counts.succeeded), "");
    findings.must(
        counts.is_conserved() && (counts.succeeded, counts.abandoned) == (u64::from(brief), 1),
        format_args!("the brief tasks have succeeded, and one is abandoned: {counts:?}"),
    );
}

fn judge_late_result(course: &Course, findings: &mut Findings) {
    let Course { report, answer, shed, outcomes, counts, .. } = course;
    let unchanged = *counts == report.counts;
    let is_handed_over = shed.len() == 1
        && shed.iter().all(|shed| {
            shed.task.id == course.id
                && shed.outcome == Outcome::Abandoned
                && matches!(shed.payload, Job::Endless(_))
        });
    findings.figure(
        "counts after the late result",
        if unchanged { "unchanged" } else { "changed" },
        "ignored",
    );
    findings.figure("payload", if is_handed_over { "handed to on_shed" } else { "lost" }, "");

    findings
        .must(unchanged, format_args!("the late result changes no count: {:?}, {counts:?}", report.counts));
    findings.must(is_handed_over, format_args!("the payload comes to on_shed once, as abandoned: {shed:?}"));
    findings
        .must(matches!(answer, Err(TaskError::Abandoned)), "the handle's answer is that it was abandoned");
    findings.must(
        outcomes[..] == [Outcome::Abandoned],
        format_args!("one outcome is told, as abandoned: {outcomes:?}"),
    );
}
