//! As little as possible beside one another: a place for a preemption is found the sooner, the fewer there are.

use super::{
    FOREVER, Ledger, any, assert_only_refusals_since, builder, drain, end, explore, join, ms, spawn,
};
use crate::sync::yield_now;
use crate::{Lane, OverloadPolicy, TaskOptions};
use std::sync::Arc;
use std::time::Duration;

/// One worker, one place, one thread that submits, and the end of the window.
fn abort_beside_submits<const SUBMITS: usize>(policy: OverloadPolicy) {
    let ledger = Ledger::new(SUBMITS);
    let shed = ledger.clone();
    let pool = builder(1, |_, _| Ok(()))
        .queue_capacity(1)
        .overload(policy)
        .on_shed(move |given| {
            // An attempt that was given up has run.
            if shed.runs(given.payload.number) == 0 {
                shed.returned(given.payload);
            }
        })
        .build();
    let pool = Arc::new(pool.expect("builds"));
    let other = spawn({
        let (pool, ledger) = (Arc::clone(&pool), ledger.clone());
        move || {
            for number in 0..SUBMITS {
                let _ = ledger.answered(pool.submit(ledger.parcel(number)));
            }
        }
    });
    let told = end(&pool, &ledger, Duration::ZERO);
    join(other);
    assert_only_refusals_since(&told, &end(&pool, &ledger, Duration::ZERO));
    ledger.assert_each_ran_or_returned();
}

#[test]
fn a_submit_beside_an_abort_is_run_or_handed_back() {
    explore(|| abort_beside_submits::<1>(OverloadPolicy::Reject));
}

#[test]
fn a_task_that_is_displaced_beside_an_abort_is_in_the_report_or_evicted() {
    explore(|| abort_beside_submits::<3>(OverloadPolicy::DropOldest));
}

#[test]
fn a_caller_run_beside_an_abort_is_in_the_report_or_refused() {
    explore(|| abort_beside_submits::<3>(OverloadPolicy::CallerRuns));
}

#[test]
fn an_attempt_that_comes_back_at_the_end_of_the_grace_ends_once() {
    explore(|| {
        let ledger = Ledger::new(1);
        let pool = builder(1, |_, _| {
            // Longer than the grace, or about as long.
            (0..any([1, 10, 100])).for_each(|_| yield_now());
            Ok(())
        });
        let pool = pool.build().expect("builds");
        let handle = pool.submitter().submit_tracked(ledger.parcel(0)).expect("has room");
        let counts = end(&pool, &ledger, Duration::ZERO);
        let succeeds = handle.wait().is_ok();
        assert_eq!((counts.succeeded, counts.abandoned), if succeeds { (1, 0) } else { (0, 1) });
        // What comes back late is not counted.
        ledger.wait_until_dropped();
        assert_only_refusals_since(&counts, &end(&pool, &ledger, Duration::ZERO));
    });
}

#[test]
fn at_rest_a_task_that_was_just_taken_has_run() {
    explore(|| {
        let ledger = Ledger::new(1);
        let pool = builder(1, |_, _| Ok(())).build().expect("builds");
        assert!(ledger.answered(pool.submit(ledger.parcel(0))));
        pool.wait_idle(FOREVER).expect("comes to rest");
        assert_eq!((ledger.runs(0), pool.metrics().counts.succeeded), (1, 1));
        ledger.assert_each_ran_or_returned();
        drain(&pool, &ledger);
    });
}

#[test]
fn a_submit_beside_a_close_wakes_a_worker_that_stayed() {
    explore(|| {
        let ledger = Ledger::new(2);
        let pool = builder(1, |_, _| Ok(())).lane(Lane::new("held").max_concurrency(0)).build();
        let pool = Arc::new(pool.expect("builds"));
        let held = pool.submitter_for("held").expect("is declared");
        assert!(ledger.answered(held.submit(ledger.parcel(0))));
        let other = spawn({
            let (submitter, ledger) = (pool.submitter(), ledger.clone());
            move || match submitter.submit_tracked(ledger.parcel(1)) {
                Ok(handle) => assert!(matches!(handle.wait(), Ok(1))),
                Err(refused) => ledger.returned(refused.into_payload()),
            }
        });
        pool.begin_shutdown();
        join(other);
        pool.set_max_concurrency("held", 1).expect("has a limit");
        ledger.assert_each_ran_or_returned();
        drain(&pool, &ledger);
    });
}

#[test]
fn who_waits_for_a_task_that_is_late_ends_it() {
    explore(|| {
        let ledger = Ledger::new(2);
        let (shed, plug) = (ledger.clone(), Arc::new(super::waking::Meeting::default()));
        let plugged = Arc::clone(&plug);
        let pool = builder(1, move |parcel, _| {
            if parcel.number == 0 {
                plugged.come();
            }
            Ok(())
        });
        let pool = pool.on_shed(move |given| shed.returned(given.payload)).build().expect("builds");
        assert!(ledger.answered(pool.submit(ledger.parcel(0))));
        let options = any([TaskOptions::new(), TaskOptions::new().delay(ms(1))]).ttl(ms(2));
        let late = pool.submitter().submit_tracked_with(ledger.parcel(1), options).expect("has room");
        // The worker is not free before this has its answer.
        let answer = late.wait();
        assert_eq!(answer.is_ok(), ledger.runs(1) == 1);
        plug.come();
        drain(&pool, &ledger);
        ledger.assert_each_ran_or_returned();
    });
}
