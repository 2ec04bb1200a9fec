//! Limits of lanes: what they hold, what changes them, what gives a permit back.

use crate::support::{
    Gate, Job, LONG, Pool, Runs, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
};
use dockhand::metrics::LaneMetrics;
use dockhand::{
    Lane, Outcome, OverloadPolicy, RejectReason, RetryPolicy, SubmitResult, TaskOptions, TaskSubmitter,
    WorkerPool,
};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What was said, in order.
#[derive(Clone, Default)]
pub(crate) struct Notes<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone + Send + 'static> Notes<T> {
    pub(crate) fn new() -> Self {
        Notes(Arc::new(Mutex::new(Vec::new())))
    }

    pub(crate) fn add(&self, note: T) {
        self.0.lock().unwrap().push(note);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }

    /// A job that says so when it runs.
    pub(crate) fn job(&self, note: T) -> Job {
        let notes = self.clone();
        Job::run(move || notes.add(note.clone()))
    }
}

pub(crate) fn lane_of(pool: &WorkerPool<Runs>, lane: &str) -> LaneMetrics {
    pool.metrics().lanes.into_iter().find(|metrics| metrics.name == lane).unwrap()
}

pub(crate) fn in_use(pool: &WorkerPool<Runs>, lane: &str) -> usize {
    lane_of(pool, lane).permits_in_use
}

/// A pool with a lane "a" of that limit, above the default one.
pub(crate) fn limited(workers: usize, limit: usize, capacity: usize) -> (Pool, TaskSubmitter<Runs>) {
    let lane = Lane::new("a").max_concurrency(limit).queue_capacity(capacity);
    let pool = build(builder(workers).lane(lane));
    let submitter = pool.submitter_for("a").unwrap();
    (pool, submitter)
}

pub(crate) fn plug_in(submitter: &TaskSubmitter<Runs>) -> Gate {
    let plug = Gate::new();
    submitter.submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    plug
}

#[test]
fn only_a_limited_lane_can_be_changed() {
    let _dog = Watchdog::new();
    let (pool, _) = limited(1, 3, 8);
    assert_eq!(pool.set_max_concurrency("b", 1), Err(RejectReason::UnknownLane));
    assert_eq!(pool.set_max_concurrency("default", 1), Err(RejectReason::NotLimited));
    assert_eq!(lane_of(&pool, "default").max_concurrency, usize::MAX);
    for n in [0, 1, 7, u32::MAX as usize] {
        assert_eq!(pool.set_max_concurrency("a", n), Ok(()));
        assert_eq!(lane_of(&pool, "a").max_concurrency, n);
    }
    let _ = pool.shutdown(LONG);
    assert_eq!(pool.set_max_concurrency("a", 1), Ok(()));
    assert_eq!(pool.set_max_concurrency("default", 1), Err(RejectReason::NotLimited));
}

#[test]
fn a_raised_limit_wakes_as_many_as_it_lets_run() {
    let _dog = Watchdog::new();
    for idle in [dockhand::IdleStrategy::Park, dockhand::IdleStrategy::SpinThenPark(ms(1))] {
        let pool = build(builder(4).idle(idle).lane(Lane::new("a").max_concurrency(0)));
        let submitter = pool.submitter_for("a").unwrap();
        let plug = Gate::new();
        for _ in 0..4 {
            submitter.submit(Job::plug(&plug)).into_result().unwrap();
        }
        eventually("all sleep", || pool.metrics().sleeping_workers == 4);
        assert_eq!((lane_of(&pool, "a").counts.queued, in_use(&pool, "a")), (4, 0));
        pool.set_max_concurrency("a", 1).unwrap();
        plug.wait_arrived(1);
        eventually("three sleep", || pool.metrics().sleeping_workers == 3);
        assert_eq!(lane_of(&pool, "a").counts.queued, 3);
        pool.set_max_concurrency("a", 4).unwrap();
        plug.wait_arrived(4);
        assert_eq!(in_use(&pool, "a"), 4);
        plug.open();
        pool.wait_idle(LONG).unwrap();
        assert_eq!(in_use(&pool, "a"), 0);
        assert_rest(&pool);
    }
}

#[test]
fn below_its_use_a_lowered_limit_starts_nothing() {
    let _dog = Watchdog::new();
    let (pool, a) = limited(4, 3, 8);
    let plugs = [(); 3].map(|()| plug_in(&a));
    pool.set_max_concurrency("a", 1).unwrap();
    let (last, notes) = (Gate::new(), Notes::new());
    a.submit(notes.job(1)).into_result().unwrap();
    for (n, plug) in plugs.iter().take(2).enumerate() {
        plug.open();
        eventually("it ended", || in_use(&pool, "a") == 2 - n);
        // Whoever could start it has looked, and rests.
        eventually("they sleep", || pool.metrics().sleeping_workers == 2 + n);
        assert_eq!((lane_of(&pool, "a").counts.queued, notes.all().len()), (1, 0));
    }
    pool.set_max_concurrency("a", 0).unwrap();
    plugs[2].open();
    eventually("all sleep", || pool.metrics().sleeping_workers == 4);
    assert_eq!((in_use(&pool, "a"), lane_of(&pool, "a").counts.queued), (0, 1), "it is paused");
    a.submit(Job::plug(&last)).into_result().unwrap();
    pool.set_max_concurrency("a", 1).unwrap();
    last.wait_arrived(1);
    assert_eq!(notes.all(), [1]);
    last.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}

