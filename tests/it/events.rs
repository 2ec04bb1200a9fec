//! What listeners are told: in order, once each, and one end per task, whatever its path.

use crate::cancel::{HOUR, cancelled, in_an_hour, tracked, tracked_with};
use crate::support::{
    Gate, Job, LONG, Runs, Watchdog, accepted, assert_rest, build, builder, eventually, ms, panic_quietly,
    plug_worker, rounds,
};
use dockhand::{
    Event, Lane, Outcome, OverloadPolicy, PoolBuilder, RetryPolicy, TaskId, TaskOptions, TaskStatus,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What a listener writes down: the task, if it is of one, and a word.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Line>>>);

type Line = (Option<TaskId>, String);

impl Log {
    pub(crate) fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.0.lock().unwrap()
    }

    pub(crate) fn hear(&self, event: &Event<'_>) {
        let (task, text) = match event {
            Event::Accepted { task } => (Some(task.id), "accepted".to_string()),
            Event::Refused { lane, reason } => (None, format!("refused {lane} {reason:?}")),
            Event::Started { task } => (Some(task.id), format!("started {}", task.attempt)),
            Event::Progress { task, progress } => {
                (Some(task.id), format!("progress {}/{}", progress.done, progress.total))
            }
            Event::Slow { task, .. } => (Some(task.id), "slow".to_string()),
            Event::AttemptFailed { task, cause } => {
                (Some(task.id), format!("failed {}: {cause}", task.attempt))
            }
            Event::RetryScheduled { task, .. } => (Some(task.id), format!("retry {}", task.attempt)),
            Event::Ended { task, outcome, .. } => {
                (Some(task.id), format!("ended {outcome:?} {}", task.attempt))
            }
            Event::WorkerStarted { worker } => (None, format!("+{worker}")),
            Event::WorkerStopped { worker } => (None, format!("-{worker}")),
            other => (None, format!("{other:?}")),
        };
        self.lines().push((task, text));
    }

    pub(crate) fn listen(&self, builder: PoolBuilder<Runs>) -> PoolBuilder<Runs> {
        let log = self.clone();
        builder.on_event(move |event| log.hear(event))
    }

    /// What was told of a task, but for `Accepted`, which is not ordered against the rest.
    pub(crate) fn of(&self, id: TaskId) -> Vec<String> {
        let lines = self.lines();
        let own = lines.iter().filter(|(task, text)| *task == Some(id) && text != "accepted");
        own.map(|(_, text)| text.clone()).collect()
    }

    /// What was told of the pool.
    pub(crate) fn of_pool(&self) -> Vec<String> {
        self.lines().iter().filter(|(task, _)| task.is_none()).map(|(_, text)| text.clone()).collect()
    }

    pub(crate) fn by_task(&self) -> HashMap<TaskId, Vec<String>> {
        let mut tasks = HashMap::<_, Vec<_>>::new();
        for (task, text) in self.lines().iter() {
            if let (Some(id), true) = (task, text != "accepted") {
                tasks.entry(*id).or_default().push(text.clone());
            }
        }
        tasks
    }
}

/// The rule of each task's events.
#[track_caller]
pub(crate) fn assert_in_order(events: &[String]) {
    let mut attempt = 0;
    for (at, text) in events.iter().enumerate() {
        let is_last = at + 1 == events.len();
        assert_eq!(text.starts_with("ended"), is_last, "one end, last: {events:?}");
        if text.starts_with("started") {
            attempt += 1;
            assert_eq!(*text, format!("started {attempt}"), "{events:?}");
            assert!(at == 0 || events[at - 1] == format!("retry {}", attempt - 1), "{events:?}");
        } else if text.starts_with("failed") || text.starts_with("retry") {
            assert!(text.contains(&format!(" {attempt}")), "{events:?}");
        }
    }
}

/// The example of A6: three hooks, the middle one panics each time; 1,000 tasks, half of them failing.
#[test]
fn a06_a_listener_that_panics_skips_no_other() {
    let _dog = Watchdog::new();
    let [one, three] = [(); 2].map(|()| Log::default());
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(1);
    let heard = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = Arc::clone(&heard);
    let pool = one.listen(builder(4).queue_capacity(2000).retry(retry)).on_event(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        panic_quietly()
    });
    let pool = build(three.listen(pool));
    for n in 0..1000 {
        accepted(&pool, if n % 2 == 0 { Job::ok() } else { Job::fail() });
    }
    assert!(pool.shutdown(LONG).is_clean());
    let metrics = pool.metrics();
    assert_eq!(metrics.hook_panics, heard.load(std::sync::atomic::Ordering::SeqCst));
    let (one, three) = (one.by_task(), three.by_task());
    assert_eq!(one.len(), 1000);
    assert_eq!(one, three, "each of both has heard each task's events in the same order");
    one.values().for_each(|events| assert_in_order(events));
    let ended =
        |outcome: &str| one.values().filter(|events| events.last().unwrap().contains(outcome)).count();
    assert_eq!((ended("Succeeded"), ended("DeadLettered")), (500, 500));
    assert_eq!(metrics.counts.succeeded, 500, "no outcome is lost");
}

