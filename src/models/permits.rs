//! The limit of a lane: what it holds back starts as soon as a permit is there.
//!
//! Lane 0 has the limit. Where a model has a lane 1 without one, its only task waits until the one of lane 0 has run: it
//! stands for a task that runs for a long time, and whoever takes it does not look at lane 0 again.
//!
//! Left out: more than one permit, and lanes that share workers by turns.

use super::lane::Lane;
use super::pool::Pool;
use super::worker::{Worker, spawn_workers};
use super::{Latch, check, join, only_the_end_is_left, spawn};
use crate::clock::Moment;
use crate::permits::Permits;
use crate::sync::{Ordering, fence};
use loom::thread::JoinHandle;
use std::sync::Arc;
// What a model knows from outside, without a step that loom sees.
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

const HELD_BACK: u64 = 0;
const LONG: u64 = 1;

/// Tells when the task that was held back has run.
fn pool(workers: usize, lanes: Vec<Lane>) -> (Arc<Pool>, Arc<Latch>) {
    let has_run = Arc::new(Latch::default());
    let latch = Arc::clone(&has_run);
    let pool = Pool::with_lanes(workers, lanes, move |_, _, task| match task {
        HELD_BACK => {
            only_the_end_is_left();
            latch.open();
        }
        _ => latch.wait(),
    });
    (pool, has_run)
}

fn permits(pool: &Pool) -> &Permits {
    pool.lanes[0].permits.as_ref().expect("lane 0 has a limit")
}

fn end(pool: &Pool, workers: Vec<JoinHandle<()>>) {
    pool.sleep.abort();
    pool.timer.stop();
    workers.into_iter().for_each(join);
    assert_eq!(permits(pool).in_use(), 0, "each permit is given back");
}

/// One worker is about to give its permit back, and another one searches and has just found nothing that it may take.
#[test]
fn a_worker_looks_for_what_its_permit_held_back() {
    check(2, || {
        let (pool, has_run) = pool(2, vec![Lane::limited(1), Lane::new(1)]);
        assert!(permits(&pool).try_acquire());
        pool.put(0, HELD_BACK);
        pool.put(1, LONG);
        fence(Ordering::SeqCst);
        let workers = vec![
            spawn(&pool, |pool| Worker::new(pool, 0).run_from_end()),
            spawn(&pool, |pool| Worker::searching(pool, 1).run_from_rest()),
        ];
        has_run.wait();
        end(&pool, workers);
    });
}

/// A worker has taken a permit and finds nothing, since another one was faster. A task comes before it gives the permit
/// back and takes the long one. The other worker has just found nothing.
#[test]
fn a_permit_that_was_taken_for_nothing_hides_no_task() {
    check(2, || {
        let (pool, has_run) = pool(2, vec![Lane::limited(1), Lane::new(1)]);
        assert!(permits(&pool).try_acquire());
        pool.put(1, LONG);
        let workers = vec![
            spawn(&pool, |pool| Worker::new(pool, 0).run_from_permit()),
            spawn(&pool, |pool| Worker::searching(pool, 1).run_from_rest()),
        ];
        assert!(pool.submit(HELD_BACK));
        has_run.wait();
        end(&pool, workers);
    });
}

/// The permit is given back on a thread that does not look for work: a caller-run.
#[test]
fn a_permit_that_comes_back_elsewhere_wakes() {
    check(3, || {
        let (pool, has_run) = pool(1, vec![Lane::limited(1)]);
        assert!(permits(&pool).try_acquire());
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, |pool| pool.submit(HELD_BACK));
        assert!(pool.lanes[0].release());
        pool.permit_appeared(0);
        assert!(join(submitter));
        has_run.wait();
        end(&pool, workers);
    });
}

/// A paused lane is opened beside a submit: the raise sees the task, or the submit sees the permit.
#[test]
fn a_raised_limit_wakes() {
    check(3, || {
        let (pool, has_run) = pool(1, vec![Lane::limited(0)]);
        let workers = spawn_workers(&pool);
        let submitter = spawn(&pool, |pool| pool.submit(HELD_BACK));
        permits(&pool).set_limit(1);
        pool.permit_appeared(0);
        assert!(join(submitter));
        has_run.wait();
        end(&pool, workers);
    });
}

/// A pause is answered with nothing in use: then nothing starts. A start and an end go on beside it.
#[test]
fn nothing_starts_after_a_pause_that_saw_nothing_in_use() {
    check(3, || {
        let permits = Arc::new(Permits::new(1));
        let is_paused = Arc::new(AtomicBool::new(false));
        let paused = Arc::clone(&is_paused);
        let worker = spawn(&permits, move |permits| {
            for _ in 0..2 {
                if permits.try_acquire() {
                    assert!(!paused.load(Relaxed), "started in a paused lane");
                    permits.release();
                }
            }
        });
        permits.set_limit(0);
        fence(Ordering::SeqCst);
        if permits.in_use() == 0 {
            is_paused.store(true, Relaxed);
        }
        join(worker);
        assert_eq!((permits.limit(), permits.in_use()), (0, 0));
    });
}

/// Two threads want the one permit of a lane.
#[test]
fn no_more_than_the_limit_run_at_a_time() {
    check(3, || {
        let permits = Arc::new(Permits::new(1));
        let runs = Arc::new(AtomicBool::new(false));
        let run = |permits: &Permits, runs: &AtomicBool| {
            if permits.try_acquire() {
                assert!(!runs.swap(true, Relaxed), "two at a time");
                loom::thread::yield_now();
                assert!(runs.swap(false, Relaxed));
                permits.release();
            }
        };
        let of_other = Arc::clone(&runs);
        let other = spawn(&permits, move |permits| run(permits, &of_other));
        run(&permits, &runs);
        join(other);
        assert_eq!(permits.in_use(), 0);
    });
}

/// The task's time comes while a caller-run has the permit. Neither the timer nor the return is sure to see it alone.
#[test]
fn a_task_that_falls_due_at_the_limit_is_seen_by_the_return() {
    check(2, || {
        let (pool, has_run) = pool(1, vec![Lane::limited(1)]);
        assert!(permits(&pool).try_acquire());
        pool.insert(0, Moment::from_nanos(1), HELD_BACK);
        let timer = spawn(&pool, |pool| pool.timer.run(pool));
        let mut workers = spawn_workers(&pool);
        workers.push(timer);
        let clock = spawn(&pool, |pool| pool.pass_time_to(Moment::from_nanos(1)));
        assert!(pool.lanes[0].release());
        pool.permit_appeared(0);
        has_run.wait();
        join(clock);
        end(&pool, workers);
    });
}

/// The task falls due between the two looks of a worker that has just taken a permit for one that another has taken: the
/// second look reads the clock again.
#[test]
fn a_clock_reading_does_not_outlive_its_look() {
    check(2, || {
        let (pool, has_run) = pool(1, vec![Lane::limited(1)]);
        assert!(permits(&pool).try_acquire());
        pool.insert(0, Moment::from_nanos(1), HELD_BACK);
        let workers = vec![
            spawn(&pool, |pool| Worker::new(pool, 0).run_from_permit()),
            spawn(&pool, |pool| pool.timer.run(pool)),
        ];
        pool.pass_time_to(Moment::from_nanos(1));
        has_run.wait();
        end(&pool, workers);
    });
}
