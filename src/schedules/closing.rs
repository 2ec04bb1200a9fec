//! A pool that closes beside its submits, under each policy.

use super::{Ledger, Pool, any, assert_only_refusals_since, builder, drain, end, explore, join, ms, spawn};
use crate::metrics::Counts;
use crate::{OverloadPolicy, TaskOptions};
use std::sync::Arc;
use std::time::Duration;

/// Two threads submit and the pool closes: each parcel is run or comes back, by the answer, the report, or `on_shed`.
fn close_beside_submits(policy: OverloadPolicy) {
    let ledger = Ledger::new(6);
    let shed = ledger.clone();
    let pool = builder(2, |_, _| Ok(()))
        .queue_capacity(1)
        .overload(policy)
        .on_shed(move |given| {
            // An attempt that was given up comes back late; it has run.
            if shed.runs(given.payload.number) == 0 {
                shed.returned(given.payload);
            }
        })
        .build();
    let pool = Arc::new(pool.expect("builds"));
    let others = [0, 3].map(|first| {
        let (submitter, ledger) = (pool.submitter(), ledger.clone());
        spawn(move || {
            for number in first..first + 3 {
                let options = match number % 3 {
                    2 => TaskOptions::new().delay(ms(3)),
                    _ => TaskOptions::new(),
                };
                ledger.answered(submitter.submit_with(ledger.parcel(number), options));
            }
        })
    });
    let told = shut_down(&pool, &ledger);
    others.into_iter().for_each(join);
    let counts = end(&pool, &ledger, Duration::ZERO);
    assert_only_refusals_since(&told, &counts);
    ledger.assert_each_ran_or_returned();
    assert_eq!(counts.submitted, 6, "{counts:?}");
}

fn shut_down(pool: &Pool, ledger: &Ledger) -> Counts {
    if any([true, false]) {
        pool.begin_shutdown();
    }
    if any([true, false]) {
        drain(pool, ledger)
    } else {
        end(pool, ledger, any([Duration::ZERO, ms(2), ms(10)]))
    }
}

#[test]
fn what_is_accepted_beside_a_close_is_run_or_handed_back() {
    explore(|| close_beside_submits(OverloadPolicy::Reject));
}

#[test]
fn what_is_displaced_beside_a_close_is_shed_once() {
    explore(|| close_beside_submits(OverloadPolicy::DropOldest));
}

#[test]
fn a_caller_run_beside_a_close_is_counted_once() {
    explore(|| close_beside_submits(OverloadPolicy::CallerRuns));
}

#[test]
fn after_a_close_alone_the_workers_run_what_was_accepted_and_leave() {
    explore(|| {
        let ledger = Ledger::new(4);
        let pool = Arc::new(builder(2, |_, _| Ok(())).build().expect("builds"));
        let other = spawn({
            let (submitter, ledger) = (pool.submitter(), ledger.clone());
            move || {
                (0..3).for_each(|number| {
                    let _ = ledger.answered(submitter.submit(ledger.parcel(number)));
                });
            }
        });
        let options = TaskOptions::new().delay(ms(1));
        let _ = ledger.answered(pool.submitter().submit_with(ledger.parcel(3), options));
        pool.begin_shutdown();
        join(other);
        // Nobody ends a window: what was accepted is run by the workers alone.
        ledger.assert_each_ran_or_returned();
        while pool.metrics().live_workers > 0 {
            crate::sync::yield_now();
        }
        assert_eq!(drain(&pool, &ledger).abandoned, 0);
    });
}
