//! Submit, sleep, wake; the timer; limits.

use super::{FOREVER, Ledger, any, builder, drain, explore, join, ms, spawn};
use crate::sync::{Condvar, Mutex, now, sleep};
use crate::{Lane, TaskOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where two tasks meet: each waits until the other runs as well.
#[derive(Default)]
pub(super) struct Meeting {
    came: Mutex<u32>,
    both: Condvar,
}

impl Meeting {
    pub(super) fn come(&self) {
        let mut came = self.came.lock();
        *came += 1;
        self.both.notify_all();
        while *came < 2 {
            came = self.both.wait(came);
        }
    }
}

#[test]
fn as_many_workers_wake_as_there_is_work() {
    explore(|| {
        let ledger = Ledger::new(3);
        let meeting = Meeting::default();
        let pool = builder(3, move |parcel, _| {
            if parcel.number < 2 {
                meeting.come();
            }
            Ok(())
        });
        let pool = Arc::new(pool.build().expect("builds"));
        let other = spawn({
            let (pool, ledger) = (Arc::clone(&pool), ledger.clone());
            move || assert!(ledger.answered(pool.submit(ledger.parcel(0))))
        });
        for number in 1..3 {
            assert!(ledger.answered(pool.submit(ledger.parcel(number))));
        }
        join(other);
        pool.wait_idle(FOREVER).expect("comes to rest");
        ledger.assert_each_ran_or_returned();
        assert_eq!(drain(&pool, &ledger).succeeded, 3);
    });
}

#[test]
fn what_is_delayed_starts_without_help_and_not_early() {
    explore(|| {
        let ledger = Ledger::new(3);
        let built = now();
        let due = [ms(30), ms(10), ms(0)];
        let pool = builder(2, move |parcel, _| {
            let at = now() - built;
            if at >= due[parcel.number] { Ok(()) } else { Err(format!("early: {at:?}")) }
        });
        let pool = Arc::new(pool.build().expect("builds"));
        let submitter = pool.submitter();
        let other = spawn({
            let (submitter, ledger) = (submitter.clone(), ledger.clone());
            move || {
                let options = TaskOptions::new().delay(due[1]);
                assert!(ledger.answered(submitter.submit_with(ledger.parcel(1), options)));
            }
        });
        let options = TaskOptions::new().delay(due[0]);
        assert!(ledger.answered(submitter.submit_with(ledger.parcel(0), options)));
        assert!(ledger.answered(submitter.submit(ledger.parcel(2))));
        join(other);
        if any([true, false]) {
            pool.wait_idle(FOREVER).expect("comes to rest");
            ledger.assert_each_ran_or_returned();
        }
        assert_eq!(drain(&pool, &ledger).succeeded, 3);
    });
}

#[test]
fn a_limit_holds_and_a_raised_one_lets_all_run() {
    explore(|| {
        let ledger = Ledger::new(4);
        let running = AtomicU32::new(0);
        let pool = builder(2, move |_, _| {
            let beside = running.fetch_add(1, Ordering::Relaxed);
            crate::sync::yield_now();
            running.fetch_sub(1, Ordering::Relaxed);
            if beside == 0 { Ok(()) } else { Err(format!("beside {beside} others")) }
        });
        let pool = pool.lane(Lane::new("default").max_concurrency(1)).build().expect("builds");
        let pool = Arc::new(pool);
        let other = spawn({
            let (pool, ledger) = (Arc::clone(&pool), ledger.clone());
            move || (0..2).all(|number| ledger.answered(pool.submit(ledger.parcel(number))))
        });
        pool.set_max_concurrency("default", 0).expect("has a limit");
        let options = TaskOptions::new().delay(ms(1));
        assert!(ledger.answered(pool.submitter().submit_with(ledger.parcel(2), options)));
        assert!(ledger.answered(pool.submit(ledger.parcel(3))));
        if any([true, false]) {
            sleep(ms(2));
        }
        pool.set_max_concurrency("default", 1).expect("has a limit");
        assert!(join(other));
        pool.wait_idle(FOREVER).expect("comes to rest");
        ledger.assert_each_ran_or_returned();
        assert_eq!(drain(&pool, &ledger).succeeded, 4);
    });
}
