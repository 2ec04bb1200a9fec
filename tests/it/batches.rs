//! Batches: item by item, whatever the size of the payload, and with an iterator that panics.

use crate::overload::full;
use crate::support::{
    Job, LONG, Ledger, POLICIES, Watchdog, assert_rest, build, builder, panic_quietly, pool,
};
use dockhand::{OverloadPolicy, RejectReason};

#[test]
fn a_batch_is_answered_item_by_item() {
    let _dog = Watchdog::new();
    for policy in POLICIES {
        let ledger = Ledger::new();
        let (pool, plug) = full(1, builder(1).overload(policy));
        let result = pool.submitter().submit_batch((0..70).map(|_| Job::ok().track(ledger.track())));
        let reasons = |reason| result.refused.iter().filter(|refused| refused.reason() == reason).count();
        let seen = (
            result.accepted,
            result.caller_run,
            reasons(RejectReason::QueueFull),
            reasons(RejectReason::Dropped),
        );
        let expected = match policy {
            OverloadPolicy::Reject => (0, 0, 70, 0),
            OverloadPolicy::CallerRuns => (0, 70, 0, 0),
            OverloadPolicy::DropIncoming => (0, 0, 0, 70),
            _ => (70, 0, 0, 0),
        };
        assert_eq!(seen, expected, "{policy:?}");
        assert_eq!(ledger.alive(), result.refused.len() as u64 + u64::from(result.accepted > 0));
        drop(result);
        plug.open();
        pool.wait_idle(LONG).unwrap();
        assert_rest(&pool);
        ledger.assert_all_gone();
    }
}

#[test]
fn a_batch_whose_iterator_panics_keeps_what_it_gave() {
    let _dog = Watchdog::new();
    for given in [0, 1, 31, 32, 33, 100] {
        let ledger = Ledger::new();
        let pool = pool(1, 1000);
        let items =
            (0..200).map(|n| if n == given { panic_quietly() } else { Job::ok().track(ledger.track()) });
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(pool.submitter().submit_batch(items));
        }));
        assert!(caught.is_err());
        pool.wait_idle(LONG).unwrap();
        assert_eq!(pool.metrics().counts.succeeded, given);
        assert_rest(&pool);
        ledger.assert_all_gone();
    }
}

/// Small and large payloads go through buffers of other lengths.
#[test]
fn a_batch_may_have_payloads_of_any_size() {
    fn run<T: Send + Clone + 'static>(item: T) {
        for items in [0, 1, 7, 8, 9, 31, 32, 33, 100] {
            let processor = dockhand::processor_fn(|_: &mut T, _cx| Ok::<(), String>(()));
            let pool = build(dockhand::WorkerPool::builder(processor).workers(1).queue_capacity(1000));
            let result = pool.submitter().submit_batch(vec![item.clone(); items]);
            assert_eq!((result.accepted, result.refused.len()), (items, 0));
            pool.wait_idle(LONG).unwrap();
            assert_eq!(pool.metrics().counts.succeeded, items as u64);
            assert!(pool.shutdown(LONG).is_clean());
            let refused = pool.submitter().submit_batch(vec![item.clone(); items]).refused;
            assert!(refused.len() == items && refused.iter().all(|r| r.reason() == RejectReason::Closed));
            assert_rest(&pool);
        }
    }
    let _dog = Watchdog::new();
    run(());
    run([0_u8; 300]);
    run([0_u8; 10_000]);
}
