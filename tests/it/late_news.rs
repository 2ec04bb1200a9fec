//! An end that is told late is told all the same, though a shutdown has come back by then.

use crate::support::{Gate, Job, LONG, Watchdog, accepted, build, builder, plug_worker};
use dockhand::{Event, Outcome, OverloadPolicy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn ended() -> (impl Fn(&Event<'_>) + Send + Sync + 'static, Receiver<Outcome>) {
    let (tell, told) = channel();
    let listener = move |event: &Event<'_>| {
        if let Event::Ended { outcome, .. } = event {
            tell.send(*outcome).unwrap();
        }
    };
    (listener, told)
}

/// The hook takes longer than the grace of a shutdown.
#[test]
fn an_eviction_is_told_though_its_hook_outlasts_the_shutdown() {
    let _dog = Watchdog::new();
    let (listener, told) = ended();
    let gate = Gate::new();
    let in_hook = gate.clone();
    let builder = builder(1).queue_capacity(1).overload(OverloadPolicy::DropOldest);
    let pool = build(builder.on_event(listener).on_shed(move |_| in_hook.pass()));
    let plug = plug_worker(&pool);
    accepted(&pool, Job::ok());
    std::thread::scope(|scope| {
        scope.spawn(|| accepted(&pool, Job::ok()));
        gate.wait_arrived(1);
        plug.open();
        let _ = pool.shutdown(Duration::ZERO);
        gate.open();
    });
    let all: Vec<_> = (0..3).map(|_| told.recv_timeout(LONG)).collect();
    assert_eq!(all.iter().filter(|outcome| **outcome == Ok(Outcome::Evicted)).count(), 1, "{all:?}");
}

/// Another shutdown comes back while the first is still telling what it swept.
#[test]
fn what_a_shutdown_swept_is_told_though_another_is_quicker() {
    let _dog = Watchdog::new();
    let (listener, told) = ended();
    let gate = Gate::new();
    let (in_listener, is_first) = (gate.clone(), AtomicBool::new(true));
    let slow = move |event: &Event<'_>| {
        if matches!(event, Event::Ended { .. }) && is_first.swap(false, Ordering::SeqCst) {
            in_listener.pass();
        }
    };
    let pool = build(builder(1).on_event(listener).on_event(slow));
    let plug = plug_worker(&pool);
    accepted(&pool, Job::ok());
    accepted(&pool, Job::ok());
    std::thread::scope(|scope| {
        scope.spawn(|| pool.shutdown(Duration::ZERO).counts);
        gate.wait_arrived(1);
        let _ = pool.shutdown(Duration::ZERO);
        gate.open();
        plug.open();
    });
    // The plug's task was given up, and the two that waited were swept.
    for _ in 0..3 {
        assert_eq!(told.recv_timeout(LONG), Ok(Outcome::Abandoned));
    }
}
