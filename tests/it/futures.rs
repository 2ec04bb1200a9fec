//! Handles as futures: no runtime is needed, and what a waker does is the user's affair.

use crate::cancel::{cancelled, in_an_hour, outcome_of, tracked, tracked_with};
use crate::support::{
    Gate, Job, LONG, Runs, Watchdog, assert_rest, build, builder, eventually, ms, panic_quietly, plugged,
};
use dockhand::{Outcome, TaskError, TaskHandle, TaskOptions, WaitError, WorkerPool, processor_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest runtime there is.
pub(crate) fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = Arc::new(Unparks(std::thread::current())).into();
    let mut cx = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut future).poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// All of them at once, by one waker.
struct All<F: Future>(Vec<Result<F::Output, F>>);

impl<F: Future + Unpin> Future for All<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waits = false;
        for entry in &mut self.0 {
            if let Err(future) = entry {
                match Pin::new(future).poll(cx) {
                    Poll::Ready(output) => *entry = Ok(output),
                    Poll::Pending => waits = true,
                }
            }
        }
        if waits {
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(&mut self.0).into_iter().filter_map(Result::ok).collect())
    }
}

impl<F: Future> Unpin for All<F> {}

#[derive(Default)]
pub(crate) struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(handle: &mut TaskHandle<Runs>, waker: &Waker) -> Poll<Result<(), TaskError<String>>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}

#[test]
fn ten_thousand_handles_under_block_on() {
    let _dog = Watchdog::new();
    let pool = WorkerPool::builder(processor_fn(|n: &mut u64, _cx| match *n % 5 {
        0 => Err(format!("{n}")),
        _ => Ok(*n * 2),
    }));
    let pool = build(pool.workers(2).queue_capacity(10_000));
    let submitter = pool.submitter();
    let submit = |n: u64| submitter.submit_tracked(n).unwrap();
    let check = |n: u64, result: Result<u64, TaskError<String>>| match result {
        Ok(output) => assert_eq!(output, n * 2),
        Err(TaskError::Failed(failure)) => assert_eq!(failure.to_string(), n.to_string()),
        Err(other) => panic!("{other}"),
    };
    // One after another, and all of them in one future.
    let handles: Vec<_> = (0..5_000).map(submit).collect();
    for (n, handle) in handles.into_iter().enumerate() {
        check(n as u64, block_on(handle));
    }
    let handles = (0..5_000).map(|n| Err(submit(n))).collect();
    for (n, result) in block_on(All(handles)).into_iter().enumerate() {
        check(n as u64, result);
    }
    assert_eq!(pool.metrics().counts.succeeded, 8_000);
}

#[test]
fn a_future_resolves_for_every_outcome() {
    let _dog = Watchdog::new();
    let (pool, plug) = plugged(builder(1));
    let expired = tracked_with(&pool, Job::ok(), TaskOptions::new().ttl(Duration::from_micros(1)));
    let delayed = tracked_with(&pool, Job::ok(), in_an_hour());
    drop(cancelled(&delayed));
    assert_eq!(outcome_of(&block_on(delayed)), Outcome::Cancelled);
    let [ok, fails] = [tracked(&pool, Job::ok()), tracked(&pool, Job::fail())];
    assert_eq!(outcome_of(&block_on(expired)), Outcome::Expired, "though its turn has not come");
    let waiter = std::thread::spawn(move || [outcome_of(&block_on(ok)), outcome_of(&block_on(fails))]);
    plug.open();
    assert_eq!(waiter.join().unwrap(), [Outcome::Succeeded, Outcome::DeadLettered]);
    let abandoned = tracked_with(&pool, Job::ok(), in_an_hour());
    let waiter = std::thread::spawn(move || outcome_of(&block_on(abandoned)));
    drop(pool.shutdown(ms(0)));
    assert_eq!(waiter.join().unwrap(), Outcome::Abandoned);
}

/// Polled again, the last waker is woken, once; the others are dropped.
#[test]
fn the_last_waker_wins() {
    let _dog = Watchdog::new();
    let (pool, plug) = plugged(builder(1));
    let mut handle = tracked(&pool, Job::ok());
    let wakers = [(); 3].map(|()| Arc::<Counts>::default());
    for counts in &wakers {
        for _ in 0..3 {
            assert!(poll(&mut handle, &Arc::clone(counts).into()).is_pending());
        }
    }
    assert_eq!(wakers.each_ref().map(Arc::strong_count), [1, 1, 2], "replaced ones are dropped");
    plug.open();
    eventually("it is woken", || wakers[2].0.load(Ordering::SeqCst) == 1);
    assert_eq!(wakers.each_ref().map(|counts| counts.0.load(Ordering::SeqCst)), [0, 0, 1]);
    let waker = Waker::noop();
    assert!(matches!(poll(&mut handle, waker), Poll::Ready(Ok(()))));
    // A handle that goes takes its waker with it; the task goes on.
    let (pool, plug) = plugged(builder(1));
    let mut handle = tracked(&pool, Job::ok());
    assert!(poll(&mut handle, &Arc::clone(&wakers[0]).into()).is_pending());
    drop(handle);
    assert_eq!(Arc::strong_count(&wakers[0]), 1);
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!((pool.metrics().counts.succeeded, wakers[0].0.load(Ordering::SeqCst)), (2, 0));
}

