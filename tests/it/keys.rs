//! Keys: unique within their lane while a task is in flight, free at every outcome and every refusal.

use crate::cancel::{HOUR, in_an_hour};
use crate::support::{
    Gate, Job, LONG, Pool, Runs, Watchdog, accepted, assert_rest, build, builder, eventually, ms,
    plug_worker, rounds,
};
use dockhand::{
    CancelOutcome, Lane, Outcome, OverloadPolicy, RejectReason, RetryPolicy, SubmitResult, TaskHandle,
    TaskOptions, TaskStatus, TaskSubmitter,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn key(name: &str) -> TaskOptions {
    TaskOptions::new().key(name)
}

/// Whether the key is free, found out without leaving anything behind.
#[track_caller]
fn is_free(lane: &TaskSubmitter<Runs>, name: &str) -> Result<(), RejectReason> {
    // The delay queue has room of its own, so that the lane's policy does nothing.
    let handle = lane.submit_tracked_with(Job::ok(), key(name).delay(HOUR));
    handle.map(|handle| drop(handle.cancel())).map_err(|refused| refused.reason())
}

#[test]
fn a_duplicate_tells_the_others_id() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).lane(Lane::new("other")));
    let (here, other) = (pool.submitter(), pool.submitter_for("other").unwrap());
    let plug = plug_worker(&pool);
    let first = here.submit_with(Job::ok(), key("a")).into_result().unwrap();
    let refused = here.submit_with(Job::ok().number(7), key("a")).into_result().unwrap_err();
    assert_eq!(refused.reason(), RejectReason::Duplicate(first));
    assert_eq!(refused.into_payload().number, 7);
    assert_eq!(
        here.submit_tracked_with(Job::ok(), key("a")).unwrap_err().reason(),
        RejectReason::Duplicate(first)
    );
    here.submit_with(Job::ok(), key("b")).into_result().unwrap();
    here.submit_with(Job::ok(), key("")).into_result().unwrap();
    // Unique within its lane only.
    other.submit_with(Job::ok(), key("a")).into_result().unwrap();
    accepted(
        &pool,
        Job::new(|cx| {
            let again = cx.submit_with("other", Job::ok(), key("a")).into_result();
            assert!(again.is_ok() || matches!(again.unwrap_err().reason(), RejectReason::Duplicate(_)));
            Ok(())
        }),
    );
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!((pool.metrics().counts.rejected, pool.metrics().counts.succeeded >= 6), (2, true));
    assert!(["a", "b", ""].iter().all(|name| is_free(&here, name).is_ok()));
}

/// It is refused before the policy does anything.
#[test]
fn a_duplicate_evicts_nothing_and_runs_nothing() {
    let _dog = Watchdog::new();
    for policy in [OverloadPolicy::DropOldest, OverloadPolicy::CallerRuns, OverloadPolicy::DropIncoming] {
        let pool = build(builder(1).queue_capacity(2).overload(policy).on_shed(|shed| panic!("{shed:?}")));
        let plug = plug_worker(&pool);
        let first = pool.submitter().submit_with(Job::ok(), key("a")).into_result().unwrap();
        accepted(&pool, Job::ok());
        let refused = pool.submitter().submit_with(Job::panic(), key("a"));
        assert_eq!(refused.into_result().unwrap_err().reason(), RejectReason::Duplicate(first));
        plug.open();
        pool.wait_idle(LONG).unwrap();
        let metrics = pool.metrics();
        assert_eq!((metrics.counts.succeeded, metrics.counts.rejected, metrics.hook_panics), (3, 1, 0));
    }
}

/// Each refusal gives the key back.
#[test]
fn a_refused_task_leaves_no_key() {
    let _dog = Watchdog::new();
    let lane = Lane::new("small").queue_capacity(1).delay_capacity(1).max_concurrency(0);
    let pool = build(builder(1).lane(lane));
    let small = pool.submitter_for("small").unwrap();
    drop(small.submit(Job::ok()));
    let refuse = |lane: &TaskSubmitter<Runs>, options: TaskOptions| {
        lane.submit_tracked_with(Job::ok(), options.key("a")).unwrap_err().reason()
    };
    assert_eq!(refuse(&small, TaskOptions::new()), RejectReason::QueueFull);
    let dropping = small.with_overload(OverloadPolicy::DropIncoming);
    assert_eq!(refuse(&dropping, TaskOptions::new()), RejectReason::Dropped);
    let running = small.with_overload(OverloadPolicy::CallerRuns);
    assert_eq!(refuse(&running, TaskOptions::new()), RejectReason::LaneLimit);
    assert_eq!(refuse(&small, TaskOptions::new().ttl(Duration::ZERO)), RejectReason::Expired);
    is_free(&small, "a").expect("free after each");
    let delayed = small.submit_tracked_with(Job::ok(), in_an_hour()).unwrap();
    assert_eq!(refuse(&small, in_an_hour()), RejectReason::DelayFull);
    drop(delayed.cancel());
    is_free(&small, "a").expect("free after the last");
    drop(pool.shutdown(ms(0)));
    assert_eq!(refuse(&small, TaskOptions::new()), RejectReason::Closed);
    assert_rest(&pool);
}

