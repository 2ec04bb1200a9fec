//! Dedupe keys, in the library itself: one task of a key is in flight, and the key is free before anybody is told.
//!
//! Left out: a key that an expiry, an eviction or a sweep frees; they do it where `cancel` does.

use super::library::{Handle, Library, assert_conserved, lane, listened, pool, start, submit};
use super::{check, join, only_the_end_is_left};
use crate::event::Event;
use crate::handle::CancelOutcome;
use crate::options::TaskOptions;
use crate::stage::Stage;
use std::sync::{Arc, OnceLock, Weak};
// What a model knows from outside, without a step that loom sees.
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

fn submit_with_key(pool: &Arc<Library>, payload: u64) -> Option<Handle> {
    submit(pool, payload, TaskOptions::new().key("same"))
}

/// By an attempt that succeeds, or by one that fails for good.
#[test]
fn a_key_is_free_for_whoever_has_the_answer() {
    for fails in [false, true] {
        check(3, move || {
            let pool = pool(1, lane(), move |task, _| if fails { Err("no".into()) } else { Ok(task) });
            let first = submit_with_key(&pool, 1).expect("nobody has the key");
            let workers = start(&pool);
            assert_eq!(first.wait().is_ok(), !fails);
            only_the_end_is_left();
            assert!(submit_with_key(&pool, 2).is_some(), "its outcome is known, and its key is taken");
            pool.close();
            workers.into_iter().for_each(join);
            assert_conserved(&pool);
        });
    }
}

/// The listener submits again when it hears the end.
#[test]
fn a_key_is_free_for_a_listener_that_hears_the_end() {
    for fails in [false, true] {
        check(2, move || {
            let own = Arc::new(OnceLock::<Weak<Library>>::new());
            let of_hook = Arc::clone(&own);
            let is_first = AtomicBool::new(true);
            let hook = move |event: &Event<'_>| {
                if matches!(event, Event::Ended { .. }) && is_first.swap(false, Relaxed) {
                    let pool = of_hook.get().and_then(Weak::upgrade).expect("the pool is there");
                    assert!(submit_with_key(&pool, 2).is_some(), "told before the key was free");
                }
            };
            let process = move |task, _| if fails { Err("no".into()) } else { Ok(task) };
            let pool = listened(1, lane(), process, hook);
            let _ = own.set(Arc::downgrade(&pool));
            let first = submit_with_key(&pool, 1).expect("nobody has the key");
            let workers = start(&pool);
            let answer = first.cancel();
            if answer != CancelOutcome::Cancelled(1) {
                let _ = first.wait();
            }
            only_the_end_is_left();
            pool.close();
            workers.into_iter().for_each(join);
            assert_conserved(&pool);
        });
    }
}

/// A task with the key is cancelled beside a worker, while two others ask for the key: of two that got it, the earlier one
/// has ended.
#[test]
fn one_task_of_a_key_is_in_flight() {
    check(2, || {
        let pool = pool(1, lane(), |task, _| Ok(task));
        let first = submit_with_key(&pool, 1).expect("nobody has the key");
        let workers = start(&pool);
        let other = Arc::clone(&pool);
        let second = loom::thread::spawn(move || submit_with_key(&other, 2));
        let _ = first.cancel();
        let third = submit_with_key(&pool, 3);
        if let (Some(second), Some(third)) = (join(second), third) {
            let stages = [second.slot.stage.stage(), third.slot.stage.stage()];
            assert!(stages.iter().any(|stage| matches!(stage, Stage::Ended(_))), "{stages:?}");
        }
        only_the_end_is_left();
        pool.close();
        workers.into_iter().for_each(join);
        assert_conserved(&pool);
    });
}
