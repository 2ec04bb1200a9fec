//! A8, A18: what waits, waits for free.

use crate::support::{Gate, Job, Watchdog, build, builder, cpu_of, eventually, ms, unique};
use dockhand::{IdleStrategy, Lane, TaskOptions};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The time that the pools' threads use while nothing happens for two seconds.
fn cost_of_two_seconds(names: &[&str]) -> Option<Vec<Duration>> {
    let used = || names.iter().map(|name| cpu_of(name)).collect::<Option<Vec<_>>>();
    let before = used()?;
    let (_never, clock) = channel::<()>();
    // The one thing to wait for is time itself.
    assert!(clock.recv_timeout(ms(2000)).is_err());
    Some(used()?.into_iter().zip(before).map(|(after, before)| after - before).collect())
}

/// The one that looks on is awake, the others sleep, and what they use is one core at the most.
#[test]
fn one_worker_is_kept_spinning_where_there_is_a_core_for_it() {
    let _dog = Watchdog::new();
    let name = unique("spin");
    let pool = build(builder(4).name(&name).idle(IdleStrategy::KeepOneSpinning));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let sleepers = if cores == 1 { 4 } else { 3 };
    for _ in 0..10 {
        assert_eq!(pool.submitter().submit_batch((0..8).map(|_| Job::ok())).accepted, 8);
        pool.wait_idle(Duration::from_secs(60)).unwrap();
        eventually("one looks on", || pool.metrics().sleeping_workers == sleepers);
    }
    let Some(cost) = cost_of_two_seconds(&[&name]) else { return };
    assert_eq!(pool.metrics().sleeping_workers, sleepers, "it looked on all the time");
    assert!(cost[0] < ms(2500), "{cost:?}");
    assert!(cores > 1 || cost[0] < ms(50), "{cost:?}");
    assert!(pool.shutdown(Duration::MAX).is_clean());
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are asked for")]
fn a08_a18_what_a_limit_or_a_clock_holds_back_costs_no_processor_time() {
    let _dog = Watchdog::new();
    let [held, idle, hour, paused] = [(); 4].map(|()| unique("cost"));
    let spin = IdleStrategy::SpinThenPark(Duration::from_micros(50));
    let limited = builder(4).name(&held).lane(Lane::new("a").max_concurrency(1).queue_capacity(64));
    let limited = build(limited.idle(spin));
    let a = limited.submitter_for("a").unwrap();
    let plug = Gate::new();
    a.submit(Job::plug(&plug)).into_result().unwrap();
    plug.wait_arrived(1);
    for n in 0..50_u64 {
        let due = TaskOptions::new().delay(ms(n % 2));
        a.submit_with(Job::ok(), due).into_result().unwrap();
    }
    let at_rest = build(builder(8).name(&idle));
    let delayed = build(builder(8).name(&hour));
    let later = |secs| TaskOptions::new().delay(Duration::from_secs(secs));
    delayed.submitter().submit_with(Job::ok(), later(3600)).into_result().unwrap();
    delayed
        .submitter()
        .submit_with(Job::ok(), TaskOptions::new().delay(Duration::MAX))
        .into_result()
        .unwrap();
    // A due task and a fresh one in a paused lane, and a closed door.
    let waits = build(builder(4).name(&paused).lane(Lane::new("a").max_concurrency(0)));
    let b = waits.submitter_for("a").unwrap();
    b.submit(Job::ok()).into_result().unwrap();
    b.submit_with(Job::ok(), TaskOptions::new().delay(ms(1))).into_result().unwrap();
    waits.begin_shutdown();
    for (pool, sleepers) in [(&limited, 3), (&at_rest, 8), (&delayed, 8), (&waits, 4)] {
        eventually("all sleep", || pool.metrics().sleeping_workers == sleepers);
    }
    let Some(cost) = cost_of_two_seconds(&[&held, &idle, &hour, &paused]) else { return };
    println!(
        "processor time in 2 s: W = 4 with 50 held back {:?}, W = 8 idle {:?}, a task in 1 h {:?}, paused {:?}",
        cost[0], cost[1], cost[2], cost[3]
    );
    assert!(cost[0] < ms(100), "{cost:?}");
    assert!(cost[1..].iter().all(|cost| *cost < ms(50)), "{cost:?}");
    plug.open();
    let _ = waits.shutdown(Duration::ZERO);
}
