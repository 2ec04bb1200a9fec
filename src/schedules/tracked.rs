//! Handles: cancel, wait, drop, expiry, keys.

use super::{FOREVER, Ledger, any, builder, drain, end, explore, join, ms, spawn};
use crate::{CancelOutcome, OverloadPolicy, RetryPolicy, TaskError, TaskOptions};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_cancel_beside_start_retry_and_finish_decides_once() {
    explore(|| {
        let ledger = Ledger::new(1);
        let pool = builder(2, |_, cx| if cx.attempt() == 1 { Err("once".to_string()) } else { Ok(()) })
            .retry(RetryPolicy::fixed(any([Duration::ZERO, ms(1)])).max_retries(1))
            .build()
            .expect("builds");
        let handle = pool.submitter().submit_tracked(ledger.parcel(0)).expect("has room");
        let answer = handle.cancel();
        let runs = ledger.runs(0);
        let was = match answer {
            CancelOutcome::Cancelled(parcel) => {
                ledger.returned(parcel);
                let answer = handle.wait();
                assert!(matches!(answer, Err(TaskError::Cancelled)), "{answer:?}");
                "taken away"
            }
            CancelOutcome::Requested => {
                // The attempt does not ask, so it may fail or succeed; a cancelled task is not tried again.
                let answer = handle.wait();
                assert!(matches!(answer, Ok(0) | Err(TaskError::Cancelled)), "{answer:?}");
                "asked"
            }
            CancelOutcome::TooLate => {
                assert!(matches!(handle.wait(), Ok(0)));
                "over"
            }
        };
        assert_eq!(pool.metrics().counts.running, 0, "{was}");
        // A worker may still be passing what was taken away.
        pool.wait_idle(FOREVER).expect("comes to rest");
        let counts = pool.metrics().counts;
        assert_eq!((counts.queued, counts.delayed), (0, 0), "{was}: {counts:?}");
        assert!(counts.is_conserved(), "{was}: {counts:?}");
        drain(&pool, &ledger);
        assert!(was == "asked" || ledger.runs(0) == runs, "{was}, and yet it ran");
        ledger.wait_until_dropped();
    });
}

#[test]
fn every_handle_gets_one_answer_beside_a_shutdown_or_is_dropped() {
    explore(|| {
        let ledger = Ledger::new(4);
        let pool = Arc::new(builder(2, |_, _| Ok(())).build().expect("builds"));
        let others = [0, 2].map(|first| {
            let (submitter, ledger) = (pool.submitter(), ledger.clone());
            spawn(move || {
                let waited = submitter.submit_tracked(ledger.parcel(first));
                let left = submitter.submit_tracked(ledger.parcel(first + 1));
                // A refused parcel is dropped with its refusal.
                drop(left.map(|handle| if any([true, false]) { handle.cancel_on_drop() } else { handle }));
                let Ok(handle) = waited else { return };
                match handle.wait() {
                    Ok(number) => assert_eq!((number, ledger.runs(number)), (first, 1)),
                    Err(TaskError::Abandoned) => {}
                    Err(other) => panic!("{other:?}"),
                }
            })
        });
        end(&pool, &ledger, any([Duration::ZERO, ms(5), FOREVER]));
        others.into_iter().for_each(join);
        end(&pool, &ledger, Duration::ZERO);
        ledger.wait_until_dropped();
        assert!((0..4).all(|number| ledger.runs(number) <= 1));
    });
}

#[test]
fn a_task_expires_once_or_runs() {
    explore(|| {
        let ledger = Ledger::new(3);
        let shed = ledger.clone();
        let pool = builder(1, |parcel, _| {
            if parcel.number == 0 {
                crate::sync::sleep(ms(5));
            }
            Ok(())
        });
        let pool = pool.on_shed(move |given| shed.returned(given.payload)).build().expect("builds");
        assert!(ledger.answered(pool.submit(ledger.parcel(0))));
        let options = [TaskOptions::new().ttl(ms(5)), TaskOptions::new().delay(ms(2)).ttl(ms(6))];
        let mut handles = [1, 2].into_iter().zip(options).map(|(number, options)| {
            pool.submitter().submit_tracked_with(ledger.parcel(number), options).expect("has room")
        });
        let (one, two) = (handles.next().expect("two"), handles.next().expect("two"));
        drop(handles);
        let other = spawn(move || one.wait());
        let answers = [two.wait(), join(other)];
        for (number, answer) in [2, 1].into_iter().zip(answers) {
            match answer {
                Ok(_) => assert_eq!(ledger.runs(number), 1),
                Err(TaskError::Expired) => assert_eq!(ledger.runs(number), 0),
                Err(other) => panic!("{other:?}"),
            }
        }
        drain(&pool, &ledger);
        ledger.assert_each_ran_or_returned();
    });
}

#[test]
fn a_key_is_free_when_the_answer_is_there() {
    explore(|| {
        let ledger = Ledger::new(3);
        let pool = builder(2, |parcel, _| if parcel.number == 0 { Err("no".to_string()) } else { Ok(()) })
            .queue_capacity(1)
            .overload(OverloadPolicy::DropOldest)
            .build()
            .expect("builds");
        let key = || TaskOptions::new().key("same");
        let first = any([key(), key().delay(ms(1)), key().ttl(ms(1)), key().delay(ms(1)).ttl(ms(2))]);
        let submitter = pool.submitter();
        // The first one fails, expires, is cancelled, or is displaced by the second.
        let handle = submitter.submit_tracked_with(ledger.parcel(0), first).expect("has room");
        assert!(ledger.answered(submitter.submit(ledger.parcel(1))));
        if any([true, false]) {
            drop(handle.cancel());
        }
        let _ = handle.wait();
        let again = submitter.submit_tracked_with(ledger.parcel(2), key());
        let again = again.expect("the key is free").wait();
        assert!(matches!(again, Ok(2)), "{again:?}");
        drain(&pool, &ledger);
        drop(pool);
        ledger.wait_until_dropped();
    });
}
