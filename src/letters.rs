//! The dead letters of a pool, as an operator uses them.

use crate::config::OverloadPolicy;
use crate::dead_letter::{DeadLetter, Lent, LetterInfo};
use crate::error::RejectReason;
use crate::processor::Processor;
use crate::shared::{LetterOf, Shared};
use crate::task::TaskId;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The store of a pool's letters. It outlives the shutdown, until the pool is dropped.
///
/// The store is bounded by [`dead_letter_capacity`](crate::PoolBuilder::dead_letter_capacity); when it is full, the
/// oldest letter leaves through [`on_shed`](crate::PoolBuilder::on_shed).
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let repaired = Arc::new(AtomicBool::new(false));
/// let is_repaired = repaired.clone();
/// let pool = WorkerPool::builder(processor_fn(move |_: &mut u32, _cx| {
///     if is_repaired.load(Ordering::Relaxed) { Ok(()) } else { Err("broken".to_string()) }
/// }))
/// .build()?;
/// for n in 0..3 {
///     pool.submit(n).into_result()?;
/// }
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert_eq!(pool.dead_letters().len(), 3);
///
/// repaired.store(true, Ordering::Relaxed);
/// assert_eq!(pool.dead_letters().requeue_all(), 3);
/// pool.wait_idle(Duration::from_secs(10))?;
/// assert!(pool.dead_letters().is_empty());
/// assert_eq!(pool.metrics().counts.succeeded, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeadLetters<'a, P: Processor> {
    pub(crate) shared: &'a Shared<P>,
}

impl<P: Processor> DeadLetters<'_, P> {
    /// How many letters are kept.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.shared.letters.len()
    }

    /// Whether none is kept.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert!(!letters.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known of each letter, oldest first.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.list()[0].task.id, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self) -> Vec<LetterInfo> {
        self.shared.letters.list()
    }

    /// Takes one letter out. Costs a search through the store.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.take(id).map(|letter| letter.payload), Some(7));
    /// assert!(letters.take(id).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self, id: TaskId) -> Option<LetterOf<P>> {
        self.shared.letters.take(id)
    }

    /// Puts a letter back, as the newest. From a full store the oldest leaves through `on_shed`, on this thread.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// let mut letter = letters.take(id).ok_or("no letter")?;
    /// letter.payload += 1; // repaired by hand
    /// letters.put_back(letter);
    /// assert_eq!(letters.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_back(&self, letter: LetterOf<P>) {
        let user = self.shared.user();
        self.shared.keep_letter(user.as_deref(), letter);
        self.shared.release(user);
    }

    /// Takes all letters out, oldest first.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.drain().len(), 1);
    /// assert!(letters.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&self) -> Vec<LetterOf<P>> {
        self.shared.letters.drain()
    }

    /// Offers the payload of a letter to its lane as a new task: with a new id and attempts from 1, and as the last attempt
    /// left it, half changed if that panicked. Always as under
    /// [`OverloadPolicy::Reject`]: a replay displaces nothing and runs nothing on this thread.
    ///
    /// # Errors
    /// `UnknownLetter`; or `QueueFull` or `Closed`, and the letter stays where it was.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// let new_id = letters.requeue(id)?;
    /// assert_ne!(new_id, id);
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// assert_eq!(letters.list()[0].task.id, new_id); // failed again
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requeue(&self, id: TaskId) -> Result<TaskId, RejectReason> {
        let mut lent = self.shared.letters.lend(id).ok_or(RejectReason::UnknownLetter)?;
        let Some(lane) = self.shared.lane_named(&lent.letter.info.task.lane) else {
            // A letter of another pool that was put back here.
            self.give_back(lent);
            return Err(RejectReason::UnknownLane);
        };
        let DeadLetter { info, payload, failure } = lent.letter;
        match self.shared.submit(lane, payload, OverloadPolicy::Reject).into_result() {
            Ok(new_id) => {
                self.shared.guard.drop(failure);
                Ok(new_id)
            }
            Err(refused) => {
                let reason = refused.reason();
                lent.letter = DeadLetter { info, payload: refused.into_payload(), failure };
                self.give_back(lent);
                Err(reason)
            }
        }
    }

    fn give_back(&self, lent: Lent<P::Payload, P::Error>) {
        if let Some(evicted) = self.shared.letters.give_back(lent) {
            let user = self.shared.user();
            self.shared.shed_letter(user.as_deref(), evicted);
            self.shared.release(user);
        }
    }

    /// Requeues every letter that fits, oldest first; says how many did.
    ///
    /// ```
    /// # use dockhand::{WorkerPool, processor_fn};
    /// # use std::time::Duration;
    /// # let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Err::<(), _>("no".to_string()))).build()?;
    /// let id = pool.submit(7).into_result()?; // this pool's tasks all fail
    /// pool.wait_idle(Duration::from_secs(10))?;
    /// let letters = pool.dead_letters();
    /// assert_eq!(letters.requeue_all(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requeue_all(&self) -> usize {
        let ids = self.list().into_iter().map(|info| info.task.id);
        ids.filter(|id| self.requeue(*id).is_ok()).count()
    }
}

impl<P: Processor> fmt::Debug for DeadLetters<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetters").field("len", &self.len()).finish()
    }
}

impl<P: Processor> UnwindSafe for DeadLetters<'_, P> {}
impl<P: Processor> RefUnwindSafe for DeadLetters<'_, P> {}
