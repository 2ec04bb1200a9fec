//! A16: building is all or nothing.

use crate::support::{
    Job, LONG, Ledger, Watchdog, assert_rest, assert_threads, build, builder, ms, plug_worker, unique,
};
use dockhand::{BuildError, Lane, OverloadPolicy, RejectReason, SubmitResult, WorkerPool, processor_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn a16_settings_that_cannot_be_are_refused() {
    let _dog = Watchdog::new();
    assert!(matches!(builder(0).build(), Err(BuildError::NoWorkers)));
    assert!(matches!(builder(usize::MAX).build(), Err(BuildError::TooManyWorkers { .. })));
    let no_room = builder(1).queue_capacity(0).build();
    assert!(matches!(no_room, Err(BuildError::NoCapacity { lane }) if lane == "default"));
    let no_room = builder(1).lane(Lane::new("a").queue_capacity(0)).build();
    assert!(matches!(no_room, Err(BuildError::NoCapacity { lane }) if lane == "a"));
    let twice = builder(1).lane(Lane::new("a")).lane(Lane::new("b")).lane(Lane::new("a")).build();
    assert!(matches!(twice, Err(BuildError::DuplicateLane { lane }) if lane == "a"));
    let twice = builder(1).lane(Lane::new("default")).lane(Lane::new("default")).build();
    assert!(matches!(twice, Err(BuildError::DuplicateLane { .. })));
    assert!(matches!(builder(1).lane(Lane::new("")).build(), Err(BuildError::EmptyLaneName)));
    for capacity in [usize::MAX, usize::MAX / 2, isize::MAX as usize, 1 << 60] {
        let too_large = builder(1).queue_capacity(capacity).build();
        assert!(matches!(too_large, Err(BuildError::CapacityTooLarge { lane }) if lane == "default"));
        let too_large = builder(1).lane(Lane::new("a").queue_capacity(capacity)).build();
        assert!(matches!(too_large, Err(BuildError::CapacityTooLarge { lane }) if lane == "a"));
        let of_nothing = WorkerPool::builder(processor_fn(|_: &mut (), _cx| Ok::<(), String>(())));
        let of_nothing = of_nothing.queue_capacity(capacity).build();
        assert!(matches!(of_nothing, Err(BuildError::CapacityTooLarge { .. })));
    }
}

/// What the user gave is dropped in the guard: no panic comes out of `build`, and no two make the process abort.
#[test]
fn a16_user_code_whose_drop_panics_is_refused_like_any_other() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            crate::support::panic_quietly();
        }
    }
    let _dog = Watchdog::new();
    let with_bombs = || {
        let (one, two, three) = (Bomb, Bomb, Bomb);
        builder(0)
            .on_event(move |_| {
                let _ = &one;
            })
            .on_shed(move |_| {
                let _ = &two;
            })
            .on_worker_stop(move |_| {
                let _ = &three;
            })
    };
    assert!(matches!(with_bombs().build(), Err(BuildError::NoWorkers)));
    assert!(matches!(with_bombs().build_manual(), Err(BuildError::NoWorkers)));
}

#[test]
fn a16_a_queue_is_sized_by_cost_and_wait() {
    let _dog = Watchdog::new();
    let second = Duration::from_secs(1);
    let cases = [
        (8, ms(200), 10 * second, Some(400)),
        (1, ms(300), second, Some(3)),
        (3, second, second, Some(3)),
        (2, second, ms(500), Some(1)),
        (1, second, ms(999), None),
        (4, Duration::ZERO, second, None),
        (4, second, Duration::ZERO, None),
        (4, Duration::ZERO, Duration::ZERO, None),
        (1, Duration::MAX, Duration::MAX, Some(1)),
    ];
    for (workers, cost, wait, expected) in cases {
        let result = builder(workers).queue_capacity_for(cost, wait).build();
        let capacity = result.as_ref().map(|pool| pool.metrics().lanes[0].queue_capacity).ok();
        assert_eq!(capacity, expected, "{workers} workers, {cost:?}, {wait:?}");
        assert!(result.is_ok() || matches!(result, Err(BuildError::NoCapacity { .. })));
    }
    let endless = builder(2).queue_capacity_for(Duration::from_nanos(1), Duration::MAX).build();
    assert!(matches!(endless, Err(BuildError::CapacityTooLarge { .. })));
    // Whatever the order of the calls, and the last one counts.
    let pool =
        builder(2).queue_capacity(7).queue_capacity_for(second, 10 * second).workers(3).build().unwrap();
    assert_eq!(pool.metrics().lanes[0].queue_capacity, 30);
    let pool = builder(2).queue_capacity_for(second, 10 * second).queue_capacity(7).build().unwrap();
    assert_eq!(pool.metrics().lanes[0].queue_capacity, 7);
}