#[test]
fn a_caller_run_at_the_limit_is_refused() {
    let _dog = Watchdog::new();
    let (pool, a) = limited(1, 1, 1);
    let plug = plug_in(&a);
    a.submit(Job::ok()).into_result().unwrap();
    let runs = a.with_overload(OverloadPolicy::CallerRuns);
    let refused = runs.submit(Job::ok().number(7)).into_result().unwrap_err();
    assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::LaneLimit, 7));
    let refused = runs.submit_timeout(Job::ok().number(8), ms(1)).into_result().unwrap_err();
    assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::LaneLimit, 8));
    let refused = runs.submit_tracked(Job::ok().number(9)).unwrap_err();
    assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::LaneLimit, 9));
    assert_eq!(lane_of(&pool, "a").counts.rejected, 3);
    // With a permit free it runs, and counts.
    pool.set_max_concurrency("a", 2).unwrap();
    let seen = Notes::new();
    let (inner, notes) = (Arc::clone(&pool), seen.clone());
    let look = Job::run(move || notes.add(in_use(&inner, "a")));
    assert!(
        matches!(runs.submit(look), SubmitResult::CallerRun(run) if run.outcome == Some(Outcome::Succeeded))
    );
    assert!(matches!(runs.submit(Job::panic()), SubmitResult::CallerRun(_)));
    assert_eq!((seen.all(), in_use(&pool, "a")), (vec![2], 1));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(in_use(&pool, "a"), 0);
    assert_rest(&pool);
}

/// What a caller-run's permit held back starts when it is given back.
#[test]
fn a_caller_runs_permit_is_work_appearing() {
    let _dog = Watchdog::new();
    let (pool, a) = limited(2, 1, 1);
    let plug = plug_in(&a);
    a.submit(Job::ok()).into_result().unwrap();
    let (runs, gate, notes) = (a.with_overload(OverloadPolicy::CallerRuns), Gate::new(), Notes::new());
    pool.set_max_concurrency("a", 2).unwrap();
    // The free permit takes what is queued, so the next one but one finds the lane full again.
    eventually("it ran", || lane_of(&pool, "a").counts.succeeded == 1);
    pool.set_max_concurrency("a", 1).unwrap();
    a.submit(notes.job(1)).into_result().unwrap();
    pool.set_max_concurrency("default", 1).unwrap_err();
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            loop {
                // Until it gets the permit before a worker does.
                match runs.submit(Job::plug(&gate)) {
                    SubmitResult::CallerRun(_) => return,
                    other => drop(other),
                }
            }
        });
        plug.open();
        gate.open();
        caller.join().unwrap();
    });
    pool.wait_idle(LONG).unwrap();
    assert_eq!((notes.all(), in_use(&pool, "a")), (vec![1], 0));
    assert_rest(&pool);
}

#[test]
fn a_due_task_of_a_paused_lane_waits_for_the_permit() {
    let _dog = Watchdog::new();
    let lane = Lane::new("a").max_concurrency(1).retry(RetryPolicy::fixed(ms(5)).max_retries(1));
    let pool = build(builder(2).lane(lane));
    let a = pool.submitter_for("a").unwrap();
    let (starts, runs) = channel();
    let paused = {
        let (pool, starts) = (Arc::clone(&pool), starts.clone());
        Job::new(move |cx| {
            if cx.attempt() == 1 {
                pool.set_max_concurrency("a", 0).unwrap();
            }
            starts.send(cx.attempt()).unwrap();
            if cx.attempt() == 1 { Err("again".into()) } else { Ok(()) }
        })
    };
    a.submit(paused).into_result().unwrap();
    assert_eq!(runs.recv_timeout(LONG), Ok(1));
    let offered = Instant::now();
    let delayed = Job::run(move || starts.send(0).unwrap());
    a.submit_with(delayed, TaskOptions::new().delay(ms(1))).into_result().unwrap();
    eventually("both are due", || offered.elapsed() > ms(20));
    eventually("all sleep", || pool.metrics().sleeping_workers == 2);
    assert_eq!((lane_of(&pool, "a").counts.delayed, in_use(&pool, "a")), (2, 0));
    // The other lane goes on.
    let plug = Gate::new();
    accepted(&pool, Job::plug(&plug));
    plug.wait_arrived(1);
    plug.open();
    pool.set_max_concurrency("a", 2).unwrap();
    let mut ran = [(); 2].map(|()| runs.recv_timeout(LONG).expect("the raise woke nobody"));
    ran.sort_unstable();
    assert_eq!(ran, [0, 2]);
    pool.set_max_concurrency("a", 2).unwrap();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}
