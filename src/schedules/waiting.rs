//! Waiting for rest, and for room.

use super::{FOREVER, Ledger, any, builder, drain, end, explore, join, ms, spawn};
use crate::RejectReason;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn at_rest_every_follow_up_has_run_and_is_dropped() {
    explore(|| {
        let ledger = Ledger::new(4);
        let book = ledger.clone();
        let pool = builder(2, move |parcel, cx| {
            if parcel.number % 2 == 0 {
                assert!(book.answered(cx.submit("default", book.parcel(parcel.number + 1))));
            }
            Ok(())
        });
        let pool = Arc::new(pool.build().expect("builds"));
        let other = spawn({
            let pool = Arc::clone(&pool);
            move || pool.wait_idle(any([FOREVER, ms(1)]))
        });
        for number in [0, 2] {
            assert!(ledger.answered(pool.submit(ledger.parcel(number))));
        }
        pool.wait_idle(FOREVER).expect("comes to rest");
        let runs: Vec<_> = (0..4).map(|number| ledger.runs(number)).collect();
        assert_eq!(runs, [1; 4], "at rest");
        let counts = pool.metrics().counts;
        assert_eq!((counts.succeeded, counts.running), (4, 0), "{counts:?}");
        // It may have seen the pool before the first submit.
        let _ = join(other);
        ledger.assert_each_ran_or_returned();
        drain(&pool, &ledger);
    });
}

#[test]
fn every_waiting_submit_gets_a_place_that_a_take_frees() {
    explore(|| {
        let ledger = Ledger::new(5);
        let pool = Arc::new(builder(1, |_, _| Ok(())).queue_capacity(1).build().expect("builds"));
        let waiters = [1, 3].map(|first| {
            let (submitter, ledger) = (pool.submitter(), ledger.clone());
            spawn(move || {
                for number in [first, first + 1] {
                    assert!(ledger.answered(submitter.submit_timeout(ledger.parcel(number), FOREVER)));
                }
            })
        });
        // It may find no room.
        let _ = ledger.answered(pool.submit(ledger.parcel(0)));
        waiters.into_iter().for_each(join);
        pool.wait_idle(FOREVER).expect("comes to rest");
        ledger.assert_each_ran_or_returned();
        drain(&pool, &ledger);
    });
}

#[test]
fn a_waiting_submit_ends_by_room_by_its_time_or_by_the_close() {
    explore(|| {
        let ledger = Ledger::new(5);
        let pool = Arc::new(builder(1, |_, _| Ok(())).queue_capacity(1).build().expect("builds"));
        let waiters = [1, 3].map(|first| {
            let (submitter, ledger) = (pool.submitter(), ledger.clone());
            spawn(move || {
                for number in [first, first + 1] {
                    let timeout = any([Duration::ZERO, ms(10), FOREVER]);
                    let answer = submitter.submit_timeout(ledger.parcel(number), timeout).into_result();
                    if let Err(refused) = answer {
                        let reason = refused.reason();
                        let is_closed = reason == RejectReason::Closed;
                        assert!(is_closed || timeout != FOREVER, "{reason:?} after {timeout:?}");
                        ledger.returned(refused.into_payload());
                    }
                }
            })
        });
        let _ = ledger.answered(pool.submit(ledger.parcel(0)));
        end(&pool, &ledger, any([Duration::ZERO, ms(5), FOREVER]));
        waiters.into_iter().for_each(join);
        end(&pool, &ledger, Duration::ZERO);
        ledger.assert_each_ran_or_returned();
    });
}
