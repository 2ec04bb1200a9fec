//! What the collector exposes, read by a parser that shares no code with the client that writes it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod reader;

use dockhand::{
    Lane, ManualClock, ManualPool, OverloadPolicy, ProcessorFn, RetryPolicy, TaskOptions, Timing, WorkerPool,
    processor_fn,
};
use prometheus_client::registry::Registry;
use prometheus_parse::Value;
use reader::{Exposition, assert_is_histogram};
use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const WATCHDOG: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

fn registry_of<P: dockhand::Processor>(pool: &WorkerPool<P>) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(pool.collector()));
    registry
}

#[derive(Clone, Copy)]
enum Work {
    Take(Duration),
    Fail,
    Panic,
}

/// A pool whose tasks take time by its clock, with a lane for each way to be full.
fn every_lane(clock: &ManualClock) -> ManualPool<ProcessorFn<Work, (), &'static str>> {
    let works = clock.clone();
    let full = |name: &str, policy| Lane::new(name).queue_capacity(1).overload(policy);
    WorkerPool::builder(processor_fn(move |work: &mut Work, _cx| match *work {
        Work::Take(time) => {
            works.advance(time);
            Ok(())
        }
        Work::Fail => Err("no"),
        Work::Panic => panic!("as it should"),
    }))
    .timing(Timing::Full)
    .lane(full("evicts", OverloadPolicy::DropOldest))
    .lane(full("drops", OverloadPolicy::DropIncoming))
    .lane(full("runs", OverloadPolicy::CallerRuns))
    .lane(full("rejects", OverloadPolicy::Reject))
    .lane(Lane::new("times-out").attempt_timeout(SECOND))
    .lane(Lane::new("limited").max_concurrency(3))
    .retry(RetryPolicy::fixed(60 * SECOND).max_retries(2))
    .dead_letter_capacity(2)
    .dead_letter_sink(|_| panic!("a broken sink"))
    .build_manual_on(clock)
    .unwrap()
}

#[test]
fn what_is_exposed_is_what_the_pool_counts_for_every_answer_and_every_outcome() {
    let clock = ManualClock::new();
    let pool = every_lane(&clock);
    let registry = registry_of(&pool);
    Exposition::of(&registry).assert_shows(&pool.metrics());

    for lane in ["evicts", "drops", "runs", "rejects"] {
        let submitter = pool.submitter_for(lane).unwrap();
        for millis in 1..=2 {
            let _ = submitter.submit(Work::Take(Duration::from_millis(millis)));
        }
    }
    let limited = pool.submitter_for("limited").unwrap();
    for work in [Work::Take(SECOND / 7), Work::Fail, Work::Panic] {
        limited.submit(work).into_result().unwrap();
    }
    let times_out = pool.submitter_for("times-out").unwrap();
    times_out.submit(Work::Take(2 * SECOND)).into_result().unwrap();
    let submitter = pool.submitter();
    let with = |options| submitter.submit_tracked_with(Work::Take(SECOND), options).unwrap();
    drop(with(TaskOptions::new().delay(SECOND)).cancel_on_drop());
    let _expires = with(TaskOptions::new().ttl(SECOND / 2));
    let _in_years = with(TaskOptions::new().delay(1_000_000_000 * SECOND));
    clock.advance(SECOND);
    let waiting = Exposition::of(&registry);
    waiting.assert_shows(&pool.metrics());
    let age = waiting.number("dockhand_oldest_queued_seconds", &[("lane", "limited")]);
    assert_eq!(age, SECOND.as_secs_f64());

    pool.run_until_idle();
    pool.wait_idle(3600 * SECOND).unwrap_err(); // one is due in years
    Exposition::of(&registry).assert_shows(&pool.metrics());
    let report = pool.shutdown(Duration::ZERO);
    assert_eq!(report.abandoned.len(), 1);

    let metrics = pool.metrics();
    let counts = &metrics.counts;
    assert!(counts.is_conserved());
    let ends = [counts.succeeded, counts.dead_lettered, counts.cancelled, counts.expired];
    assert!(ends.into_iter().chain([counts.evicted, counts.abandoned]).all(|n| n > 0), "{counts:?}");
    let answers = [counts.accepted, counts.rejected, counts.caller_run, counts.dropped];
    assert!(answers.into_iter().chain([counts.retries, counts.panics, counts.timeouts]).all(|n| n > 0));
    assert!(metrics.letters_evicted > 0 && metrics.hook_panics > 0);
    let end = Exposition::of(&registry);
    end.assert_shows(&metrics);
    assert_eq!(end.number("dockhand_permits_limit", &[("lane", "limited")]), 3.0);
    assert_eq!(end.number("dockhand_permits_in_use", &[("lane", "limited")]), 0.0);
    assert!(!end.text.contains(r#"dockhand_permits_limit{lane="default"}"#));
}

#[test]
fn each_family_has_its_help_its_type_and_its_unit_once() {
    let registry = registry_of(&every_lane(&ManualClock::new()));
    let text = Exposition::of(&registry).text;
    let families: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert_eq!(families.len(), 21, "{families:#?}");
    for family in families {
        let (name, kind) = family.split_once(' ').unwrap();
        let heads = |what: &str| {
            let head = format!("# {what} {name} ");
            text.lines().filter(|line| line.starts_with(&head)).count()
        };
        assert_eq!((heads("HELP"), heads("TYPE")), (1, 1), "{name}");
        assert_eq!(heads("UNIT"), usize::from(name.ends_with("_seconds")), "{name}");
        let total = text.contains(&format!("\n{name}_total"));
        assert_eq!(total, kind == "counter", "{name} is a {kind}");
    }
}

#[test]
fn counters_never_fall_and_buckets_add_up_while_work_moves() {
    let pool = WorkerPool::builder(processor_fn(|n: &mut u64, cx: &dockhand::TaskContext<'_, u64>| {
        thread::sleep(Duration::from_micros(*n % 300));
        if n.is_multiple_of(5) && cx.attempt() == 1 { Err("again") } else { Ok(()) }
    }))
    .workers(4)
    .timing(Timing::Full)
    .retry(RetryPolicy::fixed(Duration::from_millis(1)))
    .build()
    .unwrap();
    let registry = registry_of(&pool);
    let done = Arc::new(AtomicBool::new(false));
    let producer = thread::spawn({
        let (submitter, done) = (pool.submitter(), Arc::clone(&done));
        move || {
            for n in 0..5000 {
                assert!(submitter.submit_timeout(n, WATCHDOG).into_result().is_ok());
            }
            done.store(true, Ordering::Release);
        }
    });
    let mut before: HashMap<String, f64> = HashMap::new();
    let mut scrapes = 0;
    while !done.load(Ordering::Acquire) || scrapes < 3 {
        let exposition = Exposition::of(&registry);
        for sample in &exposition.scrape.samples {
            let name = format!("{}{{{}}}", sample.metric, sample.labels);
            match &sample.value {
                Value::Untyped(n) => {
                    // Totals, sums and counts.
                    let last = before.insert(name.clone(), *n).unwrap_or(0.0);
                    assert!(last <= *n, "{name} fell from {last} to {n}");
                }
                Value::Histogram(buckets) => {
                    let count =
                        exposition.number(&format!("{}_count", sample.metric), &[("lane", "default")]);
                    assert_is_histogram(buckets, count);
                }
                _ => {}
            }
        }
        scrapes += 1;
    }
    producer.join().unwrap();
    pool.wait_idle(WATCHDOG).unwrap();
    let end = Exposition::of(&registry);
    end.assert_shows(&pool.metrics());
    let succeeded = [("lane", "default"), ("outcome", "succeeded")];
    assert_eq!(end.number("dockhand_tasks_total", &succeeded), 5000.0);
    assert_eq!(end.number("dockhand_run_seconds_count", &[("lane", "default")]), 6000.0);
    let states = ["busy", "searching", "sleeping"].map(|state| ("state", state));
    let workers = states.map(|state| end.number("dockhand_workers", &[state]));
    assert_eq!(workers.into_iter().sum::<f64>(), 4.0);
}

#[test]
fn a_pool_that_is_gone_shows_its_last_numbers_and_no_thread_stays_for_them() {
    let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())))
        .timing(Timing::Full)
        .build()
        .unwrap();
    let registry = registry_of(&pool);
    let _ = pool.submitter().submit_batch(0..10);
    pool.wait_idle(WATCHDOG).unwrap();
    let last = pool.metrics();
    drop(pool);
    let exposition = Exposition::of(&registry);
    exposition.assert_shows(&last);
    for state in ["busy", "searching", "sleeping"] {
        assert_eq!(exposition.number("dockhand_workers", &[("state", state)]), 0.0);
    }
}

