//! Who ends a task tells it, also where the pool is dropped by one of its own tasks at that moment: a drop from inside
//! waits for nobody.

use crate::cancel::in_an_hour;
use crate::events::Log;
use crate::support::{Job, Ledger, Pool, Watchdog, accepted, builder, eventually, rounds, watch};
use dockhand::{CancelOutcome, Outcome, OverloadPolicy, TaskId, TaskOptions, TaskStatus};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

/// A pool that a task drops once the barrier lets it, and what it tells and sheds.
struct Dropped {
    pool: Pool,
    log: Log,
    shed: Receiver<(TaskId, Outcome)>,
    start: Arc<Barrier>,
    owner: Arc<Mutex<Option<Pool>>>,
}

impl Dropped {
    fn new() -> Self {
        let (log, start, owner) =
            (Log::default(), Arc::new(Barrier::new(2)), Arc::<Mutex<Option<Pool>>>::default());
        let (give, shed) = channel();
        let builder = log.listen(builder(1)).queue_capacity(1).drop_timeout(Duration::ZERO);
        let builder = builder.on_shed(move |shed| _ = give.send((shed.task.id, shed.outcome)));
        let pool = watch(builder.build().unwrap());
        let (barrier, to_drop) = (Arc::clone(&start), Arc::clone(&owner));
        accepted(
            &pool,
            Job::run(move || {
                barrier.wait();
                drop(to_drop.lock().unwrap().take());
            }),
        );
        eventually("it runs", || pool.metrics().counts.running == 1);
        Dropped { pool, log, shed, start, owner }
    }

    /// Has the task drop the pool, and ends something else at the same time.
    fn end(self, end: impl FnOnce()) -> (Log, Receiver<(TaskId, Outcome)>) {
        let Dropped { pool, log, shed, start, owner } = self;
        *owner.lock().unwrap() = Some(pool);
        start.wait();
        end();
        (log, shed)
    }
}

/// By one of the two, once. What is told by the thread that ends it has been told when that returns.
#[track_caller]
fn assert_told_once(log: &Log, id: TaskId, is_mine: bool, mine: &str) {
    if !is_mine {
        eventually("the other has told it", || !log.of(id).is_empty());
    }
    let expected = if is_mine { mine } else { "ended Abandoned 0" };
    assert_eq!(log.of(id), [expected]);
}

#[test]
fn a_cancel_is_told_while_the_pool_is_dropped_inside() {
    let _dog = Watchdog::new();
    for _ in 0..rounds(20_000, 80) {
        let dropped = Dropped::new();
        let handle = dropped.pool.submitter().submit_tracked_with(Job::ok(), in_an_hour()).unwrap();
        let mut is_mine = false;
        let (log, _shed) = dropped.end(|| is_mine = matches!(handle.cancel(), CancelOutcome::Cancelled(_)));
        assert_told_once(&log, handle.id(), is_mine, "ended Cancelled 0");
    }
}

/// Who asks for a task that is late ends it.
#[test]
fn an_expiry_is_told_and_its_payload_shed_while_the_pool_is_dropped_inside() {
    let _dog = Watchdog::new();
    for _ in 0..rounds(20_000, 80) {
        let (dropped, ledger) = (Dropped::new(), Ledger::new());
        let job = Job::ok().track(ledger.track());
        let brief = TaskOptions::new().ttl(Duration::from_nanos(1));
        let Ok(handle) = dropped.pool.submitter().submit_tracked_with(job, brief) else { continue };
        let mut status = None;
        let (log, shed) = dropped.end(|| status = Some(handle.status()));
        let is_mine = status == Some(TaskStatus::Ended(Outcome::Expired));
        assert_told_once(&log, handle.id(), is_mine, "ended Expired 0");
        let outcome = if is_mine { Outcome::Expired } else { Outcome::Abandoned };
        assert_eq!(shed.recv(), Ok((handle.id(), outcome)));
        eventually("it is gone", || ledger.alive() == 0);
    }
}

#[test]
fn an_eviction_is_told_while_the_pool_is_dropped_inside() {
    let _dog = Watchdog::new();
    for _ in 0..rounds(20_000, 80) {
        let dropped = Dropped::new();
        let evicting = dropped.pool.submitter().with_overload(OverloadPolicy::DropOldest);
        let oldest = accepted(&dropped.pool, Job::ok());
        let (log, shed) = dropped.end(|| drop(evicting.submit(Job::ok())));
        eventually("its end is told", || !log.of(oldest).is_empty());
        // The newer one may be given away first.
        let (_, outcome) = shed.iter().find(|(id, _)| *id == oldest).unwrap();
        assert_eq!(log.of(oldest), [format!("ended {outcome:?} 0")]);
    }
}
