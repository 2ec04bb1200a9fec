//! What was asked for, done on a pool without threads: each start is looked at, and the law at the end.

use super::asked::{Act, Asked, Capacity, Options, Retry};
use crate::support::{assert_conserved, assert_rest};
use dockhand::{
    Event, ManualClock, ManualPool, PoolBuilder, ProcessorFn, TaskContext, TaskHandle, WorkerPool,
    processor_fn,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) type Runs = ProcessorFn<Load, (), String>;

pub(super) struct Load {
    /// Attempts that fail before one succeeds.
    pub(super) fails: u8,
    pub(super) progress: (u64, u64),
    /// Nanoseconds on the clock: no start before this, and none at or after that.
    pub(super) due: u128,
    pub(super) deadline: u128,
    pub(super) calls: u64,
    pub(super) most: u64,
    pub(super) backoff: Duration,
}

/// What the processor and the listeners found.
pub(super) type Findings = Arc<Mutex<Vec<String>>>;

/// The time since the clock was made; it begins at one.
fn nanos(clock: &ManualClock, base: std::time::Instant) -> u128 {
    clock.now().saturating_duration_since(base).as_nanos()
}

pub(super) fn builder(asked: &Asked, runs: Runs) -> PoolBuilder<Runs> {
    let mut builder = WorkerPool::builder(runs)
        .name(asked.name.clone())
        .workers(asked.workers)
        .overload(asked.overload)
        .retry(asked.retry.policy())
        .dead_letter_capacity(asked.letters)
        .timing(asked.timing)
        .idle(asked.idle)
        .drop_timeout(asked.drop_timeout)
        .progress_every(asked.progress.0, asked.progress.1);
    builder = match asked.capacity {
        Capacity::Tasks(tasks) => builder.queue_capacity(tasks),
        Capacity::For(cost, wait) => builder.queue_capacity_for(cost, wait),
    };
    if let Some(limit) = asked.timeout {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(limit) = asked.slow {
        builder = builder.slow_after(limit);
    }
    if let Some(stack) = asked.stack {
        builder = builder.stack_size(stack);
    }
    if let Some(decision) = asked.decision {
        builder = builder.classify(move |_| decision);
    }
    for lane in &asked.lanes {
        builder = builder.lane(lane.lane());
    }
    builder
}

struct Fuzz<'a> {
    asked: &'a Asked,
    clock: ManualClock,
    pool: ManualPool<Runs>,
    names: Vec<String>,
    handles: Vec<TaskHandle<Runs>>,
}

fn process(
    load: &mut Load,
    cx: &TaskContext<'_, Load>,
    now: u128,
    findings: &Findings,
) -> Result<(), String> {
    load.calls += 1;
    let Load { due, deadline, calls, most, .. } = *load;
    let wrong = |is_wrong: bool, what: &str| {
        if is_wrong {
            let text = format!("{what}: attempt {calls} of {most} at {now}, due {due}, deadline {deadline}");
            findings.lock().unwrap().push(text);
        }
    };
    wrong(now < due, "early");
    wrong(now >= deadline, "late");
    wrong(calls > most, "too often");
    cx.report_progress(load.progress.0, load.progress.1);
    load.due = now + load.backoff.as_nanos();
    // Zero retries a second for ever are a loop that was asked for, so it ends by itself.
    if load.calls <= u64::from(load.fails) { Err("as planned".to_string()) } else { Ok(()) }
}

pub(super) fn run(asked: &Asked) {
    let (clock, findings) = (ManualClock::new(), Findings::default());
    let base = clock.now();
    let (ticks, found) = (clock.clone(), Arc::clone(&findings));
    let runs = processor_fn(move |load: &mut Load, cx: &TaskContext<'_, Load>| {
        process(load, cx, nanos(&ticks, base), &found)
    });
    let mut builder = builder(asked, runs);
    if asked.listens {
        let (found, retries) = (Arc::clone(&findings), asked.longest());
        builder = builder.on_event(move |event| match event {
            Event::RetryScheduled { delay, .. } if *delay > retries => {
                found.lock().unwrap().push(format!("a delay of {delay:?} above the cap of {retries:?}"));
            }
            _ => {}
        });
    }
    let built = builder.build_manual_on(&clock);
    assert_eq!(built.is_err(), asked.is_wrong(), "{built:?}");
    let Ok(pool) = built else { return };
    let names = pool.metrics().lanes.into_iter().map(|lane| lane.name).collect();
    let mut fuzz = Fuzz { asked, clock, pool, names, handles: Vec::new() };
    for act in &asked.acts {
        fuzz.act(act, base);
        assert_conserved(&*fuzz.pool);
        assert_eq!(*findings.lock().unwrap(), [""; 0], "{act:?}");
    }
    if let Some(window) = asked.window {
        drop(fuzz.pool.shutdown(window));
        assert_rest(&fuzz.pool);
    }
    assert_eq!(fuzz.pool.metrics().hook_panics, 0);
    drop(fuzz);
    assert_eq!(*findings.lock().unwrap(), [""; 0]);
}