#[test]
fn what_took_longer_than_the_last_bound_is_beyond_it() {
    let clock = ManualClock::new();
    let pool = every_lane(&clock);
    let registry = registry_of(&pool);
    for time in [SECOND, 2 * 3600 * SECOND] {
        pool.submit(Work::Take(time)).into_result().unwrap();
        assert!(pool.run_one());
    }
    let exposition = Exposition::of(&registry);
    let buckets = exposition.buckets("dockhand_run_seconds", &[("lane", "default")]);
    assert_is_histogram(buckets, 2.0);
    let at_most = |time: Duration| {
        let below = buckets.iter().filter(|bucket| bucket.less_than <= time.as_secs_f64());
        below.map(|bucket| bucket.count).fold(0.0, f64::max)
    };
    assert_eq!((at_most(SECOND / 2), at_most(3 * SECOND), at_most(3 * 3600 * SECOND)), (0.0, 1.0, 1.0));
}

#[test]
fn a_pool_that_does_not_time_its_tasks_has_no_times_to_show() {
    let builder = || WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(())));
    let times = ["dockhand_queue_wait_seconds", "dockhand_run_seconds", "dockhand_caller_run_seconds"];
    for (timing, shows_times, shows_ages) in
        [(Timing::Full, true, true), (Timing::Sampled(4), true, false), (Timing::Off, false, false)]
    {
        let pool = builder().timing(timing).build_manual().unwrap();
        let exposition = Exposition::of(&registry_of(&pool));
        assert!(times.iter().all(|family| exposition.has(family) == shows_times), "{timing:?}");
        assert_eq!(exposition.has("dockhand_oldest_queued_seconds"), shows_ages, "{timing:?}");
    }
}

#[test]
fn the_program_prints_an_exposition_of_what_it_did() {
    let printed = Command::new(env!("CARGO_BIN_EXE_exposition")).output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let exposition = Exposition::read(String::from_utf8(printed.stdout).unwrap());
    let tasks = |outcome: &str| {
        exposition.number("dockhand_tasks_total", &[("lane", "express"), ("outcome", outcome)])
    };
    assert_eq!((tasks("succeeded"), tasks("dead_lettered")), (2.0, 1.0));
    assert_eq!(exposition.number("dockhand_retries_total", &[("lane", "express")]), 3.0);
}

#[test]
#[cfg(target_os = "linux")]
fn an_exposition_that_cannot_be_written_is_an_error_and_no_panic() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_exposition")).stdout(full).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left"), "{said}");
}