/// A waker is user code: it is woken under no lock, inside the pool, after everything else.
#[test]
fn a_waker_may_use_the_pool() {
    let _dog = Watchdog::new();
    type Shot = (TaskHandle<Runs>, Arc<WorkerPool<Runs>>, bool);
    struct Uses(Mutex<Option<Shot>>, Gate);
    impl Wake for Uses {
        fn wake(self: Arc<Self>) {
            let Some((mut handle, pool, is_running)) = self.0.lock().unwrap().take() else { return };
            // The handle has its answer already.
            assert!(handle.wait_timeout(Duration::ZERO).is_some());
            assert_eq!(pool.wait_idle(LONG), Err(WaitError::WouldDeadlock), "a waker is inside");
            assert_eq!((pool.metrics().counts.running, is_running), (0, is_running));
            drop(pool.submit(Job::ok()));
            drop(handle.cancel());
            self.1.open();
        }
    }
    for cancels in [false, true] {
        let (pool, plug) = plugged(builder(1));
        let mut handle = tracked(&pool, Job::ok());
        let uses = Arc::new(Uses(Mutex::new(None), Gate::new()));
        assert!(poll(&mut handle, &Arc::clone(&uses).into()).is_pending());
        let other = tracked_with(&pool, Job::ok(), in_an_hour());
        drop(cancelled(&other));
        *uses.0.lock().unwrap() = Some((handle, Arc::clone(&pool), cancels));
        plug.open();
        uses.1.pass();
        pool.wait_idle(LONG).unwrap();
        assert_eq!((pool.metrics().counts.succeeded, pool.metrics().hook_panics), (3, 0));
        assert_rest(&pool);
    }
}

/// Which of a waker's functions panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Panics {
    Clone,
    Wake,
    Drop,
}

struct Bad {
    at: Panics,
    armed: AtomicBool,
    drops: AtomicUsize,
}

/// A waker that panics when it is armed.
fn bad(state: &'static Bad) -> Waker {
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            hit(data, Panics::Clone);
            RawWaker::new(data, &TABLE)
        },
        |data| hit(data, Panics::Wake),
        |data| hit(data, Panics::Wake),
        |data| {
            if let Some(state) = seen(data) {
                state.drops.fetch_add(1, Ordering::SeqCst);
            }
            hit(data, Panics::Drop);
        },
    );
    fn seen(data: *const ()) -> Option<&'static Bad> {
        // SAFETY: every pointer that this table is given was made from a `&'static Bad` below.
        unsafe { data.cast::<Bad>().as_ref() }
    }
    fn hit(data: *const (), at: Panics) {
        if seen(data).is_some_and(|state| state.at == at && state.armed.load(Ordering::SeqCst)) {
            panic_quietly();
        }
    }
    // SAFETY: the functions of the table keep to the contract: the data is shared, static, and never freed.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::from_ref(state).cast(), &TABLE)) }
}

#[test]
fn a06_a_waker_that_panics_hurts_nobody() {
    let _dog = Watchdog::new();
    for at in [Panics::Clone, Panics::Wake, Panics::Drop] {
        let (pool, plug) = plugged(builder(1));
        let state: &'static Bad =
            Box::leak(Box::new(Bad { at, armed: AtomicBool::new(true), drops: AtomicUsize::new(0) }));
        let waker = std::mem::ManuallyDrop::new(bad(state));
        let mut handles: Vec<_> = (0..3).map(|_| tracked(&pool, Job::ok())).collect();
        for handle in &mut handles {
            // The clone's panic is the caller's own, and goes to it.
            let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                assert!(poll(handle, &waker).is_pending());
                assert!(poll(handle, &waker).is_pending());
            }));
            assert_eq!(polled.is_err(), at == Panics::Clone);
        }
        let dropped = handles.pop();
        drop(dropped);
        plug.open();
        pool.wait_idle(LONG).unwrap();
        let expected = match at {
            Panics::Clone => 0,
            // Two were woken.
            Panics::Wake => 2,
            // Three replaced, and one of the handle that was dropped.
            Panics::Drop => 4,
        };
        assert_eq!(pool.metrics().hook_panics, expected, "{at:?}");
        for handle in &mut handles {
            assert!(matches!(poll(handle, Waker::noop()), Poll::Ready(Ok(()))), "{at:?}");
        }
        assert_eq!((pool.metrics().counts.succeeded, pool.metrics().live_workers), (4, 1));
        state.armed.store(false, Ordering::SeqCst);
    }
}