/// Four workers and no delay: the second start may be elsewhere, but not earlier.
#[test]
fn a_retry_is_told_before_it_starts() {
    let _dog = Watchdog::new();
    for tracks in [false, true] {
        let log = Log::default();
        let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(2);
        let pool = build(log.listen(builder(4).queue_capacity(64).retry(retry)));
        let submitter = pool.submitter();
        let mut sent = 0;
        for n in 0..rounds(20_000, 10) as u32 {
            let job = Job::ok_at(1 + n % 5);
            match tracks {
                true => drop(submitter.submit_timeout(job, LONG)),
                false => drop(submitter.submit_tracked(job)),
            }
            sent += 1;
            if sent % 32 == 0 {
                pool.wait_idle(LONG).unwrap();
            }
        }
        pool.wait_idle(LONG).unwrap();
        let tasks = log.by_task();
        assert_eq!(tasks.len() as u64, pool.metrics().counts.accepted);
        tasks.values().for_each(|events| assert_in_order(events));
        assert!(tasks.values().any(|events| events.len() == 9), "two retries and a letter");
        assert_rest(&pool);
    }
}

/// One of each kind, by every path that there is.
#[test]
fn each_outcome_is_told_once_on_every_path() {
    let _dog = Watchdog::new();
    let log = Log::default();
    let retry = RetryPolicy::fixed(HOUR).max_delay(HOUR);
    let one = Lane::new("one").queue_capacity(1).max_concurrency(1).overload(OverloadPolicy::DropOldest);
    let pool = build(log.listen(builder(1).queue_capacity(1).retry(retry).lane(one)));
    let one = pool.submitter_for("one").unwrap();
    let last = |id| log.of(id).last().cloned().unwrap_or_default();
    // On a worker; by a retry that is cancelled; delayed, and taken away there or run.
    let backs_off = tracked(&pool, Job::fail());
    eventually("it backs off", || matches!(backs_off.status(), TaskStatus::Retrying { .. }));
    drop(cancelled(&backs_off));
    let events = ["started 1", "failed 1: attempt 1", "retry 1", "ended Cancelled 1"];
    assert_eq!(log.of(backs_off.id()), events);
    let delayed = tracked_with(&pool, Job::ok(), in_an_hour());
    drop(cancelled(&delayed));
    assert_eq!(log.of(delayed.id()), ["ended Cancelled 0"]);
    let soon = tracked_with(&pool, Job::panic(), TaskOptions::new().delay(ms(1)));
    pool.wait_idle(LONG).unwrap();
    let panics = ["started 1", "failed 1: panicked: as planned", "ended DeadLettered 1"];
    assert_eq!(log.of(soon.id()), panics);
    // Behind a plug: cancelled, evicted, expired by who asks, expired by its turn, run by the caller.
    let plug = plug_worker(&pool);
    let queued = one.submit_tracked(Job::ok()).unwrap();
    drop(cancelled(&queued));
    let evicted = one.submit_tracked(Job::ok()).unwrap();
    let expires = TaskOptions::new().ttl(Duration::from_micros(1));
    let asked = one.submit_tracked_with(Job::ok(), expires.clone()).unwrap();
    assert_eq!(log.of(evicted.id()), ["ended Evicted 0"]);
    eventually("it expires", || asked.status() == TaskStatus::Ended(Outcome::Expired));
    assert_eq!(log.of(asked.id()), ["ended Expired 0"]);
    let turn = pool.submitter().submit_with(Job::ok(), expires).into_result().unwrap();
    let caller = pool.submitter().with_overload(OverloadPolicy::CallerRuns);
    let run_here = caller.submit_tracked(Job::ok()).unwrap();
    assert_eq!(log.of(run_here.id()), ["started 1", "ended Succeeded 1"]);
    let fails_here = caller.submit_tracked(Job::fail()).unwrap();
    assert_eq!(log.of(fails_here.id()), ["started 1", "failed 1: attempt 1", "retry 1"]);
    plug.open();
    eventually("its turn comes", || last(turn) == "ended Expired 0");
    assert_eq!(log.of(turn), ["ended Expired 0"]);
    // By the sweep and by the mark.
    let stuck = Gate::new();
    let marked = tracked(&pool, Job::plug(&stuck));
    stuck.wait_arrived(1);
    let swept = one.submit_tracked(Job::ok()).unwrap();
    let report = pool.shutdown(ms(0));
    assert_eq!(report.abandoned.len(), 2);
    assert_eq!(last(fails_here.id()), "ended Abandoned 1");
    assert_eq!(log.of(marked.id()), ["started 1", "ended Abandoned 1"]);
    assert_eq!(log.of(swept.id()), ["ended Abandoned 0"]);
    stuck.open();
    eventually("it comes back", || pool.metrics().live_workers == 0);
    log.by_task().values().for_each(|events| assert_in_order(events));
    assert_eq!(log.of(marked.id()).len(), 2, "nothing is told when it comes back");
    assert_eq!(log.of_pool(), ["+0", "ShutdownBegun", "ShutdownEnded", "-0"].map(String::from));
    assert_rest(&pool);
}
