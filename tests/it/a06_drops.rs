//! A6: user code may panic anywhere: `Drop` and `Display` of the user's types, and panic values.

use crate::support::{Gate, LONG, Watchdog, assert_rest, build, eventually, panic_quietly};
use dockhand::letter::LetterFate;
use dockhand::{OverloadPolicy, PoolBuilder, Processor, RetryPolicy, TaskContext, WorkerPool, processor_fn};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

type Count = Arc<AtomicU64>;

/// Panics when it is dropped, and when it is shown.
struct Bomb(Count);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic_quietly();
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic_quietly()
    }
}

#[derive(Clone)]
enum Act {
    Succeed,
    Fail,
    FailOnce,
    PanicWithBomb,
    Wait(Gate),
}

struct Load {
    act: Act,
    // The payload panics as it is dropped.
    _bomb: Bomb,
}

struct Explosive {
    drops: Count,
    _bomb: Bomb,
}

impl Processor for Explosive {
    type Payload = Load;
    type Output = Bomb;
    type Error = Bomb;

    fn process(&self, load: &mut Load, cx: &TaskContext<'_, Load>) -> Result<Bomb, Bomb> {
        let bomb = || Bomb(Arc::clone(&self.drops));
        match &load.act {
            Act::Fail => Err(bomb()),
            Act::FailOnce if cx.attempt() == 1 => Err(bomb()),
            Act::PanicWithBomb => resume_unwind(Box::new(bomb())),
            Act::Wait(gate) => {
                gate.pass();
                Ok(bomb())
            }
            Act::Succeed | Act::FailOnce => Ok(bomb()),
        }
    }
}

struct Minefield {
    drops: Count,
    made: u64,
}

impl Minefield {
    fn new() -> Self {
        Minefield { drops: Count::default(), made: 0 }
    }

    fn builder(&self) -> PoolBuilder<Explosive> {
        let processor = Explosive { drops: Arc::clone(&self.drops), _bomb: Bomb(Arc::clone(&self.drops)) };
        WorkerPool::builder(processor).workers(1).queue_capacity(1)
    }

    fn load(&mut self, act: Act) -> Load {
        self.made += 1;
        Load { act, _bomb: Bomb(Arc::clone(&self.drops)) }
    }

    fn drops(&self) -> u64 {
        self.drops.load(Ordering::Relaxed)
    }
}

/// What each end drops, one by one: (act, drops, caught outside of attempts).
#[test]
fn a06_drops_that_panic_are_caught_and_counted_one_by_one() {
    let _dog = Watchdog::new();
    // With `Discard`, the letter's payload and failure go; its text has been asked for first.
    let cases = [(Act::Succeed, 2, 2), (Act::Fail, 2, 3), (Act::FailOnce, 3, 3), (Act::PanicWithBomb, 2, 1)];
    let mut field = Minefield::new();
    let pool = field
        .builder()
        .retry(RetryPolicy::fixed(Duration::ZERO).max_retries(1))
        .classify(|cause| match cause {
            dockhand::Cause::Error(_) => dockhand::RetryDecision::Retry,
            _ => dockhand::RetryDecision::GiveUp,
        })
        .dead_letter_sink(|_| LetterFate::Discard);
    let pool = build(pool);
    for round in 0..5 {
        for (act, drops, caught) in &cases {
            let (dropped, panics) = (field.drops(), pool.metrics().hook_panics);
            pool.submit(field.load(act.clone())).into_result().unwrap();
            pool.wait_idle(LONG).unwrap();
            // `Fail` fails twice here: the first error goes as the second comes.
            let more = u64::from(matches!(act, Act::Fail));
            assert_eq!(field.drops() - dropped, drops + more, "round {round}");
            assert_eq!(pool.metrics().hook_panics - panics, caught + more, "round {round}");
        }
    }
    assert_eq!(pool.metrics().live_workers, 1);
    assert_rest(&pool);
    let panics = pool.metrics().hook_panics;
    assert!(pool.shutdown(LONG).is_clean());
    assert_eq!(pool.metrics().hook_panics, panics + 1, "the processor's own");
}

