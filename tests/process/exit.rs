//! The process ends while a pool lives: `main` returns or exits.

use crate::child::{Start, tell};
use crate::support::{Gate, LONG, eventually, ms};
use dockhand::metrics::Phase;
use dockhand::{Closures, PoolBuilder, WorkerPool};
use std::process::exit;
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// What a program exits with that exits.
pub(crate) const CODE: i32 = 7;
pub(crate) const QUEUED: usize = 3;
/// How much longer than it should a machine under load may take.
pub(crate) const MARGIN: Duration = Duration::from_secs(10);

/// Tells when it is dropped.
pub(crate) struct Token(pub(crate) &'static str);

impl Token {
    fn run(&self) {
        tell(format_args!("ran: {}", self.0));
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        tell(format_args!("dropped: {}", self.0));
    }
}

/// The only worker has a task that never ends, and as many as [`QUEUED`] wait behind it.
pub(crate) fn occupy(pool: &WorkerPool<Closures>) {
    let (running, begun) = (Gate::new(), Gate::new());
    let at = begun.clone();
    let endless = move || {
        let _held = Token("running");
        at.open();
        running.pass();
    };
    pool.execute(endless).into_result().unwrap();
    begun.pass();
    queue_up(pool);
}

pub(crate) fn queue_up(pool: &WorkerPool<Closures>) {
    for _ in 0..QUEUED {
        pool.execute(run_with(Token("queued"))).into_result().unwrap();
    }
}

/// A task that tells that it runs, and then that it is dropped.
pub(crate) fn run_with(held: Token) -> impl FnOnce() + Send + 'static {
    move || held.run()
}

pub(crate) fn one_worker() -> PoolBuilder<Closures> {
    WorkerPool::builder(Closures).workers(1)
}

#[test]
fn a_busy_pool_in_a_static_does_not_hold_up_the_end_of_main() {
    for state in ["open", "in a shutdown"] {
        let Some(ended) = Start::given(state).run(return_with_a_busy_static) else { return };
        ended.assert_code(0);
        assert!(ended.told().is_empty(), "it is never dropped, and what is queued is lost: {ended}");
        assert!(ended.took < LONG, "{ended}");
    }
}

fn return_with_a_busy_static(state: &str) {
    static POOL: OnceLock<WorkerPool<Closures>> = OnceLock::new();
    let pool = POOL.get_or_init(|| one_worker().drop_timeout(Duration::MAX).build().unwrap());
    occupy(pool);
    if state == "in a shutdown" {
        thread::spawn(|| pool.shutdown(Duration::MAX));
        eventually("it is closed", || pool.status().phase != Phase::Open);
    }
}

#[test]
fn a_pool_in_a_static_may_be_idle_or_shut_down_at_the_end_of_main() {
    for end in ["idle", "shut down"] {
        let Some(ended) = Start::given(end).run(return_with_a_quiet_static) else { return };
        ended.assert_code(0);
        assert_eq!(ended.told(), ["ran: first", "dropped: first"], "{ended}");
    }
}

fn return_with_a_quiet_static(end: &str) {
    static POOL: LazyLock<WorkerPool<Closures>> = LazyLock::new(|| one_worker().build().unwrap());
    POOL.execute(run_with(Token("first"))).into_result().unwrap();
    POOL.wait_idle(LONG).unwrap();
    if end == "shut down" {
        assert!(POOL.shutdown(LONG).is_clean());
    }
}

#[test]
fn main_drops_a_busy_pool_within_the_drop_timeout() {
    let Some(ended) = Start::default().run(return_with_a_busy_local) else { return };
    ended.assert_code(0);
    let mut told = ended.told();
    assert_eq!(told.pop(), Some("main has dropped its pool"), "{ended}");
    assert_eq!(told, ["dropped: queued"; QUEUED], "they are given away: {ended}");
}

fn return_with_a_busy_local(_: &str) {
    let (window, grace) = (ms(200), ms(100));
    let pool = one_worker().drop_timeout(window).build().unwrap();
    occupy(&pool);
    let start = Instant::now();
    drop(pool);
    let took = start.elapsed();
    assert!((window + grace..window + grace + MARGIN).contains(&took), "{took:?}");
    tell("main has dropped its pool");
}

#[test]
fn main_may_exit_while_tasks_run_and_others_wait_for_the_pool() {
    let Some(ended) = Start::default().run(exit_from_main) else { return };
    ended.assert_code(CODE);
    assert!(ended.told().is_empty(), "{ended}");
    assert!(ended.took < LONG, "{ended}");
}

fn exit_from_main(_: &str) {
    let pool = Arc::new(one_worker().drop_timeout(Duration::MAX).build().unwrap());
    occupy(&pool);
    let waiting = Arc::clone(&pool);
    thread::spawn(move || waiting.wait_idle(Duration::MAX));
    exit(CODE);
}
