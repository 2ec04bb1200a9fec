//! The logger is user code: whatever it writes to may fail, and it may do to the pool what any hook may.

use crate::child::{Ended, Start};
use crate::support::{Gate, Job, LONG, Runs, accepted, assert_rest, builder};
use dockhand::{OverloadPolicy, PoolBuilder, RetryPolicy, SubmitResult, WorkerPool};
use std::fmt::Arguments;
use std::fs::File;
use std::io::{Write, stderr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

const TASKS: u64 = 200;
const LETTERS: u64 = 10;
/// Two failed attempts and a letter each, and the letters that leave the store.
const RECORDS: u64 = 3 * TASKS + TASKS - LETTERS;

#[test]
fn a_logger_on_a_full_disk_changes_no_count() {
    for on_error in ["ignore", "panic"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let Some(ended) = Start::given(on_error).stderr(full).run(log_what_cannot_be_written) else { return };
        ended.assert_code(0);
    }
}

#[test]
fn a_logger_on_a_stderr_that_nobody_reads_changes_no_count() {
    for on_error in ["ignore", "panic"] {
        let Some(ended) = run_unheard(on_error) else { return };
        ended.assert_code(0);
    }
}

fn run_unheard(on_error: &str) -> Option<Ended> {
    let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let writer = reader.stdin.take().unwrap();
    reader.wait().unwrap();
    Start::given(on_error).stderr(writer).run(log_what_cannot_be_written)
}

fn log_what_cannot_be_written(on_error: &str) {
    static UNWRITTEN: AtomicU64 = AtomicU64::new(0);
    let panics = on_error == "panic";
    set_logger(move |record| {
        if let Err(error) = stderr().write_all(format!("{record}\n").as_bytes()) {
            UNWRITTEN.fetch_add(1, Ordering::SeqCst);
            assert!(!panics, "{error}");
        }
    });
    let pool = failing(builder(2)).build().unwrap();
    for _ in 0..TASKS {
        accepted(&pool, Job::fail());
    }
    pool.wait_idle(LONG).unwrap();
    let metrics = pool.metrics();
    assert_eq!((metrics.counts.dead_lettered, metrics.counts.attempts), (TASKS, 2 * TASKS));
    assert_eq!((metrics.letters as u64, metrics.live_workers), (LETTERS, 2));
    assert_eq!(UNWRITTEN.load(Ordering::SeqCst), RECORDS);
    assert_eq!(metrics.hook_panics, if panics { RECORDS } else { 0 });
    assert_rest(&pool);
    assert!(pool.shutdown(LONG).is_clean());
}

#[test]
fn a_logger_may_end_the_pool_that_logs() {
    for runner in ["worker", "caller"] {
        let Some(ended) = Start::given(runner).run(end_the_pool_in_the_logger) else { return };
        ended.assert_code(0);
    }
}

fn end_the_pool_in_the_logger(runner: &str) {
    static POOL: Mutex<Weak<WorkerPool<Runs>>> = Mutex::new(Weak::new());
    let plug = Gate::new();
    let opener = plug.clone();
    set_logger(move |_| {
        opener.open();
        let pool = POOL.lock().unwrap().upgrade().unwrap();
        // Its own attempt is what it does not wait for.
        assert_eq!(pool.shutdown(LONG).still_running.len(), 1);
        assert!(matches!(pool.submit(Job::ok()), SubmitResult::Rejected(_)));
    });
    let builder = failing(builder(1)).queue_capacity(1).overload(OverloadPolicy::CallerRuns);
    let pool = Arc::new(builder.build().unwrap());
    *POOL.lock().unwrap() = Arc::downgrade(&pool);
    if runner == "caller" {
        accepted(&pool, Job::plug(&plug));
        plug.wait_arrived(1);
        accepted(&pool, Job::ok());
        assert!(matches!(pool.submit(Job::fail()), SubmitResult::CallerRun(_)));
    } else {
        accepted(&pool, Job::fail());
    }
    assert!(pool.shutdown(LONG).is_clean());
    let metrics = pool.metrics();
    // The window is open, so the retry is run.
    assert_eq!((metrics.counts.dead_lettered, metrics.counts.attempts - metrics.counts.succeeded), (1, 2));
    assert_eq!(metrics.hook_panics, 0);
    assert_rest(&pool);
}

/// One retry, at once, and a small store of letters.
fn failing(builder: PoolBuilder<Runs>) -> PoolBuilder<Runs> {
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(1);
    builder.retry(retry).dead_letter_capacity(LETTERS as usize)
}

fn set_logger(log: impl Fn(&Arguments<'_>) + Send + Sync + 'static) {
    log::set_logger(Box::leak(Box::new(Logger(log)))).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
}

struct Logger<F>(F);

impl<F: Fn(&Arguments<'_>) + Send + Sync> log::Log for Logger<F> {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        (self.0)(record.args());
    }

    fn flush(&self) {}
}
