//! Destructors of thread-locals, which run at the end of a thread and in `exit`, when what the library keeps for the
//! thread may be gone.

use crate::at_end::{at_end, outlive_what_follows};
use crate::child::{Start, tell};
use crate::exit::{CODE, MARGIN, QUEUED, occupy, one_worker, queue_up};
use crate::support::{Gate, Job, LONG, Pool, accepted, assert_rest, builder, ms, plugged};
use dockhand::{
    CancelOutcome, Closure, Closures, Event, Lane, Outcome, OverloadPolicy, RejectReason, RetryPolicy,
    SubmitResult, TaskOptions, WaitError, WorkerPool,
};
use std::process;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The drop timeout of pools that are busy when they are dropped.
const WINDOW: Duration = Duration::from_millis(200);
const GRACE: Duration = Duration::from_millis(100);

#[test]
fn a_destructor_may_use_a_pool() {
    for outlives in ["all", "nothing"] {
        let Some(ended) = Start::given(outlives).run(use_a_pool_in_a_destructor) else { return };
        ended.assert_code(0);
        assert_eq!(ended.told(), ["used"], "{ended}");
    }
}

fn use_a_pool_in_a_destructor(outlives: &str) {
    let retry = RetryPolicy::fixed(ms(1)).jitter(0.5).max_retries(1);
    let (pool, plug) =
        plugged(builder(1).queue_capacity(1).lane(Lane::new("default").delay_capacity(8)).retry(retry));
    accepted(&pool, Job::ok());
    let outlives = outlives.to_string();
    let user = thread::spawn(move || {
        let here = pool.submitter().with_overload(OverloadPolicy::CallerRuns);
        if outlives == "all" {
            outlive_what_follows();
        }
        assert!(matches!(here.submit(Job::ok()), SubmitResult::CallerRun(_)));
        assert!(matches!(here.submit(Job::fail()), SubmitResult::CallerRun(_)));
        at_end(move || use_up(pool, &plug));
    });
    user.join().unwrap();
}

fn use_up(pool: Pool, plug: &Gate) {
    let offer = |policy| match pool.submitter().with_overload(policy).submit(Job::fail()) {
        SubmitResult::Accepted(_) => "accepted",
        SubmitResult::CallerRun(run) => run.outcome.map_or("to be retried", |_| "ended"),
        SubmitResult::Dropped(_) => "dropped",
        SubmitResult::Rejected(refused) => {
            assert_eq!(refused.reason(), RejectReason::QueueFull);
            "rejected"
        }
    };
    assert_eq!(offer(OverloadPolicy::Reject), "rejected");
    assert_eq!(offer(OverloadPolicy::DropIncoming), "dropped");
    assert_eq!(offer(OverloadPolicy::CallerRuns), "to be retried");
    assert_eq!(offer(OverloadPolicy::DropOldest), "accepted");
    let later = TaskOptions::new().delay(LONG);
    let handle = pool.submitter().submit_tracked_with(Job::ok(), later).unwrap();
    assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
    assert_eq!(pool.wait_idle(ms(1)), Err(WaitError::TimedOut));
    plug.open();
    assert_eq!(pool.wait_idle(LONG), Ok(()));
    assert_rest(&pool);
    assert!(pool.shutdown(LONG).is_clean());
    drop(pool);
    tell("used");
}

#[test]
fn a_destructor_may_drop_a_busy_pool() {
    for thread in ["outlives all", "outlives nothing", "is a worker of another pool"] {
        let Some(ended) = Start::given(thread).run(drop_a_busy_pool_in_a_destructor) else { return };
        ended.assert_code(0);
        assert_eq!(ended.told(), gone("dropped in time"), "{ended}");
    }
}

/// What is told when a busy pool is dropped: what is queued is given away.
fn gone(last: &str) -> Vec<&str> {
    [["dropped: queued"; QUEUED].as_slice(), &[last]].concat()
}

fn drop_a_busy_pool_in_a_destructor(thread: &str) {
    let pool = one_worker().drop_timeout(WINDOW).build().unwrap();
    occupy(&pool);
    if thread == "is a worker of another pool" {
        let another = one_worker().build().unwrap();
        another.execute(|| at_end(|| drop_in_time(pool))).into_result().unwrap();
        // The drop waits for the destructors of its workers.
        return;
    }
    let outlives = thread == "outlives all";
    let user = thread::spawn(move || {
        if outlives {
            outlive_what_follows();
        }
        assert_eq!(pool.wait_idle(ms(1)), Err(WaitError::TimedOut));
        at_end(|| drop_in_time(pool));
    });
    user.join().unwrap();
}