/// On the submitting thread, through the store, through requeue, and in the drop of the pool.
#[test]
fn a06_drops_that_panic_reach_no_thread_of_the_user() {
    let _dog = Watchdog::new();
    let mut field = Minefield::new();
    let builder = field.builder().overload(OverloadPolicy::DropOldest).dead_letter_capacity(1);
    let pool = build(builder.drop_timeout(Duration::ZERO));
    let plug = Gate::new();
    pool.submit(field.load(Act::Wait(plug.clone()))).into_result().unwrap();
    plug.wait_arrived(1);
    for _ in 0..3 {
        // Two of them displace one.
        pool.submit(field.load(Act::Fail)).into_result().unwrap();
    }
    assert_eq!((field.drops(), pool.metrics().hook_panics), (2, 2));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    // Of the plug payload and output; of the letter its text.
    assert_eq!((field.drops(), pool.metrics().hook_panics), (4, 5));
    let id = pool.dead_letters().list()[0].task.id;
    let plug = Gate::new();
    pool.submit(field.load(Act::Wait(plug.clone()))).into_result().unwrap();
    plug.wait_arrived(1);
    assert!(pool.dead_letters().requeue(id).is_ok());
    assert_eq!((field.drops(), pool.metrics().hook_panics), (5, 6), "the old failure");
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_eq!((field.drops(), pool.metrics().hook_panics), (7, 9), "the plug, and the new text");
    // Put back into a full store: the older one leaves.
    let letter = pool.dead_letters().drain().pop().unwrap();
    pool.submit(field.load(Act::Fail)).into_result().unwrap();
    pool.wait_idle(LONG).unwrap();
    pool.dead_letters().put_back(letter);
    assert_eq!(field.drops(), 9);
    // One that runs on, one in the queue, one letter, and the processor.
    let stuck = Gate::new();
    pool.submit(field.load(Act::Wait(stuck.clone()))).into_result().unwrap();
    stuck.wait_arrived(1);
    pool.submit(field.load(Act::Succeed)).into_result().unwrap();
    drop(pool);
    assert_eq!(field.drops(), 9 + 3);
    stuck.open();
    eventually("the late ones are gone", || field.drops() == 12 + 3);
    assert_eq!(field.made, 8);
}

#[test]
fn a06_hooks_whose_captures_panic_as_they_are_dropped() {
    let _dog = Watchdog::new();
    let drops = Count::default();
    let bomb = || Bomb(Arc::clone(&drops));
    let (classify, sink, shed, start, stop, work) = (bomb(), bomb(), bomb(), bomb(), bomb(), bomb());
    let pool = WorkerPool::builder(processor_fn(move |_: &mut (), _cx| {
        let _ = &work;
        Ok::<(), String>(())
    }))
    .workers(2)
    .classify(move |_| {
        let _ = &classify;
        dockhand::RetryDecision::GiveUp
    })
    .dead_letter_sink(move |_| {
        let _ = &sink;
        LetterFate::Keep
    })
    .on_shed(move |_| drop(Arc::clone(&shed.0)))
    .on_worker_start(move |_| drop(Arc::clone(&start.0)))
    .on_worker_stop(move |_| drop(Arc::clone(&stop.0)));
    let pool = build(pool);
    pool.submit(()).into_result().unwrap();
    assert!(pool.shutdown(LONG).is_clean());
    assert_eq!((drops.load(Ordering::Relaxed), pool.metrics().hook_panics), (6, 6));
}

/// A payload that was refused is the caller's, with whatever its `Drop` does.
#[test]
fn a06_a_refused_bomb_is_the_callers() {
    let _dog = Watchdog::new();
    let mut field = Minefield::new();
    let pool = build(field.builder());
    pool.begin_shutdown();
    let refused = pool.submit(field.load(Act::Succeed));
    assert_eq!(field.drops(), 0);
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(refused)));
    assert!(dropped.is_err());
    assert_eq!((field.drops(), pool.metrics().hook_panics), (1, 0));
}

/// A batch that ends by a panic of its iterator has bombs in its hands, and so has the iterator.
#[test]
fn a06_an_iterator_that_panics_is_dropped_with_what_was_refused() {
    struct Items<'a> {
        field: &'a mut Minefield,
        left: usize,
        // Dropped with the iterator, while its panic is on its way.
        _bomb: Bomb,
    }
    impl Iterator for Items<'_> {
        type Item = Load;

        fn next(&mut self) -> Option<Load> {
            match self.left.checked_sub(1) {
                Some(left) => self.left = left,
                None => panic_quietly(),
            }
            Some(self.field.load(Act::Succeed))
        }
    }
    let _dog = Watchdog::new();
    let mut field = Minefield::new();
    let pool = build(field.builder());
    let plug = Gate::new();
    pool.submit(field.load(Act::Wait(plug.clone()))).into_result().unwrap();
    plug.wait_arrived(1);
    let bomb = Bomb(Arc::clone(&field.drops));
    let items = Items { field: &mut field, left: 40, _bomb: bomb };
    let caught = catch_unwind(AssertUnwindSafe(|| drop(pool.submitter().submit_batch(items))));
    assert!(caught.is_err());
    // One of forty was accepted.
    assert_eq!((field.drops(), pool.metrics().counts.rejected), (39 + 1, 39));
    plug.open();
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
}