/// Zero is zero, and not "unlimited"; N is N.
#[test]
fn a16_a_bound_means_exactly_what_it_says() {
    let _dog = Watchdog::new();
    for capacity in [1, 2, 3, 64, 100] {
        let lane = Lane::new("default").queue_capacity(capacity).overload(OverloadPolicy::Reject);
        let pool = build(builder(1).lane(lane).overload(OverloadPolicy::DropOldest).dead_letter_capacity(0));
        let plug = plug_worker(&pool);
        for n in 0..capacity + 3 {
            let answer = pool.submit(Job::fail()).into_result();
            let reason = answer.err().map(|refused| refused.reason());
            assert_eq!(reason, (n >= capacity).then_some(RejectReason::QueueFull));
        }
        assert_eq!(pool.metrics().counts.queued, capacity as u64);
        plug.open();
        pool.wait_idle(LONG).unwrap();
        assert_eq!((pool.dead_letters().len(), pool.metrics().letters_evicted), (0, capacity as u64));
        assert_rest(&pool);
    }
}

#[test]
fn a16_threads_that_cannot_be_started_leave_nothing() {
    let _dog = Watchdog::new();
    let (ledger, ran) = (Ledger::new(), Arc::new(AtomicUsize::new(0)));
    let hooked = |name: &str| {
        let (starts, tracked) = (Arc::clone(&ran), ledger.track());
        builder(3).name(name).on_worker_start(move |_| {
            let _ = &tracked;
            starts.fetch_add(1, Ordering::Relaxed);
        })
    };
    for bytes in [usize::MAX / 2, isize::MAX as usize - 4096, 1 << 62] {
        let name = unique("ss");
        let result = hooked(&name).stack_size(bytes).build();
        assert!(matches!(result, Err(BuildError::Spawn { started: 0, .. })), "{bytes}: {result:?}");
        assert_threads(&name, 0);
    }
    for name in ["\0", "a\0b"] {
        assert!(matches!(hooked(name).build(), Err(BuildError::Spawn { started: 0, .. })));
    }
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    ledger.assert_all_gone();
}

#[test]
fn a16_start_hooks_run_before_the_pool_is_there() {
    let _dog = Watchdog::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (starts, stops) = (Arc::clone(&log), Arc::clone(&log));
    let name = unique("nm");
    let note = |log: &Mutex<Vec<(bool, usize, String)>>, start, me| {
        let thread = std::thread::current().name().unwrap_or_default().to_string();
        log.lock().unwrap().push((start, me, thread));
    };
    let pool = builder(4)
        .name(&name)
        .stack_size(256 * 1024)
        .on_worker_start(move |me| note(&starts, true, me))
        .on_worker_stop(move |me| note(&stops, false, me));
    let pool = build(pool);
    let expected = |start: bool| -> Vec<_> { (0..4).map(|me| (start, me, format!("{name}-{me}"))).collect() };
    let sorted = |log: &Mutex<Vec<_>>| {
        let mut seen = std::mem::take(&mut *log.lock().unwrap());
        seen.sort();
        seen
    };
    assert_eq!(sorted(&log), expected(true));
    assert_threads(&name, 5);
    let names: Vec<_> = pool.status().workers.into_iter().map(|worker| worker.name).collect();
    assert_eq!(names, (0..4).map(|me| format!("{name}-{me}")).collect::<Vec<_>>());
    assert!(pool.shutdown(LONG).is_clean());
    assert_eq!(sorted(&log), expected(false));
    assert_threads(&name, 0);
}

#[test]
fn a16_lanes_are_what_was_declared() {
    let _dog = Watchdog::new();
    let names = |pool: &WorkerPool<crate::support::Runs>| -> Vec<_> {
        pool.metrics()
            .lanes
            .iter()
            .map(|lane| (lane.name.clone(), lane.queue_capacity, lane.delay_capacity))
            .collect()
    };
    let pool = builder(1)
        .lane(Lane::new("a").queue_capacity(3))
        .lane(Lane::new("b").delay_capacity(0))
        .queue_capacity(9);
    assert_eq!(
        names(&pool.build().unwrap()),
        [("a".into(), 3, 3), ("b".into(), 9, 0), ("default".into(), 9, 9)]
    );
    let pool = builder(1).lane(Lane::new("default").queue_capacity(5)).lane(Lane::new("a")).build().unwrap();
    assert_eq!(names(&pool), [("default".into(), 5, 5), ("a".into(), 1024, 1024)]);
    assert!(matches!(pool.submit(Job::ok()), SubmitResult::Accepted(_)));
    pool.wait_idle(LONG).unwrap();
    assert_eq!(pool.metrics().lanes[0].counts.succeeded, 1);
}
