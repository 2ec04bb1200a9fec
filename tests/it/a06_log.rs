//! A6, A10: the logger is user code: it may panic, and it is called under no lock.

use crate::support::{
    Job, LONG, Pool, Runs, Watchdog, accepted, assert_rest, build, builder, panic_quietly, unique,
};
use dockhand::{RetryPolicy, WorkerPool};
use std::sync::{Mutex, Once, PoisonError, Weak};
use std::time::Duration;

/// Does something on the threads of two tests only.
struct Logger;

/// What the logger looks at while it logs.
static POOL: Mutex<Weak<WorkerPool<Runs>>> = Mutex::new(Weak::new());

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or_default();
        if thread.starts_with("lgp") {
            assert!(!record.args().to_string().is_empty());
            panic_quietly();
        }
        if thread.starts_with("lgu") {
            let pool = POOL.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
            if let Some(pool) = pool {
                let _ =
                    (pool.metrics(), pool.status(), pool.dead_letters().list(), record.args().to_string());
                drop(pool.submit(Job::ok()));
                pool.dead_letters()
                    .drain()
                    .into_iter()
                    .for_each(|letter| pool.dead_letters().put_back(letter));
            }
        }
    }

    fn flush(&self) {}
}

fn logged(prefix: &str) -> Pool {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(1);
    build(builder(2).name(unique(prefix)).retry(retry).dead_letter_capacity(10))
}

#[test]
fn a06_user_code_may_panic_in_the_logger() {
    let _dog = Watchdog::new();
    let pool = logged("lgp");
    for _ in 0..50 {
        accepted(&pool, Job::fail());
    }
    pool.wait_idle(LONG).unwrap();
    let metrics = pool.metrics();
    assert_eq!((metrics.counts.dead_lettered, metrics.counts.attempts), (50, 100));
    // Two failures and a letter each, and those that were pushed out.
    assert_eq!((metrics.letters, metrics.letters_evicted, metrics.hook_panics), (10, 40, 50 * 3 + 40));
    assert_eq!(metrics.live_workers, 2);
    assert_rest(&pool);
    assert!(pool.shutdown(LONG).is_clean());
}

#[test]
fn a10_the_logger_may_use_the_pool() {
    let _dog = Watchdog::new();
    let pool = logged("lgu");
    *POOL.lock().unwrap() = std::sync::Arc::downgrade(&pool);
    for _ in 0..200 {
        accepted(&pool, Job::fail());
    }
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
    let counts = pool.metrics().counts;
    assert!(counts.succeeded > 200, "{counts:?}");
    assert_eq!(pool.metrics().hook_panics, 0);
    assert!(pool.shutdown(LONG).is_clean());
}
