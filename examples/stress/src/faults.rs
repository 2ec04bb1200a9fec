//! A service that goes away while every task calls it, and the retries that find it again.

use crate::times::{Times, show};
use crate::{Findings, LONG, Scale};
use dockhand::metrics::Counts;
use dockhand::{BoxError, Event, RetryPolicy, TaskContext, TaskId, Timing, WorkerPool, processor_fn};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

const TASKS: usize = 100;
const RETRIES: u32 = 3;
/// The delay of the first retry.
const BASE: Duration = Duration::from_secs(10);
const JITTER: f64 = 0.2;
/// The service is away for this share of the first delay. With the jitter, the first retries come at a share from 0.8 to
/// 1.2 of it; so about a quarter of them comes too early, and the second retries all come later.
const AWAY: f64 = 0.9;
/// The window of the first retries is divided into so many slots.
const SLOTS: u32 = 40;
/// An even spread puts 2.5 of 100 retries into a slot; more than 20 have a chance below one in 10^10. Without jitter all
/// 100 are in one.
const SHARE: usize = 20;
/// How long after its time a retry may start.
const LATE: Duration = Duration::from_millis(50);

pub(crate) fn about(scale: Scale) -> String {
    let base = scale.time(BASE);
    format!("{TASKS} calls fail at once; {RETRIES} retries, the first after {base:?}, jitter {JITTER}")
}

/// What a run leaves to be looked at.
enum Seen {
    Called { task: TaskId, attempt: u32, at: Instant },
    Planned { task: TaskId, failed: u32, delay: Duration },
}

/// The service. It goes away when all calls of first attempts are with it, so that they fail at the same moment, as calls
/// over one connection do.
struct Service {
    calls: Barrier,
    away: Duration,
    back: OnceLock<Instant>,
    seen: Sender<Seen>,
}

impl Service {
    fn call(&self, task: TaskId, attempt: u32) -> Result<(), &'static str> {
        let was_there = attempt == 1;
        if was_there {
            self.calls.wait();
        }
        let at = Instant::now();
        let back = *self.back.get_or_init(|| at + self.away);
        let _ = self.seen.send(Seen::Called { task, attempt, at });
        if was_there || at < back { Err("the service is away") } else { Ok(()) }
    }
}

struct Retry {
    attempt: u32,
    planned: Instant,
    came: Instant,
}

/// What is known of all attempts.
#[derive(Default)]
struct Attempts {
    calls: HashMap<(TaskId, u32), Instant>,
    delays: HashMap<(TaskId, u32), Duration>,
}

impl Attempts {
    fn of(seen: Receiver<Seen>) -> Self {
        let mut attempts = Attempts::default();
        for seen in seen.try_iter() {
            match seen {
                Seen::Called { task, attempt, at } => _ = attempts.calls.insert((task, attempt), at),
                Seen::Planned { task, failed, delay } => _ = attempts.delays.insert((task, failed), delay),
            }
        }
        attempts
    }

    /// How many tasks had so many attempts and no more.
    fn ended_with(&self, attempt: u32) -> usize {
        let had = |attempt: u32| self.calls.keys().filter(|(_, made)| *made == attempt).count();
        had(attempt) - had(attempt + 1)
    }

    /// Every retry. Its delay counts from the failure, so from the failed call at the earliest.
    fn retries(&self) -> Vec<Retry> {
        let retry = |(&(task, failed), &delay): (&(TaskId, u32), &Duration)| {
            let planned = *self.calls.get(&(task, failed))? + delay;
            Some(Retry { attempt: failed + 1, planned, came: *self.calls.get(&(task, failed + 1))? })
        };
        self.delays.iter().filter_map(retry).collect()
    }
}

/// How many moments lie in each slot.
fn spread(moments: impl Iterator<Item = Instant>, from: Instant, slot: Duration) -> Vec<usize> {
    let mut counts = Vec::new();
    for moment in moments {
        let place = moment.saturating_duration_since(from).div_duration_f64(slot) as usize;
        counts.resize(counts.len().max(place + 1), 0);
        counts[place] += 1;
    }
    counts
}