/// While it backs off the key is taken; a task that was given up while it runs has its outcome, so its key is free.
#[test]
fn a_key_is_taken_from_submit_to_outcome() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(HOUR).max_delay(HOUR);
    let pool = build(builder(1).retry(retry));
    let here = pool.submitter();
    let handle = here.submit_tracked_with(Job::fail(), key("a")).unwrap();
    eventually("it backs off", || matches!(handle.status(), TaskStatus::Retrying { .. }));
    assert_eq!(is_free(&here, "a"), Err(RejectReason::Duplicate(handle.id())));
    assert!(matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
    is_free(&here, "a").unwrap();
    let stuck = Gate::new();
    let runs = here.submit_tracked_with(Job::plug(&stuck), key("a")).unwrap();
    stuck.wait_arrived(1);
    assert_eq!(is_free(&here, "a"), Err(RejectReason::Duplicate(runs.id())));
    stuck.open();
    assert!(runs.wait().is_ok());
    is_free(&here, "a").expect("free when its handle answers");
}

/// Two tasks with one key never run at the same time, whatever ends them, and the key comes back each time.
#[test]
fn one_key_is_one_task_under_contention() {
    let _dog = Watchdog::new();
    let retry = RetryPolicy::fixed(Duration::from_micros(5)).max_retries(1);
    let pool = builder(2).queue_capacity(4).overload(OverloadPolicy::DropOldest).retry(retry);
    let pool = build(pool);
    let inside = Arc::<[AtomicU32; 2]>::default();
    std::thread::scope(|scope| {
        for seed in 0..3_u64 {
            let (pool, inside) = (&pool, Arc::clone(&inside));
            scope.spawn(move || {
                let mut rng = crate::support::Rng::new(seed);
                for _ in 0..rounds(100_000, 20) {
                    let (which, ends) = (rng.below(2) as usize, rng.below(3));
                    let inside = Arc::clone(&inside);
                    let job = Job::new(move |_| {
                        assert_eq!(inside[which].fetch_add(1, Ordering::SeqCst), 0, "two at once");
                        std::hint::spin_loop();
                        inside[which].fetch_sub(1, Ordering::SeqCst);
                        if ends == 0 { Err("planned".to_string()) } else { Ok(()) }
                    });
                    let mut options = key(["a", "b"][which]);
                    if rng.below(3) == 0 {
                        options = options.ttl(Duration::from_micros(rng.below(50)));
                    }
                    match pool.submitter().submit_tracked_with(job, options) {
                        Ok(handle) if ends < 2 => drop(handle.cancel_on_drop()),
                        Ok(handle) => drop(handle.wait()),
                        Err(refused) => drop(refused),
                    }
                }
            });
        }
    });
    pool.wait_idle(LONG).unwrap();
    assert_eq!(pool.metrics().counts.panics, 0);
    assert!(["a", "b"].iter().all(|name| is_free(&pool.submitter(), name).is_ok()));
    assert_rest(&pool);
}

#[derive(Clone, Debug)]
enum Act {
    Submit { key: u8, fails: u32, delay: Option<bool>, expires: bool, tracks: bool },
    Cancel(u8),
    Forget(u8),
    Settle,
}

fn act() -> impl Strategy<Value = Act> {
    let submit = (0..6_u8, 0..4_u32, proptest::option::of(any::<bool>()), any::<bool>(), any::<bool>());
    prop_oneof![
        6 => submit.prop_map(|(key, fails, delay, expires, tracks)| Act::Submit { key, fails, delay, expires, tracks }),
        2 => (0..6_u8).prop_map(Act::Cancel),
        1 => (0..6_u8).prop_map(Act::Forget),
        1 => Just(Act::Settle),
    ]
}

