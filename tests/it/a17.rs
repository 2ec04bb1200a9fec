//! A17: waiting is exact, for handles and for whoever waits beside them.

use crate::cancel::{HOUR, in_an_hour, outcome_of, tracked, tracked_with};
use crate::support::{
    Gate, Job, LONG, Ledger, Runs, SLACK, Tracked, Watchdog, accepted, assert_rest, build, builder,
    eventually, ms, plug_worker, plugged, rounds,
};
use dockhand::{
    Event, Outcome, OverloadPolicy, RejectReason, RetryPolicy, SubmitResult, TaskError, TaskHandle,
    TaskOptions, TaskStatus, WaitError, WorkerPool, processor_fn,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `None` at its time and not before, however many unrelated wakes come, and a second time.
#[test]
fn a17_wait_timeout_has_one_deadline() {
    let _dog = Watchdog::new();
    let pool = build(builder(2));
    let plug = plug_worker(&pool);
    let mut handle = tracked(&pool, Job::plug(&plug));
    plug.wait_arrived(2);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Cancels tell everybody that the pool is emptier.
                drop(tracked_with(&pool, Job::ok(), in_an_hour()).cancel());
            }
        });
        for time in [ms(0), ms(40), ms(100)] {
            let start = Instant::now();
            assert!(handle.wait_timeout(time).is_none());
            let took = start.elapsed();
            assert!(took >= time && took < time + ms(100) * SLACK, "{time:?}: {took:?}");
        }
        done.store(true, Ordering::Relaxed);
    });
    plug.open();
    assert!(handle.wait_timeout(Duration::MAX).unwrap().is_ok());
}

/// The payload's `Drop`, the hooks and the permit are through before the handle answers.
#[test]
fn a17_a_handle_answers_when_everything_is_over() {
    let _dog = Watchdog::new();
    let (hooked, drops) = (Arc::new(AtomicBool::new(false)), Ledger::new());
    let hook = Arc::clone(&hooked);
    let pool = WorkerPool::builder(processor_fn(|load: &mut (bool, Tracked), _cx| match load.0 {
        true => Ok::<(), _>(()),
        false => Err("planned".to_string()),
    }));
    let pool = build(pool.workers(1).dead_letter_sink(|_| dockhand::letter::LetterFate::Discard).on_event(
        move |event| {
            if matches!(event, Event::Ended { .. }) {
                std::thread::yield_now();
                hook.store(true, Ordering::SeqCst);
            }
        },
    ));
    for n in 0..rounds(20_000, 20) {
        let result = pool.submitter().submit_tracked((n % 2 == 0, drops.track())).unwrap().wait();
        assert_eq!(result.is_ok(), n % 2 == 0);
        assert_eq!((drops.alive(), pool.metrics().counts.running), (0, 0));
        assert!(hooked.swap(false, Ordering::SeqCst), "the last event comes before the answer");
    }
}

/// At its time, in every stage in which it may wait; whoever asks does it, and it is not processed.
#[test]
fn a17_a_tracked_task_expires_at_its_time_for_whoever_asks() {
    let _dog = Watchdog::new();
    for stage in ["queued", "delayed", "retrying"] {
        let retry = RetryPolicy::fixed(ms(10)).max_retries(5);
        let pool = build(builder(1).retry(retry));
        let (began, first) = (Gate::new(), Arc::new(AtomicBool::new(true)));
        let job = {
            let (began, first) = (began.clone(), Arc::clone(&first));
            Job::new(move |_| {
                assert!(first.swap(false, Ordering::SeqCst), "processed after its deadline");
                began.pass();
                Err("planned".to_string())
            })
        };
        let ttl = ms(150);
        let options = TaskOptions::new().ttl(ttl);
        let plug = Gate::new();
        let offered = Instant::now();
        let handle = match stage {
            // Its waiter waits while it runs; then it backs off, and its turn does not come.
            "retrying" => tracked_with(&pool, job, options),
            "delayed" => {
                accepted(&pool, Job::plug(&plug));
                tracked_with(&pool, job, options.delay(ms(10)))
            }
            _ => {
                accepted(&pool, Job::plug(&plug));
                tracked_with(&pool, job, options)
            }
        };
        let waiter = std::thread::spawn(move || {
            let result = handle.wait();
            (outcome_of(&result), Instant::now())
        });
        if stage == "retrying" {
            began.wait_arrived(1);
            accepted(&pool, Job::plug(&plug));
            // Long enough for the waiter to wait; it need not, for the facts below.
            std::thread::sleep(ms(20));
            began.open();
        }
        plug.wait_arrived(1);
        let start = Instant::now();
        while !waiter.is_finished() && start.elapsed() < LONG / 10 {
            std::thread::yield_now();
        }
        let in_time = waiter.is_finished();
        plug.open();
        let (outcome, at) = waiter.join().unwrap();
        assert!(in_time, "it did not expire while its turn did not come: {stage}");
        assert_eq!(outcome, Outcome::Expired, "{stage}");
        assert!(at - offered >= ttl && at - offered < ttl + ms(100) * SLACK, "{stage}: {:?}", at - offered);
        pool.wait_idle(LONG).unwrap();
        assert_eq!(pool.metrics().counts.expired, 1);
        assert_rest(&pool);
    }
}