/// Runs all tasks to their ends.
fn call_all(base: Duration) -> Result<(Attempts, Counts), BoxError> {
    let (seen, look) = channel();
    let heard = seen.clone();
    let service =
        Service { calls: Barrier::new(TASKS), away: base.mul_f64(AWAY), back: OnceLock::new(), seen };
    let pool = WorkerPool::builder(processor_fn(move |_: &mut (), cx: &TaskContext<'_, ()>| {
        service.call(cx.id(), cx.attempt())
    }))
    .name("faults")
    .workers(TASKS)
    .timing(Timing::Full)
    .retry(RetryPolicy::exponential(base).max_retries(RETRIES).jitter(JITTER))
    .on_event(move |event| {
        if let Event::RetryScheduled { task, delay } = event {
            let _ = heard.send(Seen::Planned { task: task.id, failed: task.attempt, delay: *delay });
        }
    })
    .build()?;
    for _ in 0..TASKS {
        pool.submit(()).into_result()?;
    }
    pool.wait_idle(LONG + base * 20)?;
    let report = pool.shutdown(LONG);
    Ok((Attempts::of(look), report.counts))
}

pub(crate) fn run(scale: Scale) -> Result<Findings, BoxError> {
    let base = scale.time(BASE);
    let (attempts, counts) = call_all(base)?;
    let mut findings = Findings::compared();
    judge_ends(&attempts, &counts, base, &mut findings);
    judge_spread(&attempts.retries(), base, scale, &mut findings);
    Ok(findings)
}

fn judge_ends(attempts: &Attempts, counts: &Counts, base: Duration, findings: &mut Findings) {
    let [first, second, third, fourth] = [1, 2, 3, 4].map(|attempt| attempts.ended_with(attempt));
    findings.figure("calls that fail at the same moment", TASKS, "100");
    findings.figure("the service is away for", show(base.mul_f64(AWAY)), "a while");
    findings.figure("succeeded on the 2nd attempt", second, "most");
    findings.figure("succeeded on the 3rd attempt", third, "");
    findings.figure("letters", counts.dead_lettered, "");

    findings.must(counts.is_conserved(), format_args!("the counts add up: {counts:?}"));
    findings.must(counts.succeeded == TASKS as u64, format_args!("each task succeeds: {counts:?}"));
    findings.must(first + fourth == 0, "no task succeeds while the service is away or needs a 4th attempt");
    findings.must(second > TASKS / 2, format_args!("most succeed on the 2nd attempt, but only {second} did"));
    findings.must(
        counts.attempts == (TASKS + second + 2 * third) as u64,
        format_args!("no task is tried more often than it has to be: {counts:?}"),
    );
}

fn judge_spread(retries: &[Retry], base: Duration, scale: Scale, findings: &mut Findings) {
    let (mut late, mut early) = (Times::default(), 0);
    for retry in retries {
        early += usize::from(retry.came < retry.planned);
        late.add(retry.came.saturating_duration_since(retry.planned));
    }
    let second: Vec<_> = retries.iter().filter(|retry| retry.attempt == 2).collect();
    let slot = base.mul_f64(2.0 * JITTER) / SLOTS;
    let first_planned = second.iter().map(|retry| retry.planned).min();
    let from = first_planned.unwrap_or_else(Instant::now);
    let planned = spread(second.iter().map(|retry| retry.planned), from, slot);
    let came = spread(second.iter().map(|retry| retry.came), from, slot);
    let [most_planned, most_came] = [&planned, &came].map(|slots| slots.iter().copied().max().unwrap_or(0));
    findings.figure(
        &format!("2nd attempts in a slot of {slot:?}, most as planned"),
        most_planned,
        "no retry storm",
    );
    findings.figure(
        &format!("2nd attempts in a slot of {slot:?}, most as they came"),
        most_came,
        "no retry storm",
    );
    findings.figure("retries came late by, mean", show(late.mean()), "");
    findings.figure("retries came late by, longest", show(late.longest()), "");
    findings.note(format!("2nd attempts by slots of {slot:?}, as they came: {came:?}"));

    findings.must(second.len() == TASKS, format_args!("each task is retried, but {} were", second.len()));
    findings.must(early == 0, format_args!("no retry comes early, but {early} did"));
    let bound = scale.bound(LATE);
    findings.must(late.longest() < bound, format_args!("no retry comes {bound:?} late"));
    findings
        .must(most_planned <= SHARE, format_args!("no {slot:?} is planned for more than {SHARE} retries"));
    // In a smaller run a slot is shorter than the breaks that a busy machine makes.
    if scale.is_full() {
        findings.must(most_came <= SHARE, format_args!("no {slot:?} sees more than {SHARE} retries"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_counted_by_slot() {
        let (from, slot) = (Instant::now(), Duration::from_millis(10));
        let moments = [0, 9, 31, 39].map(|millis| from + Duration::from_millis(millis));
        assert_eq!(spread(moments.into_iter(), from, slot), [2, 0, 0, 2]);
        assert_eq!(spread([from; 100].into_iter(), from, slot), [100]);
    }
}
