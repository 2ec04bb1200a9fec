//! A10 and 3.1: the drop of a pool, from outside, from its own worker, and while a panic unwinds.

use crate::support::{
    Gate, Job, LONG, Ledger, Runs, SLACK, Watchdog, accepted, assert_threads, builder, eventually, ms,
    panic_quietly, unique,
};
use dockhand::{
    Outcome, PoolBuilder, Processor, RetryPolicy, Shed, TaskContext, TaskStatus, TaskSubmitter, WorkerPool,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

fn shedding(builder: PoolBuilder<Runs>) -> (PoolBuilder<Runs>, Receiver<Shed<Job>>) {
    let (give, given) = channel();
    let builder = builder.on_shed(move |shed| {
        // The test may be over.
        let _ = give.send(shed);
    });
    (builder, given)
}

#[test]
fn a10_the_drop_of_a_pool_drains_and_gives_the_rest_away() {
    let _dog = Watchdog::new();
    let (name, ledger) = (unique("dp"), Ledger::new());
    let retry = RetryPolicy::fixed(Duration::from_secs(60));
    let (builder, given) = shedding(builder(1).name(&name).retry(retry).drop_timeout(ms(50)));
    let pool = builder.build().unwrap();
    accepted(&pool, Job::fail().track(ledger.track()));
    eventually("it backs off", || pool.metrics().counts.delayed == 1);
    let plug = Gate::new();
    accepted(&pool, Job::plug(&plug).track(ledger.track()));
    plug.wait_arrived(1);
    for _ in 0..3 {
        accepted(&pool, Job::ok().track(ledger.track()));
    }
    let start = Instant::now();
    drop(pool);
    assert!(start.elapsed() >= ms(150), "window and grace: {:?}", start.elapsed());
    assert!(start.elapsed() < ms(400) * SLACK);
    let shed: Vec<_> = given.try_iter().collect();
    assert_eq!(shed.len(), 4);
    assert!(shed.iter().all(|shed| shed.outcome == Outcome::Abandoned));
    assert_eq!(shed.iter().filter(|shed| shed.was == TaskStatus::Queued).count(), 3);
    assert_threads(&name, 1);
    plug.open();
    let late = given.recv_timeout(LONG).expect("what comes back late is given away");
    assert_eq!((late.outcome, late.was), (Outcome::Abandoned, TaskStatus::Running { attempt: 1 }));
    assert_threads(&name, 0);
    drop((shed, late));
    ledger.assert_all_gone();
}

#[test]
fn a10_the_drop_of_a_pool_runs_what_it_can() {
    let _dog = Watchdog::new();
    for workers in [1, 3] {
        let name = unique("dp");
        let (ledger, (builder, given)) = (Ledger::new(), shedding(builder(workers).name(&name)));
        let pool = builder.retry(RetryPolicy::fixed(ms(5))).build().unwrap();
        let submitter = pool.submitter();
        for n in 0..100 {
            accepted(&pool, Job::ok_at(1 + n % 3).track(ledger.track()));
        }
        drop(pool);
        assert_eq!(given.try_iter().count(), 0);
        assert_threads(&name, 0);
        ledger.assert_all_gone();
        assert!(submitter.submit(Job::ok()).into_payload().is_some(), "it outlives the pool");
    }
}

/// On its own worker: nothing waits for the attempt that drops it, not even for its grace.
#[test]
fn a10_a_worker_may_drop_its_own_pool() {
    let _dog = Watchdog::new();
    for workers in [1, 2] {
        let (name, ledger) = (unique("ow"), Ledger::new());
        let (builder, given) = shedding(builder(workers).name(&name).drop_timeout(Duration::from_secs(20)));
        let slot = Arc::new(Mutex::new(Some(builder.build().unwrap())));
        let (gate, (tell, told)) = (Gate::new(), channel());
        let job = {
            let (gate, slot) = (gate.clone(), Arc::clone(&slot));
            Job::run(move || {
                gate.pass();
                let pool = slot.lock().unwrap().take();
                let start = Instant::now();
                drop(pool);
                tell.send(start.elapsed()).unwrap();
            })
        };
        let submit = |job: Job| {
            let slot = slot.lock().unwrap();
            slot.as_ref().unwrap().submit(job.track(ledger.track())).into_result().unwrap();
        };
        submit(job);
        gate.wait_arrived(1);
        (0..3).for_each(|_| submit(Job::ok()));
        gate.open();
        let took = told.recv_timeout(LONG).unwrap();
        assert_threads(&name, 0);
        let shed: Vec<_> = given.try_iter().filter(|shed| shed.was == TaskStatus::Queued).collect();
        // The second worker runs them; without one nobody can.
        assert_eq!(shed.len(), if workers == 1 { 3 } else { 0 });
        drop(shed);
        eventually("all payloads are gone", || ledger.alive() == 0);
        ledger.assert_all_gone();
        assert!(took < ms(95), "it waited for itself: {took:?}");
    }
}

#[test]
fn a10_a_pool_may_be_dropped_while_a_panic_unwinds() {
    let _dog = Watchdog::new();
    let (name, ledger) = (unique("un"), Ledger::new());
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let pool = builder(2).name(&name).build().unwrap();
        for _ in 0..50 {
            accepted(&pool, Job::panic().track(ledger.track()));
        }
        panic_quietly();
    }));
    assert!(unwound.is_err());
    assert_threads(&name, 0);
    ledger.assert_all_gone();
}

