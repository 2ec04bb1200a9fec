//! A7: waiting work costs nobody.

use crate::support::{
    Gate, Job, LONG, SLACK, Watchdog, accepted, assert_rest, build, builder, eventually, ms, plug_worker,
    unique,
};
use dockhand::{OverloadPolicy, RetryPolicy, SubmitResult, TaskOptions};
use std::sync::mpsc::channel;
use std::time::Instant;

/// `CallerRuns`, both workers plugged, the lane full; delayed tasks and a retry fall due meanwhile, and producers go on.
#[test]
fn a07_delayed_tasks_and_retries_run_on_workers_only() {
    let _dog = Watchdog::new();
    let name = unique("due");
    let lane = dockhand::Lane::new("default").queue_capacity(1).delay_capacity(8);
    let retry = RetryPolicy::fixed(ms(30)).max_retries(1);
    let pool = builder(2).name(&name).lane(lane.overload(OverloadPolicy::CallerRuns).retry(retry));
    let pool = build(pool);
    let (tell, told) = channel::<(&str, Instant, String)>();
    let note = |what: &'static str| {
        let tell = tell.clone();
        move || {
            let thread = std::thread::current().name().unwrap_or_default().to_string();
            tell.send((what, Instant::now(), thread)).unwrap();
        }
    };
    let began = Instant::now();
    let after = |delay| TaskOptions::new().delay(delay);
    // It fails once, before the workers are plugged.
    let again = note("retry");
    let flaky = Job::new(move |cx| {
        if cx.attempt() == 1 {
            return Err("again".into());
        }
        again();
        Ok(())
    });
    accepted(&pool, flaky);
    eventually("it failed", || pool.metrics().counts.delayed == 1);
    let plugs = [(); 2].map(|()| plug_worker(&pool));
    let submitter = pool.submitter();
    let (slow, hold) = (note("d1"), Gate::new());
    let held = hold.clone();
    let d1 = Job::run(move || {
        slow();
        held.pass();
    });
    submitter.submit_with(d1, after(ms(10))).into_result().unwrap();
    submitter.submit_with(Job::run(note("d2")), after(ms(50))).into_result().unwrap();
    submitter.submit(Job::run(note("queued"))).into_result().unwrap();
    // The lane is full: whoever offers more runs that itself, and nothing of what is due.
    let mut more = 3;
    while began.elapsed() < ms(120) || more > 0 {
        let start = Instant::now();
        let run = submitter.submit(Job::ok());
        assert!(matches!(run, SubmitResult::CallerRun(_)), "{run:?}");
        assert!(start.elapsed() < ms(100) * SLACK, "a producer was held up");
        if more > 0 {
            submitter.submit_with(Job::ok(), after(ms(1))).into_result().unwrap();
            more -= 1;
        }
    }
    assert!(told.try_recv().is_err(), "nothing starts while the workers are plugged");
    assert_eq!(pool.metrics().counts.delayed, 6);
    submitter.submit_with(Job::run(note("d3")), after(ms(60))).into_result().unwrap();
    let opened = Instant::now();
    plugs.iter().for_each(Gate::open);
    // All but D1's end come, while D1 runs on.
    let mut seen = Vec::new();
    while seen.len() < 5 {
        let (what, at, thread) = told.recv_timeout(LONG).expect("something waits for D1");
        assert!(thread.starts_with(&name), "{what} ran on {thread:?}");
        assert!(at >= opened, "{what}");
        seen.push(what);
    }
    seen.sort_unstable();
    assert_eq!(seen, ["d1", "d2", "d3", "queued", "retry"]);
    assert!(opened.elapsed() < ms(500) * SLACK, "{:?}", opened.elapsed());
    eventually("D1 runs on, alone", || pool.metrics().busy_workers == 1);
    hold.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}