impl Asked {
    fn longest(&self) -> Duration {
        if let Some(dockhand::RetryDecision::RetryAfter(hint)) = self.decision {
            return hint.saturating_mul(2);
        }
        let lanes = self.lanes.iter().filter_map(|lane| lane.retry.as_ref()).map(Retry::cap);
        lanes.chain([self.retry.cap()]).max().unwrap_or_default()
    }

    pub(super) fn retry_of(&self, lane: &str) -> &Retry {
        let own = self.lanes.iter().find(|other| other.name == lane).and_then(|lane| lane.retry.as_ref());
        own.unwrap_or(&self.retry)
    }

    fn ttl_of(&self, lane: &str) -> Option<Duration> {
        self.lanes.iter().find(|other| other.name == lane).and_then(|lane| lane.ttl)
    }
}

impl Fuzz<'_> {
    fn act(&mut self, act: &Act, base: std::time::Instant) {
        match act {
            Act::Submit { lane, form, timeout, options, fails, progress } => {
                let lane = self.names[lane % self.names.len()].clone();
                let options = if *form == 1 || *form == 3 { options.clone() } else { Options::default() };
                let load = Load { fails: *fails, progress: *progress, ..self.load(&lane, &options, base) };
                self.submit(&lane, *form, *timeout, &options, load);
            }
            Act::Advance(by) => self.pool.advance(*by),
            Act::AdvanceToDue => drop(self.pool.advance_to_next_due()),
            Act::RunAll => drop(self.pool.run_until_idle()),
            Act::WaitIdle(timeout) => drop(self.pool.wait_idle(*timeout)),
            Act::Wait(n, timeout) => {
                let place = n.checked_rem(self.handles.len());
                if let Some(handle) = place.map(|place| &mut self.handles[place]) {
                    drop(handle.wait_timeout(*timeout));
                    let _ = (handle.status(), handle.progress());
                }
            }
            Act::Cancel(n) => {
                let place = n.checked_rem(self.handles.len());
                place.into_iter().for_each(|place| drop(self.handles[place].cancel()));
            }
            Act::Limit(lane, limit) => {
                let _ = self.pool.set_max_concurrency(&self.names[lane % self.names.len()], *limit);
            }
            Act::Quantile(q) => {
                for lane in self.pool.metrics().lanes {
                    let _ = (lane.wait.quantile(*q), lane.run.quantile(*q), lane.wait.sum());
                }
            }
            // Its letters' times would no longer be known.
            Act::Requeue => drop(self.pool.dead_letters().drain()),
        }
    }

    fn load(&self, lane: &str, options: &Options, base: std::time::Instant) -> Load {
        let now = nanos(&self.clock, base);
        let retry = self.asked.retry_of(lane);
        let ttl = match (options.ttl, options.deadline) {
            (None, None) => self.asked.ttl_of(lane),
            (ttl, _) => ttl,
        };
        let until = ttl.map(|ttl| now + ttl.as_nanos());
        let at = options.deadline.map(|at| at.saturating_duration_since(base).as_nanos());
        let backoff = match self.asked.decision {
            Some(dockhand::RetryDecision::RetryAfter(delay)) => delay,
            _ => retry.shortest(),
        };
        Load {
            fails: 0,
            progress: (0, 0),
            due: now + options.delay.unwrap_or_default().as_nanos(),
            deadline: until.into_iter().chain(at).min().unwrap_or(u128::MAX),
            calls: 0,
            most: retry.attempts(),
            backoff,
        }
    }

    fn submit(&mut self, lane: &str, form: u8, timeout: Duration, options: &Options, load: Load) {
        let submitter = self.pool.submitter_for(lane).unwrap();
        match form {
            0 => drop(submitter.submit(load)),
            1 => drop(submitter.submit_with(load, options.options())),
            2 => drop(submitter.submit_timeout(load, timeout)),
            3 => self.handles.extend(submitter.submit_tracked_with(load, options.options())),
            _ => drop(submitter.submit_batch([load])),
        }
    }
}