/// Says when it is dropped.
struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A processor that owns a submitter of its own pool.
struct Owner {
    own: OnceLock<TaskSubmitter<Arc<Owner>>>,
    _flag: Flag,
}

impl Processor for Owner {
    type Payload = u32;
    type Output = ();
    type Error = String;

    fn process(&self, left: &mut u32, _cx: &TaskContext<'_, u32>) -> Result<(), String> {
        match (*left, self.own.get()) {
            (0, _) | (_, None) => Ok(()),
            (left, Some(own)) => {
                own.submit(left - 1).into_result().map(drop).map_err(|refused| refused.to_string())
            }
        }
    }
}

fn circle(shared: &Arc<AtomicBool>) -> WorkerPool<Arc<Owner>> {
    let owner = Arc::new(Owner { own: OnceLock::new(), _flag: Flag(Arc::clone(shared)) });
    let pool = WorkerPool::builder(Arc::clone(&owner)).workers(2).build().unwrap();
    assert!(owner.own.set(pool.submitter()).is_ok());
    pool.submit(10).into_result().unwrap();
    pool.wait_idle(LONG).unwrap();
    assert_eq!(pool.metrics().counts.succeeded, 11);
    pool
}

#[test]
fn a10_a_processor_that_owns_a_submitter_is_freed_by_the_end() {
    let _dog = Watchdog::new();
    let freed = Arc::new(AtomicBool::new(false));
    let pool = circle(&freed);
    assert!(pool.shutdown(LONG).is_clean());
    assert!(freed.load(Ordering::SeqCst), "by the shutdown, while the pool lives");
    drop(pool);
    let freed = Arc::new(AtomicBool::new(false));
    drop(circle(&freed));
    assert!(freed.load(Ordering::SeqCst), "by the drop");
    let freed = Arc::new(AtomicBool::new(false));
    let pool = circle(&freed);
    pool.begin_shutdown();
    eventually("the workers have left", || pool.metrics().live_workers == 0);
    drop(pool);
    assert!(freed.load(Ordering::SeqCst), "by the drop after a close");
}

#[test]
fn a10_hooks_that_own_a_submitter_are_freed_by_the_end() {
    let _dog = Watchdog::new();
    let freed = Arc::new(AtomicBool::new(false));
    let own = Arc::new(OnceLock::<TaskSubmitter<Runs>>::new());
    let held = (Arc::clone(&own), Flag(Arc::clone(&freed)));
    let pool = builder(1).dead_letter_capacity(0).on_shed(move |shed| {
        let (own, _flag) = &held;
        if let Some(own) = own.get() {
            drop(own.submit(shed.payload));
        }
    });
    let pool = pool.build().unwrap();
    assert!(own.set(pool.submitter()).is_ok());
    drop(own);
    pool.submit(Job::new(|_| Err("once".to_string()))).into_result().unwrap();
    eventually("it goes round", || pool.metrics().counts.accepted > 3);
    let _ = pool.shutdown(Duration::ZERO);
    assert!(freed.load(Ordering::SeqCst));
}
