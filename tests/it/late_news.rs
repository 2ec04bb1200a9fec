//! An end that is told late is told all the same, though a shutdown has come back by then.

use crate::support::{Gate, Job, LONG, Runs, Watchdog, accepted, build, builder, plug_worker};
use dockhand::{Event, Outcome, OverloadPolicy, PoolBuilder, RetryPolicy, TaskError, WaitError, WorkerPool};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock, Weak};
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

/// Two listeners that write down what they hear; before it hears `held`, the first has to pass the gate.
fn heard_behind(
    gate: &Gate,
    held: &'static str,
    mut builder: PoolBuilder<Runs>,
) -> (PoolBuilder<Runs>, Receiver<String>) {
    let (tell, told) = channel();
    for listener in 0..2 {
        let (tell, gate) = (tell.clone(), gate.clone());
        builder = builder.on_event(move |event| {
            let line = match event {
                Event::Started { .. } => "started",
                Event::Progress { .. } => "progress",
                Event::AttemptFailed { .. } => "failed",
                Event::RetryScheduled { .. } => "retry",
                Event::Ended { outcome: Outcome::Abandoned, .. } => "abandoned",
                _ => return,
            };
            if (listener, line) == (0, held) {
                gate.pass();
            }
            tell.send(format!("{listener} {line}")).unwrap();
        });
    }
    (builder, told)
}

/// A shutdown does not wait for a listener, and what the listener is hearing then is not heard after the end.
#[test]
fn the_end_of_a_task_that_is_given_up_is_told_after_what_is_being_told() {
    let _dog = Watchdog::new();
    let events = ["started", "progress", "failed"];
    for (place, held) in events.into_iter().enumerate() {
        let gate = Gate::new();
        let retry = RetryPolicy::fixed(Duration::from_secs(3600));
        let (builder, told) = heard_behind(&gate, held, builder(1).retry(retry));
        let pool = build(builder);
        let work = Job::new(|cx| {
            cx.report_progress(1, 2);
            Err("no".into())
        });
        let handle = pool.submitter().submit_tracked(work).unwrap();
        gate.wait_arrived(1);
        let report = pool.shutdown(Duration::ZERO);
        assert_eq!((report.still_running.len(), report.counts.abandoned), (1, 1), "{report:?}");
        assert!(matches!(handle.wait(), Err(TaskError::Abandoned)), "waits for a listener");
        assert!(pool.wait_idle(Duration::ZERO).is_err(), "an end has not been told");
        gate.open();
        pool.wait_idle(LONG).unwrap();
        drop(pool);
        let expected = events[..=place].iter().chain(&["abandoned"]);
        let expected: Vec<_> = expected.flat_map(|line| [0, 1].map(|who| format!("{who} {line}"))).collect();
        // Until the pool has gone with its listeners.
        assert_eq!(told.iter().collect::<Vec<_>>(), expected);
    }
}

/// Several threads of one attempt report its progress, and a shutdown gives it up while they are all being heard.
#[test]
fn the_last_thread_that_tells_of_a_task_tells_its_end() {
    let _dog = Watchdog::new();
    let gate = Gate::new();
    let (tell, told) = channel();
    let in_listener = gate.clone();
    let builder = builder(1).progress_every(Duration::ZERO, 1).on_event(move |event| match event {
        Event::Progress { progress, .. } => {
            in_listener.pass();
            tell.send(progress.done).unwrap();
        }
        Event::Ended { .. } => tell.send(0).unwrap(),
        _ => {}
    });
    let pool = build(builder);
    accepted(
        &pool,
        Job::new(|cx| {
            std::thread::scope(|scope| {
                for done in 1..=4 {
                    scope.spawn(move || cx.report_progress(done, 4));
                }
            });
            cx.report_progress(5, 5);
            Ok(())
        }),
    );
    gate.wait_arrived(4);
    let _ = pool.shutdown(Duration::ZERO);
    gate.open();
    drop(pool);
    let mut all: Vec<_> = told.iter().collect();
    assert_eq!(all.pop(), Some(0), "the end comes last");
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4]);
}

/// A thread that a task has started reports its progress, and is given up while a listener hears of it.
#[test]
fn a_listener_is_inside_on_a_thread_that_a_task_has_started() {
    let _dog = Watchdog::new();
    let gate = Gate::new();
    let (tell, told) = channel();
    let (in_listener, known) = (gate.clone(), Arc::new(OnceLock::<Weak<WorkerPool<Runs>>>::new()));
    let pool_of = Arc::clone(&known);
    let pool = build(builder(1).on_event(move |event| {
        let name = match event {
            Event::Progress { .. } => "progress",
            Event::Ended { .. } => "ended",
            _ => return,
        };
        if name == "progress" {
            in_listener.pass();
        }
        let pool = pool_of.get().unwrap().upgrade().unwrap();
        let counts = pool.metrics().counts;
        tell.send((name, pool.wait_idle(Duration::MAX), counts.abandoned, counts.is_conserved())).unwrap();
    }));
    known.set(Arc::downgrade(&pool)).unwrap();
    accepted(
        &pool,
        Job::new(|cx| {
            std::thread::scope(|scope| {
                scope.spawn(|| cx.report_progress(1, 2));
            });
            Ok(())
        }),
    );
    gate.wait_arrived(1);
    assert_eq!(pool.shutdown(Duration::ZERO).counts.abandoned, 1);
    gate.open();
    pool.wait_idle(LONG).unwrap();
    for name in ["progress", "ended"] {
        assert_eq!(told.recv_timeout(LONG), Ok((name, Err(WaitError::WouldDeadlock), 1, true)));
    }
}