/// Whatever was done: once nothing is in flight, every key is free; and what is refused names a task in flight.
fn keys_are_free(acts: Vec<Act>, policy: OverloadPolicy, window: Duration) {
    let ended = Arc::<Mutex<HashMap<_, Outcome>>>::default();
    let note = Arc::clone(&ended);
    let retry = RetryPolicy::fixed(Duration::from_micros(50)).max_retries(2);
    let pool = builder(2).queue_capacity(2).overload(policy).retry(retry).on_event(move |event| {
        if let dockhand::Event::Ended { task, outcome, .. } = event {
            assert!(task.key.is_some());
            assert!(note.lock().unwrap().insert(task.id, *outcome).is_none(), "ended twice");
        }
    });
    let pool: Pool = build(pool);
    let here = pool.submitter();
    let mut handles: HashMap<u8, TaskHandle<Runs>> = HashMap::new();
    for act in acts {
        match act {
            Act::Submit { key, fails, delay, expires, tracks } => {
                let mut options = TaskOptions::new().key(key.to_string());
                if let Some(is_long) = delay {
                    options = options.delay(if is_long { HOUR } else { Duration::from_micros(30) });
                }
                if expires {
                    options = options.ttl(Duration::from_micros(200));
                }
                let job = if fails == 3 { Job::panic() } else { Job::ok_at(fails * 2) };
                if tracks {
                    if let Ok(handle) = here.submit_tracked_with(job, options) {
                        handles.insert(key, handle);
                    }
                } else if let SubmitResult::Rejected(refused) = here.submit_with(job, options) {
                    assert!(refused.reason() != RejectReason::Closed);
                }
            }
            Act::Cancel(key) => drop(handles.get(&key).map(TaskHandle::cancel)),
            Act::Forget(key) => drop(handles.remove(&key).map(TaskHandle::cancel_on_drop)),
            Act::Settle => drop(pool.wait_idle(ms(2))),
        }
    }
    drop(pool.shutdown(window));
    assert_rest(&pool);
    let counts = pool.metrics().counts;
    assert_eq!(ended.lock().unwrap().len() as u64, counts.accepted + counts.caller_run);
    assert_eq!(pool.metrics().hook_panics, 0);
    // Refusals come in order: a key that is taken would be told before the pool's being closed is not; so look at the rest.
    for (_, handle) in handles {
        assert!(handle.wait().is_err() || counts.succeeded > 0);
    }
}

/// As above, and the pool goes on.
fn keys_come_back(acts: Vec<Act>, policy: OverloadPolicy) {
    let retry = RetryPolicy::fixed(Duration::from_micros(50)).max_retries(2);
    let pool = build(builder(2).queue_capacity(2).overload(policy).retry(retry));
    let here = pool.submitter();
    let mut handles = Vec::new();
    for act in acts {
        match act {
            Act::Submit { key, fails, delay, expires, .. } => {
                let mut options = TaskOptions::new().key(key.to_string());
                if let Some(is_long) = delay {
                    options = options.delay(if is_long { HOUR } else { Duration::from_micros(30) });
                }
                if expires {
                    options = options.ttl(Duration::from_micros(200));
                }
                let job = if fails == 3 { Job::panic() } else { Job::ok_at(fails * 2) };
                handles.extend(here.submit_tracked_with(job, options).ok());
            }
            Act::Cancel(which) => drop(handles.get(usize::from(which)).map(TaskHandle::cancel)),
            Act::Forget(which) if usize::from(which) < handles.len() => {
                drop(handles.remove(which.into()).cancel_on_drop());
            }
            Act::Forget(_) => {}
            Act::Settle => drop(pool.wait_idle(ms(2))),
        }
    }
    handles.iter().for_each(|handle| drop(handle.cancel()));
    pool.wait_idle(LONG).unwrap();
    for key in 0..6 {
        assert_eq!(is_free(&here, &key.to_string()), Ok(()));
    }
    assert_rest(&pool);
}

const POLICIES: [OverloadPolicy; 4] = crate::support::POLICIES;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(20_000, 100) as u32))]

    #[test]
    fn a_key_is_free_after_every_outcome(acts in prop::collection::vec(act(), 1..40), policy in 0..4_usize) {
        let _dog = Watchdog::new();
        keys_come_back(acts, POLICIES[policy]);
    }

    #[test]
    fn each_keyed_task_ends_once(acts in prop::collection::vec(act(), 1..40), policy in 0..4_usize, millis in 0..3_u64) {
        let _dog = Watchdog::new();
        keys_are_free(acts, POLICIES[policy], ms(millis));
    }
}
