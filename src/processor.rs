//! What the user writes: the work itself.

use crate::context::TaskContext;
use crate::error::BoxError;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

/// The work that the pool's tasks ask for. One value serves all workers at once, through `&self`.
///
/// `process` gets the payload by `&mut`, so it survives a failed attempt: a retry needs no `Clone`, a long task can
/// keep its checkpoint in it, and every refusal, letter and report can give it back. The other side of it: what an
/// attempt takes out (`mem::take`, `Option::take`) is gone in the next one, so take after the last thing that can fail,
/// or clone; and a panic leaves the payload as it was at that moment. With retries the work must be idempotent.
///
/// A processor that owns a [`TaskSubmitter`](crate::TaskSubmitter) of its pool keeps the pool's memory until the
/// shutdown; one that owns the pool (an `Arc<WorkerPool>`) keeps it from being dropped at all.
///
/// A panic is caught and counts as a failure of the attempt.
///
/// ```
/// use dockhand::{Processor, TaskContext, WorkerPool};
/// use std::time::Duration;
///
/// struct Thumbnails { largest_side: u32 }
/// struct Image { width: u32, height: u32 }
///
/// impl Processor for Thumbnails {
///     type Payload = Image;
///     type Output = ();
///     type Error = String;
///
///     fn process(&self, image: &mut Image, _cx: &TaskContext<'_, Image>) -> Result<(), String> {
///         let side = image.width.max(image.height);
///         if side == 0 {
///             return Err("an image without pixels".into());
///         }
///         image.width = image.width * self.largest_side / side;
///         image.height = image.height * self.largest_side / side;
///         Ok(())
///     }
/// }
///
/// let pool = WorkerPool::builder(Thumbnails { largest_side: 128 }).build()?;
/// pool.submit(Image { width: 640, height: 480 }).into_result()?;
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert_eq!(pool.metrics().counts.succeeded, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Processor`",
    note = "wrap a closure in `dockhand::processor_fn(|payload, cx| ..)`, or implement `Processor` for a type of your own"
)]
pub trait Processor: Send + Sync + 'static {
    /// What a task carries. It is stored inline in the queue: box what is larger than about 1 KiB.
    type Payload: Send + 'static;
    /// What a successful attempt answers.
    type Output: Send + 'static;
    /// Why an attempt failed.
    type Error: fmt::Display + Send + Sync + 'static;

    /// Runs one attempt.
    ///
    /// # Errors
    /// Whatever makes the attempt a failure; [`classify`](crate::PoolBuilder::classify) and the lane's
    /// [`RetryPolicy`](crate::RetryPolicy) decide what comes of it.
    fn process(
        &self,
        payload: &mut Self::Payload,
        cx: &TaskContext<'_, Self::Payload>,
    ) -> Result<Self::Output, Self::Error>;
}

impl<P: Processor + ?Sized> Processor for Arc<P> {
    type Payload = P::Payload;
    type Output = P::Output;
    type Error = P::Error;

    fn process(
        &self,
        payload: &mut P::Payload,
        cx: &TaskContext<'_, P::Payload>,
    ) -> Result<P::Output, P::Error> {
        (**self).process(payload, cx)
    }
}

type BoxedWork<T, O, E> = Box<dyn for<'a> Fn(&mut T, &TaskContext<'a, T>) -> Result<O, E> + Send + Sync>;

/// A closure as a [`Processor`], made by [`processor_fn`]. The closure is boxed, so that the type of a pool can be
/// written down; it costs an indirect call for each attempt.
///
/// ```
/// use dockhand::{ProcessorFn, WorkerPool, processor_fn};
///
/// struct Service {
///     pool: WorkerPool<ProcessorFn<String>>,
/// }
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut String, _cx| Ok(()))).build()?;
/// let service = Service { pool };
/// assert!(service.pool.submit("hello".into()).into_result().is_ok());
/// # Ok::<(), dockhand::BuildError>(())
/// ```
pub struct ProcessorFn<T, O = (), E = BoxError>(BoxedWork<T, O, E>);

/// Makes a [`Processor`] of a closure.
///
/// ```
/// use dockhand::{Processor, TaskContext, processor_fn};
///
/// let parse = processor_fn(|text: &mut String, _cx| text.parse::<u32>());
/// assert_eq!(parse.process(&mut "17".to_string(), &TaskContext::detached()), Ok(17));
/// ```
pub fn processor_fn<T, O, E, F>(f: F) -> ProcessorFn<T, O, E>
where
    F: Fn(&mut T, &TaskContext<'_, T>) -> Result<O, E> + Send + Sync + 'static,
{
    ProcessorFn(Box::new(f))
}

impl<T, O, E> Processor for ProcessorFn<T, O, E>
where
    T: Send + 'static,
    O: Send + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    type Payload = T;
    type Output = O;
    type Error = E;

    fn process(&self, payload: &mut T, cx: &TaskContext<'_, T>) -> Result<O, E> {
        (self.0)(payload, cx)
    }
}

impl<T, O, E> fmt::Debug for ProcessorFn<T, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessorFn(..)")
    }
}

/// The processor of a pool that runs closures, as plain thread pools do.
///
/// A closure runs once, so it cannot be retried and answers nothing: results go through a channel or what it captures.
/// Its only failure is a panic.
///
/// ```
/// use dockhand::{Closures, WorkerPool};
/// use std::sync::mpsc;
///
/// let pool = WorkerPool::builder(Closures).workers(2).build()?;
/// let (answer, answers) = mpsc::channel();
/// pool.execute(move || answer.send(6 * 7).unwrap()).into_result()?;
/// assert_eq!(answers.recv()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Closures;

impl Processor for Closures {
    type Payload = Closure;
    type Output = ();
    type Error = Infallible;

    fn process(&self, closure: &mut Closure, _cx: &TaskContext<'_, Closure>) -> Result<(), Infallible> {
        match closure.0.take() {
            Some(f) => f(),
            // A failure like any other: to answer `Ok` would claim work that was not done.
            None => panic!("a closure runs once and cannot be retried"),
        }
        Ok(())
    }
}

/// The payload of [`Closures`].
pub struct Closure(Option<Box<dyn FnOnce() + Send>>);

impl Closure {
    /// Boxes a closure: the one allocation of [`execute`](crate::WorkerPool::execute).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// static RAN: AtomicBool = AtomicBool::new(false);
    /// dockhand::Closure::new(|| RAN.store(true, Ordering::Relaxed)).run();
    /// assert!(RAN.load(Ordering::Relaxed));
    /// ```
    pub fn new(f: impl FnOnce() + Send + 'static) -> Self {
        Closure(Some(Box::new(f)))
    }

    /// Runs it here: what to do with one that a pool refused. Does nothing if it has run.
    ///
    /// ```
    /// use dockhand::{Closures, WorkerPool};
    ///
    /// let pool = WorkerPool::builder(Closures).build()?;
    /// pool.begin_shutdown();
    /// let (answer, answers) = std::sync::mpsc::channel();
    /// if let Some(refused) = pool.execute(move || answer.send(1).unwrap()).into_payload() {
    ///     refused.run();
    /// }
    /// assert_eq!(answers.recv()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(self) {
        if let Some(f) = self.0 {
            f();
        }
    }
}

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure(..)")
    }
}
