//! `?` on every refusal, in code that knows nothing of its payload but that it can be sent.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{
    BoxError, BuildError, Closures, Interrupted, ProcessorFn, RejectReason, Rejection, TaskContext,
    WaitError, WorkerPool, processor_fn,
};
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

type Pool<T> = WorkerPool<ProcessorFn<T>>;

/// All the ways in, with the error boxed.
fn offer_all<T: Send + 'static>(
    pool: &Pool<T>,
    mut next: impl FnMut() -> T,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    pool.submit(next()).into_result()?;
    let submitter = pool.submitter_for("default")?;
    submitter.submit(next()).into_result()?;
    submitter.submit_timeout(next(), Duration::from_secs(1)).into_result()?;
    let batch = submitter.submit_batch([next(), next()]);
    if let Some(refused) = batch.refused.into_iter().next() {
        Err(refused)?;
    }
    pool.wait_idle(PATIENCE)?;
    Ok(())
}

/// An error of one's own that keeps the payload.
#[derive(Debug)]
enum OfferError<T> {
    Build(BuildError),
    Refused(Rejection<T>),
    Lane(RejectReason),
    Wait(WaitError),
}

impl<T> fmt::Display for OfferError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OfferError::Build(error) => error.fmt(f),
            OfferError::Refused(refused) => refused.fmt(f),
            OfferError::Lane(reason) => reason.fmt(f),
            OfferError::Wait(error) => error.fmt(f),
        }
    }
}

// `Error` asks for `Debug`, which the derive gives for `T: Debug` only.
impl<T: fmt::Debug> Error for OfferError<T> {}

impl<T> From<BuildError> for OfferError<T> {
    fn from(error: BuildError) -> Self {
        OfferError::Build(error)
    }
}

impl<T> From<Rejection<T>> for OfferError<T> {
    fn from(refused: Rejection<T>) -> Self {
        OfferError::Refused(refused)
    }
}

impl<T> From<RejectReason> for OfferError<T> {
    fn from(reason: RejectReason) -> Self {
        OfferError::Lane(reason)
    }
}

impl<T> From<WaitError> for OfferError<T> {
    fn from(error: WaitError) -> Self {
        OfferError::Wait(error)
    }
}

/// One payload through a pool of its own, closed at once if asked.
fn offer_one<T: Send + 'static>(payload: T, lane: &str, close: bool) -> Result<(), OfferError<T>> {
    let pool: Pool<T> = WorkerPool::builder(processor_fn(|_, _| Ok(()))).workers(1).build()?;
    if close {
        pool.begin_shutdown();
    }
    pool.submitter_for(lane)?.submit(payload).into_result()?;
    pool.wait_idle(PATIENCE)?;
    Ok(())
}

#[test]
fn every_refusal_converts_into_a_boxed_error_for_any_payload() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    // Neither `Sync` nor `Debug`.
    struct Opaque(Cell<u8>);
    let pool: Pool<Opaque> = WorkerPool::builder(processor_fn(|opaque: &mut Opaque, _| {
        opaque.0.set(1);
        Ok(())
    }))
    .workers(1)
    .build()?;
    offer_all(&pool, || Opaque(Cell::new(0)))?;
    assert_eq!(pool.metrics().counts.succeeded, 5);
    pool.begin_shutdown();
    let error = offer_all(&pool, || Opaque(Cell::new(0))).unwrap_err();
    assert_eq!(error.to_string(), "task refused: the pool is closed");
    let refused = error.downcast::<Rejection<Opaque>>().expect("the payload is in the error");
    assert_eq!(refused.into_payload().0.get(), 0);
    Ok(())
}

#[test]
fn every_refusal_converts_into_a_generic_error_that_keeps_the_payload() {
    let _watchdog = Watchdog::new();
    assert!(offer_one(vec![1, 2, 3], "default", false).is_ok());
    match offer_one(vec![1, 2, 3], "default", true) {
        Err(OfferError::Refused(refused)) => assert_eq!(refused.into_payload(), [1, 2, 3]),
        other => panic!("{other:?}"),
    }
    match offer_one(vec![1, 2, 3], "typo", false) {
        Err(error @ OfferError::Lane(RejectReason::UnknownLane)) => {
            assert_eq!(error.to_string(), "the pool has no lane of that name");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_closure_and_a_refused_letter_convert_too() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    fn execute(pool: &WorkerPool<Closures>) -> Result<(), BoxError> {
        pool.execute(|| ()).into_result()?;
        pool.submitter().execute(|| ()).into_result()?;
        Ok(())
    }
    fn replay<T: Send + 'static>(pool: &Pool<T>) -> Result<(), BoxError> {
        let first = pool.dead_letters().list().first().map(|info| info.task.id).ok_or("no letter")?;
        pool.dead_letters().requeue(first)?;
        Ok(())
    }
    let closures = WorkerPool::builder(Closures).workers(1).build()?;
    execute(&closures)?;
    closures.begin_shutdown();
    assert!(execute(&closures).is_err_and(|error| error.is::<Rejection<dockhand::Closure>>()));

    let pool: Pool<u8> = WorkerPool::builder(processor_fn(|_, _| Err("no".into()))).workers(1).build()?;
    pool.submit(1).into_result()?;
    assert!(pool.shutdown(PATIENCE).is_clean());
    let error = replay(&pool).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&RejectReason::Closed));
    Ok(())
}

/// Inside a task the refusal of a follow-up and an interruption convert into whatever errors people have.
#[test]
fn refusals_and_interruptions_inside_a_task_convert() {
    let _watchdog = Watchdog::new();
    fn boxed<T: Send + 'static>(payload: T, cx: &TaskContext<'_, T>) -> Result<(), BoxError> {
        cx.checkpoint()?;
        cx.submit("next", payload).into_result()?;
        Ok(())
    }
    fn io<T>(cx: &TaskContext<'_, T>) -> io::Result<()> {
        Ok(cx.checkpoint()?)
    }
    fn text<T>(cx: &TaskContext<'_, T>) -> Result<(), String> {
        Ok(cx.checkpoint()?)
    }
    fn own<T>(cx: &TaskContext<'_, T>) -> Result<(), Interrupted> {
        cx.checkpoint()
    }
    let cx = TaskContext::detached();
    let error = boxed(Cell::new(7), &cx).unwrap_err();
    let refused = error.downcast::<Rejection<Cell<i32>>>().expect("a follow-up without a pool is refused");
    assert_eq!(refused.into_payload().get(), 7);
    assert!(io(&cx).is_ok() && text(&cx).is_ok() && own(&cx).is_ok());
}