/// The task that does not end is waited for, but not for long.
fn drop_in_time(pool: WorkerPool<Closures>) {
    let start = Instant::now();
    drop(pool);
    let took = start.elapsed();
    assert!((WINDOW + GRACE..WINDOW + GRACE + MARGIN).contains(&took), "{took:?}");
    tell("dropped in time");
}

/// `exit` runs the destructors of the thread that calls it; the others go on meanwhile.
#[test]
fn exit_may_drop_a_busy_pool() {
    for place in ["main", "a task", "a caller-run", "a caller-run that is outlived"] {
        let Some(ended) = Start::given(place).run(exit_with_the_pool_in_a_local) else { return };
        ended.assert_code(CODE);
        assert_eq!(ended.told(), gone("dropped"), "{ended}");
        assert!(ended.took < WINDOW + GRACE + MARGIN, "{ended}");
    }
}

fn exit_with_the_pool_in_a_local(place: &str) {
    let policy = OverloadPolicy::CallerRuns;
    let builder = one_worker().drop_timeout(WINDOW).queue_capacity(QUEUED).overload(policy);
    let pool = Arc::new(builder.build().unwrap());
    if place == "a caller-run that is outlived" {
        outlive_what_follows();
    }
    let kept = Arc::clone(&pool);
    let exit = move || {
        at_end(move || {
            assert_eq!(Arc::strong_count(&kept), 1);
            drop(kept);
            tell("dropped");
        });
        process::exit(CODE);
    };
    match place {
        "a task" => exit_in_a_task(pool, exit),
        "main" => {
            occupy(&pool);
            drop(pool);
            exit();
        }
        _ => {
            occupy(&pool);
            let submitter = pool.submitter();
            drop(pool);
            drop(submitter.execute(exit));
        }
    }
}

/// Has the only worker call it, with a full queue behind it.
fn exit_in_a_task(pool: Arc<WorkerPool<Closures>>, exit: impl FnOnce() + Send + 'static) {
    let is_full = Gate::new();
    let go_on = is_full.clone();
    pool.execute(move || {
        go_on.pass();
        exit();
    })
    .into_result()
    .unwrap();
    is_full.wait_arrived(1);
    queue_up(&pool);
    drop(pool);
    is_full.open();
    loop {
        thread::park();
    }
}

/// However long it would wait for others: what it runs on this thread is inside, in a destructor too.
#[test]
fn a_pool_in_a_destructor_does_not_wait_for_itself() {
    let Some(ended) = Start::default().run(wait_inside_in_a_destructor) else { return };
    ended.assert_code(CODE);
    assert_eq!(ended.told(), ["Err(WouldDeadlock)"], "{ended}");
}

fn wait_inside_in_a_destructor(_: &str) {
    static POOL: OnceLock<Weak<WorkerPool<Closures>>> = OnceLock::new();
    let wait = |event: &Event<'_>| {
        if let Event::Ended { outcome: Outcome::Cancelled, .. } = event {
            let pool = POOL.get().and_then(Weak::upgrade).unwrap();
            tell(format_args!("{:?}", pool.wait_idle(Duration::MAX)));
        }
    };
    let builder = one_worker().drop_timeout(Duration::MAX).queue_capacity(1).on_event(wait);
    let pool = Arc::new(builder.build().unwrap());
    POOL.set(Arc::downgrade(&pool)).unwrap();
    outlive_what_follows();
    let plug = Gate::new();
    let at = plug.clone();
    pool.execute(move || at.pass()).into_result().unwrap();
    plug.wait_arrived(1);
    pool.execute(|| ()).into_result().unwrap();
    let here = pool.submitter().with_overload(OverloadPolicy::CallerRuns);
    let later = TaskOptions::new().delay(LONG);
    let delayed = here.submit_tracked_with(Closure::new(|| ()), later).unwrap();
    drop(here.execute(move || {
        plug.open();
        at_end(move || {
            drop(delayed.cancel());
            drop(pool);
        });
        process::exit(CODE);
    }));
}
