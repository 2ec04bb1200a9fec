//! The end of a pool beside attempts: retries, calls from inside, the drop.

use super::parcel::Parcel;
use super::{FOREVER, Ledger, Pool, any, builder, end, explore, join, ms, spawn};
use crate::{Event, RetryPolicy, TaskId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex as Plain, OnceLock, Weak};
use std::time::Duration;

#[test]
fn a_retry_beside_a_shutdown_has_one_end_which_is_told_once() {
    explore(|| {
        let ledger = Ledger::new(3);
        let ends = Arc::new(Plain::new(HashMap::<TaskId, u32>::new()));
        let told = Arc::clone(&ends);
        let pool = builder(2, |_, cx| if cx.attempt() < 3 { Err("not yet".to_string()) } else { Ok(()) })
            .retry(RetryPolicy::fixed(any([Duration::ZERO, ms(5)])).max_retries(2))
            .on_event(move |event| {
                if let Event::Ended { task, .. } = event {
                    *told.lock().expect("no panic under it").entry(task.id).or_default() += 1;
                }
            })
            .build();
        let pool = pool.expect("builds");
        let ids = [0, 1, 2].map(|number| pool.submit(ledger.parcel(number)).into_result().expect("has room"));
        let timeout = any([Duration::ZERO, ms(2), ms(7), FOREVER]);
        let counts = end(&pool, &ledger, timeout);
        assert_eq!(counts.succeeded + counts.dead_lettered + counts.abandoned, 3, "{counts:?}");
        assert!(timeout != FOREVER || counts.succeeded == 3, "{counts:?}");
        // Its letters go with it.
        drop(pool);
        ledger.wait_until_dropped();
        let ends = ends.lock().expect("no panic under it");
        assert_eq!(ids.map(|id| ends.get(&id).copied()), [Some(1); 3]);
    });
}

/// A pool that its tasks can reach, once it is there.
fn reachable(
    ledger: &Ledger,
    work: impl Fn(&Parcel, Arc<Pool>, &Ledger) + Send + Sync + 'static,
) -> (Arc<Pool>, impl Fn(&Arc<Pool>)) {
    let own = Arc::new(OnceLock::<Weak<Pool>>::new());
    let (reached, book) = (Arc::clone(&own), ledger.clone());
    let pool = builder(2, move |parcel, _| {
        if let Some(pool) = reached.get().and_then(Weak::upgrade) {
            work(parcel, pool, &book);
        }
        Ok(())
    });
    let pool = Arc::new(pool.drop_timeout(FOREVER).build().expect("builds"));
    (pool, move |pool| own.set(Arc::downgrade(pool)).expect("set once"))
}

#[test]
fn shutdowns_from_two_tasks_and_from_outside_return() {
    explore(|| {
        let ledger = Ledger::new(4);
        let (pool, reach) = reachable(&ledger, |parcel, pool, ledger| {
            if parcel.number < 2 {
                let report = pool.shutdown(any([Duration::ZERO, ms(5), FOREVER]));
                report.abandoned.into_iter().for_each(|shed| ledger.returned(shed.payload));
            }
        });
        reach(&pool);
        for number in 0..4 {
            let _ = ledger.answered(pool.submit(ledger.parcel(number)));
        }
        end(&pool, &ledger, any([ms(5), FOREVER]));
        ledger.assert_each_ran_or_returned();
        // The window is over for this call as well.
        end(&pool, &ledger, Duration::ZERO);
    });
}

#[test]
fn a_pool_whose_last_owner_is_a_task_runs_what_it_took_in() {
    explore(|| {
        let ledger = Ledger::new(4);
        let (pool, reach) = reachable(&ledger, |_, pool, _| {
            crate::sync::yield_now();
            drop(pool);
        });
        reach(&pool);
        let other = spawn({
            let (pool, ledger) = (Arc::clone(&pool), ledger.clone());
            move || assert!(ledger.answered(pool.submit(ledger.parcel(3))))
        });
        for number in 0..3 {
            assert!(ledger.answered(pool.submit(ledger.parcel(number))));
        }
        drop(pool);
        join(other);
        ledger.wait_until_dropped();
    });
}