/// By a status, on a thread that does not wait.
#[test]
fn a17_a_status_expires_what_is_late() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let (pool, plug) = plugged(builder(1));
    let options = TaskOptions::new().ttl(ms(5)).key("it");
    let handle = tracked_with(&pool, Job::ok().track(ledger.track()), options);
    eventually("it expires", || handle.status() == TaskStatus::Ended(Outcome::Expired));
    assert_eq!((ledger.alive(), pool.metrics().counts.expired, pool.metrics().counts.queued), (0, 1, 0));
    pool.submitter().submit_with(Job::ok(), TaskOptions::new().key("it")).into_result().unwrap();
    assert!(matches!(handle.wait(), Err(TaskError::Expired)));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(pool.metrics().counts.succeeded, 2);
    assert_rest(&pool);
}

/// What expires on the thread that asks is over before `wait_idle` says so: its hook and its payload's `Drop`.
#[test]
fn a17_wait_idle_waits_for_what_expires_elsewhere() {
    let _dog = Watchdog::new();
    let (hook, drops) = (Gate::new(), Ledger::new());
    let passes = hook.clone();
    let pool = build(builder(1).lane(dockhand::Lane::new("held").max_concurrency(0)).on_shed(move |shed| {
        passes.pass();
        drop(shed);
    }));
    let held = pool.submitter_for("held").unwrap();
    let options = TaskOptions::new().ttl(Duration::from_micros(1));
    let handle = held.submit_tracked_with(Job::ok().track(drops.track()), options).unwrap();
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            eventually("it expires", || handle.status() == TaskStatus::Ended(Outcome::Expired));
        });
        hook.wait_arrived(1);
        let early = pool.wait_idle(ms(50));
        let waiter = scope.spawn(|| (pool.wait_idle(LONG), drops.alive()));
        hook.open();
        assert_eq!(early, Err(WaitError::TimedOut), "its payload is not dropped yet");
        assert_eq!(waiter.join().unwrap(), (Ok(()), 0));
        asks.join().unwrap();
    });
    assert_rest(&pool);
}

/// All waiters are told, at once and once it is true.
#[test]
fn a17_everybody_who_waits_is_told() {
    let _dog = Watchdog::new();
    let drops = Ledger::new();
    for _ in 0..rounds(200, 10) {
        let (pool, plug) = plugged(builder(1).queue_capacity(1));
        let handles: Vec<_> =
            [tracked(&pool, Job::ok().track(drops.track())), tracked_with(&pool, Job::ok(), in_an_hour())]
                .into();
        std::thread::scope(|scope| {
            let idle: Vec<_> =
                (0..3).map(|_| scope.spawn(|| (pool.wait_idle(LONG), drops.alive()))).collect();
            let rooms: Vec<_> =
                (0..2).map(|_| scope.spawn(|| pool.submitter().submit_timeout(Job::ok(), LONG))).collect();
            let mut handles = handles.into_iter();
            let (queued, delayed) = (handles.next().unwrap(), handles.next().unwrap());
            let waits = scope.spawn(|| queued.wait());
            plug.open();
            assert!(waits.join().unwrap().is_ok());
            assert!(rooms.into_iter().all(|room| room.join().unwrap().into_result().is_ok()));
            assert!(idle.iter().all(|waiter| !waiter.is_finished()), "one waits for an hour");
            drop(delayed.cancel());
            for waiter in idle {
                assert_eq!(waiter.join().unwrap(), (Ok(()), 0));
            }
        });
    }
    drops.assert_all_gone();
}

