//! Payloads of every shape, none at all, large, and with an alignment of their own, on every way through a pool: each
//! comes out whole, at a place that its type allows, and is dropped once.

use crate::support::{POLICIES, Watchdog, assert_rest, panic_quietly};
use dockhand::letter::LetterFate;
use dockhand::{
    CancelOutcome, Lane, ManualPool, Outcome, OverloadPolicy, ProcessorFn, RejectReason, RetryPolicy, Shed,
    SubmitResult, TaskContext, TaskOptions, WorkerPool, processor_fn,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A payload type, which counts its values in a static: one of no size has no place for more.
trait Shape: Send + Sized + 'static {
    const SIZE: usize;
    const ALIGN: usize;
    fn alive() -> &'static AtomicU64;
    fn new() -> Self;
    fn is_whole(&self) -> bool;

    #[track_caller]
    fn check(&self) {
        let place = std::ptr::from_ref(self) as usize;
        assert_eq!(place % Self::ALIGN, 0, "{place:#x} is not aligned to {}", Self::ALIGN);
        assert!(self.is_whole(), "its bytes have changed");
    }
}

macro_rules! shape {
    ($name:ident, $len:expr, $align:literal) => {
        #[repr(align($align))]
        struct $name([u8; $len]);

        impl $name {
            fn byte(place: usize) -> u8 {
                (place % 251) as u8
            }
        }

        impl Shape for $name {
            const SIZE: usize = size_of::<$name>();
            const ALIGN: usize = $align;

            fn alive() -> &'static AtomicU64 {
                static ALIVE: AtomicU64 = AtomicU64::new(0);
                &ALIVE
            }

            fn new() -> Self {
                Self::alive().fetch_add(1, Ordering::SeqCst);
                $name(std::array::from_fn(Self::byte))
            }

            fn is_whole(&self) -> bool {
                self.0.iter().enumerate().all(|(place, byte)| *byte == Self::byte(place))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.check();
                Self::alive().fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
}

shape!(Nothing, 0, 1);
shape!(NothingAligned, 0, 64);
shape!(Large, 65_536, 1);
shape!(Sixteen, 16, 16);
shape!(Line, 100, 128);
shape!(Page, 1, 4096);

/// What each attempt comes to; the last one again and again.
type Script = Arc<Mutex<Vec<Attempt>>>;

#[derive(Clone, Copy)]
enum Attempt {
    Ok,
    Fail,
    Panic,
}

struct Way<T: Shape> {
    pool: ManualPool<ProcessorFn<T, (), String>>,
    script: Script,
    shed: Arc<Mutex<Vec<(Outcome, T)>>>,
}

impl<T: Shape> Way<T> {
    fn new(overload: OverloadPolicy) -> Self {
        let (script, shed) = (Script::default(), Arc::<Mutex<Vec<_>>>::default());
        let (steps, away) = (Arc::clone(&script), Arc::clone(&shed));
        let processor = processor_fn(move |load: &mut T, _: &TaskContext<'_, T>| {
            load.check();
            let mut steps = steps.lock().unwrap();
            let step = if steps.len() > 1 { steps.remove(0) } else { steps[0] };
            drop(steps);
            match step {
                Attempt::Ok => Ok(()),
                Attempt::Fail => Err("as planned".to_string()),
                Attempt::Panic => panic_quietly(),
            }
        });
        let pool = WorkerPool::builder(processor)
            .lane(Lane::new("default").queue_capacity(2).delay_capacity(3).max_concurrency(1))
            .overload(overload)
            .dead_letter_capacity(1)
            .retry(RetryPolicy::fixed(SECOND).max_retries(1))
            .dead_letter_sink(|letter| {
                letter.payload.check();
                LetterFate::Keep
            })
            .on_shed(move |Shed { outcome, payload, .. }| {
                payload.check();
                away.lock().unwrap().push((outcome, payload));
            })
            .build_manual()
            .unwrap();
        Way { pool, script, shed }
    }

    fn plan(&self, steps: &[Attempt]) -> &Self {
        *self.script.lock().unwrap() = steps.to_vec();
        self
    }

    fn offer(&self) -> SubmitResult<T> {
        self.pool.submit(T::new())
    }

    #[track_caller]
    fn accepted(&self) {
        assert!(matches!(self.offer(), SubmitResult::Accepted(_)));
    }

    #[track_caller]
    fn shed(&self, outcome: Outcome) {
        let (seen, payload) = self.shed.lock().unwrap().pop().unwrap();
        assert_eq!(seen, outcome);
        payload.check();
    }

    #[track_caller]
    fn alive(&self, expected: u64) {
        assert_eq!(T::alive().load(Ordering::SeqCst), expected);
    }
}

fn runs_and_retries<T: Shape>() {
    let way = Way::<T>::new(OverloadPolicy::Reject);
    way.plan(&[Attempt::Ok]).accepted();
    let batch = way.pool.submitter().submit_batch([T::new(), T::new()]);
    assert_eq!((batch.accepted, batch.refused.len()), (1, 1));
    way.pool.submitter().submit_timeout(T::new(), SECOND).into_result().unwrap();
    drop(batch);
    way.pool.wait_idle(SECOND).unwrap();
    way.alive(0);
    // Back into the heap, and out of it again.
    way.plan(&[Attempt::Fail, Attempt::Ok]).accepted();
    way.pool.wait_idle(SECOND).unwrap();
    // And once more, from a tracked task's slot.
    way.plan(&[Attempt::Fail, Attempt::Ok]);
    way.pool.submitter().submit_tracked(T::new()).unwrap().wait().unwrap();
    let later = TaskOptions::new().delay(SECOND);
    way.plan(&[Attempt::Ok]).pool.submitter().submit_with(T::new(), later).into_result().unwrap();
    way.pool.wait_idle(SECOND).unwrap();
    way.alive(0);
    assert_eq!(way.pool.metrics().counts.succeeded, 6);
    assert_rest(&way.pool);
}

fn becomes_a_letter<T: Shape>() {
    let way = Way::<T>::new(OverloadPolicy::Reject);
    way.plan(&[Attempt::Fail]).accepted();
    way.pool.wait_idle(SECOND).unwrap();
    let letters = way.pool.dead_letters();
    let id = letters.list()[0].task.id;
    let letter = letters.take(id).unwrap();
    letter.payload.check();
    letters.put_back(letter);
    // The store is full, so the one before goes.
    way.plan(&[Attempt::Panic]).accepted();
    way.pool.wait_idle(SECOND).unwrap();
    way.shed(Outcome::DeadLettered);
    way.alive(1);
    assert_eq!(letters.requeue_all(), 1);
    way.plan(&[Attempt::Ok]).pool.wait_idle(SECOND).unwrap();
    way.alive(0);
    way.plan(&[Attempt::Fail]).accepted();
    way.pool.wait_idle(SECOND).unwrap();
    letters.drain().iter().for_each(|letter| letter.payload.check());
    way.alive(0);
    assert_rest(&way.pool);
}

fn comes_back<T: Shape>() {
    for policy in POLICIES {
        let way = Way::<T>::new(policy);
        way.plan(&[Attempt::Ok]).accepted();
        way.accepted();
        match (policy, way.offer()) {
            (OverloadPolicy::Reject, SubmitResult::Rejected(refused)) => refused.into_payload().check(),
            (OverloadPolicy::DropIncoming, SubmitResult::Dropped(payload)) => payload.check(),
            (OverloadPolicy::CallerRuns, SubmitResult::CallerRun(_)) => {}
            (OverloadPolicy::DropOldest, SubmitResult::Accepted(_)) => way.shed(Outcome::Evicted),
            (_, answer) => panic!("{answer:?}"),
        }
        way.alive(2);
        way.pool.run_until_idle();
        let soon = TaskOptions::new().key("it").delay(SECOND);
        let submitter = way.pool.submitter();
        let handle = submitter.submit_tracked_with(T::new(), soon.clone()).unwrap();
        let twice = submitter.submit_with(T::new(), soon).into_result().unwrap_err();
        assert_eq!(twice.reason(), RejectReason::Duplicate(handle.id()));
        twice.into_payload().check();
        match handle.cancel() {
            CancelOutcome::Cancelled(payload) => payload.check(),
            other => panic!("{other:?}"),
        }
        way.alive(0);
        assert_rest(&way.pool);
    }
}

fn goes_with_the_pool<T: Shape>() {
    let way = Way::<T>::new(OverloadPolicy::Reject);
    let submitter = way.pool.submitter();
    let brief = TaskOptions::new().ttl(SECOND);
    submitter.submit_with(T::new(), brief).into_result().unwrap();
    way.pool.advance(SECOND);
    way.plan(&[Attempt::Fail]).pool.run_until_idle();
    way.shed(Outcome::Expired);
    // One in the lane, one with a delay, one that waits for its retry.
    way.accepted();
    way.pool.run_until_idle();
    submitter.submit_with(T::new(), TaskOptions::new().delay(SECOND)).into_result().unwrap();
    way.pool.set_max_concurrency("default", 0).unwrap();
    way.accepted();
    let report = way.pool.shutdown(Duration::ZERO);
    assert_eq!(report.abandoned.len(), 3);
    report.abandoned.iter().for_each(|shed| shed.payload.check());
    way.offer().into_payload().unwrap().check();
    drop(report);
    way.alive(0);
    assert_rest(&way.pool);
    let way = Way::<T>::new(OverloadPolicy::Reject);
    way.pool.set_max_concurrency("default", 0).unwrap();
    way.accepted();
    let Way { pool, shed, .. } = way;
    drop(pool);
    assert_eq!(shed.lock().unwrap().len(), 1);
    drop(shed);
    assert_eq!(T::alive().load(Ordering::SeqCst), 0);
}

fn every_way<T: Shape>() {
    let _dog = Watchdog::new();
    assert_eq!((align_of::<T>(), T::SIZE % T::ALIGN), (T::ALIGN, 0));
    runs_and_retries::<T>();
    becomes_a_letter::<T>();
    comes_back::<T>();
    goes_with_the_pool::<T>();
    assert_eq!(T::alive().load(Ordering::SeqCst), 0);
}

#[test]
fn a_payload_of_no_size_goes_every_way() {
    every_way::<Nothing>();
    every_way::<NothingAligned>();
}

#[test]
fn a_payload_of_64_kib_goes_every_way() {
    // Where nothing is optimised each move of it has a place of its own on the stack.
    let roomy = std::thread::Builder::new().stack_size(32 << 20);
    roomy.spawn(every_way::<Large>).unwrap().join().unwrap();
}

#[test]
fn an_aligned_payload_goes_every_way() {
    every_way::<Sixteen>();
    every_way::<Line>();
    every_way::<Page>();
}