/// A close ends a wait for room; its time does too, and what it brought comes back.
#[test]
fn a17_submit_timeout_is_exact() {
    let _dog = Watchdog::new();
    let (pool, plug) = plugged(builder(1).queue_capacity(1));
    accepted(&pool, Job::ok());
    let submitter = pool.submitter();
    let start = Instant::now();
    let refused = submitter.submit_timeout(Job::ok().number(7), ms(60)).into_result().unwrap_err();
    let took = start.elapsed();
    assert!(took >= ms(60) && took < ms(60) + ms(100) * SLACK, "{took:?}");
    assert_eq!((refused.reason(), refused.into_payload().number), (RejectReason::QueueFull, 7));
    std::thread::scope(|scope| {
        let waiters: Vec<_> =
            (0..4).map(|_| scope.spawn(|| submitter.submit_timeout(Job::ok(), HOUR))).collect();
        pool.begin_shutdown();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap().into_result().unwrap_err().reason(), RejectReason::Closed);
        }
    });
    plug.open();
    assert!(pool.shutdown(LONG).is_clean());
}

/// From a task or hook of the same pool nobody waits; what has ended is answered.
#[test]
fn a17_waiting_inside_would_deadlock_unless_it_has_ended() {
    let _dog = Watchdog::new();
    type Inner = Arc<Mutex<Vec<TaskHandle<Runs>>>>;
    let handles = Inner::default();
    let (tell, told) = channel();
    let ask = {
        let handles = Arc::clone(&handles);
        move || {
            let mut handles = std::mem::take(&mut *handles.lock().unwrap());
            if handles.is_empty() {
                return;
            }
            let asked = handles[0].wait_timeout(LONG).map(|result| result.is_ok());
            let answers = handles.into_iter().map(TaskHandle::wait).collect::<Vec<_>>();
            tell.send((asked, answers)).unwrap();
        }
    };
    let hook = ask.clone();
    let pool = build(builder(1).queue_capacity(1).on_event(move |event| {
        if matches!(event, Event::Refused { .. }) {
            hook();
        }
    }));
    for from in ["task", "caller-run", "hook"] {
        let ended = tracked(&pool, Job::ok());
        pool.wait_idle(LONG).unwrap();
        let plug = plug_worker(&pool);
        let late = tracked_with(&pool, Job::ok(), TaskOptions::new().ttl(Duration::from_micros(1)));
        let waiting = tracked_with(&pool, Job::ok(), in_an_hour()).cancel_on_drop();
        let others = vec![waiting, ended, late];
        let start = Instant::now();
        let ask = ask.clone();
        match from {
            "task" => {
                plug.open();
                pool.wait_idle(ms(1)).unwrap_err();
                handles.lock().unwrap().extend(others);
                accepted(&pool, Job::run(ask));
            }
            "caller-run" => {
                handles.lock().unwrap().extend(others);
                let submitter = pool.submitter().with_overload(OverloadPolicy::CallerRuns);
                assert!(matches!(submitter.submit(Job::run(ask)), SubmitResult::CallerRun(_)));
            }
            _ => {
                handles.lock().unwrap().extend(others);
                drop(pool.submit(Job::ok()));
            }
        }
        let (asked, answers) = told.recv_timeout(LONG).unwrap();
        assert!(start.elapsed() < ms(500) * SLACK);
        assert_eq!(asked, Some(false), "{from}");
        assert!(matches!(answers[0], Err(TaskError::WouldDeadlock)), "{from}");
        assert!(answers[1].is_ok(), "{from}");
        assert!(matches!(answers[2], Err(TaskError::Expired)), "it waits past its deadline: {from}");
        plug.open();
        eventually("the plug is gone", || pool.metrics().busy_workers == 0);
    }
}
